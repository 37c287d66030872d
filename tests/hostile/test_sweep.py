"""Every file of the conformance suite cut at each byte and with its bits flipped: see sweep.py."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

import pytest
from support.measure import SANITIZED, run
from support.shared import shared

import jelly
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._formats.native import StreamEncoder

# A sample, another one under the sanitizers, and all with JELLY_LONG=1. The step is a prime, so that all kinds of cases
# are in it.
STEP = 11 if SANITIZED else 1 if os.environ.get("JELLY_LONG") else 13
LIMIT = 64 << 20


@pytest.mark.bounded
def test_conformance_files() -> None:
    folder = shared("conformance", "test", "rdf")
    done = run(str(Path(__file__).with_name("sweep.py")), str(folder), str(STEP))
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert counts["files"] > 100
    assert counts["('cut', True)"] > 1000
    assert counts["('flip', True)"] > 1000
    assert SANITIZED or counts["grown"] < LIMIT


def seekable(path: Path) -> bytes:
    statements = [
        jelly.Triple(jelly.IRI(f"http://e/{i % 9}"), jelly.IRI("a:p"), jelly.Literal(str(i))) for i in range(40)
    ]
    encoder = StreamEncoder(jelly.StreamOptions(max_name_table_size=16), frame_rows=8, keyframe_rows=10)
    collector = BatchBuilder(3)
    for statement in statements:
        collector.add(statement)
    data = encoder.encode(collector.batch)
    data += encoder.close()
    path.write_bytes(data)
    with jelly.open(path) as file:
        assert list(file) == statements
        assert len(file.index.keyframes) > 2
    return data


@pytest.mark.filterwarnings("ignore:the index of")
def test_seekable_files(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    data = seekable(path)
    good = 0
    for at in range(0, len(data), 3 * STEP):
        for mask in (0xFF, 0x01, 0x80):
            changed = bytearray(data)
            changed[at] ^= mask
            path.write_bytes(changed)
            good += use(path)
        path.write_bytes(data[:at])
        good += use(path)
    assert good < len(data) // STEP


@pytest.mark.filterwarnings("ignore:the index of", "ignore:the filters of")
def test_files_with_an_index_of_terms_that_are_asked(tmp_path: Path) -> None:
    for package in ("duckdb", "rdflib", "pyshacl"):
        pytest.importorskip(package)
    path = tmp_path / "x.jelly"
    lines = b"".join(b"<http://e/%d> <a:p> _:n%d .\n" % (i % 9, i) for i in range(40))
    jelly.scan(lines, format="nt").write(path, index="terms", keyframe_rows=10, frame_rows=5)
    data = path.read_bytes()
    assert ask(path)
    good = 0
    for at in range(1, len(data), 29 * STEP):
        for changed in (data[:at], data[:at] + bytes([data[at] ^ 0x81]) + data[at + 1 :]):
            path.write_bytes(changed)
            good += ask(path)
    assert good < len(data) // STEP


def ask(path: Path) -> bool:
    import rdflib

    from jelly.rdflib import JellyStore, validate

    node = rdflib.URIRef("http://e/3")
    shapes = rdflib.Graph()
    shapes.add((rdflib.URIRef("a:shape"), rdflib.SH.targetNode, node))
    try:
        assert len(list(jelly.query(path, "SELECT * { <http://e/3> <a:p> ?o }"))) <= 40
        jelly.query(path, "DESCRIBE ?s { ?s <a:p> ?o }").count()
        jelly.subset(path, focus=str(node), depth=2).count()
        with contextlib.closing(JellyStore(path)) as store:
            list(rdflib.Graph(store).triples((node, None, None)))
        validate(path, shapes)
        jelly.describe(path)
    except jelly.JellyError:
        return False
    return True


def use(path: Path) -> bool:
    try:
        with jelly.open(path) as file:
            assert len(file[0:5]) <= 5
            file[len(file) - 1 :]
            list(file.frames(1, 3))
            for _ in file.batches(threads=2):
                pass
    except jelly.JellyError:
        return False
    return True
