"""All seeds of all harnesses, which are findings of the past, and a sample of the corpus; without clang."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.libraries import CORE, module_names

from fuzz import build, run
from fuzz.engine import open_harness
from fuzz.readers import HARNESSES
from fuzz.seeds import SEEDS, corpus, seeds
from fuzz.structure import Node, mutate
from jelly._formats.registry import REGISTRY, Format
from jelly.errors import JellyUnsupportedError

pytest.importorskip("pyoxigraph")
pytest.importorskip("pyarrow")
# Files of the corpus, and mutations of them.
SAMPLE = 6
MUTATIONS = 2


def flip(data: bytes, max_size: int) -> bytes:
    """A mutation in place of that of libFuzzer: always the same for the same bytes."""
    chance = random.Random(len(data))
    made = bytearray(data or b"a")
    made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made[:max_size])


def test_the_fuzzers_have_all_compiled_modules() -> None:
    if not CORE.is_relative_to(build.ROOT):
        pytest.skip("the package is not built in this folder")
    assert {name.rpartition(".")[2] for name in module_names()} == {path.stem for path in build.c_files()}


@pytest.mark.parametrize("name", [name for name in HARNESSES if seeds(name)])
def test_seeds(name: str) -> None:
    for path in seeds(name):
        HARNESSES[name].run(path.read_bytes())


@pytest.mark.parametrize("name", HARNESSES)
def test_a_sample_of_the_corpus_and_of_mutations(name: str) -> None:
    harness = HARNESSES[name]
    _, change, _ = open_harness(name, flip)
    found = list(corpus(harness))
    assert found[1:], "no corpus"
    chance = random.Random(name)
    for data in [*harness.corpus(), *chance.sample(found, min(SAMPLE, len(found)))][: 2 * SAMPLE]:
        harness.run(data)
        for seed in range(MUTATIONS):
            harness.run(flip(data, 2048) if change is None else change(data, 2048, seed))


@pytest.mark.parametrize("name", [name for name, harness in HARNESSES.items() if harness.structure is not None])
def test_structures_write_what_they_parse(name: str) -> None:
    harness = HARNESSES[name]
    assert harness.structure is not None
    parsed = 0
    for data in harness.corpus():
        try:
            tree = harness.structure.parse(data)
        except (ValueError, IndexError):
            continue
        parsed += 1
        made = harness.structure.write(tree)
        if name.startswith("table_arrow"):
            made, data = (harness.structure.write(harness.structure.parse(each)) for each in (made, data))
        assert made == data
    assert parsed


def test_mutations_change_the_tree() -> None:
    structure = HARNESSES["jelly"].structure
    assert structure is not None
    data = next(iter(HARNESSES["jelly"].corpus()))
    made = {mutate(structure, data, 2048, random.Random(seed), flip) for seed in range(100)}
    assert len(made) > 60
    assert sum(isinstance(structure.parse(each)[0], Node) for each in made if each) > 40


def readable(format: Format) -> bool:
    if format.content.name == "RESULTS":
        try:
            format.open_reader()
        except JellyUnsupportedError:
            return False
    return True


def test_each_format_that_can_be_read_has_a_harness() -> None:
    tested = {key for harness in HARNESSES.values() for key in harness.formats}
    formats = [
        format
        for formats in REGISTRY.values()
        for format in formats.values()
        if readable(format)
    ]
    assert {(format.content, format.name) for format in formats} == tested
    assert len(formats) > 25


def test_seeds_are_small_and_belong_to_a_harness() -> None:
    for path in SEEDS.rglob("*"):
        if path.is_file():
            assert path.parent.name in HARNESSES
            assert path.stat().st_size <= 4096


def test_a_harness_runs_also_when_those_before_it_took_all_the_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[str, int]] = []
    monkeypatch.setattr(run, "run_once", lambda name, folder, seconds: ran.append((name, seconds)) or [])
    assert run.main(tmp_path, 0) == 0
    assert ran == [(name, 1) for name in HARNESSES]
