"""The suites of the W3C: what they say is right comes through Jelly and back, what they say is wrong is refused."""

from __future__ import annotations

import io
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from support.difference import difference
from support.shared import shared

import jelly
from jelly._formats.registry import find
from jelly._tools.compare import as_quad

pytest.importorskip("pyoxigraph", reason="it reads the syntaxes")

ROOT = "w3c-rdf-tests/rdf/"
HOME = "https://w3c.github.io/rdf-tests/rdf/"
MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

# Positive and negative tests that there are.
SUITES = {
    "rdf11/rdf-turtle": (219, 94),
    "rdf11/rdf-trig": (241, 115),
    "rdf11/rdf-xml": (126, 40),
    "rdf11/rdf-n-triples": (41, 29),
    "rdf11/rdf-n-quads": (53, 34),
    "rdf12/rdf-turtle/syntax": (41, 33),
    "rdf12/rdf-turtle/eval": (29, 0),
    "rdf12/rdf-trig/syntax": (24, 11),
    "rdf12/rdf-trig/eval": (25, 0),
    "rdf12/rdf-xml/eval": (29, 2),
}
# pyoxigraph writes the namespaces in scope into an XML literal, those that are not used too.
XML_LITERALS = {"xml-canon/test001.rdf", "xml-canon/test002.rdf", "rdf12-xml-an-13.rdf", "rdf12-xml-an-14.rdf"}


@cache
def files() -> dict[str, bytes]:
    with tarfile.open(shared("data", "w3c-rdf-tests.tar.gz")) as tar:
        members = [member for member in tar.getmembers() if member.isfile()]
        return {member.name.removeprefix(ROOT): tar.extractfile(member).read() for member in members}  # type: ignore


def tests(suite: str) -> Iterator[tuple[str, str, str | None]]:
    """Type, file and result of the tests of a manifest, read as the Turtle that it is."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    base = f"{HOME}{suite}/"
    for s, p, o in jelly.read(files()[f"{suite}/manifest.ttl"], format="ttl", base=base + "manifest.ttl"):
        found[str(s)][p.value] = o.value.removeprefix(base)
    for test in found.values():
        if MF + "action" in test:
            yield test[TYPE], test[MF + "action"], test.get(MF + "result")


def same(left: Any, right: Any) -> bool:
    return not list(difference(set(map(as_quad, left)), set(map(as_quad, right))))


@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite: str) -> None:
    counts = [0, 0]
    wrong = []
    for kind, name, result in tests(suite):
        data = files()[f"{suite}/{name}"]
        format = find(None, name)
        # Own formats have no relative IRIs.
        settings = {"base": f"{HOME}{suite}/{name}"} if format.namespaces else {}
        out = io.BytesIO()
        if "Negative" in kind:
            counts[1] += 1
            with pytest.raises(jelly.JellyError) as caught:
                jelly.convert(data, out, format=format.name, strict=True, **settings)
            assert caught.value.line is not None, name
            continue
        counts[0] += 1
        jelly.convert(data, out, format=format.name, strict=suite.startswith("rdf11"), **settings)
        statements = jelly.loads(out.getvalue())
        if result is not None:
            # N-Triples and N-Quads are read by our own core.
            expected = jelly.read(files()[f"{suite}/{result}"], format=find(None, result).name)
            if not same(statements, expected):
                wrong.append(name)
        back = io.BytesIO()
        jelly.convert(out.getvalue(), back, to=format.name)
        assert same(statements, jelly.read(back.getvalue(), format=format.name)), name
    assert tuple(counts) == SUITES[suite]
    assert set(wrong) == XML_LITERALS & {name for _, name, _ in tests(suite)}


# Positive, negative and canonical tests of the formats that our own core reads.
OWN = {
    "rdf12/rdf-n-triples/syntax": (7, 22, 0),
    "rdf12/rdf-n-triples/c14n": (0, 0, 41),
    "rdf12/rdf-n-quads/syntax": (7, 20, 0),
    "rdf12/rdf-n-quads/c14n": (0, 0, 41),
}
# The canonical form has language tags in lower case. We write what was read, as tags are data to other tools.
TAG_CASE = {"langtagged_string", "dirlangtagged_string"}
# It escapes U+FFFE and U+FFFF. We write what RDFC-1.0 asks for, where they stand as they are.
ESCAPES = {"literal_needing_uchar_escaping-01", "literal_needing_uchar_escaping-02"}


@pytest.mark.parametrize("suite", OWN)
def test_own_formats_of_rdf_1_2(suite: str) -> None:
    counts = [0, 0, 0]
    other = set()
    for kind, name, result in tests(suite):
        data = files()[f"{suite}/{name}"]
        format = find(None, name).name
        if "Negative" in kind:
            counts[1] += 1
            with pytest.raises(jelly.JellyError) as caught:
                list(jelly.read(data, format=format, rdf="1.2"))
            assert caught.value.line is not None, name
            continue
        statements = list(jelly.read(data, format=format, rdf="1.2"))
        assert jelly.loads(jelly.dumps(statements)) == statements
        if "C14N" not in kind:
            counts[0] += 1
            assert statements, name
            continue
        counts[2] += 1
        out = io.BytesIO()
        jelly.write(out, statements, format=format)
        expected = files()[f"{suite}/{result}"]
        if out.getvalue() != expected:
            other.add(name.split(".")[0])
            expected = expected.replace(b"\\uFFFE\\uFFFF", "\ufffe\uffff".encode())
            assert out.getvalue().lower() == expected.lower(), name
    assert tuple(counts) == OWN[suite]
    assert other == (TAG_CASE | ESCAPES if suite.endswith("c14n") else set())
