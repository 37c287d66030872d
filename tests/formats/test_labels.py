"""Labels of blank nodes that have none in the document: the same each time, and never that of another node."""

from __future__ import annotations

import io
import subprocess
import sys

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.chance import examples
from support.difference import difference

import jelly
from jelly import BlankNode, QuotedTriple
from jelly._formats.language_case import Written
from jelly._tools.compare import as_quad
from jelly.messages import read_messages
from jelly.patch import apply, diff

HEX = "deadbeefdeadbeefdeadbeefdeadbeef"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
CONTEXT = '{"@vocab": "http://e/", "l": {"@container": "@list"}, "n": {"@type": "@id"}}'

TURTLE = f"""@prefix : <http://e/> . :s :p [ :q [ :r "_:{HEX}"@en-GB ] ; :t 2 ],
( 1 ( 2 [] ) () ) ; :z 1 ~ {{| :a [] |}} .
_:anon3 :p _:{HEX} , _:anon0 , _:anon99 , _:anon00 , <http://e/_:{HEX}> . << :a :b _:anon1 >> :d <<( _:x :p _:{HEX} )>>
.
[] :p 1 . # _:{HEX}
"""
DOCUMENTS = {
    "ttl": TURTLE,
    "trig": f"@prefix : <http://e/> .[] {{ :a :b [ :c _:anon1 ] }} _:g {{ :a :b _:x , ( [] ) }} GRAPH [] {{ :a :b [] }}"
    f" _:{HEX} {{ :a :b _:anon2 ~ {{| :c [] |}} }}",
    "n3": f"@prefix : <http://e/> . :s :p [ :q ( 1 [ :r 2 ] ) ] . _:x :p _:{HEX} . ( [] ) :p _:anon1 . [] :p _:anon9 .",
    "jsonld": f"""{{"@context": {CONTEXT}, "@graph": [
      {{"p": [{{"q": {{"r": "_:{HEX}"}}}}, {{"@list": [1, [2, {{"q": 3}}], []]}}],
        "l": [{{"q": 1}}, "x"], "n": "_:anon0"}},
      {{"@id": "_:{HEX}", "n": ["_:anon1", "_:anon77", "_\\u003a{HEX}"],
        "@graph": [{{"q": {{"@reverse": {{"p": {{"q": 1}}}}}}}}]}},
      {{"@graph": [{{"q": {{"@id": "_:y"}}}}], "p": {{"@set": [{{}}, {{"q": [{{"q": 1}}, {{"q": 2}}]}}]}}}}]}}""",
    "rdf": f"""<r:RDF xmlns:r="{RDF}" xmlns:e="http://e/"><r:Description><e:p r:parseType="Resource"><e:q>nodeID="{HEX}"
      _:{HEX}</e:q></e:p><e:r r:nodeID = '{HEX}'/><e:l r:parseType="Collection"><r:Description/>
      <r:Description r:nodeID="anon0"/>
      </e:l></r:Description><e:C r:nodeID="anon1"><e:p e:q="1"/></e:C><e:C r:nodeID="&#100;{HEX[1:]}"/></r:RDF>""",
}  # fmt: skip
LOGS = {"ttl": "ttl", "trig": "trig", "rdf": "rdfxml"}


def read(data, format, **settings):
    return list(jelly.read(data, format=format, **settings))


def in_chunks(data, size):
    return [data[i : i + size] for i in range(0, len(data), size)]


def labels(statements):
    def of(term):
        if isinstance(term, BlankNode):
            yield term.value
        elif isinstance(term, QuotedTriple):
            for each in (term.s, term.p, term.o):
                yield from of(each)

    return [label for statement in statements for term in statement for label in of(term)]


def parsed_by_pyoxigraph(data, format):
    """The same document by itself, in Jelly's terms."""
    syntax = {"ttl": ox.RdfFormat.TURTLE, "trig": ox.RdfFormat.TRIG, "n3": ox.RdfFormat.N3}
    syntax |= {"jsonld": ox.RdfFormat.JSON_LD, "rdf": ox.RdfFormat.RDF_XML}
    quads = ox.parse(data, syntax[format], without_named_graphs=format in ("ttl", "n3", "rdf"))
    return read(ox.serialize(quads, format=ox.RdfFormat.N_QUADS), "nq")


def isomorphic(left, right):
    return not list(difference(set(map(as_quad, left)), set(map(as_quad, right))))


@pytest.mark.parametrize("format", DOCUMENTS)
def test_a_document_has_the_same_labels_each_time(format):
    data = DOCUMENTS[format].encode()
    first = read(data, format)
    for size in (1, 2, 3, 7, 16, 33, 100):
        assert read(in_chunks(data, size), format) == first
    for rows in (1, 2, 5):
        assert read(data, format, batch_rows=rows) == first
    assert {HEX, "anon0"} <= set(labels(first))


@pytest.mark.parametrize("format", DOCUMENTS)
def test_nodes_are_those_of_the_document(format):
    data = DOCUMENTS[format].replace("en-GB", "en-gb").encode()
    assert isomorphic(read(data, format), parsed_by_pyoxigraph(data, format))


@pytest.mark.parametrize("format", DOCUMENTS)
def test_no_difference_to_itself(format, tmp_path):
    data = DOCUMENTS[format].encode()
    path = tmp_path / f"a.{format}"
    path.write_bytes(data)
    assert [str(x) for x in diff(data, path.read_bytes(), format=format)] == ["TX .", "TC ."]
    # Nor to what is written of it, as N-Quads or Jelly, and as the same format.
    for to in ("nq", "jelly"):
        jelly.convert(path, tmp_path / f"b.{to}")
        assert len(diff(path, tmp_path / f"b.{to}")) == 2
    if format in ("ttl", "trig", "rdf"):
        jelly.convert(path, tmp_path / f"b.{format}")
        assert len(diff(path, tmp_path / f"b.{format}", namespaces=False)) == 2


def test_the_patch_of_a_node_without_a_label_applies():
    old = b'@prefix : <a:> . :a :addr [ :city "Oslo" ] ; :n 1 .'
    new = old.replace(b"1", b"2")
    patch = diff(old, new, format="ttl")
    assert patch.count(2) == patch.count(3) == 1
    out = io.BytesIO()
    assert apply(patch, old, out, format="ttl", to="nq").missing == 0
    assert set(read(out.getvalue(), "nq")) == {as_quad(x) for x in read(new, "ttl")}


def test_another_process_gives_the_same():
    code = f"import jelly; print(*jelly.read({DOCUMENTS['jsonld'].encode()!r}, format='jsonld'))"
    assert (
        len({subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(2)})
        == 1
    )


@pytest.mark.parametrize("format", LOGS)
def test_messages_have_the_labels_of_documents(format):
    data = DOCUMENTS[format].encode()
    [message] = read_messages(data, format=LOGS[format])
    assert message.statements == read(data, format)
    [renamed] = read_messages(in_chunks(data, 5), format=LOGS[format], rename_blank_nodes=True)
    assert labels(renamed.statements) == [f"m0-{label}" for label in labels(message.statements)]


def test_messages_of_json_have_the_labels_of_documents():
    line = DOCUMENTS["jsonld"].replace("\n", " ").encode()
    contexts = {"http://c/": f'{{"@context": {CONTEXT}}}'}
    remote = line[line.index(b'"@graph"') :]
    log = line + b'\n{"@context": "http://c/", ' + remote + b"\n"
    first, second = read_messages(log, format="ndjsonld", contexts=contexts)
    assert first.statements == second.statements == read(line, "jsonld")


def test_each_message_begins_anew():
    log = f"[] <a:p> _:anon0 , _:{HEX} .\n# @message\n[] <a:p> [] .\n# @message\n_:anon0 <a:p> _:anon5 .\n".encode()
    found = [labels(message) for message in read_messages(log, format="ttl")]
    assert found == [["anon0", "anon1", "anon0", HEX], ["anon0", "anon1"], ["anon0", "anon5"]]


TERMS = st.sampled_from(
    ["[]", "_:anon0", "_:anon1", "_:anon2", "_:anon4", f"_:{HEX}", f"_:c{HEX[1:]}", "_:anon01", "_:x", "( [] )"]
)
STATEMENTS = st.lists(st.tuples(TERMS, TERMS), min_size=1, max_size=12)


@given(STATEMENTS, st.integers(1, 50))
@example([("[]", "_:anon1"), ("_:anon0", "_:anon2"), ("[]", "[]")], 1)
@examples(300)
def test_no_two_nodes_become_one(statements, size):
    data = "".join(f"{s} <a:p{i}> {o} .\n" for i, (s, o) in enumerate(statements)).encode()
    found = read(data, "ttl")
    assert isomorphic(found, parsed_by_pyoxigraph(data, "ttl"))
    assert found == read(in_chunks(data, size), "ttl")
    assert found == [x for message in read_messages(in_chunks(data, size), format="ttl") for x in message]
    out = io.BytesIO()
    jelly.write(out, found, format="ttl")
    assert set(read(out.getvalue(), "ttl")) == set(found)


def test_many_nodes():
    data = b"".join(b"[] <a:p> [ <a:q> _:anon%d ] .\n" % (7 * i) for i in range(30_000))
    found = read(data, "ttl")
    assert len(set(labels(found))) == 90_000
    assert found == read(in_chunks(data, 9999), "ttl")


@given(st.lists(st.sampled_from(["_:", "_", ":", HEX, HEX[:15], "nodeID='", 'nodeID = "', "<", " ", "z"]), max_size=9))
@examples(100)
def test_marks_leave_no_trace(parts):
    data = "".join(parts).encode()
    for xml in (False, True):
        written = Written(xml=xml)
        assert written.take(written.put(data)) == data
        head, rest = written.split(data)
        assert head + rest == data
