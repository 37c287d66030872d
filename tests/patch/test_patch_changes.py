"""diff, apply, invert and compact: against sets of statements, by hypothesis and with real data."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.oracle import parse_text
from support.shared import shared

import jelly
from jelly import IRI, Quad
from jelly.cli.commands import cli
from jelly.patch import (
    Abort,
    Add,
    AddNamespace,
    Applied,
    Commit,
    Delete,
    DeleteNamespace,
    DiffStat,
    Header,
    Patch,
    Start,
    apply,
    compact,
    diff,
    dumps,
    invert,
    loads,
    read_patches,
)
from jelly.patch import _diff as module

NODES = [IRI("a:s"), IRI("a:t"), jelly.BlankNode("b")]
OBJECTS = [*NODES, jelly.Literal("x\n\u00e9", language="en"), jelly.Literal("1", datatype="d:t"), jelly.Literal("")]
QUOTED = jelly.QuotedTriple(NODES[0], NODES[1], OBJECTS[3])
GRAPHS = [None, IRI("a:g"), jelly.BlankNode("g")]
STATEMENTS = st.builds(
    Quad, st.sampled_from([*NODES, QUOTED]), st.sampled_from(NODES[:2]), st.sampled_from([*OBJECTS, QUOTED]),
    st.sampled_from(GRAPHS),
)  # fmt: skip
DATASETS = st.sets(STATEMENTS, max_size=12)
CHANGES = st.lists(st.builds(Add, STATEMENTS) | st.builds(Delete, STATEMENTS), max_size=6)
BLOCKS = st.lists(st.tuples(CHANGES, st.sampled_from([None, Commit, Abort])), max_size=4)


def text(statements) -> bytes:
    out = io.BytesIO()
    jelly.write(out, statements, format="nq")
    return out.getvalue()


def applied(patches, dataset, **settings) -> set[Quad]:
    out = io.BytesIO()
    apply(patches, text(dataset), out, format="nq", to="nq", **settings)
    found = list(jelly.read(out.getvalue(), format="nq"))
    assert len(found) == len(set(found))
    return set(found)


def make(blocks) -> Patch:
    operations = []
    for some, end in blocks:
        operations += some if end is None else [Start(), *some, end()]
    return Patch(operations)


def model(blocks, dataset: set[Quad]) -> set[Quad]:
    """What a patch does, statement by statement."""
    now = set(dataset)
    for some, end in blocks:
        if end is not Abort:
            for operation in some:
                (now.add if isinstance(operation, Add) else now.discard)(operation.statement)
    return now


@given(old=DATASETS, new=DATASETS)
def test_a_difference_applied_is_the_other(old, new):
    patch = diff(text(old), text(new), format="nq")
    assert (patch.count(2), patch.count(3)) == (len(new - old), len(old - new))
    assert applied(patch, old, on_missing="error") == new
    assert applied(invert(patch), new, on_missing="error") == old


@given(blocks=BLOCKS, dataset=DATASETS)
def test_patches_do_what_they_say(blocks, dataset):
    patch = make(blocks)
    expected = model(blocks, dataset)
    assert applied(patch, dataset) == expected
    assert applied(loads(dumps(patch)), dataset) == expected
    assert applied(compact(patch), dataset) == expected


@given(parts=st.lists(BLOCKS, max_size=3), dataset=DATASETS)
def test_compacting_keeps_the_effect(parts, dataset):
    patches = [make(blocks) for blocks in parts]
    one = compact(patches)
    statements = [operation.statement for operation in one if isinstance(operation, Add | Delete)]
    assert len(statements) == len(set(statements))
    assert applied(one, dataset) == applied(patches, dataset)


@examples(40)
@given(blocks=BLOCKS, dataset=DATASETS)
def test_stores_get_the_same(blocks, dataset):
    ox = pytest.importorskip("pyoxigraph")
    plain = {quad for quad in dataset if not any(type(term) is jelly.QuotedTriple for term in quad)}
    blocks = [
        ([x for x in some if not any(type(term) is jelly.QuotedTriple for term in x.statement)], end)
        for some, end in blocks
    ]
    expected = {tuple(x) for x in parse_text(text(model(blocks, plain)).decode(), 4)}
    store = ox.Store()
    apply(Patch(map(Add, plain)), store)  # load() would rename blank nodes
    apply(make(blocks), store)
    assert {tuple(x) for x in parse_text(store.dump(format=ox.RdfFormat.N_QUADS).decode(), 4)} == expected
    rdflib = pytest.importorskip("rdflib")
    from jelly.rdflib import JellyParser

    found = rdflib.Dataset()
    out = io.BytesIO()
    jelly.write(out, plain)
    source = rdflib.parser.create_input_source(data=out.getvalue())
    JellyParser().parse(source, found)
    apply(make(blocks), found)
    assert len({(s, p, o, g) for s, p, o, g in found.quads()}) == len(expected)


def test_an_abort_leaves_the_target_as_it_was():
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph()
    statement = (IRI("a:s"), IRI("a:p"), IRI("a:o"))
    assert apply(Patch([Start(), Add(statement), AddNamespace("x", "a:"), Abort()]), graph) == Applied(0, 0, 0)
    assert len(graph) == 0
    assert apply(Patch([Start(), Add(statement), AddNamespace("x", "a:"), Commit()]), graph) == Applied(1, 0, 0)
    assert len(graph) == 1
    assert ("x", rdflib.URIRef("a:")) in list(graph.namespaces())
    with pytest.raises(jelly.JellyFormatError, match="does not match"):
        apply(
            Patch([Start(), Delete(statement), Delete((*statement[:2], IRI("a:q"))), Commit()]), graph,
            on_missing="error",
        )
    assert len(graph) == 1
    with pytest.raises(jelly.JellyUnsupportedError, match="a Dataset"):
        apply(Patch([Add((*statement, IRI("a:g")))]), graph)
    assert apply(Patch([Delete(statement), Delete(statement)]), graph) == Applied(0, 1, 1)
    assert len(graph) == 0
    with pytest.raises(TypeError):
        apply(Patch(), graph, "out.nq")


@pytest.mark.parametrize("kind", ["rdflib.Graph", "rdflib.Dataset", "pyoxigraph.Store"])
def test_what_a_target_takes_for_one_stays(kind: str):
    """To these libraries "x"@en and "x"@EN are one statement. A patch from one to the other removed it."""
    library, _, name = kind.partition(".")
    target = getattr(pytest.importorskip(library), name)()
    old, new = (b'<a:s> <a:p> "x"@%s .' % tag for tag in (b"en", b"EN"))
    apply(diff(b"", old, format="nt"), target)
    assert apply(diff(old, new, format="nt"), target) == Applied(1, 1, 0)
    assert len(target) == 1
    assert apply(diff(new, b"", format="nt"), target) == Applied(0, 1, 0)
    assert len(target) == 0


@pytest.mark.parametrize("kind", ["Graph", "Dataset"])
def test_namespaces_of_a_graph(kind: str):
    rdflib = pytest.importorskip("rdflib")
    graph = getattr(rdflib, kind)()
    apply(Patch([AddNamespace("x", "a:"), AddNamespace("y", "b:")]), graph)
    change = Patch([DeleteNamespace("x", "a:"), AddNamespace("x", "c:"), DeleteNamespace("y", "b:")])
    for patch, iri in ((change, "c:"), (invert(change), "a:")):
        apply(patch, graph)
        found = dict(graph.namespaces())
        # RDFLib has no way to take back a binding.
        assert (str(found["x"]), str(found["y"])) == (iri, "b:")


def test_what_is_missing(tmp_path: Path):
    statement = (IRI("a:s"), IRI("a:p"), IRI("a:o"))
    for operations in ([Delete(statement)], [Add(statement), Delete(statement), Delete(statement)]):
        with pytest.raises(jelly.JellyFormatError, match="does not match any statement: <a:s> <a:p> <a:o>"):
            apply(Patch(operations), b"", tmp_path / "out.nq", format="nq", on_missing="error")
        assert list(tmp_path.iterdir()) == []
    assert apply(Patch([Delete(statement)]), b"", tmp_path / "out.nq", format="nq") == Applied(0, 0, 1)
    with pytest.raises(TypeError, match="pass a destination"):
        apply(Patch(), tmp_path / "out.nq")
    with pytest.raises(ValueError, match="on_missing"):
        apply(Patch(), b"", tmp_path / "x.nq", on_missing="maybe")


def test_namespaces_of_a_file(tmp_path: Path):
    path = tmp_path / "a.jelly"
    with jelly.Writer(path) as writer:
        writer.namespace("x", "a:")
        writer.namespace("y", "b:")
        writer.add((IRI("a:s"), IRI("a:p"), IRI("a:o")))
    patch = Patch([DeleteNamespace("x", "a:"), AddNamespace("y", "c:"), AddNamespace("z", "d:")])
    apply(patch, path, path)
    (frame,) = jelly.scan(path).frames()
    assert sorted(frame.namespaces) == [("y", "c:"), ("z", "d:")]
    assert len(frame) == 1
    apply(invert(Patch([AddNamespace("z", "d:")])), path, path)
    assert next(jelly.scan(path).frames()).namespaces == [("y", "c:")]
    with pytest.raises(jelly.JellyFormatError, match="cannot be undone"):
        invert(Patch([DeleteNamespace("x")]))


NAMES = st.dictionaries(st.sampled_from(["", "x", "y", "z-1"]), st.sampled_from(["a:", "b:#", "http://c.example/"]))
SUFFIXES = {"jelly": "jelly", "ttl": "ttl", "thrift": "rt", "nt": "nt"}


def file_of(format: str, statements, *names: dict[str, str]) -> bytes:
    """A file that declares some namespaces first, and in Jelly others last."""
    out = io.BytesIO()
    with jelly.Writer(out, jelly.StreamOptions(version=2) if format == "jelly" else None, format=format) as writer:
        for name, iri in names[0].items():
            writer.namespace(name, iri)
        writer.extend(statements)
        for name, iri in names[1].items() if format == "jelly" else ():
            writer.namespace(name, iri)
    return out.getvalue()


def named(data: bytes, format: str) -> io.BytesIO:
    file = io.BytesIO(data)
    file.name = f"x.{SUFFIXES[format]}"
    return file


def content(data: bytes, format: str) -> tuple[set, dict[str, str]]:
    """The triples, and the last IRI of each namespace."""
    with jelly.Reader(data, format=format) as reader:
        batches = list(reader.batches())
    names = {name: iri for batch in batches for _, _, name, iri in batch.namespaces}
    return {tuple(x)[:3] for x in jelly.read(named(data, format))}, names


@examples(60)
@given(
    numbers=st.tuples(*[st.integers(1, 3)] * 2),
    names=st.tuples(*[NAMES] * 4),
    formats=st.tuples(*[st.sampled_from(["jelly", "ttl", "thrift"])] * 2),
)
def test_namespaces_are_compared(numbers, names, formats):
    pytest.importorskip("pyoxigraph")
    s, p = IRI("a:s"), IRI("a:p")
    old, new = (
        file_of(formats[i], [jelly.Triple(s, p, s), jelly.Triple(s, p, IRI(f"a:{numbers[i]}"))], *names[i * 2 :][:2])
        for i in range(2)
    )
    before, after = content(old, formats[0])[1], content(new, formats[1])[1]
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    patch = diff(named(old, formats[0]), named(new, formats[1]))
    assert patch.count(4) == sum(name in after for name in changed)
    assert patch.count(5) == sum(name in before for name in changed)
    for one in (patch, compact(patch), *loads(dumps(patch))):
        made, back = io.BytesIO(), io.BytesIO()
        apply(one, old, made, format=formats[0], to=formats[1], on_missing="error")
        assert content(made.getvalue(), formats[1]) == content(new, formats[1])
        apply(invert(one), made.getvalue(), back, format=formats[1], to=formats[0], on_missing="error")
        assert content(back.getvalue(), formats[0]) == content(old, formats[0])


def test_namespaces_that_are_left_alone():
    statements = [jelly.Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))]
    old, other = file_of("jelly", statements, {"x": "a:"}, {}), file_of("jelly", statements, {"x": "b:"}, {})
    plain = file_of("nt", statements, {}, {})
    for first, second, keywords in (
        (named(old, "jelly"), named(plain, "nt"), {}),
        (named(plain, "nt"), named(old, "jelly"), {}),
        (old, other, {"namespaces": False}),
    ):
        assert list(diff(first, second, **keywords)) == [Start(), Commit()]
    assert diff(old, other, io.BytesIO()) == DiffStat(namespaces=2)
    assert not diff(old, other, io.BytesIO(), namespaces=False)
    out = io.BytesIO()
    apply(diff(old, named(plain, "nt")), old, out)
    assert content(out.getvalue(), "jelly")[1] == {"x": "a:"}
    # As text, a patch does not tell what was deleted.
    (patch,) = loads(dumps(diff(old, other), format="rdfp"), format="rdfp")
    with pytest.raises(jelly.JellyFormatError, match="cannot be undone"):
        invert(patch)


def test_what_is_left_of_namespaces():
    x, y, g = (AddNamespace("n", "x:"), AddNamespace("n", "y:"), AddNamespace("n", "x:", IRI("a:g")))
    no_x, no_y = DeleteNamespace("n", "x:"), DeleteNamespace("n", "y:")
    for operations, expected in (
        ([no_x, y], [no_x, y]),
        ([no_x, y, no_y], [no_x]),
        ([x, no_x], [no_x]),
        ([x, no_x, y], [y]),
        ([DeleteNamespace("n"), y], [y]),
        ([DeleteNamespace("n")], [DeleteNamespace("n")]),
        ([Start(), no_x, y, Abort(), g, x], [g, x]),
        ([Start(), no_x, y, Commit(), g], [no_x, y, g]),
    ):
        assert list(compact(Patch(operations))) == [Start(), *expected, Commit()]


def test_a_namespace_that_comes_late():
    pytest.importorskip("pyoxigraph")
    text = b"".join(b"<a:s> <a:p> %d .\n" % i for i in range(600)) + b"@prefix x: <b:> . x:s x:p x:o .\n"
    out = io.BytesIO()
    assert apply(Patch(), text, out, format="ttl", to="jelly", batch_rows=100) == Applied(0, 0, 0)
    assert content(out.getvalue(), "jelly")[1] == {"x": "b:"}


def test_headers_of_what_is_made():
    first = Patch([Header("id", IRI("uuid:1")), Header("prev", IRI("uuid:0")), Header("by", jelly.Literal("me"))])
    second = Patch([Header("id", IRI("uuid:2")), Header("prev", IRI("uuid:1")), AddNamespace("x", "a:", IRI("a:g"))])
    one = compact([first, second])
    assert (one.id, one.prev, one.header("BY")) == (IRI("uuid:2"), IRI("uuid:0"), jelly.Literal("me"))
    assert AddNamespace("x", "a:", IRI("a:g")) in list(one)
    undone = invert(second)
    assert undone.prev == second.id
    assert undone.id not in (None, second.id)
    assert DeleteNamespace("x", "a:", IRI("a:g")) in list(undone)
    gone = compact([second, Patch([DeleteNamespace("x", None, IRI("a:g")), DeleteNamespace("x")])])
    assert [str(x) for x in gone if isinstance(x, DeleteNamespace)] == ['PD "x" <a:g> .', 'PD "x" .']
    assert not any(isinstance(x, AddNamespace) for x in gone)
    for what in (compact, invert):
        with pytest.raises(jelly.JellyFormatError, match="inside a transaction"):
            what(Patch([Start()]))


def test_files_of_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    old = shared("data", "vocabs-quads", "vocabs.nq.gz")
    lines = sorted(set(_lines(old)))[:30_000]
    kept = [line for i, line in enumerate(lines) if i % 3]
    (tmp_path / "old.nq").write_bytes(b"".join(lines + lines[:100]))
    (tmp_path / "new.nq").write_bytes(b"".join(kept + [b"<a:hub> <a:p> <a:%d> .\n" % i for i in range(9000)]))
    out = tmp_path / "x.jellyp"
    sizes: list[int] = []
    leave = module._Comparison._leave_memory
    monkeypatch.setattr(
        module._Comparison, "_leave_memory", lambda self: (sizes.append(self._index.nbytes), leave(self))[1]
    )
    for memory in (1 << 30, 600_000):
        found = diff(tmp_path / "old.nq", tmp_path / "new.nq", out, memory=memory)
        (patch,) = read_patches(out)
        assert (patch.count(2), patch.count(3)) == (9000, len(lines) - len(kept))
        assert found == DiffStat(patch.count(2), patch.count(3))
        apply(out, tmp_path / "old.nq", tmp_path / "again.nq", on_missing="error")
        assert sorted(set(_lines(tmp_path / "again.nq"))) == sorted(set(_lines(tmp_path / "new.nq")))
        apply(invert(patch), tmp_path / "again.nq", tmp_path / "back.nq", on_missing="error")
        assert sorted(set(_lines(tmp_path / "back.nq"))) == lines
        assert bool(sizes) == (memory < 1 << 30)
    assert max(sizes) < 600_000 // 4 + (1 << 20)


@pytest.mark.parametrize(
    ("old", "new", "suffix"),
    [
        ("iot-weather/assist-iot-weather-100k.nt.gz", "iot-weather/assist-iot-weather_100kt.jelly.gz", "jelly"),
        ("schemaorg/schemaorg-all-https.ttl.gz", "bsbm100/bsbm-100.ttl.gz", "ttl"),
        ("schemaorg/schemaorg-all-https.nt.gz", "schemaorg/schemaorg-all-https.nq.gz", "jelly"),
        ("vocabs-star/vocabs-star.nt.gz", "cell-ontology/cl-eye-slim.nt.gz", "nq.gz"),
        ("go-pattern/go-pattern-conformance.nt.gz", "vocabs-star/vocabs-star.nt.gz", "jelly"),
        ("dbpedia-fragment/dbpedia-fragment.nt.gz", "hobbit-sensor/hobbit-sensor-3000ev.nq.gz", "rt"),
    ],
)
def test_pairs_of_real_datasets(tmp_path: Path, old: str, new: str, suffix: str):
    first, second = (shared("data", *name.split("/")) for name in (old, new))
    if suffix == "ttl":
        pytest.importorskip("pyoxigraph")
    before, after = set(_lines(first)), set(_lines(second))
    patch, made, back = tmp_path / "x.jellyp", tmp_path / f"made.{suffix}", tmp_path / f"back.{suffix}"
    diff(first, second, patch)
    (found,) = read_patches(patch)
    assert (found.count(2), found.count(3)) == (len(after - before), len(before - after))
    done = apply(patch, first, made, on_missing="error")
    assert done == Applied(len(after - before), len(before - after), 0)
    assert set(_lines(made)) == after
    apply(invert(found), made, back, on_missing="error")
    assert set(_lines(back)) == before
    if suffix == "ttl":
        names = [content(gzip.decompress(path.read_bytes()), "ttl")[1] for path in (first, second)]
        assert names[0].keys() - names[1].keys()
        assert names[1].keys() - names[0].keys()
        assert [content(path.read_bytes(), "ttl")[1] for path in (back, made)] == names


def _lines(path: Path) -> list[bytes]:
    out = io.BytesIO()
    jelly.convert(path, out, to="nq")
    return out.getvalue().splitlines(True)


def test_blank_nodes_matched_by_structure(tmp_path):
    old = b"<a:s> <a:p> _:x .\n_:x <a:q> _:y .\n_:y <a:q> \"1\" .\n_:z <a:q> \"2\" .\n"
    same = b"_:b2 <a:q> \"1\" .\n_:b9 <a:q> \"2\" .\n_:b1 <a:q> _:b2 .\n<a:s> <a:p> _:b1 .\n"
    assert len(diff(old, same, format="nt")) == 2  # TX and TC
    assert len(diff(old, same, format="nt", match_blank_nodes=False)) > 2
    new = same + b"_:b1 <a:r> <a:o> .\n"
    patch = diff(old, new, format="nt")
    assert [str(row) for row in patch] == ["TX .", "A _:x <a:r> <a:o> .", "TC ."]
    out = tmp_path / "new.nt"
    apply(patch, old, out, format="nt")
    assert jelly.canonicalize(out).document == jelly.canonicalize(new, format="nt").document
    (tmp_path / "old.nt").write_bytes(old)
    (tmp_path / "same.nt").write_bytes(same)
    files = [str(tmp_path / name) for name in ("old.nt", "same.nt", "x.rdfp")]
    done = CliRunner().invoke(cli, ["diff", "--exit-code", *files])
    assert (done.exit_code, done.stderr) == (0, "0 additions, 0 deletions\n")
    done = CliRunner().invoke(cli, ["diff", "--no-match-blank-nodes", "--exit-code", *files])
    assert done.exit_code == 1
