"""The cases of the conformance suites: of Jelly-RDF, Jelly-SPARQL, and the syntaxes of RDF of the W3C.

The tests of `tests/conformance` run them, and `tests/conformance/report.py` writes what became of each.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import jelly
from jelly import BlankNode, QuotedTriple
from jelly._formats.registry import find
from jelly._tools.compare import as_quad
from jelly.results import ResultOptions, Results, read_result_sets, read_results, write_result_sets, write_results
from support.difference import difference
from support.oracle import Bijection, plain_all, read_text, statement
from support.shared import shared

__all__ = [
    "OWN", "SYNTAXES", "Case", "W3cTest", "compare_frames", "jelly_rdf", "jelly_sparql", "rdf_cases", "run_canonical",
    "run_own", "run_syntax", "sparql_cases", "w3c", "w3c_tests", "write_frames",
]  # fmt: skip

# As the example report of the Jelly project, and all reports on its site, name the tests.
_JELLY = "https://github.com/Jelly-RDF/jelly-protobuf/tree/main/test"


class Case(NamedTuple):
    """A case of a suite: the part of the suite, its IRI, and what runs it; without that, why it is not for us."""

    part: str
    iri: str
    run: Callable[[], object] | None
    reason: str = ""


def refused(read: Callable[[], object], *, has_line: bool = False) -> None:
    """Run what has to be refused with an error of the package."""
    line = None
    try:
        read()
    except jelly.JellyError as error:
        line = error.line
    else:
        raise AssertionError("the input was not refused")
    assert not has_line or line is not None, "the error does not tell the line"


# ---- Jelly-RDF


def rdf_cases() -> dict[str, list[dict[str, Any]]]:
    """The cases of the manifests, by the direction."""
    found: dict[str, list[dict[str, Any]]] = json.loads(shared("conformance", "parsed-manifest.json").read_text())
    return found


def compare_frames(expected: Sequence[Sequence[Any]], data: Any) -> None:
    """Compare each frame: in order, with duplicates, and with one map of blank nodes for all."""
    frames = list(jelly.scan(data).frames())
    assert [frame.index for frame in frames] == list(range(len(expected)))
    names = Bijection()
    for frame, statements in zip(frames, expected, strict=True):
        names.compare(statements, plain_all(frame))


def write_frames(options: jelly.StreamOptions, inputs: Iterable[Iterable[Any]]) -> bytes:
    """Each input as a frame."""
    out = io.BytesIO()
    with jelly.Writer(out, options, frame_rows=0) as writer:
        for statements in inputs:
            writer.extend(map(statement, statements))
            writer.end_frame()
    return out.getvalue()


def run_rdf(kind: str, case: dict[str, Any]) -> None:
    """Run a case of Jelly-RDF."""
    folder = shared("conformance", "test", "rdf") / kind
    action, result = ([folder / path for path in case[name]] for name in ("action", "result"))
    if kind == "from_jelly":
        if case["pol"] == "neg":
            refused(lambda: list(jelly.read(action[0])))
            return
        expected = [read_text(path) for path in result]
        compare_frames(expected, action[0])
        Bijection().compare([x for frame in expected for x in frame], plain_all(jelly.read(action[0])))
        return
    if case["pol"] == "neg":
        refused(lambda: write_frames(jelly.read_options(action[0]), [read_text(path) for path in action[1:]]))
        return
    options, inputs = jelly.read_options(action[0]), [read_text(path) for path in action[1:]]
    data = write_frames(options, inputs)
    assert jelly.read_options(data) == options
    compare_frames(inputs, data)
    # The file of the suite says the same, frame by frame.
    compare_frames(inputs, result[0])


def jelly_rdf() -> Iterator[Case]:
    """The cases of Jelly-RDF."""
    for kind, cases in rdf_cases().items():
        for case in cases:
            yield Case(case["id"].rpartition("/")[0], f"{_JELLY}/rdf/{case['id']}", partial(run_rdf, kind, case))


# ---- Jelly-SPARQL


def sparql_cases() -> list[dict[str, Any]]:
    """The cases of the manifest."""
    found: list[dict[str, Any]] = json.loads(shared("jelly-sparql", "manifest.json").read_text())
    return found


def _renamed(results: Results) -> tuple[tuple[str, ...], bool | None, list[tuple[Any, ...]]]:
    """A result set, whose blank nodes have numbers by their first place."""
    numbers: dict[str, int] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return ("blank node", numbers.setdefault(term.value, len(numbers)))
        return tuple(map(of, term)) if isinstance(term, QuotedTriple) else term

    return results.variables, results.boolean, [tuple(map(of, row)) for row in results]


def _sets_of(*paths: Path) -> list[Any]:
    return [_renamed(found) for path in paths for found in read_result_sets(path)]


def _written(options: Path, *sources: Path) -> io.BytesIO:
    """The sources as Jelly-SPARQL with the options of a file."""
    out = io.BytesIO()
    found = next(iter(read_result_sets(options))).options
    assert isinstance(found, ResultOptions)
    if found.stream_type.name == "PUNCTUATED":
        assert write_result_sets(out, map(read_results, sources), options=found) == len(sources)
    else:
        write_results(out, read_results(*sources), format="jellys", options=found)
    return out


def run_sparql(case: dict[str, Any]) -> None:
    """Run a case of Jelly-SPARQL."""
    folder = shared("jelly-sparql")
    action, result = [folder / name for name in case["action"]], [folder / name for name in case["result"] or []]
    reads = case["direction"] == "from_jelly"
    if not case["positive"]:
        refused(lambda: _sets_of(*action) if reads else _written(*action))
    elif reads:
        assert _sets_of(*action) == _sets_of(*result)
    else:
        made = [_renamed(found) for found in read_result_sets(_written(*action).getvalue(), format="jellys")]
        assert made == _sets_of(*action[1:]) == _sets_of(*result)


def jelly_sparql() -> Iterator[Case]:
    """The cases of Jelly-SPARQL."""
    for case in sparql_cases():
        yield Case(case["id"].rpartition("/")[0], f"{_JELLY}/sparql/{case['id']}", partial(run_sparql, case))


# ---- the W3C

ROOT, HOME = "w3c-rdf-tests/rdf/", "https://w3c.github.io/rdf-tests/rdf/"
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_TYPE, _FIRST = (f"http://www.w3.org/1999/02/22-rdf-syntax-ns#{name}" for name in ("type", "first"))

# Positive and negative tests of syntaxes that there are.
SYNTAXES = {
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
# Positive, negative and canonical tests of the formats that our own core reads, of RDF 1.2.
OWN = {
    "rdf12/rdf-n-triples/syntax": (7, 22, 0),
    "rdf12/rdf-n-triples/c14n": (0, 0, 41),
    "rdf12/rdf-n-quads/syntax": (7, 20, 0),
    "rdf12/rdf-n-quads/c14n": (0, 0, 41),
}
# Of entailment, which is not what this package does.
ENTAILMENT = ("rdf11/rdf-mt", "rdf12/rdf-semantics")


class W3cTest(NamedTuple):
    """A test of a manifest: its IRI, its type, and the names of its files."""

    iri: str
    kind: str
    name: str
    result: str | None


@cache
def w3c_files() -> dict[str, bytes]:
    """The files of the tests, by their paths."""
    with tarfile.open(shared("data", "w3c-rdf-tests.tar.gz")) as tar:
        members = [member for member in tar.getmembers() if member.isfile()]
        return {member.name.removeprefix(ROOT): tar.extractfile(member).read() for member in members}  # type: ignore


def w3c_tests(suite: str) -> Iterator[W3cTest]:
    """The tests that a manifest lists, read as the Turtle that it is. Withdrawn ones are described and not listed."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    base = f"{HOME}{suite}/"
    for s, p, o in jelly.read(w3c_files()[f"{suite}/manifest.ttl"], format="ttl", base=base + "manifest.ttl"):
        found[s.value][p.value] = o.value.removeprefix(base)
    listed = {test[_FIRST] for test in found.values() if _FIRST in test}
    for iri, test in found.items():
        if _MF + "action" in test and iri.removeprefix(base) in listed:
            yield W3cTest(iri, test[_TYPE], test[_MF + "action"], test.get(_MF + "result"))


def _same(left: Any, right: Any) -> bool:
    return not list(difference(set(map(as_quad, left)), set(map(as_quad, right))))


def run_syntax(suite: str, test: W3cTest) -> None:
    """Run a test of a syntax: right input comes through Jelly and back, wrong input is refused."""
    data = w3c_files()[f"{suite}/{test.name}"]
    format = find(None, test.name)
    is_wrong = "Negative" in test.kind
    settings: Any = {"format": format.name, "strict": is_wrong or suite.startswith("rdf11")}
    if format.namespaces:  # own formats have no relative IRIs
        settings["base"] = f"{HOME}{suite}/{test.name}"
    out, back = io.BytesIO(), io.BytesIO()
    if is_wrong:
        refused(lambda: jelly.convert(data, out, **settings), has_line=True)
        return
    jelly.convert(data, out, **settings)
    statements = jelly.loads(out.getvalue())
    jelly.convert(out.getvalue(), back, to=format.name)
    assert _same(statements, jelly.read(back.getvalue(), format=format.name)), "other statements after a round trip"
    if test.result is not None:
        # N-Triples and N-Quads are read by our own core.
        expected = jelly.read(w3c_files()[f"{suite}/{test.result}"], format=find(None, test.result).name)
        assert _same(statements, expected), "other statements than the expected ones"


def run_own(suite: str, test: W3cTest) -> list[Any]:
    """Run a test of N-Triples or N-Quads of RDF 1.2: the statements."""
    data, format = w3c_files()[f"{suite}/{test.name}"], find(None, test.name).name
    if "Negative" in test.kind:
        refused(lambda: list(jelly.read(data, format=format, rdf="1.2")), has_line=True)
        return []
    statements: list[Any] = list(jelly.read(data, format=format, rdf="1.2"))
    assert jelly.loads(jelly.dumps(statements)) == statements
    assert statements or "C14N" in test.kind
    return statements


def run_canonical(suite: str, test: W3cTest) -> None:
    """Run a test of the canonical form: the bytes that are written."""
    out = io.BytesIO()
    jelly.write(out, run_own(suite, test), format=find(None, test.name).name)
    assert test.result is not None
    assert out.getvalue() == w3c_files()[f"{suite}/{test.result}"], "other bytes than the canonical form"


def w3c() -> Iterator[Case]:
    """The tests of the W3C."""
    for suite in (*SYNTAXES, *OWN, *ENTAILMENT):
        for test in w3c_tests(suite):
            if suite in ENTAILMENT:
                yield Case(suite, test.iri, None, "entailment: the package reads and writes, and draws no conclusions")
            else:
                run = run_syntax if suite in SYNTAXES else run_canonical if "C14N" in test.kind else run_own
                yield Case(suite, test.iri, partial(run, suite, test))
