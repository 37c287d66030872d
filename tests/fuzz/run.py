"""Run the harnesses, one after the other, for some seconds in all.

    python run.py FOLDER SECONDS [HARNESS ...]

FOLDER/lib and FOLDER/driver are what build.py made. FOLDER/corpus/HARNESS grows and is used again, FOLDER/found gets
the inputs for which a property does not hold, FOLDER/runs.csv a line for each run: harness, seconds, executions,
coverage before and after, findings.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.readers import HARNESSES
from fuzz.seeds import SEEDS, corpus

COLUMNS = ("began", "harness", "seconds", "executions", "coverage before", "coverage after", "features", "findings")
# No leaks: those of the interpreter are not ours. An allocation that is too large is a MemoryError, as without ASan.
SANITIZER = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_abort=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
MAX_LEN = 2048
# Findings of one harness after which it is left alone.
MAX_FOUND = 5


def prepare(name: str, folder: Path) -> Path:
    """The folder of the corpus of a harness, with all seeds and samples in it."""
    inputs = folder / "corpus" / name
    inputs.mkdir(parents=True, exist_ok=True)
    for data in corpus(HARNESSES[name]):
        path = inputs / hashlib.sha1(data).hexdigest()
        if len(data) <= MAX_LEN and not path.exists():
            path.write_bytes(data)
    return inputs


def environment(name: str, folder: Path) -> dict[str, str]:
    """The variables with which the program finds Python, the package and the harness."""
    places = [str(folder / "lib"), str(Path(__file__).resolve().parents[1])]
    places += [path for path in sys.path if path.endswith("-packages")]
    return os.environ | SANITIZER | {
        "JELLY_FUZZ_HARNESS": name,
        "PYTHONPATH": os.pathsep.join(places),
        "PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
        "PYTHONMALLOC": "malloc",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def run(name: str, folder: Path, seconds: int) -> list[Path]:
    """Run one harness, and after a finding again until the time is over. Return what it found."""
    end = time.monotonic() + seconds
    found: list[Path] = []
    left = seconds
    while left >= 1 and len(found) < MAX_FOUND:
        new = run_once(name, folder, left)
        found += new
        if not new:
            break
        left = int(end - time.monotonic())
    return found


def run_once(name: str, folder: Path, seconds: int) -> list[Path]:
    """Run one harness until its first finding."""
    inputs, found = prepare(name, folder), folder / "found" / name
    found.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    command = [
        str(folder / "driver"), str(inputs), f"-max_total_time={seconds}", f"-artifact_prefix={found}/", "-timeout=30",
        "-rss_limit_mb=3000", f"-max_len={MAX_LEN}", "-print_final_stats=1", "-reload=0", "-len_control=50",
    ]  # fmt: skip
    began = time.time()
    done = subprocess.run(command, env=environment(name, folder), capture_output=True, text=True, errors="replace")
    new = sorted(set(found.iterdir()) - before)
    told = done.stderr
    first = re.search(r"INITED cov: (\d+)", told)
    last = re.findall(r"cov: (\d+) ft: (\d+)", told)
    executions = re.search(r"number_of_executed_units: (\d+)", told) or re.search(
        r"(?s:.*)^#(\d+)\s", told, re.MULTILINE
    )
    line = [
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(began)), name, round(time.time() - began, 1),
        int(executions[1]) if executions else 0, first[1] if first else "", *(last[-1] if last else ("", "")), len(new),
    ]  # fmt: skip
    table = folder / "runs.csv"
    fresh = not table.exists()
    with table.open("a", newline="") as out:
        csv.writer(out).writerows([COLUMNS, line] if fresh else [line])
    print("fuzz:", *line, flush=True)
    if done.returncode:
        log = found / f"log-{int(began)}.txt"
        log.write_text(told)
        print(told[-3000:] if not new else f"fuzz: {name} found {', '.join(map(str, new))}; see {log}", flush=True)
        if not new:
            new = [log]
    return new


def parts(seconds: int, names: list[str]) -> Iterator[tuple[str, int]]:
    """What remains is divided among the harnesses that are still to run, so that none of it is lost."""
    end = time.monotonic() + seconds
    for i, name in enumerate(names):
        yield name, max(int((end - time.monotonic()) / (len(names) - i)), 1)


def main(folder: Path, seconds: int, *names: str) -> int:
    assert SEEDS.is_dir()
    if unknown := set(names) - set(HARNESSES):
        raise SystemExit(f"there is no harness {', '.join(sorted(unknown))}: expected some of {', '.join(HARNESSES)}")
    found = [path for name, n in parts(seconds, list(names or HARNESSES)) for path in run(name, folder, n)]
    print(f"fuzz: {len(found)} findings", *found, sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), int(sys.argv[2]), *sys.argv[3:]))
