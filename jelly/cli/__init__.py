"""The command ``jelly``; `jelly --help` lists its subcommands.

Needs the extra ``cli``.
"""

from __future__ import annotations

import io
import signal
import sys
from typing import Any

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process, and exit."""
    try:
        from jelly._compression.raw_bytes import interruptible
        from jelly.cli import commands, service, spark  # noqa: F401 - the others add their commands to the first
    except ImportError as error:
        if error.name != "click":
            raise
        sys.exit("error: the command needs the click package: python -m pip install 'jelly-rdf[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    raw = getattr(getattr(sys.stdin, "buffer", None), "raw", None)
    if isinstance(raw, io.FileIO) and (waiting := interruptible(raw)) is not raw:
        # Nothing was read of it so far.
        sys.stdin = io.TextIOWrapper(io.BufferedReader(waiting), sys.stdin.encoding, sys.stdin.errors)
    for stream in (sys.stdout, sys.stderr):
        _take_all_characters(stream)
    # If the command is asked to end, or its terminal goes away, it removes the file that it was writing.
    for name in ("SIGTERM", "SIGHUP", "SIGBREAK"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)
    commands.cli(prog_name="jelly")


def _take_all_characters(stream: Any) -> None:
    """Text that the encoding of an output cannot hold is escaped; in files and pipes of Windows it is UTF-8, too."""
    if isinstance(stream, io.TextIOWrapper):
        if sys.platform == "win32" and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
        else:
            stream.reconfigure(errors="backslashreplace")


def _terminate(number: int, frame: Any) -> None:
    sys.exit(128 + number)
