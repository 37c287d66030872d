"""Counts rows and bytes of a Jelly stream by kind and by frame, and finds where rows are."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

import numpy

from jelly._core.base.objects cimport hold
from jelly._core.base.protobuf cimport Writer, written
from jelly._core.base cimport schema as pb
from jelly._core.jelly.column_schema cimport COLUMN_FIELDS
from jelly._core.jelly.decode_state cimport (
    BYTES, METADATA, NUMBERS, N_PLACES, ROWS, SHOWN, SIZE, TERM_FIELDS, Counts,
)
from jelly._core.jelly.decoder cimport Decoder

# The kinds of rows of Jelly-RDF and of Jelly-Patch with the numbers of their fields. A row without a known field is of the
# last kind.
KINDS = {
    "options": 1, "triple": 2, "quad": 3, "graph_start": 4, "graph_end": 5, "namespace": 6, "name": 9, "prefix": 10,
    "datatype": 11, "other": 0,
}
PATCH_KINDS = {
    "options": 1, "add": 2, "delete": 3, "namespace_add": 4, "namespace_delete": 5, "start": 6, "commit": 7, "abort": 8,
    "name": 11, "prefix": 12, "datatype": 13, "header": 14, "punctuation": 15, "other": 0,
}

# The parts of statements: of each term in rows, by the field that it has; of each column of Jelly-RDF 1.2.
TERM_PARTS = (
    ("iri", "bnode", "literal", "triple_term"), ("iri", "bnode", "literal", "triple_term"),
    ("iri", "bnode", "literal", "triple_term"), ("iri", "bnode", "default_graph", "literal"),
)
COLUMN_PARTS = (
    "kinds", "runs", "name_ids", "prefix_ids", "lex_values", "literal_kinds", "langtags", "directions", "bnodes",
    "triple_terms",
)
PLACES = ("subject", "predicate", "object", "graph")


cdef object take_table(Writer* w, int columns):
    """The numbers in a Writer of int64 as a numpy array; the Writer is empty after it."""
    data = written(w)
    w.n = 0
    return numpy.frombuffer(data, numpy.int64).reshape(-1, columns)


cdef class RowCounter(Decoder):
    """A `Decoder` that counts the rows it reads by kind, and their bytes. Kinds are those of `KINDS` or `PATCH_KINDS`.

    What follows an error is not counted. `want` says what to count besides.

    >>> import jelly
    >>> counter = RowCounter()
    >>> data = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
    >>> [len(batch) for batch in counter.feed(data)], list(counter.close())
    ([1], [])
    >>> counter.frames, counter.rows["triple"], counter.rows["name"]
    (1, 1, 2)
    """

    cdef Counts c
    cdef readonly dict kinds
    cdef readonly dict metadata  # key -> number of frames that have it
    cdef list frame_keys

    def __cinit__(self, **_):
        self.kinds = PATCH_KINDS if self.d.patch else KINDS
        self.c.max_frames = -1
        self.c.allowed, self.d.allowed = self.d.allowed, 0
        self.d.counts = &self.c
        self.metadata = {}
        self.frame_keys = []

    def __dealloc__(self):
        free(self.c.frames.buf)
        free(self.c.places.buf)
        free(self.c.keys.buf)

    def want(self, *, bint skim=False, bint places=False, bint sizes=False, int64_t max_frames=-1) -> None:
        """Say, before the first bytes, what to do.

        With ``skim`` nothing but the options and the metadata of frames is decoded: Batches have no statements, wrong
        references go unnoticed, and where other options stand in the middle another stream is counted on. ``places`` are
        for `take_places`, ``sizes`` for `parts`, and ``max_frames`` is how many frames `take_frames` may have.
        """
        self.c.skim = skim
        self.c.want_places = places
        self.c.want_parts = sizes
        self.c.max_frames = max_frames

    @property
    def frames(self) -> int:
        """Frames read to their end."""
        return self.d.n_frames

    @property
    def statements(self) -> int:
        """Rows of triples and quads; of a patch, of statements added and deleted."""
        return self.c.all[ROWS + pb.RDF_STREAM_ROW_TRIPLE] + self.c.all[ROWS + pb.RDF_STREAM_ROW_QUAD]

    @property
    def bytes(self) -> int:
        """Bytes of the stream that belong to frames begun so far, with what tells their length."""
        return self.d.feed.offset

    @property
    def frame_bytes(self) -> int:
        """Bytes of the frames themselves."""
        return self.c.all[SIZE]

    @property
    def metadata_bytes(self) -> int:
        """Bytes of frame metadata."""
        return self.c.all[METADATA]

    @property
    def rows(self) -> dict:
        """Number of rows of each kind."""
        return {kind: self.c.all[ROWS + <int>field] for kind, field in self.kinds.items()}

    @property
    def row_bytes(self) -> dict:
        """Bytes of the rows of each kind, tag and length included."""
        return {kind: self.c.all[BYTES + <int>field] for kind, field in self.kinds.items()}

    @property
    def parts(self) -> dict:
        """With ``sizes``: values and bytes of the terms of rows by kind, of the lists of columns, of the lengths of
        messages. Those that do not occur are left out."""
        cdef int place, i
        found = {}
        for place in range(N_PLACES):
            for i in range(TERM_FIELDS):
                found[f"{PLACES[place]}.{TERM_PARTS[place][i]}"] = self.c.terms[place][i]
            for i in range(1, COLUMN_FIELDS):
                found[f"{PLACES[place]}.{COLUMN_PARTS[i - 1]}"] = self.c.columns[place][i]
        found["message_lengths"] = self.c.lengths
        return {name: (part["number"], part["bytes"]) for name, part in found.items() if part["bytes"]}

    cdef int read(self) except -1:
        cdef int status = Decoder.read(self)
        self.take_keys()
        return status

    cdef int take_keys(self) except -1:
        cdef int64_t head[3]
        cdef int64_t at = 0
        cdef int64_t shown
        while at < self.c.keys.n:
            memcpy(head, self.c.keys.buf + at, sizeof(head))
            at += sizeof(head)
            key = (<const char*>self.c.keys.buf)[at:at + head[1]].decode()
            at += head[1]
            shown = min(head[2], SHOWN)
            self.metadata[key] = self.metadata.get(key, 0) + 1
            if self.c.max_frames >= 0:
                self.frame_keys.append((head[0], key, (<const char*>self.c.keys.buf)[at:at + shown], head[2]))
            at += shown
        self.c.keys.n = 0
        return 0

    def take_frames(self):
        """The frames finished since the last call: int64 columns offset, size, bytes of metadata, rows of each of
        ``kinds``, bytes of each; and the metadata: (frame, key, first bytes of the value, length of the value)."""
        held = hold(&self.claimed, self)
        keys, self.frame_keys = self.frame_keys, []
        table = take_table(&self.c.frames, NUMBERS)
        fields = [*self.kinds.values()]
        return table[:, [*range(ROWS), *(ROWS + i for i in fields), *(BYTES + i for i in fields)]], keys

    def take_places(self):
        """The rows since the last call that are no lookup entries: int64 columns number of their field as in ``kinds``,
        frame, row in the frame, offset in the stream."""
        held = hold(&self.claimed, self)
        return take_table(&self.c.places, 4)
