"""Options of commands that the table of keywords makes."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from jelly._options.keywords import READ, WRITE
from jelly.cli.commands import cli
from jelly.cli.options import COUNT, command, option, options, streams


@command()
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
        (["--max-line-bytes", "x"], "'x' is no size"),
        (["--prefix", "a"], "'a' is not NAME=IRI"),
    ],
)
def test_refused(arguments: list[str], problem: str) -> None:
    done = CliRunner().invoke(show, arguments)
    assert done.exit_code == 2
    assert problem in done.output


def test_help_is_that_of_the_table() -> None:
    text = "".join(CliRunner().invoke(show, ["--help"]).output.split())
    assert "".join(READ["star"].help.partition(" With")[0].split()) in text
    assert "".join(READ["on_error"].help.split()) in text
    assert "--joined" not in text


@command("OLD", "[OUT]")
@option("-o, --output FILE", "A file.", "-")
@option("--by [subject|graph]", "A place.")
@option("-n, --number N", "A number.", 10)
@option("--least N", "A number.", None, COUNT)
@option("--size SIZE", "Bytes.", "1K", name="size_bytes")
@option("--conf NAME=VALUE...", "A setting.")
@option("--all", "All.")
@option("--some/--no-some", "Some.", True)
@streams("jelly", "allow", "rdf_star")
def own(**given: Any) -> None:
    click.echo(repr(given))


def test_options_are_written_as_in_the_help() -> None:
    def given(*arguments: str) -> dict[str, Any]:
        done = CliRunner().invoke(own, arguments)
        assert done.exit_code == 0, done.output
        return eval(done.output)  # type: ignore[no-any-return]

    plain = {
        "old": "a", "dst": None, "output": "-", "by": None, "number": 10, "least": None, "size_bytes": 1024,
        "conf": (), "all": False, "some": True, "stream": {},
    }  # fmt: skip
    assert given("a") == plain
    words = "a b -o f --by graph -n 2 --least 0 --size 2M --conf x=y --conf z=1 --all --no-some --jelly 1.2"
    assert given(*words.split(), "--allow", "star", "--no-star") == {
        "old": "a", "dst": "b", "output": "f", "by": "graph", "number": 2, "least": 0, "size_bytes": 2 << 20,
        "conf": (("x", "y"), ("z", "1")), "all": True, "some": False,
        "stream": {"jelly": 3, "allow": {"rdf_star": True}, "rdf_star": False},
    }  # fmt: skip
    for wrong in (["--by", "object"], ["-n", "0"], ["--least", "-1"], ["--size", "0"], []):
        assert CliRunner().invoke(own, [*wrong, "a"] if wrong else []).exit_code == 2
    shown = " ".join(CliRunner().invoke(own, ["--help"]).output.split())
    assert "default: -" not in shown
    for text in ("OLD [OUT]", "-o, --output FILE", "default: 10", "--some / --no-some", "--conf NAME"):
        assert text in shown
    assert "--allow" not in shown


def test_all_options_of_the_table_are_listed() -> None:
    shown = CliRunner().invoke(cli, ["help", "options"]).output
    for row in (*READ.values(), *WRITE.values()):
        assert not row.switch or f"{row.switch} " in shown, row.name
    assert "Only TAR archives." in " ".join(shown.split())


def test_help_is_short() -> None:
    # Click leaves two of the columns that it finds free, not of those that it is given.
    shown = CliRunner().invoke(cli, ["convert", "--help"], env={"COLUMNS": "80"}).output.splitlines()
    assert len(shown) <= 60
    assert "jelly help convert" in CliRunner().invoke(cli, ["convert", "--help"], prog_name="jelly").output
