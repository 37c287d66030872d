"""Reads SPARQL results in TSV with pyoxigraph, some whole lines at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jelly._bytes.source import Source
from jelly._core.base.constants import MOST_VARIABLES
from jelly._core.terms.model import IRI, BlankNode, Literal, QuotedTriple
from jelly._options.limits import default
from jelly.errors import JellyLimitError, JellySyntaxError, memory_error

__all__ = ["MAX_NESTED", "PIECE", "check_width", "read_tsv"]

# Triple terms in triple terms.
MAX_NESTED = 62
# Text that is parsed at a time.
PIECE = 1 << 16
# Bytes of a line, which can be set.
MAX_TEXT = default("max_text_bytes")
# The line in the text that the parser was given; the error has the line of the file.
_PLACE = re.compile(r" (?:in|on) line [0-9]+")


def _marked(chunks: Iterable[Any], marks: Any, check: Any) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        for at in range(0, len(chunk), PIECE):
            piece, rest = marks.split(rest + bytes(chunk[at : at + PIECE]))
            check(piece)
            yield marks.put(piece)
    check(rest)
    yield marks.put(rest)


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, where each piece but the last ends at the end of a line."""
    rest: list[bytes] = []
    for piece in pieces:
        if end := piece.rfind(b"\n") + 1:
            yield b"".join([*rest, piece[:end]])
            rest = []
        rest.append(piece[end:])
    yield b"".join(rest)


def check_width(variables: int) -> None:
    """Refuse a result set of too many variables."""
    if variables > MOST_VARIABLES:
        raise JellyLimitError(f"a result set has more than {MOST_VARIABLES} variables")


def _guard(max_text: int) -> Callable[[bytes], None]:
    """A check of pieces for triple terms in triple terms, for which the parser uses the stack, and for long lines."""
    depth = 0
    length = 0

    def check(piece: bytes) -> None:
        nonlocal depth, length
        if depth == 0 and length + len(piece) <= max_text and b"<<" not in piece:
            end = piece.rfind(b"\n")
            length = len(piece) - end - 1 if end >= 0 else length + len(piece)
            return
        for i, line in enumerate(piece.split(b"\n")):
            length = len(line) + (0 if i else length)
            if length > max_text:
                raise JellyLimitError(f"a line is longer than {max_text} bytes; raise max_text_bytes to read it")
            depth = max(depth + line.count(b"<<") - line.count(b">>"), 0)
            if depth > MAX_NESTED:
                raise JellyLimitError(f"triple terms are nested deeper than {MAX_NESTED}")

    return check


def read_tsv(source: Source, *, max_text_bytes: int = MAX_TEXT) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """The TSV format, by pyoxigraph. ``max_text_bytes`` (64 MiB) bounds a line.

    It parses some whole lines at a time, because no thread but the one that made its parser may use or drop it.
    """
    from jelly._formats.language_case import Marks
    from jelly._formats.syntaxes import ox

    def parse(text: bytes, line: int) -> Any:
        """The parser of a text whose second line is this one of the file."""
        with _errors(line):
            return ox.parse_query_results(text, ox.QueryResultsFormat.TSV)

    def term(x: Any) -> Any:
        if isinstance(x, ox.NamedNode):
            return IRI(marks.take_str(x.value))
        if isinstance(x, ox.BlankNode):
            return BlankNode(x.value)
        if isinstance(x, ox.Triple):
            return QuotedTriple(term(x.subject), term(x.predicate), term(x.object))
        if x.language is None:
            return Literal(marks.take_str(x.value), datatype=marks.take_str(x.datatype.value))
        direction = x.direction.value if x.direction else None
        return Literal(marks.take_str(x.value), language=marks.take_str(x.language), direction=direction)

    def row(solution: Any) -> Sequence[Any]:
        return [None if x is None else term(x) for x in solution]

    def rows(text: bytes, line: int) -> list[Sequence[Any]]:
        with _errors(line):  # no local variable holds the parser: the traceback of an error would keep it
            return list(map(row, parse(text, line)))

    def all_rows(text: bytes) -> Iterator[Sequence[Any]]:
        line = 2
        while True:
            yield from rows(head + text, line)
            line += text.count(b"\n")
            if not (text := next(lines, b"")):
                return

    marks = Marks()
    lines = _whole_lines(_marked(source.chunks(), marks, _guard(max_text_bytes)))
    first, _, text = next(lines).partition(b"\n")
    variables = [variable.value for variable in parse(first, 2).variables]
    check_width(len(variables))
    head = "\t".join(f"?v{i}" for i in range(len(variables))).encode() + b"\n"  # short, as each text begins with it
    return variables, all_rows(text)


@contextmanager
def _errors(line: int) -> Iterator[None]:
    """Context manager: errors of the parser of a text whose second line is this one of the file."""
    try:
        yield
    except SyntaxError as error:
        place = None if error.lineno is None else error.lineno - 2 + line
        raise JellySyntaxError(_PLACE.sub("", str(error.msg)).strip(), line=place) from None
    except MemoryError as error:
        raise memory_error(error) from None
