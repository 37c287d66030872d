"""Codec of SPARQL results: what stands around the rows of JSON, XML, CSV and TSV; the rest is in the core.

CSV is written only: its values have no kinds.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from jelly._core.base.batch import Batch
from jelly._core.jelly.result_decoder import ResultDecoder
from jelly._core.jelly.result_encoder import ResultEncoder
from jelly._core.jena.reader import ResultReader
from jelly._core.jena.writer import ResultWriter
from jelly._core.results.reader import TextResultReader
from jelly._core.results.tsv_reader import is_variable
from jelly._core.results.writer import TextResultWriter
from jelly._core.terms.batch_builder import ResultBatchBuilder
from jelly._formats.registry import JELLY_RESULTS, Format
from jelly._options.result_options import ResultOptions
from jelly.errors import (
    JellyArgumentError,
    JellyError,
    JellySyntaxError,
    JellyUnsupportedError,
)

Row = Sequence[Any]
# Rows of one Batch, and its cells, so that there are fewer rows where they are wide.
BATCH_ROWS = 4096
BATCH_CELLS = 1 << 18

# Sizes of tables that readers of Jelly-SPARQL should take, and rows of a frame, of which a few bytes can claim many.
_LIMITS = {"max_names": 1 << 14, "max_prefixes": 1 << 12, "max_frame_rows": 1 << 20}


def open_reader(format: Format, **limits: Any) -> Any:
    """Make a reader of query results, whose ``variables`` are known at the latest when it gave the first Batch."""
    if format is JELLY_RESULTS:
        require_trailer = limits.pop("require_trailer", False)
        reader = ResultDecoder(**{"delimited": True, **_LIMITS, **limits})
        reader.require_trailer = require_trailer
        return reader
    if format.binary:
        return ResultReader(format.name, **limits)
    if format.name == "csv":
        raise JellyUnsupportedError("CSV results do not tell IRIs from literals: they cannot be read")
    return (TextResultReader if format.name == "tsv" else RecodingReader)(format.name, **limits)


# The declaration that a document of XML may begin with, and the bytes in which it ends.
_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*["']1\.[0-9]+["'](?:\s+encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["'])?"""
    rb"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>"""
)
_DECLARED = 1024


class RecodingReader(TextResultReader):
    """Reads JSON and XML, which may be in other encodings than UTF-8, as the first bytes tell."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._head: bytes | None = b""  # bytes that do not tell it yet
        self._decoder: Any = None

    def push(self, data: Any) -> None:
        """Pass the next chunk of bytes."""
        if self._head is None:
            super().push(self._recoded(data))
            return
        self._head += data
        begin = self._head.removeprefix(codecs.BOM_UTF8)
        declares = b"<?xml".startswith(begin[:5]) and b"?>" not in begin and len(begin) < _DECLARED
        if len(begin) >= 4 and not declares:
            self._begin()

    def _begin(self, final: bool = False) -> None:
        """Find out the encoding, and read what there is."""
        data, self._head = self._head or b"", None
        begin = data.removeprefix(codecs.BOM_UTF8)
        encoding: str = json.detect_encoding(data[:4])
        if begin[:5] == b"<?xml" and begin[5:6].isspace():
            if not (declared := _DECLARATION.match(begin)):
                raise JellySyntaxError("the XML declaration is not well-formed", line=1)
            encoding = (declared[1] or b"utf-8").decode().lower()
        if encoding not in ("utf-8", "utf-8-sig", "us-ascii"):
            try:
                self._decoder = codecs.getincrementaldecoder(encoding)()
            except LookupError:
                raise JellySyntaxError(f"unknown encoding {encoding}", line=1) from None
        super().push(self._recoded(data, final))

    def _recoded(self, data: Any, final: bool = False) -> Any:
        if self._decoder is None:
            return data
        try:
            return self._decoder.decode(data, final).encode()
        except UnicodeError as error:
            raise JellySyntaxError(str(error)) from None

    def finish(self) -> None:
        """Declare the end of the input."""
        if self._head:
            self._begin(True)
        elif rest := self._recoded(b"", True):
            super().push(rest)
        super().finish()


class Head(NamedTuple):
    """What a result set says beside its rows."""

    variables: tuple[str, ...]
    boolean: bool | None = None  # the answer of an ASK query
    links: tuple[str, ...] = ()


def open_writer(
    format: Format, head: Head, *, stream: ResultOptions | None = None, frame_rows: int | None = None
) -> Any:
    """Make a writer of a result set, a `jelly._formats.protocols.BatchWriter`. Jelly-SPARQL has stream options."""
    if format is JELLY_RESULTS:
        writer = ResultEncoder(stream or ResultOptions(), frame_rows=frame_rows)
        writer.begin(*head)
        return writer
    if stream is not None or frame_rows is not None:
        raise JellyArgumentError(
            f"options and frame_rows are for Jelly-SPARQL, not for {format.title} of query results"
        )
    if (head.boolean is not None or head.links) and format.name not in ("json", "xml"):
        what = "the answer of an ASK query" if head.boolean is not None else "links"
        raise JellyUnsupportedError(
            f"{format.title} of query results cannot hold {what}: use Jelly-SPARQL, JSON or XML"
        )
    if format.binary:
        return ResultWriter(format.name, head.variables)
    syntax = _SYNTAXES[format.name]
    before = tuple(syntax.before_cell(name).encode() for name in head.variables)
    footer = b"" if head.boolean is not None else syntax.footer
    return TextResultWriter(format.name, head.variables, syntax.header(head).encode(), footer, syntax.parts, before)


def batches_of(variables: tuple[str, ...], rows: Iterable[Any]) -> Iterator[Batch]:
    """Batches of rows of terms, or of mappings from variables to terms. Those before an error are given before it is
    raised."""
    iterator = iter(rows)
    size = max(1, min(BATCH_ROWS, BATCH_CELLS // max(1, len(variables))))
    first_row = 0
    more = True
    while more:
        builder = ResultBatchBuilder(variables, first_row)
        broken: JellyError | None = None
        try:
            more = builder.extend(iterator, size)
        except JellyError as error:
            broken = error
        if len(builder.batch):
            yield builder.batch
        if broken is not None:
            raise broken
        first_row += len(builder.batch)


# ---- JSON


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _json_header(head: Head) -> str:
    about: dict[str, Any] = {"vars": head.variables} if head.boolean is None else {}
    if head.links:
        about["link"] = head.links
    answer = '"results":{"bindings":[' if head.boolean is None else f'"boolean":{_json(head.boolean)}}}\n'
    return f'{{"head":{_json(about)},{answer}'


# ---- XML

# Characters that XML 1.0 cannot hold.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def _xml_quoted(text: str) -> str:
    """The value of an attribute, with its quotation marks."""
    if found := _NO_XML.search(text):
        raise JellyUnsupportedError(f"XML cannot hold the character U+{ord(found[0]):04X}")
    return quoteattr(text)


def _xml_header(head: Head) -> str:
    names = "".join(f"<variable name={_xml_quoted(name)}/>" for name in head.variables)
    links = "".join(f"<link href={_xml_quoted(link)}/>" for link in head.links)
    answer = "" if head.boolean is None else f"<boolean>{_json(head.boolean)}</boolean></sparql>\n"
    return (
        '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#"'
        f' xmlns:its="http://www.w3.org/2005/11/its"><head>{names}{links}</head>{answer or "<results>" + chr(10)}'
    )


# ---- CSV and TSV


def _csv_header(head: Head) -> str:
    names = ('"' + name.replace('"', '""') + '"' if re.search('[",\r\n]', name) else name for name in head.variables)
    return ",".join(names) + "\r\n"


def _tsv_header(head: Head) -> str:
    for name in head.variables:
        if not is_variable(name.encode(errors="replace")):
            raise JellyUnsupportedError(f"TSV cannot hold the variable {name!r:.80}: expected a name of SPARQL")
    return "\t".join(f"?{name}" for name in head.variables) + "\n"


class Syntax(NamedTuple):
    """How a text of results is written: one line a row."""

    header: Callable[[Head], str]
    before_cell: Callable[[str], str]  # of a variable
    parts: tuple[bytes, ...]  # as `TextResultWriter` takes them
    footer: bytes  # after rows


_SYNTAXES = {
    "json": Syntax(
        _json_header, lambda name: f"{_json(name)}:",
        (b"\n{", b"}", b",", b",", b"", b'{"type":"uri","value":', b'{"type":"bnode","value":',
         b'{"type":"literal","value":', b',"xml:lang":', b',"datatype":', b',"its:dir":"ltr"', b',"its:dir":"rtl"', b"",
         b"}", b"}", b"}", b'{"type":"triple","value":{"subject":', b',"predicate":', b',"object":', b"}}"),
        b"\n]}}\n",
    ),
    "xml": Syntax(
        _xml_header, lambda name: f"<binding name={_xml_quoted(name)}>",
        (b"<result>", b"</result>\n", b"", b"", b"</binding>", b"<uri>", b"<bnode>", b"<literal", b" xml:lang=",
         b" datatype=", b' its:dir="ltr" its:version="2.0"', b' its:dir="rtl" its:version="2.0"', b">",
         b"</uri>", b"</bnode>", b"</literal>", b"<triple><subject>", b"</subject><predicate>", b"</predicate><object>",
         b"</object></triple>"),
        b"</results></sparql>\n",
    ),
    "csv": Syntax(_csv_header, lambda _: "", (b"", b"\r\n", b"", b",", b""), b""),
    "tsv": Syntax(_tsv_header, lambda _: "", (b"", b"\n", b"", b"\t", b""), b""),
}  # fmt: skip
