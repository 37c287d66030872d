"""Remote files: bodies of web addresses, and any URL that fsspec can open, with the package that its scheme needs."""

from __future__ import annotations

import errno
import importlib
import math
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import Any, BinaryIO

from jelly._io.source import is_url
from jelly._version import __version__
from jelly.errors import JellyArgumentError, JellyTruncatedError, MissingExtraError

__all__ = ["Body", "change_time", "file_system", "is_url", "list_url", "open_url"]

# Keys under which fsspec gives the time of the last change.
_TIMES = ("mtime", "LastModified", "last_modified", "Last-Modified", "updated", "created")


def file_system(url: str, storage: Mapping[str, Any]) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it. ``storage`` goes to it: keys, endpoints."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise MissingExtraError(f"{url} needs fsspec: python -m pip install 'jelly-rdf[fsspec]'") from None
    try:
        filesystem, path = fsspec.core.url_to_fs(url, **storage)
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error}") from None
    return filesystem, path


def open_url(url: str, storage: Mapping[str, Any]) -> BinaryIO:
    """Open the file at a URL for reading. ``storage`` goes to the file system of fsspec: keys, endpoints.

    FileNotFoundError if there is none.
    """
    filesystem, path = file_system(url, storage)
    return filesystem.open(path, "rb")  # type: ignore[no-any-return]


def list_url(url: str, storage: Mapping[str, Any]) -> list[tuple[str, int, float]] | None:
    """URL, bytes and time of change of a file, of all files in a directory, or of the files that match a pattern.

    The time is in seconds since the POSIX epoch. Time and bytes are 0 if unknown. None if there is nothing.
    """
    filesystem, path = file_system(url, storage)
    filesystem.invalidate_cache()  # there may be new files since it was last asked
    # A question mark is part of a web address.
    pattern = "*" in path or (not url.startswith("http") and re.search(r"[?\[]", path) is not None)
    try:
        if pattern:
            found = [info for info in filesystem.glob(path, detail=True).values() if info["type"] == "file"]
            if not found:
                return None
        else:
            info = filesystem.info(path)
            # A web server does not say what is a directory; the address of a list of links ends with a slash.
            folder = info["type"] == "directory" or (url.endswith("/") and filesystem.isdir(path))
            found = list(filesystem.find(path, detail=True).values()) if folder else [info]
    except FileNotFoundError:
        return None
    whole = [info if info.get("size") is not None else filesystem.info(info["name"]) for info in found]
    return [(filesystem.unstrip_protocol(info["name"]), info.get("size") or 0, change_time(info)) for info in whole]


def change_time(info: Mapping[str, Any]) -> float:
    """The time of change of a file in seconds since the epoch, by what fsspec tells of it; 0 if it does not."""
    value = next((info[key] for key in _TIMES if info.get(key)), 0.0)
    if isinstance(value, str):
        try:
            value = parsedate_to_datetime(value)
        except ValueError:
            return 0.0
    return value.timestamp() if isinstance(value, datetime) else float(value)


def _timeout() -> float:
    """Seconds that a web server has for its next byte: JELLY_TIMEOUT in the environment, by default 60."""
    text = os.environ.get("JELLY_TIMEOUT") or "60"
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise JellyArgumentError(f"the environment variable JELLY_TIMEOUT is {text!r}: expected seconds, more than 0")
    return seconds


class Body:
    """What a web server gives for an address, as a file that is read as it comes: its ``name`` is the address.

    TimeoutError if the server is silent for too long, see `_timeout`.
    """

    def __init__(self, url: str, accept: str) -> None:
        self.name = url
        self._timeout = _timeout()
        headers = {"Accept": accept, "User-Agent": f"jelly-rdf/{__version__}"}
        with _as_os_error(url, self._timeout):
            request = urllib.request.Request(url, headers=headers)
            self._response = urllib.request.urlopen(request, timeout=self._timeout)
        self.headers = self._response.headers
        length = self.headers.get("Content-Length") or ""
        self._length = int(length) if re.fullmatch("[0-9]{1,18}", length) else None
        self._read = 0

    def read(self, size: int) -> bytes:
        """At most so many of the next bytes, and none at the end."""
        try:
            with _as_os_error(self.name, self._timeout):
                data: bytes = self._response.read1(size)
        except HTTPException as error:
            raise JellyTruncatedError(f"the body is cut off: {error}", offset=self._read) from None
        self._read += len(data)
        if not data and self._length is not None and self._read < self._length:
            raise JellyTruncatedError(f"the body is cut off: {self._length} bytes were announced", offset=self._read)
        return data

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


_NUMBERS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}


@contextmanager
def _as_os_error(url: str, timeout: float) -> Iterator[None]:
    """Within this, errors name the address, as those of files name the path: FileNotFoundError, where there is none."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        raise OSError(_NUMBERS.get(error.code, errno.EIO), f"HTTP {error.code} {error.reason}", url) from None
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            why = f"no byte came for {timeout:g} seconds (JELLY_TIMEOUT)"
            raise OSError(errno.ETIMEDOUT, why, url) from None
        number = getattr(reason, "errno", None) or errno.EIO
        raise OSError(number, str(getattr(reason, "strerror", None) or reason), url) from None
