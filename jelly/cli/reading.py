"""Inputs and outputs of commands: their content, their formats, and the keywords for reading and writing them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

import jelly
from jelly._bytes.names import descriptor_of, is_url, is_web, split_suffix
from jelly._bytes.sink import target_of
from jelly._bytes.source import Source
from jelly._dataset.sources import expand
from jelly._formats import registry
from jelly._formats.registry import JELLY, MESSAGE_READING, SEVERAL, Content, Format, having
from jelly._options.keywords import READ
from jelly._options.options import COLUMN_VERSION
from jelly._streams.inputs import ACCEPT
from jelly._streams.outputs import late_error
from jelly.cli.common import is_terminal, wanted_form
from jelly.cli.options import ALLOWED, JELLY_TEXT, Given
from jelly.errors import LateError

# Keywords of statements in any format.
_COMMON = frozenset({"format", "strict", "on_error", "rdf", "star", "blank_nodes", "skolem_base", "threads"})


# ---- inputs


def content_of(reading: Given, *files: str, dst: str = "", to: str | None = None) -> Content:
    """The content of files: that of ``reading``, which loses it, or of the first one that does not hold statements."""
    word, format = reading.pop("content", None), reading.get("format")
    return registry.content_of(word, *((file, format) for file in files), (dst, to))


def format_of(
    value: str | None, name: str, content: Content = Content.STATEMENTS, option: str = "--from"
) -> Format:
    """The format called ``value``, or that of a file; without one a mistake in the call, which ``option`` mends."""
    try:
        return registry.find(value, "" if name == "-" else name, tables=content is Content.STATEMENTS, content=content)
    except jelly.JellyError as error:
        if content is Content.STATEMENTS and (other := content_of({"format": value}, name)) is not content:
            does = "writes" if option == "--to" else "takes"
            raise click.UsageError(f"{value or name}: this command {does} statements, not {other.value}") from None
        raise click.UsageError(f"{error.reason.partition(';')[0]}; use {option}") from None


def inputs(
    files: Sequence[str],
    reading: Given,
    content: Content = Content.STATEMENTS,
    find: Callable[..., Format] = format_of,
    others: Collection[Collection[str]] = (),
) -> list[tuple[str, dict[str, Any]]]:
    """The files that are meant, those of directories and glob patterns too, each with the keywords for reading it.

    A name without a known format is a mistake in the call, reported before anything is read; so is an option that
    neither a file nor one of ``others`` has. What an address holds is known when it is read.
    """
    each, format = expand(files) if files else [], reading.get("format")
    if content is Content.MESSAGES:
        check_options(reading, [MESSAGE_READING], content.value, content)
        return [(file, reading) for file in each]
    if format is None and any(map(is_web, each)):
        return [(file, reading) for file in each]
    formats = [find(format, file, content=content) for file in each]
    title = formats[0].title + " results" * (content is Content.RESULTS) if len(each) == 1 else "any of these files"
    check_options(reading, [*(one.reading for one in formats), *others], title, content)
    return [
        (file, having(reading, one.reading | SEVERAL) | {"format": one.name})
        for file, one in zip(each, formats, strict=True)
    ]


def names(files: Sequence[str], reading: Given) -> list[str]:
    """The files of statements that are meant, see `inputs`."""
    return [file for file, _ in inputs(files, reading)]


def check_options(
    reading: Collection[str], known: Collection[Collection[str]], what: str, content: Content = Content.STATEMENTS
) -> None:
    """Refuse an option that none of ``known``, the keywords of formats, has."""
    for name in reading:
        common = name in ("format", "content") or (content is Content.STATEMENTS and name in _COMMON)
        if not common and not any(name in one for one in known):
            raise click.UsageError(f"{READ[name].switch} does not go with {what}")


@contextlib.contextmanager
def opened(file: str, format: str | None) -> Iterator[tuple[Any, Format]]:
    """A file to read, and its format: by the name, or what the server says of an address, whose body this opens."""
    if format is not None or not is_web(file):
        yield file, format_of(format, file)
        return
    from jelly._bytes.remote import Body

    with contextlib.closing(Body(file, ACCEPT[Content.STATEMENTS])) as body:
        yield body, format_of(Source(body).media_type, file)


# ---- outputs


def refuse_json() -> None:
    """Refuse --json where the output itself goes to standard output."""
    if wanted_form():
        raise click.UsageError(
            "--json goes with an output file: data, whose format is --to, and a result cannot both be "
            "on standard output"
        )


def check_standard_output(binary: str | None) -> None:
    """Refuse what cannot go with an output on standard output; ``binary`` is the title of its format, if it is one."""
    if binary is not None and is_terminal(sys.stdout):
        raise click.UsageError(f"{binary} is binary: send it to a file or a pipe instead of the terminal")
    refuse_json()


def refuse_nameless(dst: str, to: str | None, named: bool = False) -> None:
    """Refuse a file without a suffix, unless it is a new one and not to be ``named``, or its format is given."""
    plain = to is None and dst != "-" and descriptor_of(dst) is None and not split_suffix(dst)[0]
    if plain and (named or (os.path.isfile(dst) and os.path.getsize(dst))):
        there = "" if named else " is there already and"
        raise click.UsageError(f"{dst}{there} has no suffix, which would say its format; use --to")


def refuse_late(dst: str) -> None:
    """Refuse a file in a directory that does not exist: commands that read all before they write tell it first."""
    if dst != "-" and not is_url(dst):
        target_of(dst)


def output_of(
    dst: str,
    writing: Given,
    stream: Given | None = None,
    text: str | None = "nq",
    content: Content = Content.STATEMENTS,
    named: bool = False,
) -> tuple[Format, dict[str, Any]]:
    """The format of an output, and the keywords for writing it: ``writing``, the index and the options of a ``stream``.

    ``text`` is the format on standard output if none is given. A file without a suffix is Jelly if it is a new one, and
    ``named`` refuses it.
    """
    keywords = dict(writing)
    to = keywords.pop("format", None)
    refuse_nameless(dst, to, named)
    is_text = to == JELLY_TEXT and content is Content.STATEMENTS
    target = JELLY if is_text else format_of(to or (text if dst == "-" else None), dst, content, "--to")
    if dst == "-":
        check_standard_output(target.title if target.binary and not is_text else None)
    keywords.setdefault("seekable", None)  # the writer decides
    given = dict(stream or {})
    base = given.pop("options_from", None)
    options: Any = stream_of(given, target) or None
    if base is not None:
        if target is not JELLY:
            raise click.UsageError(f"--options-from does not go with {target.title}")
        fields = asdict(jelly.read_options(base))
        if fields["version"] != COLUMN_VERSION:
            del fields["version"]  # namespaces decide
        options = fields | (options or {})
    return target, keywords | {"to": target.name, "options": options}


def stream_of(given: Given, target: Format = JELLY) -> dict[str, Any]:
    """The fields of the stream options that `options.streams` set."""
    fields = dict(given)
    preset, allowed, version = (fields.pop(name, None) for name in ("preset", "allow", "jelly"))
    fields = {**(preset or {}), **(allowed or {}), **fields}
    for name in ("rdf_version", "numbering"):
        if name in fields and version != COLUMN_VERSION:
            raise click.UsageError(f"--{name.replace('_', '-')} goes with --jelly 1.2")
    if version is None:
        return fields
    if target is not JELLY:
        raise click.UsageError(f"--jelly does not go with {target.title}")
    if version == 1 and "version" in fields:
        raise click.UsageError("--allow namespaces does not go with --jelly 1.0, which has none")
    return fields | {"version": version}


_WIDE = {field: f"--allow {name}" for name, (field, _) in ALLOWED.items()} | {"physical_type": "--physical quads"}


@contextlib.contextmanager
def wide_advice() -> Iterator[None]:
    """Context manager: errors for kinds of statements that appear late name the options of the command."""
    try:
        yield
    except LateError as error:
        if not error.fields.keys() <= _WIDE.keys():
            raise
        late = late_error(error.fields, f"give {' '.join(_WIDE[name] for name in error.fields)}")
        late.source = error.source
        raise late from None
