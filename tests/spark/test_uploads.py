"""Files written to an object store are there as a whole, or not at all; by a file system of fsspec, without Spark."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any

import pytest

import jelly

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("s3fs")
pytest.importorskip("moto")
from object_store import s3_server, storage_of  # noqa: E402

S, P = jelly.IRI("http://e/s"), jelly.IRI("http://e/p")


@pytest.fixture(scope="module")
def storage() -> Iterator[dict[str, Any]]:
    with s3_server() as server:
        yield storage_of(server)


def test_a_store_like_s3_gets_all_or_nothing(storage: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    files = fsspec.filesystem("s3", **storage)
    files.mkdir("bucket")
    many = [jelly.Triple(S, P, jelly.Literal("x" * 100 + str(i))) for i in range(60_000)]
    assert jelly.write(fsspec.open("s3://bucket/many.nt", "wb", **storage), many) == 60_000
    assert files.info("bucket/many.nt")["size"] > 6 << 20
    assert jelly.count(fsspec.open("s3://bucket/many.nt", **storage)) == 60_000

    def broken(source: object, target: object, size: int) -> None:
        target.write(bytes(60 << 20))  # type: ignore[attr-defined]
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr("jelly._bytes.remote.shutil.copyfileobj", broken)
    with pytest.raises(OSError, match="the disk is broken"):
        jelly.write(fsspec.open("s3://bucket/half.nt", "wb", **storage), many)
    files.invalidate_cache()
    assert files.ls("bucket", detail=False) == ["bucket/many.nt"]
    assert files.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads", []) == []
