"""The `Encoder`: the Python class over encode. It turns its faults into exceptions."""

cimport cython
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport calloc, free

import numpy
import struct

from jelly._core.algebra.content cimport memory_of
from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport UNSET, free_arena, need_statements
from jelly._core.base.batch_concat cimport carry_terms
from jelly._core.base.fault cimport BAD_TERM, NO_MEMORY, OK, fail, fault_error, utf8_of, whole_number
from jelly._core.base.gil cimport is_short
from jelly._core.base.objects cimport hold
from jelly._core.base.protobuf cimport Reader, bytes_of, len_varint, reader_of, take_span, written
from jelly._core.jelly.column_schema cimport BATCH_NAMES, MAX_COLUMN_TAGS, RESULTS_NAMES
from jelly._core.jelly.encode cimport encode_batch, finish_patch
from jelly._core.jelly.column_encoder cimport (
    announce, columns_failed, end_columns, finish_columns, free_columns_out, is_frame_open, needed_rdf_version,
    start_columns,
)
from jelly._core.jelly.encoder_state cimport (
    MAX_TEXT, TAGS, ColumnEncoder, ColumnMemo, TermMemo,
)
from jelly._core.jelly.frame_writer cimport (
    end_frame, end_graph, find_place, forget_tables, put_metadata_entry, release_frame, restart_stream,
)
from jelly._core.jelly.lookup cimport DATATYPES, NAMES, PREFIXES, TABLES, free_lru, init_lru, lru_bytes
from jelly._core.rules.patch_operations cimport CLOSED, IN_TRANSACTION, OPEN

from jelly._core.rules.capabilities import capabilities_of
from jelly._core.jelly.stream_options import column_headers, is_result_options, options_row, settled
from jelly._core.rules.needs import refuse_quoted
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError
from jelly._options.options import COLUMN_VERSION, MIN_NAME_TABLE, RDF_VERSIONS, PatchOptions, StreamOptions

cdef enum:
    # Rows of a frame where nobody says: lookup entries included; and statements of a stream in columns.
    FRAME_ROWS = 256
    COLUMN_FRAME_ROWS = 16384
    # Language tags of a frame in columns; of query results as many as it may have rows.
    MAX_TAGS = 1024


# The collector must not take the tables' memory from it before __dealloc__ is through with it.
@cython.no_gc_clear
cdef class Encoder:
    """Encode Jelly: Batches in, bytes out.

    Parameters
    ----------
    options : StreamOptions or PatchOptions
        Options of the stream. Where they leave the physical type or the version open, the first Batch decides. With
        PatchOptions the Encoder writes Jelly-Patch and takes Batches of patches, see `jelly.patch`.
    frame_rows : int, optional
        Rows after which a frame ends (0: unlimited). In a grouped stream (``options.is_grouped``) frames end only where
        those of the Batches end. By default 256, lookup entries included. In version 3 (Jelly-RDF 1.2) the default is
        16384 statements, and a number given for a grouped stream puts messages together until a frame has that many.
    frame_bytes : int, default 1 MB
        Maximum bytes of a frame (0: unlimited). A larger statement has a frame of its own.
    delimited : bool, default True
        Write the length of each frame before it. False writes one frame without its length.
    keyframe_rows : int, default 0
        Statements from one keyframe to the next (0: no keyframes). A keyframe refers to nothing before it.
    keyframe : bool, default False
        Make the first frame a keyframe, so that a reader of another stream with these options can continue.
    skip_namespaces : bool, default False
        Leave out namespace declarations if the stream has version 1. By default they are an error there.
    independent : bool, default False
        Make each frame a stream of its own, with its options and without references to other frames, as values in Kafka
        are. Together they are joined streams.
    continued : bool, default False
        What is written continues a stream at a keyframe. The stream options are left out; in version 3 they come again.
    announced : str, default ""
        With ``continued`` in version 3: the RDF version that the stream has announced so far, where its options leave
        it open.
    place : int, default 0
        With ``continued`` in a stream of patches: where the part begins, see `place`.

    Raises
    ------
    JellyArgumentError
        If an argument is out of range, keyframes or independent frames are asked for in a stream that is not
        delimited, or ``announced`` or ``place`` is given for a stream that has none.

    Notes
    -----
    Labels of blank nodes are written as they are, in all frames: their scope is that of the Batches, see `Writer`.

    Examples
    --------
    >>> import jelly
    >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
    >>> encoder = jelly.Encoder(jelly.StreamOptions.small())
    >>> data = encoder.encode(batch) + encoder.close()
    >>> list(jelly.loads(data)) == list(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    True
    """

    def __cinit__(
        self, options, *, frame_rows=None, frame_bytes=1_000_000, delimited=True, keyframe_rows=0, keyframe=False,
        skip_namespaces=False, independent=False, continued=False, announced="", place=0,
    ):
        cdef int slot
        cdef int64_t rows
        cdef int32_t[TABLES + 1] sizes
        cdef uint8_t* at
        results = not isinstance(options, (StreamOptions, PatchOptions))
        if results and not is_result_options(options):
            raise JellyArgumentError(f"options is {options!r:.80}: expected StreamOptions or PatchOptions")
        frame_bytes = whole_number(frame_bytes, "frame_bytes")
        keyframe_rows = whole_number(keyframe_rows, "keyframe_rows")
        place = whole_number(place, "place")
        self.e.columnar = results or options.version == COLUMN_VERSION
        rows = COLUMN_FRAME_ROWS if self.e.columnar else FRAME_ROWS
        if frame_rows is not None:
            rows = whole_number(frame_rows, "frame_rows")
        if rows < 0 or frame_bytes < 0 or keyframe_rows < 0:
            raise JellyArgumentError("frame_rows, frame_bytes and keyframe_rows must not be negative")
        if options.max_name_table_size < MIN_NAME_TABLE:
            # A stream that was read may have such a table, which version 1.0 allowed.
            raise JellyOptionsError(
                f"max_name_table_size is {options.max_name_table_size}: a writer needs at least {MIN_NAME_TABLE}"
            )
        if keyframe_rows > 0 and not delimited:
            raise JellyArgumentError("only a delimited stream can have keyframes")
        if independent and (keyframe_rows > 0 or not delimited):
            raise JellyArgumentError("only a delimited stream without keyframes can have independent frames")
        self.e.independent = independent
        self.e.key_rows = keyframe_rows
        self.e.skip_namespaces = skip_namespaces
        grouped = options.is_grouped
        self.settled_options = options
        self.e.delimited = delimited
        self.e.frame_rows = rows if delimited and not grouped else 0
        self.e.frame_bytes = frame_bytes if delimited and not grouped else 0
        if self.e.columnar:
            self.prepare_columns(options, frame_rows, frame_bytes)
        elif keyframe_rows > 0 and not grouped:
            self.e.cut_rows = keyframe_rows
        if continued:
            if not keyframe_rows:
                raise JellyArgumentError("only a stream with keyframes can be continued")
            self.e.started = not self.e.columnar
            self.e.n_patches = place // 4
            self.e.in_patch = self.e.goes_on = place % 4 != 0
            self.e.transaction = OPEN if place % 4 == IN_TRANSACTION else CLOSED
        elif place:
            raise JellyArgumentError("only a stream that is continued has a place")
        if announced:
            if not continued or not self.e.columns.follow:
                raise JellyArgumentError(
                    "only a stream of version 3 that is continued and leaves its rdf_version open has announced one"
                )
            if announced not in RDF_VERSIONS[1:]:
                raise JellyArgumentError(f"announced is {announced!r}: expected one of {', '.join(RDF_VERSIONS[1:])}")
            self.e.columns.announced = RDF_VERSIONS.index(announced)
        for slot in range(4):
            self.e.last[slot] = UNSET
        self.e.patch = isinstance(options, PatchOptions)
        if not self.e.columnar:
            self.e.name_tag = pb.RDF_PATCH_ROW_NAME_TAG if self.e.patch else pb.RDF_STREAM_ROW_NAME_TAG
        sizes[NAMES] = options.max_name_table_size
        sizes[PREFIXES] = options.max_prefix_table_size
        sizes[DATATYPES] = options.max_datatype_table_size
        sizes[TAGS] = MAX_COLUMN_TAGS if results else MAX_TAGS if self.e.columnar else 0
        # One array for all tables: for a small message three take longer.
        self.tables = numpy.empty(sum([lru_bytes(size) for size in sizes]), numpy.uint8)
        at = <uint8_t*>memory_of(self.tables)
        for slot in range(TABLES + 1):
            at = init_lru(&self.e.tables[slot], at, sizes[slot])
        if not self.e.columnar and (keyframe_rows > 0 or keyframe):
            forget_tables(&self.e)

    cdef int prepare_columns(self, options, frame_rows, int64_t frame_bytes) except -1:
        """The further fields of a stream in columns."""
        cdef ColumnEncoder* k = &self.e.columns
        if not isinstance(options, StreamOptions):
            self.e.name_tag = RESULTS_NAMES << 3 | 2
            k.rdf_version = RDF_VERSIONS.index(options.rdf_version or "unspecified")
            return 0
        self.e.name_tag = BATCH_NAMES << 3 | 2
        k.is_log = options.is_grouped
        k.numbering_p = options.numbering == "P"
        k.follow = options.rdf_version == "" and not k.is_log
        if k.is_log and self.e.delimited:
            # Several messages to a frame only where somebody asks for it; a message may go over several frames.
            self.e.frame_rows = frame_rows or 0
            self.e.frame_bytes = frame_bytes
        return 0

    def __dealloc__(self):
        cdef int which
        if self.e.columnar:
            free_columns_out(&self.e)
        for which in range(TABLES + 1):
            free_lru(&self.e.tables[which])
        free_arena(&self.e.carry)
        free(self.e.row.buf)
        free(self.e.body.buf)
        free(self.e.held.buf)
        free(self.e.out.buf)
        free(self.e.keys.buf)

    @property
    def options(self):
        """The options of the stream; what they left open is decided by the first Batch."""
        with cython.critical_section(self):
            return self.settled_options

    @property
    def announced(self) -> str:
        """The RDF version that the stream announces by now; "" before version 3 and before the first Batch."""
        return RDF_VERSIONS[self.e.columns.rdf_version] if self.e.columnar and self.headers is not None else ""

    @property
    def frames(self) -> int:
        """Number of frames finished so far."""
        return self.e.n_frames

    @property
    def statements(self) -> int:
        """Number of statements taken so far; of a patch the number of rows, including the ends of patches."""
        return self.e.n_statements

    @property
    def place(self) -> int:
        """Position in a stream of patches.

        It is 4 times the number of patches that have ended, plus 1 inside a patch, or plus 2 inside a transaction. It is 0 for
        Jelly-RDF. A FLAT patch never ends.
        """
        return find_place(&self.e)

    def encode(self, Batch batch not None, keep_frames: bool | None = None) -> bytes:
        """Encode a Batch.

        Parameters
        ----------
        batch : Batch
            The statements.
        keep_frames : bool, optional
            Whether a frame ends wherever a frame of the Batch ends. By default only in a grouped stream.

        Returns
        -------
        bytes
            The frames that are finished by now, often none.

        Raises
        ------
        JellyOptionsError
            If the options do not allow a statement of the Batch. The Encoder then raises it again at each call.
        """
        held = self.enter()
        self.take(batch, keep_frames)
        return self.take_out()

    def _encode_part(self, Batch batch not None, int64_t start, stop: int | None) -> bytes:
        """Encode the rows from `start` to `stop` (by default to the end), with the namespaces at `start` but not those at
        `stop`: other streams have the rest. Frames of the Batch are not kept.
        """
        if not 0 <= start <= (batch.a.n_rows if stop is None else stop) <= batch.a.n_rows:
            raise IndexError(f"rows {start} to {stop} are not within 0 to {batch.a.n_rows}")
        held = self.enter()
        self.take(batch, False, start, -1 if stop is None else <int64_t>stop)
        return self.take_out()

    def _encode_alone(self, Batch batch not None) -> bytes:
        """Encode a Batch of statements as a stream, its end included. What comes next is another stream, of the same options:
        a small message costs little where it need not make an Encoder. Only for row streams without keyframes."""
        cdef int which
        held = self.enter()
        self.take(batch, False, 0, -1, True)
        self.end(None)
        restart_stream(&self.e)
        for which in range(TABLES):
            free_lru(&self.e.tables[which])
        self.e.n_frames = self.e.n_bytes = self.e.n_statements = self.e.since_key = self.rows_in = 0
        return self.take_out()

    def encode_frames(self, Batch batch not None, keep_frames: bool | None = None) -> list:
        """Encode a Batch, like `encode`, as separate frames (bytes) without lengths, as gRPC and Kafka send them.

        Parameters
        ----------
        batch : Batch
            The statements.
        keep_frames : bool, optional
            As in `encode`.
        """
        held = self.enter()
        self.take(batch, keep_frames)
        return self.take_frames()

    @property
    def delimited(self) -> bool:
        """Whether each frame has its length before it."""
        return self.e.delimited

    @property
    def is_open(self) -> bool:
        """Whether rows or metadata wait for the end of their frame."""
        return is_frame_open(&self.e)

    def cut(self) -> bytes:
        """Give all that was encoded, the frame that is open included; no graph or patch is ended.

        For a stream that is written again, see `repeat`: nothing can be encoded after it."""
        cdef int status = OK
        held = self.enter()
        if is_frame_open(&self.e):
            status = (end_columns if self.e.columnar else end_frame)(&self.e, NULL, 0)
        if status == OK:
            release_frame(&self.e)
        self.leave(status, 0)
        return self.take_out()

    def repeat(self, Batch batch not None, bint open_end=False) -> bytes:
        """Encode a Batch of a stream that this one replaces.

        Frames end where those of the Batch end and nowhere else.

        Parameters
        ----------
        batch : Batch
            The statements.
        open_end : bool, default False
            Let the last frame of the Batch go on.

        Returns
        -------
        bytes
            The frames that are finished by now.
        """
        cdef int64_t rows, size
        held = self.enter()
        rows = self.e.frame_rows
        size = self.e.frame_bytes
        try:
            if not self.e.patch:
                self.e.frame_rows = self.e.frame_bytes = 0
                self.e.open_end = open_end
            self.take(batch, True)
            return self.take_out()
        finally:
            self.e.frame_rows = rows
            self.e.frame_bytes = size
            self.e.open_end = False

    cdef int take(self, Batch batch, keep_frames, int64_t row=0, int64_t stop=-1, bint alone=False) except -1:
        """Write the rows from `row` to `stop`, or to the end of the Batch; with `alone` none follow in this stream."""
        need_statements(batch)
        if self.headers is None:
            self.settle(batch.a.arity, batch.a.n_names > 0, needed_rdf_version(&batch.a))
        if self.e.patch != (batch.a.op != NULL):
            raise JellyOptionsError(
                "statements without operations cannot go into a patch" if self.e.patch
                else "a patch has operations: write it with PatchOptions"
            )
        if batch.a.n_quoted > 0 and not self.e.patch and not self.takes_any:
            refuse_quoted(batch, batch.options, self.settled_options.version)
        self.e.alone = alone
        self.e.part = stop >= 0
        self.e.stop = stop if stop >= 0 else batch.a.n_rows
        self.e.keep_frames = self.settled_options.is_grouped if keep_frames is None else keep_frames
        if self.e.patch:
            self.e.keep_frames = False
        return self.write(batch, row)

    cdef int write(self, Batch batch, int64_t row) except -1:
        """Write the rows from `row` on, while a memo of each term of the Batch tells where its lookup entries are."""
        cdef int64_t first = row
        cdef int status
        cdef void* memo = calloc(batch.a.n_terms + 1, sizeof(ColumnMemo) if self.e.columnar else sizeof(TermMemo))
        if memo == NULL:
            raise MemoryError
        self.e.memo = <TermMemo*>memo
        self.e.columns.memo = <ColumnMemo*>memo
        self.e.b = &batch.a
        try:
            if is_short(&batch.a):
                status = self.run(&row)
            else:
                with nogil:
                    status = self.run(&row)
            if status == BAD_TERM:
                self.refuse(batch)
            self.leave(status, row - first)
            self.rows_in += row - first
            return 0
        finally:
            free(memo)
            self.e.b = NULL

    cdef int run(self, int64_t* row) noexcept nogil:
        """Write the rows of the present Batch; where that comes to a fault, `row` tells which."""
        cdef EncoderState* e = &self.e
        cdef int status = encode_batch(e, row)
        if status == OK and not e.alone:
            status = carry_terms(e.b, &e.carry, e.last, e.carried, MAX_TEXT)
            if status != OK:
                fail(&e.fault, status, NULL, MAX_TEXT)
        return status

    @property
    def n_bytes(self) -> int:
        """Number of bytes of the frames finished so far."""
        return self.e.n_bytes

    @property
    def last_frame(self) -> int:
        """Byte offset of the frame that is held back."""
        return self.e.n_bytes - self.e.held.n - len_varint(self.e.held.n)

    @property
    def keyframe_rows(self) -> int:
        """Statements from one keyframe to the next; 0 without keyframes."""
        return self.e.key_rows

    @property
    def keyframes(self) -> list:
        """Byte offset, statement number, frame number and `place` of each keyframe after the first frame."""
        held = hold(&self.claimed, self)
        return [*struct.iter_unpack("4q", written(&self.e.keys))]

    def finish(self) -> None:
        """End the last frame. With keyframes it is held back, so that `close` can add metadata to it."""
        held = self.enter()
        self.end_rows()

    cdef int end_rows(self) except -1:
        cdef int status = OK
        if self.headers is None:
            self.settle(3, False, 0)
        if self.e.columnar:
            return self.leave(finish_columns(&self.e), 0)
        end_graph(&self.e)
        if self.e.patch and finish_patch(&self.e) != OK:
            status = self.e.fault.code
        elif self.e.rows > 0 or self.e.n_frames == 0:
            status = end_frame(&self.e, NULL, 0)
        return self.leave(status, 0)

    def close(self, metadata: dict | None = None) -> bytes:
        """End the stream.

        Parameters
        ----------
        metadata : dict of str to bytes, optional
            Metadata for the last frame. Only for streams with keyframes.

        Returns
        -------
        bytes
            The remaining frames. An empty stream is one frame with the options.

        Raises
        ------
        JellyArgumentError
            If there is metadata but the stream has no keyframes.
        """
        held = self.enter()
        self.end(metadata)
        return self.take_out()

    def close_frames(self) -> list:
        """End the stream, like `close`, with separate frames (bytes) without lengths."""
        held = self.enter()
        self.end(None)
        return self.take_frames()

    cdef int end(self, dict metadata) except -1:
        cdef bytes key, value
        self.end_rows()
        if metadata and not self.e.has_held:
            raise JellyArgumentError("metadata can be added at the end of a stream with keyframes only")
        for name, data in (metadata or {}).items():
            key = utf8_of(name, "the key of metadata")
            value = data
            put_metadata_entry(
                &self.e.held, <const uint8_t*><const char*>key, len(key), <const uint8_t*><const char*>value, len(value)
            )
        release_frame(&self.e)
        return self.leave(OK, 0)

    cdef Hold enter(self):
        """Claim the Encoder, if it did not fail."""
        held = hold(&self.claimed, self)
        if self.error is not None:
            raise self.error
        return held

    cdef int refuse(self, Batch batch) except -1:
        """Where a Batch has terms that Jelly cannot hold, such as variables, the one check of all writers says which."""
        try:
            capabilities_of("jellyp" if self.e.patch else "jelly").fit(batch)
        except JellyError as error:
            self.error = error
            raise
        return 0

    cdef int leave(self, int status, int64_t row) except -1:
        cdef EncoderState* e = &self.e
        # Who writes looks at no memory: here it is seen whether some was missing.
        if status == OK and (
            e.row.failed | e.body.failed | e.held.failed | e.out.failed | e.keys.failed
            or (e.columnar and columns_failed(e))
        ):
            status = fail(&e.fault, NO_MEMORY, NULL)
        if status != OK:
            self.error = fault_error(&self.e.fault, {"frame": self.e.n_frames, "row": self.rows_in + row})
            raise self.error
        return 0

    cdef bytes take_out(self):
        out = written(&self.e.out)
        self.e.out.n = 0
        return out

    cdef list take_frames(self):
        """The bytes that were written, cut where the frames end."""
        cdef bytes data = self.take_out()
        cdef Reader r = reader_of(data)
        cdef Reader frame
        cdef list found = []
        if not self.e.delimited:
            return [data] if data else found
        while r.at < r.end:
            take_span(&r, &frame)
            found.append(bytes_of(&frame))
        return found

    cdef int settle(self, int arity, bint namespaces, int rdf_version) except -1:
        """Fix what the options left open and make the options row. `rdf_version` is what the first Batch needs."""
        cdef ColumnEncoder* k = &self.e.columns
        cdef int version
        cdef bytes header
        options = self.settled_options
        if self.e.patch:
            self.e.physical = options.statement_type
            self.e.stream_type = options.stream_type
        else:
            options = settled(options, arity, namespaces)
            self.e.physical = options.physical_type
            self.e.namespaces = options.version >= 2
        headers = column_headers(options) if self.e.columnar else (options_row(options),)
        with cython.critical_section(self):
            self.settled_options = options
        self.headers = headers
        for version, header in enumerate(self.headers):
            k.options[version] = <const uint8_t*><const char*>header
            k.n_options[version] = len(header)
        if k.follow:
            k.rdf_version = k.announced or max(rdf_version, 1)
        elif self.e.columnar:
            k.rdf_version = RDF_VERSIONS.index(options.rdf_version or "unspecified")
        announce(&self.e)
        if self.e.columnar:
            start_columns(&self.e)
        self.e.generalized = options.generalized_statements
        self.e.star = options.rdf_star
        return 0


def needed_version(Batch batch not None) -> int:
    """The RDF version that terms of a Batch need, as its number in `RDF_VERSIONS`.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "o"@en--ltr .', format="nt").batches()
    >>> needed_version(batch)
    2
    """
    need_statements(batch)
    return needed_rdf_version(&batch.a)
