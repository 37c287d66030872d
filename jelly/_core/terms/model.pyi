"""RDF terms and statements as small immutable Python objects."""

from collections.abc import Iterator
from typing import Any, TypeAlias, final
from typing import Literal as Literal_

_Term: TypeAlias = IRI | BlankNode | Literal | QuotedTriple | Variable | AnyTerm

@final
class IRI:
    """An IRI (RDF 1.1 Concepts, section 3.2). It is neither validated nor normalised.

    Parameters
    ----------
    value : str
        The text of the IRI, without angle brackets.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.IRI("http://example.org/a"))
    '<http://example.org/a>'
    """
    @property
    def value(self) -> str: ...
    def __init__(self, value: str) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class BlankNode:
    """A blank node. Its label is valid in its stream or, in grouped streams, in its frame.

    Parameters
    ----------
    value : str
        The label, without ``_:``.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.BlankNode("b0"))
    '_:b0'
    """
    @property
    def value(self) -> str: ...
    def __init__(self, value: str) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Literal:
    """A literal (RDF 1.1 Concepts, section 3.3). It is not normalised: ``"01"`` stays ``"01"``.

    A literal typed ``xsd:string`` equals the plain literal.

    Unstable: ``direction`` follows the drafts of RDF 1.2.

    Parameters
    ----------
    value : str
        Lexical form.
    language : str, optional
        Language tag.
    datatype : IRI or str, optional
        Datatype. A literal has a language or a datatype, not both.
    direction : {"ltr", "rtl"}, optional
        Base direction (RDF 1.2 Concepts, section 3.4), only with a language. A language that ends with ``--ltr`` or
        ``--rtl``, as N-Triples writes both, is taken apart.

    Raises
    ------
    ValueError
        If there are both a language and a datatype, or the language tag is empty, or the direction is another one or
        comes without a language.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.Literal("chat", language="fr")), jelly.Literal("a").datatype.value.rpartition("#")[2]
    ('"chat"@fr', 'string')
    >>> str(jelly.Literal("x", language="ar", direction="rtl")), jelly.Literal("x", language="ar--rtl").direction
    ('"x"@ar--rtl', 'rtl')
    """
    @property
    def value(self) -> str: ...
    @property
    def lex(self) -> str:
        """The lexical form, the same as ``value``."""
    @property
    def language(self) -> str | None: ...
    @property
    def direction(self) -> Literal_["ltr", "rtl"] | None:
        """The base direction: ``"ltr"``, ``"rtl"`` or None."""
    @property
    def datatype(self) -> IRI:
        """The datatype: xsd:string for plain literals, rdf:langString for those with a language, rdf:dirLangString for
        those with a direction too.
        """
    def __init__(
        self,
        value: str,
        *,
        language: str | None = None,
        datatype: IRI | str | None = None,
        direction: str | None = None,
    ) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Variable:
    """A variable of a pattern. It is no RDF term: of all formats, RDF Thrift and RDF Protobuf can hold it.

    Parameters
    ----------
    value : str
        The name, without ``?``.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.Variable("x")), jelly.Variable("x") == jelly.Variable("y")
    ('?x', False)
    """
    @property
    def value(self) -> str: ...
    def __init__(self, value: str) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class AnyTerm:
    """The class of `ANY`, which stands for any term in a pattern. All instances are equal.

    It is no RDF term: of all formats, RDF Thrift and RDF Protobuf can hold it.

    Examples
    --------
    >>> import jelly
    >>> jelly.ANY, jelly.AnyTerm() == jelly.ANY
    (ANY, True)
    """
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

ANY: AnyTerm

def _literal(value: str, language: str | None, datatype: IRI | None, direction: str | None = None) -> Literal: ...
@final
class QuotedTriple:
    """A quoted triple of RDF-star, a term made of three terms. It unpacks as ``s, p, o``.

    Unstable: text formats hold it as the triple term of RDF 1.2, and follow the drafts of W3C.

    Parameters
    ----------
    s, p, o : IRI, BlankNode, Literal or QuotedTriple
        Subject, predicate and object.

    Raises
    ------
    JellyLimitError
        If quoted triples are nested more than 64 deep.
    TypeError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.QuotedTriple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
    '<<( <a:s> <a:p> "o" )>>'
    """
    @property
    def s(self) -> _Term: ...
    @property
    def p(self) -> _Term: ...
    @property
    def o(self) -> _Term: ...
    def __init__(self, s: _Term, p: _Term, o: _Term) -> None: ...
    def __iter__(self) -> Iterator[_Term]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class DefaultGraph:
    """The graph of quads that are in no named graph. All instances are equal.

    Examples
    --------
    >>> import jelly
    >>> jelly.DefaultGraph() == jelly.DefaultGraph()
    True
    """
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Triple:
    """A statement of three terms. It unpacks as ``s, p, o`` and equals a tuple of the same terms.

    Parameters
    ----------
    s, p, o : IRI, BlankNode, Literal or QuotedTriple
        Subject, predicate and object.

    Raises
    ------
    TypeError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> s, p, o = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))
    >>> str(o)
    '"o"'
    """
    @property
    def s(self) -> _Term: ...
    @property
    def p(self) -> _Term: ...
    @property
    def o(self) -> _Term: ...
    @property
    def subject(self) -> _Term: ...
    @property
    def predicate(self) -> _Term: ...
    @property
    def object(self) -> _Term: ...
    def __init__(self, s: _Term, p: _Term, o: _Term) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> _Term: ...
    def __iter__(self) -> Iterator[_Term]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: Any, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Quad:
    """A statement of three terms and a graph. It unpacks as ``s, p, o, g`` and equals a tuple of the same terms.

    Parameters
    ----------
    s, p, o : IRI, BlankNode, Literal or QuotedTriple
        Subject, predicate and object.
    g : IRI, BlankNode, Literal, QuotedTriple, DefaultGraph or None, optional
        The graph; None is the default graph.

    Raises
    ------
    TypeError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> quad = jelly.Quad(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"), jelly.IRI("a:g"))
    >>> str(quad)
    '<a:s> <a:p> "o" <a:g> .'
    """
    @property
    def s(self) -> _Term: ...
    @property
    def p(self) -> _Term: ...
    @property
    def o(self) -> _Term: ...
    @property
    def g(self) -> _Term | DefaultGraph: ...
    @property
    def subject(self) -> _Term: ...
    @property
    def predicate(self) -> _Term: ...
    @property
    def object(self) -> _Term: ...
    @property
    def graph(self) -> _Term | DefaultGraph: ...
    def __init__(self, s: _Term, p: _Term, o: _Term, g: _Term | DefaultGraph | None = None) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: Any, /) -> bool: ...
    def __reduce__(self) -> Any: ...
