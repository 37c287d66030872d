"""Writing message logs."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from jelly._bytes.sink import one_thread
from jelly._core.base.batch import Batch
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._formats.registry import JELLY_LOG, MESSAGE_WRITING, Content, Format
from jelly._options.options import COLUMN_VERSION, LogicalType, PhysicalType, StreamOptions
from jelly._options.settings import checked
from jelly._streams.outputs import ItemWriter, WideningEncoder, open_fields, options_like, output_options
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError
from jelly.messages._media import check_members, find_log
from jelly.messages._message import NOTE, Declared, Message, messages_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import WriteOptions

# Rows, and messages, that are collected before they are written.
COLLECT_ROWS = 4096
# Statements after which a frame of columns ends, with the message.
COLUMN_ROWS = 1 << 14


# The default; Python has one empty tuple.
_NONE: tuple[tuple[str, str], ...] = ()


@checked()
def _entries(
    metadata: Mapping[str, bytes] | None, namespaces: Iterable[tuple[str, str]], note: Any
) -> dict[str, bytes]:
    """The metadata of a message, with its note."""
    if not note:
        return dict(metadata or {})
    if not isinstance(note, str) or "\n" in note or "\r" in note:
        raise JellyArgumentError(f"note is {note!r:.80}: expected a str of one line")
    return {**(metadata or {}), NOTE: note.encode()}


def log_options(given: StreamOptions | Mapping[str, Any] | None, arity: int) -> StreamOptions:
    """The options, with a logical type: graphs where there is only the default graph, else datasets."""
    if isinstance(given, StreamOptions):
        if given.logical_type != LogicalType.UNSPECIFIED:
            return given
        triples = given.physical_type == PhysicalType.TRIPLES or (
            given.physical_type == PhysicalType.UNSPECIFIED and arity == 3
        )
        return given.replace(logical_type=LogicalType.GRAPHS if triples else LogicalType.DATASETS)
    return output_options(None, arity, given, grouped=True)


class MessageWriter(ItemWriter):
    """Write a message log.

    A message is written as a whole or, if that fails, not at all; the writer can continue with other messages. In
    Jelly, N-Triples and N-Quads several messages are written together, so the error of one that the format cannot
    hold may come from a later call of `write`, from ``flush()`` or from ``close()``; in Jelly nothing can be
    written after it. Empty messages are kept. Metadata is written only to Jelly, notes only to Jelly and to ``#
    @message`` comments. The scope of a blank node is its message (RDF Messages, section 1.4); labels are written as
    they are given.

    Parameters
    ----------
    dst : str, os.PathLike or binary file object
        The output. ``"-"`` is standard output. A path gets its final name when the writer closes without an error.
    options : StreamOptions or mapping, optional
        Options of a Jelly log; the logical type is a grouped one. What is not given is chosen by the first messages: a
        mapping such as ``{"version": 3}`` says only some of them.
    **settings : Unpack[WriteOptions]
        ``format``, ``dialect`` and ``members``, see `WriteOptions`. The formats are those of `MessageReader`.

    Raises
    ------
    JellyError
        If the format cannot hold a statement, for example a named graph in N-Triples, Turtle or RDF/XML.

    Examples
    --------
    >>> import io, jelly
    >>> out = io.BytesIO()
    >>> with MessageWriter(out, format="nt") as writer:
    ...     writer.write([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))], note="one")
    ...     writer.write([])
    >>> print(out.getvalue().decode(), end="")
    # @message one
    <a:s> <a:p> "o" .
    # @message
    """

    content = Content.MESSAGES

    @checked(MESSAGE_WRITING)
    def __init__(
        self,
        dst: Any,
        options: StreamOptions | Mapping[str, Any] | None = None,
        **settings: Unpack[WriteOptions],
    ) -> None:
        given: dict[str, Any] = {**settings}
        dialect, members = given.pop("dialect", None), given.pop("members", None)
        with self._opening(dst, given):
            check_members(members, self.format)
            self._given = options
            self._make = partial(self.format.open_writer, dialect=dialect or self._dialect, members=members)
            known = log_options(options, 4)
            if self.format is not JELLY_LOG:
                self._encoder = self._make(options)
            elif not known.is_grouped:
                kind = known.logical_type.name
                raise JellyOptionsError(f"the logical type of a message log is GRAPHS or DATASETS, not {kind}")
        quads = self.format.quads and known.physical_type != PhysicalType.TRIPLES
        self._collector = BatchBuilder(4 if quads else 3)
        # These find what a format cannot hold when it is written.
        self._each = self.format.name not in ("jelly", "nt", "nq")
        self.messages: int = 0
        self.statements: int = 0

    def _find(self, format: str | None) -> Format:
        found, dialect = find_log(format, self._sink.name)
        self._dialect = dialect or "comment"
        return found

    def write(
        self,
        message: Iterable[Any],
        *,
        namespaces: Iterable[tuple[str, str]] = (),
        metadata: Mapping[str, bytes] | None = None,
        note: str = "",
    ) -> None:
        """Write one message.

        Parameters
        ----------
        message : Message or iterable of statements
            The message.
        namespaces : iterable of (str, str), optional
            Prefix and IRI of further namespace declarations.
        metadata : mapping of str to bytes, optional
            Further metadata.
        note : str, default ""
            Text after the delimiter, instead of the note of the message.
        """
        # As `one_thread` does, without a call more for each message.
        if not self._claim.acquire(False):
            self._refuse()
        try:
            self._check_open()
            collector = self._collector
            entries = _entries(metadata, namespaces, note) if metadata or note or namespaces is not _NONE else {}
            if isinstance(message, Message):
                self._follow(message._source)
                entries = {**message.metadata, **entries}
                namespaces = [*message.namespaces, *namespaces]
            elif isinstance(message, Batch):
                message = message.statements()  # which query results do not have
            elif not hasattr(message, "__iter__"):
                raise JellyArgumentError(f"message is {message!r:.80}: expected a Message or statements")
            before = len(collector)
            try:
                for name, iri in namespaces:
                    collector.namespace(name, iri)
                collector.extend(iter(message), 1 << 62)
                rows = len(collector) - before
                collector.end_frame(entries)
                if self._each:
                    self._flush()
            except BaseException as error:
                collector.drop_open_frame()
                if self._each:
                    collector.clear()
                if isinstance(error, JellyError):
                    error.message = self.messages
                raise
            self.messages += 1
            self.statements += rows
            self._pending += 1
            if not self._each and (self._pending >= COLLECT_ROWS or len(collector) >= COLLECT_ROWS):
                self._flush()
        finally:
            self._claim.release()

    def _follow(self, source: StreamOptions | None) -> None:
        """Write Jelly-RDF 1.2 where the first messages come from such a log and the caller leaves it open."""
        if self._encoder is None and not self.messages:
            self._given = options_like(self._given, source)

    @one_thread
    def _flush(self) -> None:
        """Encode the messages that wait. If one of them cannot be written, the others are before its error comes."""
        try:
            super()._flush()
        except JellyError:
            # A failed encoder of Jelly stays failed.
            if self._each or self.format is JELLY_LOG:
                raise
            self._flush_each()

    def _flush_each(self) -> None:
        waiting: list[Message] = []

        def take(batch: Batch) -> None:
            for message in messages_of(batch, Declared()):
                len(message.statements)  # made now: the Batch is emptied
                waiting.append(message)

        collector = self._collector
        collector.lend(take)
        self.messages -= len(waiting)
        self.statements -= sum(map(len, waiting))
        errors: list[JellyError] = []
        for message in waiting:
            for name, iri in message.namespaces:
                collector.namespace(name, iri)
            collector.extend(message.statements, 1 << 62)
            collector.end_frame(message.metadata)
            try:
                super()._flush()
            except JellyError as error:
                collector.clear()
                error.message = self.messages
                errors.append(error)
            else:
                self.messages += 1
                self.statements += len(message)
        if errors:
            first, *others = errors
            if others:
                first.reason += f"; of the messages after it {len(others)} could not be written either"
            raise first

    def _encode(self, batch: Batch) -> None:
        if not len(batch.frames):
            return
        if self._encoder is None:
            self._start(batch.arity)
        self._put(lambda: self._encoder.encode(batch))

    def _start(self, arity: int) -> None:
        """Begin a Jelly log, whose options follow from the first messages."""
        options = log_options(self._given, arity)
        allowed = open_fields(self._given)
        if not isinstance(self._given, StreamOptions):
            allowed -= {"physical_type"}
        is_live = self._sink.is_live
        if not options.version and is_live:
            options = options.replace(version=2)  # namespaces may come late
        # In columns a frame may have several messages, but those of a live stream do not wait.
        rows = COLUMN_ROWS if options.version == COLUMN_VERSION and not is_live else 0
        self._encoder = WideningEncoder(options, partial(self._make, frame_rows=rows), allowed, self)

    def _finish(self) -> None:
        self._flush()
        if self._encoder is not None:  # Jelly without messages is a file of no bytes: the shortest stream has a frame
            super()._finish()

    @one_thread
    @checked()
    def add_batch(self, batch: Batch) -> None:
        """Write the messages of a Batch: its frames. Rows after the last frame are an error."""
        self._check_open()
        if batch.variables is not None:
            raise JellyOptionsError("query results cannot be messages: use jelly.results.write_results")
        n = len(batch.frames)
        if len(batch) != (int(batch.frames[-1]) if n else 0):
            raise JellyArgumentError("the Batch has rows after its last frame: they are no whole message")
        self._flush()
        self._follow(batch.options)
        self._encode(batch)
        self.messages += n
        self.statements += len(batch)


@checked(MESSAGE_WRITING)
def write_messages(
    dst: Any,
    messages: Iterable[Iterable[Any]],
    options: StreamOptions | Mapping[str, Any] | None = None,
    **settings: Unpack[WriteOptions],
) -> int:
    """Write messages to a log, and count them.

    Parameters
    ----------
    dst : Any
        The output, as for `MessageWriter`.
    messages : iterable of Message or of iterables of statements
        The messages.
    options : StreamOptions or mapping, optional
        Options of a Jelly log, see `MessageWriter`.
    **settings : Unpack[WriteOptions]
        ``format``, ``dialect`` and ``members``, see `WriteOptions`.

    Examples
    --------
    >>> import io
    >>> out = io.BytesIO()
    >>> from jelly.messages import read_messages
    >>> write_messages(out, read_messages(b"<a:s> <a:p> <a:o> .\\n# @message\\n", format="nt"), format="ndjsonld")
    2
    >>> out.getvalue()
    b'{"@id":"a:s","a:p":[{"@id":"a:o"}]}\\n{}\\n'
    """
    with MessageWriter(dst, options, **settings) as writer:
        for message in messages:
            writer.write(message)
    return writer.messages


@checked(MESSAGE_WRITING)
async def aencode_messages(
    messages: AsyncIterable[Iterable[Any]],
    options: StreamOptions | Mapping[str, Any] | None = None,
    **settings: Unpack[WriteOptions],
) -> AsyncIterator[bytes]:
    """Encode a live log from asyncio: the bytes of each message, as soon as it is there.

    Parameters
    ----------
    messages : asynchronous iterable of Message or of iterables of statements
        The messages.
    options : StreamOptions or mapping, optional
        Options of a Jelly log, see `MessageWriter`.
    **settings : Unpack[WriteOptions]
        ``format``, ``dialect`` and ``members``, see `WriteOptions`.

    Examples
    --------
    >>> import asyncio
    >>> async def live():
    ...     yield []
    >>> async def main():
    ...     return [chunk async for chunk in aencode_messages(live(), format="nt", dialect="directive")]
    >>> asyncio.run(main())
    [b'VERSION "1.2-messages"\\nMESSAGE\\n']
    """
    out = _Parts()
    with MessageWriter(out, options, **settings) as writer:
        async for message in messages:
            writer.write(message)
            writer.flush()
            if out:
                yield b"".join(out)
                out.clear()
    if out:
        yield b"".join(out)


class _Parts(list[bytes]):
    """What was written."""

    write = list.append
