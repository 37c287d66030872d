"""Jelly-Patch as Jelly-JVM lays it out and as it wants to find it, by what its sources say.

`Layout` puts rows and frames where the RDF Patch writer of Jelly-JVM for Jena puts them, which is narrower than what
the specification allows; `Demands` is what the reader of Jelly-JVM refuses beyond the specification.
"""

from collections import OrderedDict

import pytest
from reference import split, varint
from support.oracle import XSD_STRING
from test_patch_protobuf import PatchDecoder, made, told

import jelly
from jelly.patch import Patch, PatchOptions, PatchReader, PatchStreamType, StatementType, dumps, loads

FRAME, FLAT, PUNCTUATED = PatchStreamType.FRAME, PatchStreamType.FLAT, PatchStreamType.PUNCTUATED
TRIPLES, QUADS = StatementType.TRIPLES, StatementType.QUADS
SMALL, BIG = (128, 16, 16), (4000, 150, 32)  # the table sizes of its presets: names, prefixes, datatypes
MOST = (4096, 1024, 256)  # what its readers take at most
MARK = {"TX": "transaction_start", "TC": "transaction_commit", "TA": "transaction_abort"}
KIND = {"A": "statement_add", "D": "statement_delete", "PA": "namespace_add", "PD": "namespace_delete"}


def iri(text):
    return ("iri", text)


def literal(text, language=None, datatype=None):
    return ("literal", text, language, datatype)


CAT, DOG, EATS = iri("http://zoo.example/cat"), iri("http://zoo.example/dog"), iri("http://zoo.example/terms#eats")
BIRD, CAGE = ("bnode", "B77:a-c"), iri("http://zoo.example/cages/1")
KILOS = literal("4.2", None, "http://zoo.example/terms#kg")
SAID = ("triple", CAT, EATS, BIRD)
PATCHES = [
    [
        ("H", "id", iri("uuid:0b0e2f64")), ("H", "about", literal("les chats", "fr")), ("H", "who", BIRD), ("TX",),
        ("PA", "z", iri("http://zoo.example/terms#"), None), ("PA", "", iri("http://zoo.example/"), None),
        ("A", CAT, EATS, BIRD, None), ("A", CAT, EATS, KILOS, None), ("D", CAT, EATS, KILOS, CAGE),
        ("PA", "late", iri("urn:x"), None), ("TC",),
    ],
    [],
    [
        ("TX",), ("D", DOG, EATS, literal("a\nb"), CAGE), ("PD", "z", None, CAGE), ("PD", "", None, None), ("TA",),
        ("TX",), ("A", SAID, EATS, SAID, CAGE), ("A", BIRD, iri("noslash"), iri("http://zoo.example/cat#"), BIRD),
        ("TC",),
    ],
    [("PA", "g", iri("http://zoo.example/g/"), BIRD), ("A", CAT, EATS, DOG, ("bnode", "g")), ("PD", "g", None, None)],
    [("TX",), *(("A", iri(f"http://zoo.example/{n % 7}/{n}"), EATS, literal(str(n)), None) for n in range(40)),
     ("TC",)],
]  # fmt: skip


class Layout:
    """The options come with the first row, entries before the row that needs them, an IRI is cut after its last # or
    else /, everything repeated and every 0 is used, the least recently used entry makes room, the graph of a namespace
    is left out where there is none, the last patch is not ended unless the caller does it.
    """

    def __init__(self, pb, options, frame_rows=512, delimited=True):
        self.pb, self.options, self.frame_rows, self.delimited = pb, options, frame_rows, delimited
        self.rows, self.out = [], b""
        sizes = (options.max_name_table_size, options.max_prefix_table_size, options.max_datatype_table_size)
        self.tables = {name: OrderedDict() for name in ("name", "prefix", "datatype")}
        self.sizes = dict(zip(self.tables, sizes, strict=True))
        self.defined = dict.fromkeys(self.tables, 0)
        self.used = {"name": 0, "prefix": 0}
        self.last = {}
        self.begun = False

    def find(self, table, text):
        held = self.tables[table]
        if text not in held:
            id = len(held) + 1 if len(held) < self.sizes[table] else held.pop(next(iter(held)))
            implied = id == self.defined[table] + 1
            self.rows.append(self.pb.RdfPatchRow(**{table: {"id": 0 if implied else id, "value": text}}))
            self.defined[table] = held[text] = id
        held.move_to_end(text)
        return held[text]

    def iri(self, text):
        cut = (text.rfind("#") if "#" in text else text.rfind("/")) + 1 if self.sizes["prefix"] else 0
        prefix = self.find("prefix", text[:cut]) if self.sizes["prefix"] else 0
        name = self.find("name", text[cut:])
        found = self.pb.RdfIri(
            prefix_id=0 if prefix == self.used["prefix"] else prefix,
            name_id=0 if name == self.used["name"] + 1 else name,
        )
        self.used = {"name": name, "prefix": prefix}
        return found

    def term(self, message, letter, value):
        if value is None:
            message.g_default_graph.SetInParent()
        elif value[0] == "iri":
            getattr(message, f"{letter}_iri").CopyFrom(self.iri(value[1]))
        elif value[0] == "bnode":
            setattr(message, f"{letter}_bnode", value[1])
        elif value[0] == "literal":
            new = getattr(message, f"{letter}_literal")
            new.lex = value[1]
            if value[2]:
                new.langtag = value[2]
            elif value[3] not in (None, XSD_STRING):
                new.datatype = self.find("datatype", value[3])
        else:
            for slot, part in zip("spo", value[1:], strict=True):
                self.term(getattr(message, f"{letter}_triple_term"), slot, part)

    def term_once(self, message, letter, value):
        if letter not in self.last or self.last[letter] != value:
            self.last[letter] = value
            self.term(message, letter, value)

    def add(self, kind, *values):
        """An operation."""
        if not self.begun:
            self.rows.append(self.pb.RdfPatchRow(options=self.options))
            self.begun = True
        if kind in MARK:
            row = self.pb.RdfPatchRow(**{MARK[kind]: {}})
        elif kind == "punctuation":
            row = self.pb.RdfPatchRow(punctuation={})
        elif kind == "H":
            row = self.pb.RdfPatchRow(header={"key": values[0]})
            self.term(row.header, "h", values[1])
        elif kind in "AD":
            row = self.pb.RdfPatchRow(**{KIND[kind]: {}})
            for letter, value in zip("spog"[: 2 + self.options.statement_type], values, strict=False):
                self.term_once(getattr(row, KIND[kind]), letter, value)
        else:
            name, value, graph = values
            row = self.pb.RdfPatchRow(**{KIND[kind]: {"name": name}})
            if value is not None:
                getattr(row, KIND[kind]).value.CopyFrom(self.iri(value[1]))
            if graph is not None:
                self.term_once(getattr(row, KIND[kind]), "g", graph)
        self.rows.append(row)
        if self.options.stream_type != FRAME and self.delimited and len(self.rows) >= self.frame_rows:
            self.flush()

    def end_patch(self):
        if self.options.stream_type == PUNCTUATED:
            self.add("punctuation")
        elif self.delimited:
            self.flush()  # empty or not

    def flush(self):
        raw = self.pb.RdfPatchFrame(rows=self.rows).SerializeToString()
        self.out += varint(len(raw)) + raw if self.delimited else raw
        self.rows = []

    def close(self):
        if self.rows or not self.delimited:
            self.flush()
        return self.out


def messages(pb, options):
    return pb.RdfPatchOptions(**{name: getattr(options, name) for name in options.__slots__})


def options_of(stream, statement=QUADS, sizes=BIG):
    names, prefixes, datatypes = sizes
    return PatchOptions(
        stream_type=stream, statement_type=statement, generalized_statements=True, rdf_star=True,
        max_name_table_size=names,
        max_prefix_table_size=prefixes, max_datatype_table_size=datatypes,
    )  # fmt: skip


def meant(patches, quads):
    """The operations as they come to a reader: the graph that a namespace does not name is that of the row before."""
    graph = None
    found = []
    for patch in patches:
        found.append([])
        for kind, *values in patch:
            if kind in MARK:
                found[-1].append((MARK[kind],))
                continue
            if kind in ("A", "D"):
                graph = values[3]
                values = values if quads else values[:3]
            elif kind != "H":
                graph = values[2] or graph
                values = [*values[:2], graph if quads else None]
            found[-1].append((kind, *values))
    return found


def without_graphs(patches):
    """Of triples Jena names no graphs."""
    return [[(x[0], *x[1:3], None) if x[0] in ("PA", "PD") else x for x in patch] for patch in patches]


def ours(data, **settings):
    return [[told(operation) for operation in patch] for patch in loads(data, **settings)]


@pytest.mark.parametrize("sizes", [(8, 0, 1), (16, 4, 2), SMALL, BIG, MOST])
@pytest.mark.parametrize("statement", [TRIPLES, QUADS])
@pytest.mark.parametrize("stream", [FRAME, FLAT, PUNCTUATED])
def test_its_streams_are_read(pb, stream, statement, sizes):
    patches = PATCHES if statement == QUADS else without_graphs(PATCHES)
    expected = meant(patches, statement == QUADS)
    for frame_rows in (1, 5, 512):
        for ended in (True, False):
            layout = Layout(pb, messages(pb, options_of(stream, statement, sizes)), frame_rows)
            for number, patch in enumerate(patches):
                for operation in patch:
                    layout.add(*operation)
                if ended or number < len(patches) - 1:
                    layout.end_patch()
            data = layout.close()
            found = expected if stream != FLAT else [sum(expected, [])]
            assert ours(data) == found
            assert ours(data, batch_rows=3) == found


def test_its_bare_frame_is_read(pb):
    for stream in (FRAME, FLAT, PUNCTUATED):
        layout = Layout(pb, messages(pb, options_of(stream)), delimited=False)
        for operation in PATCHES[0]:
            layout.add(*operation)
        assert ours(layout.close()) == meant(PATCHES[:1], True)


def test_frames_without_rows(pb):
    """A flush of nothing is an empty frame: in a stream of type FRAME an empty patch, even if with it come options."""
    for stream, expected in ((FRAME, [[], [], []]), (FLAT, [[]]), (PUNCTUATED, [])):
        layout = Layout(pb, messages(pb, options_of(stream)))
        layout.rows.append(pb.RdfPatchRow(options=layout.options))
        for _ in range(3):
            layout.flush()
        assert ours(layout.out) == expected
        # One before the options says nothing.
        assert ours(b"\0" + layout.out) == expected


def test_its_default_options_are_ours():
    """Where none are given it writes quads in patches ended by punctuation, with the largest of its presets."""
    assert PatchOptions() == options_of(PUNCTUATED).replace(generalized_statements=False, rdf_star=False)


class Demands(PatchDecoder):
    """Its reader: smaller limits than those of the format, patches counted by its own rules."""

    marks = 0

    def read_options(self, row):
        super().read_options(row)
        sizes = (row.max_name_table_size, row.max_prefix_table_size, row.max_datatype_table_size)
        assert all(size <= most for size, most in zip(sizes, MOST, strict=True))

    def read_punctuation(self, row):
        super().read_punctuation(row)
        self.marks += 1

    def count(self, frames):
        """Of a stream of type FLAT it is the caller who knows that there is one."""
        return {FRAME: len(frames), FLAT: 1, PUNCTUATED: self.marks}[self.options.stream_type]


def is_delimited(data):
    """How it tells, by three bytes."""
    return len(data) >= 3 and (data[0] != 10 or (data[1] == 10 and data[2] != 10))


@pytest.mark.parametrize("statement", [TRIPLES, QUADS])
@pytest.mark.parametrize("stream", [FRAME, FLAT, PUNCTUATED])
def test_our_streams_meet_its_demands(pb, stream, statement):
    quads = statement == QUADS
    told_patches = [
        [(MARK.get(kind, kind), *(values if quads or kind not in "AD" else values[:3])) for kind, *values in patch]
        for patch in (PATCHES if quads else without_graphs(PATCHES))
    ]
    patches = [Patch((made(*row) for row in patch), quads=quads) for patch in told_patches]
    for some in ([0, 2, 3], [1], [3], [1, 0], [4, 1]):
        wanted = [told_patches[n] for n in some]
        if stream == FLAT:
            wanted = [sum(wanted, [])]
        given = [patches[n] for n in some] if stream != FLAT else [Patch(made(*row) for row in wanted[0])]
        for sizes in ((8, 0, 1), (8, 1, 1), SMALL, BIG, MOST):
            for frame_rows in (1, 7, 256):
                data = dumps(given, options_of(stream, statement, sizes), frame_rows=frame_rows)
                assert is_delimited(data)
                raws = list(split(data))
                frames = [pb.RdfPatchFrame.FromString(raw) for raw in raws]
                assert [row.WhichOneof("row") for row in frames[0].rows][0] == "options"
                reader = Demands()
                assert reader.read(frames) == wanted
                assert reader.count(frames) == len(wanted)
        if stream != FRAME or len(given) == 1:
            bare = dumps(given, options_of(stream, statement), delimited=False)
            assert not is_delimited(bare)
            assert Demands().read([pb.RdfPatchFrame.FromString(bare)]) == wanted


def test_what_it_refuses_is_refused(pb):
    def row(**fields):
        return pb.RdfPatchRow(**fields)

    def refused(*rows, stream=FLAT, statement=TRIPLES, sizes=SMALL, **changes):
        options = messages(pb, options_of(stream, statement, sizes))
        for name, value in changes.items():
            setattr(options, name, value)
        raw = pb.RdfPatchFrame(rows=[row(options=options), *rows]).SerializeToString()
        with pytest.raises(jelly.JellyError) as caught:
            loads(varint(len(raw)) + raw)
        assert caught.value.frame == 0
        assert caught.value.row == len(rows)
        assert 0 < caught.value.offset <= len(raw) + 2

    first = {"prefix_id": 1, "name_id": 1}
    name, prefix = row(name={"id": 1, "value": "x"}), row(prefix={"id": 1, "value": "http://zoo.example/"})
    refused(row(datatype={"id": 17, "value": "a:d"}))
    refused(row(datatype={"id": 2**32 - 1, "value": "a:d"}))
    refused(row(datatype={"id": 1, "value": "a:d"}), sizes=(128, 16, 0))
    refused(*(row(datatype={"value": f"a:{n}"}) for n in range(17)))
    refused(row(namespace_add={"name": "x"}))
    refused(prefix, row(namespace_add={"name": "x", "value": first}))
    refused(name, row(namespace_add={"name": "x", "value": first}))
    refused(prefix, row(namespace_delete={"name": "x", "value": first}))
    refused(row(statement_add={"s_bnode": "a", "p_bnode": "b", "o_literal": {"lex": "1", "datatype": 1}}))
    refused(row(header={"key": "k"}))
    refused(row(statement_add={"s_bnode": "a", "o_bnode": "b"}))
    for stream in (FRAME, FLAT):
        refused(row(punctuation={}), stream=stream)
    refused(max_name_table_size=7)
    refused(max_name_table_size=4097)
    refused(max_prefix_table_size=1025)
    refused(max_datatype_table_size=257)
    refused(version=2)
    refused(stream_type=0)
    refused(statement_type=0)


def test_what_it_lets_pass_is_told_apart(pb):
    """It checks no transactions and reads graphs of triples away, as the specification wants; ``strict`` refuses these.
    Later options of another kind it takes no notice of, which the specification does not."""
    options = messages(pb, options_of(FLAT, TRIPLES))
    other = pb.RdfPatchOptions.FromString(options.SerializeToString())
    other.max_name_table_size += 1
    named = {f"{letter}_bnode": "b" for letter in "spog"}
    for fields in ({"transaction_commit": {}}, {"statement_add": named}, {"options": other}):
        raw = pb.RdfPatchFrame(rows=[pb.RdfPatchRow(options=options), pb.RdfPatchRow(**fields)]).SerializeToString()
        with pytest.raises(jelly.JellyError) as caught:
            list(PatchReader(varint(len(raw)) + raw, strict="statement_add" in fields))
        assert (caught.value.frame, caught.value.row) == (0, 1)
