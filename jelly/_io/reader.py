"""Reading and writing streams: choose the format, loop bytes -> Batch -> objects and back, name the place of errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import Materializer, StatementIterator
from jelly._core.terms.model import Quad, Triple
from jelly._core.terms.term_adapter import TermAdapter
from jelly._formats.native import default_options
from jelly._formats.registry import FORMATS, JELLY, READING, WRITING, find
from jelly._io.drain import drain
from jelly._io.settings import checked, fitted, refuse_unknown
from jelly._io.sniff import HEAD, explain
from jelly._io.source import MAX_EXPANSION, Sink, SinkWriter, Source, SourceReader
from jelly._options import PhysicalType, StreamOptions
from jelly._seekable.index import KEYFRAME_ROWS
from jelly.errors import JellyArgumentError, JellyError

__all__ = ["Frame", "Reader", "Writer", "dumps", "loads", "options", "read", "read_batches", "read_frames", "write"]

Statement = Triple | Quad

# Rows of a Batch that is filled from Python objects, or read as such: small enough for the caches.
COLLECT_ROWS = 8192
READ_ROWS = 8192


class Reader(SourceReader):
    """A stream being read. Take its statements, its frames or its Batches, one of them, once.

    ``src`` is a path (``-`` is standard input), bytes-like, a binary file object or an iterable of chunks of bytes;
    gzip, zstd, bz2 and xz are recognised. ``format`` is ``"jelly"``, ``"nt"``, ``"nq"``, or with pyoxigraph ``"ttl"``,
    ``"trig"``, ``"rdf"``, ``"jsonld"`` or ``"n3"`` (or a suffix or media type); by default the suffix of the file
    decides, else it is Jelly.

    Of Jelly, ``joined=True`` reads files that were joined with ``cat`` as the streams they are, and
    ``unknown_rows="skip"`` leaves out rows of a kind that is not known, which else are an error (see `Decoder`).

    For text, ``strict=True`` refuses what RDF 1.1 does not allow, and ``on_error="skip"`` goes on after a bad line and
    notes it in ``skipped``. For Jelly, ``delimited`` says how it is framed (None: detect). Further keywords are limits
    of the `Decoder` (``max_frame_bytes``, ``max_names``, ...) and ``batch_rows``, ``batch_bytes``; for the syntaxes of
    pyoxigraph also ``base`` (the IRI that relative ones are resolved against) and ``lenient=True`` (check less).

    ``max_frame_bytes`` (Jelly, default 256 MiB), ``max_line_bytes`` (N-Triples and N-Quads, default 64 MiB) and
    ``max_row_bytes`` (RDF Thrift and RDF Protobuf, default 256 MiB) are at least 16 times the size of a file, so that
    one that holds a single long literal is read. Compressed data may expand to ``max_expansion`` times their size
    (default 4096) and 8 MiB. JellyArgumentError for a keyword that the format does not have.

    >>> import jelly
    >>> with jelly.Reader(b"<a:s> <a:p> <a:o> .", format="nt") as reader:
    ...     [str(statement) for statement in reader]
    ['<a:s> <a:p> <a:o> .']
    """

    @checked(READING)
    def __init__(
        self,
        src: Any,
        *,
        format: str | None = None,
        delimited: bool | None = None,
        strict: bool = False,
        on_error: Literal["raise", "skip"] = "raise",
        **limits: Any,
    ) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f'on_error is {on_error!r}: expected "raise" or "skip"')
        self.source = Source(src, limits.pop("max_expansion", MAX_EXPANSION))
        try:
            self.format = found = find(format, self.source.name)
            self.source.expected = (found.name, FORMATS, "format")
            refuse_unknown(limits, found.reading, found.title)
            limits = fitted(limits, found.reading, self.source.size)
            with self.source.named():
                self._decoder = found.open_reader(delimited=delimited, strict=strict, on_error=on_error, **limits)
        except BaseException:
            self.source.close()
            raise

    @property
    def options(self) -> StreamOptions | None:
        """The stream options; None before they are read and for text."""
        return getattr(self._decoder, "options", None)

    @property
    def delimited(self) -> bool | None:
        """Whether the Jelly stream is delimited; None before that is known and for text."""
        return getattr(self._decoder, "delimited", None)

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the source, before decompression: for progress bars, together with ``source.size``."""
        return self.source.bytes_read

    @property
    def statements(self) -> int:
        """Statements read so far."""
        return int(self._decoder.statements)

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Line and message of the first 1000 lines of text that were skipped."""
        return list(getattr(self._decoder, "skipped", ()))

    @property
    def n_skipped(self) -> int:
        """How many lines of text were skipped."""
        return int(getattr(self._decoder, "n_skipped", 0))

    def __iter__(self) -> StatementIterator:
        return StatementIterator(self.batches())

    def batches(self) -> Iterator[Batch]:
        """The Batches of the stream. What comes before an error is given before it is raised."""
        decoder = self._decoder
        batches = decoder.batches(self.source) if hasattr(decoder, "batches") else drain(decoder, self.source.chunks())
        with self, self.source.named():
            yield from batches

    def frames(self, library: TermAdapter | None = None) -> Iterator[Frame]:
        """The frames of the stream, empty ones included. A text is one frame. Terms are those of the ``library``."""
        if self.format is JELLY:
            return frames_of(self.batches(), library=library)
        return iter([Frame(0, list(StatementIterator(self.batches(), library)))])


class Frame:
    """One frame of a stream: ``statements`` (a list), ``metadata`` (str to bytes), ``namespaces`` (name, IRI)."""

    __slots__ = ("index", "metadata", "namespaces", "statements")

    def __init__(
        self,
        index: int,
        statements: list[Statement],
        metadata: dict[str, bytes] | None = None,
        namespaces: list[tuple[str, str]] | None = None,
    ) -> None:
        self.index = index
        self.statements = statements
        self.metadata = metadata or {}
        self.namespaces = namespaces or []

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    def __repr__(self) -> str:
        return f"<jelly.Frame {self.index}: {len(self.statements)} statements>"


def frames_of(batches: Iterable[Batch], index: int = 0, library: TermAdapter | None = None) -> Iterator[Frame]:
    """The frames of Jelly that came as Batches; the first of them has number ``index``."""
    statements: list[Statement] = []
    namespaces: list[tuple[str, str]] = []
    metadata: dict[str, bytes] = {}
    for batch in batches:
        terms = Materializer(batch, library)
        declared = batch.namespaces
        described = batch.metadata
        row = at = 0
        for i, end in enumerate([*batch.frames.tolist(), None]):
            if end != row:  # many frames may be empty
                statements += terms.statements(row, end)
            while at < len(declared) and declared[at][1] == i:
                namespaces.append(declared[at][2:])
                at += 1
            if described:
                metadata |= described.get(i, {})
            if end is None:
                break
            yield Frame(index, statements, metadata, namespaces)
            index += 1
            row = end
            statements, namespaces, metadata = [], [], {}


@checked(READING)
def read(src: Any, **settings: Any) -> StatementIterator:
    """The statements of ``src`` one by one, as `Triple` or `Quad`. Memory stays flat. See `Reader` for the keywords.

    >>> import jelly
    >>> for s, p, o in jelly.read(b'<a:s> <a:p> "o"@en .', format="nt"):
    ...     print(o.value, o.language)
    o en
    """
    settings.setdefault("batch_rows", READ_ROWS)
    return iter(Reader(src, **settings))


@checked(READING)
def read_batches(src: Any, **settings: Any) -> Iterator[Batch]:
    """The Batches of ``src``: statements as numpy arrays of term ids. See `Reader` for the keywords.

    >>> import jelly
    >>> [len(batch) for batch in jelly.read_batches(b"<a:s> <a:p> <a:o> .", format="nt")]
    [1]
    """
    return Reader(src, **settings).batches()


@checked(READING)
def read_frames(src: Any, **settings: Any) -> Iterator[Frame]:
    """The frames of ``src`` one by one: in a grouped stream each is a graph or dataset. See `Reader` for the keywords.

    >>> import jelly
    >>> [len(frame) for frame in jelly.read_frames(jelly.dumps([]))]
    [0]
    """
    return Reader(src, **settings).frames()


@checked(READING - {"format", "batch_rows"})
def options(src: Any, **settings: Any) -> StreamOptions:
    """The stream options at the start of a Jelly stream; no more of it is decoded than that takes.

    >>> import jelly
    >>> jelly.options(jelly.dumps([])).physical_type.name
    'TRIPLES'
    """
    with Reader(src, format="jelly", batch_rows=1, **settings) as reader:
        for _ in reader.batches():
            if reader.options is not None:
                return reader.options
    raise AssertionError("a stream without options is refused by the Decoder")


class Writer(SinkWriter):
    """Writes a stream: statements, Batches, namespaces, frame by frame or as it comes.

    ``dst`` is a path (``-`` is standard output) or a binary file object. The suffix of a path chooses format and
    compression (``.gz .zst .bz2 .xz``). A path gets its final name when the Writer closes without an error; otherwise
    nothing is left behind. ``format`` is as for `Reader`.

    ``options`` are the `StreamOptions`; where they leave the physical type open, the first statement decides. Without
    options, quoted triples are allowed and the logical type is flat. ``frame_rows`` and ``frame_bytes`` bound a frame
    (0: no bound); in grouped streams only ``end_frame`` ends one. ``delimited=False`` writes one bare frame. Further
    keywords are those of the format (`jelly._formats.registry.Format`), if it has any: N-Triples and N-Quads have
    ``quoted="rdf-star"``, for programs that read quoted triples as ``<< s p o >>`` only.

    ``seekable=True`` writes keyframes and an index, so that `jelly.open` and several threads can read any part of the
    file; other readers see the same statements as ever. A keyframe comes after each ``keyframe_rows`` statements.

    What the format cannot hold is a JellyUnsupportedError that names the term and its row. A blank node whose label the
    format cannot hold gets another one, always the same for the same label; with ``keep_labels=True`` it is an error.

    With a ``library`` its terms are taken besides ours.

    Use it in a ``with`` statement, or call ``close()``: a Writer that is forgotten gives a ResourceWarning, and its
    file is not written. JellyArgumentError for a keyword that the format does not have.

    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> with jelly.Writer(out) as writer:
    ...     writer.namespace("ex", "http://example.org/")
    ...     writer.add(jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
    >>> [frame.namespaces for frame in jelly.read_frames(out.getvalue())]
    [[('ex', 'http://example.org/')]]
    """

    @checked(WRITING)
    def __init__(
        self,
        dst: Any,
        options: StreamOptions | None = None,
        *,
        format: str | None = None,
        frame_rows: int = 256,
        frame_bytes: int = 1 << 20,
        delimited: bool = True,
        seekable: bool = False,
        keyframe_rows: int = KEYFRAME_ROWS,
        keep_labels: bool = False,
        library: TermAdapter | None = None,
        **settings: Any,
    ) -> None:
        _check_options(options)
        self._settings: dict[str, Any] = {
            "keep_labels": keep_labels,
            "frame_rows": frame_rows,
            "frame_bytes": frame_bytes,
            "delimited": delimited,
            "keyframe_rows": keyframe_rows if seekable else 0,
            **settings,
        }
        self._given = options
        self._library = library
        self._collector: BatchBuilder | None = None
        self._encoder: Any = None
        self._rows = COLLECT_ROWS
        self._early: list[tuple[str, str]] = []
        self._pending = 0  # frames that ended in the collector
        self.statements = 0
        self._sink = Sink(dst)
        try:
            self.format = find(format, self._sink.name)
            refuse_unknown(settings, self.format.writing, self.format.title)
            if options is not None:
                self._start(4 if options.physical_type > PhysicalType.TRIPLES else 3)
        except BaseException:
            self.abort()
            raise

    @property
    def options(self) -> StreamOptions | None:
        """The stream options in use; None for text and before the first statement."""
        return getattr(self._encoder, "options", None)

    def _start(self, arity: int) -> None:
        """Make the encoder; the first statement has said whether it is one of quads."""
        with self._sink.named():
            self._encoder = self.format.open_writer(self._given, arity, **self._settings)

    def _collect(self, arity: int) -> BatchBuilder:
        """The collector that takes objects, of quads if need be."""
        self._check_open()
        if self._encoder is None:
            self._start(arity)
        if self._collector is None:
            options = self.options
            if options is not None and options.physical_type != PhysicalType.UNSPECIFIED:
                arity = 3 if options.physical_type == PhysicalType.TRIPLES else 4
            elif self.format is not JELLY:
                arity = 4 if self.format.quads else 3
            self._collector = BatchBuilder(arity, library=self._library)
            for name, iri in self._early:
                self._collector.namespace(name, iri)
            self._early = []
        return self._collector

    def add(self, statement: Any) -> None:
        """Write a statement: a `Triple`, a `Quad`, or a sequence of 3 or 4 terms."""
        collector = self._collector
        if collector is None:
            collector = self._collect(arity_of(statement))
        if collector.add(statement) >= self._rows:
            self._flush()

    def extend(self, statements: Iterable[Any]) -> None:
        """Write statements from an iterable: faster than ``add`` one by one."""
        iterator = iter(statements)
        if self._collector is None:
            for first in iterator:
                self.add(first)
                break
            else:
                return
        while self._collect(3).extend(iterator, self._rows):
            self._flush()

    def add_batch(self, batch: Batch, *, keep_frames: bool | None = None) -> None:
        """Write a Batch. ``keep_frames``: frames end where those of the Batch do; by default in a grouped stream."""
        self._check_open()
        if self._encoder is None:
            self._start(batch.arity)
        if self._early:
            self._collect(batch.arity)
        self._flush()
        self._put(lambda: self._encoder.encode(batch, keep_frames))
        self.statements += len(batch)

    def namespace(self, name: str, iri: str) -> None:
        """Declare that ``name`` may stand for the IRI ``iri``. Formats without prefixes leave it out."""
        if self._collector is None and self._given is None:
            self._early.append((name, iri))
        else:
            self._collect(3).namespace(name, iri)

    def end_frame(self, metadata: Mapping[str, bytes] | None = None) -> None:
        """End the frame here, empty or not. ``metadata`` goes into it. Formats without frames leave it out."""
        collector = self._collect(3)
        collector.end_frame(metadata)
        # Frames without statements take no rows, yet they are to be written in time.
        self._pending += 1
        if self._pending >= self._rows:
            self._flush()

    def _flush(self) -> None:
        collector = self._collector
        self._pending = 0
        if collector is None:
            return
        batch = collector.batch
        self.statements += len(batch)
        self._put(lambda: self._encoder.encode(batch, True))
        collector.clear()

    def flush(self) -> None:
        """Write what is finished: all frames up to the last that ended."""
        self._flush()
        if self._sink.is_live:
            self._sink.flush()

    def _finish(self) -> None:
        if self._encoder is None or self._early:
            self._collect(3)
        self._flush()
        self._put(self._encoder.close)
        self._collector = None

    def part(self) -> str | None:
        """End the stream, but leave the file without its name: the path of what was written, which `abort` removes.

        None, and nothing is ended, where the destination is no file that gets its name at the end.
        """
        if self._sink.is_live:
            return None
        self._finish()
        self._closed = True
        return self._sink.part()

    def abort(self) -> None:
        """Give up: a file that was being written is removed."""
        self._collector = None
        super().abort()


def arity_of(statement: Any) -> int:
    """How many terms a statement has: whether it is a triple or a quad decides what a stream is one of."""
    try:
        return len(statement)
    except TypeError:
        kind = type(statement).__name__
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got {kind}") from None


def _check_options(options: Any) -> None:
    if options is not None and not isinstance(options, StreamOptions):
        raise JellyArgumentError(f"options must be StreamOptions, not {type(options).__name__}")


@checked(WRITING)
def write(dst: Any, statements: Iterable[Any], options: StreamOptions | None = None, **settings: Any) -> int:
    """Write statements to ``dst``; the number of them. See `Writer` for the rest.

    >>> import io, jelly
    >>> jelly.write(io.BytesIO(), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    1
    """
    with Writer(dst, options, **settings) as writer:
        writer.extend(statements)
    return writer.statements


@checked(JELLY.reading - {"max_expansion"})
def loads(data: Any, *, delimited: bool | None = None, **limits: Any) -> list[Statement]:
    """The statements of a Jelly stream held in a bytes-like object.

    >>> import jelly
    >>> jelly.loads(jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    [Triple(IRI('a:s'), IRI('a:p'), Literal('o'))]
    """
    data = memoryview(data).cast("B")
    decoder = Decoder(delimited=delimited, **fitted(limits, JELLY.reading, len(data)))
    statements: list[Statement] = []
    try:
        # One chunk needs no loop, and a small message is to cost little.
        decoder.push(data)
        decoder.finish()
        while (batch := decoder.pull(True)) is not None:
            statements += Materializer(batch).statements()
    except JellyError as error:
        explain(error, bytes(data[:HEAD]), JELLY.name)
        raise
    return statements


@checked()
def dumps(statements: Iterable[Any], options: StreamOptions | None = None, *, delimited: bool = True) -> bytes:
    """Statements as one Jelly stream in bytes, a single frame.

    >>> import jelly
    >>> len(jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))], delimited=False)) > 0
    True
    """
    _check_options(options)
    iterator = iter(statements)
    first = list(islice(iterator, 1))
    shape = arity_of(first[0]) if first else 3
    if options is None:
        options = default_options(shape)
    arity = 4 if options.physical_type > PhysicalType.TRIPLES else 3
    if options.physical_type == PhysicalType.UNSPECIFIED:
        arity = shape
    encoder = Encoder(options, frame_rows=0, frame_bytes=0, delimited=delimited)
    collector = BatchBuilder(arity)
    parts = []
    for statement in first:
        collector.add(statement)
    while collector.extend(iterator, COLLECT_ROWS):
        parts.append(encoder.encode(collector.batch, keep_frames=False))
        collector.clear()
    parts.append(encoder.encode(collector.batch, keep_frames=False))
    parts.append(encoder.close())
    return b"".join(parts)
