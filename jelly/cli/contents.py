"""Patches, message logs and query results in the commands that take any content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

import jelly
from jelly._bytes.part_file import PartFolder
from jelly._dataset.sources import expand
from jelly._formats.registry import Content, find, holds_statements, table_kind
from jelly._options.options import PatchStreamType, StatementType
from jelly._streams.inputs import of_content
from jelly.cli.common import default_threads, progress_bar
from jelly.cli.options import Given, refuse
from jelly.cli.reading import check_standard_output, inputs, output_of, refuse_nameless

WORDS: dict[Content, Any] = {
    Content.PATCH: "patches", Content.MESSAGES: "messages", Content.RESULTS: "results"
}  # fmt: skip
_ANY = frozenset({"format", "content", "form", "quiet"})
_OWN = {
    Content.PATCH: {
        "stream_type", "statement_type", "marked_blank_nodes", "quoted", "seekable", "layout", "threads",
    },
    Content.MESSAGES: {"dialect", "members"},
}  # fmt: skip


def convert(
    content: Content,
    files: Sequence[str],
    dst: str,
    reading: Given,
    writing: Given,
    stream: Given | None = None,
    layout: str = "flat",
    threads: int | None = None,
) -> dict[str, int]:
    """Convert patches, messages or results; return how many."""
    refuse(content.value, _ANY | _OWN.get(content, set()) | reading.keys())
    files = expand(files)
    if content is Content.RESULTS and len(files) > 1:
        raise click.UsageError("query results are converted from one file")
    if content is Content.PATCH and len(files) > 1:
        refuse("several files of patches", _ANY | reading.keys())
        return {"patches": write_patches(dst, writing, items_of(Content.PATCH, files, reading))}
    keywords: dict[str, Any] = {"content": WORDS[content]}
    output = dict(writing)
    to = output.pop("format", None)
    if content is Content.MESSAGES:
        from jelly.messages._media import find_log

        refuse_nameless(dst, to)
        if dst == "-":
            to = to or "nq"
            log = find_log(to)[0]
            check_standard_output(log.title if log.binary else None)
        keywords |= {"to": to, "writing": output}
        if len(files) > 1:
            return _join_messages(files, dst, reading, {"format": to, **output})
    elif content is Content.PATCH and table_kind(dst):
        keywords |= {"to": to} | output
    elif content is Content.RESULTS:
        content, other = (
            Content.STATEMENTS if holds_statements(*side) else content
            for side in ((files[0], reading.get("format")), (dst, to))
        )
        made = output_of(dst, writing, stream, text="tsv", content=other)[1]
        keywords |= {"to": made.pop("to"), "writing": made if other is Content.STATEMENTS else {}}
    else:
        keywords |= output_of(dst, writing, text="rdfp", content=content)[1]
    if content is Content.PATCH:
        threads = threads or default_threads([*files])
        keywords |= {"options": patch_options(stream), "layout": layout, "threads": threads}
    is_table = content is Content.PATCH and table_kind(files[0])
    settings = {"format": reading.get("format")} if is_table else inputs(files, reading, content)[0][1]
    with progress_bar("Converting", dst == "-") as progress:
        done = jelly.convert(files[0], dst, progress=progress, **keywords, **settings)
    if content is Content.MESSAGES:
        return {"messages": done.messages, "statements": done.statements}
    return {"operations" if content is Content.PATCH else "rows": done.statements}


def items_of(content: Content, files: Sequence[str], reading: Given) -> Iterator[Any]:
    """The patches or messages of files, one after the other."""
    reader = of_content(content, "Reader")
    found = inputs(files, reading, content, find)
    return (one for file, settings in found for one in reader(file, **settings))


def _join_messages(files: Sequence[str], dst: str, reading: Given, output: dict[str, Any]) -> dict[str, int]:
    """Write the messages of several logs as one."""
    from jelly.messages import MessageWriter

    with MessageWriter(dst, **output) as writer:
        for message in items_of(Content.MESSAGES, files, reading):
            writer.write(message)
    return {"messages": writer.messages, "statements": writer.statements}


def split_messages(
    files: Sequence[str], output: str, to: str | None, reading: Given
) -> list[dict[str, Any]]:
    """Write each message to a file of its own, whose name has its number for {}; their paths and statements."""
    from jelly.messages import MessageWriter

    refuse("message logs", {"output", "content", "format", "form", "quiet", *reading})
    folder, name = os.path.split(output)
    if "{}" not in name:
        raise click.UsageError("give --output: the name of each message, such as 'parts/{}.nq'")
    refuse_nameless(output, to, named=True)
    made: list[dict[str, Any]] = []
    with PartFolder(folder) as part:
        for number, message in enumerate(items_of(Content.MESSAGES, files, reading)):
            path = os.path.join(folder, name.replace("{}", str(number)))
            with MessageWriter(part.of(path), format=to) as writer:
                writer.write(message)
            made.append({"file": path, "statements": writer.statements})
        part.commit(one["file"] for one in made)
    return made


# ---- patches


def patch_options(stream: Given | None) -> dict[str, Any] | None:
    """The requested options of a Jelly-Patch stream, or None to keep those of the input."""
    kept = {"stream_type": PatchStreamType.PUNCTUATED, "statement_type": StatementType.QUADS}
    return kept | stream if stream else None


def write_patches(dst: str, writing: Given, found: Iterable[Any]) -> int:
    """Write patches; how many."""
    from jelly.patch import PatchWriter

    _, how = output_of(dst, writing, text="rdfp", content=Content.PATCH)
    with PatchWriter(dst, format=how["to"], seekable=how["seekable"]) as writer:
        n = 0
        for one in found:
            writer.write(one)
            n += 1
    return n


# ---- counting


def count(
    content: Content, file: str, settings: Given, progress: Callable[[int, int | None, int], object] | None
) -> dict[str, int]:
    """The numbers of statements, of patches and operations, of messages and statements, or of rows."""
    if content is Content.PATCH:
        patches = operations = 0
        for one in items_of(Content.PATCH, [file], settings):
            patches, operations = patches + 1, operations + len(one)
        return {"patches": patches, "operations": operations}
    found = jelly.inspect(file, content=WORDS.get(content), progress=progress, **settings)
    if content is Content.RESULTS:
        return {"rows": found.statements}
    messages = {"messages": found.n_frames} if content is Content.MESSAGES else {}
    return messages | {"statements": found.statements}


# The rows of a patch by their number.
_ROWS = {2: "A", 3: "D", 4: "PA", 5: "PD", 6: "TX", 7: "TC", 8: "TA", 14: "H"}


def inspect_patches(file: str, reading: Given) -> dict[str, Any]:
    """The options of a file of patches, its index if it has one, and the headers and row counts of each patch."""
    from jelly.patch import PatchReader

    reader = PatchReader(file, **inputs([file], reading, Content.PATCH)[0][1])
    found: list[dict[str, Any]] = [
        {
            "headers": [[header.key, str(header.value)] for header in one.headers],
            "rows": {name: n for code, name in _ROWS.items() if (n := one.count(code))},
        }
        for one in reader
    ]
    options = reader.options
    about, index = None, None
    if options is not None:
        about = {name: getattr(value, "name", value) for name, value in asdict(options).items()}
        index = _index(file)
    return {"format": reader.format.name, "options": about, "index": index, "patches": found}


def _index(file: str) -> dict[str, int] | None:
    """The contents of the index or sidecar of a file; None without one."""
    from jelly.patch import PatchFile

    try:
        with PatchFile(file) as opened:
            keyframes = len(opened.index.keyframes)
            return {"keyframes": keyframes, "patches": len(opened), "operations": opened.operations}
    except (jelly.JellyError, OSError):
        return None
