"""Values of Python as lexical forms of XSD, and back."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite, isnan
from typing import Any

from jelly.errors import JellyArgumentError

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DAY = "([0-9]{4}-[0-9]{2}-[0-9]{2})"
_TIME = r"([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,6})0*)?(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_DATE = re.compile(_DAY, re.ASCII)
_CLOCK = re.compile(_TIME, re.ASCII)
_DATETIME = re.compile(_DAY + "T" + _TIME, re.ASCII)
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*", re.ASCII)

# Derived types of integers, and the values that they have.
_RANGES: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    **{name: (-(1 << n - 1), (1 << n - 1) - 1) for name, n in (("long", 64), ("int", 32), ("short", 16), ("byte", 8))},
    **{f"unsigned{name}": (0, (1 << n) - 1) for name, n in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))},
}
_SPECIAL = {"INF": float("inf"), "+INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan")}
_BOOLEAN = {"true": True, "1": True, "false": False, "0": False}


def to_lexical(value: object) -> tuple[str, str] | None:
    """The canonical lexical form of XSD 1.1 for a value, and the IRI of its datatype; None for other classes.

    >>> to_lexical(1.5)[0], to_lexical(True)[0]
    ('1.5E0', 'true')
    """
    if isinstance(value, bool):
        return ("true" if value else "false"), _XSD + "boolean"
    if isinstance(value, int):
        return int.__repr__(value), _XSD + "integer"
    if isinstance(value, float):
        return _of_float(value), _XSD + "double"
    if isinstance(value, Decimal):
        return _of_decimal(value), _XSD + "decimal"
    if isinstance(value, datetime):
        return f"{date.isoformat(value)}T{_clock(value)}", _XSD + "dateTime"
    if isinstance(value, date):
        return date.isoformat(value), _XSD + "date"
    if isinstance(value, time):
        return _clock(value), _XSD + "time"
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode(), _XSD + "base64Binary"
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


def of_lexical(text: str, datatype: str) -> Any:
    """The value of a lexical form and the IRI of a datatype; None if the form is wrong, the datatype is unknown, or
    Python has no such value.

    >>> of_lexical("07", "http://www.w3.org/2001/XMLSchema#byte"), of_lexical("x", "a:b")
    (7, None)
    """
    if not datatype.startswith(_XSD):
        return None
    name = datatype[len(_XSD) :]
    make = _MAKERS.get(name)
    try:
        if make is not None:
            return make(text)
        if name in _RANGES and _INTEGER.fullmatch(text):
            low, high = _RANGES[name]
            value = int(text)
            return value if (low is None or value >= low) and (high is None or value <= high) else None
    except (ValueError, OverflowError):  # a day that is not in the calendar, more digits than Python takes
        pass
    return None


def _float(text: str) -> float | None:
    return float(text) if _DOUBLE.fullmatch(text) else _SPECIAL.get(text)


def _decimal(text: str) -> Decimal | None:
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def _clock_of(clock: str, fraction: str | None, zone: str | None) -> tuple[time, bool]:
    """The time, and whether it is the end of the day."""
    end = clock == "24:00:00" and not int(fraction or 0)
    shift = (zone or "").replace("Z", "+00:00")
    return time.fromisoformat(f"{'00:00:00' if end else clock}.{fraction or '':0<6}{shift}"), end


def _to_date(text: str) -> date | None:
    return date.fromisoformat(text) if _DATE.fullmatch(text) else None


def _to_time(text: str) -> time | None:
    found = _CLOCK.fullmatch(text)
    return None if found is None else _clock_of(*found.groups())[0]


def _to_datetime(text: str) -> datetime | None:
    found = _DATETIME.fullmatch(text)
    if found is None:
        return None
    day, *rest = found.groups()
    clock, end = _clock_of(*rest)
    made = datetime.combine(date.fromisoformat(day), clock)
    return made + timedelta(days=1) if end else made


def _hex(text: str) -> bytes | None:
    return bytes.fromhex(text) if _HEX.fullmatch(text) else None


def _base64(text: str) -> bytes | None:
    return b64decode(text.replace(" ", ""), validate=True) if text == text.strip() else None


_MAKERS: dict[str, Callable[[str], Any]] = {
    "string": str,
    "boolean": _BOOLEAN.get,
    "decimal": _decimal,
    "double": _float,
    "float": _float,
    "date": _to_date,
    "time": _to_time,
    "dateTime": _to_datetime,
    "dateTimeStamp": lambda text: _stamp(_to_datetime(text)),
    "hexBinary": _hex,
    "base64Binary": _base64,
}


def _stamp(value: datetime | None) -> datetime | None:
    return None if value is None or value.tzinfo is None else value
