"""Values of Python as lexical forms of XSD, and back."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from math import inf, isfinite, isnan
from typing import Any

from jelly.errors import JellyArgumentError

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DAY = "([0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6})0*)?"
_ZONE = "(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)"
_INTEGER = "([+-]?[0-9]+)"
_DECIMAL = r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))"
_DOUBLE = r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN)"
_HEX = "((?:[0-9A-Fa-f]{2})*)"

# Types of integers, and the values that they have.
_RANGES: dict[str, tuple[float, float]] = {
    "integer": (-inf, inf),
    "nonPositiveInteger": (-inf, 0),
    "negativeInteger": (-inf, -1),
    "nonNegativeInteger": (0, inf),
    "positiveInteger": (1, inf),
    **{name: (-(1 << n - 1), (1 << n - 1) - 1) for name, n in (("long", 64), ("int", 32), ("short", 16), ("byte", 8))},
    **{f"unsigned{name}": (0, (1 << n) - 1) for name, n in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))},
}
_BOOLEAN = {"true": True, "1": True, "false": False, "0": False}


def to_lexical(value: object) -> tuple[str, str] | None:
    """The canonical lexical form of XSD 1.1 for a value, and the IRI of its datatype; None for other classes.

    >>> to_lexical(1.5)[0], to_lexical(True)[0]
    ('1.5E0', 'true')
    """
    for kind, name, write in _WRITERS:
        if isinstance(value, kind):
            return write(value), _XSD + name
    return None


def _of_float(value: float) -> str:
    if isnan(value):
        return "NaN"
    if not isfinite(value):
        return "INF" if value > 0 else "-INF"
    sign, parts, exponent = Decimal(float.__repr__(value)).as_tuple()
    digits = "".join(map(str, parts)).lstrip("0")
    if not digits:
        return "-0.0E0" if sign else "0.0E0"
    exponent = int(exponent) + len(digits) - 1
    return f"{'-' * sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{exponent}"


def _of_decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise JellyArgumentError(f"xsd:decimal has no {value}")
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _clock(value: datetime | time) -> str:
    clock = value.time() if isinstance(value, datetime) else value
    text = clock.replace(tzinfo=None).isoformat()
    if "." in text:
        text = text.rstrip("0")
    shift = value.utcoffset()
    if shift is None:
        return text
    if shift % timedelta(minutes=1) or abs(shift) > timedelta(hours=14):
        raise JellyArgumentError(f"xsd has no time zone {shift}: expected whole minutes up to 14 hours")
    return text + (value.isoformat()[-6:] if shift else "Z")


# The lexical form and the datatype of the values of a class; bool is an int, and datetime a date.
_WRITERS: tuple[tuple[Any, str, Callable[[Any], str]], ...] = (
    (bool, "boolean", lambda value: "true" if value else "false"),
    (int, "integer", int.__repr__),
    (float, "double", _of_float),
    (Decimal, "decimal", _of_decimal),
    (datetime, "dateTime", lambda value: f"{date.isoformat(value)}T{_clock(value)}"),
    (date, "date", date.isoformat),
    (time, "time", _clock),
    ((bytes, bytearray, memoryview), "base64Binary", lambda value: b64encode(value).decode()),
)


def of_lexical(text: str, datatype: str) -> Any:
    """The value of a lexical form and the IRI of a datatype; None if the form is wrong, the datatype is unknown, or
    Python has no such value.

    >>> of_lexical("07", "http://www.w3.org/2001/XMLSchema#byte"), of_lexical("x", "a:b")
    (7, None)
    """
    read = _READERS.get(datatype)
    try:
        return read and read(text)
    except (ValueError, OverflowError):  # a day that is not in the calendar, more digits than Python takes
        return None


def _reader(form: str, make: Callable[..., Any]) -> Callable[[str], Any]:
    """What makes a value of the groups of a form; None of a text that has not this form."""
    match = re.compile(form, re.ASCII).fullmatch

    def read(text: str) -> Any:
        found = match(text)
        return None if found is None else make(*found.groups())

    return read


def _integer(low: float, high: float, text: str) -> int | None:
    value = int(text)
    return value if low <= value <= high else None


def _time(clock: str, fraction: str | None, zone: str | None) -> tuple[time, bool]:
    """The time, and whether it is the end of the day."""
    end = clock == "24:00:00" and not int(fraction or 0)
    shift = (zone or "").replace("Z", "+00:00")
    return time.fromisoformat(f"{'00:00:00' if end else clock}.{fraction or '':0<6}{shift}"), end


def _datetime(day: str, *clock: Any) -> datetime:
    at, end = _time(*clock)
    made = datetime.combine(date.fromisoformat(day), at)
    return made + timedelta(days=1) if end else made


def _base64(text: str) -> bytes | None:
    return b64decode(text.replace(" ", ""), validate=True) if text == text.strip() else None


_READERS_BY_NAME: dict[str, Callable[[str], Any]] = {
    **{name: _reader(_INTEGER, partial(_integer, *ends)) for name, ends in _RANGES.items()},
    "string": str,
    "boolean": _BOOLEAN.get,
    "decimal": _reader(_DECIMAL, Decimal),
    "double": _reader(_DOUBLE, float),
    "float": _reader(_DOUBLE, float),
    "date": _reader(_DAY, date.fromisoformat),
    "time": _reader(f"{_TIME}{_ZONE}?", lambda *clock: _time(*clock)[0]),
    "dateTime": _reader(f"{_DAY}T{_TIME}{_ZONE}?", _datetime),
    "dateTimeStamp": _reader(f"{_DAY}T{_TIME}{_ZONE}", _datetime),
    "hexBinary": _reader(_HEX, bytes.fromhex),
    "base64Binary": _base64,
}
_READERS = {_XSD + name: read for name, read in _READERS_BY_NAME.items()}
