"""TAR archives as message logs: each file is a message (RDF Messages, section 3.3).

An archive is read in chunks cut anywhere, as other logs are; `tarfile` could only read it from a file. Nothing is ever
extracted: a name only decides a format.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Generator, Iterator
from typing import Any

from jelly._bytes.names import split_suffix
from jelly._bytes.source import Source
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextWriter
from jelly._formats.protocols import declared_in
from jelly._formats.registry import JSON_LD, NQ, NT, Format, find
from jelly._streams.reader import Reader
from jelly._streams.writer import Writer
from jelly.errors import (
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellyTruncatedError,
    JellyUnsupportedError,
)
from jelly.messages._documents import Contexts, load_json
from jelly.messages._logs import MESSAGE, MadeLog
from jelly.messages._serializers import numbered

BLOCK = 512
# What stands before the header of a file: a long name, or the records of pax.
MAX_RECORDS = 1 << 20

_EXTENDED = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
# What has records or a name of the file after it.
_BEFORE_FILES = (*_EXTENDED, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_UNSUPPORTED = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
    b"M": "a part of a file of several volumes",
    b"D": "a list of files of an incremental backup",
    b"V": "the name of a volume",
}
_RECORD = re.compile(rb"([0-9]{1,7}) ([^=\n]{1,256})=")


def _records(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The keys and values of the records of pax: "22 path=some/name.nt\\n", where 22 is the length of all that."""
    at = 0
    while at < len(data) and data[at]:
        match = _RECORD.match(data, at)
        end = at + int(match[1]) if match is not None else at
        if match is None or not match.end() < end <= len(data) or data[end - 1] != 0x0A:
            raise JellyFormatError("the records of a file in a TAR archive are broken")
        yield match[2].decode("utf-8", "replace"), data[match.end() : end - 1]
        at = end


def tar_files(max_bytes: int) -> Generator[tuple[int, tuple[str, bytes] | None], bytes, None]:
    """Walk through a TAR archive: a generator that gives the number of bytes that are to be sent next, and the name and
    content of a file that ended. It returns at the end of the archive; an error is about the bytes that were sent last.
    """
    said: dict[str, str] = {}  # of the next file, by what stands before its header
    file: tuple[str, bytes] | None = None
    while (header := (yield BLOCK, file)).strip(b"\0"):
        file = None
        try:
            info = tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise JellyFormatError(f"no header of a TAR archive: {error}") from None
        name, size, is_file = info.name, info.size, info.type not in _BEFORE_FILES
        if is_file:
            name = said.get("path", name)
            size = int(said.get("size", size))
            is_sparse = any(key.startswith("GNU.sparse.") for key in said)
            if kind := _UNSUPPORTED.get(info.type) or "a sparse file" * is_sparse:
                raise JellyUnsupportedError(f"{name!r:.200} is {kind}: expected files and directories only")
            said = {}
            if info.isdir():
                continue
            if not 0 <= size <= max_bytes:
                raise JellyLimitError(f"{name!r:.200} has {size} bytes; raise max_message_bytes to read it")
        elif not 0 <= size <= MAX_RECORDS:
            raise JellyLimitError(
                f"a name or the records of a file have {size} bytes: expected {MAX_RECORDS} at the most"
            )
        data = (yield -(-size // BLOCK) * BLOCK, None)[:size] if size else b""
        if is_file:
            file = name, data
        elif info.type == tarfile.GNUTYPE_LONGNAME:
            said["path"] = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
        elif info.type in _EXTENDED:
            for key, value in _records(data):
                if key == "size" and not re.fullmatch(rb"[0-9]{1,19}", value):
                    raise JellyFormatError(f"a file has {value[:40]!r} bytes: expected a number")
                said[key] = value.decode("utf-8", "surrogateescape")


class TarLog(MadeLog):
    """A TAR archive. The suffix of a file decides its format, if ``members`` does not."""

    _head = None  # what looks like a byte order mark belongs to a name

    def __init__(
        self,
        *,
        max_message_bytes: int,
        members: str | None = None,
        contexts: Any = None,
        strict: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(max_message_bytes)
        self._files = tar_files(max_message_bytes)
        self._wanted: int | None = next(self._files)[0]  # bytes, None after the end
        self._origin = 0  # the offset of what waits
        self._members = members and find(members).name
        self._contexts = Contexts(contexts)
        self._strict = strict
        self._settings_of_files = {**settings, **dict.fromkeys(_LIMITS, max_message_bytes)}
        # Only the labels of binary formats have to be fitted to N-Quads.
        self._writers = {binary: TextWriter(quads=True, fitted=not binary) for binary in (False, True)}
        self._known: dict[str, str] = {}

    def _made(self, data: bytes, final: bool) -> Iterator[Any]:
        if self._wanted is None:
            return  # what fills the archive up
        self._waiting.append(data)
        self._n += len(data)
        if self._n >= self._wanted:
            text = memoryview(self._take())
            while self._wanted is not None and len(text) >= self._wanted:
                part, text = bytes(text[: self._wanted]), text[self._wanted :]
                try:
                    self._wanted, file = self._files.send(part)
                except StopIteration:
                    self._wanted, file = None, None
                except JellyError as error:
                    error.offset = self._origin
                    raise
                if file is not None:
                    yield from self._message(*file)
                self._origin += len(part)
            self._waiting, self._n = [bytes(text)], len(text)
        if final and self._wanted is not None and (self._n or self._origin):
            raise JellyTruncatedError("the TAR archive is cut off: its end is missing", offset=self._origin)

    def _format(self, name: str) -> Format:
        if self._members is None and not split_suffix(name)[0]:
            raise JellyError("this file has no suffix of a format: pass members=...")
        try:
            return find(self._members, name)
        except JellyError as error:
            raise JellyError(error.reason.replace("format=", "members=")) from None

    def _unpacked(self, text: bytes) -> bytes:
        """The content of a file that may be compressed."""
        parts: list[bytes] = []
        n = 0
        for part in Source(text, self._settings_of_files["max_expansion"]).chunks():
            parts.append(part)
            n += len(part)
            if n > self._max:
                raise JellyLimitError(f"it has more than {self._max} bytes; raise max_message_bytes to read it")
        return b"".join(parts)

    def _message(self, name: str, text: bytes) -> Iterator[Any]:
        """The prefixes that a file declares anew, and its N-Quads with a delimiter."""
        declared: dict[str, str] = {}
        parts: list[bytes] = []
        n = 0
        try:
            format = self._format(name)
            if format is JSON_LD:
                text = self._unpacked(text)
                if b"@context" in text:
                    text = json.dumps(self._contexts.fill(load_json(text))).encode()
            settings = {key: value for key, value in self._settings_of_files.items() if key in format.reading}
            for batch in Reader(text, format=format.name, strict=self._strict, **settings).batches() if text else ():
                for _, _, prefix, iri in batch.namespaces:
                    if self._known.get(prefix) != iri:
                        self._known[prefix] = declared[prefix] = iri
                parts.append(self._writers[format.binary].encode(batch))
                n += len(parts[-1])
                if n > self._max:
                    reason = f"it has more than {self._max} bytes as N-Quads; raise max_message_bytes to read it"
                    raise JellyLimitError(reason)
        except JellyError as error:
            error.reason = f"{name!r:.200}: {error.reason}"
            raise
        yield from declared.items()
        yield b"".join([*parts, MESSAGE])


# Limits of formats that max_message_bytes stands for.
_LIMITS = ("max_frame_bytes", "max_line_bytes", "max_row_bytes", "max_text_bytes")


class TarEncoder:
    """Writes TAR archives: 0000000000.nq and so on. The same messages give the same bytes.

    A file stands for itself, so it declares each prefix in force that it uses.
    """

    def __init__(self, members: str | None) -> None:
        self._format = find(members or "nq")
        self._lines = NQ if self._format.quads else NT
        self._text = TextWriter(quads=self._format.quads, fitted=True)
        self._prefixes: dict[str, str] = {}
        self._files = 0
        self._bytes = 0

    def encode(self, batch: Batch) -> bytes:
        """The files of the messages of a Batch."""
        declared = declared_in(batch)
        blocks = []
        with numbered(batch):
            fitted = self._lines.capabilities.fit(batch)
        for i, text in enumerate(self._text.frames(fitted)):
            self._prefixes |= declared.get(i, ())
            try:
                blocks.append(self._file(text))
            except JellyError as error:
                error.message = batch.first_frame + i
                raise
        made = b"".join(blocks)
        self._bytes += len(made)
        return made

    def _file(self, text: bytes) -> bytes:
        data = text if self._format is self._lines else self._converted(text)
        info = tarfile.TarInfo(f"{self._files:010d}{self._format.suffixes[0]}")
        info.size = len(data)
        self._files += 1
        return info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % BLOCK)

    def _converted(self, text: bytes) -> bytes:
        out = io.BytesIO()
        with Writer(out, format=self._format.name) as writer:
            if self._format.namespaces:
                for name, iri in self._prefixes.items():
                    if b"<" + iri.encode() in text:
                        writer.namespace(name, iri)
            for batch in Reader(text, format=self._lines.name).batches():
                writer.add_batch(batch)
        return out.getvalue()

    def close(self) -> bytes:
        """The end of the archive: two blocks of zeros, and others up to a full record."""
        return bytes(2 * BLOCK + -(self._bytes + 2 * BLOCK) % tarfile.RECORDSIZE)
