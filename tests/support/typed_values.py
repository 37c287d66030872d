"""Lexical forms, and the values that Python makes of them."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal

__all__ = ["COLUMNS", "FORMS", "XSD", "value"]

XSD = "http://www.w3.org/2001/XMLSchema#"
COLUMNS = {
    "integer": "bigint", "unsignedByte": "bigint", "double": "double", "float": "double", "decimal": "decimal",
    "boolean": "boolean", "date": "date", "dateTime": "timestamp",
}  # fmt: skip
FORMS = [
    "1", "+1", "-0", "007", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 30, "", " 1",
    "1 ", "1\n", "١", "++1", "1.5", ".5", "5.", "1e3", "1E-400", "INF", "+INF", "-INF", "NaN", "inf", "nan", "true",
    "True", "0", "0." + "1" * 18, "0." + "1" * 19, "2024-02-29", "2023-02-29", "2023-02-29T00:00:00", "12024-01-01",
    "-0001-01-01", "2024-01-01Z", "2024-13-01", "2024-01-01T10:00:00", "2024-01-01T24:00:00", "2024-01-01T10:00:60",
    "2024-01-01T10:00:00.1234567", "2024-01-01T10:00:00.123456Z", "2024-01-01T10:00:00+14:00",
    "2024-01-01T10:00:00-25:00", "0001-01-01T00:00:00Z", "P1D", "x", "a;b",
]  # fmt: skip


def value(text: str, datatype: str) -> object:
    """What Python makes of a lexical form, None where the type of the column has no such value."""
    column, zone = COLUMNS.get(datatype, ""), r"(Z|[+-]\d\d:\d\d)"
    if not text.isascii():
        return None
    try:
        if column == "bigint" and re.fullmatch(r"[+-]?\d{1,19}", text):
            return int(text) if -(2**63) <= int(text) < 2**63 else None
        if column == "double" and re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-?INF|NaN", text):
            return float(text)
        if column == "decimal" and re.fullmatch(r"[+-]?\d{1,20}(\.\d{1,18})?", text):
            return Decimal(text)
        if column == "boolean":
            return {"true": True, "1": True, "false": False, "0": False}.get(text)
        if column == "date" and re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.date.fromisoformat(text)
        time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?"
        if column == "timestamp" and re.fullmatch(f"{time}{zone}?", text):
            return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except (ValueError, OverflowError):
        pass
    return None
