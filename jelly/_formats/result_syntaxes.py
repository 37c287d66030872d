"""Codec of SPARQL results: the writers of JSON, XML, CSV and TSV and the reader of XML here, all others in the core.

In the texts each row is a sequence of `jelly` terms; None marks an unbound variable. (The parser of XML of pyoxigraph
takes the spaces around values away.) CSV is written only: its values have no kinds.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from jelly._bytes.source import Source
from jelly._core.base.batch import Batch
from jelly._core.base.constants import MOST_VARIABLES
from jelly._core.jelly.result_decoder import ResultDecoder
from jelly._core.jelly.result_encoder import ResultEncoder
from jelly._core.jena.reader import ResultReader
from jelly._core.jena.writer import ResultWriter
from jelly._core.results.reader import TextResultReader
from jelly._core.results.tsv_reader import is_variable
from jelly._core.results.writer import TextResultWriter
from jelly._core.terms.batch_builder import ResultBatchBuilder
from jelly._core.terms.model import IRI, BlankNode, Literal, QuotedTriple
from jelly._formats.registry import JELLY_RESULTS, Format
from jelly._options.limits import default
from jelly._options.result_options import ResultOptions
from jelly.errors import (
    JellyArgumentError,
    JellyError,
    JellyFormatError,
    JellyLimitError,
    JellySyntaxError,
    JellyUnsupportedError,
)

__all__ = ["batches_of", "open_reader", "open_writer"]

Row = Sequence[Any]
# Triple terms in triple terms of XML, and text that is parsed at a time.
MAX_NESTED = 62
PIECE = 1 << 16
# Elements in elements: four for each triple term, and the outer ones.
MAX_PATH = 4 * MAX_NESTED + 8
# A limit that can be set.
MAX_TEXT = default("max_text_bytes")
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
    if format.name == "xml":
        return SyntaxResultReader(format, limits)
    return (RecodingReader if format.name == "json" else TextResultReader)(format.name, **limits)


class RecodingReader(TextResultReader):
    """Reads JSON, which may be in UTF-16 or UTF-32, as the first bytes tell."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self._head: bytes | None = b""
        self._decoder: Any = None

    def push(self, data: Any) -> None:
        """Pass the next chunk of bytes."""
        if self._head is not None:
            self._head += data
            if len(self._head) < 4:
                return
            data, self._head = self._head, None
            encoding = json.detect_encoding(data[:4])
            if not encoding.startswith("utf-8"):
                self._decoder = codecs.getincrementaldecoder(encoding)()
        super().push(data if self._decoder is None else self._recoded(data))

    def _recoded(self, data: Any, final: bool = False) -> bytes:
        try:
            return str(self._decoder.decode(data, final)).encode()
        except UnicodeError as error:
            raise JellySyntaxError(str(error)) from None

    def finish(self) -> None:
        """Declare the end of the input."""
        if self._head:
            super().push(self._head)
        elif self._decoder is not None:
            super().push(self._recoded(b"", True))
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
        what = f"{format.title} of query results"
        raise JellyArgumentError(f"options and frame_rows are for Jelly-SPARQL, not for {what}")
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


class SyntaxResultReader:
    """Reads results in JSON, XML or TSV: a `jelly._formats.protocols.BatchSource` that has ``variables`` too."""

    def __init__(self, format: Format, limits: dict[str, Any]) -> None:
        self._limits = limits
        self.result_set: Head | None = None
        self.statements = 0

    @property
    def variables(self) -> tuple[str, ...] | None:
        """The names of the variables; None before they are read."""
        return None if self.result_set is None else self.result_set.variables

    def batches(self, source: Source) -> Iterator[Batch]:
        """The Batches. The variables are read at once, and known then."""
        self.result_set, rows = read_xml(source, **self._limits)
        return self._counted(batches_of(self.result_set.variables, rows))

    def _counted(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for batch in batches:
            self.statements += len(batch)
            yield batch


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
    text = f'{{"head":{_json(about)},'
    if head.boolean is not None:
        return f'{text}"boolean":{_json(head.boolean)}}}\n'
    return text + '"results":{"bindings":['


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


_SPARQL = "http://www.w3.org/2005/sparql-results# "
_LANG = "http://www.w3.org/XML/1998/namespace lang"
_DIR = "http://www.w3.org/2005/11/its dir"
_PARTS = ("subject", "predicate", "object")


class _XmlReader:
    """The handlers of expat: `variables`, `links` and `boolean`, and `rows` that are complete."""

    def __init__(self, max_text: int) -> None:
        self._max_text = max_text
        self._since = 0  # bytes since a tag
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.variables: list[str] = []
        self.links: list[str] = []
        self.boolean: bool | None = None
        self._known: set[str] = set()
        self.rows: list[Row] = []
        self.begun = False  # the variables are all there, or the answer
        self._path: list[str] = []
        self._row: dict[str, Any] = {}
        self._about: dict[str, str] = {}
        self._parts: list[str] = []
        self._triples: list[dict[str, Any]] = []
        self._term: Any = None
        self._name = ""

    def feed(self, data: bytes, final: bool = False) -> None:
        if self._since > self._max_text:
            reason = f"more than {self._max_text} bytes without a tag; raise max_text_bytes to read them"
            raise JellyLimitError(reason, line=self.parser.CurrentLineNumber)
        self._since += len(data)
        try:
            self.parser.Parse(data, final)
        except expat.ExpatError as error:
            raise JellySyntaxError(expat.ErrorString(error.code), line=error.lineno) from None

    def _fail(self, reason: str) -> JellyFormatError:
        return JellyFormatError(reason, line=self.parser.CurrentLineNumber)

    def _doctype(self, *_: Any) -> None:
        raise JellyUnsupportedError("a document type, and entities with it, are not read")

    def _start(self, tag: str, about: dict[str, str]) -> None:
        name = tag.removeprefix(_SPARQL)
        self._since = 0
        if len(self._path) > MAX_PATH:
            raise JellyLimitError(f"elements are nested deeper than {MAX_PATH}", line=self.parser.CurrentLineNumber)
        if not self._path and name != "sparql":
            raise self._fail(f"expected sparql, found {tag:.80}")
        self._path.append(name)
        self._parts = []
        self._about = about
        if name == "variable":
            if self.begun:
                raise self._fail("expected all variables before the results")
            self.variables.append(about.get("name", ""))
            self._known.add(self.variables[-1])
            if len(self.variables) > MOST_VARIABLES:
                raise JellyLimitError(f"a result set has more than {MOST_VARIABLES} variables")
        elif name == "link":
            self.links.append(about.get("href", ""))
        elif name == "results":
            if self.begun:
                raise self._fail("expected one results or boolean")
            self.begun = True
        elif name == "result":
            self._row = {}
        elif name == "binding":
            self._name = about.get("name", "")
            self._term = None
        elif name == "triple":
            self._triples.append({})
            if len(self._triples) > MAX_NESTED:
                raise JellyLimitError(f"triple terms are nested deeper than {MAX_NESTED}")

    def _text(self, text: str) -> None:
        self._parts.append(text)

    def _end(self, tag: str) -> None:
        name = self._path.pop()
        self._since = 0
        text = "".join(self._parts)
        if name == "uri":
            self._term = IRI(text)
        elif name == "bnode":
            self._term = BlankNode(text)
        elif name == "literal":
            language, direction = self._about.get(_LANG), self._about.get(_DIR)
            if language:
                try:
                    self._term = Literal(text, language=language, direction=direction or None)
                except ValueError as error:
                    raise self._fail(str(error)) from None
            else:
                self._term = Literal(text, datatype=self._about.get("datatype"))
        elif name in _PARTS and self._triples:
            self._triples[-1][name] = self._term
            self._term = None
        elif name == "triple":
            parts = self._triples.pop()
            if any(parts.get(part) is None for part in _PARTS):
                raise self._fail("a triple lacks its subject, predicate or object")
            self._term = QuotedTriple(*(parts[part] for part in _PARTS))
        elif name == "binding":
            if self._term is None or self._name not in self._known:
                raise self._fail(f"a binding of {self._name!r:.80} holds no term or is of no variable")
            self._row[self._name] = self._term
        elif name == "result":
            self.rows.append([self._row.get(name) for name in self.variables])
        elif name == "boolean":
            if self.begun or text.strip() not in ("true", "false"):
                raise self._fail(f"boolean is {text.strip()!r:.80}: expected true or false, once, and no results")
            self.boolean = text.strip() == "true"
            self.begun = True


def read_xml(source: Source, *, max_text_bytes: int = MAX_TEXT) -> tuple[Head, Iterator[Row]]:
    """SPARQL Query Results XML Format, with the triple terms and directions of 1.2, as it comes. ``max_text_bytes``
    (64 MiB) bounds what may come between two tags."""
    reader = _XmlReader(max_text_bytes)
    size = min(PIECE, max_text_bytes)

    def pieces() -> Iterator[bool]:
        for chunk in source.chunks():
            for at in range(0, len(chunk), size):
                reader.feed(bytes(chunk[at : at + size]))
                yield True
        reader.feed(b"", True)
        if not reader.begun:
            raise JellyFormatError("expected results in sparql")

    more = pieces()
    while not reader.begun and next(more, False):
        pass

    def rows() -> Iterator[Row]:
        going = True
        while going:
            broken: JellyError | None = None
            try:
                going = next(more, False)
            except JellyError as error:
                broken = error
            # What comes before an error is given before it is raised.
            yield from reader.rows
            reader.rows = []
            if broken is not None:
                raise broken

    variables = () if reader.boolean is not None else tuple(reader.variables)
    return Head(variables, reader.boolean, tuple(reader.links)), rows()


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
    "json": Syntax(_json_header, lambda name: f"{_json(name)}:", (b"\n{", b"}", b",", b",", b""), b"\n]}}\n"),
    "xml": Syntax(
        _xml_header, lambda name: f"<binding name={_xml_quoted(name)}>",
        (b"<result>", b"</result>\n", b"", b"", b"</binding>"), b"</results></sparql>\n",
    ),
    "csv": Syntax(_csv_header, lambda _: "", (b"", b"\r\n", b"", b",", b""), b""),
    "tsv": Syntax(_tsv_header, lambda _: "", (b"", b"\n", b"", b"\t", b""), b""),
}  # fmt: skip
