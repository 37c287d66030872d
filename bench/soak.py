"""Long runs that must not take more and more memory: convert, stream, threads and broker, see `soak_jobs.py`.

    python bench/soak.py [JOB ...] [--minutes 60] [--statements 500] [--out build/soak]

Each job ends after so many minutes or million statements, whichever is first. Meanwhile the memory of all its processes
is measured. It fails if a job finds a wrong statement, or if its memory grows: after a warm-up of a tenth of the time,
the last quarter may be at most 2 % above the second quarter, see `growth`. OUT gets `soak.json` and `soak.svg`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from soak_jobs import ENVIRONMENT, JOBS

WARM_UP = 0.1
MAX_GROWTH = 1.02
FOLDER = Path(__file__).resolve().parent
# With several arenas, what threads free is not found again by others: the broker took 5 % more within half an hour.
# The allocator of pyarrow keeps as much as it likes of what was freed, differently for each kind of file.
ALLOCATORS = {"convert": {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}}
ALLOCATORS["broker"] = {"MALLOC_ARENA_MAX": "1"}


def descendants(process: int) -> Iterator[int]:
    """The ids of a process and of all that it started."""
    parents: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                stat = Path(entry.path, "stat").read_text()
            except OSError:  # it has ended
                continue
            parents.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    waiting = [process]
    while waiting:
        waiting += parents.get(one := waiting.pop(), [])
        yield one


def memory(process: int) -> tuple[int, int, int]:
    """Bytes of a process and of all that it started: resident, and with a share of what they share; their number."""
    resident = share = count = 0
    for one in descendants(process):
        try:
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        sizes = {line.split()[0]: int(line.split()[1]) * 1024 for line in lines}
        resident += sizes.get("Rss:", 0)
        share += sizes.get("Pss:", 0)
        count += bool(sizes)
    return resident, share, count


def growth(samples: list[float]) -> float | None:
    """The last quarter after the warm-up, divided by the second quarter; None: too few to tell.

    Of the medians, or of what a tenth of the samples is below, whichever grew less: what is lost stays lost and raises
    both. A kind of file that needs much for a while raises the median of the quarter in which it happens to come.

    >>> growth([5.0] * 100), round(growth([float(100 + i) for i in range(100)]), 3)
    (1.0, 1.323)
    >>> growth([5.0] * 80 + [5.0, 9.0, 9.0, 9.0] * 5)
    1.0
    """
    counted = samples[int(len(samples) * WARM_UP) :]
    quarter = len(counted) // 4
    if quarter == 0:
        return None
    second, last = sorted(counted[quarter : 2 * quarter]), sorted(counted[-quarter:])
    return min(statistics.median(last) / statistics.median(second), last[quarter // 10] / second[quarter // 10])


def run(job: str, seconds: float, most: int, every: float) -> dict[str, Any]:
    """Run a job in a process of its own. What it did, and samples of its memory."""
    progress: dict[str, int] = {"statements": 0}
    samples: list[dict[str, float]] = []
    # A directory that the job fills; the errors go to a file, since a pipe that nobody reads would stop the job.
    with tempfile.TemporaryDirectory(prefix="soak") as folder, tempfile.TemporaryFile("w+") as errors:
        began = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(FOLDER / "soak_jobs.py"), job, str(seconds), str(most), folder],
            stdout=subprocess.PIPE, stderr=errors, env=ENVIRONMENT | ALLOCATORS.get(job, {}), text=True,
            start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None

        def follow() -> None:
            for line in process.stdout:
                progress.update(json.loads(line))

        reading = threading.Thread(target=follow)
        reading.start()
        try:
            while process.poll() is None:
                resident, share, count = memory(process.pid)
                if progress["statements"] and resident:
                    seen = {"seconds": time.monotonic() - began, "rss": resident, "pss": share}
                    samples.append(seen | {"processes": count, "statements": progress["statements"]})
                try:
                    process.wait(every)
                except subprocess.TimeoutExpired:
                    if time.monotonic() - began > seconds + 300:
                        raise SystemExit(f"{job} does not end") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            reading.join()
            process.stdout.close()
        took = time.monotonic() - began
        errors.seek(0)
        said = errors.read()
    if process.returncode:
        raise SystemExit(f"{job} failed with {process.returncode}:\n{said[-3000:]}")
    # The end, when processes have gone already, is no sample.
    most_processes = max((sample["processes"] for sample in samples), default=0)
    samples = [sample for sample in samples if sample["processes"] == most_processes]
    result = {"job": job, "seconds": round(took, 1), **progress, "samples": samples}
    return result | {f"{name}_growth": growth([sample[name] for sample in samples]) for name in ("rss", "pss")}


def verdict(result: dict[str, Any]) -> str:
    """One line on a job."""
    most = max((sample["rss"] for sample in result["samples"]), default=0) / 2**20
    grown = [result[f"{name}_growth"] for name in ("rss", "pss")]
    of_rss, of_pss = ("?" if one is None else f"{100 * (one - 1):+.2f} %" for one in grown)
    millions, minutes = result["statements"] / 1e6, result["seconds"] / 60
    return (
        f"{result['job']}: {millions:.1f} million statements in {minutes:.1f} minutes, "
        f"{most:.0f} MiB resident at most; last to second quarter {of_rss} (proportional set size {of_pss})"
    )


def is_flat(result: dict[str, Any]) -> bool:
    """Whether memory did not grow. Resident memory counts: the other size depends on what other programs share."""
    return result["rss_growth"] is not None and bool(result["rss_growth"] <= MAX_GROWTH)


def plot(results: list[dict[str, Any]], path: Path) -> None:
    """Draw the memory of all jobs over time."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "soak", "svg.fonttype": "none"})
    from matplotlib import pyplot

    size = 8, 2.2 * len(results)
    figure, axes = pyplot.subplots(len(results), 1, figsize=size, squeeze=False, layout="constrained")
    for (axis,), result in zip(axes, results, strict=True):
        minutes = [sample["seconds"] / 60 for sample in result["samples"]]
        for name, label in (("rss", "resident"), ("pss", "proportional")):
            axis.plot(minutes, [sample[name] / 2**20 for sample in result["samples"]], label=label, linewidth=1)
        if minutes:
            axis.axvline(minutes[int(len(minutes) * WARM_UP)], color="grey", linestyle=":", linewidth=1)
        axis.set_ylim(0, None)
        axis.set_ylabel("MiB")
        axis.set_title(f"{result['job']}: {result['statements'] / 1e6:.0f} million statements", fontsize=10)
        axis.legend(loc="lower right", fontsize=8)
    axes[-1][0].set_xlabel("minutes")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"of {', '.join(JOBS)}; by default all")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--statements", type=float, default=500, help="millions")
    parser.add_argument("--every", type=float, default=2, metavar="SECONDS", help="between two measurements of memory")
    parser.add_argument("--out", type=Path, default=Path("build/soak"))
    given = parser.parse_args()
    if unknown := set(given.jobs) - set(JOBS):
        parser.error(f"no job {', '.join(sorted(unknown))}: expected some of {', '.join(JOBS)}")
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "soak.json"
    # Jobs that ran before stay in the report.
    results = {result["job"]: result for result in json.loads(path.read_text())["jobs"]} if path.exists() else {}
    for job in given.jobs or JOBS:
        result = run(job, 60 * given.minutes, int(given.statements * 1e6), given.every)
        print(verdict(result), flush=True)
        results[job] = result
        about = {"python": platform.python_version(), "machine": platform.machine(), "processors": os.cpu_count()}
        ordered = [results[name] for name in JOBS if name in results]
        path.write_text(json.dumps(about | {"jobs": ordered}) + "\n")
        plot(ordered, given.out / "soak.svg")
    grown = [job for job in given.jobs or JOBS if not is_flat(results[job])]
    if grown:
        most = f"{100 * (MAX_GROWTH - 1):.0f} %"
        raise SystemExit(f"memory of {', '.join(grown)} grew by more than {most}, or the time was too short to tell")


if __name__ == "__main__":
    main()
