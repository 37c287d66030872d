"""How a command ends: one line instead of a traceback, an exit code, and no complaint when nobody reads on."""

from __future__ import annotations

import contextlib
import os
import sys

from jelly.errors import JellyError

__all__ = ["INTERRUPTED", "message", "silence_stdout"]

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def message(error: BaseException) -> str:
    """What to tell about an error, on one line: what is wrong, in which file, where."""
    if isinstance(error, JellyError):
        text = error.reason
        place = [
            f"{name} {value}"
            for name, value in (
                ("message", error.message),
                ("frame", error.frame),
                ("row", error.row),
                ("byte", error.offset),
                ("line", error.line),
            )
            if value is not None
        ]
        text = f"{', '.join(place)}: {text}" if place else text
        text = f"{error.source}: {text}" if error.source else text
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, MemoryError):
        text = "out of memory"
    else:
        text = f"{type(error).__name__}: {error} (JELLY_TRACEBACK=1 shows where)"
    # Names and texts from a file must not steer the terminal.
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def silence_stdout() -> None:
    """Send what is left to write nowhere, so that the interpreter does not complain at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
