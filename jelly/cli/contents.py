"""Patches, message logs and query results in the commands that take any content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

import jelly
from jelly._formats.registry import JELLY_PATCH, MESSAGE_READING, Content, find, having, table_kind
from jelly._options.keywords import READ
from jelly.cli.common import can_have_index, default_threads, limits_of, progress_bar, refuse
from jelly.cli.reading import format_of, refuse_terminal

__all__ = [
    "convert",
    "count",
    "inspect_patches",
    "patch_options",
    "patch_target",
    "patches_of",
    "problems",
    "result_stats",
    "split_messages",
    "write_patches",
]

_ANY = frozenset({"from_format", "to_format", "messages", "patches", "quiet"})
_PATCH_OUTPUT = frozenset({"patch_type", "triples", "marked_bnodes", "quoted", "seekable", "layout", "threads"})
_LOG_OUTPUT = frozenset({"to_dialect", "to_members"})


def _reading(content: Content, file: str, format: str | None, reading: dict[str, Any]) -> dict[str, Any]:
    """The keywords for reading a file of patches, results or messages, after a check that it has all that are given."""
    if content is Content.MESSAGES:
        return {"format": format} | _only(reading, MESSAGE_READING, "message logs")
    found = format_of(format, file, "--from", content=content)
    what = f"{found.title} results" if content is Content.RESULTS else found.title
    return {"format": found.name} | _only(reading, found.reading, what)


def _only(reading: dict[str, Any], known: Collection[str], what: str) -> dict[str, Any]:
    for name in reading:
        if name not in known:
            raise click.UsageError(f"{READ[name].switch} does not go with {what}")
    return reading


def convert(
    content: Content,
    sources: Sequence[str],
    dst: str,
    from_format: str | None,
    to_format: str | None,
    reading: dict[str, Any],
    given: dict[str, Any],
) -> str:
    """Convert patches, messages or results; return a line for people."""
    own = {Content.PATCH: _PATCH_OUTPUT, Content.MESSAGES: _LOG_OUTPUT}.get(content, frozenset())
    refuse(content.value, _ANY | own | reading.keys())
    if content is Content.PATCH:
        return _convert_patches(sources, dst, from_format, to_format, reading, given)
    if content is Content.RESULTS:
        if len(sources) > 1:
            raise click.UsageError("query results are converted from one file")
        target = format_of(to_format or ("tsv" if dst == "-" else None), dst, "--to", content=content)
        if dst == "-":
            refuse_terminal(target)
        known = _source(content, sources[0], from_format, reading)
        return _numbers(rows=jelly.convert(sources[0], dst, to=target.name, **known).statements)
    to_format = to_format or ("nq" if dst == "-" else None)
    output = {"dialect": given["to_dialect"], "members": given["to_members"]}
    if len(sources) > 1:
        return _join_messages(sources, dst, from_format, reading, {"format": to_format, **output})
    with progress_bar("Converting", dst == "-") as progress:
        known = _source(content, sources[0], from_format, reading)
        done = jelly.convert(sources[0], dst, to=to_format, writing=output, progress=progress, **known)
    return _numbers(messages=done.messages, statements=done.statements)


def _source(content: Content, file: str, from_format: str | None, reading: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `jelly.convert` for reading a file."""
    known = _reading(content, file, from_format, reading)
    return {"content": _WORDS[content], **known}


_WORDS: dict[Content, Any] = {
    Content.PATCH: "patches", Content.MESSAGES: "messages", Content.RESULTS: "results"
}  # fmt: skip


def _numbers(**numbers: int) -> str:
    return ", ".join(f"{n:,} {what if n != 1 else what.removesuffix('s')}" for what, n in numbers.items())


def _join_messages(
    sources: Sequence[str], dst: str, from_format: str | None, reading: dict[str, Any], output: dict[str, Any]
) -> str:
    """Write the messages of several logs as one."""
    from jelly.messages import MessageReader, MessageWriter

    with MessageWriter(dst, **output) as writer:
        for file in sources:
            for message in MessageReader(file, **_reading(Content.MESSAGES, file, from_format, reading)):
                writer.write(message)
    return _numbers(messages=writer.messages, statements=writer.statements)


def split_messages(
    sources: Sequence[str], output: str, from_format: str | None, to_format: str | None, reading: dict[str, Any]
) -> Iterator[tuple[Path, int]]:
    """Write each message to a file of its own, whose name has its number for {}; yield its path and its statements."""
    from jelly.messages import MessageReader, MessageWriter

    if "{}" not in Path(output).name:
        raise click.UsageError("give --output: the name of each message, such as 'parts/{}.nq'")
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    number = 0
    for file in sources:
        for message in MessageReader(file, **_reading(Content.MESSAGES, file, from_format, reading)):
            path = Path(output.replace("{}", str(number)))
            number += 1
            with MessageWriter(path, format=to_format) as writer:
                writer.write(message)
            yield path, writer.statements


# ---- patches


def patch_options(patch_type: str | None, triples: bool) -> dict[str, Any] | None:
    """The requested options of a Jelly-Patch stream, or None to keep those of the input."""
    from jelly.patch import PatchStreamType, StatementType

    if patch_type is None and not triples:
        return None
    return {
        "stream_type": PatchStreamType[(patch_type or "punctuated").upper()],
        "statement_type": StatementType.TRIPLES if triples else StatementType.QUADS,
    }


def patch_target(dst: str, to_format: str | None) -> dict[str, Any]:
    """The format to write, which is text on standard output, and whether to write an index."""
    target = format_of(to_format or ("rdfp" if dst == "-" else None), dst, "--to", content=Content.PATCH)
    if dst == "-":
        refuse_terminal(target)
    return {"format": target.name, "seekable": target is JELLY_PATCH and can_have_index(dst)}


def patches_of(files: Sequence[str], from_format: str | None, reading: dict[str, Any]) -> Iterator[Any]:
    """The patches of files, one after the other."""
    from jelly.patch import read_patches

    found = [find(from_format, "" if file == "-" else file, content=Content.PATCH) for file in files]
    limits_of(reading, *(one.reading for one in found))
    settings = [{"format": one.name} | having(reading, one.reading) for one in found]
    return (one for file, each in zip(files, settings, strict=True) for one in read_patches(file, **each))


def write_patches(dst: str, to_format: str | None, found: Iterable[Any]) -> int:
    """Write patches; how many."""
    from jelly.patch import PatchWriter

    n = 0
    with PatchWriter(dst, **patch_target(dst, to_format)) as writer:
        for one in found:
            writer.write(one)
            n += 1
    return n


def _convert_patches(
    sources: Sequence[str],
    dst: str,
    from_format: str | None,
    to_format: str | None,
    reading: dict[str, Any],
    given: dict[str, Any],
) -> str:
    (src, *more) = sources
    if more:
        refuse("several files of patches", _ANY | reading.keys())
        return _numbers(patches=write_patches(dst, to_format, patches_of(sources, from_format, reading)))
    target = {"format": to_format, "seekable": False} if table_kind(dst) else patch_target(dst, to_format)
    source = {"format": from_format} if table_kind(src) else _source(Content.PATCH, src, from_format, reading)
    settings: dict[str, Any] = {
        **source,
        "content": "patches",
        "to": target["format"],
        "options": patch_options(given.get("patch_type"), given.get("triples", False)),
        "seekable": target["seekable"] if given.get("seekable") is None else given["seekable"],
        "marked_bnodes": given.get("marked_bnodes", True),
        "layout": given.get("layout", "flat"),
        "threads": given.get("threads") or default_threads([src]),
        **({"quoted": given["quoted"]} if given.get("quoted") else {}),
    }
    with progress_bar("Converting", dst == "-") as progress:
        return _numbers(operations=jelly.convert(src, dst, progress=progress, **settings).statements)


# ---- counting and checking


def count(content: Content, file: str, from_format: str | None, reading: dict[str, Any]) -> dict[str, int]:
    """The numbers of patches and operations, of messages and statements, or of rows."""
    known = _reading(content, file, from_format, reading)
    if content is Content.MESSAGES:
        from jelly.messages import MessageReader

        log = MessageReader(file, **known)
        _read(log.batches())
        return {"messages": log.messages, "statements": log.statements}
    if content is Content.PATCH:
        from jelly.patch import PatchReader

        patches = operations = 0
        for one in PatchReader(file, **known):
            patches += 1
            operations += len(one)
        return {"patches": patches, "operations": operations}
    return {"rows": sum(map(len, jelly.read_results(file, **known).batches()))}


def _read(batches: Iterator[Any]) -> None:
    with closing(batches) as found:  # type: ignore[type-var]
        for _ in found:
            pass


def problems(
    content: Content, file: str, from_format: str | None, limit: int, reading: dict[str, Any]
) -> list[jelly.Problem]:
    """The problems of a file: all of patches, the first of others."""
    known = _reading(content, file, from_format, reading)
    return jelly.validate(file, content=_WORDS[content], limit=limit, **known)


def result_stats(file: str, from_format: str | None, top: int, reading: dict[str, Any]) -> Any:
    """The counts of the values of each variable of query results."""
    from jelly.stats import stats

    return stats(file, content="results", top=top, **_reading(Content.RESULTS, file, from_format, reading))


# The rows of a patch by their number.
_ROWS = {2: "A", 3: "D", 4: "PA", 5: "PD", 6: "TX", 7: "TC", 8: "TA", 14: "H"}


def inspect_patches(file: str, from_format: str | None, reading: dict[str, Any]) -> dict[str, Any]:
    """The options of a file of patches, its index if it has one, and the headers and row counts of each patch."""
    from jelly.patch import PatchReader

    reader = PatchReader(file, **_reading(Content.PATCH, file, from_format, reading))
    found: list[dict[str, Any]] = [
        {
            "headers": [[header.key, str(header.value)] for header in one.headers],
            "rows": {name: n for code, name in _ROWS.items() if (n := one.count(code))},
        }
        for one in reader
    ]
    options, index = reader.options, None
    about = None if options is None else {name: getattr(options, name) for name in options.__slots__}
    if options is not None:
        index = _index(file)
    return {"format": reader.format.name, "options": about, "index": index, "patches": found}


def _index(file: str) -> dict[str, int] | None:
    """The contents of the index or sidecar of a file; None without one."""
    try:
        with jelly.open(file, content="patches") as opened:
            keyframes = len(opened.index.keyframes)
            return {"keyframes": keyframes, "patches": len(opened), "operations": opened.operations}
    except (jelly.JellyError, OSError):
        return None
