"""Results of SPARQL queries: Jelly-SPARQL, RDF Thrift, RDF Protobuf, JSON, XML and TSV."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterable
from typing import Any

import jelly
from fuzz.harness import MANY_ROWS, chunked, cut, harness, read_all
from fuzz.readers.syntaxes import JSON_TEXT, XML_TEXT
from fuzz.structures import Delimited, Text, Thrift
from jelly import IRI, JellyError, Literal, QuotedTriple
from jelly._core.jelly.result_decoder import ResultDecoder
from jelly._core.jena.reader import ResultReader
from jelly._core.results.reader import TextResultReader
from jelly._formats.registry import Content

ROWS = [
    [IRI("http://e/s"), Literal("x", language="en"), None],
    [jelly.BlankNode("b"), Literal("1", datatype="http://e/d"), Literal("\t\n\"'\\")],
    [None, QuotedTriple(IRI("a:s"), IRI("a:p"), Literal("o")), Literal("y", language="ar", direction="rtl")],
]
STRUCTURES: dict[str, Any] = {
    "jellys": Delimited(), "thrift": Thrift(), "protobuf": Delimited(), "json": JSON_TEXT, "xml": XML_TEXT,
    "tsv": Text(b"?x", b"\t", b"\\n", stops=b" \t<>\"@^?"),
}  # fmt: skip
FILES = {
    "jellys": (".jellys",), "json": (".srj",), "xml": (".srx",), "tsv": (".tsv",), "thrift": (".srt",),
    "protobuf": (".srp",),
}  # fmt: skip


def samples(name: str) -> Callable[[], Iterable[bytes]]:
    def corpus() -> Iterable[bytes]:
        for rows in (ROWS, ROWS[:2], []):
            out = io.BytesIO()
            try:
                jelly.results.write_results(out, ["x", "y", "z"], rows, format=name)
            except JellyError:
                continue
            yield out.getvalue()

    return corpus


def relabelled(row: Iterable[Any]) -> tuple[Any, ...]:
    """Blank nodes as one: formats that do not have all labels change them."""
    return tuple(_relabelled(term) for term in row)


def _relabelled(term: Any) -> Any:
    if isinstance(term, QuotedTriple):
        return QuotedTriple(*map(_relabelled, term))
    return jelly.BlankNode("b") if isinstance(term, jelly.BlankNode) else term


def results(name: str) -> Callable[[bytes, random.Random], None]:
    def read(data: bytes, chance: random.Random) -> None:
        """Any chunking is the whole; results come back through another format."""
        limits: dict[str, Any] = {}
        if name in ("thrift", "protobuf"):
            limits = chance.choice(({}, {"max_row_bytes": 64}, {"batch_bytes": 16}))
            chunked(data, chance, lambda **given: ResultReader(name, **given), limits)
        elif name == "jellys":
            limits = chance.choice(({}, {"max_frame_bytes": 64}, {"batch_bytes": 16}, {"max_frame_rows": 2}))
            chunked(data, chance, lambda **given: ResultDecoder(delimited=True, **given), limits)
        else:
            limits = chance.choice(({}, {"max_document_bytes" if name == "json" else "max_text_bytes": 64}))
            # A document above its limit is refused before what is read of it, so that chunks are not the whole.
            own = {} if name == "json" else limits
            chunked(data, chance, lambda **given: TextResultReader(name, **given), own)
        found = []
        for source in (data, cut(data, chance)):
            try:
                opened = jelly.results.read_results(source, format=name, **limits)
            except JellyError as error:
                found.append((None, type(error), None))
                continue
            reading = read_all(opened.batches())
            found.append((opened.variables, reading.error and reading.error[0], reading.rows))
        by_chunk = name == "json" and limits and jelly.JellyLimitError in (found[0][1], found[1][1])
        if not (by_chunk or found[0][1] and found[1][1]):
            assert found[0] == found[1], f"in chunks: {found}"
        variables, error, rows = found[0]
        if variables is None or error is not None or len(rows) > MANY_ROWS:
            return
        to = chance.choice(("jellys", "thrift", "protobuf", "json", "xml", "tsv"))
        out = io.BytesIO()
        try:
            jelly.results.write_results(out, variables, rows, format=to)
        except JellyError:
            return
        if to == "tsv" and (not variables or len(variables) == 1):
            return  # a line without text is a row or none
        again = jelly.results.read_results(out.getvalue(), format=to)
        assert again.variables == variables, f"{to}: {again.variables} for {variables}"
        made, rows = (list(map(relabelled, found)) for found in (again, rows))
        assert made == rows, f"{to}: {made!r:.600} for {rows!r:.600}"

    return read


for _name in STRUCTURES:
    harness(
        f"results_{_name}",
        corpus=samples(_name),
        files=FILES[_name],
        formats=((Content.RESULTS, _name),),
        structure=STRUCTURES[_name],
    )(results(_name))
