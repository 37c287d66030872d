"""The official conformance cases of Jelly-RDF: judged by frame, ordered, duplicates kept, one blank node map a case."""

import pytest
from support.conformance import rdf_cases, run_rdf, write_frames
from support.oracle import Bijection, plain_all, read_text
from support.shared import shared

import jelly

CASES = rdf_cases()
FOLDER = shared("conformance", "test", "rdf")


def cases(kind, sign):
    return [
        pytest.param(FOLDER / kind, case["action"], case["result"], id=case["id"].partition("/")[2])
        for case in CASES[kind]
        if case["pol"] == sign
    ]


def test_all_cases_are_there():
    assert {(kind, sign): len(cases(kind, sign)) for kind in CASES for sign in ("pos", "neg")} == {
        ("from_jelly", "pos"): 80,
        ("from_jelly", "neg"): 30,
        ("to_jelly", "pos"): 75,
        ("to_jelly", "neg"): 2,
    }


@pytest.mark.parametrize(
    ("kind", "case"),
    [pytest.param(kind, case, id=case["id"]) for kind in CASES for case in CASES[kind]],
)
def test_case(kind, case):
    run_rdf(kind, case)


@pytest.mark.parametrize(("case", "reason"), [("neg_001", "row"), ("neg_002", "graph")])
def test_from_jelly_refuses_what_the_manifest_forgets(case, reason):
    """The manifest names the files of quads_rdf_1_1 for these two."""
    path = FOLDER / "from_jelly" / "graphs_rdf_1_1" / case / "in.jelly"
    assert path.exists()
    with pytest.raises(jelly.JellyFormatError, match=reason):
        list(jelly.read(path))


@pytest.mark.interop
@pytest.mark.parametrize(("folder", "action", "result"), cases("to_jelly", "pos"))
def test_to_jelly_as_pyjelly_reads_it(folder, action, result):
    peer = pytest.importorskip("support.by_pyjelly")
    inputs = [read_text(folder / path) for path in action[1:]]
    data = write_frames(jelly.read_options(folder / action[0]), inputs)
    assert peer.options_row(data) == peer.options_row((folder / action[0]).read_bytes())
    frames = peer.read_frames(data)
    assert len(frames) == len(inputs)
    names = Bijection()
    for frame, statements in zip(frames, inputs, strict=True):
        names.compare(statements, frame)


TEXTS = sorted(
    {f"{kind}/{path}" for kind in CASES for case in CASES[kind] for path in case["action"] + case["result"]}
)
TEXTS = [path for path in TEXTS if not path.endswith(".jelly")]


def test_all_texts_are_there():
    assert len(TEXTS) == 268


@pytest.mark.parametrize("path", TEXTS)
def test_our_text_reader_agrees(path):
    assert plain_all(jelly.read(FOLDER / path)) == read_text(FOLDER / path)


@pytest.mark.parametrize("path", TEXTS)
def test_our_text_writer_agrees(path, tmp_path):
    written = tmp_path / path.rpartition("/")[2]
    jelly.write(written, jelly.read(FOLDER / path))
    assert read_text(written) == read_text(FOLDER / path)
