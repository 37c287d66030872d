"""Options of commands that the table of keywords makes."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from jelly._options.keywords import READ, WRITE
from jelly.cli.options import options


@click.command()
@options(READ, "on_error", "star", "max_line_bytes", "threads", "lenient", into="reading")
@options(READ, "joined", into="reading", hidden=True)
@options(WRITE, "delimited", "prefixes", into="writing")
def show(reading: dict[str, Any], writing: dict[str, Any]) -> None:
    click.echo(f"{reading} {writing}")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ([], "{} {}"),
        (["--skip-errors", "--joined"], "{'on_error': 'skip', 'joined': True} {}"),
        (["--max-line-bytes", "1M", "--threads", "2"], "{'max_line_bytes': 1048576, 'threads': 2} {}"),
        (["--no-delimited", "--prefix", "a=b:", "--prefix", "c=d:"],
         "{} {'delimited': False, 'prefixes': {'a': 'b:', 'c': 'd:'}}"),
    ],
)  # fmt: skip
def test_given(arguments: list[str], shown: str) -> None:
    done = CliRunner().invoke(show, arguments)
    assert done.exit_code == 0, done.output
    assert done.output.strip() == shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--star", "none"], "'none' is not one of 'reifies', 'triple-terms', 'quoted'"),
        (["--threads", "0"], "0 is not in the range x>=1"),
        (["--max-line-bytes", "x"], "'x' is not a size"),
        (["--prefix", "a"], "'a' is not NAME=IRI"),
    ],
)
def test_refused(arguments: list[str], problem: str) -> None:
    done = CliRunner().invoke(show, arguments)
    assert done.exit_code == 2
    assert problem in done.output


def test_help_is_that_of_the_table() -> None:
    text = " ".join(CliRunner().invoke(show, ["--help"]).output.split())
    assert READ["star"].help in text
    assert "--joined" not in text
