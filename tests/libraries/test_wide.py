"""`jelly.wide` against a pivot with dicts and lists, over nasty terms, in pieces of any size, and hostile shapes."""

from __future__ import annotations

import datetime
import itertools
import re
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.chance import examples
from support.measure import growth
from support.pivot import ROWS, TYPE, pivot
from support.shared import shared
from support.typed_values import COLUMNS, FORMS, XSD

import jelly
from jelly import IRI, Literal, Triple

pa = pytest.importorskip("pyarrow")
from jelly._dataset.tables import wide as room  # noqa: E402
from jelly.cli.commands import cli  # noqa: E402


def plain(found: Any) -> Any:
    """Something that is equal for equal values, NaN and numbers of digits after the point included."""
    if isinstance(found, list):
        return list(map(plain, found))
    if isinstance(found, datetime.datetime) and found.tzinfo is not None:
        found = found.astimezone(datetime.timezone.utc)
    return str(found.normalize() + 0 if isinstance(found, Decimal) else found)


def check(statements: list[Any], wanted: Any = None, as_values: bool = True, **settings: Any) -> None:
    table = jelly.wide(jelly.dumps(statements), wanted, typed=as_values, **settings).read_all()
    table.validate(full=True)
    subjects, columns = pivot(statements, wanted, as_values)
    assert table["subject"].to_pylist() == subjects
    found = {}
    for field in list(table.schema)[1:]:
        about = {name.decode(): told.decode() for name, told in field.metadata.items()}
        found[about["predicate"], about["part"]] = table[field.name].to_pylist()
    assert found.keys() == columns.keys()
    for name, wanted_values in columns.items():
        assert list(map(plain, found[name])) == list(map(plain, wanted_values)), name
    names = [name.lower() for name in table.column_names]
    assert len({*names}) == len(names)


@given(
    ROWS,
    st.sampled_from([None, IRI("b:A")]),
    st.booleans(),
    st.sampled_from([1, 2, 7, 1 << 17]),
    st.sampled_from([1, 9]),
)
@examples(150)
def test_rows_and_columns_are_those_of_a_pivot(statements, wanted, as_values, rows, cells):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "BLOCK_ROWS", rows)
        patch.setattr(room, "CELLS", cells)
        check(statements, wanted, as_values)


@given(ROWS)
@examples(10)
def test_a_run_that_spills_gives_the_same_table(statements):
    check(statements * 2, memory=1)


def test_real_data_spilled_and_not():
    path = shared("data", "vocabs-quads", "vocabs.nq.gz")
    statements = [Triple(*quad[:3]) for quad in itertools.islice(jelly.read(path), 20_000)]
    data = jelly.dumps(statements)
    check(statements, max_columns=5000)
    small, large = (jelly.wide(data, max_columns=5000, memory=memory).read_all() for memory in (1 << 19, 1 << 28))
    assert small.schema.equals(large.schema, check_metadata=True)
    assert small.equals(large)


def test_each_form_of_each_datatype_alone():
    for datatype in COLUMNS:
        for form in FORMS:
            check([Triple(IRI("a:s"), IRI("a:p"), Literal(form, datatype=XSD + datatype))])


def test_a_table_of_nothing():
    for statements in ([], [Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))]):
        table = jelly.wide(jelly.dumps(statements), "a:Nobody")
        assert table.schema.names == ["subject"]
        assert table.read_all().num_rows == 0


def test_graphs_do_not_count():
    data = b"<a:s> <a:p> <a:o> <a:g> .\n<a:s> <a:p> <a:o> <a:h> .\n<a:s> <a:p> <a:o> .\n"
    assert jelly.wide(data, format="nq").read_all().to_pylist() == [{"subject": "a:s", "p": "a:o"}]


def test_too_many_predicates_are_an_error_that_names_the_limit(tmp_path):
    data = jelly.dumps(Triple(IRI("a:s"), IRI(f"a:p{i}"), IRI("a:o")) for i in range(100_000))
    with pytest.raises(jelly.JellyLimitError, match="more than 1000 predicates.*raise max_columns"):
        jelly.wide(data)
    path = tmp_path / "many.jelly"
    path.write_bytes(data)
    result = CliRunner().invoke(cli, ["wide", str(path), "--max-columns", "3"])
    assert (result.exit_code, "more than 3 predicates" in result.output, "raise --max-columns" in result.output) == (
        1,
        True,
        True,
    )


@pytest.mark.bounded
def test_many_sparse_columns_take_little_memory():
    setup = (
        "import jelly, pyarrow\nfrom jelly import IRI, Triple\n"
        "data = jelly.dumps(Triple(IRI(f'a:s{i}'), IRI(f'a:p{i % 900}'), IRI('a:o')) for i in range(60_000))\n"
    )
    assert growth(setup, "assert sum(map(len, jelly.wide(data))) == 60_000") < 200 << 20


def test_a_subject_with_a_million_values():
    data = jelly.dumps(Triple(IRI("a:s"), IRI("a:p"), Literal(str(i), datatype=f"{XSD}int")) for i in range(1_000_000))
    [row] = jelly.wide(data, memory=1 << 24).read_all().to_pylist()
    assert sorted(row["p"]) == list(range(1_000_000))


def test_names_of_columns():
    rows = [
        Triple(IRI("a:s"), p, Literal("x", language="en"))
        for p in (IRI("a:name"), IRI("b:name_lang"), IRI("a:subject"))
    ]
    names = jelly.wide(jelly.dumps(rows)).schema.names
    assert [re.sub("_[0-9a-f]{8}", "_#", name) for name in names] == [
        "subject", "name", "name_lang_#", "subject_#", "subject_#_lang", "name_lang", "name_lang_lang"
    ]  # fmt: skip


def test_a_wide_table_is_written_as_it_is(tmp_path):
    data = b'<a:s> <a:p> "1"^^<http://www.w3.org/2001/XMLSchema#int> .\n<a:s> <a:q> <a:o> .\n<a:s> <a:q> <a:n> .\n'
    for suffix in ("parquet", "arrow"):
        path = str(tmp_path / f"wide.{suffix}")
        assert jelly.write(path, jelly.wide(data, format="nt")) == 1
    from pyarrow import parquet

    assert parquet.read_table(tmp_path / "wide.parquet").to_pylist() == [
        {"subject": "a:s", "p": 1, "q": ["a:n", "a:o"]}
    ]
    with pytest.raises(
        jelly.JellyUnsupportedError, match="CSV has no lists, as there are in the columns q: write Parquet"
    ):
        jelly.write(tmp_path / "wide.csv", jelly.wide(data, format="nt"))
    assert not (tmp_path / "wide.csv").exists()
    with pytest.raises(jelly.JellyOptionsError, match="the columns are not those"):
        jelly.write(tmp_path / "wide.jelly", jelly.wide(data, format="nt"))


def test_the_command(tmp_path):
    path, out = tmp_path / "people.nt", tmp_path / "people.parquet"
    path.write_text(
        f"<a:1> <{TYPE.value}> <http://xmlns.com/foaf/0.1/Person> .\n"
        f'<a:1> <a:age> "007"^^<{XSD}int> .\n<a:2> <a:age> "x" .\n'
    )

    def run(*args: str) -> Any:
        return CliRunner().invoke(cli, ["wide", str(path), *args])

    result = run("--class", "foaf:Person", "-o", str(out), "--json")
    assert (result.exit_code, '"rows": 1' in result.output) == (0, True)
    from pyarrow import parquet

    assert parquet.read_table(out)["age"].to_pylist() == [7]
    assert (
        run("--class", "f:Person", "--prefix", "f=http://xmlns.com/foaf/0.1/", "--text")
        .output.splitlines()[1]
        .startswith('"a:1","007",')
    )
    assert "of statements, not of tables: expected one of parquet" in run("-o", str(tmp_path / "out.jelly")).output
    result = run("--class", "me:Person", "-o", str(out))
    assert "me:Person was read as an IRI" in result.output


def test_a_reader_that_is_left_alone_closes_its_file():
    data = jelly.dumps([Triple(IRI("a:s"), IRI("a:p"), IRI("a:o"))])
    jelly.wide(data)
    next(iter(jelly.wide(data)))
