"""Patches as Arrow tables."""

from functools import partial

import pytest

import jelly
from jelly.errors import JellyArgumentError
from jelly.patch import PatchOptions, dumps, loads

pytest.importorskip("pyarrow")

read_arrow = partial(jelly.read_arrow, content="patches")

TEXTS = [
    b'H id <uuid:1> .\nA <a:s> <a:p> "0" .\nTX .\nA <a:s> <a:p> "1"@en <a:g> .\nPA "x" <a:> .\n'
    b"D _:b <a:p> <a:o> .\nTC .\n",
    b"TX .\nA <a:s> <a:p> <a:no> .\nTA .\n",
    b"D <a:s> <a:p> << <a:s> <a:p> <a:o> >> .\n",
]
ROWS = [
    ("add", 0, "a:s", "0", None),
    ("add", 0, "a:s", "1", "a:g"),
    ("delete", 0, "_:b", "a:o", None),
    ("delete", 2, "a:s", "<<( <a:s> <a:p> <a:o> )>>", None),
]


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
@pytest.mark.parametrize("stream_type", [1, 3])
def test_rows(stream_type, batch_rows):
    patches = [patch for text in TEXTS for patch in loads(text, format="rdfp")]
    data = dumps(patches, PatchOptions(rdf_star=True, stream_type=stream_type))
    for dictionary in (False, True):
        table = read_arrow(data, batch_rows=batch_rows, dictionary=dictionary).read_all()
        table.validate(full=True)
        found = [(r["op"], r["patch"], r["subject"], r["object"], r["graph"]) for r in table.to_pylist()]
        assert found == ROWS
    few = read_arrow(data, columns=["object", "op"]).read_all()
    assert few.to_pylist() == [{"object": row[3], "op": row[0]} for row in ROWS]
    plain = read_arrow(data, layout="ntriples", columns=["patch", "s"]).read_all()
    assert plain["s"].to_pylist() == ["<a:s>", "<a:s>", "_:b", "<a:s>"]
    only = read_arrow(data, columns=["op"]).read_all()
    assert only.to_pylist() == [{"op": row[0]} for row in ROWS]


@pytest.mark.parametrize("columns", [[], ["op", "op"], ["op", "row"], ["frame"], ["s", "metadata"], ["object", "x"]])
def test_what_are_no_columns(columns):
    with pytest.raises(JellyArgumentError, match="columns"):
        read_arrow(b"A <a:s> <a:p> <a:o> .", format="rdfp", columns=columns)


def test_no_rows():
    table = read_arrow(b"", format="rdfp").read_all()
    assert table.schema.names[:3] == ["op", "patch", "subject"]
    assert len(table) == 0
