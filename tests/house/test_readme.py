"""The README says what works: its snippets run, in order, as a reader would type them."""

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def test_at_most_a_hundred_lines():
    assert len(README.read_text().splitlines()) <= 100


def test_links_lead_to_files_of_the_project():
    links = re.findall(r"\]\(([^)]+)\)", README.read_text("utf-8"))
    here = [link for link in links if not link.startswith("https://")]
    assert len(here) > 10
    for link in here:
        assert (README.parent / link).exists(), link


def test_the_extras_of_the_install_line_are_there():
    (line,) = re.findall(r"^pip install '\.\[([a-z,]+)\]'", README.read_text("utf-8"), re.MULTILINE)
    extras = re.findall(r"^([a-z-]+) = \[", (README.parent / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert set(line.split(",")) <= set(extras)


def test_python(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="the README shows tables, too")
    pytest.importorskip("pyoxigraph", reason="the README shows Turtle, too")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = [text for kind, text in BLOCKS if kind == "python"]
    assert len(blocks) == 3
    for text in blocks:
        exec(compile(text, "README.md", "exec"), names)
    assert (tmp_path / "people.jelly").stat().st_size > 0
    assert (tmp_path / "people.nt.gz").exists(), "the commands of the README begin with this file"


def test_commands(tmp_path):
    for name in ("click", "matplotlib", "pyarrow"):
        pytest.importorskip(name, reason="the commands of the README need the extras cli, plot and arrow")
    (block,) = [text for kind, text in BLOCKS if text.startswith("jelly convert")]
    text = b'<http://example.org/ada> <http://xmlns.com/foaf/0.1/name> "Ada"@en .\n'
    (tmp_path / "people.nt.gz").write_bytes(gzip.compress(text))
    script = tmp_path / "jelly"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jelly "$@"\n')
    script.chmod(0o755)
    places = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    root = os.pathsep.join([str(README.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        ["sh", "-e", "-c", block], cwd=tmp_path, env={**os.environ, "PATH": places, "PYTHONPATH": root},
        capture_output=True, check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"statements: 1\n" in done.stdout
    assert b"http://xmlns.com/foaf/0.1/name: 1" in done.stdout
    assert (tmp_path / "people.png").stat().st_size > 1000
