"""The page for users of jelly-cli names all that it has, and its commands run."""

from __future__ import annotations

import re
import shlex
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.pages import DOCS
from support.shared import shared

from jelly.cli.commands import cli

PAGE = "how-to/jelly-cli.md"
TEXT = (DOCS / PAGE).read_text("utf-8")


def spelled(word: str) -> list[str]:
    """``--a-{b,c}`` as the words that it stands for."""
    parts = [part.split(",") for part in re.split(r"[{}]", word)]
    return ["".join(each) for each in product(*parts)]


def test_every_option_of_jelly_cli_is_there() -> None:
    rows = re.findall(r"^\| (`?[^|]+) \|((?:\\\||[^|])+)\|", shared("facts", "jelly_cli.md").read_text("utf-8"), re.M)
    options = {
        name
        for _, flags in rows
        for word in re.findall(r"--[a-z][\w.{},-]*[\w}]", flags)
        for name in spelled(word)
    } - {"--opt"}  # in --opt.*, which stands for all of them
    assert len(options) > 25
    commands = {name.strip("`") for name, _ in rows if re.match(r"`(rdf|sparql) ", name)}
    assert {name for name in options if f"{name}`" not in TEXT and f"{name} " not in TEXT} == set()
    for command in commands:
        group, _, names = command.partition(" ")
        for name in re.findall(r"[a-z-]+", names.partition("(")[0]):
            assert f"jelly-cli {group} {name}" in TEXT or f"## {group} {name}" in TEXT, command


def test_every_command_of_the_tables_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.protobuf")
    (first,) = re.findall(r"^```sh\n(.*?)^```", TEXT, re.M | re.S)[:1]
    monkeypatch.chdir(tmp_path)
    found = [line.replace("\\n", "\n") for line in first.splitlines() if line.startswith("jelly ")]
    Path("in.nt").write_text('<a:s> <a:p> <a:o> .\n<a:s> <a:p> "x" .\n<a:s> <a:p> "y" .\n')
    found += re.findall(r"`(jelly [^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.S))
    assert len(found) > 40
    for command in found:
        if command not in ("jelly convert", "jelly slice"):
            done = CliRunner().invoke(cli, shlex.split(command)[1:], prog_name="jelly")
            assert done.exit_code == 0, f"{command}: {done.output}"
