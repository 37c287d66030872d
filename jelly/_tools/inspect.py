"""Counts of a Jelly stream: options, rows and bytes by kind, frames. Terms are not decoded."""

from __future__ import annotations

import warnings
from array import array
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field, fields
from itertools import chain
from operator import eq
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jelly._bytes.source import MAX_EXPANSION, Progress, Source
from jelly._core.base.constants import Op
from jelly._core.jelly.row_counter import PLACES, TERM_PARTS, RowCounter
from jelly._dataset.dataset import Dataset
from jelly._dataset.seekable.file import JellyFile, open_filtered
from jelly._dataset.sources import Sources, expand, is_table
from jelly._formats.registry import (
    JELLY,
    JELLY_PATCH,
    MESSAGE_READING,
    PATCH_READING,
    READING,
    REGISTRY,
    RESULT_READING,
    Content,
    Format,
    content_of,
    find,
)
from jelly._formats.sniff import explainer
from jelly._html import html_table
from jelly._options.limits import default
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.result_options import ResultOptions
from jelly._options.settings import checked, fitted, refuse_unknown
from jelly._streams.inputs import ACCEPT, of_content
from jelly._streams.reader import Reader
from jelly.errors import JellyArgumentError, JellyError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

ROW_TERMS = frozenset().union(*TERM_PARTS)
UNKNOWN_ROW = "the row has no field that this version knows"
# The keywords of reading, of all contents.
OF_ANY = READING | PATCH_READING | MESSAGE_READING | RESULT_READING
_ROWS = 3  # offset, size and bytes of metadata come before the rows of each kind
_KINDS = slice(1, 3)  # triples and quads, or statements added and deleted, in the kinds of rows
_STATEMENTS = slice(_ROWS + 1, _ROWS + 3)  # triples and quads, or statements added and deleted


@dataclass(frozen=True, slots=True)
class FrameInspection:
    """One frame in the result of `inspect`.

    Attributes
    ----------
    index : int
        Number of the frame, from 0.
    offset : int
        Byte in the decompressed stream at which the frame begins.
    bytes : int
        Size of the frame in bytes.
    statements : int
        Number of statements.
    rows, row_bytes : dict of str to int
        Number and bytes of the rows by kind, see `Inspection`.
    metadata_bytes : int
        Bytes of metadata.
    metadata : dict of str to str
        Metadata for display: the first 100 bytes of each value as text, or as hexadecimal digits (``0x00ff``) if it is
        not UTF-8. A value that was cut ends with ``...`` and its length in bytes.

    Examples
    --------
    >>> import jelly
    >>> data = jelly.dumps(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    >>> [frame] = jelly.inspect(data, per_frame=True).frames
    >>> frame.offset, frame.statements, frame.rows["name"], frame.offset + frame.bytes == len(data)
    (1, 1, 3, True)
    """

    index: int
    offset: int
    bytes: int
    statements: int
    rows: dict[str, int]
    row_bytes: dict[str, int]
    metadata_bytes: int
    metadata: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain dicts, lists and numbers. Kinds of rows that do not occur are left out."""
        return _plain(self)


@dataclass(frozen=True, slots=True)
class Inspection:
    """Result of `inspect`.

    Attributes
    ----------
    format : str
        The name of the format.
    options : StreamOptions, PatchOptions, ResultOptions or None
        The stream options, None where the format has none.
    delimited : bool
        Whether each frame has its length before it.
    statements : int
        Number of statements; of patches those that are added or deleted, of query results the rows.
    n_frames : int
        Number of frames, of a message log of messages.
    bytes : int
        Size of the stream in bytes, decompressed if it is Jelly.
    bytes_read : int
        Size of the file in bytes, which may be compressed.
    rows, row_bytes : dict of str to int
        Number and bytes (0 if it is not Jelly) of the rows by kind: options, triple, quad, graph_start, graph_end,
        namespace, name, prefix, datatype (entries of the lookup tables) and other (rows without a known field). Patches
        have add, delete, namespace_add, namespace_delete, start, commit, abort, header and punctuation instead of
        triple to namespace, query results only row.
    metadata_bytes : int
        Bytes of metadata in all frames.
    metadata : dict of str to int
        Number of frames with each metadata key.
    parts, part_bytes : dict of str to int
        If ``size`` was asked for: number and bytes of each part, which together are ``bytes``: ``framing`` (the
        lengths of frames), ``metadata``, the kinds of rows as in ``rows``, and instead of triples and quads
        (of Jelly-Patch: add and delete) ``statement.framing`` (the lengths of rows and columns, and the row
        counts) and the parts of statements. In rows these are the terms by place and kind, such as ``subject.iri`` or
        ``object.literal``; ``subject.repeated`` counts statements that repeat the subject before, which takes no
        bytes. In columns (Jelly-RDF 1.2) they are the lists of each column: ``object.runs``, ``object.name_ids``,
        ``object.lex_values`` and so on; a run stands for two or more cells.
    frames : sequence of FrameInspection
        The frames, if ``per_frame`` was asked for.
    problems : list of str
        Problems that show without decoding: rows of unknown kinds, and signs that the file was joined with ``cat``.
    filter_bytes : int
        Bytes of the filters in the index of the file or in its sidecar, see ``index`` of `Writer`; 0 without.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.inspect(jelly.dumps(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt")))
    >>> found.statements, found.n_frames, found.rows["triple"], found.options.physical_type.name
    (1, 1, 1, 'TRIPLES')
    """

    format: str
    options: StreamOptions | PatchOptions | ResultOptions | None
    delimited: bool
    statements: int
    n_frames: int
    bytes: int
    bytes_read: int
    rows: dict[str, int]
    row_bytes: dict[str, int]
    metadata_bytes: int
    metadata: dict[str, int]
    frames: Sequence[FrameInspection] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    filter_bytes: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    part_bytes: dict[str, int] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        rows = [(kind, n, self.row_bytes[kind]) for kind, n in self.rows.items() if n]
        title = f"{self.statements:,} statements, {self.n_frames:,} frames, {self.bytes:,} bytes"
        return html_table(title, ("rows", "number", "bytes"), rows)

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain dicts, lists and numbers. Kinds of rows that do not occur are left out."""
        return _plain(self)


class _Frames(Sequence[FrameInspection]):
    """The counts of frames, those of each after those before it: objects would take ten times the memory."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._kinds = (*kinds,)
        self._width = _ROWS + 2 * len(self._kinds)
        self._numbers = array("q")
        self._keys: dict[int, dict[str, str]] = {}

    def take(self, counter: RowCounter) -> None:
        """Append the counts of the counter since the last call."""
        table, keys = counter.take_frames()
        for index, key, value, size in keys:
            self._keys.setdefault(index, {})[key] = _shown(value, size)
        self._numbers.frombytes(table.tobytes())

    def __len__(self) -> int:
        return len(self._numbers) // self._width

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __repr__(self) -> str:
        return f"<{len(self)} frames>"

    def __getitem__(self, wanted: Any) -> Any:
        index = range(len(self))[wanted]
        if isinstance(index, range):
            return [self[i] for i in index]
        row = self._numbers[index * self._width : (index + 1) * self._width].tolist()
        kinds = len(self._kinds)
        return FrameInspection(
            index=index,
            offset=row[0],
            bytes=row[1],
            statements=sum(row[_STATEMENTS]),
            rows=dict(zip(self._kinds, row[_ROWS : _ROWS + kinds], strict=True)),
            row_bytes=dict(zip(self._kinds, row[_ROWS + kinds :], strict=True)),
            metadata_bytes=row[2],
            metadata=self._keys.get(index, {}),
        )


def _plain(found: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for item in fields(found):
        value = getattr(found, item.name)
        if isinstance(value, StreamOptions | PatchOptions | ResultOptions):
            value = {name: getattr(given, "name", given) for name, given in asdict(value).items()}
        elif item.name in ("rows", "row_bytes"):
            value = {kind: n for kind, n in value.items() if n}
        elif item.name in ("frames", "problems", "parts", "part_bytes") and not value:
            continue
        elif item.name == "frames":
            value = [frame.as_dict() for frame in value]
        plain[item.name] = value
    return plain


def refuse_given(known: Format, **of_jelly: Any) -> None:
    """Refuse keywords of Jelly, of which each that was not given is None, for another format."""
    for name, value in of_jelly.items():
        if value is not None:
            raise JellyArgumentError(f"{name}= goes with Jelly, not with {known.title}")


@checked(OF_ANY, {"max_frames"})
def inspect(
    src: Any,
    per_frame: bool = False,
    *,
    size: bool = False,
    content: Literal["statements", "patches", "messages", "results"] | None = None,
    progress: Progress | None = None,
    **options: Unpack[ReadOptions],
) -> Inspection:
    """Count the frames, rows and bytes of a Jelly stream without decoding its statements.

    The stream options are checked. Wrong references to lookup tables go unnoticed; see `validate`. Any other stream of
    statements, patches, messages or query results is read, and its rows are counted.

    Parameters
    ----------
    src : Any
        The input, as for `Reader`.
    per_frame : bool, default False
        Also report each frame, about 200 bytes of memory per frame. Jelly only.
    size : bool, default False
        Also report the bytes of each part: of terms by place and kind, or of the lists of columns. Takes longer. Jelly
        only.
    content : {"statements", "patches", "messages", "results"}, optional
        By default the format decides. Formats of statements that are message logs, too, hold statements.
    progress : callable, optional
        See `convert`.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`. Without ``format`` a file with an unknown suffix is Jelly.

    Raises
    ------
    JellyLimitError
        If ``per_frame`` is set and there are more than ``max_frames`` frames.
    JellyError
        If a frame or the options are malformed.

    Examples
    --------
    >>> import jelly
    >>> found = jelly.inspect(jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    >>> found.statements, found.n_frames, found.rows["name"]
    (1, 1, 2)
    >>> jelly.inspect(b"TX .\\nA <a:s> <a:p> <a:o> .\\nTC .\\n", format="rdfp").rows
    {'add': 1, 'start': 1, 'commit': 1}
    """
    limits: dict[str, Any] = {**options}
    format, delimited = limits.pop("format", None), limits.pop("delimited", None)
    max_frames = limits.pop("max_frames", default("max_frames"))
    kind = content_of(content, (src, format))
    source = Source(src, limits.get("max_expansion", MAX_EXPANSION), ACCEPT[kind])
    with closing(source):
        known = format_to_check(format or source.media_type, source.name, kind)
        if known not in (JELLY, JELLY_PATCH):
            refuse_given(known, per_frame=per_frame or None, size=size or None, delimited=delimited)
            return _inspect_items(source, known, progress, limits)
        refuse_unknown(limits, known.reading - {"batch_rows"}, known.title)
        source.explain = explainer(known.name, REGISTRY[known.content], "format")
        counter = open_jelly(source, known, {**limits, "delimited": delimited, "unknown_rows": "skip"})
        counter.want(skim=True, sizes=size, max_frames=max_frames if per_frame else -1)
        found: StreamOptions | PatchOptions | None = None
        frames = _Frames(counter.kinds)
        with source.named():
            for chunk in chain(source.chunks(), [None]):
                for batch in counter.close() if chunk is None else counter.feed(chunk):
                    found = found or batch.options
                frames.take(counter)
                if progress is not None and chunk is not None:
                    progress(source.bytes_read, source.size, counter.statements)
    parts = _parts(counter) if size else {}
    return Inspection(
        format=known.name,
        options=found or counter.options,
        delimited=bool(counter.delimited),
        statements=counter.statements,
        n_frames=counter.frames,
        bytes=counter.bytes,
        bytes_read=source.bytes_read,
        rows=counter.rows,
        row_bytes=counter.row_bytes,
        metadata_bytes=counter.metadata_bytes,
        metadata=counter.metadata,
        frames=frames if per_frame else [],
        problems=_problems(counter, limits),
        filter_bytes=_filter_bytes(src) if known is JELLY else 0,
        parts={name: number for name, (number, _) in parts.items()},
        part_bytes={name: of_part for name, (_, of_part) in parts.items()},
    )


@checked(OF_ANY)
def count(
    src: Any,
    *,
    content: Literal["statements", "patches", "messages", "results"] | None = None,
    **options: Unpack[ReadOptions],
) -> int:
    """Count the statements of one or several sources; of Jelly without decoding them.

    Of patches the statements that are added or deleted are counted, of query results the rows.

    Parameters
    ----------
    src : Any
        The input, as for `scan`.
    content : {"statements", "patches", "messages", "results"}, optional
        By default the format decides.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`.

    Examples
    --------
    >>> import jelly
    >>> jelly.count(b"<a:s> <a:p> <a:o> .", format="nt")
    1
    """
    return sum(
        Dataset(Sources(each, **options)).count()
        if is_table(each) or isinstance(each, JellyFile)
        else inspect(each, content=content, **options).statements
        for each in expand(src)
    )


def _inspect_items(
    source: Source, format: Format, progress: Progress | None, settings: dict[str, Any]
) -> Inspection:
    """Count the rows that a reader of any format but Jelly gives."""
    reader = reader_of(format.content)(source, format=format.name, **settings)
    rows: Counter[str] = Counter()
    for batch in reader.watched(progress):
        rows["namespace"] += len(batch.namespaces)
        if batch.op is not None:
            codes, numbers = np.unique(batch.op, return_counts=True)
            rows.update(dict(zip([Op(code).name.lower() for code in codes], numbers.tolist(), strict=True)))
        else:
            rows["row" if batch.variables is not None else "triple" if batch.g is None else "quad"] += len(batch)
    found = {kind: n for kind, n in rows.items() if n}
    return Inspection(
        format=format.name,
        options=reader.options,
        delimited=False,
        statements=sum(rows[kind] for kind in ("triple", "quad", "add", "delete", "row")),
        n_frames=getattr(reader, "messages", 0),
        bytes=source.bytes_read,
        bytes_read=source.bytes_read,
        rows=found,
        row_bytes=dict.fromkeys(found, 0),
        metadata_bytes=0,
        metadata={},
    )


def format_to_check(format: str | None, name: str, content: Content = Content.STATEMENTS) -> Format:
    """The format; Jelly if the suffix of a file of statements is unknown."""
    is_plain = content is Content.STATEMENTS
    try:
        return find(format, "" if name == "-" else name, content=content, tables=is_plain)
    except JellyError:
        if format is not None or not is_plain:
            raise
        return JELLY


def open_jelly(source: Source, format: Format, limits: dict[str, Any]) -> RowCounter:
    """Make a Decoder of a source of Jelly or Jelly-Patch that counts its rows."""
    limits = fitted(limits, format.reading, source.size) | {"patch": format is JELLY_PATCH}
    limits.pop("max_expansion", None)  # the source has it
    counter = RowCounter(**limits)
    counter.quiet = True
    return counter


def reader_of(content: Content) -> Any:
    """The class that reads a content."""
    return Reader if content in (Content.STATEMENTS, Content.TABLE) else of_content(content, "Reader")


def _parts(counter: RowCounter) -> dict[str, tuple[int, int]]:
    """The number and bytes of each part. Bytes of no named part belong to the frames and to the statements."""
    statements = [*counter.kinds][_KINDS]
    rows = {kind: (n, counter.row_bytes[kind]) for kind, n in counter.rows.items() if kind not in statements and n}
    terms = counter.parts
    of_statements = sum(counter.row_bytes[kind] for kind in statements)
    outside = counter.bytes - sum(counter.row_bytes.values()) - counter.metadata_bytes
    found = {"framing": (counter.frames, outside), **rows}
    if counter.metadata:
        found["metadata"] = (sum(counter.metadata.values()), counter.metadata_bytes)
    found["statement.framing"] = (counter.statements, of_statements - sum(size for _, size in terms.values()))
    for place in PLACES:
        own = {name: part for name, part in terms.items() if name.startswith(place)}
        found |= own
        of_rows = [n for name, (n, _) in own.items() if name.partition(".")[2] in ROW_TERMS]
        if of_rows and sum(of_rows) < counter.statements:
            found[f"{place}.repeated"] = (counter.statements - sum(of_rows), 0)
    return found | terms


def _filter_bytes(src: Any) -> int:
    """The size of the filters of a file, if it has any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of an index that is of no use: who reads by it is warned
        file = open_filtered(src, {"format": JELLY.name})
        if file is None:
            return 0
        with file:
            return 0 if file.filters is None else file.filters.size


def _problems(counter: RowCounter, settings: dict[str, Any]) -> list[str]:
    """The problems of the stream, except those that the settings allow."""
    found = []
    if (other := counter.rows["other"]) and settings.get("unknown_rows") != "skip":
        found.append(f"{other} rows have no field that this version knows" if other > 1 else UNKNOWN_ROW)
    if counter.restarts and not settings.get("joined"):
        frame, _, offset, times = counter.restarts
        found.append(f"frame {frame}, byte {offset}: {restart_problem(times)}")
    return found


def restart_problem(times: int) -> str:
    """The message if another stream seems to begin inside the file, which happened ``times`` times."""
    more = f" (and {times - 1} times more)" if times > 1 else ""
    return (
        f"another stream seems to begin here{more}, as in files that were joined with cat; read on as one, statements "
        "come out wrong: joined=True reads them as the streams they are"
    )


def _shown(value: bytes, size: int) -> str:
    """A printable form of a value of ``size`` bytes, of which these are the first."""
    text = ""
    with suppress(UnicodeDecodeError):
        # The last character may be cut off.
        text = getincrementaldecoder("utf-8")().decode(value, size == len(value))
    if not (text.isprintable() and (text or not value)):
        text = f"0x{value.hex()}"
    return text if size == len(value) else f"{text}... ({size:,} bytes)"
