"""Readers of logs: bytes in, Batches whose frames are complete messages out. They do no input or output.

Whatever is not Jelly becomes N-Quads with delimiters and goes through one `TextReader`, which knows the rules of
delimiters, so that these stand in one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jelly._core.algebra.message_blank_nodes import drop_open_frame
from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.ntriples.text import TextReader
from jelly._formats.language_case import Written
from jelly._options.options import LogicalType
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError

# A Batch that only the end of a chunk ends.
NO_LIMIT = 1 << 40

# Frames of Jelly before the options: they are kept until the options come.
MAX_EARLY = 1 << 20

# Bytes of N-Quads that are made into a Batch together.
PIECE = 1 << 22

BOM = b"\xef\xbb\xbf"

# The delimiter that ends a message in the N-Quads of other formats.
MESSAGE = b"MESSAGE\n"


class JellyLog:
    """Jelly: a frame is a message, empty ones included (RDF Messages, section 2.5)."""

    written: Written | None = None

    def __init__(self, *, force: bool = False, **limits: Any) -> None:
        self._decoder = Decoder(batch_rows=NO_LIMIT, batch_bytes=NO_LIMIT, **limits)
        self._decoder.whole = True
        self._force = force
        self._checked = False
        self._fed = False

    @property
    def options(self) -> Any:
        return self._decoder.options

    def feed(self, data: Any) -> Iterator[Batch]:
        self._fed = self._fed or len(data) > 0
        self._decoder.push(data)
        return self._pull()

    def close(self) -> Iterator[Batch]:
        if self._fed:  # no bytes: no messages
            self._decoder.finish()
            yield from self._pull()

    def _pull(self) -> Iterator[Batch]:
        try:
            while True:
                # Nothing is given before the options are known, however the input is cut: they may refuse it.
                known = self._checked
                batch = self._decoder.pull(known)
                self._check()
                if batch is None and known == self._checked:
                    return
                # There are rows after the last frame only where the next one is broken.
                if batch is not None and len(batch.frames):
                    yield drop_open_frame(batch)
        except JellyError as error:
            if error.message is None:
                error.message = error.frame
            raise

    def _check(self) -> None:
        options = self._decoder.options
        if options is None and self._decoder.frames > MAX_EARLY:
            raise JellyFormatError(f"{MAX_EARLY} frames and no stream options row in them; is it Jelly?", message=0)
        if options is None or self._checked:
            return
        self._checked = True
        kind = options.logical_type
        if kind.base in (LogicalType.FLAT_TRIPLES, LogicalType.FLAT_QUADS) and not self._force:
            raise JellyOptionsError(
                f"the logical type is {kind.name}: its frames are not messages; "
                "pass force=True to read them as messages",
                message=0,
            )


class TextLog:
    """N-Triples and N-Quads, straight from the core."""

    written: Written | None = None

    def __init__(self, **settings: Any) -> None:
        self._reader = TextReader(**settings)

    def feed(self, data: Any) -> Iterator[Batch]:
        return self._reader.feed(data)

    def close(self) -> Iterator[Batch]:
        return self._reader.close()


class MadeLog(TextLog):
    """Base of logs whose messages are made into N-Quads, each message when all of its text has come."""

    # The beginning of the input, until the byte order mark is taken off; None afterwards.
    _head: bytes | None = b""
    _line = 1  # of an error that does not say another one
    _broken: JellyError | None = None

    def __init__(self, max_message_bytes: int, **settings: Any) -> None:
        super().__init__(
            **{"quads": True, "messages": "directive", "announced": True} | settings, max_message_bytes=NO_LIMIT
        )
        self._max = max_message_bytes
        self._waiting: list[bytes] = []
        self._n = 0  # bytes that wait

    def feed(self, data: Any) -> Iterator[Batch]:
        return self._given(self._from_start(bytes(data), False))

    def close(self) -> Iterator[Batch]:
        yield from self._given(self._from_start(b"", True))
        yield from super().close()

    def _from_start(self, data: bytes, final: bool) -> Iterator[Any]:
        if self._head is not None:
            self._head += data
            data = self._head.removeprefix(BOM)
            if (not final and BOM.startswith(self._head)) or not self._begins(data, final):
                return
            self._head = None
        yield from self._made(data, final)

    def _begins(self, head: bytes, final: bool) -> bool:
        """Whether this beginning, without its byte order mark, says enough to read on."""
        return True

    def _made(self, data: bytes, final: bool) -> Iterator[Any]:
        """The N-Quads, with delimiters, of the messages that end in the next chunk, and the prefixes that they declare,
        each a name and an IRI, in their places."""
        raise NotImplementedError

    def _given(self, made: Iterable[Any]) -> Iterator[Batch]:
        """The Batches of N-Quads. An error comes after what stands before it, and names the message that would follow.
        """
        if self._broken is not None:  # what has failed stays failed
            raise self._broken
        done: list[bytes] = []
        size = 0
        try:
            for part in made:
                is_text = isinstance(part, bytes)
                if is_text:
                    done.append(part)
                    size += len(part)
                if size > PIECE or not is_text:
                    yield from self._read(done)
                    size = 0
                if not is_text:
                    self._reader.namespace(*part)
        except JellyError as error:
            self._broken = error
        yield from self._read(done)
        if self._broken is not None:
            self._broken.message = self._reader.messages
            if self._broken.line is None:
                self._broken.line = self._line
            raise self._broken from None

    def _read(self, done: list[bytes]) -> Iterator[Batch]:
        """The Batches of N-Quads. Prefixes may make them long, so that they are read in pieces."""
        text = b"".join(done)
        done.clear()
        for at in range(0, len(text), PIECE):
            yield from self._reader.feed(text[at : at + PIECE])

    def _take(self, data: bytes = b"") -> bytes:
        """The waiting text and the next chunk."""
        text = b"".join([*self._waiting, data])
        self._waiting, self._n = [], 0
        return text

    def _wait(self, rest: bytes, more: int = 0) -> None:
        """Let text wait. A long one comes in many chunks, which are not joined each time. ``more`` counts as bytes of
        it."""
        self._waiting.append(rest)
        self._n += len(rest)
        if self._n + more > self._max:
            raise JellyLimitError(f"a message is longer than {self._max} bytes; raise max_message_bytes to read it")
