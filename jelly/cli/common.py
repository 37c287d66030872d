"""The output of a command: messages, progress and results; and its end: an exit code instead of a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import click

from jelly._bytes.names import is_path
from jelly._options.spelling import printable, spelled
from jelly.errors import PLACES, JellyArgumentError, JellyError, where

# 128 and the number of the signal, as in shells: SIGINT, SIGPIPE.
INTERRUPTED = 130
UNREAD = 141


OPTIONS = "jelly: the options of the command"  # in the context of a command


def in_options(text: str) -> str:
    """A message with the names of options instead of keywords, and without advice that the command cannot take."""
    context = click.get_current_context(silent=True)
    options = None if context is None else context.meta.get(OPTIONS)
    if options is None:
        return spelled(text, "command line")

    def own(found: re.Match[str]) -> str:
        # For a keyword that only the command has as an option, or others by another name.
        option = f"--{found[1].replace('_', '-')}"
        return option if option in options and option not in spelled(found[0], "command line") else found[0]

    text = spelled(re.sub(r"(?<!\w)(\w+)=(?=[\s,;)]|$)", own, text), "command line")

    def able(found: re.Match[str]) -> str:
        return found[0] if options.issuperset(found[1].split(" or ")) else ""

    text = re.sub(r"; use (--[\w-]+(?: or --[\w-]+)*)", able, text)
    return text if "--drop-graphs" in options else text.replace("--drop-graphs", "jelly convert --drop-graphs")


def message(error: BaseException) -> str:
    """The message for an error on one line: what is wrong, in which file, and where."""
    if isinstance(error, JellyError):
        text = ": ".join(filter(None, (error.source, where(error, "message", *PLACES), in_options(error.reason))))
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


def is_unread(error: BaseException) -> bool:
    """Whether nobody reads standard output any more. A pipe with a name is an output like a file."""
    return isinstance(error, BrokenPipeError) and error.filename in (None, "standard output")


def terminate(number: int, frame: object) -> None:
    """Handle a signal: the command removes the file that it was writing, and ends."""
    sys.exit(128 + number)


def say(text: str, colour: str | None = None) -> None:
    """Print a line on standard error, with colours only on a terminal and never with NO_COLOR.

    Names of files and what comes from a server cannot control the terminal.
    """
    click.secho(printable(text), err=True, fg=colour, color=False if os.environ.get("NO_COLOR") else None)


def tell(what: str, lines: Sequence[str], shown: int = 20) -> None:
    """Print on standard error what the user must know, if there is anything: the first lines, below their number."""
    if lines:
        say(what.format(f"{len(lines):,}"), "yellow")
    for line in lines[:shown]:
        say(f"  {line}", "yellow")
    if len(lines) > shown:
        say("  ...", "yellow")


@contextlib.contextmanager
def exits(wanted: bool) -> Iterator[None]:
    """Context manager: an error is exit code 2 if --exit-code is ``wanted``, as 1 has a meaning of its own then."""
    try:
        yield
    except (JellyError, OSError) as error:
        if not wanted or is_unread(error):
            raise
        say(f"error: {message(error)}", "red")
        click.get_current_context().exit(2)


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """Context manager: arguments that do not go together are a mistake in the call, with exit code 2."""
    try:
        yield
    except JellyArgumentError as error:
        raise click.UsageError(message(error)) from None


# ---- progress and results

# Bytes of input above which a conversion uses all cores that are idle.
LARGE = 64 << 20


def default_threads(sources: list[Any]) -> int:
    """All idle cores for files that are large together, else one thread."""
    from jelly._bytes.workers import idle_cores

    paths = [source for source in sources if is_path(source) and os.path.isfile(source)]
    return idle_cores() if sum(map(os.path.getsize, paths)) > LARGE else 1


def size_of(n: float) -> str:
    """A number of bytes, such as 3.45 MB."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n < 1000 or unit == "GB":
            break
        n /= 1000
    return f"{n:.0f} {unit}" if unit == "bytes" else f"{n:.3g} {unit}" if n < 1000 else f"{n:,.0f} {unit}"


def count_of(n: float) -> str:
    """A number, such as 1.23 M."""
    return f"{n / 1e6:.2f} M" if n >= 1e5 else f"{n:,.0f}"


def numbers(**counts: int) -> str:
    """Numbers of things, such as "3 patches, 1 operation".

    >>> numbers(statements=1234, patches=1)
    '1,234 statements, 1 patch'
    """
    return ", ".join(f"{n:,} {what if n != 1 else re.sub('(?<=ch)es$|s$', '', what)}" for what, n in counts.items())


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream, which is None where it is closed, is a terminal."""
    return stream is not None and stream.isatty() is True


def progress_bar(
    what: str, quiet: bool = False, in_bytes: bool = False
) -> contextlib.AbstractContextManager[Callable[[int, int | None, int | None], object] | None]:
    """A progress bar on standard error: only on a terminal, and not together with data on the same one.

    With ``in_bytes`` it shows the bytes, too.
    """
    if quiet or not is_terminal(sys.stderr):
        return contextlib.nullcontext()
    from jelly.cli.display import progress

    return progress(what, in_bytes)


FORM = "jelly: form of the result"  # in the context of a command


def wanted_form() -> str | None:
    """The form of the result that an option of `options.forms` asks for."""
    form: str | None = click.get_current_context().meta.get(FORM)
    return form


def show(plain: Any, draw: Any, *args: Any, yaml: bool = True) -> None:
    """Print a dict or a list of dicts in the `wanted_form`: JSON, YAML, or what ``draw`` prints of ``args``.

    ``draw`` may be a name in `display`. By default it prints on a terminal. Elsewhere the form is YAML, or again that
    of ``draw`` without ``yaml``.
    """
    form = wanted_form()
    if form == "json":
        click.echo(json.dumps(plain, indent=2))
    elif form == "yaml" or (yaml and form is None and not is_terminal(sys.stdout)):
        from jelly._tools.yaml import dump_yaml

        click.echo(dump_yaml(plain), nl=False)
    else:
        if isinstance(draw, str):
            draw = getattr(import_module("jelly.cli.display"), draw)
        draw(*args)


def report(told: str, plain: Any) -> None:
    """Tell what was done: a line on standard error, or with --json ``plain`` on standard output."""
    if wanted_form() is None:
        say(told)
    else:
        show(plain, None)


def report_rows(file: str, what: str, n: int, quiet: bool) -> None:
    """Tell how many things a file got, whose name is the last word of ``what``; of standard output nothing is told."""
    if file != "-" and (wanted_form() or not quiet):
        report(f"{file}: {numbers(**{what: n})}", {"file": file, what.split()[-1]: n})
