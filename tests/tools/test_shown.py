"""What notebooks and the prompt show: `_repr_html_` and `repr`."""

import io

import pytest

import jelly
from jelly import IRI, Literal, Quad, Triple

LINES = b"".join(b'<a:s%d> <a:p> "<b>%s" .\n' % (i, b"x" * 10 * i) for i in range(12))


def test_batches_and_statements_as_html():
    [batch] = jelly.scan(LINES, format="nt").batches()
    shown = batch._repr_html_()
    assert "<caption>&lt;jelly.Batch: 12 triples" in shown
    assert "<th>subject</th><th>predicate</th><th>object</th></tr>" in shown
    assert "<td>&lt;a:s9&gt;</td>" in shown
    assert "a:s10" not in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 12  # names, ten rows, dots
    assert len(shown) < 3000
    [quads] = jelly.scan(jelly.dumps([Quad(IRI("a:s"), IRI("a:p"), Literal("o"))])).batches()
    assert "<th>graph</th></tr><tr><td>&lt;a:s&gt;</td><td>&lt;a:p&gt;</td><td>&quot;o&quot;</td><td></td>" in (
        quads._repr_html_()
    )
    assert "<td>&quot;&lt;b&gt;&quot;</td>" in Triple(IRI("a:s"), IRI("a:p"), Literal("<b>"))._repr_html_()
    shown = Triple(IRI("a:s"), IRI("a:p"), Literal("a\x9b2J\u00a0"))._repr_html_()
    assert "<td>&quot;a\\x9b2J\u00a0&quot;</td>" in shown
    assert "<th>graph</th>" in Quad(IRI("a:s"), IRI("a:p"), Literal("<b>"))._repr_html_()


def test_a_description_is_one_line_at_the_prompt():
    found = jelly.describe(b"<a:s> a <a:C> .", format="ttl", title="x.ttl")
    assert repr(found) == "<jelly.Description of x.ttl: 1 triples, 1 classes, 1 properties>"


def test_stats_and_inspections_as_html():
    from jelly.stats import stats

    shown = stats(LINES, format="nt")._repr_html_()
    assert "12 statements" in shown
    assert "<td>predicates (1)</td><td>a:p: 12</td>" in shown
    shown = jelly.inspect(jelly.dumps(jelly.read(LINES, format="nt")))._repr_html_()
    assert "12 statements, 1 frames" in shown
    assert "<td>triple</td><td>12</td>" in shown


def test_results_as_html_are_not_used_up():
    from jelly.results import read_results

    rows = b'{"bindings":[{"x":{"type":"uri","value":"a:<i>"}}]}'
    results = read_results(b'{"head":{"vars":["x","<b>"]},"results":%s}' % rows, format="json")
    assert repr(results) == "<jelly.results.Results: json, variables x, <b>>"
    assert "<th>x</th><th>&lt;b&gt;</th>" in results._repr_html_()
    [batch] = results.batches()
    assert "<td>&lt;a:\\u003Ci\\u003E&gt;</td><td></td>" in batch._repr_html_()


def test_readers_and_writers_tell_where_they_are(tmp_path):
    path = tmp_path / "some.jelly"
    with jelly.Writer(path) as writer:
        assert repr(writer) == f"<jelly.Writer to {path}: Jelly, 0 statements so far>"
        for statement in jelly.read(LINES, format="nt"):
            writer.add(statement)
    with jelly.Reader(path) as reader:
        assert repr(reader) == f"<jelly.Reader of {path}: Jelly, 0 statements so far>"
        list(reader.batches())
        assert "12 statements so far" in repr(reader)
    with jelly.Reader(LINES, format="nt") as reader, jelly.Writer(io.BytesIO(), format="nq") as writer:
        assert repr(reader) == "<jelly.Reader: N-Triples, 0 statements so far>"
        assert repr(writer) == "<jelly.Writer: N-Quads, 0 statements so far>"
    decoder = jelly.Decoder()
    data = path.read_bytes()
    list(decoder.feed(data))
    assert repr(decoder) == f"<jelly.Decoder: 12 statements, 1 frames, {len(data)} bytes so far>"
    with jelly.open(jelly_with_index(tmp_path)) as file:
        assert "12" in repr(file)
    assert "<td>the file is closed: " in file._repr_html_()


def jelly_with_index(folder):
    jelly.convert(LINES, folder / "index.jelly", format="nt", seekable=True)
    return folder / "index.jelly"


@pytest.mark.parametrize("name", ["read_arrow", "scan", "append"])
def test_names_that_are_imported_late_are_listed(name):
    assert name in dir(jelly)
    with pytest.raises(AttributeError, match="no attribute 'raed'"):
        jelly.raed  # noqa: B018


@pytest.mark.parametrize("name", ["arrow", "messages", "oxigraph", "patch", "plot", "polars", "results", "stats"])
def test_dir_of_a_module_is_its_public_names(name):
    module = pytest.importorskip(f"jelly.{name}")
    assert [each for each in dir(module) if each not in module.__all__] == []
    assert [each for each in dir(jelly) if each not in (*jelly.__all__, "open")] == []


def test_all_that_is_returned_says_what_it_is(tmp_path):
    path = tmp_path / "x.nt"
    path.write_bytes(LINES)
    (tmp_path / "none.nt").write_bytes(b"")
    patch = jelly.patch.diff(tmp_path / "none.nt", path)
    ids = jelly.scan(path).to_ids()
    done = jelly.convert(path, tmp_path / "x.jelly")
    with jelly.open(tmp_path / "x.jelly") as file:
        for thing in (patch, ids, done, file, next(jelly.scan(path).batches())):
            shown = thing._repr_html_()
            assert shown.startswith("<table>")
            assert shown.endswith("</table>")
        assert "a:s" in file._repr_html_() or "http" in file._repr_html_()
    messages = jelly.messages.MessageReader(path)
    statements = jelly.read(path)
    for thing in (statements, jelly.scan(path), jelly.scan(path).sort()[1:], jelly.scan(path).frames(), messages):
        assert " at 0x" not in repr(thing)
    messages.source.close()
    list(statements)
    assert repr(jelly.scan([path, path]).sort()) == f"<jelly.Dataset of {path} and 1 more, sort>"
