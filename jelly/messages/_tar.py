"""TAR archives as message logs: each file is a message (RDF Messages, section 3.3).

An archive is read in chunks cut anywhere, as other logs are; `tarfile` could only read it from a file. Nothing is ever
extracted: a name only decides a format.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator
from typing import Any

from jelly._bytes.names import split_suffix
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextWriter
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
from jelly.messages._logs import NO_LIMIT, TextLog
from jelly.messages._serializers import numbered

__all__ = ["TarEncoder", "TarFiles", "TarLog"]

BLOCK = 512
# What stands before the header of a file: a long name, or the records of pax.
MAX_RECORDS = 1 << 20

_EXTENDED = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
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


class TarFiles:
    """The files of a TAR archive that comes in chunks: their names and contents."""

    def __init__(self, max_file_bytes: int) -> None:
        self._max = max_file_bytes
        self._rest: list[bytes] = []
        self._n = 0
        self._origin = 0  # the offset of what waits
        self._take: Any = self._header
        self._wanted = BLOCK
        self._size = 0  # bytes of the file or the records, without what fills its last block
        self._name = ""
        self._said: dict[str, str] = {}  # by the records before the header
        self._ended = False

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """The files that end in the next chunk."""
        self._rest.append(data)
        self._n += len(data)
        if self._ended or self._n < self._wanted:
            if self._ended:
                self._rest, self._n = [], 0  # what fills the archive up
            return
        text = b"".join(self._rest)
        at = 0
        while not self._ended and len(text) - at >= self._wanted:
            end = at + self._wanted
            found = self._take(text[at:end])
            self._origin += end - at
            at = end
            if found is not None:
                yield found
        self._rest, self._n = [text[at:]], len(text) - at

    def close(self) -> None:
        """The end of the input."""
        if not self._ended and (self._n or self._origin):
            raise JellyTruncatedError("the TAR archive is cut off: its end is missing", offset=self._origin)

    def _header(self, block: bytes) -> tuple[str, bytes] | None:
        if not block.strip(b"\0"):
            self._ended = True
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise JellyFormatError(f"no header of a TAR archive: {error}", offset=self._origin) from None
        self._size = info.size
        if info.type in (*_EXTENDED, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
            if not 0 <= self._size <= MAX_RECORDS:
                reason = f"a name or the records of a file have {self._size} bytes: expected {MAX_RECORDS} at the most"
                raise JellyLimitError(reason, offset=self._origin)
            long_name = self._long_name if info.type == tarfile.GNUTYPE_LONGNAME else self._skip
            self._then(self._records if info.type in _EXTENDED else long_name)
            return None
        said, self._said = self._said, {}
        self._name = said.get("path", info.name)
        if "size" in said:
            self._size = int(said["size"])
        kind = _UNSUPPORTED.get(info.type)
        if kind is None and any(key.startswith("GNU.sparse.") for key in said):
            kind = "a sparse file"
        if kind is not None:
            raise JellyUnsupportedError(
                f"{self._name!r:.200} is {kind}: expected files and directories only", offset=self._origin
            )
        if info.isdir():
            return None
        if not 0 <= self._size <= self._max:
            raise JellyLimitError(
                f"{self._name!r:.200} has {self._size} bytes; raise max_message_bytes to read it", offset=self._origin
            )
        if not self._size:
            return self._name, b""
        self._then(self._file)
        return None

    def _then(self, take: Any) -> None:
        """Set the next part: ``_size`` bytes, in whole blocks."""
        self._take = take
        self._wanted = -(-self._size // BLOCK) * BLOCK
        if not self._wanted:
            take(b"")

    def _next_header(self) -> None:
        self._take, self._wanted = self._header, BLOCK

    def _file(self, data: bytes) -> tuple[str, bytes]:
        self._next_header()
        return self._name, data[: self._size]

    def _skip(self, data: bytes) -> None:
        self._next_header()

    def _long_name(self, data: bytes) -> None:
        self._next_header()
        self._said["path"] = data[: self._size].rstrip(b"\0").decode("utf-8", "surrogateescape")

    def _records(self, data: bytes) -> None:
        """The records of pax: "22 path=some/name.nt\\n", where 22 is the length of all that."""
        self._next_header()
        data = data[: self._size]
        at = 0
        while at < len(data) and data[at]:
            match = _RECORD.match(data, at)
            end = at + int(match[1]) if match is not None else at
            if match is None or not match.end() < end <= len(data) or data[end - 1] != 0x0A:
                raise JellyFormatError("the records of a file in a TAR archive are broken", offset=self._origin + at)
            key = match[2].decode("utf-8", "replace")
            value = data[match.end() : end - 1]
            if key == "size" and not re.fullmatch(rb"[0-9]{1,19}", value):
                raise JellyFormatError(f"a file has {value[:40]!r} bytes: expected a number", offset=self._origin + at)
            if key in ("path", "size") or key.startswith("GNU.sparse."):
                self._said[key] = value.decode("utf-8", "surrogateescape")
            at = end


class TarLog(TextLog):
    """A TAR archive. The suffix of a file decides its format, if ``members`` does not."""

    def __init__(
        self,
        *,
        max_message_bytes: int,
        members: str | None = None,
        contexts: Any = None,
        strict: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(quads=True, messages="directive", announced=True, max_message_bytes=NO_LIMIT)
        self._files = TarFiles(max_message_bytes)
        self._members = members and find(members).name
        self._contexts = Contexts(contexts)
        self._strict = strict
        self._max = max_message_bytes
        self._settings_of_files = {**settings, **dict.fromkeys(_LIMITS, max_message_bytes)}
        # Only the labels of binary formats have to be fitted to N-Quads.
        self._writers = {binary: TextWriter(quads=True, fitted=not binary) for binary in (False, True)}
        self._known: dict[str, str] = {}

    def feed(self, data: Any) -> Iterator[Batch]:
        done: list[bytes] = []
        try:
            for name, text in self._files.feed(bytes(data)):
                made, declared = self._read(name, text)
                if declared:
                    yield from super().feed(b"".join(done))
                    done = []
                    for prefix, iri in declared.items():
                        self._reader.namespace(prefix, iri)
                done.append(made)
        except JellyError as error:
            yield from super().feed(b"".join(done))
            raise self._error(error) from None
        yield from super().feed(b"".join(done))

    def close(self) -> Iterator[Batch]:
        try:
            self._files.close()
        except JellyError as error:
            raise self._error(error) from None
        yield from super().close()

    def _format(self, name: str) -> Format:
        if self._members is None and not split_suffix(name)[0]:
            raise JellyError("this file has no suffix of a format: pass members=...")
        try:
            return find(self._members, name)
        except JellyError as error:
            raise JellyError(error.reason.replace("format=", "members=")) from None

    def _read(self, name: str, text: bytes) -> tuple[bytes, dict[str, str]]:
        """The N-Quads of a file, with a delimiter, and the prefixes that it declares anew."""
        declared: dict[str, str] = {}
        parts: list[bytes] = []
        n = 0
        try:
            format = self._format(name)
            if format is JSON_LD and b"@context" in text:
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
            error.args = (error.reason,)
            raise
        return b"".join([*parts, b"MESSAGE\n"]), declared


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
        declared: dict[int, list[tuple[str, str]]] = {}
        for _, frame, name, iri in batch.namespaces:
            declared.setdefault(frame, []).append((name, iri))
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
