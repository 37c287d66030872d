"""Tables too small for one statement: another split of the IRI or an error, never wrong data."""

import importlib
import io
import itertools
from importlib.util import find_spec

import pytest
from support.oracle import plain_all, statement

import jelly

by_pyjelly = importlib.import_module("support.by_pyjelly") if find_spec("pyjelly") else None

PREFIXES = [f"http://p{i}.example/" for i in range(6)]
ALL_TABLES = list(itertools.product([8, 9], [0, 1, 2, 3, 4], [1, 2]))


def iri(prefix, name):
    return ("iri", PREFIXES[prefix % 6] + name)


def number(text, datatype):
    return ("literal", text, None, f"urn:t{datatype}")


def options(names, prefixes, datatypes, physical):
    return jelly.StreamOptions(
        physical_type=physical,
        rdf_star=True,
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
    )


def same_for_all(statements, options):
    statements = list(statements)
    data = jelly.dumps(map(statement, statements), options)
    assert plain_all(jelly.loads(data)) == statements
    out = io.BytesIO()
    jelly.write(out, map(statement, statements), options, frame_rows=1)
    assert plain_all(jelly.loads(out.getvalue())) == statements
    if by_pyjelly is not None:
        assert by_pyjelly.read(data) == statements


@pytest.mark.parametrize("physical", [2, 3])
@pytest.mark.parametrize("tables", ALL_TABLES, ids=str)
def test_statements_of_four_prefixes(tables, physical):
    quads = [
        (iri(i, f"s{i % 5}"), iri(i + 1, f"p{i % 3}"), iri(i + 2, f"o{i % 7}"), iri(i + 3, f"g{i // 4}"))
        for i in range(200)
    ]
    same_for_all(quads, options(*tables, physical))


@pytest.mark.parametrize("tables", ALL_TABLES, ids=str)
def test_quoted_triples_within_the_name_table(tables):
    def row(i):
        quoted = ("triple", iri(i, f"a{i}"), iri(i + 1, "b"), iri(i + 2, f"c{i % 3}"))
        other = ("triple", iri(i + 3, f"d{i % 4}"), iri(i + 4, "e"), number("1", i % 3))
        return (quoted, iri(i + 5, f"p{i % 2}"), other, iri(i, "g") if i % 2 else None)

    same_for_all(map(row, range(200)), options(*tables, 2))


@pytest.mark.parametrize("physical", [1, 2, 3])
@pytest.mark.parametrize("prefixes", [0, 1, 2, 6])
def test_more_names_than_the_table_has(prefixes, physical):
    """Nine names in a statement do not fit in a table of 8; in one of 9 they do."""

    def quoted(i):
        return ("triple", iri(i, f"x{i}"), iri(i + 1, f"x{i + 1}"), iri(i + 2, f"x{i + 2}"))

    def rows(n):
        first = (quoted(0), iri(3, "x3"), quoted(4))
        second = (quoted(10), iri(13, "x13"), ("triple", quoted(14), iri(17, "x17"), iri(8, f"x{n}")))
        return [x + (None,) * (physical > 1) for x in (first, second, first)]

    nine = rows(18)
    with pytest.raises(jelly.JellyOptionsError, match="name table"):
        jelly.dumps(map(statement, nine), options(8, prefixes, 1, physical))
    same_for_all(nine, options(9, prefixes, 1, physical))
    # Eight different ones and one of them twice. With another prefix it is another name only where IRIs stay whole.
    if prefixes == 6:
        same_for_all(rows(17), options(8, prefixes, 1, physical))


def test_more_datatypes_than_the_table_has():
    quoted = ("triple", ("bnode", "b"), iri(0, "p"), number("1", 1))
    with pytest.raises(jelly.JellyOptionsError, match="datatype table"):
        jelly.dumps([statement((quoted, iri(0, "p"), number("1", 2)))], options(8, 1, 1, 1))
    same_for_all([(quoted, iri(0, "p"), number("1", 2))] * 2, options(8, 1, 2, 1))


@pytest.mark.parametrize("prefixes", [1, 2])
def test_what_comes_before_the_error_is_right(prefixes):
    """Statements before the one that is refused are in the frames that were finished."""
    good = [(iri(i, f"s{i}"), iri(i + 1, "p"), iri(i + 2, "o")) for i in range(10)]
    deep = ("bnode", "x")
    for i in range(9):
        deep = ("triple", deep, iri(i, f"x{i}"), ("bnode", "y"))
    out = io.BytesIO()
    with jelly.Writer(out, options(8, prefixes, 1, 1), frame_rows=0) as writer:
        for x in good:
            writer.add(statement(x))
        writer.end_frame()
        writer.flush()
        with pytest.raises(jelly.JellyOptionsError):  # noqa: PT012
            writer.add(statement((deep, iri(0, "p"), iri(1, "o"))))
            writer.flush()
        writer.abort()
    assert plain_all(jelly.loads(out.getvalue())) == good
