"""The ends of XML documents that follow one another: tags are counted, nothing is parsed."""

from typing_extensions import Buffer, Self, disjoint_base

@disjoint_base
class DocumentScanner:
    r"""Finds where XML documents end that follow each other on new lines, in chunks cut anywhere (section 2.4).

    ``feed`` gives a list of what it is (``"end"``, ``"doctype"`` or, at something that belongs to no document,
    ``"stray"``) and the offset in all of the input behind it; after a stray byte it gives nothing more.

    >>> from jelly._core.boundaries.xml import DocumentScanner
    >>> scanner = DocumentScanner()
    >>> scanner.feed(b"<a><b/><!-- </a> --></a>\n<a") + scanner.feed(b"/>")
    [('end', 24), ('end', 29)]
    """
    def __new__(cls) -> Self: ...
    @property
    def begun(self) -> bool:
        """Whether the input ends inside a document."""
    def feed(self, data: Buffer) -> list[tuple[str, int]]:
        """The finds in the next chunk of bytes."""
