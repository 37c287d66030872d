"""Mutations that know the structure of an input.

A format brings a `Structure`: it turns an input into a tree and a tree into an input. The mutations of trees are the
same for all formats. A node of a tree is a `Node`; its value is a number, bytes, or a list of nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Node", "Structure", "mutate"]

# The mutation of bytes by libFuzzer: (data, max_size) to bytes.
MutateBytes = Callable[[bytes, int], bytes]
NUMBERS = (0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 127, 128, 255, 256, 4095, 4096, 65535, 1 << 20, (1 << 31) - 1, 1 << 31,
           (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip


@dataclass
class Node:
    """A part of an input: what kind it is, for its Structure, and its value."""

    kind: Any
    value: int | bytes | list[Node] = field(default_factory=list)

    def copy(self) -> Node:
        return Node(self.kind, [node.copy() for node in self.value] if isinstance(self.value, list) else self.value)


class Structure(Protocol):
    """How a format is built."""

    def parse(self, data: bytes) -> list[Node]:
        """The tree of an input. ValueError or IndexError where it has none."""

    def write(self, tree: list[Node]) -> bytes:
        """The input of a tree."""

    def kind(self, kind: Any, chance: random.Random) -> Any:
        """Another kind for a node, such as another number of a field."""


def lists(tree: list[Node]) -> list[list[Node]]:
    """All lists of nodes, the outer one first."""
    found = [tree]
    for nodes in found:
        found += [node.value for node in nodes if isinstance(node.value, list)]
    return found


def _change(structure: Structure, node: Node, chance: random.Random, mutate_bytes: MutateBytes) -> None:
    if chance.random() < 0.15:
        node.kind = structure.kind(node.kind, chance)
    elif isinstance(node.value, bytes):
        node.value = mutate_bytes(node.value, len(node.value) + 8)
    elif isinstance(node.value, int):
        how = chance.randrange(4)
        node.value = chance.choice(NUMBERS) if how == 0 else max(node.value + chance.choice((-2, -1, 1, 2)), 0)
    elif chance.random() < 0.1:
        node.value = b""


def mutate(structure: Structure, data: bytes, max_size: int, chance: random.Random, mutate_bytes: MutateBytes) -> bytes:
    """One to four mutations of the tree of an input; of its bytes where it has none, and one time in six."""
    if chance.random() < 0.16:
        return mutate_bytes(data, max_size)
    try:
        tree = structure.parse(data)
    except (ValueError, IndexError):
        return mutate_bytes(data, max_size)
    for _ in range(chance.choice((1, 1, 2, 4))):
        all_lists = lists(tree)
        nodes = chance.choice(
            all_lists if chance.random() < 0.3 else [found for found in all_lists if found] or all_lists
        )
        how = chance.randrange(8)
        other = chance.choice(all_lists)
        if not nodes:
            if other:
                nodes.append(chance.choice(other).copy())
            continue
        at = chance.randrange(len(nodes))
        if how < 3:
            _change(structure, nodes[at], chance, mutate_bytes)
        elif how == 3:
            del nodes[at : at + chance.choice((1, 1, 2, 5))]
        elif how == 4:
            nodes.insert(chance.randrange(len(nodes) + 1), nodes[at].copy())
        elif how == 5 and other:
            nodes.insert(at, chance.choice(other).copy())
        elif how == 6:
            swap = chance.randrange(len(nodes))
            nodes[at], nodes[swap] = nodes[swap], nodes[at]
        else:
            nodes[at:at] = [node.copy() for node in nodes[at : at + chance.choice((2, 4, 8))]]
    made = structure.write(tree)
    return made if len(made) <= max_size else mutate_bytes(data, max_size)
