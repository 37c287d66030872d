"""Writer: chooses the format, turns objects into Batches and Batches into bytes, and locates errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from jelly._bytes.sink import one_thread
from jelly._core.base.batch import Batch
from jelly._core.jelly.encoder import Encoder
from jelly._core.rules.needs import lacking, refuse_version
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.statements import Quad, Triple
from jelly._core.terms.term_adapter import TermAdapter
from jelly._formats.native import default_options
from jelly._formats.registry import JELLY, WRITING
from jelly._options.options import PhysicalType, StreamOptions, physical_for
from jelly._options.settings import checked, refuse_unknown
from jelly._streams.outputs import (
    ALL_FIELDS,
    COLLECT_ROWS,
    LATER_ROWS,
    ItemWriter,
    WideningEncoder,
    changed,
    missing,
    open_fields,
    options_like,
    output_options,
    stream_of,
)
from jelly._streams.reader import MOST_SPARE, SPARES
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import WriteOptions

    # Terms may be those of RDFLib, too.
    Statement: TypeAlias = Triple | Quad | tuple[Any, Any, Any] | tuple[Any, Any, Any, Any] | list[Any]
else:
    Statement = Any  # each is looked at where it is taken

# The number of terms of a statement.
ARITIES = {Triple: 3, Quad: 4}
# Rows that `dumps` has room for at first: a small message is to cost little.
FIRST_ROWS = 64
# What small messages were made with, for the next ones: by whether they are of triples, and delimited.
_SPARE: dict[tuple[bool, bool], list[tuple[BatchBuilder, Encoder]]] = {
    (triples, delimited): [] for triples in (True, False) for delimited in (True, False)
}


class Writer(ItemWriter):
    """Write a stream of RDF in any format.

    Use it in a ``with`` statement, or call ``close()``. A path gets its final name when the Writer closes without an
    error; if writing fails, no partial file is left. A Writer that is never closed gives a ResourceWarning, and its
    file is not written.

    Parameters
    ----------
    dst : str, os.PathLike or binary file object
        The output. ``"-"`` is standard output. The suffix of a path chooses format and compression (``.gz .zst .bz2
        .xz``).
    options : StreamOptions or mapping, optional
        Options of the Jelly stream, or only some of their fields. Where they leave the physical type open, the first
        statement decides; where they leave the version open, a first Batch of Jelly-RDF 1.2 or the first statement of
        such a `read` makes a stream of Jelly-RDF 1.2. By default a flat stream whose options announce what its
        statements need, see Notes.
    **settings : Unpack[WriteOptions]
        Shared keywords, see `WriteOptions`. ``seekable`` and ``index`` are only for Jelly: `jelly.open` and several
        threads then read any part of the file, and other readers ignore both. Files compressed with zstd are
        cut into frames of their own, with a table at the end; others are seekable once they are unpacked. With
        ``index`` the file becomes some 6 % larger. ``threads`` encode the Batches of `add_batch`: N-Triples, N-Quads,
        and ``seekable`` Jelly.

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
        If ``options`` do not allow a statement, or if one needs more than was announced and the output is not a path.

    Notes
    -----
    A Jelly stream announces at its start whether it has named graphs, quoted triples, generalized statements and
    namespaces. The first 8192 statements (or the first Batch) decide what ``options`` leave open. If a later statement
    needs more, a file is written again from its start, with bounded memory, and so is what is in an `io.BytesIO` that
    nobody has flushed or changed; a pipe or file object cannot be, so there it is a `LateError`, which names the option
    to give.

    Labels of blank nodes are written as they are given, and the scope of a blank node is the stream: in all frames the
    same label is the same node. In a grouped stream each frame is a graph or dataset of its own, and whether labels
    refer to other frames is for the caller to say. In `jelly.messages` the scope is the message.

    Unstable: ``quoted`` follows the drafts of RDF 1.2.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> with jelly.Writer(out) as writer:
    ...     writer.namespace("ex", "http://example.org/")
    ...     writer.add(jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
    >>> [frame.namespaces for frame in jelly.scan(out.getvalue()).frames()]
    [[('ex', 'http://example.org/')]]
    """

    _collector: BatchBuilder | None = None

    @checked(WRITING)
    def __init__(
        self,
        dst: Any,
        options: StreamOptions | Mapping[str, Any] | None = None,
        **settings: Unpack[WriteOptions],
    ) -> None:
        given: dict[str, Any] = {**settings}
        index, self._library = given.pop("index", None), given.pop("library", None)
        if not isinstance(self._library, TermAdapter | None):
            raise JellyArgumentError(f"library is {self._library!r:.80}: expected a TermAdapter or None")
        _check_options(options)
        self._given = options
        self._allowed: frozenset[str] | None = None  # options that may be widened
        self._rows = COLLECT_ROWS
        self._early: list[tuple[str, str]] = []
        self.statements: int = 0
        with self._opening(dst, given, keyframes=index is not None):
            refuse_unknown([name for name in given if name != "keep_labels"], self.format.writing, self.format.title)
            for name in ("index", "seekable"):
                if settings.get(name) and self.format is not JELLY:
                    raise JellyArgumentError(f"{name}= does not go with {self.format.title}, only with Jelly")
            self._settings: dict[str, Any] = {"keep_labels": False, **given}
            if index is not None:
                self._settings["filters"] = True
            if isinstance(options, StreamOptions):
                self._start(4 if options.physical_type > PhysicalType.TRIPLES else 3)

    @property
    def options(self) -> StreamOptions | None:
        """The stream options in use, or None for text and before the first statement."""
        options: StreamOptions | None = super().options
        return options

    def _start(self, arity: int) -> None:
        """Make the encoder. ``arity`` is the one of the first statement."""
        make = self._maker(arity=arity, **self._settings)
        with self._sink.named():
            if self.format is not JELLY:
                self._encoder = make(self._given)
                return
            allowed = open_fields(self._given) if self._allowed is None else self._allowed
            self._encoder = WideningEncoder(output_options(None, arity, self._given), make, allowed, self)

    def __repr__(self) -> str:
        where = f" to {self.label}" if self.label else ""
        return f"<jelly.Writer{where}: {self.format.title}, {self.statements} statements so far>"

    def allow(self, fields: frozenset[str], late: Mapping[str, Any] | None = None) -> None:
        """Let stream options called ``fields`` be widened, before anything is written; for `convert`.

        ``late`` are those of an output that cannot be written again: what may come.
        """
        self._allowed = fields
        if isinstance(self._encoder, WideningEncoder):
            self._encoder.allowed = fields
            changes = {name: value for name, value in (late or {}).items() if name in fields}
            if changes and not self._sink.can_restart:
                self._encoder.choose(**changes)

    @one_thread
    def _collect(self, arity: int) -> BatchBuilder:
        """The BatchBuilder, made for the given arity unless the stream has another arity."""
        self._check_open()
        if self._encoder is None:
            self._start(arity)
        if self._collector is None:
            if self.format is not JELLY:
                arity = 4 if self.format.quads else 3
            else:
                if self._encoder.options.physical_type == PhysicalType.UNSPECIFIED:
                    self._encoder.choose(physical_type=physical_for(self._encoder.options, arity))
                fixed = "physical_type" not in self._encoder.allowed
                # Where triples may become quads, graphs are collected.
                arity = 3 if fixed and self._encoder.options.physical_type == PhysicalType.TRIPLES else 4
            collector = BatchBuilder(arity, library=self._library)
            for name, iri in self._early:
                collector.namespace(name, iri)
            self._early = []
            self._collector = collector
        return self._collector

    def add(self, statement: Statement) -> None:
        """Write one statement."""
        collector = self._collector
        if collector is None:
            collector = self._collect(arity_of(statement))
        if collector.add(statement) >= self._rows:
            self._flush()

    @one_thread
    @checked()
    def extend(self, statements: Iterable[Statement] | Batch) -> None:
        """Write many statements. This is faster than `add` in a loop.

        Parameters
        ----------
        statements : iterable of Triple, Quad or sequences of terms
            The statements.
        """
        iterator = iterate(statements)
        if self._collector is None:
            for first in iterator:
                self._follow(getattr(iterator, "options", None))
                self.add(first)
                break
            else:
                return
        while self._collect(3).extend(iterator, self._rows):
            self._refuse_read(iterator)
            self._flush()
        self._refuse_read(iterator)

    def _follow(self, source: StreamOptions | None) -> None:
        """Write Jelly-RDF 1.2 where the first statements come from such a stream and the caller leaves it open."""
        if self._encoder is None and self.format is JELLY:
            self._given = options_like(self._given, source)

    def _refuse_read(self, statements: Iterable[Any]) -> None:
        """JellyOptionsError for statements of `read` with quoted triples that this Jelly stream would change."""
        if self.format is JELLY:
            refuse_read(statements, self._encoder.options.version)

    @one_thread
    @checked()
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
            self._follow(batch.options)
            self._start(batch.arity)
        if self._early:
            self._collect(batch.arity)
        self._flush()
        self._put(lambda: self._encoder.encode(batch, keep_frames))
        self.statements += len(batch)

    @one_thread
    def namespace(self, name: str, iri: str) -> None:
        """Declare a namespace. Formats without prefixes ignore it.

        Parameters
        ----------
        name : str
            The prefix, without a colon.
        iri : str
            The IRI that it stands for.
        """
        if self._collector is None and self._encoder is None:
            self._early.append((name, iri))
        else:
            self._collect(3).namespace(name, iri)

    @one_thread
    @checked()
    def end_frame(self, metadata: Mapping[str, bytes] | None = None) -> None:
        """End the frame here, even if it is empty. Formats without frames ignore it."""
        collector = self._collect(3)
        collector.end_frame(metadata)
        # Frames without statements have no rows, but must be written in time too.
        self._pending += 1
        if self._pending >= self._rows:
            self._flush()

    def _encode(self, batch: Batch) -> None:
        self.statements += len(batch)
        self._put(lambda: self._encoder.encode(batch, True))
        self._rows = LATER_ROWS

    def _finish(self) -> None:
        if self._encoder is None or self._early:
            self._collect(3)
        super()._finish()
        self._collector = None


def iterate(statements: Iterable[Any]) -> Iterator[Any]:
    """Iterate over statements. A Batch of query results is refused: its rows could be taken for statements."""
    return StatementIterator([statements]) if isinstance(statements, Batch) else iter(statements)


def refuse_read(statements: Iterable[Any], version: int) -> None:
    """JellyOptionsError for statements of `read` with quoted triples that a Jelly stream of a version would change."""
    if isinstance(statements, StatementIterator):
        for read in statements.quoted:
            refuse_version(read, version)


def arity_of(statement: Any) -> int:
    """The number of terms of a statement. The first statement decides whether a stream has triples or quads."""
    if type(statement) is str:
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got str: {statement!r:.80}")
    if isinstance(statement, Batch):
        raise JellyArgumentError("expected a statement (Triple, Quad or 3 or 4 terms), got Batch: use add_batch")
    try:
        return len(statement)
    except TypeError:
        kind = type(statement).__name__
        raise JellyArgumentError(f"expected a statement (Triple, Quad or 3 or 4 terms), got {kind}") from None


def _check_options(options: Any) -> None:
    if isinstance(options, Mapping):
        refuse_unknown(options, [field.name for field in fields(StreamOptions)], "StreamOptions")


@checked(elsewhere={"format": "dumps writes Jelly; use jelly.write(io.BytesIO(), statements, format=...)"})
def dumps(
    statements: Iterable[Statement] | Batch,
    options: StreamOptions | Mapping[str, Any] | None = None,
    *,
    delimited: bool = True,
) -> bytes:
    """Write statements as one Jelly stream, with a single frame if it takes no more than 1 MB.

    Parameters
    ----------
    statements : iterable of Triple, Quad or sequences of terms
        The statements.
    options : StreamOptions or mapping, optional
        Options of the stream, or some of their fields. By default a flat stream whose options announce what its
        statements need.

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
    if options is not None:  # a small message is to cost little
        _check_options(options)
    iterator: Any
    ahead: list[Any] = []  # what the iterator does not give any more
    if short := type(statements) is list and len(statements) <= FIRST_ROWS:
        first, iterator = statements[:1], statements
    else:
        iterator = iterate(statements)
        first = ahead = list(islice(iterator, 1))
        if type(statements) is not list and (source := getattr(iterator, "options", None)) is not None:
            options = options_like(options, source)
    shape = ARITIES.get(type(first[0])) or arity_of(first[0]) if first else 3
    if plain := options is None:
        options, allowed, arity = default_options(shape), ALL_FIELDS, 4
    else:
        allowed = open_fields(options)
        options = output_options(None, shape, options)
        if options.physical_type == PhysicalType.UNSPECIFIED:
            options = options.replace(physical_type=physical_for(options, shape))
        fixed = "physical_type" not in allowed
        arity = 3 if fixed and options.physical_type == PhysicalType.TRIPLES else 4
    spare = _SPARE[shape == 3, bool(delimited)] if plain else []
    only: Encoder | None = None
    try:  # threads take from it, too
        collector, only = spare.pop()
    except IndexError:
        collector = BatchBuilder(arity, FIRST_ROWS)
    for statement in ahead:
        collector.add(statement)
    more = collector.extend(iterator, COLLECT_ROWS)
    if not short:
        refuse_read(iterator, options.version)
    if not more:
        # A small message is to cost little.
        batch = collector.batch
        fields = missing(options, batch, allowed) if not plain or lacking(options, batch) else {}
        if only is None or fields:
            only = Encoder(changed(options, fields), frame_rows=0, delimited=delimited)
        if not plain or fields:
            return only.encode(batch, keep_frames=False) + only.close()
        data = only._encode_alone(batch)
        if len(collector) <= FIRST_ROWS and len(data) <= MOST_SPARE and len(spare) < SPARES:
            collector.clear()
            spare.append((collector, only))
        return data
    if short:  # of which the collector has all
        iterator = iter(())
    return stream_of(_collected(collector, iterator, options.version), options, allowed, delimited=delimited)


def _collected(collector: BatchBuilder, statements: Iterator[Any], version: int) -> Iterator[Batch]:
    """The Batches of a full collector, and of the statements that follow."""
    more = True
    while more:
        yield collector.batch
        collector.clear()
        more = collector.extend(statements, LATER_ROWS)
        refuse_read(statements, version)
    yield collector.batch
