"""``jelly messages``: logs of RDF Messages between their formats. What is done is done by `jelly.messages`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import click

from jelly.cli.common import progress_bar, reading_options
from jelly.cli.errors import in_options
from jelly.errors import JellyError

__all__ = ["messages"]

_FORMATS = ("jelly", "nt", "nq", "ttl", "trig", "ndjsonld", "yamlld", "rdf")
_F = TypeVar("_F", bound=Callable[..., Any])


@click.group(short_help="Logs of RDF Messages: convert, count, cat, split, merge, validate.")
def messages() -> None:
    """Logs of RDF Messages: N-Triples, N-Quads, Turtle and TriG with delimiters, NDJSON-LD, YAML-LD, RDF/XML, Jelly."""


def _reading(command: _F) -> _F:
    """The options of a log that is read."""
    for option in (
        click.option(
            "--from", "from_format", metavar="FORMAT", help="Format or media type of the input; default: suffix."
        ),
        click.option(
            "--dialect",
            type=click.Choice(["comment", "directive"]),
            help="What delimits messages, # @message or MESSAGE; default: what its VERSION announces, else comments.",
        ),
        click.option(
            "--trailing", type=click.Choice(["open", "close"]), default="open", help="A delimiter at the end."
        ),
        click.option("--rename-blank-nodes", is_flag=True, help="Put the number of the message before each label."),
        click.option("--base", metavar="IRI", help="What relative IRIs are resolved against."),
        click.option("--context", "contexts", metavar="URL=FILE", multiple=True, help="A JSON-LD context in a file."),
        click.option("--force", is_flag=True, help="Take the frames of a flat Jelly stream for messages."),
        reading_options("max_message_bytes", "max_names", "max_prefixes", "max_datatypes", "max_expansion"),
    ):
        command = option(command)
    return command


_writing = (
    click.option("--to", "to_format", metavar="FORMAT", help="Format or media type of the output; default: suffix."),
    click.option("--to-dialect", type=click.Choice(["comment", "directive"]), help="What shall delimit messages."),
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
def convert(src: str, dst: str, to_format: str | None, to_dialect: Any, **reading: Any) -> None:
    """Convert the log SRC to DST; formats by suffix, "-" is standard input or output."""
    from jelly.messages import convert_messages

    settings = _settings(**reading)
    from_format = settings.pop("format")
    with progress_bar("Converting", dst == "-") as progress:
        n, rows = convert_messages(
            src,
            dst,
            from_format=from_format,
            to_format=to_format,
            to_dialect=to_dialect,
            progress=progress,
            **settings,
        )
    click.echo(f"{n} messages, {rows} statements", err=True)


@messages.command(short_help="Count messages and statements.")
@click.argument("files", nargs=-1, required=True)
@_reading
def count(files: tuple[str, ...], **reading: Any) -> None:
    """Print for each log how many messages and statements it has."""
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
def cat(files: tuple[str, ...], to_format: str | None, to_dialect: Any, **reading: Any) -> None:
    """Print the messages of logs, one log after the other, as one."""
    _put_together(files, "-", to_format or "nq", to_dialect, reading)


@messages.command(short_help="Put logs together, one after the other.")
@click.argument("files", nargs=-1, required=True)
@click.argument("dst")
@_reading
@_writing[0]
@_writing[1]
def merge(files: tuple[str, ...], dst: str, to_format: str | None, to_dialect: Any, **reading: Any) -> None:
    """Write the messages of logs into the log DST, in their order."""
    _put_together(files, dst, to_format, to_dialect, reading)


def _put_together(
    files: tuple[str, ...], dst: str, to_format: str | None, to_dialect: Any, reading: dict[str, Any]
) -> None:
    from jelly.messages import MessageReader, MessageWriter

    with MessageWriter(dst, format=to_format, dialect=to_dialect) as writer:
        for file in files:
            for message in MessageReader(file, **_settings(**reading)):
                writer.write(message)


@messages.command(short_help="Write each message into a file of its own.")
@click.argument("src")
@click.argument("directory", type=click.Path(path_type=Path))
@_reading
@_writing[0]
def split(src: str, directory: Path, to_format: str | None, **reading: Any) -> None:
    """Write message 0 of SRC to DIRECTORY/0.nq and so on; another format with --to."""
    from jelly.messages import MessageReader, MessageWriter, find_log

    found = find_log(to_format or "nq")[0]
    directory.mkdir(parents=True, exist_ok=True)
    for message in MessageReader(src, **_settings(**reading)):
        with MessageWriter(directory / f"{message.index}{found.suffixes[0]}", format=found.name) as writer:
            writer.write(message)


@messages.command(short_help="Tell whether logs can be read to their end.")
@click.argument("files", nargs=-1, required=True)
@_reading
@click.option("--strict", is_flag=True, help="RDF 1.1 only; one object on each line of NDJSON-LD.")
def validate(files: tuple[str, ...], strict: bool, **reading: Any) -> None:
    """Read logs and print the first error of each, with its message and line. Exit code 1 where there is one."""
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
