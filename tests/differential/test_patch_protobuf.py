"""Jelly-Patch against the protobuf classes of patch.proto: what we write they read, what they can write we read."""

import random

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference import Decoder, Encoder, Table, scramble, split, varint
from support.chance import examples
from support.oracle import plain, statement, term
from support.strategies import ANY, ANY_QUOTED, IRIS, LITERALS, NODES, QUOTED, TEXT

import jelly
from jelly.patch import (
    Abort,
    Add,
    AddNamespace,
    Commit,
    Delete,
    DeleteNamespace,
    Header,
    Patch,
    PatchOptions,
    PatchStreamType,
    Start,
    StatementType,
    dumps,
    loads,
)

many = examples(150, HealthCheck.function_scoped_fixture)
TRIPLES = StatementType.TRIPLES
MARKS = {"transaction_start": Start, "transaction_commit": Commit, "transaction_abort": Abort}


def made(kind, *values):
    """An operation of ours."""
    if kind in ("A", "D"):
        return (Add if kind == "A" else Delete)(statement(values))
    if kind == "H":
        return Header(values[0], term(values[1]))
    if kind in ("PA", "PD"):
        name, iri, graph = values
        kinds = AddNamespace if kind == "PA" else DeleteNamespace
        return kinds(name, iri and iri[1], graph and term(graph))
    return MARKS[kind]()


def told(operation):
    """An operation of ours as a tuple."""
    match operation:
        case Add(x):
            return ("A", *map(plain, x))
        case Delete(x):
            return ("D", *map(plain, x))
        case Header(key, value):
            return ("H", key, plain(value))
        case AddNamespace(name, iri, graph):
            return ("PA", name, plain(iri), graph and plain(graph))
        case DeleteNamespace(name, iri, graph):
            return ("PD", name, iri and plain(iri), graph and plain(graph))
    return (next(name for name, kind in MARKS.items() if isinstance(operation, kind)),)


@st.composite
def streams(draw):
    """Options, and patches of tuples."""
    options = PatchOptions(
        rdf_star=True,
        stream_type=draw(st.sampled_from(PatchStreamType)),
        statement_type=draw(st.sampled_from(StatementType)),
        generalized_statements=draw(st.booleans()),
        **dict(
            zip(
                ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size"),
                draw(st.sampled_from([(64, 32, 32), (64, 0, 32), (4000, 150, 32)])),
                strict=True,
            )
        ),
    )
    quads = options.statement_type != TRIPLES
    graphs = st.none() | NODES if quads else st.none()
    subjects, predicates, objects = NODES | QUOTED, IRIS, NODES | LITERALS | QUOTED
    if options.generalized_statements:
        subjects = predicates = objects = ANY | ANY_QUOTED
    pools = [draw(st.lists(x, min_size=1, max_size=4)) for x in (subjects, predicates, objects, graphs)]
    terms = [st.sampled_from(pool) for pool in pools[: 4 if quads else 3]]
    change = st.one_of(
        st.tuples(st.sampled_from("AD"), *terms),
        st.tuples(st.sampled_from("AD"), *terms),
        st.tuples(st.just("PA"), TEXT, IRIS, st.sampled_from(pools[3])),
        st.tuples(st.just("PD"), TEXT, st.none() | IRIS, st.sampled_from(pools[3])),
        st.tuples(st.just("H"), TEXT, st.sampled_from(pools[2])),
    )
    block = st.tuples(
        st.lists(change, max_size=4), st.sampled_from([None, None, "transaction_commit", "transaction_abort"])
    )
    patches = []
    for _ in range(1 if options.is_flat else draw(st.integers(1, 4))):
        rows = []
        for changes, end in draw(st.lists(block, max_size=3)):
            rows += changes if end is None else [("transaction_start",), *changes, (end,)]
        patches.append(rows)
    return options, patches


class PatchDecoder(Decoder):
    """Reads frames into patches, word by word after the specification."""

    def read(self, frames):
        self.patches = [[]]
        self.open = False
        for frame in frames:
            for row in frame.rows:
                kind = row.WhichOneof("row")
                assert self.options is not None or kind == "options"
                if kind in MARKS:
                    assert self.open == (kind != "transaction_start")
                    self.open = not self.open
                    self.patches[-1].append((kind,))
                else:
                    getattr(self, f"read_{kind}")(getattr(row, kind))
            if self.options.stream_type == PatchStreamType.FRAME:
                self.end()
        if self.options.stream_type != PatchStreamType.FLAT:
            assert self.patches.pop() == []
        return self.patches

    def end(self):
        assert not self.open
        self.patches.append([])

    def read_options(self, row):
        if self.options is not None:
            assert row == self.options
            return
        self.options = row
        assert row.version == 1
        assert row.stream_type in (1, 2, 3)
        assert row.statement_type in (1, 2)
        self.names = Table(row.max_name_table_size)
        self.prefixes = Table(row.max_prefix_table_size)
        self.datatypes = Table(row.max_datatype_table_size)

    def read_punctuation(self, row):
        assert self.options.stream_type == PatchStreamType.PUNCTUATED
        self.end()

    def read_statement(self, letter, row):
        if self.options.statement_type == TRIPLES:
            assert row.WhichOneof("graph") is None
        self.patches[-1].append((letter, *self.terms(row, 3 if self.options.statement_type == TRIPLES else 4)))

    def read_statement_add(self, row):
        self.read_statement("A", row)

    def read_statement_delete(self, row):
        self.read_statement("D", row)

    def read_header(self, row):
        kind = row.WhichOneof("value")
        self.patches[-1].append(("H", row.key, self.term(kind[2:], getattr(row, kind))))

    def read_namespace(self, letters, row):
        iri = self.iri(row.value) if row.HasField("value") else None
        kind = row.WhichOneof("graph")
        if self.options.statement_type == TRIPLES:
            assert kind is None
            self.last["graph"] = None
        elif kind is not None:
            self.last["graph"] = self.term(kind[2:], getattr(row, kind))
        self.patches[-1].append((letters, row.name, iri, self.last["graph"]))

    def read_namespace_add(self, row):
        assert row.HasField("value")
        self.read_namespace("PA", row)

    def read_namespace_delete(self, row):
        self.read_namespace("PD", row)


class PatchEncoder(Encoder):
    """Writes patches in one of the many ways that are allowed."""

    def __init__(self, pb, options, dice):
        fields = {name: getattr(options, name) for name in options.__slots__}
        # The base makes rows of entries: here they are those of a patch.
        messages = type("pb", (), {**vars(pb), "RdfStreamRow": pb.RdfPatchRow})
        super().__init__(messages, pb.RdfPatchOptions(**fields), dice)
        self.frames = []

    def write(self, patches):
        for patch in patches:
            for kind, *values in patch:
                self.begin()
                getattr(self, f"put_{kind}", self.put_mark)(kind, *values)
                if self.options.stream_type != PatchStreamType.FRAME and self.random.random() < 0.2:
                    self.end_frame()
            if self.options.stream_type == PatchStreamType.PUNCTUATED:
                self.rows.append(self.pb.RdfPatchRow(punctuation={}))
            elif self.options.stream_type == PatchStreamType.FRAME:
                self.end_frame()
        if self.rows:
            self.end_frame()
        return self.frames

    def end_frame(self):
        self.frames.append(self.pb.RdfPatchFrame(rows=self.rows))
        self.rows = []

    def put_mark(self, kind):
        self.rows.append(self.pb.RdfPatchRow(**{kind: {}}))

    def put_A(self, kind, *terms):
        new = self.pb.RdfQuad()
        for slot, value in zip(("s", "p", "o", "g"), terms, strict=False):
            if slot not in self.last or self.last[slot] != value or self.random.random() < 0.3:
                self.put(new, slot, value)
            self.last[slot] = value
        self.rows.append(self.pb.RdfPatchRow(**{"statement_add" if kind == "A" else "statement_delete": new}))

    put_D = put_A

    def put_PA(self, kind, name, iri, graph):
        new = self.pb.RdfPatchNamespace(name=name)
        if iri is not None:
            new.value.CopyFrom(self.iri(iri[1]))
        if self.options.statement_type != TRIPLES:
            if "g" not in self.last or self.last["g"] != graph or self.random.random() < 0.3:
                self.put(new, "g", graph)
            self.last["g"] = graph
        self.rows.append(self.pb.RdfPatchRow(**{"namespace_add" if kind == "PA" else "namespace_delete": new}))

    put_PD = put_PA

    def put_H(self, kind, key, value):
        new = self.pb.RdfPatchHeader(key=key)
        self.put(new, "h", value)
        self.rows.append(self.pb.RdfPatchRow(header=new))



@many
@given(stream=streams(), frame_rows=st.sampled_from([1, 3, 256]), keys=st.sampled_from([0, 1, 4]))
def test_protobuf_reads_what_we_write(pb, stream, frame_rows, keys):
    options, patches = stream
    quads = options.statement_type != TRIPLES
    ours = [Patch((made(*row) for row in patch), quads=quads) for patch in patches]
    data = dumps(ours, options, frame_rows=frame_rows, seekable=keys > 0, keyframe_rows=keys)
    frames = []
    for raw in split(data):
        frame = pb.RdfPatchFrame.FromString(raw)
        assert frame.SerializeToString() == raw
        frames.append(frame)
    assert PatchDecoder().read(frames) == patches
    # The index is metadata of the last frame.
    assert [list(frame.metadata) for frame in frames] == [[]] * (len(frames) - 1) + [["jelly.index"] * (keys > 0)]
    assert [[told(operation) for operation in patch] for patch in loads(data)] == patches


# Where options are repeated and the ids after them fit the beginning of a stream, too, that is said, see test_joined.
@pytest.mark.filterwarnings("ignore::jelly.errors.JoinedWarning")
@many
@given(stream=streams(), seed=st.integers(0, 1 << 30), messy=st.booleans())
def test_we_read_what_protobuf_writes(pb, stream, seed, messy):
    options, patches = stream
    dice = random.Random(seed)
    data = b""
    for frame in PatchEncoder(pb, options, dice).write(patches):
        raw = frame.SerializeToString()
        if messy:
            raw = scramble(pb.RdfPatchFrame.DESCRIPTOR, raw, dice)
        data += varint(len(raw)) + raw
    found = loads(data, delimited=True, batch_rows=dice.choice([1, 3, 1000]))
    assert [[told(operation) for operation in patch] for patch in found] == patches


def test_the_numbers_of_the_rows(pb):
    # The codes of `Batch.op` are those of the protocol.
    fields = {field.name: field.number for field in pb.RdfPatchRow.DESCRIPTOR.fields}
    data = b"A <a:s> <a:p> <a:o> .\nD <a:s> <a:p> <a:o> .\nPA \"\" <a:> .\nPD \"\" .\nTX .\nTC .\nTX .\nTA .\nH k 1 .\n"
    (patch,) = loads(data, format="rdfp")
    (batch,) = patch.batches()
    names = (
        "statement_add", "statement_delete", "namespace_add", "namespace_delete", "transaction_start",
        "transaction_commit", "transaction_start", "transaction_abort", "header",
    )  # fmt: skip
    assert batch.op.tolist() == [fields[name] for name in names]
    with pytest.raises(jelly.JellyOptionsError):
        PatchOptions(version=2)
