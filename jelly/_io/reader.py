"""Reader and Writer: they choose the format, convert bytes to Batches to objects and back, and locate errors."""

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
    """Read a stream of RDF in any format.

    Iterate over the Reader for statements, or call `frames` or `batches`. A Reader can be consumed only once, in one of
    these ways. Memory stays bounded, whatever the size of the input.

    Parameters
    ----------
    src : str, os.PathLike, bytes-like, binary file object or iterable of bytes
        The input. ``"-"`` is standard input. gzip, zstd, bz2 and xz are recognised by the first bytes.
    format : str, optional
        Name, suffix or media type of the format: ``"jelly"``, ``"nt"``, ``"nq"``, ``"thrift"``, ``"protobuf"``, and
        with pyoxigraph ``"ttl"``, ``"trig"``, ``"rdf"``, ``"jsonld"`` or ``"n3"``. By default the suffix of the file
        decides; a source without a name is Jelly.
    delimited : bool, optional
        Jelly only: whether each frame has its length before it. By default the first bytes tell.
    strict : bool, default False
        Text only: reject what RDF 1.1 does not allow.
    on_error : {"raise", "skip"}, default "raise"
        N-Triples and N-Quads: what to do with a line that has an error. ``"skip"`` notes it in ``skipped`` and
        continues.
    **limits : Any
        Further keywords of the format. All formats: ``batch_rows`` (statements per Batch), ``max_expansion``
        (compressed data may expand to this many times their size plus 8 MiB, default 4096). Jelly: ``joined``,
        ``unknown_rows``, ``batch_bytes``, ``max_frame_bytes``, ``max_names``, ``max_prefixes`` and ``max_datatypes``,
        see `Decoder`. N-Triples and N-Quads: ``max_line_bytes`` (default 64 MiB). RDF Thrift and RDF Protobuf:
        ``max_row_bytes`` (default 256 MiB). The formats of pyoxigraph: ``base`` (base IRI for resolving relative IRIs)
        and ``lenient=True`` (skip most validation).

    Raises
    ------
    JellyArgumentError
        If the format does not have one of the keywords.
    JellyError
        If the input is wrong; the message gives frame, row and byte, or line and column. Statements before the error
        are yielded first.

    Notes
    -----
    ``max_frame_bytes``, ``max_line_bytes`` and ``max_row_bytes`` are raised to 16 times the size of the file if that is
    more, so that a file with one long literal can be read.

    Examples
    --------
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
        """The stream options, or None for text and before they have been read."""
        return getattr(self._decoder, "options", None)

    @property
    def delimited(self) -> bool | None:
        """Whether the Jelly stream is delimited, or None for text and before that is known."""
        return getattr(self._decoder, "delimited", None)

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the source, before decompression. Divide by ``source.size`` for a progress bar."""
        return self.source.bytes_read

    @property
    def statements(self) -> int:
        """Statements read so far."""
        return int(self._decoder.statements)

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Line number and error message of the first 1000 skipped lines."""
        return list(getattr(self._decoder, "skipped", ()))

    @property
    def n_skipped(self) -> int:
        """Number of skipped lines."""
        return int(getattr(self._decoder, "n_skipped", 0))

    def __iter__(self) -> StatementIterator:
        return StatementIterator(self.batches())

    def batches(self) -> Iterator[Batch]:
        """Iterate over the Batches of the stream.

        Yields
        ------
        Batch
            The next statements. All statements before an error are yielded before it is raised.
        """
        decoder = self._decoder
        batches = decoder.batches(self.source) if hasattr(decoder, "batches") else drain(decoder, self.source.chunks())
        with self, self.source.named():
            yield from batches

    def frames(self, library: TermAdapter | None = None) -> Iterator[Frame]:
        """Iterate over the frames of the stream, including empty ones. A text is one frame.

        Parameters
        ----------
        library : TermAdapter, optional
            Create the terms of this library (for example RDFLib) instead of ``jelly`` terms.

        Returns
        -------
        Iterator[Frame]
            The frames in order.
        """
        if self.format is JELLY:
            return frames_of(self.batches(), library=library)
        return iter([Frame(0, list(StatementIterator(self.batches(), library)))])


class Frame:
    """One frame of a stream.

    Parameters
    ----------
    index : int
        Number of the frame in the stream, from 0.
    statements : list of Triple or Quad
        The statements of the frame, in order.
    metadata : dict of str to bytes, optional
        Metadata of the frame.
    namespaces : list of (str, str), optional
        Prefix and IRI of each namespace declaration in the frame.
    """

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
    """Read statements one by one, as `Triple` or `Quad`. Memory stays bounded.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    StatementIterator
        An iterator of `Triple` or `Quad`.

    Raises
    ------
    JellyError
        If the input is wrong, see `Reader`.

    Examples
    --------
    >>> import jelly
    >>> for s, p, o in jelly.read(b'<a:s> <a:p> "o"@en .', format="nt"):
    ...     print(o.value, o.language)
    o en
    """
    settings.setdefault("batch_rows", READ_ROWS)
    return iter(Reader(src, **settings))


@checked(READING)
def read_batches(src: Any, **settings: Any) -> Iterator[Batch]:
    """Read Batches: statements as numpy arrays of term ids.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    Iterator[Batch]
        The Batches in order.

    Raises
    ------
    JellyError
        If the input is wrong, see `Reader`.

    Examples
    --------
    >>> import jelly
    >>> [len(batch) for batch in jelly.read_batches(b"<a:s> <a:p> <a:o> .", format="nt")]
    [1]
    """
    return Reader(src, **settings).batches()


@checked(READING)
def read_frames(src: Any, **settings: Any) -> Iterator[Frame]:
    """Read frames one by one. In a grouped stream each frame is a graph or a dataset.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    Iterator[Frame]
        The frames in order, including empty ones.

    Raises
    ------
    JellyError
        If the input is wrong, see `Reader`.

    Examples
    --------
    >>> import jelly
    >>> [len(frame) for frame in jelly.read_frames(jelly.dumps([]))]
    [0]
    """
    return Reader(src, **settings).frames()


@checked(READING - {"format", "batch_rows"})
def options(src: Any, **settings: Any) -> StreamOptions:
    """Read the stream options at the start of a Jelly stream. Only the beginning of the stream is decoded.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes.
    **settings : Any
        Keywords of `Reader`, except ``format`` and ``batch_rows``.

    Returns
    -------
    StreamOptions
        The options (Jelly-RDF, section "Stream options").

    Raises
    ------
    JellyError
        If the stream does not begin with valid options.

    Examples
    --------
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
    """Write a stream of RDF in any format.

    Use it in a ``with`` statement, or call ``close()``. A path gets its final name when the Writer closes without an
    error; if writing fails, no partial file is left. A Writer that is never closed gives a ResourceWarning, and its
    file is not written.

    Parameters
    ----------
    dst : str, os.PathLike or binary file object
        The output. ``"-"`` is standard output. The suffix of a path chooses format and compression (``.gz .zst .bz2
        .xz``).
    options : StreamOptions, optional
        Options of the Jelly stream. Where they leave the physical type open, the first statement decides. By default a
        flat stream that may have quoted triples.
    format : str, optional
        Name, suffix or media type of the format, as for `Reader`.
    frame_rows : int, default 256
        Maximum rows per frame, lookup entries included (0: unlimited). In grouped streams only `end_frame` ends a
        frame.
    frame_bytes : int, default 1 MiB
        Approximate maximum bytes per frame (0: unlimited).
    delimited : bool, default True
        Write the length of each frame before it. False writes one frame without its length.
    seekable : bool, default False
        Write keyframes and an index, so that `jelly.open` and several threads can read any part of the file. Other
        readers ignore them.
    keyframe_rows : int, default 131072
        Statements from one keyframe to the next, if ``seekable``.
    keep_labels : bool, default False
        Raise an error for a blank node label that the format cannot hold. By default such a node gets another label,
        the same one for the same label.
    library : TermAdapter, optional
        Also accept the terms of this library (for example RDFLib).
    **settings : Any
        Further keywords of the format, if it has any. N-Triples and N-Quads: ``quoted="rdf-star"`` writes quoted
        triples as ``<< s p o >>`` instead of ``<<( s p o )>>``.

    Attributes
    ----------
    statements : int
        Number of statements written so far.

    Raises
    ------
    JellyArgumentError
        If the format does not have one of the keywords.
    JellyUnsupportedError
        If the format cannot hold a term; the message names the term and its row.
    JellyOptionsError
        If ``options`` do not allow a statement.

    Examples
    --------
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
        """The stream options in use, or None for text and before the first statement."""
        return getattr(self._encoder, "options", None)

    def _start(self, arity: int) -> None:
        """Make the encoder. The arity is that of the first statement."""
        with self._sink.named():
            self._encoder = self.format.open_writer(self._given, arity, **self._settings)

    def _collect(self, arity: int) -> BatchBuilder:
        """The collector of objects, made for the given arity unless the stream has another one."""
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
        """Write one statement.

        Parameters
        ----------
        statement : Triple, Quad or sequence of terms
            A statement; a sequence has 3 or 4 terms.
        """
        collector = self._collector
        if collector is None:
            collector = self._collect(arity_of(statement))
        if collector.add(statement) >= self._rows:
            self._flush()

    def extend(self, statements: Iterable[Any]) -> None:
        """Write many statements. This is faster than `add` in a loop.

        Parameters
        ----------
        statements : iterable of Triple, Quad or sequences of terms
            The statements.
        """
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
        """Write a Batch.

        Parameters
        ----------
        batch : Batch
            The statements.
        keep_frames : bool, optional
            Whether a frame ends wherever a frame of the Batch ends. By default only in grouped streams.
        """
        self._check_open()
        if self._encoder is None:
            self._start(batch.arity)
        if self._early:
            self._collect(batch.arity)
        self._flush()
        self._put(lambda: self._encoder.encode(batch, keep_frames))
        self.statements += len(batch)

    def namespace(self, name: str, iri: str) -> None:
        """Declare a namespace. Formats without prefixes ignore it.

        Parameters
        ----------
        name : str
            The prefix, without a colon.
        iri : str
            The IRI that it stands for.
        """
        if self._collector is None and self._given is None:
            self._early.append((name, iri))
        else:
            self._collect(3).namespace(name, iri)

    def end_frame(self, metadata: Mapping[str, bytes] | None = None) -> None:
        """End the frame here, even if it is empty. Formats without frames ignore it.

        Parameters
        ----------
        metadata : mapping of str to bytes, optional
            Metadata of the frame.
        """
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
        """Write all frames that have ended so far."""
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
        """End the stream, but do not give the file its final name yet.

        `abort` removes the file.

        Returns
        -------
        str or None
            Path of the written file. None if the destination is not a file that is renamed at the end; the stream then
            goes on.
        """
        if self._sink.is_live:
            return None
        self._finish()
        self._closed = True
        return self._sink.part()

    def abort(self) -> None:
        """Stop writing and remove the unfinished file."""
        self._collector = None
        super().abort()


def arity_of(statement: Any) -> int:
    """The number of terms of a statement. The first statement decides whether a stream has triples or quads."""
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
    """Write statements.

    Parameters
    ----------
    dst : Any
        The output: a path or a binary file object.
    statements : iterable of Triple, Quad or sequences of terms
        The statements.
    options : StreamOptions, optional
        Options of a Jelly stream.
    **settings : Any
        Keywords of `Writer`.

    Returns
    -------
    int
        Number of statements written.

    Raises
    ------
    JellyError
        See `Writer`. If writing fails, no partial file is left.

    Examples
    --------
    >>> import io, jelly
    >>> jelly.write(io.BytesIO(), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    1
    """
    with Writer(dst, options, **settings) as writer:
        writer.extend(statements)
    return writer.statements


@checked(JELLY.reading - {"max_expansion"})
def loads(data: Any, *, delimited: bool | None = None, **limits: Any) -> list[Statement]:
    """Read all statements of a Jelly stream in memory.

    Parameters
    ----------
    data : bytes-like
        The whole stream, not compressed.
    delimited : bool, optional
        Whether each frame has its length before it. By default the first bytes tell.
    **limits : Any
        Keywords of `Decoder`.

    Returns
    -------
    list of Triple or Quad
        The statements in order.

    Raises
    ------
    JellyError
        If the data are not a valid Jelly stream.

    Examples
    --------
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
    """Write statements as one Jelly stream with a single frame.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements.
    options : StreamOptions, optional
        Options of the stream. By default a flat stream that may have quoted triples.
    delimited : bool, default True
        Write the length of the frame before it.

    Returns
    -------
    bytes
        The stream.

    Raises
    ------
    JellyOptionsError
        If ``options`` do not allow a statement.

    Examples
    --------
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
