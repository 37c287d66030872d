"""Reading message logs."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jelly._bytes.source import MAX_EXPANSION, Source
from jelly._core.algebra.message_blank_nodes import number_labels
from jelly._core.algebra.message_blank_nodes import rename_blank_nodes as renamed
from jelly._core.base.batch import Batch
from jelly._formats.registry import MESSAGE_READING, Content
from jelly._options.settings import checked
from jelly._streams.inputs import ItemReader
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError
from jelly.messages._media import Dialect, check_members, find_log, media_types
from jelly.messages._message import Declared, Message, messages_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

# Bytes given to a log at a time: what comes out of them is in memory at once.
PIECE = 1 << 17
# What a web server is asked for.
ACCEPT = ", ".join(media_types()) + ", */*;q=0.1"


class MessageReader(ItemReader[Message]):
    """Read a message log.

    Iterate over the reader for messages, or call `batches`, whose frames are the messages; it can be consumed only
    once. Or pass chunks of bytes to `feed` yourself, with ``src=b""``.

    Parameters
    ----------
    src : Any
        The input, as for `jelly.Reader`.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`. The formats are ``nt nq ttl trig ndjsonld yamlld rdf jelly tar``, or media
        types with parameters. By default the parameters of a media type decide the ``dialect``, else comments (``#
        @message``; RDF Messages, section 2.1), unless the document begins by announcing directives (``MESSAGE`` and
        ``@message .``) with ``VERSION "1.2-messages"``. ``dialect=None`` reads a document as one message.

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
    With ``dialect="comment"`` it is an empty message, because there each line is one. With ``strict=True`` there are
    neither blank lines nor arrays.

    Examples
    --------
    >>> reader = MessageReader(b"<a:s> <a:p> <a:o> .\\n# @message\\n", format="nt")
    >>> [len(message) for message in reader], reader.messages
    ([1, 0], 2)
    """

    @checked(MESSAGE_READING)
    def __init__(self, src: Any, **options: Unpack[ReadOptions]) -> None:
        given: dict[str, Any] = {**options}
        expansion = given.pop("max_expansion", MAX_EXPANSION)
        source = src if isinstance(src, Source) else Source(src, expansion, ACCEPT)
        try:
            with source.named():
                name = given.pop("format", None) or source.media_type
                format, found = find_log(name, source.name)
            check_members(given.get("members"), format)
        except BaseException:
            source.close()
            raise
        self.dialect: Dialect | None = given.pop("dialect", found)
        # Where nobody says what delimits messages, the document may.
        is_open = "dialect" not in options and self.dialect == "comment" and "messages" not in (name or "")
        self._rename = given.pop("rename_blank_nodes", False)
        # Keywords of other logs change nothing.
        known = {name: value for name, value in given.items() if name in format.reading}
        own = {
            "dialect": "either" if is_open else self.dialect,
            "announced": found == "directive",
            "max_expansion": expansion,
        }
        self._open(source, Content.MESSAGES, known, own, format=format)
        self._prefixes = Declared()
        self.messages: int = 0
        self.statements: int = 0
        self._unread = False  # messages of a chunk are still to come

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Add source and message to errors. Limits of frames and lines are the limit of a message here."""
        with self.source.named():
            try:
                yield
            except JellyError as error:
                self._unread = False
                if error.message is None:  # an error of the source, for example in compressed data
                    error.message = self.messages
                if isinstance(error, JellyLimitError):
                    error.reason = re.sub(r"max_(frame|line)_bytes", "max_message_bytes", error.reason)
                raise

    def _given(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.messages += len(batch.frames)
            self.statements += len(batch)
            if (written := self._decoder.written) is not None:
                batch = number_labels(batch, written.mark if written.used else None)
            yield renamed(batch) if self._rename else batch

    def _read(self) -> Iterator[Batch]:
        with self._named():
            for chunk in self.source.chunks():
                yield from self._given(self._fed(chunk))
            yield from self._given(self._decoder.close())

    def _fed(self, chunk: Any) -> Iterator[Batch]:
        """The Batches of a chunk of any length, piece by piece."""
        for at in range(0, len(chunk), PIECE):
            yield from self._decoder.feed(chunk[at : at + PIECE])

    def _items(self, batches: Iterable[Batch]) -> Iterator[Message]:
        for batch in batches:
            yield from messages_of(batch, self._prefixes)

    def feed(self, chunk: Any) -> Iterator[Message]:
        """Pass a chunk of bytes, and get the messages that end in it. Consume the iterator before the next call.

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
        return self._stepped(self._fed, chunk)

    def close(self) -> Iterator[Message]:
        """End the input and get the remaining messages."""
        self._check_used_up()
        return self._stepped(self._decoder.close)

    def _check_used_up(self) -> None:
        if self._unread:
            raise RuntimeError("the last chunk is not used up: iterate over what feed gave first")

    def _stepped(self, step: Callable[..., Iterator[Batch]], *data: Any) -> Iterator[Message]:
        with self._named():
            yield from self._items(self._given(step(*data)))
        self._unread = False


@checked(MESSAGE_READING)
def read_messages(src: Any, **options: Unpack[ReadOptions]) -> Iterator[Message]:
    """Read the messages of a log one by one, each as soon as it is complete. Memory stays bounded.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes, compressed or not.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`.

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
    return iter(MessageReader(src, **options))


@checked(MESSAGE_READING)
async def aread_messages(src: AsyncIterable[bytes], **options: Unpack[ReadOptions]) -> AsyncIterator[Message]:
    """Read the messages of a live log from asyncio, each as soon as it is complete.

    Parameters
    ----------
    src : asynchronous iterable of bytes
        The chunks of the log.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`.

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
    reader = MessageReader(b"", **options)
    async for chunk in src:
        for message in reader.feed(chunk):
            yield message
    for message in reader.close():
        yield message
