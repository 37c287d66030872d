"""Options of commands from the table of keywords: their names, types and help."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, get_args, get_origin

import click

from jelly._options.keywords import Keyword, type_of

__all__ = ["ParamType", "Size", "options"]

F = TypeVar("F", bound=Callable[..., Any])

# Generic in newer versions of click, but for type checkers only.
if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType


class Size(ParamType):
    """A number of bytes or entries: 1000, 64M, 1G, where K, M, G and T are powers of 1024."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([0-9]+)(?:([KMGT])(?:i?B)?)?", str(value), re.I)
        if found is None or not int(found[1]):
            self.fail(f"{value!r} is not a size: expected a number such as 1000, 64M or 1G", param, ctx)
        return int(found[1]) << 10 * (" KMGT".index((found[2] or " ").upper()))


class Pair(ParamType):
    """A pair NAME=VALUE."""

    name = "pair"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, equals, told = value.partition("=")
        if not equals or not told:
            self.fail(f"{value!r} is not {param.metavar if param else 'NAME=VALUE'}", param, ctx)
        return name, told


def _click_type(row: Keyword) -> Any:
    """The type of the values of an option; None for one that takes none."""
    kinds = get_args(kind) if get_origin(kind := type_of(row.name)) not in (None, Literal) else (kind,)
    if row.flag is not None:
        return None
    if words := [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]:
        return click.Choice(words)
    if row.metavar == "SIZE":
        return Size()
    if int in kinds:
        return click.IntRange(int(row.default == 1))  # of frame_rows and frame_bytes 0 is no limit
    return Pair() if any(get_origin(kind) is Mapping for kind in kinds) else str


def options(table: Mapping[str, Keyword], *names: str, into: str = "limits", hidden: bool = False) -> Callable[[F], F]:
    """Add the options of the keywords ``names`` of a table; the command gets those that are given as the dict ``into``.

    ``hidden`` ones are not in ``--help``. A mapping such as ``prefixes`` may be given pair by pair.
    """

    def decorate(command: F) -> F:
        @functools.wraps(command)
        def call(**given: Any) -> Any:
            found = {}
            for name in names:
                value = given.pop(f"{into}_{name}")
                if value is not None and value != ():
                    found[name] = dict(value) if isinstance(value, tuple) else value
            return command(**{into: given.pop(into, {}) | found}, **given)

        wrapped: Any = call
        for name in reversed(names):
            row, kind = table[name], _click_type(table[name])
            settings: dict[str, Any] = {"help": row.help, "hidden": hidden}
            if kind is None:
                settings |= {"flag_value": row.flag, "default": None}
            else:
                settings |= {"type": kind, "metavar": row.metavar or None, "multiple": isinstance(kind, Pair)}
            wrapped = click.option(row.switch, f"{into}_{name}", **settings)(wrapped)
        return cast(F, wrapped)

    return decorate
