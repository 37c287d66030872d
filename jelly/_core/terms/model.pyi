"""RDF terms and statements as small immutable Python objects."""

from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias, final
from typing import Literal as Literal_

_Term: TypeAlias = IRI | BlankNode | Literal | QuotedTriple | Variable | AnyTerm

def to_term(x: Any, is_graph: bool = False) -> Any:
    """A term of jelly for one of jelly, RDFLib or pyoxigraph; anything else as it is.

    >>> import jelly
    >>> to_term(jelly.IRI("a:b")), to_term("text")
    (IRI('a:b'), 'text')
    """

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
    __match_args__ = ("value",)
    @property
    def value(self) -> str: ...
    def __init__(self, value: str) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
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
    __match_args__ = ("value",)
    @property
    def value(self) -> str: ...
    def __init__(self, value: str) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Literal:
    """A literal (RDF 1.1 Concepts, section 3.3). It is not normalised: ``"01"`` stays ``"01"``.

    A literal typed ``xsd:string`` equals the plain literal.

    Unstable: ``direction`` follows the drafts of RDF 1.2.

    Parameters
    ----------
    value : str, bool, int, float, decimal.Decimal, datetime.datetime, datetime.date, datetime.time or bytes
        Lexical form. Another value than a str gets the canonical lexical form of XSD 1.1, and its datatype: xsd:boolean,
        integer, double, decimal, dateTime, date, time or base64Binary; it goes with none of the other parameters.
    language : str, optional
        Language tag.
    datatype : IRI or str, optional
        Datatype. A literal has a language or a datatype, not both.
    direction : {"ltr", "rtl"}, optional
        Base direction (RDF 1.2 Concepts, section 3.4), only with a language. A language that ends with ``--ltr`` or
        ``--rtl``, as N-Triples writes both, is taken apart.

    Raises
    ------
    JellyArgumentError
        If there are both a language and a datatype, or the language tag is empty, or the direction is another one or
        comes without a language.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.Literal("chat", language="fr")), jelly.Literal("a").datatype.value.rpartition("#")[2]
    ('"chat"@fr', 'string')
    >>> str(jelly.Literal("x", language="ar", direction="rtl")), jelly.Literal("x", language="ar--rtl").direction
    ('"x"@ar--rtl', 'rtl')
    >>> str(jelly.Literal(5)), jelly.Literal(5).to_python()
    ('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', 5)
    """
    __match_args__ = ("value", "language", "datatype")
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
        value: str | bool | int | float | Decimal | datetime | date | time | bytes,
        *,
        language: str | None = None,
        datatype: IRI | str | None = None,
        direction: str | None = None,
    ) -> None: ...
    def to_python(self) -> str | bool | int | float | Decimal | datetime | date | time | bytes | Literal:
        """The value as an object of Python.

        Integers and the types derived of them are int, xsd:decimal is Decimal, xsd:double and xsd:float are float,
        xsd:boolean is bool, xsd:dateTime (dateTimeStamp), date and time are those of `datetime`, xsd:hexBinary and
        base64Binary are bytes; a plain literal, and one with a language, is its text.

        Returns
        -------
        str, bool, int, float, Decimal, datetime, date, time, bytes or Literal
            The value. This literal itself where the datatype is unknown, the lexical form is wrong, or Python has no such
            value: years before 1 and after 9999, parts of a second below a millionth, dates with a time zone.

        Examples
        --------
        >>> import jelly
        >>> jelly.Literal("2026-02-28", datatype="http://www.w3.org/2001/XMLSchema#date").to_python()
        datetime.date(2026, 2, 28)
        >>> jelly.Literal("2026-02-30", datatype="http://www.w3.org/2001/XMLSchema#date").to_python().value
        '2026-02-30'
        """
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
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
    __match_args__ = ("value",)
    @property
    def value(self) -> str: ...
    def __init__(self, value: str) -> None: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
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
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
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
    JellyArgumentError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> str(jelly.QuotedTriple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
    '<<( <a:s> <a:p> "o" )>>'
    """
    __match_args__ = ("s", "p", "o")
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
    def __iter__(self) -> Iterator[_Term]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: Any, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
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
    def __lt__(self, other: object, /) -> bool: ...
    def __le__(self, other: object, /) -> bool: ...
    def __gt__(self, other: object, /) -> bool: ...
    def __ge__(self, other: object, /) -> bool: ...
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
    JellyArgumentError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> s, p, o = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))
    >>> str(o)
    '"o"'
    """
    __match_args__ = ("s", "p", "o")
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
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> _Term: ...
    def __iter__(self) -> Iterator[_Term]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: Any, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
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
    JellyArgumentError
        If one of them is not a term.

    Examples
    --------
    >>> import jelly
    >>> quad = jelly.Quad(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"), jelly.IRI("a:g"))
    >>> str(quad)
    '<a:s> <a:p> "o" <a:g> .'
    """
    __match_args__ = ("s", "p", "o", "g")
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
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: Any, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...
    def __reduce__(self) -> Any: ...
