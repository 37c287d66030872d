"""Tables of changes as patches, and back: layouts, stream types, other tools, bad input, files, the command."""

from __future__ import annotations

import gzip
import io
import json
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shared import shared
from support.statements import generalized, star, writable
from support.statements import quads as with_graphs

import jelly
from jelly.patch import (
    Header,
    PatchOptions,
    PatchStreamType,
    StatementType,
    loads,
    read_patches,
)

pa = pytest.importorskip("pyarrow")

from jelly import arrow  # noqa: E402
from jelly._formats import arrow_input as arrowinput  # noqa: E402

LAYOUTS = ("flat", "ntriples")
MANY = 20_000
HEADER = Header("id", jelly.IRI("uuid:1"))

read_arrow = partial(jelly.read_arrow, content="patches")
write_arrow = partial(jelly.write_arrow, content="patches")


def changes(data: Any, ops: list[str], numbers: list[int] | None, **settings: Any) -> Any:
    """A table of statements with the columns of changes before its own."""
    table = arrow.to_table(data, **settings)
    if numbers is not None:
        table = table.add_column(0, "patch", pa.array(numbers, pa.int64()))
    return table.add_column(0, "op", pa.array(ops, pa.string()))


def written(table: Any, options: PatchOptions | None = None, **settings: Any) -> bytes:
    out = io.BytesIO()
    assert write_arrow(out, table, options=options, **settings) == len(table)
    return out.getvalue()


def text(data: bytes) -> list[list[str]]:
    return [[str(operation) for operation in patch] for patch in loads(data)]


def few(**changed: Any) -> Any:
    """Four changes, of two patches where ``patch`` says so."""
    columns = {"op": ["add", "delete", "add", "delete"], "s": ["<a:s>"] * 4, "p": ["<a:p>"] * 4}
    columns["o"] = [f'"{i}"' for i in range(4)]
    return pa.table({name: values for name, values in (columns | changed).items() if values is not None})


# ---- there and back

def numbered(steps: list[bool]) -> list[int]:
    """The numbers of patches: 0, and one more at each step."""
    return [sum(steps[1 : i + 1]) for i in range(len(steps))]


def tables_of(statements: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Rows of statement, operation, and whether a patch begins there."""
    fitting = with_graphs(statements).filter(lambda statement: all(map(writable, statement)))
    return st.lists(st.tuples(fitting, st.sampled_from(["add", "delete"]), st.booleans()), max_size=12)


@given(
    st.one_of(
        st.tuples(st.just("flat"), tables_of(star)), st.tuples(st.just("ntriples"), tables_of(generalized))
    ),
    st.booleans(),
    st.sampled_from([PatchStreamType.FRAME, PatchStreamType.PUNCTUATED]),
    st.booleans(),
    st.sampled_from(["jellyp", "trp"]),
)
def test_anything(
    given: tuple[str, Any], dictionary: bool, kind: PatchStreamType, transactions: bool, format: str
) -> None:
    layout, rows = given
    out = io.BytesIO()
    jelly.write(out, [row[0] for row in rows], jelly.StreamOptions(
        physical_type=jelly.PhysicalType.QUADS, generalized_statements=True, rdf_star=True
    ))  # fmt: skip
    numbers = numbered([row[2] for row in rows])
    table = changes(out.getvalue(), [row[1] for row in rows], numbers, layout=layout, dictionary=dictionary)
    options = PatchOptions(rdf_star=True, stream_type=kind, generalized_statements=True)
    data = written(table, options, transactions=transactions, format=format)
    found = read_arrow(data, layout=layout, dictionary=dictionary, format=format).read_all().to_pylist()
    # RDF Patch knows one patch only.
    assert found == [row | {"patch": row["patch"] if format == "jellyp" else 0} for row in table.to_pylist()]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "path", ["iot-weather/assist-iot-weather-100k.nt.gz", "vocabs-quads/vocabs.nq.gz", "movies/30kmovies.nt.gz"]
)
def test_real_data(path: str, layout: str) -> None:
    statements = list(islice(jelly.read(shared("data", path)), MANY))
    out = io.BytesIO()
    jelly.write(out, statements)
    n = len(statements)
    ops = ["add" if i % 5 else "delete" for i in range(n)]
    quads = len(statements[0]) == 4
    for dictionary, kind in ((False, PatchStreamType.FRAME), (True, PatchStreamType.PUNCTUATED)):
        table = changes(out.getvalue(), ops, [i // 70 for i in range(n)], layout=layout, dictionary=dictionary)
        # In many record batches, none of which ends with a patch.
        parts = pa.concat_tables([table.slice(i, 1003) for i in range(0, n, 1003)])
        data = written(parts, PatchOptions(rdf_star=True, stream_type=kind, statement_type=StatementType(1 + quads)))
        assert read_arrow(data, layout=layout, dictionary=dictionary).read_all().to_pylist() == table.to_pylist()
        if kind == PatchStreamType.FRAME:
            found = [[str(op) for op in patch] for patch in islice(read_patches(data), 9)]
            assert [patch[::71] for patch in found] == [["TX .", "TC ."]] * 9
    options = PatchOptions(rdf_star=True, stream_type=PatchStreamType.FLAT)
    flat = written(changes(out.getvalue(), ops, None, layout=layout), options)
    (patch,) = loads(flat)
    assert (patch.count(2), patch.count(3)) == (ops.count("add"), ops.count("delete"))
    assert [op.statement for op in islice(patch, 1, 100)] == [
        jelly.Quad(*statement) if quads else jelly.Quad(*statement, None) for statement in statements[:99]
    ]


# ---- what is written

def test_the_rows_of_patches() -> None:
    rows = ['A <a:s> <a:p> "0" .', 'D <a:s> <a:p> "1" .', 'A <a:s> <a:p> "2" .', 'D <a:s> <a:p> "3" .']
    assert text(written(few(), headers=[HEADER])) == [["H id <uuid:1> .", "TX .", *rows, "TC ."]]
    assert text(written(few(), transactions=False)) == [rows]
    two = few(patch=[-5, -5, -5, 8])
    assert text(written(two)) == [["TX .", *rows[:3], "TC ."], ["TX .", rows[3], "TC ."]]
    assert text(written(two, transactions=False, headers=[HEADER])) == [["H id <uuid:1> .", *rows[:3]], rows[3:]]
    assert written(two, format="rdfp").decode().splitlines() == [
        "TX .", *rows[:3], "TC .", "TX .", rows[3], "TC ."
    ]  # fmt: skip
    nothing = few().slice(0, 0)
    assert text(written(nothing)) == [["TX .", "TC ."]]
    assert text(written(nothing, transactions=False)) == []


@pytest.mark.parametrize("type", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_names_of_operations(type: Any) -> None:
    words = ["add", "insert", "A", "INSERT", "a", "Add"], ["delete", "D", "d", "DELETE", "Delete"]
    ops = pa.array([word for pair in zip(words[0][:5], words[1], strict=True) for word in pair]).cast(type)
    table = pa.table({"op": ops, "s": ["<a:s>"] * 10, "p": ["<a:p>"] * 10, "o": ["<a:o>"] * 10})
    assert read_arrow(written(table)).read_all()["op"].to_pylist() == ["add", "delete"] * 5


@pytest.mark.parametrize("type", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()], ids=str)
def test_numbers_of_patches(type: Any) -> None:
    table = few(patch=pa.array([0, 3, 3, 100], type))
    assert read_arrow(written(table.slice(1))).read_all()["patch"].to_pylist() == [0, 0, 1]
    parts = pa.concat_tables([table.slice(i, 1) for i in range(4)])
    assert read_arrow(written(parts)).read_all()["patch"].to_pylist() == [0, 1, 1, 2]


def test_a_graph_decides_the_statement_type(monkeypatch: pytest.MonkeyPatch) -> None:
    def kind(data: bytes) -> StatementType:
        with jelly.patch.PatchReader(data) as reader:
            list(reader)
            assert reader.options is not None
            return reader.options.statement_type

    table = few(g=[None, None, None, "<a:g>"])
    parts = pa.concat_tables([table.slice(i, 1) for i in range(4)])
    assert [kind(written(x)) for x in (few(), table.slice(0, 3), table)] == [1, 1, 2]
    monkeypatch.setattr(arrowinput, "MAX_PEEK", 1)
    with pytest.raises(jelly.JellyOptionsError, match=r"column 'g': a quad in a named graph .*\(row 3\)"):
        written(parts)
    assert kind(written(parts, PatchOptions())) == 2
    assert written(parts, format="rdfp").endswith(b'D <a:s> <a:p> "3" <a:g> .\nTC .\n')


def test_other_tools() -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    expected = written(few(patch=[1, 1, 2, 2]))
    assert written(polars.from_arrow(few(patch=[1, 1, 2, 2]))) == expected
    view = few(n=[0, 1, 2, 3])
    query = "select op, 1 + n // 2 as patch, s, p, o from view order by n"
    out = io.BytesIO()
    assert len(view) == write_arrow(out, duckdb.sql(query)) == 4
    assert out.getvalue() == expected


# ---- what is wrong

@pytest.mark.parametrize(
    ("changed", "message", "row"),
    [
        ({"op": ["add", "D", "update", "add"]}, "column 'op': expected add, insert or A, or delete or D: 'update'", 2),
        ({"op": ["add", "D", "", "add"]}, "column 'op': expected add", 2),
        ({"op": ["add", "D", "add", None]}, "column 'op': expected a value, found null", 3),
        ({"op": pa.nulls(4)}, "column 'op': expected a value, found null", 0),
        ({"op": [1, 2, 3, 4]}, "column 'op' is of type int64: expected strings", None),
        ({"op": None}, "missing 'op'; expected op, s, p, o, g and perhaps patch", None),
        ({"patch": [1, 2, 2, 1]}, "column 'patch': 1 comes after 2: the rows must be in the order", 3),
        ({"patch": [1, 2, None, 2]}, "column 'patch': expected a value, found null", 2),
        ({"patch": ["1", "2", "3", "4"]}, "column 'patch' is of type string: expected integers", None),
        ({"patch": pa.array([2**63] * 4, pa.uint64())}, "column 'patch': Integer value 9223372036854775808", None),
        ({"frame": [0, 0, 0, 0]}, "unknown 'frame'", None),
        ({"o": ['"0"', '"1"', "2", '"3"']}, "column 'o': column 1: expected a term as object", 2),
        # What only the encoder knows, behind a start and in the third of three patches.
        ({"patch": [1, 2, 3, 3], "s": ["<a:s>"] * 3 + ['"3"']}, "a literal as subject needs generalized_st", 3),
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_errors_name_the_row(tmp_path: Path, changed: dict[str, Any], message: str, row: int | None, cut: bool) -> None:
    table = few(**changed)
    if cut:
        table = pa.concat_tables([table.slice(i, 1) for i in range(4)])
    with pytest.raises(jelly.JellyError, match=message) as caught:
        write_arrow(tmp_path / "out.jellyp", table, options={"generalized_statements": False}, headers=[HEADER])
    assert caught.value.row == row
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("format", "value", "kind", "message"),
    [
        ("jellyp", "<< <a:s> <a:p> <a:o> >>", "triple", "needs rdf_star"),
        ("rdfp", "_:x", "iri", "the IRI <_:x>, here as object"),
    ],
)
def test_rows_of_later_batches(format: str, value: str, kind: str, message: str) -> None:
    n = 70_000
    table = pa.table({
        "op": ["add"] * n, "patch": [i // 2 for i in range(n)], "subject": ["a:s"] * n, "predicate": ["a:p"] * n,
        "object": [*["_:b"] * (n - 1), value], "object_kind": [*["bnode"] * (n - 1), kind],
    })  # fmt: skip
    with pytest.raises(jelly.JellyError, match=message) as caught:
        write_arrow(io.BytesIO(), table, options=PatchOptions(rdf_star=False), format=format, headers=[HEADER])
    assert caught.value.row == n - 1


def test_options_that_forbid() -> None:
    flat = PatchOptions(rdf_star=True, stream_type=PatchStreamType.FLAT)
    assert len(text(written(few(patch=[1] * 4), flat))) == 1
    with pytest.raises(jelly.JellyOptionsError, match="holds one patch only") as caught:
        written(few(patch=[1, 1, 2, 2]), flat)
    assert caught.value.row == 2
    star = few(o=["<a:o>", "<a:o>", "<< <a:s> <a:p> <a:o> >>", "<a:o>"])
    with pytest.raises(jelly.JellyOptionsError, match="rdf_star") as caught:
        written(star, PatchOptions(rdf_star=False))
    assert caught.value.row == 2
    quoted = jelly.QuotedTriple(*[jelly.IRI("a:s")] * 3)
    with pytest.raises(jelly.JellyOptionsError, match="rdf_star") as caught:
        written(few(), PatchOptions(rdf_star=False), headers=[Header("x", quoted)])
    assert caught.value.row == 0


def test_a_source_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def rows() -> Any:
        yield from few().to_batches()
        raise OSError("the source is gone")

    target = tmp_path / "out.jellyp"
    target.write_bytes(b"what was there")
    reader = pa.RecordBatchReader.from_batches(few().schema, rows())
    with pytest.raises(OSError, match="the source is gone"):
        write_arrow(target, reader)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"what was there"]


# ---- files and the command

@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "csv"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_command(tmp_path: Path, suffix: str, layout: str) -> None:
    pytest.importorskip("click")
    from click.testing import CliRunner

    from jelly.cli.commands import cli

    def run(*words: Any, code: int = 0) -> str:
        done = CliRunner().invoke(cli, ["convert", *map(str, words)])
        assert done.exit_code == code, done.output
        return done.output

    lines = ['TX .', 'A <a:s> <a:p> "1"@en <a:g> .', 'TC .', 'TX .', 'D _:b <a:p> "x\\n" .', 'TC .']  # fmt: skip
    old, table, new = tmp_path / "old.rdfp", tmp_path / f"x.{suffix}", tmp_path / "new.jellyp"
    old.write_text("\n".join(lines) + "\n")
    run(old, table, "--layout", layout)
    run("--patch-type", "frame", table, new)
    # One patch, as a text is: the second transaction is no other patch.
    assert text(new.read_bytes()) == [[lines[0], lines[1], lines[4], lines[5]]]
    shown = run("-q", "--to", "rdfp", "--no-marked-blank-nodes", table, "-").splitlines()
    assert shown == [lines[0], lines[1], lines[4], lines[5]]
    assert run("-q", "--to", "rdfp", table, "-").splitlines() == [line.replace("_:b", "<_:b>") for line in shown]
    assert "named graph" in run("--triples", table, tmp_path / "t.jellyp", code=1)
    assert not (tmp_path / "t.jellyp").exists()
    run("--patches", table, tmp_path / "again.csv", "--layout", layout)
    run(new, tmp_path / "of.new.csv", "--layout", layout)
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "of.new.csv").read_bytes()
    told = run("--json", old, table, "--layout", layout)
    assert json.loads(told) == {"operations": 2}
    told = run(old, table, "--quoted", "rdf-star", code=2)
    assert "--quoted does not go with tables" in told
    (tmp_path / "bad.csv").write_text("op,s,p,o\nadd,<a:s>,<a:p>,<a:o>\nkeep,<a:s>,<a:p>,<a:o>\n")
    told = run(tmp_path / "bad.csv", tmp_path / "bad.jellyp", code=1)
    assert "row 1: column 'op': expected add, insert or A, or delete or D: 'keep'" in told
    assert not (tmp_path / "bad.jellyp").exists()


def test_what_a_conversion_tells(tmp_path: Path) -> None:
    source, table, back = (tmp_path / name for name in ("x.rdfp.gz", "x.parquet", "y.jellyp.gz"))
    source.write_bytes(gzip.compress(b"TX .\nA <a:s> <a:p> <a:o> .\nTC .\n"))
    calls: list[tuple[int, int | None, int]] = []
    done = jelly.convert(source, table, progress=lambda *call: calls.append(call))
    assert calls == [(source.stat().st_size, source.stat().st_size, 1)]
    assert (done.statements, done.bytes_read, done.bytes_written) == (1, source.stat().st_size, table.stat().st_size)
    assert done.seconds > 0
    done = jelly.convert(table, back, content="patches")
    assert (done.bytes_read, done.bytes_written) == (table.stat().st_size, back.stat().st_size)
    jelly.convert(source, table, to="csv")
    assert table.read_text().startswith('"op","patch","subject"')
    with pytest.raises(jelly.JellyArgumentError, match="quoted= does not go with tables"):
        jelly.convert(source, table, writing={"quoted": "rdf-star"})
