"""The old name of `jelly._sources.blank_node_scope`."""

from jelly._sources.blank_node_scope import KEEP, MODES, BlankNodes, Mode, scope_of

__all__ = ["KEEP", "MODES", "BlankNodes", "Mode", "scope_of"]
