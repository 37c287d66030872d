"""Keywords of calls: unknown ones are rejected by name, and limits adapt to the size of the input."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, cast

from jelly._limits import SETTABLE
from jelly.errors import JellyArgumentError

__all__ = ["LIMITS", "checked", "fitted", "refuse_unknown"]

F = TypeVar("F", bound=Callable[..., Any])

# Defaults of the limits of one item of the input, which follow the size of a file.
LIMITS = {limit.name: limit.default for limit in SETTABLE if limit.fits}

_LOWEST = min(LIMITS.values())

# A compressed file that holds one long literal seldom expands to more than this factor.
UNPACKED = 16


def refuse_unknown(
    given: Iterable[str], known: Collection[str], of: str = "", elsewhere: Mapping[str, str] | None = None
) -> None:
    """Raise JellyArgumentError for an unknown keyword. ``of`` names the thing that does not have it.

    ``elsewhere`` are keywords of other functions, with what to write instead.

    >>> refuse_unknown(["seekabl"], ["format", "seekable"])
    Traceback (most recent call last):
    jelly.JellyArgumentError: unknown keyword 'seekabl': did you mean 'seekable'?
    """
    others = elsewhere or {}
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, {*known, *others}, 1)
            if near and near[0] in others:
                advice = others[near[0]]
            elif near:
                advice = f"did you mean {near[0]!r}?"
            else:
                advice = f"expected one of {', '.join(sorted(known))}" if known else "it takes none"
            raise JellyArgumentError(f"{of + ' has no' if of else 'unknown'} keyword {name!r}: {advice}")


def checked(*others: Collection[str], elsewhere: Mapping[str, str] | None = None) -> Callable[[F], F]:
    """Decorator: refuse keywords that neither the function nor ``others`` have, before it is called.

    ``others`` are the keywords that it passes on, ``elsewhere`` what to write for keywords of other functions. The
    TypeError of Python is not a JellyError, and would name the function that the keyword is passed to.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        own = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        known = frozenset(own).union(*others) - {"self"}

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if not given.keys() <= known:
                refuse_unknown(given, known, elsewhere=elsewhere)
            return function(*args, **given)

        return cast(F, call)

    return decorate


def fitted(limits: dict[str, Any], names: Collection[str], size: int | None) -> dict[str, Any]:
    """``limits``, with those of ``names`` that are not given raised for an input of ``size`` bytes.

    Files written with default settings can be read with default settings: a file of one long literal needs no more
    memory than its size.

    >>> fitted({}, ["max_line_bytes"], 1 << 30), fitted({}, ["max_line_bytes"], 1000)
    ({'max_line_bytes': 17179869184}, {})
    """
    needed = UNPACKED * (size or 0)
    if needed <= _LOWEST:  # a small message is to cost little
        return limits
    return {name: needed for name in names if needed > LIMITS.get(name, needed)} | limits
