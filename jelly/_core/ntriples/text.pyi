"""TextReader and TextWriter: the Python classes over line_reader and term_writer. They turn faults into exceptions."""

from collections.abc import Iterator
from typing import Any, Literal

from typing_extensions import Buffer, Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.base.push_reader import PushReader

@disjoint_base
class TextReader(PushReader):
    r"""N-Triples (``quads=False``) or N-Quads in, Batches out, no I/O: feed it chunks of bytes, cut anywhere.

    ``patch=True`` reads RDF Patch instead: its Batches have the operations as ``op``, see `jelly.patch`.

    Syntax is RDF 1.1, RDF-star and RDF 1.2, and any term may stand in any place; relative IRIs are taken as they are.
    ``strict=True`` takes RDF 1.1 only; so does ``rdf="1.1"``, and ``rdf="1.2-basic"`` or ``"1.2"`` that version, or the
    lower one that a VERSION line announces. ``on_error="skip"`` leaves out lines that are wrong and notes them in
    ``skipped``, and the bytes of their errors in ``skipped_at``; ``n_skipped`` counts them all. A Batch holds at most
    ``batch_rows`` statements and ends early at about ``batch_bytes`` of text.

    With ``messages="comment"`` or ``"directive"`` the text is a message log: the frames of its Batches are messages, and
    no Batch holds a part of one; ``"either"`` is comments, unless a VERSION that announces directives comes before all
    statements and delimiters. ``announced`` says that MESSAGE needs no ``VERSION "1.2-messages"``, ``trailing`` what a
    comment at the very end does: ``"open"`` one more, empty message, or ``"close"`` the last one.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False)
    >>> [len(batch) for data in (b"<a:s> <a:p> <a:o> .\n<a:s> <a", b":p> 'o' .") for batch in reader.feed(data)]
    [1]
    >>> reader.close()
    Traceback (most recent call last):
    jelly.JellySyntaxError: column 13: expected a term as object, found "'" (byte 32, line 2)
    """
    n_skipped: int
    skipped: list[tuple[int, str]]
    skipped_at: list[int]
    def __new__(
        cls,
        *,
        quads: bool,
        strict: bool = False,
        rdf: str | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        batch_rows: int = 16384,
        batch_bytes: int = 16777216,
        max_line_bytes: int = 67108864,
        patch: bool = False,
        messages: Literal["comment", "directive", "either"] | None = None,
        announced: bool = False,
        trailing: Literal["open", "close"] = "open",
        max_message_bytes: int = 268435456,
    ) -> Self: ...
    @property
    def line(self) -> int:
        """Number of lines read so far."""
    @property
    def held_bytes(self) -> int:
        """Number of bytes of a line whose end has not come yet."""
    @property
    def messages(self) -> int:
        """Number of complete messages read so far. While another thread reads, those given out."""
    def namespace(self, name: str, iri: str) -> None:
        """Declare a namespace here, after a chunk was used up: N-Triples has no syntax for it."""
    def pull(self, flush: bool = False) -> Batch | None: ...
    def feed(self, data: Buffer) -> Iterator[Batch]: ...
    def close(self) -> Iterator[Batch]: ...

@disjoint_base
class TextWriter:
    r"""Batches in, N-Triples (``quads=False``) or N-Quads out, in their canonical form, one line a statement.

    ``patch=True`` writes the Batches of patches as RDF Patch, one line an operation; then ``marked=True`` writes blank
    nodes as ``<_:label>``. Blank nodes whose labels are none of N-Triples get others (see `Capabilities`), with
    ``keep_labels=True`` they are an error. ``fitted=True`` is for Batches that were fitted to another format: then labels
    are written as they are.

    Quoted triples are written as ``<<( s p o )>>`` where they are objects, which is RDF 1.2, and as ``<< s p o >>``
    elsewhere, where RDF 1.2 has none. ``quoted="rdf-star"`` writes all as ``<< s p o >>``, for programs that read
    RDF-star (Jena up to 5.3).

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s>  <a:p>"o"@en.', format="nt").batches())
    >>> TextWriter(quads=False).encode(batch)
    b'<a:s> <a:p> "o"@en .\n'
    """
    def __new__(
        cls,
        quads: bool,
        patch: bool = False,
        marked: bool = False,
        keep_labels: bool = False,
        quoted: Literal["rdf-1.2", "rdf-star"] = "rdf-1.2",
        fitted: bool = False,
    ) -> Self: ...
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The lines of a Batch. JellyUnsupportedError if they cannot hold it, for example a named graph in N-Triples.

        ``keep_frames`` is ignored: lines have no frames.
        """
    def close(self) -> bytes:
        """Nothing: lines have no end marker."""
    def chunks(self, batch: Batch, size: int = 1048576, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """The lines of a Batch, or of some of its rows, in parts of about `size` bytes."""
    def frames(self, batch: Batch) -> list[bytes]:
        """The lines of each frame of a Batch, then those of rows after the last frame, if any."""
    def __reduce__(self) -> Any: ...
