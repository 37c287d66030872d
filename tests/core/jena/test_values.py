"""Room values: numbers as text, as Java writes them, and back."""

import decimal
import locale
import math
import random
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.compiled import format_decimal, format_double, parse_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (123456.789, "123456.789"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (9.999e-4, "9.999E-4"),
        (1e23, "1.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (2.2250738585072014e-308, "2.2250738585072014E-308"),
        (5e-324, "4.9E-324"),
        (1e-323, "9.9E-324"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (2.0**63, "9.223372036854776E18"),
        (1234567.1234567, "1234567.1234567"),
        (12345678.9, "1.23456789E7"),
        (0.3, "0.3"),
        (0.1 + 0.2, "0.30000000000000004"),
        (math.inf, "INF"),
        (-math.inf, "-INF"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_as_java_writes_them(value, text):
    assert format_double(value) == text


@given(st.floats())
@example(9007199254740993.0)
@example(2**-44)
@example(1e22)
def test_doubles_come_back(value):
    text = format_double(value)
    if math.isnan(value):
        assert text == "NaN"
        return
    assert struct.pack("d", float(text)) == struct.pack("d", value)
    if math.isfinite(value):
        assert struct.pack("d", parse_value("double", text)) == struct.pack("d", value)
        digits = text.partition("E")[0].replace(".", "").strip("-0")
        assert len(digits) <= max(len(repr(value).partition("e")[0].replace(".", "").strip("-0")), 2)


def test_many_doubles():
    chance = random.Random(3)
    for _ in range(20_000):
        value = round(chance.uniform(-1000, 1000), chance.randrange(12))
        text = format_double(value)
        assert float(text) == value
        if 1e-3 <= abs(value) < 1e7:
            assert text == repr(value)
        assert parse_value("double", repr(value)) == value


def test_doubles_in_another_locale():
    before = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "da_DK.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    else:
        pytest.skip("no locale with a decimal comma is installed")
    try:
        assert format_double(0.1 + 0.2) == "0.30000000000000004"
        assert parse_value("double", "0.30000000000000004") == 0.1 + 0.2
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-40, 40))
@example(0, -3)
@example(-5, 3)
@example(12360, 2)
def test_decimals(value, scale):
    text = format_decimal(value, scale)
    exact = decimal.Context(prec=80)
    assert exact.create_decimal(text) == exact.scaleb(decimal.Decimal(value), -scale)
    assert "E" not in text
    if scale > 0:
        assert len(text.partition(".")[2]) == scale
        assert parse_value("decimal", text) == (value, scale)


@pytest.mark.parametrize(
    ("datatype", "text", "value"),
    [
        ("integer", "42", 42),
        ("integer", "-1", -1),
        ("integer", "+7", 7),
        ("integer", "007", 7),
        ("integer", " 42\n", 42),
        ("integer", "9223372036854775807", 2**63 - 1),
        ("integer", "-9223372036854775808", -(2**63)),
        ("integer", "9223372036854775808", None),
        ("integer", "-9223372036854775809", None),
        ("integer", "99999999999999999999", None),
        ("integer", "4.0", None),
        ("integer", "", None),
        ("integer", "-", None),
        ("integer", "abc", None),
        ("integer", "1_0", None),
        ("integer", "4 2", None),
        ("long", "9223372036854775807", 2**63 - 1),
        ("int", "2147483647", 2**31 - 1),
        ("int", "2147483648", None),
        ("int", "-2147483648", -(2**31)),
        ("int", "-2147483649", None),
        ("short", "32767", 32767),
        ("short", "32768", None),
        ("byte", "-128", -128),
        ("byte", "128", None),
        ("byte", "127", 127),
        ("unsignedByte", "1", None),
        ("nonNegativeInteger", "1", None),
        ("boolean", "1", None),
        ("float", "1", None),
        ("decimal", "123.60", (12360, 2)),
        ("decimal", "5", (5, 0)),
        ("decimal", "-.5", (-5, 1)),
        ("decimal", "5.", (5, 0)),
        ("decimal", ".", None),
        ("decimal", "1e3", None),
        ("decimal", "1.2.3", None),
        ("decimal", "-0.0", (0, 1)),
        ("decimal", "0." + "0" * 4097, None),
        ("decimal", "92233720368547758.08", None),
        ("double", "1.5", 1.5),
        ("double", "1", 1.0),
        ("double", "-1E3", -1000.0),
        ("double", "1e-2", 0.01),
        ("double", "NaN", math.nan),
        ("double", "INF", None),
        ("double", "-INF", None),
        ("double", "+INF", None),
        ("double", "1e400", None),
        ("double", "nan", None),
        ("double", "inf", None),
        ("double", "0x10", None),
        ("double", "1e", None),
        ("double", "e5", None),
        ("double", ".", None),
        ("double", "1,5", None),
        ("double", "-0", -0.0),
        ("double", "1.7976931348623157E308", 1.7976931348623157e308),
        ("double", "4.9E-324", 5e-324),
        ("double", "0." + "1" * 200, None),
        ("double", "1e5 x", None),
        ("double", "\t2.5 ", 2.5),
    ],
)
def test_values_of_text(datatype, text, value):
    found = parse_value(datatype, text)
    assert repr(found) == repr(value)


@given(st.text("0123456789.+-eE ", max_size=30))
def test_any_text(text):
    found = parse_value("double", text)
    if found is not None:
        assert found == float(text)
    found = parse_value("integer", text)
    if found is not None:
        assert found == int(text)
    found = parse_value("decimal", text)
    if found is not None:
        assert decimal.Context(prec=60).create_decimal(text.strip()) == decimal.Decimal(found[0]).scaleb(-found[1])
