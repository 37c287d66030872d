"""Figures of the page "A public dump end to end": real data, many times with other hosts, so that IRIs are new ones."""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = {
    "movies": "movies/30kmovies.nt.gz",
    "DBpedia abstracts": "dbpedia-abstracts/long-abstracts-10k.nt.gz",
    "BSBM products": "bsbm100/bsbm-100.nt.gz",
    "vocabularies": "vocabs-quads/vocabs.nq.gz",
}
QUERY = """
import duckdb, jelly
dump = jelly.scan({path!r})
print(duckdb.execute("select predicate, count(*) from dump group by all order by 2 desc limit 3").fetchall())
"""


def run(*command: str) -> tuple[float, float, int, str]:
    """Run a command: seconds, seconds of processor time, peak bytes of memory, and what it prints."""
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        text = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="text of each dump")
    megabytes = parser.parse_args().megabytes
    jelly = [sys.executable, "-m", "jelly"]
    for name, file in FILES.items():
        text = gzip.decompress((SHARED / file).read_bytes())
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number in range(max(1, megabytes * 10**6 // len(text))):
                paths.append(f"{folder}/{number}{Path(file).suffixes[-2]}.gz")
                Path(paths[-1]).write_bytes(gzip.compress(text.replace(b"<http://", b"<http://%d." % number), 6))
            size, packed, dump = len(text) * len(paths), sum(map(os.path.getsize, paths)), f"{folder}/dump.jelly.zst"
            print(f"{name}: {len(paths)} files, {size / 1e6:,.0f} MB of text, {packed / 1e6:,.0f} MB of gzip")
            for threads in "1", "2":
                options = ["--index", "terms", "--threads", threads, "-q"]
                wall, cpu, memory, _ = run(*jelly, "convert", *options, *paths, dump)
                minute = 60 / cpu / 1e9
                print(f"  convert, {threads} threads: {wall:.1f} s, {cpu:.1f} s of processor, {memory / 1e6:.0f} MB")
                print(f"    GB a minute and core: {size * minute:.1f} of text, {packed * minute:.2f} of gzip")
                print(f"    {os.path.getsize(dump) / 1e6:,.0f} MB of .jelly.zst")
            _, _, _, count = run(*jelly, "count", dump)
            _, _, _, last = run(*jelly, "slice", dump, f"{int(count.split()[0]) - 1}:")
            wall, cpu, memory, found = run(*jelly, "find", dump, "-s", last.split()[0].strip("<>"), "--count")
            print(f"  {int(count.split()[0]):,} statements")
            print(f"  find a subject ({found.strip()}): {wall:.2f} s, {memory / 1e6:.0f} MB")
            wall, cpu, memory, _ = run(sys.executable, "-c", QUERY.format(path=dump))
            print(f"  DuckDB, by predicate: {wall:.1f} s, {cpu:.1f} s of processor time, {memory / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
