"""Writer: chooses the format, turns objects into Batches and Batches into bytes, and locates errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.encoder import Encoder
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.term_adapter import TermAdapter
from jelly._formats.native import default_options
from jelly._formats.protocols import Framing
from jelly._formats.registry import JELLY, WRITING, find
from jelly._io.settings import checked, refuse_unknown
from jelly._io.source import Sink, SinkWriter
from jelly._options import PhysicalType, StreamOptions
from jelly._seekable.index import KEYFRAME_ROWS
from jelly.errors import JellyArgumentError

__all__ = ["COLLECT_ROWS", "Writer", "arity_of", "dumps", "write"]

# Maximum rows of a Batch of Python objects: small enough for the caches.
COLLECT_ROWS = 8192


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
        triples as ``<< s p o >>`` instead of ``<<( s p o )>>``. RDF Thrift and RDF Protobuf: ``prefixes`` (namespaces
        by name), ``shorten`` (prefixed names), ``values=True`` (numbers as values), ``repeat=True`` (REPEAT for a term
        that the statement before has in the same position). RDF Protobuf: ``base``, ``default_quads=True``, and
        ``message`` (``"RDF_Stream"`` or ``"RDF_Graph"``: the whole output is one such message).

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

    Notes
    -----
    Labels of blank nodes are written as they are given, and the scope of a blank node is the stream: in all frames the
    same label is the same node. In a grouped stream each frame is a graph or dataset of its own, and whether labels
    refer to other frames is for the caller to say. In `jelly.messages` the scope is the message.

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
        self._framing = Framing(
            frame_rows=frame_rows,
            frame_bytes=frame_bytes,
            delimited=delimited,
            keyframe_rows=keyframe_rows if seekable else 0,
        )
        self._settings: dict[str, Any] = {"keep_labels": keep_labels, **settings}
        self._given = options
        self._library = library
        self._collector: BatchBuilder | None = None
        self._encoder: Any = None
        self._rows = COLLECT_ROWS
        self._early: list[tuple[str, str]] = []
        self._pending = 0  # number of frames that ended in the collector
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
            self._encoder = self.format.open_writer(self._given, arity, framing=self._framing, **self._settings)

    def _collect(self, arity: int) -> BatchBuilder:
        """The BatchBuilder, made for the given arity unless the stream has another arity."""
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
        iterator = iterate(statements)
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
        # Frames without statements have no rows, but must be written in time too.
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


def iterate(statements: Iterable[Any]) -> Iterator[Any]:
    """Iterate over statements. A Batch of query results is refused: its rows could be taken for statements."""
    return StatementIterator([statements]) if isinstance(statements, Batch) else iter(statements)


def arity_of(statement: Any) -> int:
    """The number of terms of a statement. The first statement decides whether a stream has triples or quads."""
    if isinstance(statement, Batch):
        raise JellyArgumentError("expected a statement (Triple, Quad or 3 or 4 terms), got Batch: use add_batch")
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
    iterator = iterate(statements)
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
