"""RDFLib: terms and statements both ways, the plug-ins, graphs by frames, what RDFLib cannot hold."""

import contextlib
import gc
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from importlib import metadata
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from support.by_rdflib import plain, plain_all, quads
from support.oracle import parse_text, read_text
from support.oracle import plain as plain_of_ours
from support.shared import shared
from support.statements import quads as quads_of
from support.statements import rdf

import jelly
import jelly.patch

rdflib = pytest.importorskip("rdflib")

from rdflib import XSD, BNode, Dataset, Graph, Literal, URIRef  # noqa: E402
from rdflib.compare import isomorphic  # noqa: E402
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, QuotedGraph  # noqa: E402
from rdflib.plugins.stores.memory import Memory, SimpleMemory  # noqa: E402

import jelly.rdflib as ours  # noqa: E402
from jelly._core.terms.term_adapter import ObjectTemplate, TermAdapter  # noqa: E402
from jelly.rdflib._reading import OBJECTS  # noqa: E402
from jelly.rdflib._terms import term_adapter  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROOT = Path(__file__).resolve().parents[2]
S, P, OBJ, G = (URIRef(f"http://example.org/{name}") for name in "spog")


@pytest.fixture(scope="module", autouse=True)
def _plugins():
    # pyjelly may be installed too, with plug-ins of the same names.
    ours.register()


def jelly_of(statements, **settings):
    out = io.BytesIO()
    ours.write(out, statements, **settings)
    return out.getvalue()


# ---- terms

ODD = [
    Literal("01", datatype=XSD.integer, normalize=False),
    Literal("1.00", datatype=XSD.decimal, normalize=False),
    Literal("TRUE", datatype=XSD.boolean, normalize=False),
    Literal("2020-01-01T00:00:00.000Z", datatype=XSD.dateTime, normalize=False),
    Literal("", datatype=URIRef("")),
    Literal("chat", lang="fr-CA"),
    Literal("CHAT", lang="FR-ca"),
    Literal("\0 \u00e4 \U0001f600"),
    Literal("x" * 2000, datatype=URIRef("http://example.org/of-its-own")),
    Literal("<a>&</a>", datatype=rdflib.RDF.XMLLiteral, normalize=False),
]


@pytest.mark.parametrize("literal", ODD, ids=repr)
def test_literals_stay_what_they_are(literal):
    ((_, _, read),) = ours.read(jelly_of([(S, P, literal)]))
    assert type(read) is Literal
    assert plain(read) == plain(literal)
    assert (read == literal, hash(read) == hash(literal), read.ill_typed) == (True, True, literal.ill_typed)
    assert type(read.value) is type(literal.value)
    assert read.n3() == literal.n3()
    graph = Graph().parse(data=jelly_of([(S, P, literal)]), format="jelly")
    assert plain(graph.value(S, P)) == plain(literal)


@pytest.mark.parametrize("datatype", [XSD.token, XSD.normalizedString])
def test_literals_that_rdflib_changes_in_any_case(datatype):
    text = "  a\n\tb  "
    assert str(Literal(text, datatype=datatype, normalize=False)) != text
    data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(text, datatype=str(datatype)))])
    ((_, _, read),) = ours.read(data)
    assert (str(read), read.datatype, read.value) == (text, datatype, text)


def test_values_of_literals():
    texts = {"integer": ["1", "x", "1"], "double": ["1e3"], "date": ["2020-02-30"], "anyURI": ["a:b"], "string": ["a"]}
    for name, forms in texts.items():
        for text in forms:
            made = Literal(text, datatype=XSD[name], normalize=False)
            ((_, _, read),) = ours.read(jelly_of([(S, P, made)]))
            assert (read.value, read.ill_typed or None) == (made.value, made.ill_typed or None), text


def test_terms_may_be_pickled_copied_and_sorted():
    import copy
    import pickle

    read = [term for statement in ours.read(jelly_of([(S, P, x) for x in ODD])) for term in statement]
    made = [term for x in ODD for term in (S, P, x)]
    for way in (sorted, copy.deepcopy, lambda terms: pickle.loads(pickle.dumps(terms))):
        assert list(map(plain, way(read))) == list(map(plain, way(made)))


@given(quads_of(rdf))
def test_statements_of_any_text(quad):
    read = plain_all(ours.read(jelly.dumps([quad])))
    assert read == [tuple(map(plain_of_ours, quad))]
    assert plain_all(ours.read(jelly_of(ours.read(jelly.dumps([quad]))))) == read


def test_subclasses_and_mixtures():
    class Mine(URIRef):
        pass

    data = jelly_of([(Mine("a:s"), jelly.IRI("a:p"), Literal("a", datatype=XSD.string))])
    assert jelly.loads(data) == [(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("a"))]


def test_graphs_of_quads():
    named = Graph(identifier=G)
    data = jelly_of([(S, P, OBJ, G), (S, P, OBJ, named), (S, P, OBJ, None), (S, P, OBJ, DATASET_DEFAULT_GRAPH_ID)])
    assert [g for *_, g in ours.read(data)] == [G, G, DATASET_DEFAULT_GRAPH_ID, DATASET_DEFAULT_GRAPH_ID]


def test_without_a_graph_the_terms_are_shared_and_untracked():
    triples = list(ours.read(jelly_of([(S, P, OBJ)] * 3)))
    assert triples[0][0] is triples[1][0]
    # Those of RDFLib 7.0 have a __dict__, so they must be tracked.
    assert gc.is_tracked(triples[0][0]) == hasattr(triples[0][0], "__dict__")


# ---- what RDFLib cannot hold

IRI = jelly.IRI("a:x")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ((jelly.QuotedTriple(IRI, IRI, IRI), IRI, IRI), "quoted"),
        ((IRI, IRI, jelly.QuotedTriple(IRI, IRI, IRI)), "quoted"),
        ((jelly.Literal("a"), IRI, IRI), "generalized statements, such as number 1"),
        ((IRI, jelly.BlankNode("a"), IRI), "generalized"),
        ((IRI, IRI, IRI, jelly.Literal("a")), "generalized"),
        ((IRI, IRI, jelly.Literal("a", language="no_tag")), "language tag"),
    ],
)
def test_what_rdflib_cannot_hold(statement, reason):
    first = (IRI,) * len(statement)
    options = jelly.StreamOptions(len(statement) - 2, rdf_star=True, generalized_statements=True)
    data = jelly.dumps([first, statement], options)
    iterator = ours.read(data)
    assert plain_all([next(iterator)])[0][:3] == (("iri", "a:x"),) * 3
    with pytest.raises(jelly.JellyUnsupportedError, match=reason):
        next(iterator)
    graph = Dataset()
    with pytest.raises(NotImplementedError, match=f"RDFLib .*{reason}"):
        graph.parse(data=data, format="jelly")
    assert len(graph) == 1  # what came before


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ((S, P, "text"), TypeError),
        ((S, P, rdflib.Variable("x")), jelly.JellyUnsupportedError),
        ((S, P), ValueError),
        ((S, P, URIRef("\ud800")), jelly.JellyFormatError),
    ],
)
def test_what_jelly_cannot_hold(statement, error, tmp_path):
    path = tmp_path / "x.jelly"
    with pytest.raises(error):
        ours.write(path, [(S, P, OBJ), statement])
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotImplementedError):
        jelly_of(QuotedGraph(Memory(), G))


def test_text_is_refused():
    with pytest.raises(TypeError, match="binary"):
        Graph().parse(source=rdflib.parser.InputSource(), format="jelly")
    # RDFLib 7.0 cannot give the text as bytes.
    with pytest.raises(TypeError if rdflib.__version__.startswith("7.0.") else jelly.JellyError):
        Graph().parse(data="not Jelly", format="jelly")


# ---- graphs

def test_graph_both_ways(tmp_path):
    graph = Graph()
    for x in [*ODD, BNode("b"), OBJ]:
        graph.add((S, P, x))
    path = tmp_path / "x.jelly"
    graph.serialize(path, format="jelly")
    assert isomorphic(Graph().parse(path, format="jelly"), graph)
    assert set(plain_all(Graph().parse(path))) == set(plain_all(graph))  # by suffix
    data = graph.serialize(format="application/x-jelly-rdf", encoding="utf-8")
    assert len(Graph().parse(io.BytesIO(data), format="application/x-jelly-rdf")) == len(graph)
    packed = tmp_path / "x.jelly.gz"
    packed.write_bytes(gzip.compress(data))
    assert len(Graph().parse(packed, format="jelly")) == len(graph)
    with packed.open("rb") as file:
        assert len(Graph().parse(file=file, format="jelly")) == len(graph)
    with pytest.raises(jelly.JellyTruncatedError):
        Graph().parse(data=data[:-1], format="jelly")


def a_dataset(made):
    made.add((S, P, Literal("default")))
    for name in (G, BNode("g")):
        made.get_context(name).add((S, P, BNode("same")))
        made.get_context(name).add((S, P, OBJ))
    return made


@pytest.mark.parametrize("union", [False, True])
@pytest.mark.parametrize("kind", [Dataset, ConjunctiveGraph])
@pytest.mark.parametrize("physical", [2, 3])
def test_dataset_both_ways(kind, union, physical):
    source = a_dataset(kind() if kind is ConjunctiveGraph else kind(default_union=union))
    data = source.serialize(format="jelly", encoding="utf-8", physical_type=physical)
    assert jelly.read_options(data).physical_type == physical
    assert len(list(jelly.read(data))) == 5
    for target in (Dataset(), Dataset(default_union=True), ConjunctiveGraph()):
        target.parse(data=data, format="jelly")
        assert quads(target) == quads(source)
    # Into a graph: its own statements; the others stand in its store, as with RDFLib's N-Quads.
    graph = Graph().parse(data=data, format="jelly")
    assert plain_all(graph) == [(plain(S), plain(P), plain(Literal("default")))]
    assert {plain(context.identifier) for context in graph.store.contexts()} >= {plain(G), plain(BNode("g"))}


def test_a_dataset_as_triples():
    data = jelly_of(a_dataset(Dataset()), physical_type=jelly.PhysicalType.TRIPLES)
    assert len(jelly.loads(data)) == 5
    assert jelly.read_options(data).logical_type == jelly.LogicalType.FLAT_TRIPLES


def test_a_parser_given_a_dataset_itself():
    source = rdflib.parser.StringInputSource(jelly_of([(S, P, OBJ)]))
    dataset = Dataset()
    ours.JellyParser().parse(source, dataset)
    assert quads(dataset) == {(plain(S), plain(P), plain(OBJ), None)}


def test_a_store_without_named_graphs():
    graph = Graph(store=SimpleMemory())
    assert len(graph.parse(data=jelly_of([(S, P, OBJ)]), format="jelly")) == 1
    with pytest.raises(jelly.JellyUnsupportedError, match="SimpleMemory has no named graphs"):
        graph.parse(data=jelly_of([(S, P, OBJ, G)]), format="jelly")


def test_graphs_with_methods_of_their_own():
    class Counted(Graph):
        added = 0

        def addN(self, quads):  # noqa: N802
            for s, p, o, _ in quads:
                self.added += 1
                self.add((s, p, o))
            return self

        def triples(self, pattern):
            yield from islice(super().triples(pattern), 1)

    graph = Counted().parse(data=jelly_of([(S, P, OBJ), (S, P, G)]), format="jelly")
    assert graph.added == 2
    assert len(jelly.loads(jelly_of(graph))) == 1


def test_the_collector_runs_again_after_errors():
    assert gc.isenabled()
    with pytest.raises(jelly.JellyTruncatedError):
        Graph().parse(data=jelly_of([(S, P, OBJ)])[:-1], format="jelly")
    assert gc.isenabled()


def test_blank_nodes():
    data = jelly_of([(BNode("a"), P, BNode("b")), (BNode("a"), P, OBJ)])
    graph = Graph().parse(data=data, format="jelly").parse(data=data, format="jelly")
    assert set(graph.subjects()) == {BNode("a")}
    fresh = Graph()
    for _ in range(2):
        fresh.parse(data=data, format="jelly", bnode_context={})
    assert len(set(fresh.subjects())) == 2
    assert BNode("a") not in fresh.subjects()
    known = {"a": BNode("mine")}
    assert set(Graph().parse(data=data, format="jelly", bnode_context=known).subjects()) == {BNode("mine")}
    assert set(known) == {"a", "b"}


def test_namespaces():
    graph = Graph()
    graph.bind("my", "http://example.org/my/")
    graph.bind("", "http://example.org/empty#")
    data = graph.serialize(format="jelly", encoding="utf-8")
    assert jelly.read_options(data).version == 2
    assert set(Graph().parse(data=data, format="jelly").namespaces()) == set(graph.namespaces())
    dataset = Dataset().parse(data=data, format="jelly")
    assert ("my", URIRef("http://example.org/my/")) in dataset.namespaces()
    bare = graph.serialize(format="jelly", encoding="utf-8", namespaces=False)
    assert next(jelly.scan(bare).frames()).namespaces == []
    assert jelly.read_options(bare).version == 1


def test_options_as_keywords():
    graph = Graph().add((S, P, OBJ))
    data = graph.serialize(
        format="jelly", encoding="utf-8", stream_name="mine", max_name_table_size=64, frame_rows=1, namespaces=False
    )
    options = jelly.read_options(data)
    assert (options.stream_name, options.max_name_table_size, options.rdf_star) == ("mine", 64, False)
    assert options.logical_type == jelly.LogicalType.FLAT_TRIPLES
    data = graph.serialize(
        format="jelly", encoding="utf-8", options=jelly.StreamOptions.small(physical_type=2), stream_name="b"
    )
    assert (jelly.read_options(data).max_name_table_size, jelly.read_options(data).stream_name) == (128, "b")
    assert jelly.read_options(jelly_of([(S, P, OBJ, G)], stream_name="c")).physical_type == jelly.PhysicalType.QUADS
    with pytest.raises(TypeError, match="no_such"):
        graph.serialize(format="jelly", encoding="utf-8", no_such=1)
    with pytest.raises(TypeError, match="no_such"):
        Graph().parse(data=data, format="jelly", no_such=1)
    with pytest.raises(jelly.JellyLimitError):
        Graph().parse(data=data, format="jelly", max_names=8)


def test_a_failed_write_leaves_no_file(tmp_path):
    graph = Graph().add((S, P, OBJ)).add((S, P, rdflib.Variable("x")))
    with pytest.raises(jelly.JellyUnsupportedError, match=r"Jelly cannot hold the variable \?x"):
        ours.write(tmp_path / "x.jelly.gz", graph)
    assert list(tmp_path.iterdir()) == []
    ours.write(tmp_path / "x.jelly.gz", Graph().add((S, P, OBJ)))
    assert plain_all(ours.read(tmp_path / "x.jelly.gz")) == plain_all([(S, P, OBJ)])


# ---- frames

def test_graphs_by_frames():
    graphs = [Graph(), Graph().add((S, P, OBJ)), Graph().add((S, P, Literal("a", lang="en"))).add((OBJ, P, S))]
    graphs[1].bind("my", "http://example.org/my/")
    out = io.BytesIO()
    assert ours.write_graphs(out, iter(graphs), namespaces=True) == 3
    data = out.getvalue()
    assert jelly.read_options(data).logical_type == jelly.LogicalType.GRAPHS
    read = list(ours.read_graphs(data))
    assert [set(plain_all(graph)) for graph in read] == [set(plain_all(graph)) for graph in graphs]
    assert [("my", URIRef("http://example.org/my/")) in graph.namespaces() for graph in read] == [False, True, False]
    assert [len(frame) for frame in jelly.Reader(data).frames(ours.library())] == [0, 1, 2]
    frames = jelly.Reader(data).frames(ours.library())
    assert all(type(term) is not jelly.IRI for frame in frames for s in frame for term in s)


def test_no_list_of_a_frame_is_seen_before_it_is_full():
    """What makes a term may look at all objects, as tools that look for memory do."""
    lists = []

    def convert(text):
        # Those of generation 0 are all that came since the collector was disabled.
        lists.extend(len(list(each)) for each in gc.get_objects(0) if type(each) is list and len(each) == 50)
        return text

    rdflib.term.bind(URIRef("http://example.org/seen"), str, convert)
    graph = Graph()
    for i in range(50):
        graph.add((S, P, Literal(f"{i}", datatype="http://example.org/seen")))
    out = io.BytesIO()
    ours.write_graphs(out, [graph])
    lists.clear()
    gc.disable()
    try:
        control = [[None] * 50]  # such a list is seen each time
        assert [len(graph) for graph in ours.read_graphs(out.getvalue())] == [50]
        assert not gc.isenabled()
    finally:
        gc.enable()
    assert len(lists) >= 50 * len(control)
    assert set(lists) == {50}


def test_datasets_by_frames():
    datasets = [a_dataset(Dataset()), Dataset(), a_dataset(Dataset())]
    out = io.BytesIO()
    assert ours.write_graphs(out, datasets, stream_name="sets") == 3
    assert jelly.read_options(out.getvalue()).logical_type == jelly.LogicalType.DATASETS
    read = list(ours.read_graphs(out.getvalue()))
    assert [type(dataset) for dataset in read] == [Dataset] * 3
    assert list(map(quads, read)) == list(map(quads, datasets))
    assert next(ours.read_graphs(out.getvalue(), dataset=lambda: Dataset(default_union=True))).default_union


def test_no_graphs_at_all():
    out = io.BytesIO()
    assert ours.write_graphs(out, []) == 0
    assert list(jelly.read(out.getvalue())) == []


# ---- what pyjelly's users give

def options_of_pyjelly(**fields):
    """What counts of SerializerOptions, StreamParameters and LookupPreset of pyjelly."""
    params = dict.fromkeys(("generalized_statements", "rdf_star", "namespace_declarations"), False)
    params |= {"delimited": True, "stream_name": "", "version": 1} | fields.pop("params", {})
    tables = {"max_names": 4000, "max_prefixes": 150, "max_datatypes": 32} | fields.pop("lookup_preset", {})
    about = {"flow": None, "frame_size": 250, "logical_type": 0} | fields
    return SimpleNamespace(params=SimpleNamespace(**params), lookup_preset=SimpleNamespace(**tables), **about)


def test_options_of_pyjelly():
    graph = Graph().add((S, P, OBJ)).add((S, P, S)).add((S, P, P))
    given = options_of_pyjelly(
        frame_size=2, params={"stream_name": "theirs"}, lookup_preset={"max_names": 128, "max_datatypes": 8}
    )
    data = graph.serialize(format="jelly", encoding="utf-8", options=given)
    assert jelly.read_options(data) == jelly.StreamOptions(
        1, 1, "theirs", max_name_table_size=128, max_datatype_table_size=8, version=1
    )
    assert len(jelly.loads(data)) == 3
    assert next(jelly.scan(data).frames()).namespaces == []  # theirs declares none by default
    assert len(list(jelly.scan(data).frames())) > 1
    data = graph.serialize(
        format="jelly", encoding="utf-8", options=options_of_pyjelly(params={"namespace_declarations": True})
    )
    assert next(jelly.scan(data).frames()).namespaces
    changed = graph.serialize(format="jelly", encoding="utf-8", options=given, stream_name="ours", namespaces=True)
    assert jelly.read_options(changed).stream_name == "ours"
    assert next(jelly.scan(changed).frames()).namespaces
    bare = graph.serialize(format="jelly", encoding="utf-8", options=options_of_pyjelly(params={"delimited": False}))
    with jelly.Reader(bare) as reader:
        assert len(list(reader)) == 3
        assert reader.delimited is False
    quads_only = a_dataset(Dataset()).serialize(format="jelly", encoding="utf-8", options=options_of_pyjelly())
    assert jelly.read_options(quads_only).physical_type == jelly.PhysicalType.QUADS
    # A dataset as a stream of graphs is one of triples there, a frame each graph.
    data = a_dataset(Dataset()).serialize(
        format="jelly", encoding="utf-8", options=options_of_pyjelly(logical_type=jelly.LogicalType.GRAPHS)
    )
    assert jelly.read_options(data).physical_type == jelly.PhysicalType.TRIPLES
    assert sorted(len(frame) for frame in jelly.scan(data).frames()) == [1, 2, 2]
    out = io.BytesIO()
    ours.write_graphs(out, [graph, graph], options_of_pyjelly(logical_type=jelly.LogicalType.GRAPHS))
    assert [len(frame) for frame in jelly.scan(out.getvalue()).frames()] == [3, 3]


@pytest.mark.parametrize(
    ("name", "use"),
    [("stream", "StreamOptions"), ("frame_size", "frame_rows"), ("flow", "frame_rows"), ("params", "stream_name"),
     ("lookup_preset", "small"), ("namespace_declarations", "namespaces")],
)  # fmt: skip
def test_keywords_of_pyjelly_are_refused_by_name(name, use):
    with pytest.raises(jelly.errors.JellyArgumentError, match=f"{name}= is a keyword of .*: use .*{use}") as caught:
        Graph().serialize(format="jelly", encoding="utf-8", **{name: 1})
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("call", [
    lambda options: jelly_of([], options=options),
    lambda options: ours.write_graphs(io.BytesIO(), [], options),
])  # fmt: skip
def test_other_options_are_refused(call):
    for options in (5, "small", jelly.patch.PatchOptions()):
        with pytest.raises(jelly.errors.JellyArgumentError, match="expected jelly.StreamOptions"):
            call(options)
    with pytest.raises(jelly.errors.JellyArgumentError, match="flow= is a keyword of pyjelly"):
        call(options_of_pyjelly(flow=object()))
    call(options_of_pyjelly())


# ---- frames that are pushed

def test_frames_pushed_one_by_one():
    out = io.BytesIO()
    options = jelly.StreamOptions(1, jelly.LogicalType.GRAPHS, stream_name="pushed")
    with jelly.Writer(out, options, library=ours.library()) as writer:
        writer.add((S, P, Literal("a", lang="en")))
        writer.end_frame({"number": b"\x00\xff"})
        writer.extend(Graph().add((S, P, OBJ)))
        writer.end_frame()
        writer.namespace("ex", "http://example.org/")
        writer.end_frame({"number": b"2", "more": b""})
    frames = list(jelly.Reader(out.getvalue()).frames(ours.library()))
    assert [frame.metadata for frame in frames] == [{"number": b"\x00\xff"}, {}, {"number": b"2", "more": b""}]
    assert [frame.namespaces for frame in frames] == [[], [], [("ex", "http://example.org/")]]
    assert [plain_all(frame) for frame in frames][:2] == [
        plain_all([(S, P, Literal("a", lang="en"))]), plain_all([(S, P, OBJ)])
    ]  # fmt: skip
    assert jelly.read_options(out.getvalue()).stream_name == "pushed"


def test_a_writer_without_options_takes_what_comes(tmp_path):
    with jelly.Writer(tmp_path / "x.nq.gz", library=ours.library()) as writer:
        writer.add((S, P, OBJ, G))
    with gzip.open(tmp_path / "x.nq.gz") as file:
        assert file.read() == b"<%b> <%b> <%b> <%b> .\n" % tuple(x.encode() for x in (S, P, OBJ, G))
    out = io.BytesIO()
    with jelly.Writer(out, {"stream_name": "q"}, library=ours.library()) as writer:
        writer.add((S, P, OBJ, G))
    assert plain_all(ours.read(out.getvalue())) == plain_all([(S, P, OBJ, G)])


def test_graphs_with_metadata():
    graphs = [Graph(), (Graph().add((S, P, OBJ)), {"number": b"1"}), (Graph(), {"number": b"2"}), (Graph(), None)]
    for pairs in (graphs, graphs[1:]):
        out = io.BytesIO()
        assert ours.write_graphs(out, iter(pairs)) == len(pairs)
        frames = list(jelly.Reader(out.getvalue()).frames(ours.library()))
        expected = [pair[1] or {} if isinstance(pair, tuple) else {} for pair in pairs]
        assert [frame.metadata for frame in frames] == expected
    with pytest.raises(TypeError):
        ours.write_graphs(io.BytesIO(), [(Graph(), {"number": "text"})])


def test_missing_files_show_at_the_call(tmp_path):
    for read in (ours.read, ours.read_graphs):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "no.jelly")


# ---- no warnings of ours

WITHOUT_WARNINGS = """
import io, warnings
import rdflib
warnings.simplefilter("error")
import jelly, jelly.patch, jelly.rdflib
jelly.rdflib.register()
s, p, o, g = (rdflib.URIRef("a:" + name) for name in "spog")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # RDFLib's own
    dataset = rdflib.Dataset()
    dataset.add((s, p, o))
    dataset.graph(g).add((s, p, o))
    parsed = rdflib.Dataset()
    parsed.parse(data=dataset.serialize(format="jelly", encoding="utf-8"), format="jelly")
graph = rdflib.Graph().add((s, p, o))
for source in (graph, dataset):
    data = source.serialize(format="jelly", encoding="utf-8")
    for physical in (1, 2):
        source.serialize(format="jelly", encoding="utf-8", physical_type=physical)
    out = io.BytesIO()
    jelly.rdflib.write(out, source)
    jelly.rdflib.write_graphs(out, [source, (source, {})], namespaces=True)
    assert len(list(jelly.rdflib.read(data))) == len(list(jelly.Reader(data).frames(jelly.rdflib.library()))[0])
    assert sum(map(len, jelly.rdflib.read_graphs(data))) > 0
    jelly.rdflib.JellyParser().parse(rdflib.parser.StringInputSource(data), type(source)())
    rdflib.Graph().parse(data=data, format="jelly")
    with jelly.Writer(out, library=jelly.rdflib.library()) as writer:
        writer.extend(source)
assert len(list(jelly.rdflib.read(dataset.serialize(format="jelly", encoding="utf-8")))) == 2
assert len(parsed.graph(g)) == 1
for target in (rdflib.Graph(), rdflib.Dataset()):
    added = jelly.patch.Add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o")))
    jelly.patch.apply([jelly.patch.Patch([added])], target)
"""


def test_no_deprecation_warnings():
    """Also with an older RDFLib, where JELLY_OLD_RDFLIB names a folder that has one."""
    for folder in ("", os.environ.get("JELLY_OLD_RDFLIB", "")):
        search = os.pathsep.join([str(ROOT), *filter(None, [folder])])
        subprocess.run(
            [sys.executable, "-c", WITHOUT_WARNINGS], check=True, env=os.environ | {"PYTHONPATH": search}, timeout=240
        )


# ---- the garbage collector while graphs are read

class Slow(io.RawIOBase):
    """Bytes, the last of which come when they may."""

    def __init__(self, data, may, begun):
        self.data, self.may, self.begun = data, may, begun

    def readable(self):
        return True

    def readinto(self, buffer):
        if len(self.data) == 1:
            self.begun.set()
            self.may.wait(240)
        n = min(max(len(self.data) - 1, 1), len(self.data), len(buffer))
        buffer[:n], self.data = self.data[:n], self.data[n:]
        return n


def loading(data, failing=False):
    """A thread that reads a graph until it is told to end."""
    may, begun = threading.Event(), threading.Event()
    body = data[:-1] + b"\xff" if failing else data

    source = rdflib.parser.InputSource()
    source.setByteStream(Slow(body, may, begun))

    def work():
        with contextlib.suppress(jelly.JellyError):
            ours.JellyParser().parse(source, Graph())

    thread = threading.Thread(target=work)
    thread.start()
    assert begun.wait(240)
    return thread, may


@pytest.mark.parametrize("failing", [(False, False), (True, False), (False, True), (True, True)])
def test_two_loads_at_once_leave_the_collector_as_it_was(failing):
    before = gc.get_threshold()
    data = jelly_of([(S, P, Literal(str(i))) for i in range(100)])
    loads = [loading(data, broken) for broken in failing]
    assert gc.isenabled()
    assert gc.get_threshold() == (OBJECTS, *before[1:])
    for i, (thread, may) in enumerate(loads):
        may.set()
        thread.join(240)
        # The first to end leaves the other's alone.
        assert gc.get_threshold() == ((OBJECTS, *before[1:]) if i == 0 else before)
        assert gc.isenabled()


def test_a_collector_that_is_off_or_changed_stays_so():
    data = jelly_of([(S, P, OBJ)])
    before = gc.get_threshold()
    try:
        gc.disable()
        Graph().parse(data=data, format="jelly")
        assert not gc.isenabled()
        gc.enable()
        for threshold in ((0, 10, 10), (OBJECTS * 2, 5, 5)):
            gc.set_threshold(*threshold)
            Graph().parse(data=data, format="jelly")
            assert gc.get_threshold() == threshold
        gc.set_threshold(*before)
        thread, may = loading(data)
        gc.set_threshold(555, 5, 5)
        may.set()
        thread.join(240)
        assert gc.get_threshold() == (555, 5, 5)
    finally:
        gc.enable()
        gc.set_threshold(*before)


# ---- how RDFLib finds us

def test_entry_points_of_the_package():
    try:
        distribution = metadata.distribution("jelly-rdf")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed: these are what is installed of it")
    found = {(e.group, e.name): e.load() for e in distribution.entry_points if e.group.startswith("rdf.plugins.")}
    assert set(found.values()) == {ours.JellyParser, ours.JellySerializer, ours.JellyStore}
    assert len(found) == 5


def test_rdflib_finds_the_plugins_by_entry_points(tmp_path):
    """In a process that imports RDFLib alone, with the entry points that pyproject.toml declares."""
    tomllib = pytest.importorskip("tomllib", reason="Python 3.11 has it")
    if not (ROOT / "pyproject.toml").exists() or not (ROOT / "jelly").exists():
        pytest.skip("the sources are not there")
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    info = tmp_path / "jelly_entry_points_test-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: jelly-entry-points-test\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {where}\n" for name, where in entries.items())
            for group, entries in declared.items()
        ).replace("jelly =", "jelly-of-ours =")
    )
    path = tmp_path / "x.jelly"
    ours.write(path, [(S, P, OBJ)])
    code = f"""
import sys, rdflib
graph = rdflib.Graph().parse({str(path)!r}, format="jelly-of-ours")
assert len(graph) == 1 and "jelly.rdflib" in sys.modules and "pyjelly" not in sys.modules
assert len(rdflib.Graph().parse(data=graph.serialize(format="jelly-of-ours", encoding="utf-8"), format="jelly-of-ours"))
assert rdflib.util.guess_format("x.jelly") == "jelly"
"""
    search = os.pathsep.join([str(tmp_path), str(ROOT)])
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ | {"PYTHONPATH": search}, timeout=240)


# ---- real data

DATA = shared("data")
TEXTS = sorted(str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.name.endswith((".nt.gz", ".nq.gz")))
MANY = 4000


def first_lines(path, n):
    with gzip.open(DATA / path, "rt", encoding="utf-8", newline="\n") as lines:
        return "".join(islice(lines, n))


@pytest.mark.parametrize("path", [path for path in TEXTS if "star" not in path])
def test_real_data(path):
    text = first_lines(path, MANY)
    arity = 4 if ".nq" in path else 3
    expected = parse_text(text, arity)
    data = io.BytesIO()
    jelly.write(data, jelly.read(text.encode(), format="nq" if arity == 4 else "nt"))
    statements = list(ours.read(data.getvalue()))
    assert plain_all(statements) == expected
    assert plain_all(ours.read(jelly_of(statements))) == expected
    graph = (Dataset if arity == 4 else Graph)()
    graph.parse(data=data.getvalue(), format="jelly")
    found = quads(graph) if arity == 4 else set(plain_all(graph))
    # RDFLib takes literals for equal whose language tags differ in case only.
    assert {str(x).lower() for x in found} == {str(x).lower() for x in expected}
    again = jelly.loads(graph.serialize(format="jelly", encoding="utf-8"))
    assert {tuple(map(plain_of_ours, x)) for x in again} == found


@pytest.mark.parametrize("path", ["iot-weather/assist-iot-weather-100k.nt.gz", "schemaorg/schemaorg-all-https.nt.gz"])
def test_the_same_graph_as_rdflib_reads(path, monkeypatch):
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    text = first_lines(path, 1000)
    theirs = Graph().parse(data=text, format="nt")
    data = io.BytesIO()
    jelly.write(data, jelly.read(text.encode(), format="nt"))
    assert isomorphic(Graph().parse(data=data.getvalue(), format="jelly", bnode_context={}), theirs)


CASES = json.loads(shared("conformance", "parsed-manifest.json").read_text())
FOLDER = shared("conformance", "test", "rdf")


@pytest.mark.parametrize(
    ("folder", "action", "result"),
    [
        pytest.param(FOLDER / kind, case["action"], case["result"], id=case["id"].partition("/")[2])
        for kind in ("from_jelly",)
        for case in CASES[kind]
        if case["pol"] == "pos"
    ],
)
def test_conformance(folder, action, result):
    """The frames of the suite: RDFLib holds them, or says that it cannot where there is what it cannot hold."""
    path = folder / action[0]
    expected = [read_text(folder / name) for name in result]
    if not all(is_plain(statement) for frame in expected for statement in frame):
        with pytest.raises(jelly.JellyUnsupportedError):
            list(jelly.Reader(path).frames(ours.library()))
        return
    frames = [set(plain_all(frame)) for frame in jelly.Reader(path).frames(ours.library())]
    graphs = list(ours.read_graphs(path))
    assert [len(frame) for frame in frames] == [len(set(frame)) for frame in expected]
    for frame, graph, statements in zip(frames, graphs, expected, strict=True):
        assert frame == (quads(graph) if isinstance(graph, Dataset) else set(plain_all(graph)))
        assert nameless(frame) == nameless(statements)


def is_plain(statement):
    """Whether it is one of RDF 1.1."""
    nodes = ("iri", "bnode")
    s, p, o, *graph = (x and x[0] for x in statement)
    return s in nodes and p == "iri" and o in (*nodes, "literal") and (not graph or graph[0] in (None, *nodes))


def nameless(statements):
    """Statements without the labels of blank nodes."""
    found = set(statements)
    return sorted(repr([("bnode",) if x and x[0] == "bnode" else x for x in statement]) for statement in found)


# ---- the core

def test_patterns():
    class Slotted(str):
        __slots__ = ("a",)

    class Mangled(str):
        __slots__ = ("__a",)

    class Loose(str):
        pass

    example = Slotted("x")
    example.a = ["x"]
    copy = ObjectTemplate(example)("y")
    assert (copy, copy.a) == ("y", ["x"])
    assert gc.is_tracked(copy)
    for wrong in (Mangled("x"), Loose("x"), Slotted("x"), 1):
        with pytest.raises(ValueError, match="Mangled|Loose|Slotted|int"):
            ObjectTemplate(wrong)


@pytest.mark.parametrize("memo", [1, 2, 64, 1 << 12, 1 << 18])
def test_memo(memo):
    """However small it is, terms are never taken for others."""
    texts = ["", "a", "b", "http://example.org/a", "\u00e4"]
    terms = [
        *map(URIRef, texts),
        *map(BNode, texts),
        *map(Literal, texts),
        *(Literal(text, lang=tag) for text in texts for tag in ("en", "de")),
        *(Literal(text, datatype=URIRef(kind)) for text in texts for kind in texts[1:]),
    ]
    data = jelly_of([(S, P, term) for term in terms] * 3)
    library = term_adapter(memo=memo, memo_all=True)
    batches = jelly.scan(data, batch_rows=7).batches()
    read = [o for _, _, o in jelly._core.terms.materialize.StatementIterator(batches, library)]
    assert list(map(plain, read)) == list(map(plain, terms)) * 3
    if memo == 1 << 18:
        # The place of a term depends on addresses. Where two have the same one neither stays there, nor do the literals
        # of a datatype that does not: up to 14 terms are made anew. Two such pairs come once in 50,000 runs.
        anew = sum(first is not again for first, again in zip(read, read[len(terms) :], strict=False))
        assert anew <= 14


def test_a_library_checks_its_arguments():
    settings = dict.fromkeys(("iri", "bnode", "plain", "lang", "typed"), str)
    for memo in (3, 1 << 30):
        with pytest.raises(ValueError, match="power of two"):
            TermAdapter("x", classes=(str, str, str, None), memo=memo, **settings)
