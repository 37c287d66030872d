"""Each source through each route to each kind of file: the same statements, and the same version of RDF.

Kinds of statements that a stream announces at its start come first, or only after many others. By default a sample of
the pairs; JELLY_LONG=1 takes all.
"""

from __future__ import annotations

import io
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support import steps
from support.chance import examples

import jelly
import jelly.patch
from jelly import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple
from jelly.cli.commands import cli

pytest.importorskip("pyarrow")
pytest.importorskip("pyoxigraph")

LONG = bool(os.environ.get("JELLY_LONG"))
# More than one Batch of any reader or writer decides by.
MANY = 20_000
PAIRS = 110

GRAPH = b"<a:s> <a:p> <a:o> <a:g> .\n"
STAR = b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .\n"
SPECIAL = {"graph": GRAPH, "star": STAR, "both": GRAPH + STAR}
KINDS = ["plain", *(f"{kind} {place}" for kind in SPECIAL for place in ("first", "last"))]
GROUPED = {"physical_type": 2, "logical_type": 4, "version": 2, "stream_name": "n", "max_prefix_table_size": 20}
CONTAINERS: dict[str, tuple[str, dict[str, Any]]] = {
    "text": (".nq", {}),
    "thrift": (".rt", {}),
    "protobuf": (".rpb", {}),
    "jelly": (".jelly", {}),
    "indexed": (".jelly", {"seekable": True}),
    "compressed": (".jelly.gz", {}),
    "grouped": (".jelly", {"options": GROUPED}),
    "columns": (".jelly", {"options": {"version": 3}}),
    "indexed columns": (".jelly", {"options": {"version": 3}, "seekable": True}),
    "messages in columns": (".jelly", {"options": GROUPED | {"version": 3}}),
    "table": (".parquet", {}),
    "trig": (".trig", {}),
}


NAMES = {".jelly": "jelly", ".rt": "thrift", ".nq": "nq"}


def text_of(kind: str) -> bytes:
    plain = b"".join(b'<a:%d> <a:p> "%d" .\n' % (i // 3, i) for i in range(MANY))
    name, _, place = kind.partition(" ")
    special = SPECIAL.get(name, b"")
    return special + plain if place == "first" else plain + special


def lines(data: bytes) -> list[bytes]:
    return sorted(data.splitlines())


def statements_in(path: Path) -> list[bytes]:
    out = io.BytesIO()
    jelly.convert(path, out, to="nq")
    return lines(out.getvalue())


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Files of each container and kind, each made when it is first asked for."""
    folder = tmp_path_factory.mktemp("sources")

    def make(container: str, kind: str) -> Path:
        suffix, how = CONTAINERS[container]
        path = folder / f"{container}-{kind}{suffix}".replace(" ", "_")
        if not path.exists():
            jelly.convert(text_of(kind), path, format="nq", **how)
        return path

    return make


# ---- routes: from a path to a path


def appended(src: Any, dst: Path) -> None:
    jelly.write(dst, [])
    jelly.append(src, dst)


def appended_to_new(src: Any, dst: Path) -> None:
    jelly.append(src, dst)


def applied(src: Any, dst: Path) -> None:
    jelly.patch.apply(jelly.patch.Patch(), src, dst)


def through_table(src: Any, dst: Path) -> None:
    jelly.write_arrow(dst, jelly.read_arrow(src))


def batch_by_batch(src: Any, dst: Path) -> None:
    with jelly.Writer(dst) as writer:
        for batch in jelly.scan(src).batches():
            writer.add_batch(batch)


def in_memory(src: Any, dst: Path) -> None:
    dst.write_bytes(jelly.dumps(jelly.read(src)))


def in_a_file_object(src: Any, dst: Path) -> None:
    jelly.convert(src, out := io.BytesIO(), to=dst.suffix)
    dst.write_bytes(out.getvalue())


def printed(src: Any, dst: Path) -> None:
    """To a pipe, which cannot be written again: it is told what comes late."""
    wide = ["--physical", "quads", "--allow", "star"] if dst.suffix == ".jelly" and "columns" not in src.name else []
    done = CliRunner().invoke(cli, ["cat", "--to", NAMES[dst.suffix], *wide, str(src)])
    assert done.exit_code == 0, done.output
    dst.write_bytes(done.stdout_bytes)


def found(src: Any, dst: Path) -> None:
    done = CliRunner().invoke(cli, ["find", "--to", NAMES[dst.suffix], str(src)])
    assert done.exit_code == 0, done.output
    dst.write_bytes(done.stdout_bytes)


def as_values(src: Any, dst: Path) -> None:
    # A value is one frame, and a frame of columns has all names of its statements in one table.
    batches = jelly.scan(src, batch_rows=4000).batches() if "columns" in src.name else jelly.scan(src).batches()
    values = pytest.importorskip("jelly.kafka").JellySerializer().serialize_many(list(batches))
    with jelly.Writer(dst) as writer:
        for value in values:
            writer.extend(jelly.read(value))


ROUTES: dict[str, Callable[[Any, Path], Any]] = {
    "convert": jelly.convert,
    "convert by threads": lambda src, dst: jelly.convert(src, dst, threads=2),
    "convert a list": lambda src, dst: jelly.convert([src], dst),
    "concat": steps.concat,
    "sort": steps.sort,
    "sort in files": lambda src, dst: steps.sort(src, dst, memory=1 << 20),
    "unique": steps.unique,
    "unique in files": lambda src, dst: steps.unique(src, dst, memory=1 << 18),
    "filter": steps.filter,
    "sample": lambda src, dst: steps.sample(src, dst, fraction=1.0),
    "split": lambda src, dst: steps.split(src, dst, parts=1),
    "append": appended,
    "append to a new file": appended_to_new,
    "apply": applied,
    "write(read)": lambda src, dst: jelly.write(dst, jelly.read(src)),
    "write_arrow(read_arrow)": through_table,
    "add_batch": batch_by_batch,
    "dumps(read)": in_memory,
    "to a file object": in_a_file_object,
    "cat": printed,
    "find": found,
    "values of Kafka": as_values,
}
# Tables have triple terms and quoted triples alike, and these begin with a file of rows.
FORGET = {"write_arrow(read_arrow)", "append"}
JELLY_ONLY = {"append", "append to a new file", "dumps(read)", "values of Kafka"}


def pairs() -> list[tuple[str, str, str, str]]:
    every = [
        (container, kind, route, target)
        for container in CONTAINERS
        for kind in KINDS
        for route in ROUTES
        for target in NAMES
        if target == ".jelly" or route not in JELLY_ONLY
    ]
    if LONG:
        return every
    # Each route, container and kind with others each time.
    draw = random.Random(31)
    must = [("columns", f"star {place}", route, ".jelly") for route in ROUTES for place in ("first", "last")]
    return [*must, *draw.sample(every, PAIRS - len(must))]


def test_each_route_keeps_the_statements(sources: Callable[[str, str], Path], tmp_path: Path) -> None:
    """No wrong statement and no refusal, but where RDF 1.2 goes behind RDF-star; and 1.2 stays 1.2."""
    texts = {kind: lines(text_of(kind)) for kind in KINDS}
    for container, kind, route, target in pairs():
        case = f"{container}, {kind}: {route} to {target}"
        source, out = sources(container, kind), tmp_path / f"out{target}"
        is_columns = "columns" in container
        if route == "append" and is_columns and kind.startswith(("star", "both")):
            with pytest.raises(jelly.JellyOptionsError, match="star="):
                ROUTES[route](source, out)
            out.unlink()  # what it was before
            continue
        ROUTES[route](source, out)
        out = next(tmp_path.iterdir()) if route == "split" else out
        assert statements_in(out) == texts[kind], case
        if target == ".jelly" and route not in FORGET:
            assert (jelly.read_options(out).version == 3) == is_columns, case
        out.unlink()
        assert not os.listdir(tmp_path), case


VERBS: dict[str, Callable[..., Any]] = {
    "convert": jelly.convert,
    "concat": steps.concat,
    "sort": steps.sort,
    "unique": steps.unique,
    "filter": steps.filter,
    "sample": lambda src, dst, **how: steps.sample(src, dst, fraction=1.0, **how),
    "split": lambda src, dst, **how: steps.split(src, dst, rows=1 << 20, **how),
    "write": lambda src, dst, options: jelly.write(dst, jelly.read(src), options),
    "Reader": lambda src, dst, options: jelly.write(dst, jelly.Reader(src), options),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("version", [2, 3])
def test_triple_terms_and_quoted_triples_are_told_apart(
    verb: str, place: str, version: int, sources: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """Asked for the other version, each route names `star=`, and no file is left."""
    source = sources("columns" if version == 2 else "jelly", f"star {place}")
    with pytest.raises(jelly.JellyOptionsError, match='star="triple-terms"'):
        VERBS[verb](source, tmp_path / "out.jelly", options={"version": version})
    assert not os.listdir(tmp_path)
    # Without such a triple there is nothing to ask.
    plain = sources("columns" if version == 2 else "jelly", "plain")
    VERBS[verb](plain, tmp_path / "out.jelly", options={"version": version})
    assert jelly.read_options(next(tmp_path.iterdir())).version == version


S, P, OBJ = IRI("a:s"), IRI("a:p"), IRI("a:o")
INNER = QuotedTriple(S, P, OBJ)
STATEMENTS = st.sampled_from(
    [
        Quad(S, P, OBJ, DefaultGraph()),
        Quad(S, P, Literal("o"), IRI("a:g")),
        Quad(S, P, INNER, DefaultGraph()),
        Quad(S, P, INNER, BlankNode("g")),
    ]
)
IN_ROWS = st.sampled_from([Quad(INNER, P, OBJ, IRI("a:g")), Quad(Literal("s"), P, OBJ, DefaultGraph())])


BY_BATCH = ["convert", "concat", "sort", "unique", "filter", "sample"]


@examples(40)
@given(
    st.lists(st.tuples(st.lists(st.one_of(STATEMENTS, IN_ROWS), min_size=1, max_size=6), st.booleans()), min_size=1,
             max_size=3),
    st.sampled_from(BY_BATCH),
    st.integers(1, 3),
)  # fmt: skip
def test_any_order_of_kinds(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[list[Quad], bool]], verb: str, rows: int
) -> None:
    """Streams of rows and of columns, in any order: the same statements, or the rule of `star=`."""
    streams = []
    versions = []
    for statements, wants_columns in parts:
        can = all(goes_in_columns(statement) for statement in statements)
        versions.append(3 if wants_columns and can else 2)
        streams.append(jelly.dumps(statements, {"version": versions[-1]}))
    out = tmp_path_factory.mktemp("any") / "out.jelly"
    given_all = [statement for statements, _ in parts for statement in statements]
    is_mixed = any(
        version != versions[0] and any(INNER in statement for statement in statements)
        for version, (statements, _) in zip(versions, parts, strict=True)
    )
    only_rows = versions[0] == 3 and not all(map(goes_in_columns, given_all))
    error: jelly.JellyError | None = None
    try:
        VERBS[verb]([io.BytesIO(x) for x in streams], out, blank_nodes="keep", batch_rows=rows)
    except (jelly.JellyOptionsError, jelly.JellyUnsupportedError) as caught:
        error = caught
    if error is not None:
        assert (is_mixed and "star=" in str(error)) or only_rows
        assert not out.exists()
        return
    # Equal statements of several streams are written once by unique, which may take away what would be refused.
    assert not is_mixed or verb == "unique"
    found = list(jelly.read(out))
    assert normal(found) == (normal(set(given_all)) if verb == "unique" else normal(given_all))
    assert jelly.read_options(out).version == 3 if versions[0] == 3 else jelly.read_options(out).version < 3


def goes_in_columns(statement: Quad) -> bool:
    return isinstance(statement.s, IRI)


def normal(statements: Iterable[Any]) -> list[str]:
    return sorted(str(Quad(*(*statement, DefaultGraph())[:4])) for statement in statements)


def test_one_rule_for_stream_options(tmp_path: Path) -> None:
    """The same files to one Jelly file: name, type, tables and version are those of the first, as wide as all need."""
    one, two = tmp_path / "m1.jelly", tmp_path / "m2.jelly"
    jelly.write(one, [(S, P, OBJ)], jelly.StreamOptions.small(physical_type=1, stream_name="n1"))
    large = jelly.StreamOptions.small(physical_type=2, max_name_table_size=256, rdf_star=True, stream_name="n2")
    jelly.write(two, [(S, P, INNER, S)], large)
    found = []
    for route in (steps.concat, jelly.convert):
        route([one, two], tmp_path / "out.jelly")
        found.append(jelly.read_options(tmp_path / "out.jelly"))
    done = CliRunner().invoke(cli, ["cat", "--to", "jelly", str(one), str(two)])
    found.append(jelly.read_options(done.stdout_bytes))
    assert found[0] == found[1] == found[2]
    assert (found[0].stream_name, found[0].max_name_table_size, found[0].physical_type) == ("n1", 128, 2)


@pytest.mark.parametrize("verb", [*(name for name in VERBS if name not in ("write", "Reader")), "append"])
def test_quads_stay_quads(verb: str, tmp_path: Path) -> None:
    source = tmp_path / "q.jelly"
    jelly.write(source, [(S, P, OBJ, DefaultGraph())], {"physical_type": 2, "stream_name": "n"})
    (tmp_path / "out").mkdir()
    {**VERBS, "append": jelly.append}[verb](source, tmp_path / "out" / "o.jelly")
    options = jelly.read_options(next((tmp_path / "out").iterdir()))
    assert (options.physical_type, options.logical_type, options.stream_name) == (2, 2, "n")


@pytest.mark.parametrize("wanted", [":", "1:"])
def test_a_slice_of_groups(wanted: str, tmp_path: Path) -> None:
    """Statements out of groups are a flat stream, with the namespaces; frames stay groups."""
    source, out = tmp_path / "g.jelly", tmp_path / "o.jelly"
    options = jelly.StreamOptions.small(physical_type=1, logical_type=3, version=2)
    with jelly.Writer(source, options, seekable=True) as writer:
        writer.namespace("e", "http://e/")
        for number in range(2):
            writer.extend([(S, P, Literal(str(number)))])
            writer.end_frame({"k": b"%d" % number})
    first = int(wanted == "1:")
    assert CliRunner().invoke(cli, ["slice", str(source), wanted, "-o", str(out)]).exit_code == 0
    assert jelly.read_options(out).logical_type == jelly.LogicalType.FLAT_TRIPLES
    assert list(jelly.read(out)) == list(jelly.read(source))[first:]
    assert [frame.namespaces for frame in jelly.scan(out).frames()] == [[("e", "http://e/")]]
    assert CliRunner().invoke(cli, ["slice", str(source), "--frames", wanted, "-o", str(out)]).exit_code == 0
    assert [frame.metadata for frame in jelly.scan(out).frames()] == [{"k": b"0"}, {"k": b"1"}][first:]


def test_a_value_is_all_of_a_batch_or_an_error() -> None:
    """A frame of columns ends where a table is full: what follows was lost."""
    kafka = pytest.importorskip("jelly.kafka")
    batch = next(jelly.scan(text_of("plain"), format="nq").batches())
    serializer = kafka.JellySerializer({"version": 3})
    with pytest.raises(kafka.JellySerializationError, match="each value is one frame"):
        serializer(batch)
    large = kafka.JellySerializer({"version": 3, "max_name_table_size": 1 << 15})
    assert len(list(jelly.read(large(batch), max_names=1 << 15))) == len(batch)
