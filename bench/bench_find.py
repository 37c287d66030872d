"""Statements of one predicate: by number of term, against reading all Batches, and against N-Quads and grep."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import jelly

DATA = Path(__file__).resolve().parents[2] / "shared/data/vocabs-quads/vocabs.nq.gz"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """The vocabularies, ten times."""
    batches = list(jelly.scan(DATA).batches())
    name = tmp_path_factory.mktemp("find") / "x.jelly"
    with jelly.Writer(name, seekable=True) as writer:
        for _ in range(10):
            for batch in batches:
                writer.add_batch(batch)
    return str(name)


def test_read_all(benchmark, path):
    benchmark(lambda: sum(map(len, jelly.scan(path).batches())))


def test_find(benchmark, path):
    assert benchmark(lambda: sum(map(len, jelly.find(path, p=LABEL).batches()))) > 0


def test_command(benchmark, path):
    command = [sys.executable, "-m", "jelly", "find", path, "-p", LABEL]
    benchmark.pedantic(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL), rounds=3)


@pytest.mark.skipif(shutil.which("grep") is None, reason="needs grep")
def test_cat_and_grep(benchmark, path):
    command = f"'{sys.executable}' -m jelly cat '{path}' | LC_ALL=C grep -F '> <{LABEL}> ' > /dev/null"
    benchmark.pedantic(lambda: subprocess.run(command, shell=True, check=True), rounds=3)
