"""The commands ``jelly messages ...``. They call the functions of `jelly.messages`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click

import jelly
from jelly.cli.common import progress_bar, reading_options
from jelly.cli.errors import in_options
from jelly.errors import JellyError

__all__ = ["messages"]

_F = TypeVar("_F", bound=Callable[..., Any])


@click.group()
def messages() -> None:
    """Work with logs of RDF Messages.

    Formats: N-Triples, N-Quads, Turtle and TriG with delimiters, NDJSON-LD, YAML-LD, RDF/XML, Jelly, and TAR
    archives of files of any format.
    """


def _reading(command: _F) -> _F:
    """The options for reading a log."""
    for option in (
        click.option(
            "--from", "from_format", metavar="FORMAT", help="Format or media type of the input (default: by suffix)."
        ),
        click.option(
            "--dialect",
            type=click.Choice(["comment", "directive"]),
            help="What delimits messages: # @message or MESSAGE (default: as announced by VERSION, else comments).",
        ),
        click.option(
            "--members", metavar="FORMAT", help="Format of the files in a TAR archive (default: by suffix of each)."
        ),
        click.option(
            "--trailing", type=click.Choice(["open", "close"]), default="open",
            help="Whether a delimiter at the very end opens an empty message (default: open).",
        ),
        click.option("--rename-blank-nodes", is_flag=True, help="Put the message number before each blank node label."),
        click.option("--base", metavar="IRI", help="Base IRI for resolving relative IRIs."),
        click.option(
            "--context", "contexts", metavar="URL=FILE", multiple=True,
            help="JSON-LD context of a URL, from a file. Repeatable.",
        ),
        click.option("--force", is_flag=True, help="Read the frames of a flat Jelly stream as messages."),
        reading_options(
            "max_message_bytes", "max_names", "max_prefixes", "max_datatypes", "max_frame_rows", "max_expansion"
        ),
    ):
        command = option(command)
    return command


_writing = (
    click.option(
        "--to", "to_format", metavar="FORMAT",
        help="Format or media type of the output (default: by suffix).",
    ),
    click.option(
        "--to-dialect", type=click.Choice(["comment", "directive"]),
        help="What delimits messages in the output.",
    ),
    click.option(
        "--to-members", metavar="FORMAT", help="Format of the files in a TAR archive that is written (default: nq)."
    ),
)


def _settings(
    from_format: str | None, dialect: str | None, contexts: tuple[str, ...], limits: dict[str, int], **others: Any
) -> dict[str, Any]:
    found = {"format": from_format, **others, **limits}
    if dialect is not None:
        found["dialect"] = dialect
    known = {}
    for each in contexts:
        url, equals, path = each.rpartition("=")
        if not equals:
            raise click.UsageError(f"--context {each}: expected URL=FILE")
        known[url] = Path(path).read_bytes()
    return found | {"contexts": known}


@messages.command(short_help="Convert a log to another format.")
@click.argument("src")
@click.argument("dst")
@_reading
@_writing[0]
@_writing[1]
@_writing[2]
def convert(src: str, dst: str, to_format: str | None, to_dialect: Any, to_members: str | None, **reading: Any) -> None:
    """Convert the log SRC to DST. Suffixes choose the formats; "-" is standard input or output."""
    settings = _settings(**reading)
    from_format = settings.pop("format")
    with progress_bar("Converting", dst == "-") as progress:
        done = jelly.convert(
            src,
            dst,
            content="messages",
            from_format=from_format,
            to_format=to_format,
            writing={"dialect": to_dialect, "members": to_members},
            progress=progress,
            **settings,
        )
    click.echo(f"{done.messages} messages, {done.statements} statements", err=True)


@messages.command(short_help="Count messages and statements.")
@click.argument("files", nargs=-1, required=True)
@_reading
def count(files: tuple[str, ...], **reading: Any) -> None:
    """Print the number of messages and of statements of each log."""
    from jelly.messages import MessageReader

    for file in files:
        reader = MessageReader(file, **_settings(**reading))
        for _ in reader.batches():
            pass
        click.echo(json.dumps({"file": file, "messages": reader.messages, "statements": reader.statements}))


@messages.command(short_help="Print a log as delimited N-Quads, or in another format.")
@click.argument("files", nargs=-1, required=True)
@_reading
@_writing[0]
@_writing[1]
@_writing[2]
def cat(files: tuple[str, ...], to_format: str | None, to_dialect: Any, to_members: str | None, **reading: Any) -> None:
    """Print the messages of several logs as one log."""
    _put_together(files, "-", to_format or "nq", to_dialect, to_members, reading)


@messages.command(short_help="Merge logs, one after the other.")
@click.argument("files", nargs=-1, required=True)
@click.argument("dst")
@_reading
@_writing[0]
@_writing[1]
@_writing[2]
def merge(
    files: tuple[str, ...], dst: str, to_format: str | None, to_dialect: Any, to_members: str | None, **reading: Any
) -> None:
    """Write the messages of several logs, in order, to the log DST."""
    _put_together(files, dst, to_format, to_dialect, to_members, reading)


def _put_together(
    files: tuple[str, ...],
    dst: str,
    to_format: str | None,
    to_dialect: Any,
    to_members: str | None,
    reading: dict[str, Any],
) -> None:
    from jelly.messages import MessageReader, MessageWriter

    with MessageWriter(dst, format=to_format, dialect=to_dialect, members=to_members) as writer:
        for file in files:
            for message in MessageReader(file, **_settings(**reading)):
                writer.write(message)


@messages.command(short_help="Write each message to a file of its own.")
@click.argument("src")
@click.argument("directory", type=click.Path(path_type=Path))
@_reading
@_writing[0]
def split(src: str, directory: Path, to_format: str | None, **reading: Any) -> None:
    """Write message 0 of SRC to DIRECTORY/0.nq and so on. --to chooses another format."""
    from jelly.messages import MessageReader, MessageWriter
    from jelly.messages._media import find_log

    found = find_log(to_format or "nq")[0]
    directory.mkdir(parents=True, exist_ok=True)
    for message in MessageReader(src, **_settings(**reading)):
        with MessageWriter(directory / f"{message.index}{found.suffixes[0]}", format=found.name) as writer:
            writer.write(message)


@messages.command(short_help="Check that logs can be read to the end.")
@click.argument("files", nargs=-1, required=True)
@_reading
@click.option(
    "--strict", is_flag=True,
    help="Allow only RDF 1.1, no # @message inside a statement, and one object per line of NDJSON-LD.",
)
def validate(files: tuple[str, ...], strict: bool, **reading: Any) -> None:
    """Read logs and print the first error of each, with message and line. The exit code is 1 if there is one."""
    failed = False
    for file, error in _errors(files, {**_settings(**reading), "strict": strict}):
        failed = failed or error is not None
        click.echo(f"{file}: {error.__class__.__name__}: {in_options(str(error))}" if error else f"{file}: ok")
    if failed:
        raise click.exceptions.Exit(1)


def _errors(files: tuple[str, ...], settings: dict[str, Any]) -> Iterator[tuple[str, JellyError | None]]:
    from jelly.messages import MessageReader

    for file in files:
        try:
            with closing(MessageReader(file, **settings).batches()) as batches:  # type: ignore[type-var]
                for _ in batches:
                    pass
            yield file, None
        except JellyError as error:
            error.source = None
            yield file, error
