"""What the card of the project asks for: what it is made of, and what is where."""

from __future__ import annotations

import importlib
import importlib.machinery
import io
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy
import pytest
from support import craft

import jelly

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "pyproject.toml").is_file() or not (ROOT / "jelly" / "_core").is_dir():
    pytest.skip("the sources are not there", allow_module_level=True)


def settings() -> dict:
    tomllib = pytest.importorskip("tomllib")
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@pytest.mark.parametrize("name", ["base.protobuf", "jelly.decoder", "jelly.encoder", "jelly.decode", "jelly.encode"])
def test_the_codec_is_compiled(name: str) -> None:
    """CARD-001, CARD-002, CARD-017: from a source of Cython."""
    module = importlib.import_module(f"jelly._core.{name}")
    assert module.__file__ is not None
    assert module.__file__.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
    assert (ROOT / "jelly" / "_core" / f"{name.replace('.', '/')}.pyx").is_file()


def test_packages() -> None:
    """CARD-004, CARD-005, CARD-006, CARD-007."""
    known = settings()
    assert {name.partition(">")[0] for name in known["build-system"]["requires"]} == {"Cython", "setuptools"}
    assert [name.partition(">")[0] for name in known["project"]["dependencies"]] == ["numpy"]
    groups = {group: [x.partition(">")[0] for x in names if isinstance(x, str)]
              for group, names in known["dependency-groups"].items()}  # fmt: skip
    assert {"protobuf", "pytest-benchmark"} <= set(groups["test"])
    assert "pytest-benchmark" in groups["bench"]


TOP = ["setup.py", "pyproject.toml", "jelly", "proto", "tests", "bench", ".github", "README.md"]


@pytest.mark.parametrize("name", [pytest.param(name, id=f"CARD-{9 + i:03}") for i, name in enumerate(TOP)])
def test_what_is_where(name: str) -> None:
    """CARD-009 to CARD-016."""
    assert (ROOT / name).exists()


def test_no_class_of_protobuf_on_the_way() -> None:
    """CARD-017, CARD-019: nothing of protobuf is imported, and no generated class is in the package."""
    code = """if True:
        import sys
        for name in ("google", "google.protobuf"):
            sys.modules[name] = None
        import jelly, jelly.patch
        data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
        assert len(jelly.loads(data)) == 1
        assert jelly.patch.loads(jelly.patch.dumps([jelly.patch.Start(), jelly.patch.Commit()]))
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (ROOT / "jelly").rglob("*_pb2*")] == []


@pytest.mark.parametrize("size", [100, 4000])
def test_lookups_are_arrays_of_numpy(size: int) -> None:
    """CARD-018: made once, with all the entries that the options ask for."""

    def taken() -> int:
        of_numpy = tracemalloc.DomainFilter(True, numpy.lib.tracemalloc_domain)
        found = tracemalloc.take_snapshot().filter_traces([of_numpy])
        return sum(trace.size for trace in found.traces)

    entries = [craft.name(f"n{i}") for i in range(size)]
    tracemalloc.start()
    try:
        decoder, before = jelly.Decoder(), taken()
        list(decoder.feed(craft.frame(craft.options(names=size))))
        made = taken()
        assert made - before >= size * 8
        list(decoder.feed(craft.frame(*entries)))
        assert taken() == made
    finally:
        tracemalloc.stop()


def test_wheels() -> None:
    """CARD-008, CARD-020, CARD-021."""
    known = settings()["tool"]["cibuildwheel"]
    assert known["build"] == [f"cp3{i}-*" for i in (10, 11, 12, 13, 14, "14t", 15, "15t")]
    # No build is skipped, so that there are wheels for musllinux, too.
    assert "skip" not in known
    assert not any("musllinux" in name for name in known["linux"])
    assert known["linux"]["archs"] == ["x86_64", "aarch64"]
    assert known["macos"]["archs"] == ["x86_64", "arm64"]
    assert known["windows"]["archs"] == ["AMD64", "ARM64"]
    yaml = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())["jobs"]
    matrix = jobs["wheels"]["strategy"]["matrix"]["include"]
    assert sorted(job["arch"] for job in matrix) == ["AMD64", "ARM64", "aarch64", "arm64", "x86_64", "x86_64"]
    assert any("cibuildwheel" in step.get("run", "") for step in jobs["wheels"]["steps"])


def test_streaming() -> None:
    """CARD-003: a statement is given before the next chunk is asked for."""

    def chunks():
        for i in range(10**9):
            asked.append(i)
            row = craft.triple(o=(craft.LITERAL, craft.literal(str(i))))
            yield craft.frame(craft.options(), row) if i == 0 else craft.frame(row)

    asked: list[int] = []
    found = jelly.read(chunks(), batch_rows=1)
    for i in range(50):
        assert next(found).o.value == str(i)
        assert len(asked) <= i + 2
    out = io.BytesIO()
    writer = jelly.Writer(out, frame_rows=1)
    writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o")))
    writer.flush()
    assert len(out.getvalue()) > 0
    writer.close()


def test_what_the_benchmarks_compare() -> None:
    """CARD-026, CARD-024: pyjelly, pyoxigraph, RDFLib and Jelly-JVM beside jelly; and a gate of the speed."""
    text = "".join(path.read_text() for path in (ROOT / "bench").glob("*.py"))
    for other in ("import pyjelly", "import pyoxigraph", "import rdflib", "Jelly-JVM"):
        assert other in text or other.replace("import ", "from ") in text, other
    assert (ROOT / "bench" / "gate.json").is_file()
