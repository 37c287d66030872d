"""XML whose text is in one piece: without comments, processing instructions and CDATA sections."""

from typing_extensions import Buffer, Self, disjoint_base

@disjoint_base
class TextJoiner:
    r"""Writes CDATA sections of XML as text and leaves comments and processing instructions out, in chunks cut anywhere.
    Line ends become line feeds.

    What RDF/XML says stays the same, and so do the numbers of the lines on which tags end. ``feed`` gives the text of a
    chunk; at most a few bytes wait for the next one.

    >>> from jelly._core.boundaries.xml_text import TextJoiner
    >>> joiner = TextJoiner()
    >>> joiner.feed(b"<a>x<!--") + joiner.feed(b"c\n-->y<![CDATA[<&]]]]></a>")
    b'<a>xy&lt;&amp;]]</a\n>'
    """
    def __new__(cls) -> Self: ...
    @property
    def begun(self) -> bool:
        """Whether the input ends inside a document."""
    def feed(self, data: Buffer) -> bytes:
        """The text of the next chunk of bytes."""
