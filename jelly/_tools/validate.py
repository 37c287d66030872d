"""Lists the problems of a stream of any content, and compares it with another."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from jelly._bytes.names import is_path, name_of
from jelly._bytes.source import MAX_EXPANSION, Progress, Source
from jelly._dataset.read import read
from jelly._dataset.seekable.check import problems_beside
from jelly._dataset.sources import expand
from jelly._formats.registry import (
    JELLY,
    JELLY_PATCH,
    REGISTRY,
    SEEKING,
    Content,
    Format,
    content_of,
    format_of,
)
from jelly._formats.sniff import explain
from jelly._options.options import StreamOptions
from jelly._options.settings import checked, refuse_unknown
from jelly._streams.inputs import ACCEPT
from jelly._streams.reader import Reader, read_options
from jelly._tools.check import AnyOrder, Check, InOrder, Problem
from jelly._tools.compare import as_quad
from jelly._tools.inspect import OF_ANY, format_to_check, open_jelly, reader_of, refuse_given, restart_problem
from jelly.errors import JellyArgumentError, JellyError, JellyFormatError, JellyLimitError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions


@checked(OF_ANY)
def validate(
    src: Any,
    *,
    content: Literal["statements", "patches", "messages", "results"] | None = None,
    against: Any = None,
    against_format: str | None = None,
    ordered: bool = True,
    options: Any = None,
    frame: int | slice | None = None,
    limit: int = 1000,
    progress: Progress | None = None,
    **reading: Unpack[ReadOptions],
) -> list[Problem]:
    """Check a stream of statements, patches, messages or query results, and list its problems in their order.

    Problems of a Jelly stream are: whatever the `Decoder` refuses (the rest of the stream is then not checked), quoted
    triples or generalized statements that the options do not announce, a pair of logical and physical type outside the
    recommended table, namespace declarations in version 1, a graph without an end, rows of unknown kinds, and signs
    that the file was joined with ``cat``. With a local file also its index, the table of its compressed frames, its
    filters and its sidecar are problems where they do not fit its statements. Jelly-Patch has these, too: graphs in
    patches of triples, namespaces in a patch of quads before any graph, a last patch without punctuation. Problems of
    other formats are syntax errors, in N-Triples, N-Quads and RDF Patch every line that has one, and quoted triples as
    graphs.

    Parameters
    ----------
    src : Any
        The input, as for `read`: also a list, a glob pattern, a directory, table files, URLs. Several are checked one
        after the other.
    content : {"statements", "patches", "messages", "results"}, optional
        By default the format decides. Formats of statements that are message logs, too, hold statements.
    against : Any, optional
        Another RDF source that must contain the same statements, up to the labels of blank nodes.
    against_format : str, optional
        Format of ``against``. By default the suffix decides.
    ordered : bool, default True
        Whether ``against`` must have the statements in the same order.
    options : StreamOptions or Any, optional
        Expected stream options, or a Jelly stream with the expected options. Jelly only.
    frame : int or slice, optional
        Compare only this frame of ``src`` with ``against``, or these frames: ``slice(2, 5)``.
    limit : int, default 1000
        Stop after this many problems.
    progress : callable, optional
        See `convert`.
    **reading : Unpack[ReadOptions]
        Shared keywords for ``src`` and ``against``: see `ReadOptions`. Without ``format`` a file with an unknown suffix
        is Jelly. ``joined=True`` accepts several Jelly streams joined with ``cat``, ``unknown_rows="skip"`` rows of
        unknown kinds.

    Examples
    --------
    >>> import jelly
    >>> s, p, o = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")
    >>> jelly.validate(jelly.dumps([(s, p, o)]), against=b'<a:s> <a:p> "o" .', against_format="nt")
    []
    >>> [str(problem) for problem in jelly.validate(jelly.dumps([(s, p, o)])[:20])]  # doctest: +ELLIPSIS
    ['frame 0, byte 20: the stream ends inside a frame: ... more bytes were expected; the rest ... was not checked']
    """
    limits: dict[str, Any] = {**reading}
    format, delimited = limits.pop("format", None), limits.pop("delimited", None)
    joined = limits.pop("joined", False)
    sources = expand(src)
    if against is not None and len(sources) > 1:
        raise JellyArgumentError("against= goes with one source, not with several")

    def problems_of(src: Any, limit: int) -> list[Problem]:
        kind, given = content_of(content, (src, format)), dict(limits)
        is_plain = kind is Content.STATEMENTS
        with closing(Source(src, given.get("max_expansion", MAX_EXPANSION), ACCEPT[kind])) as source:
            for name, value in () if is_plain else (("against", against), ("options", options)):
                if value is not None:
                    raise JellyArgumentError(f"{name}= goes with statements, not with {kind.value}")
            known = format_to_check(format or source.media_type, source.name, kind)
            is_jelly = known in (JELLY, JELLY_PATCH)
            if not is_jelly:
                refuse_given(known, options=options, delimited=delimited, joined=joined or None)
            wanted = options if options is None or isinstance(options, StreamOptions) else read_options(options)
            check = Check(limit, wanted, skips_unknown=given.get("unknown_rows") == "skip")
            other: frozenset[str] = frozenset()
            if against is not None:
                frames = frame if isinstance(frame, slice) else slice(frame, None if frame is None else frame + 1)
                other = format_of(against, against_format).reading
                theirs: Any = {"format": against_format} | {name: given[name] for name in given.keys() & other}
                if ordered:
                    check.compare = InOrder(map(as_quad, read(against, **theirs)), frames, check)
                else:
                    check.compare = AnyOrder(Reader(against, **theirs).batches(), frames, check)
            if is_plain or is_jelly:
                own = known.reading | {"strict"} if is_plain else known.reading
                refuse_unknown(given, own | other, known.title)
                given = {name: given[name] for name in given.keys() & own}
            if is_jelly:
                # Rows of unknown kinds are reported, and the rows after them are checked.
                given |= {"delimited": delimited, "joined": joined, "unknown_rows": "skip"}
                return _validate_jelly(source, src, known, check, progress, given)
            if "max_line_bytes" in known.reading:  # a line with an error ends nothing
                given.setdefault("on_error", "skip")
            return _validate_items(lambda: reader_of(kind)(source, format=known.name, **given), check, progress)

    if len(sources) == 1:
        return problems_of(sources[0], limit)
    found: list[Problem] = []
    for number, source in enumerate(sources):
        if len(found) < limit:
            problems = problems_of(source, limit - len(found))
            found += [replace(problem, source=name_of(source) or f"source {number}") for problem in problems]
    return found[:limit]


def _validate_jelly(
    source: Source, src: Any, format: Format, check: Check, progress: Progress | None, limits: dict[str, Any]
) -> list[Problem]:
    patch = format is JELLY_PATCH
    own = {name: limits[name] for name in limits.keys() & SEEKING}
    decoder = open_jelly(source, format, limits)
    decoder.want(places=True)
    try:
        for chunk in chain(source.chunks(), [None]):
            check.take(decoder, chunk)
            if chunk is None:
                check.finish(decoder)
                is_file = is_path(src) and os.path.isfile(src)
                for text, offset in problems_beside(os.fsdecode(src), patch, limits["joined"], own) if is_file else ():
                    check.add(text, offset=offset)
            if progress is not None:
                progress(source.bytes_read, source.size, check.rows)
            if check.is_full:
                break
    except JellyError as error:
        if check.failed:
            raise
        explain(error, source.head, format.name, REGISTRY[format.content] if patch else (), "format")
        message = f"{error.reason}; the rest of the file was not checked"
        check.add(message, error.frame, error.row, error.offset)
    for text in decoder.oddities if patch else ():
        check.add(text)
    if decoder.restarts:
        number, row, offset, times = decoder.restarts
        check.add(restart_problem(times), number, row, offset)
    return check.sorted()


def _validate_items(make: Callable[[], Any], check: Check, progress: Progress | None) -> list[Problem]:
    """The problems of a reader of any format but Jelly."""
    reader = None
    try:
        reader = make()
        if check.compare is None and isinstance(reader, Reader):
            reader._skim()
        for batch in reader.watched(progress):
            check.graphs(batch)
            check.compare_with(batch)
        check.compare_with(None)
    except JellyError as error:
        # What is asked for may be wrong, too, before there is a reader.
        if check.failed or (reader is None and not isinstance(error, JellyFormatError | JellyLimitError)):
            raise
        place = "" if error.message is None else f"message {error.message}: "
        check.add(f"{place}{error.reason}; the rest of the file was not checked", None, None, error.offset, error.line)
    if reader is not None:
        for line, message in reader.skipped:
            check.add(message, line=line)
        if reader.n_skipped > len(reader.skipped):
            check.add(f"{reader.n_skipped - len(reader.skipped)} more lines have errors")
    return check.sorted()
