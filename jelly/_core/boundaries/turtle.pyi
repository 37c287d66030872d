"""A lexer of Turtle, TriG, N-Triples and N-Quads that only finds messages, versions and prefixes."""

from typing_extensions import Buffer, Self, disjoint_base

@disjoint_base
class Lexer:
    r"""Finds delimiters, and where versions and prefixes are declared, in text fed to it in chunks cut anywhere.

    ``directive=False`` looks for comments that match ``/^\s*@message/`` (RDF Messages, section 2.1), ``True`` for
    ``MESSAGE`` and ``@message .``. Found is a list of tuples: what it is (``"message"``, ``"prefix"``, ``"version"``,
    or ``"bad"`` for an ``@message`` without its dot), the offsets in all of the input of its beginning, of its end and
    of what follows the word in a comment, how many braces are open, and where it stands: 0 between statements, 1 inside
    one, 2 inside one where a string ends (for the first that stands there).

    >>> from jelly._core.boundaries.turtle import Lexer
    >>> lexer = Lexer()
    >>> lexer.feed(b'<a:s#@message> <a:p> "# @message" . # @mess') + lexer.feed(b"age one\n", True)
    [('message', 36, 50, 46, 0, 0)]
    """
    def __new__(cls, *, directive: bool = False) -> Self: ...
    @property
    def depth(self) -> int:
        """Number of open braces."""
    @property
    def deepest(self) -> int:
        """The most collections, blank nodes, quoted triples and graphs or formulas that were open in one another.

        They open with ``(``, ``[``, ``<<`` and ``{``.
        """
    def feed(self, data: Buffer, final: bool = False) -> list[tuple[str, int, int, int, int, int]]:
        """The finds in the next chunk of bytes; ``final`` if it is the last chunk."""
