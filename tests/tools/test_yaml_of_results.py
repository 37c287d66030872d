"""YAML that commands print says what JSON says, whatever characters are in it."""

from __future__ import annotations

import pytest

yaml = pytest.importorskip("yaml")

from jelly._tools.yaml import dump_yaml  # noqa: E402


def test_every_character_comes_back() -> None:
    for number in (*range(0x100), 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0x1F600):
        for text in (chr(number), f"a{chr(number)}b", f"- {chr(number)}: "):
            value = {text: [text, {"é": text}]}
            assert yaml.safe_load(dump_yaml(value)) == value, hex(number)
    assert dump_yaml({"é": 1}) == "é: 1\n"
