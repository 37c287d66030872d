"""The `Decoder`: the Python class over frame_reader and decode. It turns their faults into exceptions."""

cimport cython
from libc.string cimport memset

import numpy
import warnings

from jelly._core.algebra.content cimport memory_of
from jelly._core.base cimport schema as pb
from jelly._core.base.batch cimport BatchData, add_frame, add_graphs, free_arena
from jelly._core.base.batch_concat cimport carry_terms
from jelly._core.base.claim cimport claim, give_back
from jelly._core.base.fault cimport (
    BY_FRAME, FULL, NEED_MORE, NEED_TABLES, NO_OPTIONS, OK, OPEN_PATCH, fail, fault_error, whole_number,
)
from jelly._core.base.gil cimport SHORT_BYTES
from jelly._core.base.objects cimport hold
from jelly._core.rules.patch_operations cimport AT_START, CLOSED, EITHER, IN_TRANSACTION, OPEN, pack_place
from jelly._core.base.protobuf cimport Reader, bytes_of, reader_of
from jelly._core.jelly.column_schema cimport COLUMN_VERSION, NUMBERING_S
from jelly._core.jelly.column_reader cimport end_message, free_columns, run_columns
from jelly._core.jelly.decode cimport run
from jelly._core.jelly.decode_state cimport (
    GENERALIZED, GRAPH_ASSUMED, GRAPH_IGNORED, KNOWN_ROWS, MAX_BATCH_TEXT, ROWS_GRAPHS, ROWS_PATCH, ROWS_PUNCTUATED,
    ROWS_QUADS, ROWS_TRIPLES, STAR, TERMS_A_ROW,
)
from jelly._core.jelly.saved_state cimport begin_stream, forget_stream, load_options, load_state, make_columns, save_state
from jelly._core.jelly.frame_reader cimport (
    FRAMING_BARE, FRAMING_DELIMITED, FRAMING_GIVEN, FRAMING_UNKNOWN, free_feed, init_feed,
)
from jelly._core.jelly.lookup cimport DATATYPES, NAMES, PREFIXES, TABLES, DecoderEntry, expect_keyframe, set_slots
from jelly._core.base.pieces cimport free_pieces
from jelly._core.jelly.stream_options cimport (
    Restart, StreamOptionsRow, check_stream_options, read_stream_options, same_stream_options, types_agree,
)
from jelly._core.jelly.unusual cimport offset_of

from jelly._core.jelly.stream_options import column_headers, options_row
from jelly.errors import JellyArgumentError, JoinedWarning, OptionsWarning
from jelly._options.options import MAX_TABLE_SIZE, NUMBERINGS, RDF_VERSIONS, PatchOptions, StreamOptions, options_read

cdef enum:
    # Options with a stream name longer than this are made anew each time.
    MAX_CACHED_NAME = 1024
    # Bytes of text for which there may be room in a Batch that waits for another input.
    SPARE_TEXT = 1 << 16


@cython.no_gc_clear
cdef class Decoder(PushReader):
    """Decode Jelly: bytes in, Batches out. Feed it from files, sockets, brokers or an event loop.

    Parameters
    ----------
    delimited : bool, optional
        Whether each frame has its length before it. By default the first bytes tell.
    batch_rows : int, default 32768
        Maximum statements per Batch.
    batch_bytes : int, default 16 MiB
        Bytes of text after which a Batch ends.
    max_frame_bytes : int, default 256 MiB
        Maximum bytes of a frame.
    max_names, max_prefixes, max_datatypes : int
        Maximum sizes of the lookup tables that a stream may ask for; by default 4096, 1024 and 256 entries.
    max_frame_rows : int, default 16777216
        Maximum rows of a frame of Jelly 1.2, of which a few bytes can say that there are 134 million.
    options : StreamOptions or PatchOptions, optional
        Options of a stream that is read from the middle, where it does not repeat them: from a keyframe, or with ``state``
        from any frame.
    state : bytes, optional
        What `save` returned at that position.
    first_row, first_frame, offset : int, default 0
        Number of the statement, number of the frame and byte at which reading starts.
    patch : bool, default False
        Read Jelly-Patch instead of Jelly-RDF. Its Batches have the operations in ``op``, see `jelly.patch`.
    place : int, optional
        Position in a stream of patches at which reading starts, see `Encoder.place`.
    joined : bool, default False
        Read several streams joined with ``cat``: each options row begins another stream, which may have other options, so
        that Batches of triples and of quads may alternate. Without it such an input gives wrong statements, as with every
        reader of Jelly 1.1; where this is noticed there is a `JoinedWarning`.
    unknown_rows : {"error", "skip"}, default "error"
        What to do with a row of an unknown kind.
    strict : bool, default False
        Refuse what the specification advises against: quoted triples and generalized statements that the options do not
        announce, pairs of logical and physical type outside the recommended table, graphs in patches of triples, and
        namespaces without a graph at the start of a patch of quads. By default these are read; the first two kinds give an
        `OptionsWarning`.

    Raises
    ------
    JellyError
        If the input is wrong; the error gives frame, row and byte. The Decoder then raises it again at each call.
    JellyArgumentError
        If an argument is out of range.

    Notes
    -----
    Labels of blank nodes are given as they are, in all frames: whether their scope is the stream or the frame is for
    the caller to say, see `Reader`. With ``joined=True`` those of the joined streams are not told apart.

    Unstable: Jelly-RDF 1.2 (columns, ``max_frame_rows``) follows a schema that is not final.

    Examples
    --------
    >>> import jelly
    >>> data = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
    >>> decoder = jelly.Decoder()
    >>> [len(batch) for chunk in (data[:30], data[30:]) for batch in decoder.feed(chunk)] + list(decoder.close())
    [1]
    """

    def __cinit__(
        self, *, delimited: bool | None = None, batch_rows=32768, batch_bytes=1 << 24, max_frame_bytes=1 << 28,
        max_names=4096, max_prefixes=1024, max_datatypes=256, max_frame_rows=1 << 24, options=None, state=None,
        first_row=0, first_frame=0, offset=0, patch=False, place=None, joined=False, unknown_rows="error", strict=False,
    ):
        cdef int64_t frame_limit = whole_number(max_frame_bytes, "max_frame_bytes")
        if unknown_rows != "error" and unknown_rows != "skip":
            raise JellyArgumentError(f'unknown_rows is {unknown_rows!r}: expected "error" or "skip"')
        self.d.max_rows = whole_number(batch_rows, "batch_rows")
        self.max_rows = &self.d.max_rows
        self.d.max_text = whole_number(batch_bytes, "batch_bytes")
        self.d.limits.sizes[NAMES] = whole_number(max_names, "max_names")
        self.d.limits.sizes[PREFIXES] = whole_number(max_prefixes, "max_prefixes")
        self.d.limits.sizes[DATATYPES] = whole_number(max_datatypes, "max_datatypes")
        self.d.limits.rows = whole_number(max_frame_rows, "max_frame_rows")
        if self.d.max_rows < 1 or self.d.max_text < 1:
            raise JellyArgumentError("batch_rows and batch_bytes must be at least 1")
        if max(<list>self.d.limits.sizes) > MAX_TABLE_SIZE:
            raise JellyArgumentError(f"lookup tables may have at most {MAX_TABLE_SIZE} entries")
        framing = FRAMING_UNKNOWN if delimited is None else FRAMING_DELIMITED if delimited else FRAMING_BARE
        init_feed(&self.d.feed, framing, frame_limit)
        forget_stream(&self.d)
        self.d.arity = 3
        # A statement may be as long as a frame; what hostile prefixes make of a short one stays bounded.
        self.d.text_limit = max(MAX_BATCH_TEXT, frame_limit)
        self.d.patch = patch
        self.d.strict, self.d.joined = strict, joined
        self.d.skip_unknown = unknown_rows == "skip"
        self.d.known = ROWS_PUNCTUATED if patch else KNOWN_ROWS
        self.d.first_entry = pb.RDF_PATCH_ROW_NAME if patch else pb.RDF_STREAM_ROW_NAME
        self.rows_out = whole_number(first_row, "first_row")
        self.frames_out = self.d.n_frames = whole_number(first_frame, "first_frame")
        self.d.feed.offset = whole_number(offset, "offset")
        self.hint_rows = 0  # the size of the first chunk tells it better
        if options is not None:
            self.preset(options, state, place)

    def __dealloc__(self):
        free_feed(&self.d.feed)
        forget_stream(&self.d)
        free_arena(&self.d.carry)
        free_pieces(&self.d.pieces)
        free_columns(&self.d)

    def __repr__(self):
        return f"<jelly.Decoder: {self.rows_out} statements, {self.d.n_frames} frames, {self.offset} bytes so far>"

    @property
    def options(self):
        """The options of the stream; None before they are read."""
        with cython.critical_section(self):
            return self.read_options

    @property
    def frames(self) -> int:
        """Number of frames decoded to their end; of a log in columns (Jelly 1.2) the number of messages."""
        if self.d.columnar and self.d.header.logical > 2:
            return self.frames_out + (0 if self.batch is None else self.batch.a.n_frames)
        return self.d.n_frames

    @property
    def statements(self) -> int:
        """Number of statements returned so far; of patches the number of rows."""
        return self.rows_out

    @property
    def place(self) -> int:
        """Position in a stream of patches when all Batches have been pulled, see `Encoder.place`."""
        return pack_place(self.d.n_patches, self.d.in_patch, self.d.transaction)

    @property
    def delimited(self) -> bool | None:
        """Whether the stream is delimited; None as long as that is not known."""
        return None if self.d.feed.framing == FRAMING_UNKNOWN else self.d.feed.framing == FRAMING_DELIMITED

    @property
    def oddities(self) -> list:
        """Messages about parts of a patch that should not be there and were read; ``strict`` refuses them."""
        return [
            text for feature, text in (
                (GRAPH_IGNORED, "a graph is set in a patch of triples: it is ignored"),
                (GRAPH_ASSUMED, "a namespace in a patch of quads comes before any graph: it is taken for one without a graph"),
            ) if self.d.unannounced & feature
        ]

    @property
    def restarts(self) -> list:
        """Where another stream seems to begin though the input is not read as ``joined``: frame, row and byte offset
        of the first such place, and how many there are; empty where there is none."""
        cdef Restart* k = &self.d.restart
        return [k.first.frame, k.first.row, k.first.offset, k.found] if k.found else []

    @property
    def restated(self) -> tuple | None:
        """The last frame in columns (Jelly 1.2) that restated the options: its byte offset, the number of its first
        statement, its number as of `frames`. Reading can begin there with nothing of what was before. None before the
        first one, and one that ends a message does not count."""
        return self.last_restated

    @property
    def in_message(self) -> bool:
        """Whether a message of a log in columns (Jelly 1.2) has rows and no end yet."""
        return self.d.columnar and self.d.columns.open

    @property
    def whole(self) -> bool:
        """Whether Batches of a log in columns (Jelly 1.2) end where a message does, however long that is."""
        return self.d.whole

    @whole.setter
    def whole(self, bint value):
        self.d.whole = value

    cdef object give_rest(self):
        if self.d.whole and self.d.columnar and self.d.columns.open and not self.final:
            return None  # the message goes on with the next chunk
        return PushReader.give_rest(self)

    cdef bint has_some(self) noexcept:
        # In a log in columns a frame may end no message.
        return PushReader.has_some(self) or (self.d.columnar and self.has_names())

    cdef bint is_used_up(self) noexcept:
        return not self.d.in_frame and self.d.feed.chunk.at == self.d.feed.chunk.end

    cdef int take_chunk(self) except -1:
        if self.d.feed.framing == FRAMING_GIVEN and not self.d.feed.given:
            raise ValueError("this Decoder takes whole frames: use decode_frame()")
        self.d.feed.chunk.at = self.rest
        self.d.feed.chunk.end = self.rest_end
        return 0

    cdef int read(self) except -1:
        cdef BatchData* b
        cdef int status
        self.d.feed.final = self.final
        if self.begins:
            self.begin()
            return OK
        if self.batch is None:
            if self.d.feed.framing != FRAMING_GIVEN and self.is_used_up() and (self.d.feed.pending.n == 0 or self.d.feed.spent):
                return NEED_MORE  # without a Batch for nothing
            self.start_batch()
        if not self.d.columnar and self.rest_end - self.rest + self.d.feed.pending.n <= SHORT_BYTES:
            status = run(&self.d)
        else:
            with nogil:
                status = run_columns(&self.d) if self.d.columnar else run(&self.d)
        if self.d.restart.found > self.n_warned:
            self.warn()
        if self.d.unannounced & ~self.told:
            self.warn_unannounced()
        if status == FULL or status == NEED_MORE:
            return status
        if status == NEED_TABLES:
            # What came before belongs to other options.
            b = self.d.b
            self.begins = True
            if (
                self.read_options is not None and not same_stream_options(&self.d.header, &self.d.next)
                and b.n_rows + b.n_frames + b.n_names + b.n_meta > 0
                # In one frame there may be the end of a message before its options, and no row.
                and (self.d.feed.framing != FRAMING_GIVEN or b.n_rows > 0)
            ):
                return FULL
        else:
            self.error = self.make_error()
        return OK

    cdef int begin(self) except -1:
        """A stream begins: the first, or another that was joined to it."""
        cdef int64_t rows = 0 if self.batch is None else self.batch.a.n_rows
        cdef bint other = self.read_options is None or not same_stream_options(&self.d.header, &self.d.next)
        cdef int64_t place = self.d.columns.begin if self.d.columnar else -1
        self.begins = False
        try:
            if self.batch is None:
                self.start_batch()
            if not other:
                self.d.next.name = self.d.header.name  # that of the row is gone with its frame
            if begin_stream(&self.d) != OK:
                self.error = self.make_error()
            else:
                if other:
                    self.settle()
                else:
                    self.allow_rows()
                if place >= 0 and self.d.columnar:
                    with cython.critical_section(self):
                        self.last_restated = (place, self.rows_out + rows, self.frames)
        except BaseException as error:
            self.error = error
        return 0

    cdef int warn(self) except -1:
        """Say once that the input seems to be joined."""
        if self.n_warned == 0:
            self.say(
                f"another stream seems to begin at frame {self.d.restart.first.frame}, byte {self.d.restart.first.offset}, as in "
                "files that were joined with cat: what follows is read wrong; joined=True reads such files",
                JoinedWarning,
            )
        self.n_warned = self.d.restart.found
        return 0

    cdef int warn_unannounced(self) except -1:
        """Say once for each feature that the stream uses what its options do not announce."""
        cdef int new = self.d.unannounced & ~self.told
        self.told |= new
        for feature, noun, option in (
            (STAR, "quoted triples", "rdf_star"), (GENERALIZED, "generalized statements", "generalized_statements"),
        ):
            if new & feature:
                self.say(
                    f"the stream has {noun}, but {option} is false in its options (up to frame {self.d.n_frames})",
                    OptionsWarning,
                )
        return 0

    cdef int say(self, str message, kind) except -1:
        if not self.quiet:
            try:
                warnings.warn(message, kind, stacklevel=2)
            except kind as error:
                self.error = error
        return 0

    cdef int end_input(self) except -1:
        cdef int status = OK
        if not self.d.has_header:
            status = fail(&self.d.fault, NO_OPTIONS, NULL)
        elif self.d.transaction == OPEN:
            status = fail(&self.d.fault, OPEN_PATCH, NULL)
        elif self.d.columnar and self.d.columns.open:
            # Of a log in columns: the last message goes on to the end.
            if self.batch is None:
                self.start_batch()
            status = end_message(&self.d)
        if status != OK:
            self.error = self.make_error()
        return 0

    cdef int release(self) except -1:
        self.d.feed.chunk.at = self.d.feed.chunk.end = NULL
        return PushReader.release(self)

    cdef object make_error(self):
        return fault_error(&self.d.fault, self.find_fault())

    cdef dict find_fault(self):
        """Where the fault is."""
        place = {"frame": self.d.n_frames}
        if self.d.in_frame:
            place["row"] = self.d.row
            place["offset"] = self.d.frame_offset if self.d.fault.at == NULL else offset_of(&self.d, self.d.fault.at)
        else:
            place["offset"] = self.d.feed.offset
        return place

    cdef int start_batch(self) except -1:
        cdef int64_t left = self.d.feed.chunk.end - self.d.feed.chunk.at
        if self.d.in_frame:
            left += self.d.frame.end - self.d.frame.at
        if self.hint_rows == 0:
            # A statement takes some 20 bytes, of which a half are new terms.
            self.hint_rows = min(left // 16, self.d.max_rows) + 8
            self.hint_terms = self.hint_rows // 2 + 16
            self.hint_text = min(2 * left, self.d.max_text) + 512
        self.d.b = self.begin_batch(self.d.arity, self.d.text_limit, self.d.patch)
        self.batch.options = self.read_options
        self.d.full_text = self.d.max_text
        self.d.full_terms = TERMS_A_ROW * self.d.max_rows
        self.d.t.batch += 1
        memset(self.d.languages, 0xFF, sizeof(self.d.languages))
        memset(self.d.bnodes, 0xFF, sizeof(self.d.bnodes))
        return 0

    cdef object give_batch(self):
        cdef int status
        if self.error is None:
            status = carry_terms(self.d.b, &self.d.carry, self.d.last, self.d.carried, self.d.text_limit)
            if status != OK:
                fail(&self.d.fault, status, NULL, self.d.text_limit, BY_FRAME)
                self.error = self.make_error()
        return self.take_batch()

    def decode_frame(self, data) -> Batch:
        """Decode one frame without a length, for example a gRPC or Kafka message.

        Pass the frames of a stream in order, and do not call `push` or `feed`. ``batch_rows`` and ``batch_bytes`` do not apply.

        Parameters
        ----------
        data : bytes-like
            The frame.

        Returns
        -------
        Batch
            The statements of the frame, as a Batch with one frame.

        Raises
        ------
        JellyError
            If the frame is malformed. The Decoder then raises it again at each call.
        ValueError
            If the Decoder has been fed in another way.
        """
        claim(&self.claimed, self)
        try:
            if self.d.feed.framing != FRAMING_GIVEN:
                if self.bytes_read or self.final:
                    raise ValueError("decode_frame() is for a Decoder that was fed in no other way")
                self.d.feed.framing = FRAMING_GIVEN
                # No Batch is full before its frame ends.
                self.d.max_rows = 1 << 30
                self.d.max_text = 1 << 40
            self.d.feed.given = True
            try:
                self.begin_chunk(data)
            except BaseException:
                self.d.feed.given = False
                raise
            found = self.pull_claimed(True)
            return self.take_empty() if found is None else found
        finally:
            give_back(&self.claimed)

    cdef Batch take_empty(self):
        """The Batch of a frame of nothing that comes before the options."""
        if self.batch is None:
            self.start_batch()
        if self.batch.a.n_frames == 0 and not self.d.columnar and add_frame(&self.batch.a) < 0:
            raise MemoryError
        return self.take_batch()

    def _again(self) -> bool:
        """Begin another input as if none had been before, in rows and of unknown framing: a small message costs little where
        it need not make a Decoder. False where this one has more to forget: errors, warnings, columns, patches."""
        cdef int64_t max_frame = self.d.feed.max_frame
        cdef int features = self.d.unannounced | self.d.patch | self.d.columnar | self.d.in_frame | self.d.joined
        if self.error is not None or self.batch is not None or self.has_view or features or self.d.restart.found:
            return False
        if not types_agree(&self.d.header):  # which each input is warned about
            return False
        if self.spare is not None and self.spare.a.cap_text > SPARE_TEXT:
            self.spare = None
        forget_stream(&self.d)
        free_feed(&self.d.feed)
        init_feed(&self.d.feed, FRAMING_UNKNOWN, max_frame)
        free_pieces(&self.d.pieces)
        memset(&self.d.restart, 0, sizeof(Restart))
        self.d.has_header = self.final = False
        self.rows_out = self.frames_out = self.d.n_frames = self.bytes_read = self.hint_rows = 0
        return True

    def save(self) -> bytes:
        """Save the state between two frames, so that another Decoder can continue there.

        Returns
        -------
        bytes
            The state, for ``Decoder(options=..., state=...)``.

        Raises
        ------
        ValueError
            If the input ends inside a frame, or statements have not been pulled yet.
        """
        held = hold(&self.claimed, self)
        if self.error is not None:
            raise self.error
        if not self.d.has_header or self.d.in_frame or (self.batch is not None and self.batch.a.n_rows > 0):
            raise ValueError("the Decoder does not stand between two frames with all its statements pulled")
        return save_state(&self.d)

    @property
    def offset(self) -> int:
        """Byte in the stream at which the next frame begins."""
        return self.d.feed.offset - (0 if self.d.feed.spent else self.d.feed.pending.n)

    cdef int preset(self, options, state, place) except -1:
        """Take the options from the caller, checked like those of a stream."""
        cdef StreamOptionsRow* h = &self.d.header
        cdef Reader r
        cdef bytes row
        if self.d.patch != isinstance(options, PatchOptions) or not isinstance(options, (StreamOptions, PatchOptions)):
            raise JellyArgumentError("PatchOptions go with patch=True, and StreamOptions without")
        self.d.columnar = options.version == COLUMN_VERSION
        if self.d.columnar:
            row = column_headers(options)[RDF_VERSIONS.index(options.rdf_version or "unspecified")]
        else:
            row = options_row(options)
        r = reader_of(row)
        if place is None:
            self.d.transaction = EITHER
        else:
            place = whole_number(place, "place")
            self.d.n_patches = place // 4
            self.d.in_patch = place % 4 != AT_START
            self.d.transaction = OPEN if place % 4 == IN_TRANSACTION else CLOSED
        if (
            read_stream_options(&r, h, self.d.patch, &self.d.fault) != OK
            or check_stream_options(h, self.d.patch, self.d.strict, &self.d.limits, NULL, &self.d.fault) != OK
        ):
            raise self.make_error()
        self.d.has_header = True
        if self.d.columnar and make_columns(&self.d) != OK:
            raise MemoryError
        if self.d.columnar and state is not None:
            state = load_options(&self.d, state)
            options = options.replace(
                max_name_table_size=h.sizes[NAMES], max_prefix_table_size=h.sizes[PREFIXES],
                max_datatype_table_size=h.sizes[DATATYPES],
            )
        self.read_options = options
        self.make_tables()
        if state is None:
            self.d.at_keyframe = True
            expect_keyframe(&self.d.t)
        else:
            load_state(&self.d, state)
        return 0

    cdef int settle(self) except -1:
        """The options row of a stream was read."""
        cdef StreamOptionsRow* h = &self.d.header
        cdef bint first = self.read_options is None
        self.make_tables()
        # Very long names must not stay in the cache.
        make = options_read if len(self.stream_name) <= MAX_CACHED_NAME else options_read.__wrapped__
        options = make(
            self.d.patch, h.physical, h.logical, self.stream_name, h.generalized, h.star, h.sizes[NAMES],
            h.sizes[PREFIXES], h.sizes[DATATYPES], h.version, h.rdf, NUMBERINGS[h.numbering == NUMBERING_S],
        )
        with cython.critical_section(self):
            self.read_options = options
        if not self.d.patch and not types_agree(h):
            self.say(
                f"logical type {self.read_options.logical_type.name} does not go with physical type "
                f"{self.read_options.physical_type.name} by the recommendation of the format",
                OptionsWarning,
            )
        if not first and (self.d.arity == 4) != (self.d.b.g != NULL):
            self.start_batch()  # the present one is empty
        self.batch.options = self.read_options
        # No statement came before the options, so the Batch can still become one of quads.
        if first and self.d.arity == 4 and add_graphs(self.d.b) < 0:
            raise MemoryError
        return 0

    cdef int make_tables(self) except -1:
        """Take the options: lookup tables, rows that may occur."""
        cdef StreamOptionsRow* h = &self.d.header
        cdef DecoderEntry* at
        cdef int64_t size = TABLES
        cdef int which
        self.stream_name = bytes_of(&h.name)
        h.name = reader_of(self.stream_name)
        for which in range(TABLES):
            size += h.sizes[which]
        slots = numpy.empty(size * sizeof(DecoderEntry), numpy.uint8)
        at = <DecoderEntry*>memory_of(slots)
        for which in range(TABLES):
            at = set_slots(&self.d.t.tables[which], at, h.sizes[which])
        self.tables = slots
        return self.allow_rows()

    cdef int allow_rows(self) noexcept:
        """Take the rows that may occur from the options."""
        cdef StreamOptionsRow* h = &self.d.header
        # The statement types of patches have the same numbers.
        self.d.arity = 3 if h.physical == pb.PHYSICAL_STREAM_TYPE_TRIPLES else 4
        if self.d.patch:
            self.d.allowed = ROWS_PUNCTUATED if h.logical == pb.PATCH_STREAM_TYPE_PUNCTUATED else ROWS_PATCH
        elif self.d.arity == 3:
            self.d.allowed = ROWS_TRIPLES
        else:
            self.d.allowed = ROWS_QUADS if h.physical == pb.PHYSICAL_STREAM_TYPE_QUADS else ROWS_GRAPHS
        if self.d.counts != NULL:
            self.d.counts.allowed = self.d.known if self.d.counts.skim else self.d.allowed
            self.d.allowed = 0
        return 0
