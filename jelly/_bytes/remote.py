"""Remote files: bodies of web addresses, and any URL that fsspec can open, with the package that its scheme needs."""

from __future__ import annotations

import errno
import importlib
import io
import math
import os
import re
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http.client import HTTPException, HTTPResponse
from time import monotonic
from typing import Any, BinaryIO

from jelly._bytes.names import is_open_file, is_web, name_of
from jelly._bytes.part_file import PartFile
from jelly._version import __version__
from jelly.errors import JellyArgumentError, JellyFormatError, JellyTruncatedError, MissingExtraError, need

# Keys under which fsspec gives the time of the last change.
_TIMES = ("mtime", "LastModified", "last_modified", "Last-Modified", "updated", "created")


def file_system(url: str, storage: Mapping[str, Any]) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it. ``storage`` goes to it: keys, endpoints."""
    with need("fsspec", f"{url} needs fsspec"):
        fsspec = importlib.import_module("fsspec")
    try:
        filesystem, path = fsspec.core.url_to_fs(url, **storage)
    except ImportError as error:
        if is_web(url):
            with need("fsspec", f"{url} needs aiohttp and requests"):
                raise
        raise MissingExtraError(f"{url}: {error}") from None
    return filesystem, path


def open_url(url: str, storage: Mapping[str, Any]) -> BinaryIO:
    """Open the file at a URL for reading. ``storage`` goes to the file system of fsspec: keys, endpoints.

    FileNotFoundError if there is none.
    """
    filesystem, path = file_system(url, storage)
    return filesystem.open(path, "rb")  # type: ignore[no-any-return]


class Upload(PartFile):
    """A part file in the folder for temporary files, which `commit` makes the file at a URL or of an ``OpenFile``.

    That file is there as a whole or, as on S3 and on disks, not at all.
    """

    _place: str

    def __init__(self, dst: Any) -> None:
        if is_web(dst):
            raise JellyArgumentError(
                f"{dst}: web servers are only read from; write a file, or to a file system of fsspec such as s3://"
            )
        self._file_system, self._place = (dst.fs, dst.path) if is_open_file(dst) else file_system(name_of(dst), {})
        self._folder = tempfile.mkdtemp(prefix="jelly-")
        super().__init__(os.path.join(self._folder, "upload"))

    def commit(self) -> None:
        out = self._file_system.open(self._place, "wb", autocommit=False)
        try:
            with open(self.path, "rb") as file, out:
                shutil.copyfileobj(file, out, 1 << 22)
        except BaseException:
            out.discard()
            raise
        out.commit()
        self.discard()

    def discard(self) -> None:
        super().discard()
        shutil.rmtree(self._folder, ignore_errors=True)


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
    """The time of change of a file in seconds since the epoch, from its ``info`` of fsspec; 0 if that has none."""
    value = next((info[key] for key in _TIMES if info.get(key)), 0.0)
    if isinstance(value, str):
        try:
            value = parsedate_to_datetime(value)
        except ValueError:
            return 0.0
    return value.timestamp() if isinstance(value, datetime) else float(value)


class _Patience:
    """Until when the server has to have answered: the head, and after that each next piece of the body.

    Its ``seconds`` are JELLY_TIMEOUT in the environment, by default 60.
    """

    def __init__(self) -> None:
        text = os.environ.get("JELLY_TIMEOUT") or "60"
        try:
            self.seconds = float(text)
        except ValueError:
            self.seconds = 0.0
        if not 0 < self.seconds < math.inf:
            raise JellyArgumentError(
                f"the environment variable JELLY_TIMEOUT is {text!r}: expected seconds, more than 0"
            )
        self.renew()

    def renew(self) -> None:
        """Begin to wait."""
        self._end = monotonic() + self.seconds

    def left(self) -> float:
        """Seconds that are left; TimeoutError if none are."""
        if (left := self._end - monotonic()) <= 0:
            raise TimeoutError("timed out")
        return left


class _Received(io.RawIOBase):
    """The bytes of a connection. A server that sends some now and then, and nothing of use, has an end too."""

    def __init__(self, sock: Any, raw: Any, patience: _Patience) -> None:
        self._sock, self._raw, self._patience = sock, raw, patience
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int | None:
        self._sock.settimeout(self._patience.left())
        n: int | None = self._raw.readinto(into)
        self.ended = n == 0
        return n

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    """A response whose bytes are `_Received`."""

    def __init__(self, sock: Any, *args: Any, patience: _Patience, **kwargs: Any) -> None:
        super().__init__(sock, *args, **kwargs)
        patience.renew()
        self._received = _Received(sock, self.fp.detach(), patience)
        self.fp: Any = io.BufferedReader(self._received)

    def begin(self) -> None:
        """Read the head."""
        super().begin()
        if self._received.ended:
            raise HTTPException("the head is cut off")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects lead to other addresses on the web, not to files or other services."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not is_web(newurl):
            raise urllib.error.URLError(f"HTTP {code} leads to {newurl:.200}, which is no address on the web")
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def http_error_302(self, req: Any, fp: Any, code: int, msg: str, headers: Any) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except BaseException:
            fp.close()
            raise

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


def _opened(request: urllib.request.Request, patience: _Patience) -> Any:
    """The response to a request, a `_Response`."""

    def do_open(open: Callable[..., Any], http_class: Any, *args: Any, **given: Any) -> Any:
        def connect(*args: Any, **kwargs: Any) -> Any:
            connection = http_class(*args, **kwargs)
            connection.response_class = partial(_Response, patience=patience)
            return connection

        return open(connect, *args, **given)

    handlers: Any = urllib.request.HTTPHandler(), urllib.request.HTTPSHandler()
    for handler in handlers:
        handler.do_open = partial(do_open, handler.do_open)
    return urllib.request.build_opener(*handlers, _Redirects()).open(request, timeout=patience.seconds)


class Body:
    """The body at an address of the web, as a file that is read as it comes: its ``name`` is the address.

    TimeoutError if the server is silent for too long, see `_Patience`. Any other answer that is not as HTTP has it is
    an OSError with the address, a body that is not as its head says a JellyError.
    """

    def __init__(self, url: str, accept: str) -> None:
        self.name = url
        self._patience = _Patience()
        headers = {"Accept": accept, "User-Agent": f"jelly-rdf/{__version__}"}
        with _as_os_error(url, self._patience.seconds):
            try:
                self._response = _opened(urllib.request.Request(url, headers=headers), self._patience)
            except (HTTPException, ValueError) as error:  # of the answer, or of the address
                why = f"the answer is not HTTP, or the address is wrong: {error or type(error).__name__}"
                raise OSError(errno.EINVAL, why.replace("\n", " ")[:300], url) from None
            if self._response.status == 206:
                self._response.close()
                raise OSError(errno.EIO, "HTTP 206: a part of the body, which was not asked for", url)
        self.headers = self._response.headers
        lengths = {*self.headers.get_all("Content-Length", ())}
        self._length: int | None = None
        if lengths and not self._response.chunked:
            length = lengths.pop()
            if lengths or not re.fullmatch("[0-9]{1,18}", length.strip()):
                self._response.close()
                raise JellyFormatError(f"the server says Content-Length: {length:.40}: expected one number", source=url)
            self._length = int(length)
        self._read = 0

    def read(self, size: int) -> bytes:
        """At most so many of the next bytes, and none at the end."""
        self._patience.renew()
        try:
            with _as_os_error(self.name, self._patience.seconds):
                data: bytes = self._response.read1(size)
        except (HTTPException, ValueError) as error:
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
    except OSError as error:
        if error.filename == url:
            raise
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            why = f"no answer came for {timeout:g} seconds (JELLY_TIMEOUT)"
            raise OSError(errno.ETIMEDOUT, why, url) from None
        number = getattr(reason, "errno", None) or errno.EIO
        raise OSError(number, str(getattr(reason, "strerror", None) or reason), url) from None
