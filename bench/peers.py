"""Files that other libraries and programs read: the works "files", "columns" and "sizes" of `report.py`.

A job goes once through all statements of a file on disk, in the way that its library offers for that. The jobs in
``ELSEWHERE`` work in another process: that of serdi or rapper starts each time, in some milliseconds, that of Jena or
HDT has warmed up.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pyoxigraph
import rdflib
import zstandard
from interop.peer import OFFLINE, Peer
from work import Data, Job, Unavailable, count

import jelly

HDT = Path(__file__).resolve().parent / "hdt"
WARM_UP = 20


class Files:
    """The files of data, each made when it is first asked for, and the programs that read them."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="jelly bench ")
        self._jena: Peer | None = None
        self._hdt: subprocess.Popen[str] | None = None
        self._warm: set[Path] = set()

    def __call__(self, data: Data, suffix: str) -> Path:
        """The data as a file; text is N-Quads where the data has graphs."""
        suffix = ".nq" if suffix == ".nt" and data.quads else suffix
        path = Path(self._folder.name) / f"{data.name}{suffix}"
        if path.exists():
            return path
        if suffix in (".nt", ".nq"):
            path.write_bytes(data.text)
        elif suffix == ".hdt":
            if data.quads:
                raise Unavailable("HDT holds no graphs")
            self.hdt("make", self(data, ".nt"), path)
        elif suffix == ".parquet":
            pyarrow.parquet.write_table(jelly.read_arrow(data.jelly).read_all(), path, compression="zstd")
        else:
            jelly.write(path, data.statements)
        return path

    def hdt(self, *words: object) -> int:
        """What the library of HDT answers to a command."""
        if self._hdt is None:
            self._hdt = start_hdt()
        assert self._hdt.stdin is not None
        assert self._hdt.stdout is not None
        print(*words, sep="\t", file=self._hdt.stdin, flush=True)
        status, _, answer = self._hdt.stdout.readline().rstrip("\n").partition("\t")
        if status != "ok":
            raise RuntimeError(answer or "the program of HDT ended")
        return int(answer)

    def jena(self, path: Path) -> int:
        """How many statements Jena reads from a file."""
        if self._jena is None:
            self._jena = Peer()
        if path not in self._warm:
            self._warm.add(path)
            for _ in range(WARM_UP):
                self._jena.run("count", path)
        return int(self._jena.run("count", path))

    def close(self) -> None:
        for program in (self._jena, self._hdt):
            if isinstance(program, Peer):
                program.close()
            elif program is not None:
                program.communicate()
        self._folder.cleanup()


def start_hdt() -> subprocess.Popen[str]:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    folder = HDT / "target" / "lib"
    if not folder.exists():
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        maven = subprocess.run(command, cwd=HDT, capture_output=True, text=True, check=False)
        if maven.returncode:
            said = maven.stdout + maven.stderr
            raise (Unavailable if OFFLINE.search(said) else RuntimeError)(f"Maven: {said[:300]}")
    command = ["java", "-cp", str(folder / "*"), str(HDT / "Hdt.java")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


FILES = Files()


# ---- reading


def of_set(found: int, data: Data) -> int:
    """The count of statements of the data if a library that keeps a set found the right number."""
    return data.count if found == len(set(data.statements)) else -1


def arrow_columns(data: Data) -> int:
    return sum(len(batch) for batch in jelly.read_arrow(FILES(data, ".jelly")))


def parquet_columns(data: Data) -> int:
    with pyarrow.parquet.ParquetFile(FILES(data, ".parquet")) as file:
        return sum(len(batch) for batch in file.iter_batches(32768, use_threads=False))


def ipc_columns(data: Data) -> int:
    """Reads the file, which is not compressed; a map of it into memory would read nothing."""
    with pyarrow.OSFile(str(FILES(data, ".arrow"))) as source, pyarrow.ipc.open_file(source) as file:
        return sum(len(file.get_batch(i)) for i in range(file.num_record_batches))


def with_lightrdf(data: Data) -> int:
    try:
        import lightrdf
    except ImportError:
        raise Unavailable("lightrdf is not installed") from None
    if data.quads:
        raise Unavailable("lightrdf reads no N-Quads")
    return count(lightrdf.nt.Parser().parse(str(FILES(data, ".nt"))))


def with_maplib(data: Data) -> int:
    try:
        import maplib
    except ImportError:
        raise Unavailable("maplib is not installed") from None
    if data.quads:
        raise Unavailable("maplib reads no N-Quads")
    model = maplib.Model()
    model.read(str(FILES(data, ".nt")), parallel=False)
    return of_set(model.query("SELECT (COUNT(*) AS ?n) WHERE {?s ?p ?o}")["n"][0], data)


def with_rdflib(data: Data) -> int:
    if data.quads:
        dataset = rdflib.Dataset()
        dataset.parse(FILES(data, ".nt"), format="nquads")
        return data.count if len(dataset) else -1  # RDFLib changes the text of some literals
    graph = rdflib.Graph()
    graph.parse(FILES(data, ".nt"), format="nt")
    return data.count if len(graph) else -1


def by_command(name: str, *arguments: str) -> Job:
    """A program that reads text, and writes what it read as text; its output is counted, not parsed."""

    def run(data: Data) -> int:
        if shutil.which(name) is None:
            raise Unavailable(f"{name} is not installed")
        syntax = "nquads" if data.quads else "ntriples"
        command = [name, *(syntax if word == "SYNTAX" else word for word in arguments), str(FILES(data, ".nt"))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            n = sum(part.count(b"\n") for part in iter(lambda: process.stdout.read(1 << 20), b""))
        return n

    return run


def with_pyoxigraph(data: Data) -> int:
    return count(pyoxigraph.parse(path=FILES(data, ".nt"), format=data.text_format))


READ: dict[str, Job] = {
    "jelly, Jelly to terms": lambda data: count(jelly.read(FILES(data, ".jelly"))),
    "jelly, Jelly to Arrow": arrow_columns,
    "jelly, text to terms": lambda data: count(jelly.read(FILES(data, ".nt"))),
    "pyarrow, Parquet to Arrow": parquet_columns,
    "pyoxigraph, text": with_pyoxigraph,
    "lightrdf, text": with_lightrdf,
    "maplib, text to its store": with_maplib,
    "RDFLib, text to its store": with_rdflib,
    "Jena, text": lambda data: FILES.jena(FILES(data, ".nt")),
    "Jena, RDF Thrift": lambda data: FILES.jena(FILES(data, ".rt")),
    "HDT, Java": lambda data: of_set(FILES.hdt("count", FILES(data, ".hdt")), data),
    "serdi, text": by_command("serdi", "-i", "SYNTAX", "-o", "SYNTAX"),
    "rapper, text": by_command("rapper", "-q", "-i", "SYNTAX", "-o", "SYNTAX"),
}
COLUMNS: dict[str, Job] = {
    "jelly, Jelly to Arrow": arrow_columns,
    "jelly, to dictionaries": lambda data: sum(map(len, jelly.read_arrow(FILES(data, ".jelly"), dictionary=True))),
    "pyarrow, Parquet": parquet_columns,
    "pyarrow, Arrow IPC": ipc_columns,
}
ELSEWHERE = {"Jelly-JVM", "Jena, text", "Jena, RDF Thrift", "HDT, Java", "serdi, text", "rapper, text"}


# ---- sizes


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": lambda data: gzip.compress(data, 6),
    "zstd": lambda data: zstandard.compress(data, 3),
}
KINDS = {"N-Triples or N-Quads": ".nt", "Turtle or TriG": ".ttl", "Jelly": ".jelly", "RDF Thrift": ".rt"}
KINDS |= {"RDF Protobuf": ".rpb", "Arrow IPC": ".arrow", "Parquet": ".parquet", "HDT": ".hdt"}


def sizes(names: list[str]) -> list[dict[str, Any]]:
    """Bytes a statement of each kind of file. Parquet is compressed as it is, with zstd; HDT needs no compression."""
    found = []
    for name in names:
        data = Data(name)
        for kind, suffix in KINDS.items():
            suffix = ".trig" if suffix == ".ttl" and data.quads else suffix
            try:
                content = FILES(data, suffix).read_bytes()
            except Unavailable as reason:
                print(f"without {kind} of {name}: {reason}")
                continue
            ways = {"plain": COMPRESSIONS["plain"]} if suffix in (".parquet", ".hdt") else COMPRESSIONS
            found += [
                {"data": name, "kind": kind, "compression": way, "bytes": round(len(compress(content)) / data.count, 2)}
                for way, compress in ways.items()
            ]
    return found


def versions() -> dict[str, str]:
    """What the programs say of their version."""
    found = {}
    for name in ("serdi", "rapper"):
        if shutil.which(name):
            flag = "-v" if name == "serdi" else "--version"
            said = subprocess.run([name, flag], capture_output=True, text=True, check=False).stdout
            found[name] = next((word for word in said.split() if word[:1].isdigit()), "?")
    # HDT comes with a Jena of its own, which nothing is measured with.
    for title, folder, jar in (
        ("Jelly-JVM", Peer.LIBRARIES, "jelly-core"), ("Jena", Peer.LIBRARIES, "jena-arq"),
        ("hdt-java", HDT / "target" / "lib", "hdt-java-core"),
    ):  # fmt: skip
        for path in folder.glob("*.jar") if folder.exists() else ():
            if path.stem.startswith(f"{jar}-") and path.stem[len(jar) + 1].isdigit():
                found[title] = path.stem[len(jar) + 1 :]
    return found
