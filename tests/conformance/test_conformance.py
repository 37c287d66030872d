"""The official conformance cases of Jelly-RDF: judged by frame, ordered, duplicates kept, one blank node map a case."""

import io
import json

import pytest
from support.oracle import Bijection, plain_all, read_text, statement
from support.shared import shared

import jelly

CASES = json.loads(shared("conformance", "parsed-manifest.json").read_text())
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


def compare_frames(expected, data):
    frames = list(jelly.scan(data).frames())
    assert [frame.index for frame in frames] == list(range(len(expected)))
    names = Bijection()
    for frame, statements in zip(frames, expected, strict=True):
        names.compare(statements, plain_all(frame))


@pytest.mark.parametrize(("folder", "action", "result"), cases("from_jelly", "pos"))
def test_from_jelly(folder, action, result):
    (source,) = action
    expected = [read_text(folder / path) for path in result]
    compare_frames(expected, folder / source)
    Bijection().compare([x for frame in expected for x in frame], plain_all(jelly.read(folder / source)))


@pytest.mark.parametrize(("folder", "action", "result"), cases("from_jelly", "neg"))
def test_from_jelly_refuses(folder, action, result):
    with pytest.raises(jelly.JellyError):
        list(jelly.read(folder / action[0]))


@pytest.mark.parametrize(("case", "reason"), [("neg_001", "row"), ("neg_002", "graph")])
def test_from_jelly_refuses_what_the_manifest_forgets(case, reason):
    """The manifest names the files of quads_rdf_1_1 for these two."""
    path = FOLDER / "from_jelly" / "graphs_rdf_1_1" / case / "in.jelly"
    assert path.exists()
    with pytest.raises(jelly.JellyFormatError, match=reason):
        list(jelly.read(path))


def write_frames(options, inputs):
    out = io.BytesIO()
    with jelly.Writer(out, options, frame_rows=0) as writer:
        for statements in inputs:
            writer.extend(map(statement, statements))
            writer.end_frame()
    return out.getvalue()


@pytest.mark.parametrize(("folder", "action", "result"), cases("to_jelly", "pos"))
def test_to_jelly(folder, action, result):
    options = jelly.read_options(folder / action[0])
    inputs = [read_text(folder / path) for path in action[1:]]
    data = write_frames(options, inputs)
    assert jelly.read_options(data) == options
    compare_frames(inputs, data)
    # The file of the suite says the same, frame by frame.
    compare_frames(inputs, folder / result[0])


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


@pytest.mark.parametrize(("folder", "action", "result"), cases("to_jelly", "neg"))
def test_to_jelly_refuses(folder, action, result):
    with pytest.raises(jelly.JellyError):  # noqa: PT012 - reading the options or writing, both will do
        options = jelly.read_options(folder / action[0])
        write_frames(options, [read_text(folder / path) for path in action[1:]])


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
