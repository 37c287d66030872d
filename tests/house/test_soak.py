"""`make soak`: a short run of each job, and that growth and wrong statements are noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
if not (BENCH / "soak.py").is_file():
    pytest.skip("the sources are not there", allow_module_level=True)
if sys.platform != "linux":
    pytest.skip("memory is read from /proc", allow_module_level=True)
pytest.importorskip("matplotlib", reason="the report is a plot")
pytest.importorskip("pyarrow", reason="some jobs make columns")
pytest.importorskip("grpc", reason="one job is a broker")
pytest.importorskip("click", reason="some jobs run the command")
sys.path.append(str(BENCH))

import soak  # noqa: E402
import soak_jobs  # noqa: E402

import jelly  # noqa: E402
from jelly import IRI, Quad  # noqa: E402

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(jelly.__file__).parent.parent), *sys.path])}
LONG = bool(os.environ.get("JELLY_LONG"))


def test_all_jobs_run(tmp_path):
    """For a second each, which is too short to tell whether memory is flat; that is for `make soak`."""
    minutes = "1" if LONG else "0.01"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(BENCH / "soak.py"), "--minutes", minutes, "--every", "0.05",
         "--out", str(tmp_path)],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=840, check=False,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == len(soak_jobs.JOBS), done.stderr[-3000:]
    assert done.returncode == 0 or done.stderr.startswith("memory of "), done.stderr[-3000:]
    report = {job["job"]: job for job in json.loads((tmp_path / "soak.json").read_text())["jobs"]}
    assert list(report) == list(soak_jobs.JOBS)
    for job in report.values():
        assert job["statements"] > 1000
        assert job["samples"]
        assert all(50 << 20 < sample["rss"] < 2 << 30 for sample in job["samples"])
        assert all(sample["pss"] <= sample["rss"] for sample in job["samples"])
    assert report["convert"]["samples"][0]["processes"] > 1
    assert report["broker"]["samples"][0]["processes"] == 2
    assert report["stream"]["short_streams"] > 0
    assert report["threads"]["files_read"] > 0
    assert report["broker"]["delivered"] == 3 * report["broker"]["statements"]
    assert "<svg" in (tmp_path / "soak.svg").read_text()


def test_memory_that_grows():
    flat = [200.0 + (i * 7919 % 13) for i in range(500)]  # noise without a direction
    assert 0.99 < soak.growth(flat) < 1.01
    assert soak.growth([900.0] * 40 + flat) < 1.01  # the warm-up does not count
    leak = [value * (1 + 0.05 * i / len(flat)) for i, value in enumerate(flat)]
    assert soak.growth(leak) > soak.MAX_GROWTH
    assert soak.is_flat({"rss_growth": soak.growth(flat)})
    assert not soak.is_flat({"rss_growth": soak.growth(leak)})
    assert soak.growth([1.0, 2.0]) is None
    assert not soak.is_flat({"rss_growth": None})


def test_statements_that_are_wrong():
    """A statement that is lost, changed, twice or elsewhere ends the job."""
    statements = [Quad(IRI(f"a:{i}"), IRI("a:p"), IRI("a:o"), IRI("a:g")) for i in range(100)]

    def batches(items):
        return list(jelly.scan(jelly.dumps(items), batch_rows=7).batches())

    checker = soak_jobs.Checker(iter(batches(statements)), "a stream")
    for batch in jelly.scan(jelly.dumps(statements), batch_rows=11).batches():
        checker.take(batch)
    assert checker.statements == 100
    swapped = [*statements[:50], statements[51], statements[50], *statements[52:]]
    for wrong in (statements[1:], swapped, statements[:9] + statements[8:], [*statements[:99], statements[0]]):
        checker = soak_jobs.Checker(iter(batches(statements)), "a stream")
        with pytest.raises(soak_jobs.Wrong, match="a stream, statement"):  # noqa: PT012
            for batch in batches(wrong):
                checker.take(batch)
    with pytest.raises(soak_jobs.Wrong, match="a file: 2 statements, expected 3"):
        soak_jobs.compare(np.zeros(2), np.zeros(3), "a file")


def test_rounds_differ():
    """Each block has subjects of its own, and can be made again."""
    blocks = soak_jobs.Blocks()
    first, second = (np.concatenate([soak_jobs.hashes(b) for b in blocks.batches(n)]) for n in (0, 4))
    again = np.concatenate([soak_jobs.hashes(b) for b in blocks.batches(0)])
    assert np.array_equal(first, again)
    assert len(first) == len(second)
    assert len(np.intersect1d(first, second)) == 0
