"""The command ``jelly``; `jelly --help` lists its subcommands.

Needs the extra ``cli``.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any

from jelly._start import watch

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process, and exit."""
    import jelly

    watch()
    if not hasattr(jelly, "JellyError"):
        sys.exit(
            "error: another package called jelly has replaced files of jelly-rdf, or its removal took them away: "
            "python -m pip uninstall jelly; python -m pip install --force-reinstall --no-deps jelly-rdf"
        )
    try:
        from jelly._bytes.raw_bytes import interruptible
        from jelly.cli.commands import cli
    except ImportError as error:
        if error.name != "click":
            raise
        sys.exit("error: the command needs the click package: python -m pip install 'jelly-rdf[cli]'")
    raw = getattr(getattr(sys.stdin, "buffer", None), "raw", None)
    if isinstance(raw, io.FileIO) and (waiting := interruptible(raw)) is not raw:
        # Nothing was read of it so far.
        sys.stdin = io.TextIOWrapper(io.BufferedReader(waiting), sys.stdin.encoding, sys.stdin.errors)
    # What is closed gets a descriptor, first of all standard output: no file of ours may take its place.
    if sys.stdout is None:  # what is printed fails, as on a full disk, where click would drop it
        sys.stdout = open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        _take_all_characters(stream)
    try:
        cli(prog_name="jelly")
    except OSError as error:  # of the text of --help, which is printed before a command runs
        if os.environ.get("JELLY_TRACEBACK"):
            raise
        sys.exit(f"error: standard output: {error.strerror}")
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            sys.stdout = None  # what it holds cannot be written: else Python tries again when it ends


def _take_all_characters(stream: Any) -> None:
    """Text that the encoding of an output cannot hold is escaped; in files and pipes of Windows it is UTF-8, too."""
    if isinstance(stream, io.TextIOWrapper):
        if sys.platform == "win32" and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
        else:
            stream.reconfigure(errors="backslashreplace")
