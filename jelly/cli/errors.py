"""The end of a command: one line instead of a traceback, an exit code, and silence if nobody reads the output."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from jelly._options.spelling import spelled
from jelly.errors import JellyError

__all__ = [
    "INTERRUPTED", "UNREAD", "in_options", "is_unread", "message", "printable", "say", "silence_stdout", "terminate",
]  # fmt: skip

# 128 and the number of the signal, as in shells: SIGINT, SIGPIPE.
INTERRUPTED = 130
UNREAD = 141


def in_options(text: str) -> str:
    """A message with the names of options instead of keywords."""
    return spelled(text, "command line")


def message(error: BaseException) -> str:
    """The message for an error on one line: what is wrong, in which file, and where."""
    if isinstance(error, JellyError):
        text = in_options(error.reason)
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
    elif isinstance(error, OSError | ValueError):
        # The request cannot be fulfilled. This is not a bug, so the place in the code is not shown.
        text = in_options(str(error))
    elif isinstance(error, MemoryError):
        text = "out of memory"
    else:
        text = f"{type(error).__name__}: {error} (JELLY_TRACEBACK=1 shows where)"
    return printable(text)


def printable(text: str) -> str:
    """A name or text from a file, which must not control the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def is_unread(error: BaseException) -> bool:
    """Whether nobody reads standard output any more. A pipe with a name is an output like a file."""
    return isinstance(error, BrokenPipeError) and error.filename in (None, "standard output")


def terminate(number: int, frame: object) -> None:
    """Handle a signal: the command removes the file that it was writing, and ends."""
    sys.exit(128 + number)


def silence_stdout() -> None:
    """Discard unwritten output, so that the interpreter prints no error when it exits."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def say(text: str, colour: str | None = None) -> None:
    """Print a line on standard error, with colours only on a terminal and never with NO_COLOR."""
    click.secho(text, err=True, fg=colour, color=False if os.environ.get("NO_COLOR") else None)
