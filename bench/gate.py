"""The gate that keeps the speed: instructions of small kernels, counted by callgrind, against a committed baseline.

    make gate                  fails when a kernel needs 3 % more instructions than in gate.json or in baseline-1.json
    make gate-baseline         writes gate.json anew: in a commit of its own, with its reason
    bench/gate.py --only text  some kernels, by a part of their names; `--list` shows all

gate.json moves with each reason to need more instructions, so that small steps could add up unseen. baseline-1.json was
made once and never moves; a kernel that came later has its first count added there by `make gate-baseline`.

Instructions do not depend on what else the machine does, so that 1 % is seen. They depend on the compiler, on Python
and on numpy: both baselines name those that they were made with, and elsewhere the gate refuses to compare.

All kernels run in one process under valgrind. Each is called by way of `sys.call_tracing`, which nothing else calls:
callgrind collects between the entry and the exit of its C function, and writes what it collected.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BASELINE = Path(__file__).with_suffix(".json")
FIRST = BASELINE.with_name("baseline-1.json")
FOLDER = BASELINE.parent.parent
BOUND = 1.03
DOOR = "_PyEval_CallTracing"
STATEMENTS = 3000
# Programs that are counted from their start, without the instructions of another one: a version is printed before numpy
# is imported.
STARTS = {
    "import jelly": (("-c", "import jelly"), "import numpy"),
    "jelly --help": (("-m", "jelly", "--help"), "import numpy"),
    "jelly --version beyond python": (("-m", "jelly", "--version"), "pass"),
}

Kernel = Callable[[], Any]


# ---- the data: made here, so that the gate runs without ../shared


def sensor() -> Iterator[Any]:
    """Triples such as sensors send: few predicates, many numbers, subjects in a row."""
    from jelly import IRI, Literal, Triple

    draw = random.Random(1)
    base, xsd = "http://example.org/weather/", "http://www.w3.org/2001/XMLSchema#"
    for n in range(STATEMENTS // 5):
        subject = IRI(f"{base}observation/{n}")
        yield Triple(subject, IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"), IRI(f"{base}ns#Observation"))
        yield Triple(subject, IRI(f"{base}ns#station"), IRI(f"{base}station/{draw.randrange(40)}"))
        yield Triple(
            subject, IRI(f"{base}ns#value"), Literal(f"{draw.random() * 40:.2f}", datatype=IRI(f"{xsd}double"))
        )
        yield Triple(
            subject, IRI(f"{base}ns#time"), Literal(f"2026-01-01T{n % 24:02}:00:00Z", datatype=IRI(f"{xsd}dateTime"))
        )
        yield Triple(subject, IRI(f"{base}ns#unit"), Literal("°C" if n % 3 else "hPa"))


def vocabulary() -> Iterator[Any]:
    """Quads such as vocabularies hold: many namespaces, texts in many languages, blank nodes."""
    from jelly import IRI, BlankNode, Literal, Quad

    draw = random.Random(2)
    for n in range(STATEMENTS // 4):
        space = f"http://vocab{draw.randrange(60)}.example.org/ns#"
        subject, graph = IRI(f"{space}term{n}"), IRI(space)
        text = " ".join(
            draw.choice(("a", "résumé", "of", '"terms"', "数据", "line\n")) for _ in range(draw.randrange(20))
        )
        yield Quad(
            subject, IRI("http://www.w3.org/2000/01/rdf-schema#label"), Literal(f"term {n}", language="en"), graph
        )
        yield Quad(
            subject,
            IRI("http://www.w3.org/2000/01/rdf-schema#comment"),
            Literal(text, language=draw.choice(("de", "fr-CA"))),
            graph,
        )
        yield Quad(subject, IRI("http://www.w3.org/2000/01/rdf-schema#subClassOf"), BlankNode(f"b{n}"), graph)
        yield Quad(
            BlankNode(f"b{n}"),
            IRI("http://www.w3.org/2002/07/owl#onProperty"),
            IRI(f"{space}term{draw.randrange(n + 1)}"),
            graph,
        )


class Nowhere(io.RawIOBase):
    """Drops what is written: a growing buffer costs more or less by what the allocator has at hand."""

    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        return len(part)


def kernels() -> dict[str, Kernel]:
    """Every kernel by its name, with its input ready."""
    import jelly
    import jelly.arrow
    import jelly.messages
    import jelly.patch
    import jelly.results

    triples, quads = list(sensor()), list(vocabulary())
    small = triples[:26]
    found: dict[str, Kernel] = {}

    def drain(data: bytes, format: str) -> None:
        for _ in jelly.scan(data, format=format).batches():
            pass

    def put(batches: list[Any], format: str, options: Any = None) -> None:
        with jelly.Writer(Nowhere(), options, format=format) as writer:
            for batch in batches:
                writer.add_batch(batch)

    def rows_of(data: bytes, format: str) -> list[Any]:
        return list(jelly.results.read_results(data, format=format))

    def put_rows(variables: Any, rows: list[Any], format: str) -> None:
        jelly.results.write_results(Nowhere(), variables, rows, format=format)

    def loop(data: bytes) -> None:
        for _ in jelly.read(data):
            pass

    def values(data: bytes) -> None:
        for statement in jelly.read(data):
            for term in statement:
                if term is not None:
                    _ = term.value

    def add(name: str, kernel: Callable[..., Any], *args: Any) -> None:
        found[name] = lambda: kernel(*args)

    formats = (("jelly", "jelly"), ("text", "nq"), ("thrift", "thrift"), ("protobuf", "protobuf"))
    for what, statements in (("sensor", triples), ("vocabulary", quads)):
        encoded = jelly.dumps(statements)
        batches = list(jelly.scan(encoded).batches())
        for title, format in formats:
            format = "nt" if format == "nq" and statements is triples else format
            out = io.BytesIO()
            jelly.write(out, statements, format=format)
            add(f"{title} in, {what}", drain, out.getvalue(), format)
            add(f"{title} out, {what}", put, batches, format)
        add(f"terms in, {what}", jelly.loads, encoded)
        add(f"terms in a loop, {what}", loop, encoded)
        add(f"values in a loop, {what}", values, encoded)
        add(f"terms out, {what}", jelly.dumps, statements)

    # Jelly 1.2, which stores a frame column by column.
    for what, statements in (("sensor", triples), ("vocabulary", quads)):
        encoded = jelly.dumps(statements, {"version": 3})
        add(f"jelly 1.2 in, {what}", drain, encoded, "jelly")
        batches = list(jelly.scan(encoded).batches())
        add(f"jelly 1.2 out, {what}", put, batches, "jelly", {"version": 3})

    encoded = jelly.dumps(quads)
    for layout in ("flat", "ntriples"):
        for dictionary in (False, True):
            name = f"{layout}{' dictionary' if dictionary else ''}"
            table = jelly.arrow.read_arrow(encoded, layout=layout, dictionary=dictionary).read_all()
            out_of = lambda layout=layout, dictionary=dictionary: jelly.arrow.read_arrow(  # noqa: E731
                encoded, layout=layout, dictionary=dictionary
            ).read_all()
            add(f"columns out, {name}", out_of)
            add(f"columns in, {name}", lambda table=table: jelly.arrow.write_arrow(Nowhere(), table))

    patch = jelly.patch.dumps([jelly.patch.Add(quad) for quad in quads])
    operations = list(jelly.patch.loads(patch))
    add("patch in", jelly.patch.loads, patch)
    add("patch out", jelly.patch.dumps, operations)
    old, new = jelly.dumps(quads[: STATEMENTS // 3]), jelly.dumps(quads[STATEMENTS // 6 : STATEMENTS // 2])
    add("patch diff", lambda: jelly.patch.diff(old, new, Nowhere(), match_blank_nodes=False))

    rows = [(quad.s, quad.o, quad.g) for quad in quads]
    variables = ("s", "o", "g")
    for format in ("thrift", "json", "xml", "tsv", "jellys"):
        results = io.BytesIO()
        jelly.results.write_results(results, variables, rows, format=format)
        add(f"results in, {format}", rows_of, results.getvalue(), format)
        add(f"results out, {format}", put_rows, variables, rows, format)

    add("ids", lambda data: jelly.scan(data).to_ids(), encoded)
    add("find, one predicate", lambda: jelly.find(encoded, p=quads[0].p).count())

    groups = [triples[n : n + 10] for n in range(0, 1000, 10)]
    log = io.BytesIO()
    jelly.messages.write_messages(log, groups, format="nt")
    add("messages in", lambda: sum(1 for _ in jelly.messages.read_messages(log.getvalue(), format="nt")))
    add("messages out", lambda: jelly.messages.write_messages(Nowhere(), groups, format="nt"))
    message = jelly.dumps(small)
    add("small message in", lambda: [jelly.loads(message) for _ in range(20)])
    add("small message out", lambda: [jelly.dumps(small) for _ in range(20)])
    return found


# ---- counting


def run(names: list[str]) -> None:
    """Call the kernels of these names: each once to warm up, and once to be counted."""
    every = kernels()
    gc.disable()
    for name in names:
        kernel = every[name]
        kernel()
        gc.collect()
        sys.call_tracing(kernel, ())


def callgrind(folder: str, *command: str, options: tuple[str, ...] = ()) -> list[int]:
    """The instructions of each dump that a command under callgrind leaves."""
    out = Path(folder, "out")
    for old in Path(folder).glob("out*"):
        old.unlink()
    env = {
        **os.environ,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        # Else the allocator learns from what was freed before: it copies buffers that grow, or moves their pages, and
        # calloc clears memory that was in use.
        "MALLOC_MMAP_THRESHOLD_": "16384",
        # Else the C library copies and clears with `rep movsb` and `rep stosb`, or not, by the addresses of a buffer;
        # valgrind counts these as an instruction a byte.
        "GLIBC_TUNABLES": ":".join(f"glibc.cpu.x86_rep_{name}_threshold={1 << 30}" for name in ("movsb", "stosb")),
    }
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *options, sys.executable, *command],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=FOLDER,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout)
    dumps = sorted(Path(folder).glob("out*"), key=lambda path: int(path.suffix[1:] or 0))
    return [total(path) for path in dumps]


def total(dump: Path) -> int:
    return next(
        int(line.split()[1]) for line in dump.read_text().splitlines() if line.startswith(("totals:", "summary:"))
    )


def measure(names: list[str]) -> dict[str, int]:
    """The instructions of each kernel."""
    found: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        inner = [name for name in names if name not in STARTS]
        if inner:
            options = ("--collect-atstart=no", f"--toggle-collect={DOOR}", f"--dump-after={DOOR}", "--dump-instr=no")
            counts = callgrind(folder, __file__, "--run", *inner, options=options)
            counts = [count for count in counts if count][: len(inner)]
            if len(counts) != len(inner):
                raise SystemExit(f"{len(counts)} counts of {len(inner)} kernels: valgrind did not see {DOOR}")
            found = dict(zip(inner, counts, strict=True))
        starts = [name for name in names if name in STARTS]
        if starts:
            # Else they would compile the modules each time.
            writing = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
            for name in starts:
                command = [sys.executable, *STARTS[name][0]]
                subprocess.run(command, stdout=subprocess.DEVNULL, cwd=FOLDER, env=writing, check=True)
            without = {other: callgrind(folder, "-c", other)[-1] for other in {STARTS[name][1] for name in starts}}
            found |= {name: callgrind(folder, *STARTS[name][0])[-1] - without[STARTS[name][1]] for name in starts}
    return found


def surroundings() -> dict[str, str]:
    """What the counts depend on besides the sources."""
    from importlib.metadata import version

    compiler = subprocess.run([os.environ.get("CC", "cc"), "--version"], capture_output=True, text=True).stdout
    packages = {name: version(name) for name in ("numpy", "pyarrow")}
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "compiler": compiler.split("\n")[0],
        **packages,
    }


def load(path: Path) -> dict[str, Any]:
    """A baseline, or nothing where there is none."""
    return json.loads(path.read_text()) if path.exists() else {}


def store(path: Path, here: dict[str, str], counts: dict[str, int]) -> None:
    path.write_text(json.dumps({"made with": here, "instructions": counts}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the baseline")
    parser.add_argument("--only", default="", metavar="TEXT", help="the kernels whose names hold TEXT")
    parser.add_argument("--list", action="store_true", help="show the names of the kernels")
    parser.add_argument("--run", nargs="+", metavar="NAME", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.run:
        run(wanted.run)
        return 0
    names = [name for name in (*kernels(), *STARTS) if wanted.only in name]
    if wanted.list:
        print(*names, sep="\n")
        return 0
    here = surroundings()
    moving, first = map(load, (BASELINE, FIRST))
    made = {name: path["made with"] for name, path in ((BASELINE.name, moving), (FIRST.name, first)) if path}
    if not wanted.write and any(one != here for one in (*made.values(), made.get(BASELINE.name))):
        print(f"gate: the baselines were made with {made}, this is {here}.")
        print("gate: make one on the commit before yours: make gate-baseline")
        return 2
    found = measure(names)
    if wanted.write:
        kept = moving.get("instructions", {}) if wanted.only else {}
        store(BASELINE, here, kept | found)
        # What it has never moves. A new kernel begins with its first count.
        if first.get("made with", here) == here:
            store(FIRST, here, found | first.get("instructions", {}))
    known, oldest = (one.get("instructions", {}) for one in (moving, first))
    worse = 0
    print(f"{'kernel':32} {'first':>12} {'before':>12} {'now':>12} {'to first':>10} {'to before':>10}")
    for name, count in found.items():
        ratios = [count / one[name] if name in one else 1.0 for one in (oldest, known)]
        bad = max(ratios) > BOUND or (name not in known and not wanted.write)
        worse += bad
        columns = "".join(f" {one.get(name, '-'):>12}" for one in (oldest, known))
        changes = "".join(f" {100 * ratio - 100:+8.1f} %" for ratio in ratios)
        print(f"{name:32}{columns} {count:>12}{changes}{'  SLOWER' if bad else ''}")
    if gone := [name for name in known if name not in found and wanted.only in name]:
        print(f"gate: kernels of the baseline that are gone: {', '.join(gone)}")
        worse += not wanted.write
    return 1 if worse and not wanted.write else 0


if __name__ == "__main__":
    sys.exit(main())
