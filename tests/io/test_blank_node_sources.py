"""Which files are one source of blank nodes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import jelly
from jelly._dataset.blank_node_scope import KEEP, BlankNodes, scope_of

JOB = "0123456789abcdef0123456789abcdef"
UUID = "01234567-89ab-cdef-0123-456789abcdef"


def test_a_path_is_a_source_however_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(tmp_path / "x.nt")
    same = {scope_of(name) for name in (path, "x.nt", "./x.nt", "no/../x.nt", f"{tmp_path}//x.nt")}
    assert len(same) == 1
    code = f"from jelly._dataset.blank_node_scope import scope_of; print(scope_of({path!r}))"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=env)
    assert other.stdout == f"{same.pop()}\n"
    # It is written down in files: it may never change.
    assert scope_of("s3a://bucket/x.nt") == scope_of("s3://bucket/x.nt") == b"jf4d1296c9a0d1b9eb_"


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("/d/a.nt", "/d/b.nt", False),
        ("/d/a.nt", "/e/a.nt", False),
        ("/d/a.nt", "/d/a.nt.gz", False),
        ("s3://d/a.nt", "gs://d/a.nt", False),
        ("https://e.org/?x=1", "https://e.org/?x=2", False),
        # of one job of Spark, moved or not
        (f"/d/part-00000-{JOB}.jelly", f"/e/p=1/part-00012-{JOB}.jelly.zst", True),
        (f"s3://d/part-00000-{UUID}-c000.txt", f"s3://d/part-00001-{UUID}-c000.txt", True),
        (f"/d/part-00000-{JOB}.jelly", f"/d/part-00000-{JOB[::-1]}.jelly", False),
        (f"/d/part-00000-{JOB}0.jelly", f"/d/part-00001-{JOB}0.jelly", False),
        # of a job that gives no names: of a sink, an ingest, Hadoop
        ("/d/part-00000.jelly", "/d/part-00001.jelly", True),
        ("/d/batch=1/part-00000.jelly", "/d/batch=12/part-00003.jelly.zst", True),
        ("/d/part-0123456789abcdef.jelly", "/d/part-fedcba9876543210-quads-generalized.jelly", True),
        ("/d/part-00000", "/e/part-00000", False),
        ("/d/part-1.nt", "/d/part-2.nt", False),
        ("/d/part-00000x.nt", "/d/part-00001x.nt", False),
    ],
)
def test_part_files_of_one_job_are_one_source(one: str, two: str, same: bool) -> None:
    assert (scope_of(one) == scope_of(two)) is same


def test_what_is_refused() -> None:
    for mode, base, message in (
        ("skolemize", None, "need a base for their IRIs: set skolem_base"),
        ("keep", "https://e.org", "only of use to skolemize"),
        *(("skolemize", base, "expected http:// or https://") for base in (
            "", "e.org", "ftp://e.org", "https://", "https://e.org/x", "https://e.org?x", "https://e .org", "https://<"
        )),
    ):  # fmt: skip
        with pytest.raises(jelly.JellyOptionsError, match=message):
            BlankNodes(mode, base)  # type: ignore[arg-type]
    for call in (jelly.read, jelly.scan, jelly.canonicalize):
        with pytest.raises(jelly.JellyArgumentError, match='blank_nodes is .rename.: expected "scope", "keep"'):
            call(b"", blank_nodes="rename")  # type: ignore[operator]


def test_each_mode() -> None:
    def read(chosen: BlankNodes) -> str:
        [batch] = chosen.batches("s3://bucket/x.nt", jelly.scan(b"_:x <a:p> <a:o> .", format="nt").batches())
        return str(batch.term(batch.s[0]))

    assert read(KEEP) == "_:x"
    assert read(BlankNodes()) == "_:jf4d1296c9a0d1b9eb_x"
    for base in ("http://e.org:80", "http://e.org:80/"):
        assert read(BlankNodes("skolemize", base)) == "<http://e.org:80/.well-known/genid/jf4d1296c9a0d1b9eb_x>"
