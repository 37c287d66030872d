"""Names of sources: paths, addresses of the web and URLs, and the format and compression in their suffixes."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jelly._bytes.compression import COMPRESSIONS, TEXT

if TYPE_CHECKING:
    from typing_extensions import Self, TypeIs

_WEB = re.compile("https?://[^/?#]+", re.I)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z0-9]+::")
# Names of open descriptors. Shells use them for pipes such as `>(command)`.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]{1,9})")
# Short for .tar.gz and so on.
_TAR = {".tgz": ".gz", ".tzst": ".zst", ".tbz2": ".bz2", ".txz": ".xz"}


@dataclass
class AsText:
    """A destination that gets Jelly in its text form; ``number`` is that of the first frame."""

    dst: Any
    number: int = 0


def is_text(place: Any) -> bool:
    """Whether Jelly is in its text form there.

    >>> is_text("people.jelly.txt"), is_text("notes.txt")
    (True, False)
    """
    return isinstance(place, AsText) or split_suffix(name_of(place))[1] == TEXT


class Closing:
    """Base of classes that are closed at the end of a ``with`` block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self: Any, kind: object, *error: object) -> None:
        self.close()


class Named:
    """Context manager that hands an exception to a function, which says where it came from or raises another one."""

    __slots__ = ("_say",)

    def __init__(self, say: Callable[[BaseException], None]) -> None:
        self._say = say

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._say(error)


def split_suffix(name: str) -> tuple[str, str]:
    """The suffixes of format and compression of a file name, each "" if there is none. That of ``x.jelly.txt`` is TEXT.

    >>> split_suffix("data/people.nt.gz"), split_suffix("https://example.org/people.ttl?page=1")
    (('.nt', '.gz'), ('.ttl', ''))
    """
    if not name:
        return "", ""
    if (host := _WEB.match(name)) is not None:
        name = re.split("[?#]", name[host.end() :])[0]
    stem, last = os.path.splitext(os.path.basename(name))
    if last.lower() in _TAR:
        return ".tar", _TAR[last.lower()]
    if last.lower() in COMPRESSIONS or (last.lower() == TEXT and stem.lower().endswith(".jelly")):
        return os.path.splitext(stem)[1].lower(), last.lower()
    return last.lower(), ""


def is_web(name: Any) -> bool:
    """Whether this is an address of which the body is read.

    >>> is_web("https://example.org/people"), is_web("people.ttl"), is_web("s3://bucket/people.ttl")
    (True, False, False)
    """
    return isinstance(name, str) and _WEB.match(name) is not None


def is_url(path: str) -> bool:
    """Whether a path begins with a scheme, so that fsspec opens it.

    >>> is_url("s3://bucket/x.jelly"), is_url("data/x.jelly")
    (True, False)
    """
    return _URL.match(path) is not None


def is_remote(path: str) -> bool:
    """Whether a path is a URL, and not the name of a file of this machine, which may look like one.

    >>> is_remote("s3://bucket/x.jelly"), is_remote("data/x.jelly")
    (True, False)
    """
    return is_url(path) and not os.path.exists(path)


def is_path(src: Any) -> TypeIs[str | os.PathLike[Any]]:
    """Whether this is a path: a str, or an object that has one. For bytes that is known faster than by an ABC.

    >>> import pathlib
    >>> is_path("data/x.jelly"), is_path(pathlib.Path("x.nt")), is_path(b"<a:s> <a:p> <a:o> .")
    (True, True, False)
    """
    return isinstance(src, str) or hasattr(type(src), "__fspath__")


def is_open_file(src: Any) -> bool:
    """Whether this is an ``OpenFile`` of fsspec: the place of a file, which is opened when it is read."""
    return hasattr(src, "full_name") and hasattr(src, "open") and not hasattr(src, "read")


def name_of(src: Any) -> str:
    """The name of a path, an ``OpenFile``, or a file object; "" if it has none.

    >>> name_of("data/x.nt"), name_of(b"<a:s> <a:p> <a:o> .")
    ('data/x.nt', '')
    """
    if is_path(src):
        return os.fsdecode(src)
    name = getattr(src, "name", None) or getattr(src, "full_name", "")
    return name if isinstance(name, str) else ""


def standard(name: str) -> Any:
    """The bytes of standard input or output, ``stdin`` or ``stdout``; OSError if it is closed or not of bytes."""
    found = getattr(getattr(sys, name), "buffer", None)
    if found is None:
        raise OSError(errno.EBADF, "closed, or not of bytes", f"standard {name.removeprefix('std')}put")
    return found


def descriptor_of(path: str) -> int | None:
    """The descriptor that a path such as ``/dev/stdout`` or ``/dev/fd/63`` names; None for other paths.

    >>> descriptor_of("/dev/fd/63"), descriptor_of("/dev/stdout"), descriptor_of("/dev/null")
    (63, 1, None)
    """
    found = _DESCRIPTOR.fullmatch(path)
    if found is None:
        return None
    return int(found[2]) if found[2] else {"stdout": 1, "stderr": 2}[found[1]]


def can_have_index(dst: Any) -> bool:
    """Whether an index is useful: not in a stream, a device, or a file compressed without random access.

    >>> can_have_index("x.jelly"), can_have_index("x.jelly.gz"), can_have_index("-"), can_have_index(io.BytesIO())
    (True, False, False, False)
    """
    if not (is_path(dst) or is_open_file(dst)) or (name := name_of(dst)) == "-":
        return False
    if split_suffix(name)[1] not in ("", ".zst") or descriptor_of(name) is not None:
        return False
    return os.path.isfile(name) or not os.path.exists(name)


def left_in(file: Any) -> int | None:
    """The bytes left in an open file of this machine, or in a BytesIO; None for others, which may not seek."""
    try:
        if isinstance(file, io.BytesIO):
            return max(file.getbuffer().nbytes - file.tell(), 0)
        if isinstance(file := getattr(file, "file", file), io.BufferedReader | io.BufferedRandom | io.FileIO):
            status = os.fstat(file.fileno())
            return max(status.st_size - file.tell(), 0) if stat.S_ISREG(status.st_mode) else None
    except (OSError, ValueError, AttributeError):  # the file below that of tarfile has no descriptor to ask for
        pass
    return None
