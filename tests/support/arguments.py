"""Wrong arguments for public functions, whose parameters their signatures tell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from support.chance import LONG

WRONG: tuple[Any, ...] = (
    None, -1, 0, 2**31, 2**40, 2**63, 10**30, 1.5, float("nan"), "", "nonsense", "\ud800", b"x", b"", object(), [], {},
    (), True, lambda *_: 1, [object()], [None, 1], {"nonsense": 1}, {1: 2}, "\0",
)  # fmt: skip


def parameters(function: Any) -> Iterator[tuple[str, bool]]:
    """The names of its parameters, and whether they are given by position."""
    found = inspect.signature(function).parameters.values()
    others = {*getattr(function, "keywords", ()), *getattr(getattr(function, "__init__", None), "keywords", ())}
    for parameter in found:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            yield parameter.name, True
            others.discard(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            others.add(parameter.name)
    yield from ((name, False) for name in sorted(others))


def wrong_calls(
    function: Any, args: tuple[Any, ...], keywords: dict[str, Any], is_right: Callable[[str, Any], bool]
) -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """A call that is right, again and again with one argument that is wrong: what it is, the arguments, the keywords.

    ``is_right`` says of a parameter and a value that it is not to be given. Each parameter gets half of the values, the
    next one the other half, and all of them with JELLY_LONG=1.
    """
    for place, (parameter, positional) in enumerate(parameters(function)):
        for wrong in WRONG if LONG else WRONG[place % 2 :: 2]:
            if is_right(parameter, wrong):
                continue
            given, named = list(args), dict(keywords)
            if positional and place < len(given):
                given[place] = wrong
            else:
                named[parameter] = wrong
            yield f"{parameter}={wrong!r:.40}", given, named
