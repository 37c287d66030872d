"""The terms of another library, such as RDFLib: how to recognise and how to create them."""

from collections.abc import Callable
from typing import Any

from typing_extensions import Self, disjoint_base

@disjoint_base
class ObjectTemplate:
    """Makes objects of a str subclass with slots like an example. Slots that hold its text hold the new text.

    ``ValueError`` if the example has more than a text and slots.

    >>> class Tagged(str):
    ...     __slots__ = "tag", "text"
    >>> example = Tagged("a")
    >>> example.tag, example.text = "x", "a"
    >>> made = ObjectTemplate(example)("b")
    >>> made, made.tag, made.text
    ('b', 'x', 'b')
    """
    def __new__(cls, example: Any) -> Self: ...
    def __call__(self, text: str) -> Any: ...

@disjoint_base
class TermAdapter:
    """Makes and recognises the terms of a library, for `Materializer`, `StatementIterator` and `BatchBuilder`.

    ``classes`` are those of IRIs, blank nodes, literals and quoted triples (None: it has none). A term is a str, or has
    a ``value`` that is; a literal has ``language`` and ``datatype``, each a term or None; a quoted triple is iterable.

    ``iri``, ``bnode``, ``plain`` make a term of its text (a class of str is not called but filled with the text), ``lang``
    of a text and a tag, ``directed`` of a text, a tag and ``"ltr"`` or ``"rtl"`` (None: the library has no directions, and
    ``lang`` gets a tag such as ``ar--rtl``), ``typed`` of a text and a datatype (a term that ``iri`` made), ``quoted`` of
    three terms; ``variable`` is the class of variables (None: it has none). ``triple`` and ``quad`` make statements of terms; by
    default they are tuples. The graph of a quad is ``place(term)``, by default the term, or ``default``; with ``quads``
    every statement has one. ``graph_name`` gives for a graph of a statement the term that names it, or None.

    ``memo`` terms are remembered by their text (a power of two, or 0), so that one that comes again is the same object:
    typed literals and their datatypes, or all with ``memo_all``.

    >>> from jelly._core.terms.materialize import StatementIterator
    >>> import jelly
    >>> tagged = TermAdapter("Tags", classes=(str, str, str, None), iri=str, bnode="_:{}".format, plain=repr, lang=None,
    ...                  typed=None)
    >>> list(StatementIterator(jelly.scan(b'<a:s> <a:p> "o" .', format="nt").batches(), tagged))
    [('a:s', 'a:p', "'o'")]
    """
    name: str
    quads: bool
    def __new__(
        cls,
        name: str,
        *,
        classes: tuple[type, type, type, type | None],
        iri: Callable[[str], Any],
        bnode: Callable[[str], Any],
        plain: Callable[[str], Any],
        lang: Callable[[str, str], Any] | None,
        typed: Callable[[str, Any], Any] | None,
        quoted: Callable[[Any, Any, Any], Any] | None = None,
        variable: type | None = None,
        triple: Callable[[Any, Any, Any], Any] | None = None,
        quad: Callable[[Any, Any, Any, Any], Any] | None = None,
        default: Any = None,
        quads: bool = False,
        place: Callable[[Any], Any] | None = None,
        graph_name: Callable[[Any], Any] | None = None,
        directed: Callable[[str, str, str], Any] | None = None,
        memo: int = 0,
        memo_all: bool = False,
    ) -> Self: ...
