"""Remote files: any URL that fsspec can open, with the package that its scheme needs."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO

from jelly.errors import MissingExtraError

__all__ = ["is_url", "list_url", "open_url"]

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z0-9]+::")
# Keys under which fsspec gives the time of the last change.
_TIMES = ("mtime", "LastModified", "last_modified", "Last-Modified", "updated", "created")


def is_url(path: str) -> bool:
    """Whether a path begins with a scheme, so that fsspec opens it.

    >>> is_url("s3://bucket/x.jelly"), is_url("data/x.jelly")
    (True, False)
    """
    return _URL.match(path) is not None


def _filesystem(url: str, storage: Mapping[str, Any]) -> tuple[Any, str]:
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise MissingExtraError(f"{url} needs fsspec: python -m pip install 'jelly-rdf[spark]'") from None
    try:
        filesystem, path = fsspec.core.url_to_fs(url, **storage)
    except ImportError as error:
        raise MissingExtraError(f"{url}: {error}") from None
    return filesystem, path


def open_url(url: str, storage: Mapping[str, Any]) -> BinaryIO:
    """Open the file at a URL for reading. ``storage`` goes to the file system of fsspec: keys, endpoints.

    FileNotFoundError if there is none.
    """
    filesystem, path = _filesystem(url, storage)
    return filesystem.open(path, "rb")  # type: ignore[no-any-return]


def list_url(url: str, storage: Mapping[str, Any]) -> list[tuple[str, int, float]] | None:
    """URL, bytes and time of change of a file, of all files in a directory, or of the files that match a pattern.

    The time is in seconds since the POSIX epoch. Time and bytes are 0 if unknown. None if there is nothing.
    """
    filesystem, path = _filesystem(url, storage)
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
    return [(filesystem.unstrip_protocol(info["name"]), info.get("size") or 0, _time(info)) for info in whole]


def _time(info: Mapping[str, Any]) -> float:
    value = next((info[key] for key in _TIMES if info.get(key)), 0.0)
    if isinstance(value, str):
        try:
            value = parsedate_to_datetime(value)
        except ValueError:
            return 0.0
    return value.timestamp() if isinstance(value, datetime) else float(value)
