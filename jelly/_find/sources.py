"""The old name of `jelly._sources.sources`."""

from jelly._sources.sources import Sources, expand

__all__ = ["Sources", "expand"]
