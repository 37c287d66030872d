"""The law of size: what 64 KB may take in each function that reads them, and a process of its own to measure it in.

``python law.py [word]`` runs all pairs of a shape and a function whose name has the word, and prints those that break
the law.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import os
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from shapes import SHAPES, Shape

SECONDS = 5
MEMORY = 300 << 20

FEW = b"<a:s> <a:p> <a:o> .\n<a:o> <a:p> <a:s> .\n"  # what queries and shapes are asked of
SHAPES_OF_SHACL = (
    b"@prefix sh: <http://www.w3.org/ns/shacl#> . <a:shape> sh:targetSubjectsOf <a:p> ; sh:property [ sh:path <a:p> ; "
    b"sh:minCount 1 ; sh:property [ sh:path ( <a:p> <a:p> ) ; sh:minCount 0 ] ] ."
)

# ---- the functions that read


class Nowhere(io.RawIOBase):
    """A file that keeps nothing."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def doors() -> dict[str, dict[str, Callable[[bytes], object]]]:
    """For each reader, the functions that read its input."""
    from rdflib import Graph

    import jelly as j
    from jelly._dataset.steps.step import Frames
    from jelly.rdflib import JellyStore, validate
    from jelly.rdflib import read as read_terms
    from jelly.stats import stats

    def used_up(items: Any) -> None:
        for _ in items:
            pass

    def stored(data: bytes, read: Callable[[Path], object]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "x").write_bytes(data)
            read(Path(folder))

    def answered(data: bytes, sparql: str, format: str) -> None:
        found = j.query(data, sparql, format=format)
        used_up(found if found.boolean is not None else found.batches())

    def graph_of(data: bytes) -> Graph:
        made = Graph()
        for each in read_terms(data, format="ttl"):
            made.add(each)
        return made

    def of(format: str | None) -> dict[str, Callable[[bytes], object]]:
        return {
            "read": lambda data: used_up(j.read(data, format=format)),
            "count": lambda data: sum(map(len, j.scan(data, format=format).batches())),
            "convert to jelly": lambda data: j.convert(data, Nowhere(), format=format, to="jelly"),
            "convert to nq": lambda data: j.convert(data, Nowhere(), format=format, to="nq"),
            "convert to trig": lambda data: j.convert(data, Nowhere(), format=format, to="trig"),
            "read_arrow": lambda data: used_up(j.read_arrow(data, format=format)),
            "canonicalize": lambda data: j.canonicalize(data, format=format),
            "validate": lambda data: j.validate(data, format=format),
            "stats": lambda data: stats(data, format=format),
            "describe": lambda data: j.describe(data, format=format),
            "to_ids": lambda data: j.scan(data, format=format).to_ids(),
            "frames": lambda data: used_up(j.scan(data, format=format).frames()),
            "sort": lambda data: stored(
                data, lambda path: j.scan(path / "x", format=format).sort(memory=1 << 24).write(path / "y.jelly")
            ),
            "diff_stat": lambda data: j.patch.diff_stat(data, data, format=format),
            "query": lambda data: answered(data, "SELECT * { ?s ?p ?o FILTER(STRLEN(STR(?o)) > 3) }", format),
            "query by pyoxigraph": lambda data: answered(data, "SELECT * { ?s ?p ?o FILTER(?o != NOW()) }", format),
            "subset": lambda data: used_up(j.subset(data, focus="a:s", depth=3, format=format).batches()),
            "store": lambda data: used_up(Graph(JellyStore(j.scan(data, format=format)))),
            "shapes of it": lambda data: validate(data, graph_of(SHAPES_OF_SHACL), format=format),
        }

    names = ("jelly", "nt", "nq", "ttl", "trig", "n3", "rdf", "jsonld", "thrift", "protobuf")
    found = {name: of(name) for name in names}
    found["jelly as text"] = of(None)  # its first bytes tell it
    found["jelly"]["inspect"] = lambda data: j.inspect(data, per_frame=True)
    found["jelly"]["validate frames"] = lambda data: j.validate(data, frame=slice(0, 3), delimited=True)
    found["jelly"]["take frames"] = lambda data: j.scan(data)._then(Frames(slice(2, 9))).write(Nowhere(), to="nq")
    found["jelly"]["options"] = lambda data: j.read_options(data)
    found["jelly"]["convert threads"] = lambda data: j.convert(data, Nowhere(), to="nq", threads=2)
    found["sparql"] = {
        "query": lambda data: answered(FEW, data.decode("utf-8", "surrogatepass"), "nt"),
        "explain": lambda data: j.query(FEW, data.decode("utf-8", "surrogatepass"), format="nt", explain=True),
    }
    found["ttl"]["shapes"] = lambda data: validate(FEW, graph_of(data), format="nt")
    for name in ("csv", "parquet", "arrow"):
        found[name] = {
            "read": lambda data, name=name: used_up(j.read(data, format=name)),
            "convert": lambda data, name=name: j.convert(data, Nowhere(), format=name, to="jelly"),
        }
    for name in ("jelly", "nt", "nq", "ttl", "trig", "rdf", "ndjsonld", "yamlld", "tar"):
        force: dict[str, Any] = {"force": True} if name == "jelly" else {}
        found[f"log {name}"] = {
            "read_messages": lambda data, name=name, force=force: used_up(
                j.messages.read_messages(data, format=name, **force)
            ),
            "convert": lambda data, name=name, force=force: j.convert(
                data, Nowhere(), format=name, to="nq", content="messages", **force
            ),
        }
    for name in ("rdfp", "jellyp", "trp"):
        found[f"patch {name}"] = {
            "read_patches": lambda data, name=name: used_up(j.patch.read_patches(data, format=name)),
            "convert": lambda data, name=name: j.convert(
                data, Nowhere(), format=name, to="jellyp"
            ),
            "validate": lambda data, name=name: j.validate(data, format=name),
            "apply": lambda data, name=name: j.patch.apply(
                j.patch.read_patches(data, format=name), b"", Nowhere(), to="nq"
            ),
        }
    for name in ("jellys", "json", "xml", "tsv", "thrift", "protobuf"):
        found[f"results {name}"] = {
            "read_results": lambda data, name=name: used_up(j.results.read_results(data, format=name)),
            **{
                f"write {to}": lambda data, name=name, to=to: j.results.write_results(
                    Nowhere(), j.results.read_results(data, format=name), format=to
                )
                for to in ("jellys", "json", "xml", "csv", "tsv", "thrift", "protobuf")
            },
            **{
                f"to_arrow {layout}": lambda data, name=name, layout=layout: used_up(
                    j.results.read_results(data, format=name).to_arrow(layout=layout)
                )
                for layout in ("flat", "ntriples", "typed", "term")
            },
            "convert": lambda data, name=name: j.convert(data, Nowhere(), format=name, content="results", to="json"),
        }
    found["results jellys"]["read_result_sets"] = lambda data: [
        used_up(each) for each in j.results.read_result_sets(data, format="jellys")
    ]
    return found


# ---- running them


class Spent(NamedTuple):
    seconds: float
    memory: int
    wrong: str  # an exception that is none of the family, or a signal


def spend(work: Callable[[], object]) -> Spent:
    """What work takes in a process of its own, which ends behind `SECONDS` of CPU."""
    import jelly as j

    begin = resident()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS + 1, SECONDS + 2))
        try:
            with contextlib.suppress(j.JellyError):
                work()
        except BaseException as error:
            os.write(writing, f"{type(error).__module__}.{type(error).__name__}: {error}"[:300].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        wrong = pipe.read().decode(errors="replace")
    _, status, used = os.wait4(pid, 0)
    if os.WIFSIGNALED(status):
        wrong = f"signal {os.WTERMSIG(status)}"
    unit = 1 if sys.platform == "darwin" else 1024
    return Spent(used.ru_utime + used.ru_stime, max(0, used.ru_maxrss * unit - begin), wrong)


def resident() -> int:
    """Bytes of this process that are in memory, which a child begins with."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    return 0


def cases(word: str = "") -> list[tuple[Shape, str, str]]:
    """All pairs of a shape and a door: the shape, the reader, the function."""
    known = doors()
    made = [(one, reader, door) for one in SHAPES for reader in one.readers for door in known[reader]]
    return [case for case in made if word in " | ".join((case[0].name, *case[1:]))]


def run(chosen: list[tuple[Shape, str, str]], tell: Callable[[str], None], attempts: int = 3) -> int:
    """Run cases; tell of those that break the law. Their number."""
    for module in ("arrow", "oxigraph", "patch", "results", "_tools.yaml", "rdflib._query.answer"):
        importlib.import_module(f"jelly.{module}")
    known = doors()
    broken = 0
    made = functools.lru_cache(4)(lambda one: one.make())
    for one, reader, door in chosen:
        data = made(one)
        for _ in range(attempts):  # where others fill the caches, the same takes up to twice as long
            spent = spend(functools.partial(known[reader][door], data))
            if spent.seconds < SECONDS:
                break
        if spent.wrong or spent.seconds >= SECONDS or spent.memory > MEMORY:
            broken += 1
            tell(f"{one.name} | {reader} | {door}: {spent.seconds:.1f} s, {spent.memory >> 20} MB {spent.wrong}")
    return broken


def main(word: str) -> None:
    chosen = cases(word)
    broken = run(chosen, functools.partial(print, flush=True), 1)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{broken} of {len(chosen)} break the law; {used.ru_utime + used.ru_stime:.0f} s of CPU")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(sys.argv[1] if len(sys.argv) > 1 else "")
