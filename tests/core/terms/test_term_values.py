"""Literals made of values of Python, and values of literals."""

import math
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly import IRI, Literal

XSD = "http://www.w3.org/2001/XMLSchema#"
CET = timezone(timedelta(hours=1))

# Value, canonical lexical form, datatype.
CANONICAL = [
    (True, "true", "boolean"), (False, "false", "boolean"), (5, "5", "integer"),
    (-(10**30), "-1" + "0" * 30, "integer"),
    (1.5, "1.5E0", "double"), (100.0, "1.0E2", "double"), (0.0, "0.0E0", "double"), (-0.0, "-0.0E0", "double"),
    (1e-7, "1.0E-7", "double"), (-123.25, "-1.2325E2", "double"), (5e-324, "5.0E-324", "double"),
    (1.7976931348623157e308, "1.7976931348623157E308", "double"),
    (math.inf, "INF", "double"), (-math.inf, "-INF", "double"),
    (Decimal("1.50"), "1.5", "decimal"), (Decimal("100"), "100", "decimal"), (Decimal("1E+3"), "1000", "decimal"),
    (Decimal("-0.00"), "0", "decimal"), (Decimal("0.000000001"), "0.000000001", "decimal"),
    (date(2026, 2, 28), "2026-02-28", "date"), (date(7, 1, 2), "0007-01-02", "date"),
    (datetime(2026, 2, 28, 1, 2, 3), "2026-02-28T01:02:03", "dateTime"),
    (datetime(2026, 2, 28, 1, 2, 3, 120000, timezone.utc), "2026-02-28T01:02:03.12Z", "dateTime"),
    (datetime(2026, 2, 28, tzinfo=CET), "2026-02-28T00:00:00+01:00", "dateTime"),
    (datetime(2026, 2, 28, tzinfo=timezone(timedelta(minutes=-570))), "2026-02-28T00:00:00-09:30", "dateTime"),
    (time(23, 59, 1, 5), "23:59:01.000005", "time"), (b"a\0\xff", "YQD/", "base64Binary"), (b"", "", "base64Binary"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text", "name"), CANONICAL)
def test_canonical_forms(value, text, name):
    literal = Literal(value)
    assert literal == Literal(text, datatype=XSD + name)
    found = literal.to_python()
    assert (type(found), found) == (type(value), value)
    assert math.copysign(1, found) == math.copysign(1, value) if isinstance(value, float) else True
    if isinstance(value, datetime | time):
        assert found.utcoffset() == value.utcoffset()


def test_nan_and_bytes_of_other_kinds():
    assert Literal(math.nan) == Literal("NaN", datatype=XSD + "double")
    assert math.isnan(Literal(math.nan).to_python())
    assert Literal(bytearray(b"ab")) == Literal(memoryview(b"ab")) == Literal(b"ab")


ZONES = st.integers(-840, 840).map(lambda minutes: timezone(timedelta(minutes=minutes)))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20)
VALUES = st.one_of(
    st.floats(allow_nan=False), st.integers(), st.booleans(), st.binary(), st.dates(), st.times(), DECIMALS,
    st.datetimes(timezones=st.none() | ZONES),
)  # fmt: skip


@given(VALUES)
def test_values_come_back(value):
    found = Literal(value).to_python()
    assert (type(found), found) == (type(value), value)


READ = [
    ("007", "byte", 7), ("+5", "integer", 5), ("-0", "nonNegativeInteger", 0), ("255", "unsignedByte", 255),
    ("-1", "negativeInteger", -1), ("1", "boolean", True), ("0", "boolean", False), ("1.", "decimal", Decimal("1")),
    (".5", "decimal", Decimal("0.5")), ("1e3", "float", 1000.0), ("+INF", "double", math.inf), ("1", "double", 1.0),
    ("2026-02-28T24:00:00Z", "dateTime", datetime(2026, 3, 1, tzinfo=timezone.utc)), ("24:00:00", "time", time(0)),
    ("2026-02-28T01:02:03.5000000000", "dateTime", datetime(2026, 2, 28, 1, 2, 3, 500000)),
    ("2026-02-28T01:02:03Z", "dateTimeStamp", datetime(2026, 2, 28, 1, 2, 3, tzinfo=timezone.utc)),
    ("0aFf", "hexBinary", b"\n\xff"), ("", "hexBinary", b""), ("YW I=", "base64Binary", b"ab"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "value"), READ)
def test_other_forms_of_values(text, name, value):
    found = Literal(text, datatype=XSD + name).to_python()
    assert (type(found), found) == (type(value), value)


WRONG = [
    ("1.5", "integer"), ("128", "byte"), ("-1", "unsignedInt"), ("0", "positiveInteger"), (" 5", "integer"),
    ("5\n", "int"), ("1_000", "integer"), ("\u0665", "integer"), ("TRUE", "boolean"), ("1e5", "decimal"),
    ("inf", "double"), ("nan", "double"), ("2026-02-30", "date"), ("2026-02-28Z", "date"), ("12026-01-01", "date"),
    ("0000-01-01", "date"), ("25:00:00", "time"),
    ("24:00:01", "time"), ("01:02:03.1234567", "time"), ("2026-02-28", "dateTime"), ("9999-12-31T24:00:00", "dateTime"),
    ("2026-02-28T00:00:00+14:01", "dateTime"), ("2026-02-28T00:00:00", "dateTimeStamp"), ("abc", "hexBinary"),
    ("Y", "base64Binary"), ("\u00e4", "base64Binary"), (" YWI=", "base64Binary"), ("1" * 5000, "integer"),
    ("P1D", "duration"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name"), WRONG)
def test_what_has_no_value_stays_a_literal(text, name):
    literal = Literal(text, datatype=XSD + name)
    assert literal.to_python() is literal


def test_texts_and_unknown_datatypes():
    assert Literal("x").to_python() == Literal("x", language="en").to_python() == "x"
    other = Literal("5", datatype="http://example.org/integer")
    assert other.to_python() is other
    assert other.datatype == IRI("http://example.org/integer")


@pytest.mark.parametrize("value", [None, [], object(), 1j, timedelta(1)])
def test_other_values_are_refused(value):
    with pytest.raises(TypeError, match="a lexical form must be a str"):
        Literal(value)


def test_values_go_with_no_other_parameter():
    for more in ({"datatype": XSD + "byte"}, {"language": "en"}, {"direction": "rtl"}):
        with pytest.raises(TypeError, match="must be a str, not int"):
            Literal(5, **more)
    for wrong in (Decimal("NaN"), Decimal("Infinity"), datetime(2026, 1, 1, tzinfo=timezone(timedelta(seconds=30)))):
        with pytest.raises(ValueError, match="xsd"):
            Literal(wrong)
