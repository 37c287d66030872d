"""Prefixes in the terms of ``jelly find``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")

from click.testing import CliRunner, Result  # noqa: E402

import jelly  # noqa: E402
from jelly.cli.commands import cli  # noqa: E402

TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
TEXT = f"""\
<http://ex/a> <{TYPE}> <http://xmlns.com/foaf/0.1/Person> .
<http://ex/a> <http://ex/age> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://ex/a> <http://schema.org/name> "A" .
<http://ex/a> <https://schema.org/name> "B" .
<rdf:type> <ex:age> <http://e/b> .
"""
NAMESPACES = {"ex": "http://ex/", "": "http://e/"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.nt").write_text(TEXT)
    jelly.convert("plain.nt", "declared.jelly", prefixes=NAMESPACES, seekable=True)
    jelly.convert("plain.nt", "other.jelly", prefixes={"ex": "http://other/", "rdf": "http://ex/"})


def run(*args: Any, code: int = 0, data: bytes | None = None) -> Result:
    done = CliRunner().invoke(cli, [str(arg) for arg in args], input=data)
    assert done.exit_code == code, done.output
    return done


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ("plain.nt -p rdf:type", 1),
        ("plain.nt -p <rdf:type>", 0),
        ("plain.nt -s <rdf:type>", 1),
        ("plain.nt -p schema:name", 2),
        ("plain.nt --where o.datatype=xsd:integer", 1),
        ("plain.nt --where o.datatype=xsd:integer --invert", 4),
        ("plain.nt --where o.datatype!=xsd:integer -s http://ex/a", 3),
        ("plain.nt --where s.prefix=ex: --prefix ex=http://ex/ --where p.prefix=http://schema.org/ -s http://ex/a", 1),
        ("plain.nt --where o.prefix=foaf:", 1),
        ("plain.nt -p ex:age", 1),  # nothing declares it: the IRI
        ("plain.nt --prefix ex=http://ex/ -s ex:a", 4),
        ("declared.jelly -p ex:age", 1),
        ("declared.jelly -s ex:a -p ex:age", 1),
        ("declared.jelly --object :b", 1),
        ("declared.jelly -s http://ex/a", 4),
        ("declared.jelly plain.nt --blank-nodes keep -p ex:age", 2),
        ("declared.jelly other.jelly -s ex:a", 8),  # declared in two ways
        ("declared.jelly --prefix ex=http://none/ -s ex:a", 0),  # the option goes before the file
        ("other.jelly -p rdf:age", 1),  # a file goes before what is well known
    ],
)
def test_find(arguments: str, number: int) -> None:
    assert run("find", *arguments.split(), "--count").stdout == f"{number}\n"


def test_filter() -> None:
    assert run("find", "declared.jelly", "-p", "ex:age", "-q").stdout.startswith("<http://ex/a> <http://ex/age>")
    run("find", "plain.nt", "--object", "foaf:Person", "-o", "out.nt", "-q")
    assert Path("out.nt").read_text() == TEXT.splitlines(keepends=True)[0]
    for name in (":b", "foaf:Person"):
        assert "has no suffix" in run("find", "plain.nt", "-o", name, code=2).stderr
        assert not Path(name).exists()
    assert "ex:none was read as an IRI" in run("find", "plain.nt", "-s", "ex:none", "-q").stderr


def test_what_is_not_declared_is_told_if_nothing_is_found() -> None:
    assert "note: ex:a was read as an IRI" in run("find", "plain.nt", "-s", "ex:a").stderr
    assert run("find", "plain.nt", "-p", "ex:age").stderr == ""
    assert run("find", "plain.nt", "-p", "urn:none").stderr == ""
    assert run("find", "plain.nt", "-p", "http://none").stderr == ""
    assert "no file declares the empty prefix" in run("find", "plain.nt", "-s", ":a", code=2).stderr
    assert "'ex' is not NAME=IRI" in run("find", "plain.nt", "--prefix", "ex", "-s", "ex:a", code=2).stderr


def test_standard_input_is_read_once() -> None:
    assert run("find", "-", "--from", "nt", "-p", "rdf:type", "--count", data=TEXT.encode()).stdout == "1\n"


def test_python_is_exact() -> None:
    assert jelly.find("declared.jelly", p="ex:age").count() == jelly.find("plain.nt", s="rdf:type").count() == 1
    assert jelly.find("plain.nt", p="rdf:type").count() == 0
