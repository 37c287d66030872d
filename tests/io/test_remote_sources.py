"""Sources on the web and in S3: a server on loopback with ranges, and moto; each function that reads, and commands."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jelly
import jelly.patch
from jelly.cli.commands import cli

pa = pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")

ROWS = 20_000
NAMES = ("x.nt", "x.nt.gz", "x.jelly", "x.parquet", "x.csv")
TEXT = b"".join(b'<a:s%d> <a:p%d> "%d" .\n' % (i, i % 7, i) for i in range(ROWS))
TYPES = {".nt": "application/n-triples", ".parquet": "application/vnd.apache.parquet", ".csv": "text/csv"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("remote")
    (made / "x.nt").write_bytes(TEXT)
    (made / "x.nt.gz").write_bytes(gzip.compress(TEXT))
    for suffix in ("jelly", "parquet", "csv"):
        jelly.convert(made / "x.nt", made / f"x.{suffix}")
    return made


@pytest.fixture
def web(folder) -> Iterator[tuple[str, list[str]]]:
    """The address of a server of the folder, and the ranges that it was asked for."""
    ranges: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.answer(False)

        def do_GET(self) -> None:
            self.answer(True)

        def answer(self, body: bool) -> None:
            path = folder / self.path.lstrip("/").partition("?")[0]
            if not path.is_file():
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            data = path.read_bytes()
            size = len(data)
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if asked:
                ranges.append(asked[0])
                data = data[int(asked[1]) : int(asked[2]) + 1 if asked[2] else None]
            self.send_response(206 if asked else 200)
            if asked:
                self.send_header("Content-Range", f"bytes {asked[1]}-{int(asked[1]) + len(data) - 1}/{size}")
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Content-Type", TYPES.get(path.suffix, "application/octet-stream"))
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", ranges
        finally:
            server.shutdown()
            thread.join(10)


def check(url: str, src: Any = None) -> None:
    src = url if src is None else src
    assert sum(1 for _ in jelly.read(src)) == ROWS
    assert sum(map(len, jelly.scan(src).batches())) == ROWS
    assert jelly.read_arrow(src, columns=["object"]).read_all()["object"][-1].as_py() == str(ROWS - 1)
    assert jelly.find(src, p="a:p3").count() == len(range(3, ROWS, 7))
    assert jelly.scan(src).head(3, ["subject"]).to_pylist() == [{"subject": f"a:s{i}"} for i in range(3)]
    assert len(jelly.scan(src).to_ids()) == ROWS


@pytest.mark.parametrize("name", NAMES)
def test_addresses(web, name):
    address, _ = web
    check(f"{address}/{name}")
    check("", [f"{address}/{name}"])
    done = CliRunner().invoke(cli, ["count", f"{address}/{name}", f"{address}/{name}?page=2"])
    assert done.stdout.endswith(f"{2 * ROWS}\ttotal\n")


def test_a_missing_address(web):
    for function in (jelly.read, jelly.find, jelly.read_arrow):
        with pytest.raises(FileNotFoundError, match="404"):
            list(function(f"{web[0]}/none.nt"))


def test_ranges_of_an_open_file(web):
    """fsspec reads parts of a file: of a table its end first, and what was asked for."""
    pytest.importorskip("aiohttp")
    address, ranges = web
    opened = fsspec.open(f"{address}/x.parquet", block_size=4096)
    assert sum(1 for _ in jelly.read(opened)) == ROWS
    assert len(ranges) > 1
    assert not any(re.fullmatch("bytes=0-", asked) for asked in ranges)
    check("", fsspec.open(f"{address}/x.nt.gz"))


@pytest.mark.parametrize("how", ["url", "open file"])
def test_random_access(web, folder, how):
    """A slice takes the index and some segments, and not the file."""
    pytest.importorskip("aiohttp")
    address, ranges = web
    rows = 300_000
    numbers = (jelly.Triple(jelly.IRI(f"a:s{i}"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(rows))
    jelly.write(folder / "many.jelly", numbers, keyframe_rows=10_000, seekable=True)
    size = (folder / "many.jelly").stat().st_size
    url = f"{address}/many.jelly"
    with jelly.open(url if how == "url" else fsspec.open(url, block_size=16384)) as file:
        assert len(file) == rows
        assert [each.o.value for each in file[rows - 2 :]] == [str(rows - 2), str(rows - 1)]
        if how == "open file":
            asked = [re.findall(r"\d+", each) for each in ranges]
            assert 0 < sum(int(last) + 1 - int(first) for first, last in asked) < size / 4
        assert jelly.scan(file).filter(s="a:s7").count() == 1
    with pytest.raises(FileNotFoundError):
        jelly.open(f"{address}/none.jelly")
    with pytest.raises(jelly.JellyError, match="only a Jelly file can have an index"):
        jelly.open(f"{address}/x.nt")


def test_filters_that_are_near_each_other_take_one_request(web, folder):
    pytest.importorskip("aiohttp")
    address, ranges = web
    subjects = (jelly.IRI(f"a:s{i * 7919 % 20_011}") for i in range(20_000))
    mixed = (jelly.Triple(subject, jelly.IRI("a:p"), jelly.Literal("o")) for subject in subjects)
    jelly.write(folder / "mixed.jelly", mixed, keyframe_rows=500, index="terms")
    with jelly.open(fsspec.open(f"{address}/mixed.jelly")) as file:
        assert len(file.index.segments()) == 40
        assert file.filters is not None
        before = len(ranges)
        assert jelly.scan(file).filter(s="a:s7919").count() == 1
        assert len(ranges) - before <= 3  # the filters, and a segment or two
        ranges.clear()
        assert jelly.scan(file).filter(s=["a:s7919", "a:s2"]).count() == 2  # filters are asked for once
        assert len(ranges) <= 4
    with jelly.open(folder / "mixed.jelly") as file:
        assert jelly.scan(file).filter(s=["a:s7919", "a:s2"]).count() == 2


@pytest.fixture(scope="module")
def bucket(folder) -> Iterator[str]:
    """A bucket of moto, whose address is in the environment, as for all clients of S3."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    with pytest.MonkeyPatch.context() as patch:
        server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        store = fsspec.filesystem("s3", skip_instance_cache=True)
        store.mkdir("things")
        for name in NAMES:  # and not what other tests wrote beside them
            store.pipe(f"things/data/{name}", (folder / name).read_bytes())
        store.pipe("things/data/readme.txt", b"no RDF")
        try:
            yield "s3://things/data"
        finally:
            server.stop()
            type(store).clear_instance_cache()  # or others would ask this server


@pytest.mark.filterwarnings("ignore:.*utcnow:DeprecationWarning")
def test_s3(bucket, tmp_path):
    for name in NAMES:
        check(f"{bucket}/{name}")
    check("", fsspec.open(f"{bucket}/x.parquet"))
    assert jelly.find(bucket, s="a:s5").count() == 5  # in each file, and nothing of readme.txt
    assert jelly.find(f"{bucket}/x.nt*", s="a:s5").count() == 2
    assert jelly.convert(f"{bucket}/*.gz", tmp_path / "x.jelly").statements == ROWS
    done = CliRunner().invoke(cli, ["find", bucket, "-s", "a:s5", "--count"])
    assert (done.exit_code, done.stdout) == (0, "5\n")
    with pytest.raises(FileNotFoundError):
        jelly.read(f"{bucket}/none.nt")
    assert jelly.inspect(f"{bucket}/x.jelly").statements == ROWS


def test_validate_asks_once(web, folder, monkeypatch):
    """Format and body come with one answer."""
    from jelly._bytes import remote

    (folder / "p.rdfp").write_bytes(b"A <a:s> <a:p> <a:o> .\n")
    begin, asked = remote.Body.__init__, []

    def counted(self: Any, url: str, *rest: Any) -> None:
        asked.append(url)
        begin(self, url, *rest)

    monkeypatch.setattr(remote.Body, "__init__", counted)
    for check, name in ((jelly.validate, "x.nt"), (jelly.validate, "x.jelly"), (jelly.validate, "p.rdfp")):
        assert check(f"{web[0]}/{name}") == []
        assert len(asked) == 1
        asked.clear()
