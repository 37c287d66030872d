"""Messages in columns: from_jelly, to_jelly, from_ntriples; and the Arrow functions below them, without Spark."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jelly
import jelly.kafka
import jelly.patch
from jelly._core.base.batch_concat import join_batches
from jelly.spark._messages import frames_to_statements, statements_to_frames, texts_to_statements

A, B, P, G = (jelly.IRI(f"http://example.org/{name}") for name in ("a", "b", "p", "g"))
QUOTED = jelly.QuotedTriple(A, P, B)
MESSAGES: list[list[Any]] = [
    [jelly.Triple(A, P, jelly.Literal("x", language="en")), jelly.Triple(A, P, B)],
    [],
    [jelly.Quad(jelly.BlankNode("x"), P, jelly.Literal("1", datatype="http://www.w3.org/2001/XMLSchema#int"), G)],
    [jelly.Triple(QUOTED, P, QUOTED)],
    [jelly.Triple(A, P, jelly.Literal(str(i))) for i in range(500)],
]


def frame(statements: Sequence[Any], **settings: Any) -> bytes:
    out = io.BytesIO()
    jelly.write(out, statements, **settings)
    return out.getvalue()


def texts(frames: list[bytes | None]) -> list[list[str] | None]:
    return [None if value is None else [str(s) for s in jelly.loads(value)] for value in frames]


EXPECTED = [[str(s) for s in message] for message in MESSAGES]
# In a table a term is the same in every column; in a line a quoted triple as subject is written otherwise.
IN_TABLES = [[" ".join(filter(None, map(str, s))) + " ." for s in message] for message in MESSAGES]


def lists(values: list[bytes | None], **settings: Any) -> list[Any]:
    return [item for array in frames_to_statements(iter([pa.array(values, pa.binary())]), **settings)
            for item in array.to_pylist()]  # fmt: skip


def as_text(row: dict[str, str | None]) -> str:
    return " ".join(term for term in row.values() if term is not None) + " ."


@pytest.mark.parametrize("layout", ["flat", "ntriples"])
@pytest.mark.parametrize("delimited", [True, False])
def test_messages_go_there_and_back(layout: Any, delimited: bool) -> None:
    values = [*(frame(message, delimited=delimited) for message in MESSAGES), None]
    arrays = list(frames_to_statements(iter([pa.array(values), pa.array(values[2:])]), layout=layout))
    back = [value for array in statements_to_frames(iter(arrays), delimited=delimited) for value in array.to_pylist()]
    assert texts(back) == [*EXPECTED, None, *EXPECTED[2:], None]
    assert [jelly.read_options(value).physical_type.name for value in back[:3]] == ["TRIPLES", "TRIPLES", "QUADS"]


def test_columns_say_what_the_library_says() -> None:
    values = [frame(message) for message in MESSAGES]
    flat = lists(values)
    assert [row for rows in flat for row in rows] == [
        row for value in values for row in jelly.read_arrow(value).read_all().to_pylist()
    ]
    assert [[as_text(row) for row in rows] for rows in lists(values, layout="ntriples")] == IN_TABLES


def test_large_columns_come_in_parts() -> None:
    value = frame(MESSAGES[4])
    arrays = list(frames_to_statements(iter([pa.array([value] * 200)])))
    assert len(arrays) > 1
    assert sum(len(array) for array in arrays) == 200
    assert sum(len(array.values) for array in arrays) == 100_000


def test_slices_and_large_types() -> None:
    values = pa.array([b"never read", None, frame(MESSAGES[0]), frame(MESSAGES[2])], pa.large_binary()).slice(1)
    [array] = frames_to_statements(iter([values]), layout="ntriples")
    assert array.is_null().to_pylist() == [True, False, False]
    [back] = statements_to_frames(iter([array.slice(1)]))
    assert texts(back.to_pylist()) == [EXPECTED[0], EXPECTED[2]]


GOOD = frame(MESSAGES[0])
GENERALIZED = frame([jelly.Triple(jelly.Literal("s"), P, B)], options=jelly.StreamOptions(
    physical_type=jelly.PhysicalType.TRIPLES, generalized_statements=True))  # fmt: skip


@pytest.mark.parametrize("bad", [GOOD[:-3], b"", b"\x05hello", GENERALIZED], ids=["cut", "empty", "foreign", "layout"])
def test_a_corrupt_value(bad: bytes) -> None:
    with pytest.raises(jelly.JellyError, match="value 2 of the column"):
        lists([GOOD, None, bad, GOOD])
    assert [row and len(row) for row in lists([GOOD, None, bad, GOOD], mode="PERMISSIVE")] == [2, None, None, 2]


def test_a_message_that_swells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jelly.spark._messages.MAX_LISTS", 1 << 16)
    long = frame([jelly.Triple(A, P, jelly.Literal("x" * 1000))] * 100)
    with pytest.raises(jelly.JellyLimitError, match="value 5 of the column"):
        lists([GOOD] * 5 + [long])
    assert [row and len(row) for row in lists([GOOD] * 5 + [long, GOOD], mode="PERMISSIVE")] == [2] * 5 + [None, 2]
    # Each of these is small enough.
    assert sum(map(len, lists([frame(MESSAGES[4])] * 4))) == 2000


def test_every_cut_and_every_flip_is_an_error_or_statements() -> None:
    values: list[bytes | None] = [GOOD[:end] for end in range(len(GOOD))]
    values += [bytes([*GOOD[:at], GOOD[at] ^ 0x55, *GOOD[at + 1 :]]) for at in range(len(GOOD))]
    made = lists(values, mode="PERMISSIVE")
    assert len(made) == len(values)
    for value, rows in zip(values, made, strict=True):
        try:
            read = jelly.read_arrow(value).read_all().to_pylist()
        except jelly.JellyError:
            assert rows is None
        else:
            assert rows == read


def test_statements_that_are_wrong() -> None:
    one = pa.array([[{"s": "<a:s>", "p": "<a:p>", "o": "no term"}]])
    with pytest.raises(jelly.JellyError, match="value 0 of the column"):
        list(statements_to_frames(iter([one])))
    for wrong in (pa.array([b""]), pa.array([[1]]), pa.array([[{"s": "<a:s>", "p": "<a:p>"}]])):
        with pytest.raises(jelly.JellyOptionsError):
            list(statements_to_frames(iter([wrong])))
    null = pa.array([[None, {"s": "<a:s>", "p": "<a:p>", "o": "<a:o>"}]])
    with pytest.raises(jelly.JellyError, match="null"):
        list(statements_to_frames(iter([null])))


# ---- content types, patches, reasons

PATCH = jelly.patch.dumps(
    [jelly.patch.Start(), jelly.patch.Delete((A, P, A)), jelly.patch.Add((A, P, B)), jelly.patch.Commit(),
     jelly.patch.Start(), jelly.patch.Add((A, P, P)), jelly.patch.Abort()]
)  # fmt: skip
QUAD_LINE = b"<a:s> <a:p> <a:o> <a:g> .\n"
TYPED: list[tuple[bytes | None, str | None]] = [
    (GOOD, None),
    (GOOD, "application/x-jelly-rdf"),
    (QUAD_LINE, "Application/N-Quads"),
    (b"<a:s> <a:p> 1, 2 .", "text/turtle"),
    (None, "text/turtle"),
    (jelly.kafka.JellySerializer(compression="zstd")(MESSAGES[0]), None),
]


def pairs(values: list[tuple[bytes | None, str | None]]) -> pa.Array:
    data, types = zip(*values, strict=True)
    arrays = [pa.array(data, pa.binary()), pa.array(types, pa.string()), pa.nulls(len(values), pa.string())]
    return pa.StructArray.from_arrays(arrays, names=["v", "t", "label"])


def typed(values: list[tuple[bytes | None, str | None]], **settings: Any) -> list[Any]:
    return [row for array in frames_to_statements(iter([pairs(values)]), **settings) for row in array.to_pylist()]


def test_the_content_type_gives_the_format() -> None:
    assert [rows and len(rows) for rows in typed(TYPED)] == [2, 2, 1, 2, None, 2]
    # Also of a slice.
    [array] = frames_to_statements(iter([pairs(TYPED).slice(2, 2)]))
    assert [len(rows) for rows in array.to_pylist()] == [1, 2]
    with pytest.raises(jelly.JellyError, match="value 1 of the column"):
        typed([(GOOD, None), (GOOD, "application/n-quads")])
    with pytest.raises(jelly.JellyError, match="application/json"):
        typed([(b"{}", "application/json")])


def test_patches_as_changes() -> None:
    values = [(PATCH, None), (b"D <a:s> <a:p> <a:o> .\n", "application/rdf-patch"), (GOOD, None), (None, None)]
    made = typed(values, changes=True, layout="ntriples")
    ops = [rows and [(row["op"], row["o"]) for row in rows] for rows in made]
    assert ops[:2] == [[("delete", f"{A}"), ("add", f"{B}")], [("delete", "<a:o>")]]
    assert [op for op, _ in ops[2]] == ["add", "add"]
    assert ops[3] is None
    with pytest.raises(jelly.JellyError, match="changes=True"):
        typed(values[:1])
    many = [jelly.patch.dumps([jelly.patch.Add((A, P, jelly.Literal(str(i))))] * (i % 5)) for i in range(300)]
    found = typed([(value, None) for value in many], changes=True)
    assert [len(rows) for rows in found] == [i % 5 for i in range(300)]


@pytest.mark.parametrize(
    "bad", [GOOD[:-3], b"\x05hello", GENERALIZED, PATCH], ids=["cut", "foreign", "layout", "patch"]
)
def test_reasons_tell_null_empty_and_broken_apart(bad: bytes) -> None:
    nothing = frame([])
    values = [GOOD, None, b"", bad, nothing, GOOD]
    made = lists(values, mode="PERMISSIVE", reasons=True)
    assert [row and row["statements"] is not None for row in made] == [True, None, False, False, True, True]
    assert [row and row["error"] is not None for row in made] == [False, None, True, True, False, False]
    assert made[2]["error"] == "the value is empty"
    assert "empty" not in made[3]["error"]
    assert made[4]["statements"] == []
    of_texts = iter([pa.array([LINE, None, "no", ""])])
    [rows] = [array.to_pylist() for array in texts_to_statements(of_texts, mode="PERMISSIVE", reasons=True)]
    assert [row and row["error"] is None for row in rows] == [True, None, False, True]


# ---- text

LINE = "<a:s> <a:p> <a:o> ."
PIECES = st.sampled_from(
    [LINE, LINE, "", " ", "\t" + LINE, "# x", LINE + " # x", LINE + "\n", "\r", "\n", LINE + "\r" + LINE,
     " " * 20 + LINE]
)


def of_text(values: list[str | None], **settings: Any) -> list[Any]:
    arrays = texts_to_statements(iter([pa.array(values, pa.string())]), layout="ntriples", **settings)
    return [item for array in arrays for item in array.to_pylist()]


@given(st.lists(st.none() | PIECES | st.lists(PIECES, max_size=4).map("\n".join), max_size=8))
def test_texts_parsed_together_are_the_texts_parsed_one_by_one(values: list[str | None]) -> None:
    expected = [None if value is None else len(list(jelly.read(value.encode(), format="nq"))) for value in values]
    assert [None if rows is None else len(rows) for rows in of_text(values)] == expected


def test_a_statement_does_not_go_on_in_the_next_value() -> None:
    values = [LINE, "<a:s> <a:p>", "<a:o> .", LINE + LINE, None, LINE]
    made = of_text(values, mode="PERMISSIVE")
    assert [None if rows is None else len(rows) for rows in made] == [1, None, None, None, None, 1]
    with pytest.raises(jelly.JellyFormatError, match="value 1 of the column"):
        of_text(values)


def test_a_text_cannot_end_a_message() -> None:
    """Texts that are parsed together are a message log."""
    for delimiter in ("MESSAGE", LINE + "\nMESSAGE", "MESSAGE # why\n" + LINE):
        made = of_text([LINE, delimiter, None, LINE], mode="PERMISSIVE")
        assert [None if rows is None else len(rows) for rows in made] == [1, None, None, 1]
        with pytest.raises(jelly.JellySyntaxError, match="value 1 of the column"):
            of_text([LINE, delimiter])
    assert [len(rows) for rows in of_text(['VERSION "1.2-messages"\n' + LINE, "# @message\n" + LINE])] == [1, 1]


# ---- Batches joined

def test_joined_batches_hold_the_same_statements() -> None:
    batches = [batch for message in MESSAGES for batch in jelly.scan(frame(message), batch_rows=7).batches()]
    joined = join_batches(batches)
    joined.check()
    assert joined.arity == 4
    out = io.BytesIO()
    with jelly.Writer(out, format="nq") as writer:
        writer.add_batch(joined)
    assert out.getvalue().decode().splitlines() == [line for lines in EXPECTED for line in lines]
    assert len(join_batches([])) == 0
    with pytest.raises(TypeError):
        join_batches([None])  # type: ignore[list-item]


# ---- in Spark

COLUMNS = ["subject", "predicate", "object", "object_kind", "datatype", "lang", "graph"]


@pytest.fixture(scope="module")
def kafka(spark: Any) -> Any:
    """A DataFrame with the columns that Kafka has."""
    rows = [(str(i).encode(), frame(message, delimited=i % 2 == 0), i) for i, message in enumerate(MESSAGES)]
    return spark.createDataFrame([*rows, (b"none", None, 9)], "key binary, value binary, offset long")


@pytest.mark.every_spark
def test_from_jelly(kafka: Any) -> None:
    from jelly.spark import from_jelly

    found = kafka.select("offset", from_jelly("value", layout="ntriples").alias("s")).collect()
    made = {row.offset: row.s and [as_text(s.asDict()) for s in row.s] for row in found}
    assert made == {**dict(enumerate(IN_TABLES)), 9: None}
    flat = kafka.selectExpr("value as v").select(from_jelly("v").alias("s")).selectExpr("inline(s)")
    assert flat.columns == COLUMNS
    assert flat.where("lang = 'en'").collect()[0].object == "x"
    assert flat.count() == sum(map(len, MESSAGES))


@pytest.mark.every_spark
def test_to_jelly_of_groups_and_back(kafka: Any) -> None:
    from jelly.spark import from_jelly, to_jelly

    statements = kafka.select("offset", from_jelly("value").alias("s")).selectExpr("offset", "inline(s)")
    options = jelly.StreamOptions.small(physical_type=jelly.PhysicalType.QUADS, rdf_star=True)
    grouped = statements.groupBy("offset").agg(to_jelly(*COLUMNS, options=options).alias("value")).collect()
    assert {row.offset: sorted(texts([bytes(row.value)])[0] or []) for row in grouped} == {
        i: sorted(message) for i, message in enumerate(EXPECTED) if message
    }
    assert all(jelly.read_options(bytes(row.value)).max_name_table_size == 128 for row in grouped)
    whole = kafka.select(to_jelly(from_jelly("value"), delimited=True).alias("v"))
    assert texts([row.v and bytes(row.v) for row in whole.collect()]) == [*EXPECTED, None]


def test_headers_of_kafka(spark: Any) -> None:
    from pyspark.sql import functions as F

    from jelly.spark import from_jelly, jelly_headers

    rows = [
        (i, None if value is None else bytearray(value), None if media is None else [("Content-Type", media.encode())])
        for i, (value, media) in enumerate([*TYPED, (PATCH, "application/x-jelly-rdf-patch"), (b"", None)])
    ]
    schema = "id int, value binary, headers array<struct<key string, value binary>>"
    kafka = spark.createDataFrame(rows, schema)
    read = from_jelly("value", headers="headers", changes=True, mode="PERMISSIVE", reasons=True)
    made = {row.id: row.s for row in kafka.select("id", read.alias("s")).collect()}
    assert [made[i] and len(made[i].statements) for i in range(len(TYPED))] == [2, 2, 1, 2, None, 2]
    assert [row.op for row in made[6].statements] == ["delete", "add"]
    assert made[7].error == "the value is empty"
    values = from_jelly("value", headers=F.col("headers"))
    flat = kafka.where("id < 6").select(F.explode(values).alias("s")).select("s.*")
    assert flat.columns == COLUMNS
    assert flat.count() == 9
    written = kafka.select(jelly_headers().alias("headers"), jelly_headers(patch=True).alias("p")).first()
    assert [tuple(header) for header in written.headers] == [("content-type", b"application/x-jelly-rdf")]
    assert bytes(written.p[0].value) == b"application/x-jelly-rdf-patch"
    with pytest.raises(ValueError, match="PERMISSIVE"):
        from_jelly("value", reasons=True)


def test_from_ntriples(spark: Any) -> None:
    from jelly.spark import from_ntriples

    lines = spark.createDataFrame([(line,) for line in [*EXPECTED[0], None, "# nothing", *EXPECTED[4]]], "value string")
    made = lines.select(from_ntriples("value", layout="ntriples").alias("s")).selectExpr("inline(s)")
    assert sorted(as_text(row.asDict()) for row in made.collect()) == sorted(EXPECTED[0] + EXPECTED[4])


def test_a_corrupt_message_in_spark(spark: Any) -> None:
    from jelly.spark import from_jelly

    rows = spark.createDataFrame([(GOOD,), (GOOD[:-3],)], "value binary").coalesce(1)
    with pytest.raises(Exception, match=r"value 1 of from_jelly in partition 0: frame 0"):
        rows.select(from_jelly("value")).collect()
    made = rows.select(from_jelly("value", mode="PERMISSIVE").alias("s")).collect()
    assert [row.s and len(row.s) for row in made] == [2, None]
    with pytest.raises(ValueError, match="FAILFAST"):
        from_jelly("value", mode="DROPMALFORMED")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="takes a column of type binary"):
        spark.createDataFrame([("text",)], "value string").select(from_jelly("value")).collect()
