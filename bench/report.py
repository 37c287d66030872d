"""Speed beside the peers, as a table: `python bench/report.py`, 15 minutes on a machine with nothing else to do.

Within a round everyone has a turn of some calls, so what slows the machine for a while slows all; the median of the
rounds counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import curves
import peers
from figures import merge
from graphs import PARSE, READ, SERIALIZE, WRITE
from work import DECODE, DUMPS, ENCODE, LOADS, NAMES, SOURCES, TEXT, Data, Job, Jvm, Unavailable

import jelly

# Title, jobs, data; then which of ours is divided by whom.
WORKS: dict[str, tuple[str, dict[str, Job], list[str], list[tuple[str, str]]]] = {
    "decode": (
        "Jelly to Batches and Python terms",
        DECODE,
        NAMES,
        [("jelly loop", "pyjelly loop"), ("jelly list", "pyjelly list"), ("jelly loop", "pyoxigraph text loop")],
    ),
    "encode": (
        "Python terms and Batches to Jelly",
        ENCODE,
        NAMES,
        [("jelly terms", "pyjelly terms"), ("jelly terms", "pyoxigraph text")],
    ),
    "text": (
        "N-Triples and N-Quads to Jelly and back",
        TEXT,
        list(SOURCES),
        [("jelly text to Jelly", "pyoxigraph to pyjelly")],
    ),
    "rdflib-read": (
        "Jelly to RDFLib terms",
        READ,
        list(SOURCES),
        [("jelly rdflib loop", "pyjelly rdflib loop")],
    ),
    "rdflib-write": (
        "RDFLib terms to Jelly",
        WRITE,
        list(SOURCES),
        [("jelly rdflib terms", "pyjelly rdflib terms")],
    ),
    "rdflib-parse": (
        "Jelly to RDFLib graphs and datasets",
        PARSE,
        list(SOURCES),
        [("jelly Graph.parse", "pyjelly Graph.parse")],
    ),
    "rdflib-serialize": (
        "RDFLib graphs and datasets to Jelly",
        SERIALIZE,
        list(SOURCES),
        [("jelly serialize", "pyjelly serialize")],
    ),
    "files": (
        "A file on disk, all of it",
        peers.READ,
        list(SOURCES),
        [("jelly, Jelly to terms", "pyoxigraph, text"), ("jelly, Jelly to Arrow", "pyarrow, Parquet to Arrow")],
    ),
    "columns": (
        "A file on disk to Arrow columns",
        peers.COLUMNS,
        list(SOURCES),
        [("jelly, Jelly to Arrow", "pyarrow, Parquet"), ("jelly, Jelly to Arrow", "pyarrow, Arrow IPC")],
    ),
    "loads": (
        "One message of 26 quads to Python terms",
        LOADS,
        ["small"],
        [("jelly loads", "pyjelly"), ("jelly loads", "pyoxigraph text")],
    ),
    "dumps": (
        "26 quads of Python terms to one message",
        DUMPS,
        ["small"],
        [("jelly dumps", "pyjelly"), ("jelly dumps", "pyoxigraph text")],
    ),
}
# Seconds of a turn at least: the quick ones are called more than once, lest they pay for caches that others used.
TURN = 0.05
PACKAGES = "numpy", "pyjelly", "protobuf", "pyoxigraph", "rdflib", "pyarrow", "lightrdf", "maplib"
# What is not a rate of each data set; for the page of the site.
MORE: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "sizes": lambda: peers.sizes(list(SOURCES)),
    "growth": curves.growth,
    "threads": curves.threads,
    "memory": curves.memory_over_time,
}


def measure(jobs: dict[str, Job], data: Data, rounds: int, cpu: bool) -> tuple[dict[str, list[float]], float]:
    """Seconds of each job in each round, and the share of the time in which the processor was not ours."""
    jobs = dict(jobs)
    seconds: dict[str, list[float]] = {who: [] for who in jobs}
    wall = busy = 0.0
    repeats = {}
    for who, job in list(jobs.items()):
        try:
            counted = job(data)
        except Unavailable as reason:
            print(f"without {who}, {data.name}: {reason}", file=sys.stderr)
            del jobs[who], seconds[who]
            continue
        if counted != data.count:
            raise AssertionError(f"{who} lost statements of {data.name}")
        start = perf_counter()
        job(data)
        repeats[who] = max(1, round(TURN / (perf_counter() - start)))
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for _ in range(rounds):
            for who, job in jobs.items():
                repeat = repeats[who]
                start, worked = perf_counter(), process_time()
                for _ in range(repeat):
                    job(data)
                worked = process_time() - worked
                took = perf_counter() - start
                own = who not in peers.ELSEWHERE
                seconds[who].append((worked if own and cpu else took) / repeat)
                if own:
                    wall += took
                    busy += worked
            gc.collect()
    finally:
        gc.enable()
        gc.unfreeze()
    return seconds, max(0.0, 1 - busy / wall)


def run(works: list[str], rounds: int, jvm: Jvm | None, cpu: bool) -> list[dict[str, Any]]:
    results = []
    known: dict[str, Data] = {}
    for work in works:
        _, jobs, names, _ = WORKS[work]
        if jvm is not None and work in ("decode", "encode"):
            jobs = jobs | {"Jelly-JVM": jvm.job(work)}
        for name in names:
            print(f"{work} {name} ...", file=sys.stderr)
            data = known[name] = known.get(name) or Data(name)
            seconds, waited = measure(jobs, data, rounds, cpu)
            for who, times in seconds.items():
                median = statistics.median(times)
                quarters = statistics.quantiles(times, n=4) if len(times) > 1 else [median] * 3
                results.append(
                    {
                        "work": work,
                        "data": name,
                        "who": who,
                        "statements": data.count,
                        "seconds": median,
                        "statements/s": round(data.count / median),
                        "spread": round((quarters[2] - quarters[0]) / median, 3),
                        "waited": round(waited, 3),
                    }
                )
    return results


def cell(seconds: float | None, rate: float | None, small: bool) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1e6:.1f}" if small else f"{rate:.2f}"


def tables(results: list[dict[str, Any]]) -> str:
    """Million statements a second, or microseconds where a call is small, in Markdown."""
    lines = []
    for work, (title, _, names, ratios) in WORKS.items():
        seconds = {(r["data"], r["who"]): r["seconds"] for r in results if r["work"] == work}
        rates = {(r["data"], r["who"]): r["statements/s"] / 1e6 for r in results if r["work"] == work}
        if not seconds:
            continue
        columns = list(dict.fromkeys(who for _, who in seconds))
        small = names == ["small"]
        heads = ["data", *columns, *(f"{ours} : {theirs}" for ours, theirs in ratios)]
        lines += [f"### {title}: {'µs a message' if small else 'million statements/s'}", ""]
        lines += [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
        for name in names:
            cells = [cell(seconds.get((name, who)), rates.get((name, who)), small) for who in columns]
            cells += [f"{seconds[name, theirs] / seconds[name, ours]:.1f}x" for ours, theirs in ratios]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def noise(results: list[dict[str, Any]]) -> str:
    """What to think of the figures."""
    waited = max(result["waited"] for result in results)
    wild = [f"{r['work']} {r['data']} {r['who']}" for r in results if r["spread"] > 0.25]
    text = f"The processor was elsewhere for up to {waited:.0%} of the time."
    if wild:
        more = f" and {len(wild) - 5} more" if len(wild) > 5 else ""
        text += f" The middle half of the rounds differs by more than a quarter in {', '.join(wild[:5])}{more}."
    return text + (" Noisy: measure again when the machine is quiet." if waited > 0.05 or len(wild) > 5 else "")


def machine() -> dict[str, Any]:
    versions = {"jelly-rdf": jelly.__version__} | peers.versions()
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "processors": os.cpu_count(), "packages": versions}


def save(path: Path, found: dict[str, Any], works: list[str]) -> None:
    """Write the figures; those of works that were not measured now stay as they were, and so do the versions of peers
    that are not here."""
    known = json.loads(path.read_text("utf-8")) if path.exists() else {"results": []}
    packages = known.get("machine", {}).get("packages", {}) | found["machine"]["packages"]
    found = found | {"machine": found["machine"] | {"packages": packages}}
    kept = [result for result in known["results"] if result["work"] not in works]
    merge(path, found | {"results": kept + found["results"]})


def plot(results: list[dict[str, Any]], path: str) -> None:
    """Bars of statements a second, on a logarithmic scale."""
    from matplotlib import pyplot

    works = [work for work in ("decode", "encode", "text") if any(r["work"] == work for r in results)]
    figure, axes = pyplot.subplots(len(works), 1, figsize=(8, 3.2 * len(works)), squeeze=False, layout="constrained")
    for axis, work in zip(axes[:, 0], works, strict=True):
        chosen = [r for r in results if r["work"] == work and r["data"] in ("iot-weather", "vocabs-quads")]
        people = list(dict.fromkeys(r["who"] for r in chosen))
        for shift, name in enumerate(("iot-weather", "vocabs-quads")):
            rates = [r["statements/s"] / 1e6 for r in chosen if r["data"] == name]
            bars = axis.barh([i + 0.4 * shift for i in range(len(people))], rates, 0.38, label=name)
            axis.bar_label(bars, fmt="%.2f", padding=3, fontsize=7)
        axis.set_yticks([i + 0.2 for i in range(len(people))], people)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.margins(x=0.15)
        axis.set_title(f"{WORKS[work][0]}: million statements/s", fontsize=10)
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*WORKS, *MORE]
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"some of {', '.join(known)}; all by default")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-jvm", action="store_true", help="leave Jelly-JVM out")
    parser.add_argument(
        "--cpu", action="store_true", help="processor time of all but Jelly-JVM, for a machine that has other work"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    parser.add_argument("--plot", metavar="FILE.png", help="also draw them; needs matplotlib")
    arguments = parser.parse_args()
    if unknown := set(arguments.works) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        jvm = None
        processors = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
        try:
            jvm = None if arguments.no_jvm else Jvm(Path(folder), processors)
        except Unavailable as reason:
            print(f"without Jelly-JVM: {reason}", file=sys.stderr)
        if processors:
            os.sched_setaffinity(0, {max(processors)})
        try:
            chosen = arguments.works or known
            results = run([work for work in chosen if work in WORKS], arguments.rounds, jvm, arguments.cpu)
            if processors:
                os.sched_setaffinity(0, processors)
            more = {name: make() for name, make in MORE.items() if name in chosen}
        finally:
            peers.FILES.close()
            if jvm is not None:
                jvm.close()
    about = machine()
    print(tables(results))
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    clock = "processor time, but Jelly-JVM by the clock" if arguments.cpu else "by the clock"
    print(f"Python {about['python']}, {packages}; medians of {arguments.rounds} rounds on one processor, {clock}.")
    if results:
        print(noise(results))
    for name in set(more) - {"memory"}:
        print(f"{name}:", *(" ".join(map(str, one.values())) for one in more[name]), sep="\n  ")
    if arguments.json:
        about |= {"rounds": arguments.rounds, "clock": clock}
        save(Path(arguments.json), {"machine": about, "results": results, **more}, chosen)
    if arguments.plot:
        plot(results, arguments.plot)


if __name__ == "__main__":
    main()
