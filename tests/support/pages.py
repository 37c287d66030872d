"""The pages of docs/: their blocks of code, and a runner that does what a reader would do with them, in order.

``python`` is executed, with the same names on the whole page; lines of ``sh`` are commands. A block of ``text`` right
behind one of these is its output, where ``...`` stands for anything. Other blocks are only shown.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^( *)```(\w*)([^\n]*)\n(.*?)^\1```$", re.M | re.S)
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# What a shell does, and not the command alone.
_SHELL = set("|<>$;&*?#()`")
_QUOTED = re.compile(r"'[^']*'")


class Block(NamedTuple):
    """A block of code: its language, its text, and whether the block before is its source."""

    kind: str
    text: str
    line: int
    is_output: bool


def blocks(page: Path | str) -> list[Block]:
    """The blocks of a page, in order; ``page`` is a path or one relative to docs/."""
    text = (DOCS / page).read_text("utf-8")
    found = []
    end = -1
    for match in _FENCE.finditer(text):
        body = "".join(line.removeprefix(match[1]) for line in match[4].splitlines(keepends=True))
        follows = end >= 0 and not text[end : match.start()].strip()
        found.append(Block(match[2], body, text.count("\n", 0, match.start()) + 1, match[2] == "text" and follows))
        end = match.end()
    return found


def programs(page: Path | str) -> list[str]:
    """The blocks of Python of a page, in order."""
    return [block.text for block in blocks(page) if block.kind == "python"]


def programs_at(page: Path | str) -> list[tuple[int, str]]:
    """The blocks of Python of a page, in order, each with the number of the line before its first."""
    return [(block.line, block.text) for block in blocks(page) if block.kind == "python"]


def pages() -> Iterator[str]:
    """All pages of docs/, relative to it."""
    for path in sorted(DOCS.rglob("*.md")):
        yield path.relative_to(DOCS).as_posix()


def run(
    page: Path | str,
    folder: Path,
    names: dict[str, Any] | None = None,
    change: Callable[[str], str] = lambda text: text,
) -> dict[str, Any]:
    """Run a page in an empty ``folder``, and return the names that its Python has set.

    ``change`` alters a block before it runs, for example an address in it.
    """
    given: dict[str, Any] = {"__name__": "__main__", **(names or {})}
    out = ""
    with _chdir(folder):
        for block in blocks(page):
            where = f"docs/{page}, line {block.line}"
            if block.kind == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    # The lines of a traceback are those of the page.
                    exec(compile("\n" * block.line + change(block.text), f"docs/{page}", "exec"), given)
                out = printed.getvalue()
            elif block.kind == "sh":
                out = "".join(_commands(change(block.text), where))
            elif block.is_output:
                assert doctest.OutputChecker().check_output(block.text, out, _FLAGS), f"{where}: it prints\n{out}"
    return given


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _commands(text: str, where: str) -> Iterator[str]:
    """The output of each command; one that fails is an error, unless the line ends with ``# exit code 1``."""
    for line in text.replace("\\\n", " ").splitlines():
        command, _, note = line.partition("  # ")
        expected = int(note.removeprefix("exit code ")) if note.startswith("exit code ") else 0
        if not command.strip() or command.startswith("#"):
            continue
        if command.startswith("jelly ") and not _SHELL & set(_QUOTED.sub("", command)):
            status, out, err = _in_process(shlex.split(command)[1:])
        else:
            done = subprocess.run(["sh", "-c", command], capture_output=True, check=False, env=environment(), text=True)
            status, out, err = done.returncode, done.stdout, done.stderr
        assert status == expected, f"{where}: {command} ends with {status}\n{err}"
        yield out


def _in_process(arguments: list[str]) -> tuple[int, str, str]:
    from click.testing import CliRunner

    from jelly.cli.commands import cli

    done = CliRunner().invoke(cli, arguments, prog_name="jelly")
    return done.exit_code, done.stdout, done.stderr


def environment() -> Mapping[str, str]:
    """An environment in which the shell finds ``jelly``, and it finds this package."""
    folder = ROOT / "build" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "jelly"
    text = f'#!/bin/sh\nexec "{sys.executable}" -m jelly "$@"\n'
    if not script.exists() or script.read_text() != text:
        script.write_text(text)
        script.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
