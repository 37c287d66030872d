"""A quoted triple as graph: read where the syntax has room for it, and held or refused by name, everywhere."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import jelly
from jelly import IRI, Batch, JellyError, JellyUnsupportedError, Quad, QuotedTriple
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._formats.registry import FORMATS
from jelly._tools.validate import validate

S, P, X = IRI("http://e/s"), IRI("http://e/p"), IRI("http://e/o")
T = QuotedTriple(S, P, X)
QUADS = {
    "alone": [Quad(S, P, X, T)],
    "after others": [Quad(S, P, X), Quad(S, P, T), Quad(T, P, T, X), Quad(S, P, X, T)],
    "first": [Quad(T, P, T, T), Quad(S, P, X, IRI("http://e/g"))],
}
# What can hold them: lines, which may be generalized, and Jena's formats, whose graph is any term.
HELD = {"nq", "thrift", "protobuf"}


def batch_of(quads: list[Quad]) -> Batch:
    builder = BatchBuilder(4)
    for quad in quads:
        builder.add(quad)
    return builder.batch


@pytest.mark.parametrize("rows", QUADS)
@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("rdfp", "trp", "jellyp")])
def test_every_format(name: str, rows: str) -> None:
    out = io.BytesIO()
    try:
        with jelly.Writer(out, format=name) as writer:
            writer.add_batch(batch_of(QUADS[rows]))
    except JellyUnsupportedError as error:
        assert name not in HELD
        assert "quoted triple" in str(error) or "named graphs" in str(error)  # noqa: PT017
    else:
        assert name in HELD
        assert list(jelly.read(out.getvalue(), format=name)) == QUADS[rows]


@pytest.mark.parametrize("rows", QUADS)
@pytest.mark.parametrize(
    "options",
    [
        {"physical_type": 2}, {"physical_type": 3}, {"physical_type": 2, "rdf_star": True},
        {"physical_type": 2, "version": 3},
        {"physical_type": 2, "rdf_star": True, "generalized_statements": True},
        {"physical_type": 3, "rdf_star": True, "generalized_statements": True},
    ],
    ids=str,
)  # fmt: skip
def test_jelly_names_it(options: dict[str, object], rows: str) -> None:
    message = "Jelly cannot hold a quoted triple as graph; use N-Quads"
    with pytest.raises(JellyUnsupportedError, match=message):
        jelly.dumps(QUADS["alone"], options=options)
    with pytest.raises(JellyError) as caught:
        jelly.dumps(QUADS[rows], options=options)
    assert "term id" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(HELD))
def test_validate_finds_it_and_convert_says_so(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{FORMATS[name].suffixes[0]}"
    jelly.write(path, QUADS["after others"], format=name)
    [problem] = validate(path, format=name)
    assert problem.message == "statement 3: a quoted triple as graph, which no version of RDF allows"
    with pytest.raises(JellyUnsupportedError, match="Jelly cannot hold a quoted triple as graph"):
        jelly.convert(path, tmp_path / "a.jelly")
    assert not (tmp_path / "a.jelly").exists()
    assert validate(jelly.dumps([S_P_O]), format="jelly") == []


S_P_O = Quad(S, P, X, X)


def test_patches() -> None:
    patch = pytest.importorskip("jelly.patch")
    one = patch.Patch([patch.Add(QUADS["alone"][0])])
    with pytest.raises(JellyUnsupportedError, match="Jelly-Patch cannot hold a quoted triple as graph; use RDF Patch"):
        patch.dumps(one)
    assert patch.loads(patch.dumps(one, format="rdfp"), format="rdfp") == [one]
