"""What several commands take as arguments."""

from __future__ import annotations

import os

import click

from jelly.files import split_suffix

__all__ = ["can_have_index", "parse_range"]


def can_have_index(dst: str) -> bool:
    """Whether an index would be of use: not in a stream, a device, or a compressed file."""
    if dst == "-" or split_suffix(dst)[1]:
        return False
    return os.path.isfile(dst) or not os.path.exists(dst)


def parse_range(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, int | None]:
    """A:B with either left out."""
    start, colon, stop = value.partition(":")
    if not colon or not all(not part or part.isdecimal() for part in (start, stop)):
        raise click.BadParameter(f"{value!r} is no range: expected A:B, such as 1000:1010, :10 or 1000:")
    low, high = int(start or 0), int(stop) if stop else None
    if high is not None and high < low:
        raise click.BadParameter(f"{value!r} ends before it begins")
    return low, high
