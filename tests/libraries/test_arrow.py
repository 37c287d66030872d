"""jelly.arrow: both layouts and back over real data and the conformance cases, other tools, bad input, memory."""

import doctest
import inspect
import io
import json
import os
import random
import subprocess
import sys
import threading
import time
import typing
from functools import cache
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.craft import LITERAL, frame, literal, options, row, triple
from support.shared import ROOT, shared
from support.statements import generalized
from support.statements import quads as with_graphs

import jelly

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

from jelly import arrow  # noqa: E402
from jelly._core.rules.capabilities import CAPABILITIES, capabilities_of  # noqa: E402
from jelly._core.terms.materialize import StatementIterator  # noqa: E402
from jelly._formats import arrow_input as arrowinput  # noqa: E402
from jelly._formats import arrow_tables  # noqa: E402
from jelly._formats import table_files as tablefiles  # noqa: E402
from jelly._formats.registry import table_kind  # noqa: E402
from jelly._options.layouts import LAYOUTS, Layout, TableLayout  # noqa: E402

MANY = 30_000
TEXTS = [
    str(path.relative_to(ROOT / "data"))
    for path in sorted((ROOT / "data").rglob("*"))
    if path.name.endswith((".nt", ".nq", ".nt.gz", ".nq.gz"))
]
SAMPLES = [
    str(path.relative_to(ROOT / "data"))
    for path in sorted((ROOT / "data").rglob("*"))
    if path.name.endswith((".jelly", ".jelly.gz"))
]
PEOPLE = b'<a:1> <a:name> "Ann"@en .\n<a:2> <a:age> "7"^^<a:int> .\n_:x <a:knows> <a:2> .\n'


def options_of(statements, **changes):
    """Options that allow everything."""
    return jelly.StreamOptions(
        physical_type=len(statements[0]) - 2, rdf_star=True, generalized_statements=True, **changes
    )


def stream(statements, **settings):
    out = io.BytesIO()
    if not statements:
        return jelly.dumps([])
    jelly.write(out, statements, options_of(statements), **settings)
    return out.getvalue()


def back(table, statements, **settings):
    out = io.BytesIO()
    options = options_of(statements) if statements else None
    assert jelly.write_arrow(out, table, options=options, **settings) == len(statements)
    return jelly.loads(out.getvalue())


def fits_flat(statements):
    return all(
        not isinstance(term, jelly.Literal)
        for statement in statements
        for term in (statement.s, statement.p, *statement[3:])
    )


def check_all(data, statements, **settings):
    """Both layouts, plain and dictionary, there and back."""
    for layout in LAYOUTS:
        for dictionary in (False, True):
            made = jelly.read_arrow(data, layout=layout, dictionary=dictionary, batch_rows=8192, **settings)
            if layout == "flat" and not fits_flat(statements):
                with pytest.raises(jelly.JellyUnsupportedError, match='layout="ntriples"'):
                    made.read_all()
                continue
            table = made.read_all()
            table.validate(full=True)
            assert table.num_rows == len(statements)
            assert back(table, statements) == statements


@pytest.mark.parametrize("path", TEXTS)
def test_texts_there_and_back(path):
    statements = list(islice(jelly.read(shared("data", path)), MANY))
    check_all(stream(statements), statements)


@pytest.mark.parametrize("path", SAMPLES)
def test_samples_there_and_back(path):
    statements = list(islice(jelly.read(shared("data", path)), MANY))
    check_all(stream(statements), statements)


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("like", LAYOUTS)
def test_a_layout_is_one_entry(monkeypatch, tmp_path, like, dictionary):
    assert typing.get_args(Layout) == tuple(LAYOUTS)
    old = LAYOUTS[like]
    name = "other"
    columns, optional = ({f"my_{c}": part for c, part in parts.items()} for parts in (old.columns, old.optional))
    new = TableLayout(name, old.syntax, columns, tuple(f"my_{c}" for c in old.required), optional)
    monkeypatch.setitem(LAYOUTS, name, new)
    monkeypatch.setitem(CAPABILITIES, name, CAPABILITIES[like])
    monkeypatch.setattr("jelly._options.settings._Kinds.check", lambda *_: None)  # `Layout` names those that there are
    data = b'<a:s> <a:p> "o"@en--rtl <a:g> . <a:s> <a:p> _:b . <a:s> <a:p> "1"^^<a:d> .'.replace(b". <", b".\n<")
    made = jelly.read_arrow(data, format="nq", layout=name, dictionary=dictionary).read_all()
    plain = jelly.read_arrow(data, format="nq", layout=like, dictionary=dictionary).read_all()
    assert made.column_names == list(new.columns)
    assert made.rename_columns(plain.column_names).equals(plain)
    assert arrow.schema(name).field(new.column("graph")).nullable
    assert not arrow.schema(name).field(0).nullable
    for layout in (None, name):
        out = io.BytesIO()
        assert jelly.write_arrow(out, made, layout=layout, format="nq") == 3
        assert out.getvalue() == data + b"\n"
    path = tmp_path / "x.csv"
    tablefiles.write_table_file(path, made)
    assert pa.string() == tablefiles.read_table_file(path).schema.field(new.column("graph")).type
    with pytest.raises(jelly.JellyOptionsError, match=f'layout="other": missing \'my_{old.required[1]}\''):
        jelly.write_arrow(io.BytesIO(), made.drop([new.required[1]]))
    with pytest.raises(ValueError, match='expected "flat" or "ntriples" or "other"'):
        arrow.schema("x")


@pytest.mark.parametrize("layout", ["flat", "ntriples"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_quoted_triple_is_one_value_in_any_column(layout, dictionary):
    new, old = (b"<< <a:s> <a:p> <a:o> >> <a:p> %b ." % form for form in (
        b"<<( <a:s> <a:p> <a:o> )>>", b"<< <a:s> <a:p> <a:o> >>"
    ))
    tables = [
        arrow.read_arrow(data, format="nt", layout=layout, dictionary=dictionary).read_all() for data in (new, old)
    ]
    s, _, o = tables[0].column_names[:3]
    (row,) = tables[0].to_pylist()
    assert tables[0] == tables[1]
    assert row[s] == row[o] == "<<( <a:s> <a:p> <a:o> )>>"
    out = io.BytesIO()
    arrow.write_arrow(out, tables[0], layout=layout)
    changed = tables[0].cast(pa.schema([(name, pa.string()) for name in tables[0].column_names])).to_pylist()
    older = pa.Table.from_pylist([{**changed[0], s: "<< <a:s> <a:p> <a:o> >>", o: "<<<a:s><a:p><a:o>>>"}])
    again = io.BytesIO()
    arrow.write_arrow(again, older.cast(pa.schema([(name, pa.string()) for name in older.column_names])), layout=layout)
    assert jelly.loads(again.getvalue()) == jelly.loads(out.getvalue()) == list(jelly.read(new, format="nt"))


def test_data_is_there():
    shared("data")
    assert len(TEXTS) > 10
    assert len(SAMPLES) > 20


CASES = [
    case["action"][0]
    for case in json.loads(shared("conformance", "parsed-manifest.json").read_text())["from_jelly"]
    if case["pol"] == "pos"
]


@pytest.mark.parametrize("path", CASES)
def test_conformance_cases_there_and_back(path):
    path = shared("conformance", "test", "rdf", "from_jelly", path)
    check_all(path, list(jelly.read(path)))


@cache
def weather():
    return list(islice(jelly.read(shared("data", "iot-weather", "assist-iot-weather-100k.nt.gz")), 20_000))


@given(st.lists(with_graphs(generalized), max_size=12), st.booleans())
def test_anything_ntriples(statements, dictionary):
    data = stream(statements)
    table = arrow.to_table(data, layout="ntriples", dictionary=dictionary)
    # Labels that N-Triples has no syntax for are others there.
    fit = capabilities_of("ntriples").fit
    assert back(table, statements) == list(StatementIterator(map(fit, jelly.scan(data).batches())))


# ---- what the values are

def test_values():
    table = jelly.read_arrow(PEOPLE, format="nt").read_all()
    assert table.schema == arrow.schema()
    assert table.to_pydict() == {
        "subject": ["a:1", "a:2", "_:x"],
        "predicate": ["a:name", "a:age", "a:knows"],
        "object": ["Ann", "7", "a:2"],
        "object_kind": ["literal", "literal", "iri"],
        "datatype": [None, "a:int", None],
        "lang": ["en", None, None],
        "graph": [None] * 3,
    }
    table = jelly.read_arrow(PEOPLE, format="nt", layout="ntriples", columns=["o", "g", "frame"]).read_all()
    assert table.to_pydict() == {
        "o": ['"Ann"@en', '"7"^^<a:int>', "<a:2>"],
        "g": [None] * 3,
        "frame": [0] * 3,
    }
    coded = jelly.read_arrow(PEOPLE, format="nt", dictionary=True).read_all()
    assert coded.schema == arrow.schema(dictionary=True)
    assert coded.to_pydict() == jelly.read_arrow(PEOPLE, format="nt").read_all().to_pydict()


def test_only_the_columns_that_are_asked_for():
    for columns in (["lang"], ["object", "subject"], ["metadata"]):
        made = jelly.read_arrow(PEOPLE, format="nt", columns=columns)
        assert made.schema.names == made.read_all().column_names == columns
    for columns, message in ((["s"], "unknown columns 's'"), ([], "at least one"), (["lang", "lang"], "once")):
        with pytest.raises(ValueError, match=message):
            jelly.read_arrow(PEOPLE, columns=columns)
    with pytest.raises(ValueError, match="layout is 'x'"):
        jelly.read_arrow(PEOPLE, layout="x")
    with pytest.raises(ValueError, match="batch_rows"):
        jelly.read_arrow(PEOPLE, batch_rows=0)


@pytest.mark.parametrize("dictionary", [False, True])
def test_dictionaries_have_no_duplicates_and_batches_their_size(dictionary):
    data = stream(weather())
    rows = 0
    for batch in jelly.read_arrow(data, dictionary=dictionary, batch_rows=999):
        assert len(batch) <= 999
        rows += len(batch)
        for column in batch.columns if dictionary else ():
            values = column.dictionary
            assert len(values.unique()) == len(values)
    assert rows == len(weather())


def test_zero_copy():
    """Ids and text of the Batch are the memory of the table, not a copy."""
    statements = [
        jelly.Triple(jelly.IRI(f"a:s{i}"), jelly.IRI("a:p"), jelly.Literal(f"o{i}")) for i in range(1000)
    ]
    (batch,) = jelly.Decoder().feed(jelly.dumps(statements))
    (made,) = arrow.from_batches([batch], dictionary=True)
    for name, ids in (("subject", batch.s), ("object", batch.o)):
        column = made.column(name)
        assert column.indices.buffers()[1].address == ids.ctypes.data
        _, offsets, text = column.dictionary.buffers()
        assert offsets.address == batch.start.ctypes.data
        assert text.address == batch.text.ctypes.data
    assert made.column("object").to_pylist() == [f"o{i}" for i in range(1000)]
    # The Batch may go: the table holds its memory.
    values = made.column("subject").to_pylist()
    del batch, made
    assert values[-1] == "a:s999"


def test_zero_copy_of_what_the_core_made():
    from jelly._core.arrow.exporter import ArrowExporter

    columns = ArrowExporter("flat")
    columns.start(next(jelly.scan(PEOPLE, format="nt").batches()))
    rows, nulls, valid, offsets, data = columns.strings("object", 0, 3)
    array = arrow_tables.array_over(pa.string(), rows, offsets, data, valid=valid, nulls=nulls)
    import numpy as np

    assert array.buffers()[2].address == np.frombuffer(data, np.uint8).ctypes.data


# ---- frames and metadata

def framed(frames, metadata=(), **settings):
    out = io.BytesIO()
    grouped = jelly.StreamOptions(physical_type=1, logical_type=3)
    with jelly.Writer(out, grouped, **settings) as writer:
        for i, statements in enumerate(frames):
            writer.extend(statements)
            writer.end_frame(metadata[i] if i < len(metadata) else None)
    return out.getvalue()


def triples(n, subject="a:s"):
    return [jelly.Triple(jelly.IRI(subject), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(n)]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_frames_and_metadata(batch_rows):
    sizes = [2, 0, 5, 1]
    meta = [{"k": b"0"}, {"k": b"empty"}, {"a": b"1", "b": b"\xff"}]
    data = framed(map(triples, sizes), meta)
    for dictionary in (False, True):
        table = arrow.to_table(
            data, columns=["object", "frame", "metadata"], batch_rows=batch_rows, dictionary=dictionary
        )
        assert table["frame"].to_pylist() == [0, 0, 2, 2, 2, 2, 2, 3]
        assert table["object"].to_pylist() == ["0", "1", "0", "1", "2", "3", "4", "0"]
        assert [dict(x) for x in table["metadata"].to_pylist()] == [meta[0]] * 2 + [meta[2]] * 5 + [{}]
    again = io.BytesIO()
    kept = arrow.read_arrow(data, columns=[*LAYOUTS["flat"].columns, "frame"], batch_rows=batch_rows)
    jelly.write_arrow(again, kept, options=jelly.read_options(data))
    assert [len(frame) for frame in jelly.scan(again.getvalue()).frames()] == [2, 5, 1]


def test_metadata_is_not_repeated_without_bound(monkeypatch):
    from jelly._formats import arrow_tables as metadata

    monkeypatch.setattr(metadata, "MAX_METADATA", 1000)
    data = framed([triples(9), triples(4), triples(3)], [{"k": b"x" * 299}, {"k": b"y" * 2000}])
    batches = list(arrow.read_arrow(data, columns=["object", "metadata"]))
    assert [len(batch) for batch in batches] == [3, 3, 3, 1, 1, 1, 1, 3]
    assert [len(dict(x).get("k", b"")) for b in batches for x in b["metadata"].to_pylist()] == [299] * 9 + [
        2000
    ] * 4 + [0] * 3


def test_rows_before_an_error_come_with_metadata_too():
    data = framed([triples(3), triples(2)], [{"k": b"0"}])
    found = []
    with pytest.raises(jelly.JellyTruncatedError):  # noqa: PT012
        for batch in arrow.read_arrow(data[:-3], columns=["frame", "metadata"], batch_rows=2):
            found += batch["frame"].to_pylist()
    assert found == [0, 0, 0]


# ---- files with an index, threads

@pytest.fixture(scope="module")
def seekable(tmp_path_factory):
    path = tmp_path_factory.mktemp("arrow") / "weather.jelly"
    with jelly.Writer(path, seekable=True) as writer:
        for _ in range(20):
            writer.extend(weather())
    return path


@pytest.mark.parametrize(
    "settings", [{}, {"dictionary": True}, {"layout": "ntriples"}, {"columns": ["object", "metadata"]}]
)
def test_threads_give_the_same_in_order(seekable, settings):
    one = arrow.to_table(seekable, **settings)
    two = arrow.to_table(seekable, threads=2, **settings)
    assert one.num_rows == 400_000
    for name in one.column_names:
        if settings.get("dictionary"):
            assert one[name].cast(pa.large_string()).equals(two[name].cast(pa.large_string()))
        else:
            assert one[name].equals(two[name])


@pytest.mark.parametrize("threads", [1, 3])
def test_ranges(seekable, threads):
    whole = arrow.to_table(seekable, columns=["subject", "object", "row"])
    assert whole["row"].to_pylist() == list(range(len(whole)))
    assert not whole.schema.field("row").nullable
    for start, stop in ((0, 10), (131_000, 131_100), (131_072, 131_073), (399_990, None), (0, 0), (9, 3), (5, 10**9)):
        made = arrow.to_table(seekable, columns=["subject", "object", "row"], threads=threads, start=start, stop=stop)
        assert made.equals(whole.slice(start, max((400_000 if stop is None else stop) - start, 0)))
    with pytest.raises(ValueError, match="negative"):
        jelly.read_arrow(seekable, start=-1)
    with pytest.raises(jelly.JellyError, match="path of a Jelly file"):
        jelly.read_arrow(PEOPLE, format="nt", start=1)
    with pytest.raises(ValueError, match="layout"):
        jelly.read_arrow(seekable, layout="x", start=1)


def test_threads_without_an_index(tmp_path):
    path = tmp_path / "a.jelly"
    path.write_bytes(stream(weather()))
    assert arrow.to_table(path, threads=2).num_rows == len(weather())
    with pytest.raises(jelly.JellyError, match="no index"):
        jelly.read_arrow(path, start=5)
    text = tmp_path / "a.nt"
    text.write_bytes(PEOPLE)
    assert arrow.to_table(text, threads=2).num_rows == 3


def test_threads_end_where_the_reader_is_dropped(seekable):
    before = threading.active_count()
    for threads in (1, 2):
        for taken in (0, 1, 5):
            made = jelly.read_arrow(seekable, threads=threads, batch_rows=4096)
            for _ in range(taken):
                made.read_next_batch()
            made.close()
            del made  # a file that stays open would be an error
    until = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.001)  # nothing waits for them, but they end with what they are at
    assert threading.active_count() <= before


def test_errors_in_threads_come_in_their_place(seekable, tmp_path):
    data = bytearray(seekable.read_bytes())
    with jelly.open(seekable) as file:
        keyframe = file.index.keyframes[2]
    data[keyframe.offset + 40] ^= 0xFF
    path = tmp_path / "broken.jelly"
    path.write_bytes(data)
    rows = 0
    with pytest.raises(jelly.JellyError, match="broken.jelly"):  # noqa: PT012
        for batch in jelly.read_arrow(path, threads=2):
            rows += len(batch)
    assert rows >= keyframe.statement


# ---- the way back

def test_order_of_columns_missing_and_more(tmp_path):
    table = arrow.to_table(PEOPLE, format="nt")
    statements = list(jelly.read(PEOPLE, format="nt"))
    assert back(table.select(table.column_names[::-1]), statements) == statements
    assert back(table.drop_columns(["graph"]), statements) == statements
    wrong = (
        (table.append_column("a", table["lang"]).append_column("b", table["lang"]), "unknown 'a', 'b'"),
        (table.drop_columns(["object_kind", "predicate"]), "missing 'predicate', 'object_kind'"),
        (table.append_column("lang", table["lang"]), "more than once 'lang'"),
        (pa.table({"x": ["a"]}), 'layout="ntriples": missing \'s\', \'p\', \'o\'; unknown \'x\''),
    )
    for bad, message in wrong:
        with pytest.raises(jelly.JellyOptionsError, match=message):
            jelly.write_arrow(tmp_path / "x.jelly", bad)
        assert not list(tmp_path.iterdir())
    with pytest.raises(TypeError, match="__arrow_c_stream__"):
        jelly.write_arrow(io.BytesIO(), [1])
    with pytest.raises(jelly.JellyOptionsError, match="missing"):
        jelly.write_arrow(io.BytesIO(), table, layout="ntriples")
    with pytest.raises(ValueError, match="layout is"):
        jelly.write_arrow(io.BytesIO(), table, layout="x")


@pytest.mark.parametrize("dictionary", [False, True])
def test_slices_and_chunks(dictionary):
    statements = weather()[:3000]
    table = arrow.to_table(stream(statements), dictionary=dictionary, batch_rows=700)
    rng = random.Random(5)
    for _ in range(20):
        begin = rng.randrange(3000)
        n = rng.randrange(3000)
        assert back(table.slice(begin, n), statements[begin : begin + n]) == statements[begin : begin + n]
    chunks = [table.slice(i, 7) for i in range(0, 3000, 7)]
    assert back(pa.concat_tables(chunks), statements) == statements
    assert back(table.to_batches()[1], statements[700:1400]) == statements[700:1400]


@pytest.mark.parametrize(
    "type",
    [
        pa.string(), pa.large_string(), "string_view", *(pa.dictionary(t, pa.string()) for t in (pa.int8(), pa.uint16(),
        pa.int64(), pa.uint64())), pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_types_of_columns(type):
    if type == "string_view":
        type = pa.string_view() if hasattr(pa, "string_view") else pytest.skip("this pyarrow has no string_view")
    statements = list(jelly.read(PEOPLE, format="nt"))
    table = arrow.to_table(PEOPLE, format="nt")
    typed = pa.table({name: table[name].cast(type) for name in table.column_names if name != "graph"})
    assert back(typed, statements) == statements
    assert back(typed.append_column("graph", pa.nulls(3)), statements) == statements


def test_columns_of_other_types_are_refused():
    table = arrow.to_table(PEOPLE, format="nt")
    for column in (pa.array([1, 2, 3]), pa.array([b"a", b"b", b"c"]), pa.array([1, 2, 3]).dictionary_encode()):
        bad = table.set_column(0, "subject", column)
        with pytest.raises(jelly.JellyOptionsError, match="column 'subject' is of type .*: expected strings"):
            jelly.write_arrow(io.BytesIO(), bad)
    for frames in (pa.array(["a", "b", "c"]), pa.array([1.0, 2.0, 3.0])):
        with pytest.raises(jelly.JellyOptionsError, match="column 'frame' is of type"):
            jelly.write_arrow(io.BytesIO(), table.append_column("frame", frames))
    with pytest.raises(jelly.JellyFormatError, match="column 'frame'"):
        jelly.write_arrow(io.BytesIO(), table.append_column("frame", pa.array([2**64 - 1] * 3, pa.uint64())))


def test_dictionaries_with_nulls_and_duplicates():
    codes = pa.array([0, 1, None, 2, 3], pa.int32())
    graphs = pa.DictionaryArray.from_arrays(codes, pa.array(["<a:g>", None, "<a:g>", "_:b"]))
    table = pa.table({"s": ["<a:s>"] * 5, "p": ["<a:p>"] * 5, "o": ["<a:o>"] * 5, "g": graphs})
    out = io.BytesIO()
    jelly.write_arrow(out, table)
    g = jelly.IRI("a:g")
    none = jelly.Quad(g, g, g, None).g
    assert [x.g for x in jelly.loads(out.getvalue())] == [g, none, none, g, jelly.BlankNode("b")]
    nothing = pa.DictionaryArray.from_arrays(pa.array([None] * 5, pa.int8()), pa.nulls(0))
    out = io.BytesIO()
    assert jelly.write_arrow(out, table.set_column(3, "g", nothing)) == 5
    assert jelly.read_options(out.getvalue()).physical_type == 1


def test_a_graph_decides_the_kind_of_stream(monkeypatch):
    table = pa.table({"s": ["<a:s>"] * 4, "p": ["<a:p>"] * 4, "o": ["<a:o>"] * 4, "g": [None, None, None, "<a:g>"]})
    parts = pa.concat_tables([table.slice(i, 1) for i in range(4)])
    out = io.BytesIO()
    assert jelly.write_arrow(out, parts) == 4
    assert jelly.read_options(out.getvalue()).physical_type == 2
    out = io.BytesIO()
    assert jelly.write_arrow(out, table.slice(0, 3)) == 3
    assert jelly.read_options(out.getvalue()).physical_type == 1
    monkeypatch.setattr(arrowinput, "MAX_PEEK", 1)
    with pytest.raises(jelly.JellyOptionsError, match=r"column 'g': a quad in a named graph .*\(row 3\)"):
        jelly.write_arrow(io.BytesIO(), parts)
    out = io.BytesIO()
    assert jelly.write_arrow(out, parts, options=jelly.StreamOptions(physical_type=2)) == 4
    text = io.BytesIO()
    assert jelly.write_arrow(text, parts, format="nq") == 4
    assert text.getvalue().endswith(b"<a:o> <a:g> .\n")
    with pytest.raises(jelly.JellyOptionsError, match="named graph"):
        jelly.write_arrow(io.BytesIO(), parts, format="nt")


def test_utf8_is_checked_whatever_pyarrow_says():
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\x06\0\0\0"), pa.py_buffer(b'"a\xff\xfe"' + b" ")]
    )
    for type in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
        values = bad if type == pa.string() else pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), bad)
        for layout, name, columns in (
            ("flat", "object", {"subject": ["s"], "predicate": ["p"], "object": values, "object_kind": ["literal"]}),
            ("ntriples", "o", {"s": ["<a:s>"], "p": ["<a:p>"], "o": values}),
        ):
            with pytest.raises(jelly.JellyFormatError, match=f"column '{name}'.*UTF-8"):
                jelly.write_arrow(io.BytesIO(), pa.table(columns), layout=layout)


def test_nothing():
    for settings in ({}, {"dictionary": True}, {"layout": "ntriples"}, {"columns": ["metadata", "frame"]}):
        for data, format in ((jelly.dumps([]), None), (b"", "nt"), (b"# nothing\n", "nq")):
            table = jelly.read_arrow(data, format=format, **settings).read_all()
            assert table.num_rows == 0
            assert table.schema == arrow.schema(**{k: v for k, v in settings.items() if k != "layout"} | (
                {"layout": settings["layout"]} if "layout" in settings else {}))
            if "columns" not in settings:
                out = io.BytesIO()
                assert jelly.write_arrow(out, table) == 0
                assert jelly.loads(out.getvalue()) == []
    with pytest.raises(jelly.JellyFormatError, match="options"):
        jelly.read_arrow(b"").read_all()


# ---- bad input

def test_every_cut_and_every_flipped_byte():
    statements = weather()[:40]
    data = stream(statements)
    for settings in ({}, {"dictionary": True}, {"layout": "ntriples"}, {"columns": ["frame", "metadata", "object"]}):
        for cut in range(len(data)):
            try:
                table = arrow.to_table(data[:cut], **settings)
            except jelly.JellyError:
                continue
            assert table.num_rows <= len(statements)
        for at in range(0, len(data), 3):
            broken = bytearray(data)
            broken[at] ^= 1 << at % 8
            try:
                table = arrow.to_table(bytes(broken), **settings)
            except jelly.JellyError:
                continue
            table.validate(full=True)


def test_a_long_literal_in_many_rows_takes_no_more_than_its_share():
    """A repeated term costs nothing on the wire, so a column could grow without bound."""
    data = frame(options(), triple(o=(LITERAL, literal(b"x" * (1 << 20)))), *[row(2)] * 400)
    rows = 0
    for batch in jelly.read_arrow(data, columns=["object"]):
        rows += len(batch)
        assert batch.nbytes <= (1 << 26) + 4 * len(batch) + 8
    assert rows == 401


def test_errors_come_after_what_was_before():
    data = PEOPLE + b"nonsense\n" + PEOPLE
    made = jelly.read_arrow(data, format="nt", batch_rows=2)
    assert [len(made.read_next_batch()), len(made.read_next_batch())] == [2, 1]
    with pytest.raises(jelly.JellySyntaxError) as caught:
        made.read_next_batch()
    assert caught.value.line == 4
    assert arrow.to_table(data, format="nt", on_error="skip").num_rows == 6


def test_files_are_closed(tmp_path):
    path = tmp_path / "a.nt"
    path.write_bytes(PEOPLE * 1000)
    made = jelly.read_arrow(path, batch_rows=10)
    made.read_next_batch()
    made.close()
    del made  # a ResourceWarning would be an error


# ---- other tools

def test_recipes():
    for name in ("polars", "duckdb", "pandas"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(arrow, optionflags=flags)
    # testmod leaves out functions with a decorator, and those of another module.
    runner = doctest.DocTestRunner(optionflags=flags)
    for name in ("read_arrow", "to_table", "write_arrow", "schema", "from_batches", "from_results"):
        (example,) = doctest.DocTestFinder().find(inspect.unwrap(getattr(arrow, name)), name)
        assert example.examples
        runner.run(example)
    assert result.attempted + runner.tries > 20
    assert result.failed + runner.failures == 0


@pytest.mark.parametrize("dictionary", [False, True])
def test_polars(dictionary):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    statements = weather()[:3000]
    frame = polars.from_arrow(jelly.read_arrow(stream(statements), dictionary=dictionary, batch_rows=999).read_all())
    assert frame["subject"].cast(polars.String).to_list() == [x.s.value for x in statements]
    assert back(frame, statements) == statements
    assert back(frame.filter(polars.col("lang").is_null()), statements) == statements
    lazily = polars.DataFrame(jelly.read_arrow(stream(statements), dictionary=dictionary))
    assert lazily.height == 3000


@pytest.mark.parametrize("dictionary", [False, True])
def test_pandas(dictionary):
    pytest.importorskip("pandas", reason="pandas is not installed")
    statements = weather()[:3000]
    frame = jelly.read_arrow(stream(statements), dictionary=dictionary, batch_rows=999).read_all().to_pandas()
    assert list(frame.subject) == [x.s.value for x in statements]
    assert back(pa.Table.from_pandas(frame), statements) == statements
    if hasattr(frame, "__arrow_c_stream__"):
        assert back(frame, statements) == statements


def test_pandas_with_rows_that_were_chosen(tmp_path):
    """Such a frame keeps the numbers of its rows, and gives them as one column more."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    statements = weather()[:300]
    frame = jelly.read_arrow(stream(statements)).read_pandas()
    wanted = [x for x in statements if isinstance(x.o, jelly.Literal)]
    chosen = frame[frame.object_kind == "literal"]
    assert 0 < len(chosen) < 300
    path = tmp_path / "chosen.parquet"
    chosen.to_parquet(path)
    assert "__index_level_0__" in arrow_tables.parquet.read_schema(path).names
    assert list(jelly.read(path)) == wanted
    for made in (pa.Table.from_pandas(chosen), chosen, pandas.concat([chosen, chosen])[: len(chosen)]):
        if hasattr(made, "__arrow_c_stream__"):
            assert back(made, wanted) == wanted
            assert list(jelly.scan(made)) == wanted
    table = pa.table({"__index_level_0__": [1], "s": ["<a:s>"], "p": ["<a:p>"], "o": ["<a:o>"]})  # not of pandas
    with pytest.raises(jelly.JellyOptionsError, match="unknown '__index_level_0__'"):
        back(table, wanted)


@pytest.mark.parametrize("dictionary", [False, True])
def test_duckdb(dictionary):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    statements = weather()[:3000]
    made = jelly.read_arrow(stream(statements), dictionary=dictionary, batch_rows=999)
    with duckdb.connect() as connection:
        connection.register("statements", made)
        found = connection.sql("select predicate, count(*) n from statements group by 1 order by 2 desc, 1").fetchall()
        counts = {}
        for statement in statements:
            counts[statement.p.value] = counts.get(statement.p.value, 0) + 1
        assert dict(found) == counts
        connection.register("again", jelly.read_arrow(stream(statements), dictionary=dictionary))
        assert back(connection.sql("select * from again"), statements) == statements


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows", ".feather", ".csv", ".csv.gz"])
@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_table_files(tmp_path, suffix, dictionary, layout):
    statements = [
        *weather()[:2000],
        jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("")),
        jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal('a"b,c\nd\r\n', language="en")),
        jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("NA")),
    ]
    path = tmp_path / f"x{suffix}"
    made = jelly.read_arrow(stream(statements), layout=layout, dictionary=dictionary, batch_rows=999)
    assert tablefiles.write_table_file(path, made) == len(statements)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert back(tablefiles.read_table_file(path), statements) == statements


def test_table_files_that_fail(tmp_path):
    path = tmp_path / "x.parquet"
    with pytest.raises(jelly.JellySyntaxError):
        tablefiles.write_table_file(path, jelly.read_arrow(PEOPLE + b"nonsense", format="nt"))
    assert not list(tmp_path.iterdir())
    for name in ("x.nt", "x.parquet.gz", "x"):
        assert table_kind(name) is None
        with pytest.raises(jelly.JellyError, match="not a table"):
            tablefiles.write_table_file(tmp_path / name, jelly.read_arrow(PEOPLE, format="nt"))
        with pytest.raises(jelly.JellyError, match="not a table"):
            tablefiles.read_table_file(tmp_path / name)
    for suffix in (".parquet", ".arrow", ".arrows"):
        bad = tmp_path / f"bad{suffix}"
        bad.write_bytes(b"nonsense that is no table")
        with pytest.raises(jelly.JellyFormatError, match="bad"):
            tablefiles.read_table_file(bad)


def test_parquet_row_groups(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "x.parquet"
    tablefiles.write_table_file(path, jelly.read_arrow(stream(weather()[:5000]), batch_rows=1000), group_rows=1500)
    meta = parquet.ParquetFile(path).metadata
    assert [meta.row_group(i).num_rows for i in range(meta.num_row_groups)] == [2000, 2000, 1000]
    assert meta.row_group(0).column(0).compression == "ZSTD"


# ---- a process of its own

def run(code, *args):
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_jelly_does_not_import_pyarrow():
    run("import sys, jelly; assert 'pyarrow' not in sys.modules; jelly.read_arrow; assert 'pyarrow' in sys.modules")
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        jelly.nonsense  # noqa: B018


def test_without_pyarrow():
    out = run(
        "import sys; sys.modules['pyarrow'] = None\n"
        "import jelly\n"
        "try: jelly.read_arrow(b'')\n"
        "except jelly.MissingExtraError as error: print(error)\n"
    )
    assert "pip install 'jelly-rdf[arrow]'" in out


MEMORY = r"""
import re, sys, jelly, jelly.arrow
path, threads, dictionary = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1"
rows = 0
def peak():
    # Not ru_maxrss: that one begins with what the parent had.
    return int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) // 1024
def read():
    global rows
    for batch in jelly.read_arrow(path, threads=threads, dictionary=dictionary):
        rows += len(batch)
imported = peak()
read()
before = peak()
for _ in range(5):
    read()
print(rows, peak() - before, peak() - imported)
"""


@pytest.mark.leaks
@pytest.mark.parametrize("dictionary", [0, 1])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.bounded
def test_memory_stays_flat(seekable, threads, dictionary):
    """2.4 million statements, each record batch dropped."""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("this system has no /proc")
    # Beyond what the imports take, which is another number with every release of pyarrow (75 MB, 87 MB). Making
    # dictionaries unique takes tables of its own.
    most = 320 if threads > 1 else 125 if dictionary else 100
    # Now and then an allocator takes a segment of 32 MiB more than it needs. What the code itself keeps is there each
    # time.
    for _ in range(3):
        rows, grown, peak = map(int, run(MEMORY, str(seekable), str(threads), str(dictionary)).split())
        assert rows == 2_400_000
        if grown < (40 if threads == 1 else 80) and peak < most:
            return
    pytest.fail(f"{grown} MB more after five readings, {peak} MB beyond the imports: expected less than {most}")
