"""Results in answers of web servers: the media type decides how a body is read, whichever library asks for it."""

from __future__ import annotations

import gzip
import io
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

import jelly
from jelly import IRI, JellyError, Literal
from jelly._formats.registry import REGISTRY, Content
from jelly.results import read_result_sets, read_results, write_results

ROWS = [(IRI("http://e/a"), Literal("\u00e9", language="fr")), (IRI("http://e/b"), None)]
FORMATS = [format for format in REGISTRY[Content.RESULTS].values() if format.name != "csv"]
TYPES = [(format.name, media_type) for format in FORMATS for media_type in format.media_types]


def body(format: str) -> bytes:
    out = io.BytesIO()
    write_results(out, ["x", "n"], ROWS, format=format)
    return out.getvalue()


class Handler(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[dict[str, str], bytes]]] = {}
    accepted: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        headers, data = self.answers[self.path]
        self.accepted.append(self.headers["Accept"])
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


class Chunked:
    """A response as that of httpx: `read` takes no size."""

    def __init__(self, media_type: str, data: bytes) -> None:
        self.headers = {"Content-Type": media_type}
        self.url = "http://example.org/query"
        self._data = data

    def read(self) -> bytes:
        raise AssertionError("this takes the whole body")

    def iter_bytes(self, size: int) -> Iterator[bytes]:
        for at in range(0, len(self._data), 7):
            yield self._data[at : at + 7]


@pytest.mark.parametrize(("format", "media_type"), TYPES)
@pytest.mark.parametrize("parameters", ["", "; charset=utf-8", " ;Charset=UTF-8;v=1"])
def test_a_body_of_each_media_type(address: str, format: str, media_type: str, parameters: str) -> None:
    data = body(format)
    told = media_type.title() + parameters  # types are alike in small letters
    Handler.answers = {
        "/sparql?query=x.y": ({"Content-Type": told}, data),
        "/packed": ({"Content-Type": told, "Content-Encoding": "gzip"}, gzip.compress(data)),
    }
    url = address + "/sparql?query=x.y"
    assert list(read_results(url)) == ROWS
    assert list(read_results(data, format=told)) == ROWS
    assert list(read_results(Chunked(told, data))) == ROWS
    for path in Handler.answers:
        with urllib.request.urlopen(address + path) as response:
            assert list(read_results(response)) == ROWS
    with urllib.request.urlopen(url) as response:
        assert [list(found) for found in read_result_sets(response)] == [ROWS]
    requests = pytest.importorskip("requests")
    urllib3 = pytest.importorskip("urllib3")
    for path in Handler.answers:
        for get in (lambda response: response, lambda response: response.raw):
            with closing(requests.get(address + path, stream=True)) as response:
                assert list(read_results(get(response))) == ROWS
        with urllib3.PoolManager() as pool, closing(pool.request("GET", address + path, preload_content=False)) as got:
            assert list(read_results(got)) == ROWS


def test_what_is_asked_for_and_refused(address: str) -> None:
    Handler.answers = {
        "/x.srj": ({"Content-Type": "application/octet-stream"}, body("json")),
        "/html": ({"Content-Type": "text/html; charset=utf-8"}, b"<html>"),
        "/csv": ({"Content-Type": "text/csv; header=present"}, body("csv")),
        "/wrong": ({"Content-Type": "application/sparql-results+json"}, body("xml")),
    }
    Handler.accepted.clear()
    assert list(read_results(address + "/x.srj")) == ROWS  # the type names no format
    assert all(format.media_type in Handler.accepted[0] for format in FORMATS)
    for path, message in (("/html", "text/html"), ("/csv", "cannot be read"), ("/wrong", "line 1")):
        with pytest.raises(JellyError, match=message):
            list(read_results(address + path))
    assert list(read_results(address + "/wrong", format="xml")) == ROWS  # what the caller says counts


def test_statements_in_a_response() -> None:
    found = jelly.read(Chunked("application/n-triples; charset=utf-8", b"<a:s> <a:p> <a:o> .\n"))
    assert [str(statement) for statement in found] == ["<a:s> <a:p> <a:o> ."]
