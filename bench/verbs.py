"""Sort, unique, append and others on many statements: seconds and peak memory, beside GNU sort on the N-Quads.

``python bench/verbs.py --millions 50 --folder FOLDER`` makes the input once: copies of the vocabularies, each with IRIs
of its own, which are not in order. It takes 25 GB there for 50 million statements.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from figures import merge

import jelly

DATA = Path(__file__).resolve().parents[2] / "shared/data/vocabs-quads/vocabs.nq.gz"
# Steps that reach all numbers below a million in a mixed order.
STEP = 792_131


def make(path: Path, rows: int) -> None:
    """Write the input."""
    text = gzip.decompress(DATA.read_bytes())
    number = 0
    with jelly.Writer(path, seekable=True) as writer:
        while writer.statements < rows:
            copy = text.replace(b"<http://", b"<http://c%d." % (number * STEP % 1_000_000))
            number += 1
            for batch in jelly.scan(copy, format="nq").batches():
                writer.add_batch(batch)


FIGURES: list[dict[str, Any]] = []


def run(what: str, command: list[str], **environment: str) -> None:
    """Run a command and print its seconds, those of the processor, and its peak memory."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    failed = f", exit code {process.returncode}" if process.returncode else ""
    cpu = used.ru_utime + used.ru_stime
    print(f"{what:30} {seconds:8.1f} s {cpu:8.1f} s of CPU {used.ru_maxrss / 1024:6.0f} MB{failed}", flush=True)
    FIGURES.append({"what": what, "seconds": seconds, "bytes": used.ru_maxrss * 1024})


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, default=1)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--sort", action="store_true", help="only sort")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there, for the page of speed")
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    path, made = given.folder / f"{given.millions}m.jelly", given.folder / "out.jelly"
    if not path.exists():
        make(path, int(given.millions * 1_000_000))
    with jelly.open(path) as file:
        statements = len(file)
        print(f"{statements:,} statements, {path.stat().st_size / 1e6:,.0f} MB of Jelly")
    command = [sys.executable, "-m", "jelly"]
    temporary = {"TMPDIR": str(given.folder)}
    run("jelly sort", [*command, "sort", str(path), "-o", str(made)], **temporary)
    if not given.sort:
        others(command, path, made, temporary)
    made.unlink()
    if shutil.which("sort") is not None:
        text = given.folder / f"{given.millions}m.nq"
        if not text.exists():
            run("jelly convert to N-Quads", [*command, "convert", str(path), str(text)])
        print(f"{text.stat().st_size / 1e6:,.0f} MB of N-Quads")
        peer = ["sort", "-S", "256M", "-T", str(given.folder), "-o", str(given.folder / "out.nq")]
        run("GNU sort", [*peer, str(text)], LC_ALL="C")
        if not given.sort:
            run("GNU sort -u", [*peer, "-u", str(text)], LC_ALL="C")
        (given.folder / "out.nq").unlink()
    if given.json:
        merge(given.json, {"verbs": [{"statements": statements} | one for one in FIGURES]})


def others(command: list[str], path: Path, made: Path, temporary: dict[str, str]) -> None:
    """Measure all but sort."""
    run("jelly sort --by pos", [*command, "sort", "--by", "pos", str(path), "-o", str(made)], **temporary)
    run("jelly convert --unique", [*command, "convert", "--unique", str(path), str(made)], **temporary)
    run("jelly convert", [*command, "convert", str(path), str(made)], **temporary)
    run("jelly append 144,418", [*command, "append", str(DATA), str(made)], **temporary)
    run("jelly find --where", [*command, "find", str(path), "--where", "o.language=en", "-o", str(made)])
    run("jelly convert --sample", [*command, "convert", "--sample", "1000", str(path), str(made)])


if __name__ == "__main__":
    main()
