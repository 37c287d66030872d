"""Reading message logs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from inspect import signature
from typing import Any, Literal

from jelly._bytes.source import MAX_EXPANSION, Source
from jelly._core.algebra.message_blank_nodes import number_labels
from jelly._core.algebra.message_blank_nodes import rename_blank_nodes as renamed
from jelly._core.base.batch import Batch
from jelly._formats.sniff import explainer
from jelly._options.limits import default
from jelly._options.settings import LIMITS, checked, fitted
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError
from jelly.messages._document_logs import NdjsonLog, XmlLog, YamlLog
from jelly.messages._logs import JellyLog, Log, TextLog, TurtleLog
from jelly.messages._media import LOG_FORMATS, Dialect, LogFormat, find_log, media_type
from jelly.messages._message import Declared, Message, messages_of
from jelly.messages._tar import TarLog

__all__ = ["MessageReader", "aread_messages", "read_messages"]

# Bytes given to a log at a time: what comes out of them is in memory at once.
PIECE = 1 << 17
# What a web server is asked for.
ACCEPT = ", ".join([media_type(name) for name in LOG_FORMATS]) + ", */*;q=0.1"
# Formats that an input can be recognised as.
NAMES = ("jelly", "nt", "nq", "ttl", "tar")

_BY_MEDIA_TYPE: Any = object()


class MessageReader:
    """Read a message log.

    Iterate over the reader for messages, or call `batches`; it can be consumed only once. Or pass chunks of bytes to
    `feed` yourself, with ``src=b""``.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    format : str, optional
        Name or suffix (``nt nq ttl trig ndjsonld yamlld rdf jelly tar``), or a media type with parameters. By default
        the Content-Type of a body from the web decides, or else the suffix; a source without a name is Jelly.
    dialect : {"comment", "directive"} or None, optional
        What delimits messages in N-Triples, N-Quads, Turtle and TriG: ``# @message`` comments (RDF Messages, section
        2.1), or ``MESSAGE`` and ``@message .`` in a document that announces them with ``VERSION "1.2-messages"``. None
        reads a document as one message. By default the parameters of a media type decide, else comments, unless the
        document begins by announcing directives.
    members : str, optional
        Format of the files in a TAR archive, any of those of `jelly.Reader`. By default the suffix of each decides.
    trailing : {"open", "close"}, default "open"
        Whether a comment at the very end opens an empty message. Directives never do.
    rename_blank_nodes : bool, default False
        Put the number of the message before each label (``_:m7-x``), so that messages can be merged.
    base : str, optional
        Base IRI for resolving relative IRIs.
    contexts : mapping of str to Any, optional
        JSON-LD contexts by URL: the path of a file, JSON text, or a dict. Contexts are never fetched: one that is used
        and not given is an error that names its URL.
    strict : bool, default False
        Allow only RDF 1.1 in N-Triples and N-Quads, no comment that delimits messages inside a statement or graph block
        of Turtle and TriG, and neither blank lines nor arrays in NDJSON-LD.
    force : bool, default False
        Read the frames of a flat Jelly stream as messages.
    max_message_bytes : int, optional
        Maximum bytes of a message. By default 256 MiB, or 16 times the size of the file if that is more.
    max_names, max_prefixes, max_datatypes, max_frame_rows : int
        Limits of the `Decoder`; by default 4096, 1024 and 256 entries, and 16,777,216 rows of a frame or message.
    max_expansion : int, default 4096
        Compressed data may expand to this many times their size, plus 8 MiB.

    Attributes
    ----------
    messages : int
        Number of messages read so far.

    Raises
    ------
    JellyError
        If the input is wrong; the error gives the index of the message and the line. Messages before it are yielded
        first.

    Notes
    -----
    The scope of a blank node is its message (section 1.4). Labels are given as they stand, so nodes of two messages
    that have the same label are equal in Python; with ``rename_blank_nodes=True`` they are not.

    Every comment that matches delimits messages, wherever it stands (RDF Messages, section 2.1). In Turtle and TriG it
    may stand inside a statement or graph block: triples whose object comes before it belong to the message before, and
    the statement goes on in the next. These messages are given when the statement or graph block ends, and count as one
    for ``max_message_bytes``. Newer drafts of RDF Messages refuse that, and so does ``strict=True``; a directive cannot
    stand there.

    In a TAR archive each file is a message, in the order of the archive; it may be in any format of `jelly.Reader`, and
    compressed (section 3.3). Directories are passed over; links, devices and sparse files are refused; nothing is
    extracted. RDF Messages defines no log of RDF Thrift, RDF Protobuf and N3: archives can hold such messages.

    In NDJSON-LD a line with only a context, ``{"@context": ...}``, applies to the following lines and is no message.
    With ``dialect="comment"`` it is an empty message, because there each line is one.

    Examples
    --------
    >>> reader = MessageReader(b"<a:s> <a:p> <a:o> .\\n# @message\\n", format="nt")
    >>> [len(message) for message in reader], reader.messages
    ([1, 0], 2)
    """

    @checked()
    def __init__(
        self,
        src: Any,
        *,
        format: str | None = None,
        dialect: Dialect | None = _BY_MEDIA_TYPE,
        members: str | None = None,
        trailing: Literal["open", "close"] = "open",
        rename_blank_nodes: bool = False,
        base: str | None = None,
        contexts: Mapping[str, Any] | None = None,
        strict: bool = False,
        force: bool = False,
        max_message_bytes: int | None = None,
        max_names: int = 4096,
        max_prefixes: int = 1024,
        max_datatypes: int = 256,
        max_frame_rows: int = default("max_frame_rows"),
        max_expansion: int = MAX_EXPANSION,
    ) -> None:
        self.source: Source = Source(src, max_expansion, ACCEPT)
        self.format: LogFormat
        try:
            with self.source.named():
                format = format or self.source.media_type
                self.format, found, announced = find_log(format, self.source.name)
        except JellyError:
            self.source.close()
            raise
        self.source.explain = explainer(self.format.name, NAMES, "format")
        if max_message_bytes is None:
            most = fitted({}, ["max_message_bytes"], self.source.size)
            max_message_bytes = most.get("max_message_bytes", LIMITS["max_message_bytes"])
        self.dialect: Dialect | None = found if dialect is _BY_MEDIA_TYPE else dialect
        # Where nobody says what delimits messages, the document may.
        is_open = dialect is _BY_MEDIA_TYPE and self.dialect == "comment" and "messages" not in (format or "")
        how = "either" if is_open else self.dialect
        self._rename = rename_blank_nodes
        self._prefixes = Declared()
        self.messages: int = 0
        self.statements: int = 0
        self._unread = False  # messages of a chunk are still to come
        name = self.format.name
        if members is not None and name != "tar":
            raise JellyArgumentError(f"members= is for TAR archives: {self.format.title} has no files in it")
        self._log: Log
        if name == "jelly":
            self._log = JellyLog(
                force=force,
                max_frame_bytes=max_message_bytes,
                max_names=max_names,
                max_prefixes=max_prefixes,
                max_datatypes=max_datatypes,
                max_frame_rows=max_frame_rows,
            )
        elif name in ("nt", "nq"):
            self._log = TextLog(
                quads=self.format.quads,
                strict=strict,
                messages=how or "directive",
                announced=announced,
                trailing=trailing,
                max_message_bytes=max_message_bytes,
                max_line_bytes=max_message_bytes,
            )
        elif self.format.delimited:
            self._log = TurtleLog(
                format=name,
                dialect=how,
                announced=announced,
                trailing=trailing,
                strict=strict,
                base=base,
                max_message_bytes=max_message_bytes,
            )
        elif name == "ndjsonld":
            self._log = NdjsonLog(
                contexts=contexts, strict=strict, dialect=how, base=base, max_message_bytes=max_message_bytes
            )
        elif name == "tar":
            self._log = TarLog(
                members=members,
                contexts=contexts,
                strict=strict,
                max_message_bytes=max_message_bytes,
                base=base,
                max_names=max_names,
                max_prefixes=max_prefixes,
                max_datatypes=max_datatypes,
                max_frame_rows=max_frame_rows,
                max_expansion=max_expansion,
            )
        elif name == "yamlld":
            self._log = YamlLog(contexts=contexts, base=base, max_message_bytes=max_message_bytes)
        else:
            self._log = XmlLog(base=base, max_message_bytes=max_message_bytes)

    @property
    def options(self) -> Any:
        """The stream options of a Jelly log, or None for other formats and before they have been read."""
        return getattr(self._log, "options", None)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Within this, errors name the source, and the limit of a message: frames and lines have it too."""
        with self.source.named():
            try:
                yield
            except JellyLimitError as error:
                error.reason = re.sub(r"max_(frame|line)_bytes", "max_message_bytes", error.reason)
                error.args = (error.reason,)
                raise

    def _given(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.messages += len(batch.frames)
            self.statements += len(batch)
            if (written := self._log.written) is not None:
                batch = number_labels(batch, written.mark if written.used else None)
            yield renamed(batch) if self._rename else batch

    def batches(self) -> Iterator[Batch]:
        """Iterate over the Batches of the log. Their frames are the messages; each message is in one Batch.

        Returns
        -------
        Iterator[Batch]
            The Batches in order.
        """
        with closing(self.source), self._named():
            try:
                for chunk in self.source.chunks():
                    yield from self._given(self._fed(chunk))
                yield from self._given(self._log.close())
            except JellyError as error:
                if error.message is None:  # an error of the source, for example in compressed data
                    error.message = self.messages
                raise

    def _fed(self, chunk: Any) -> Iterator[Batch]:
        """What the log gives for a chunk, however long, piece by piece."""
        for at in range(0, len(chunk), PIECE):
            yield from self._log.feed(chunk[at : at + PIECE])

    def _messages(self, batches: Iterable[Batch]) -> Iterator[Message]:
        for batch in batches:
            yield from messages_of(batch, self._prefixes)

    def __iter__(self) -> Iterator[Message]:
        return self._messages(self.batches())

    def feed(self, chunk: Any) -> Iterator[Message]:
        """Pass a chunk of bytes and get the messages that end in it.

        Parameters
        ----------
        chunk : bytes-like
            The next bytes of the log.

        Returns
        -------
        Iterator[Message]
            The messages. Consume it before the next call.

        Raises
        ------
        RuntimeError
            If the previous iterator was not consumed to its end.
        """
        try:
            memoryview(chunk)
        except TypeError:
            raise JellyArgumentError(f"chunk is {chunk!r:.80}: expected bytes") from None
        self._check_used_up()
        self._unread = True
        return self._taken(self._fed, chunk)

    def close(self) -> Iterator[Message]:
        """End the input and get the remaining messages.

        Returns
        -------
        Iterator[Message]
            The messages that the end of the input completes.
        """
        self._check_used_up()
        return self._taken(self._log.close)

    def _check_used_up(self) -> None:
        if self._unread:
            raise RuntimeError("the last chunk is not used up: iterate over what feed gave first")

    def _taken(self, step: Callable[..., Iterator[Batch]], *data: Any) -> Iterator[Message]:
        with self._named():
            try:
                yield from self._messages(self._given(step(*data)))
            except JellyError:
                self._unread = False
                raise
        self._unread = False


MESSAGE_READING = frozenset(signature(MessageReader).parameters) - {"src"}


@checked(MESSAGE_READING)
def read_messages(src: Any, **settings: Any) -> Iterator[Message]:
    """Read the messages of a log one by one, each as soon as it is complete. Memory stays bounded.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes, compressed or not.
    **settings : Any
        Keywords of `MessageReader`.

    Returns
    -------
    Iterator[Message]
        The messages in order.

    Raises
    ------
    JellyError
        If the input is wrong, see `MessageReader`.

    Examples
    --------
    >>> log = b'<a:s> <a:p> "1" .\\n# @message second\\n<a:s> <a:p> "2" .\\n'
    >>> for message in read_messages(log, format="nt"):
    ...     print(message.index, message.note, *message)
    0  <a:s> <a:p> "1" .
    1 second <a:s> <a:p> "2" .
    """
    return iter(MessageReader(src, **settings))


@checked(MESSAGE_READING)
async def aread_messages(src: AsyncIterable[bytes], **settings: Any) -> AsyncIterator[Message]:
    """Read the messages of a live log from asyncio, each as soon as it is complete.

    Parameters
    ----------
    src : asynchronous iterable of bytes
        The chunks of the log.
    **settings : Any
        Keywords of `MessageReader`.

    Yields
    ------
    Message
        The next message.

    Examples
    --------
    >>> import asyncio
    >>> async def live():
    ...     yield b"<a:s> <a:p> <a:o> .\\n# @mess"
    ...     yield b"age\\n<a:s> <a:p> <a:o2> .\\n"
    >>> async def main():
    ...     return [len(message) async for message in aread_messages(live(), format="nt")]
    >>> asyncio.run(main())
    [1, 1]
    """
    reader = MessageReader(b"", **settings)
    async for chunk in src:
        for message in reader.feed(chunk):
            yield message
    for message in reader.close():
        yield message
