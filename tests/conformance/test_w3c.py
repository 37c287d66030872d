"""The suites of the W3C: what they say is right comes through Jelly and back, what they say is wrong is refused."""

from __future__ import annotations

import io

import pytest
from support.conformance import OWN, SYNTAXES, run_canonical, run_own, run_syntax, w3c_files, w3c_tests

import jelly
from jelly._formats.registry import find

pytest.importorskip("pyoxigraph", reason="it reads the syntaxes")

# pyoxigraph writes the namespaces in scope into an XML literal, those that are not used too.
XML_LITERALS = {"xml-canon/test001.rdf", "xml-canon/test002.rdf", "rdf12-xml-an-13.rdf", "rdf12-xml-an-14.rdf"}


@pytest.mark.parametrize("suite", SYNTAXES)
def test_suite(suite: str) -> None:
    counts = [0, 0]
    wrong = set()
    for test in w3c_tests(suite):
        counts["Negative" in test.kind] += 1
        try:
            run_syntax(suite, test)
        except AssertionError as error:
            wrong.add((test.name, str(error).splitlines()[0]))
    assert tuple(counts) == SYNTAXES[suite]
    expected = XML_LITERALS & {test.name for test in w3c_tests(suite)}
    assert wrong == {(name, "other statements than the expected ones") for name in expected}


# The canonical form has language tags in lower case. We write what was read, as tags are data to other tools.
TAG_CASE = {"langtagged_string", "dirlangtagged_string"}
# It escapes U+FFFE and U+FFFF. We write what RDFC-1.0 asks for, where they stand as they are.
ESCAPES = {"literal_needing_uchar_escaping-01", "literal_needing_uchar_escaping-02"}


@pytest.mark.parametrize("suite", OWN)
def test_own_formats_of_rdf_1_2(suite: str) -> None:
    counts = [0, 0, 0]
    other = set()
    for test in w3c_tests(suite):
        if "C14N" not in test.kind:
            counts["Negative" in test.kind] += 1
            run_own(suite, test)
            continue
        counts[2] += 1
        try:
            run_canonical(suite, test)
        except AssertionError:
            other.add(test.name.split(".")[0])
            out = io.BytesIO()
            jelly.write(out, run_own(suite, test), format=find(None, test.name).name)
            expected = w3c_files()[f"{suite}/{test.result}"].replace(b"\\uFFFE\\uFFFF", "\ufffe\uffff".encode())
            assert out.getvalue().lower() == expected.lower(), test.name
    assert tuple(counts) == OWN[suite]
    assert other == (TAG_CASE | ESCAPES if suite.endswith("c14n") else set())
