"""Keywords of calls: unknown ones and wrong types are rejected by name, and limits adapt to the size of the input."""

from __future__ import annotations

import functools
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from operator import index
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from jelly._options.limits import SETTABLE
from jelly.errors import JellyArgumentError, JellyFormatError

if TYPE_CHECKING:
    from inspect import Signature

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

            is_text = isinstance(name, str)
            near = get_close_matches(name, {*known, *others}, 1) if is_text else []
            advice = f"expected one of {', '.join(sorted(known))}" if known else "it takes none"
            if not is_text:
                advice = "expected a str"
            elif near:
                advice = others.get(near[0], f"did you mean {near[0]!r}?")
            raise JellyArgumentError(f"{of + ' has no' if of else 'unknown'} keyword {name!r}: {advice}")


# Types that are remembered for a function, so that classes made at run time do not add up.
_MOST_TYPES = 100
# Texts of so many characters are remembered, too: names of formats and the like.
_SHORT = 32


def _test_number(number_of: Callable[[Any], float]) -> Callable[[Any], bool]:
    def is_number(value: Any) -> bool:
        try:
            return -(1 << 63) <= number_of(value) < 1 << 63
        except (TypeError, ValueError, OverflowError):
            return False

    return is_number


def _test(kind: Any) -> Callable[[Any], bool]:
    """The test of an annotation, of the items of a list, tuple or dict, too; those of others can be taken only once."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _test_any(get_args(kind))
    if origin is Literal:
        words = get_args(kind)
        return lambda value: isinstance(value, (str, NoneType)) and value in words
    if kind is bool:
        return lambda value: not isinstance(value, (str, bytes))  # else as in any condition; "no" would be true
    if kind in (int, float):
        return _test_number(index if kind is int else float)
    if origin is Callable:
        return callable
    outer = NoneType if kind is None else origin or kind
    if kind is Any or not isinstance(outer, type) or getattr(outer, "_is_protocol", False):
        return lambda value: True  # type variables, too
    parts = _items(kind)
    tests = [_test(part) for part in parts if part is not ...]
    if outer is tuple and parts[-1:] != (...,):
        return lambda value: (
            isinstance(value, (tuple, list))
            and len(value) == len(tests)
            and all(test(item) for test, item in zip(tests, value, strict=True))
        )
    if not parts:
        return lambda value: isinstance(value, outer)

    def has_items(value: Any) -> bool:
        if isinstance(value, dict) and len(tests) > 1 and not all(map(tests[1], value.values())):
            return False
        return isinstance(value, outer) and (
            not isinstance(value, (list, tuple, dict, str, bytes)) or all(map(tests[0], value))
        )

    return has_items


def _test_any(kinds: Iterable[Any]) -> Callable[[Any], bool]:
    tests = [_test(kind) for kind in kinds]

    def test_any(value: Any) -> bool:
        for test in tests:  # noqa: SIM110 - a generator would cost as much as the tests
            if test(value):
                return True
        return False

    return test_any


def _items(kind: Any) -> tuple[Any, ...]:
    """The types of the items of a container by its annotation; nothing where they may be anything, as statements and
    messages may: they are looked at where they are taken."""
    parts = get_args(kind)
    return () if all(part is Any or get_origin(part) is Iterable for part in parts) else parts


def _looks_inside(kind: Any) -> bool:
    """Whether an annotation says what the items of a container are."""
    if get_origin(kind) in (Union, UnionType):
        return any(map(_looks_inside, get_args(kind)))
    return bool(_items(kind))


def _named(kind: Any) -> Iterator[str]:
    """The alternatives of an annotation, for messages."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        for each in get_args(kind):
            yield from _named(each)
    elif origin is Literal:
        yield from (f'"{each}"' if isinstance(each, str) else str(each) for each in get_args(kind))
    elif kind in (None, NoneType):
        yield "None"
    else:
        name: str = getattr(origin or kind, "__name__", str(kind))
        items = _items(kind)[:1]
        if items and get_origin(items[0]) is Literal:
            name += f" of {', '.join(_named(items[0]))}"
        yield {"int": "a whole number", "float": "a number"}.get(name, name)


class _Kinds:
    """The types of the parameters of a function, by its annotations, which are read when one is first given."""

    __slots__ = ("fine", "function", "known", "texts")

    def __init__(self, function: Any) -> None:
        self.function = function
        # Of a parameter: its test, and whether that looks at the items of a container.
        self.known: dict[str, tuple[Callable[[Any], bool], bool]] = {}
        # Types that parameters take whatever the value, and short texts that they took, so that a small message costs
        # little.
        self.fine: set[tuple[str, type]] = set()
        self.texts: set[tuple[str, str]] = set()

    def check(self, name: str, value: Any) -> None:
        if type(value) is str and (name, value) in self.texts:
            return
        known = self.known.get(name)
        if known is None:
            kind = self._kind(name)
            known = self.known[name] = (_test(kind), _looks_inside(kind))
        test, looks_inside = known
        if isinstance(value, str) and (not value.isascii() or "\0" in value):
            try:  # file names have some surrogates for bytes that are no characters
                if b"\0" in value.encode(errors="surrogateescape"):
                    raise JellyArgumentError(f"{name} is {value!r:.80}: U+0000 is in no name")
            except UnicodeEncodeError as error:
                half = f"U+{ord(value[error.start]):04X}, half of a character"
                raise JellyFormatError(f"{name} {value!r:.80} holds {half}") from None
        if not test(value):
            *most, last = _named(self._kind(name))
            expected = f"{', '.join(most)} or {last}" if most else last
            told = self.function.__annotations__.get(name)
            if isinstance(told, str) and "[" in told and "Literal" not in told:
                expected = told  # the items matter too
            raise JellyArgumentError(f"{name} is {value!r:.80}: expected {expected}")
        # Of a text, a number or a container the value counts, too.
        by_type = type(value) is bool or not isinstance(
            value, (str, int, float) + (list, tuple, dict, bytes) * looks_inside
        )
        if by_type and len(self.fine) < _MOST_TYPES:
            self.fine.add((name, type(value)))
        if type(value) is str and len(value) < _SHORT and len(self.texts) < _MOST_TYPES:
            self.texts.add((name, value))

    def _kind(self, name: str) -> Any:
        told = self.function.__annotations__.get(name)
        try:
            if told is None:
                from jelly._options.keywords import type_of

                return type_of(name)
            return eval(told, self.function.__globals__) if isinstance(told, str) else told  # noqa: S307 - our own text
        except (NameError, AttributeError):  # of a module that is imported for type checkers only
            return Any


class _Signed:
    """A function as `inspect.signature` sees it: with the keywords that it passes on, which IPython then completes."""

    def __init__(self, function: Any, known: Set[str]) -> None:
        self.__wrapped__ = function
        self._known = known

    @property
    def __signature__(self) -> Signature:
        from inspect import Parameter, signature

        from jelly._options.keywords import MANY, NAMED, READ, WRITE

        told = signature(self.__wrapped__)
        own = [each for each in told.parameters.values() if each.kind is not Parameter.VAR_KEYWORD]
        if len(own) < len(told.parameters):
            # Some are in both tables, with defaults of their own.
            rows = ChainMap(*sorted((READ, WRITE), key=lambda table: -len(self._known & table.keys())), MANY, NAMED)
            order = [name for table in rows.maps for name in table] + sorted(self._known)
            for name in sorted(self._known - {each.name for each in own}, key=order.index):
                default = rows[name].default if name in rows else None
                own.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
        return told.replace(parameters=own)


def checked(*others: Collection[str], elsewhere: Mapping[str, str] | None = None) -> Callable[[F], F]:
    """Decorator: refuse keywords that neither the function nor ``others`` have, and arguments of wrong types.

    ``others`` are the keywords that it passes on, ``elsewhere`` what to write for keywords of other functions. The
    TypeError of Python is not a JellyError, and would name the function that the keyword is passed to. What a
    parameter takes is what its annotation says: it is the one place where types are checked.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        own = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
        known = frozenset(own).union(*others) - {"self"}
        places = code.co_varnames[: code.co_argcount]
        first = places[0] if places else ""
        kinds = _Kinds(function)
        fine = kinds.fine

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            if len(args) == 1 and not given and (first, type(args[0])) in fine:
                return function(*args)  # a small message is to cost little
            # To give `strict` takes longer than all else here.
            for name, value in zip(places, args):  # noqa: B905
                if (name, type(value)) not in fine:
                    kinds.check(name, value)
            if given:
                if not given.keys() <= known:
                    refuse_unknown(given, known, elsewhere=elsewhere)
                for name, value in given.items():
                    if (name, type(value)) not in fine:
                        kinds.check(name, value)
            return function(*args, **given)

        made: Any = call
        made.keywords = known
        made.__wrapped__ = _Signed(function, known)
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
