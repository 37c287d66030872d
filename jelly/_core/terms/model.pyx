"""RDF terms as small immutable Python objects."""

cimport cython
from cpython.object cimport Py_EQ, Py_NE, PyObject_RichCompare

from jelly._core.base.batch cimport N_DIRECTION
from jelly._core.base.constants cimport MAX_DEPTH, MAX_QUOTED, NO_LIMIT, RDF_DIR_LANG_STRING, RDF_LANG_STRING, XSD_STRING

from functools import cache
from importlib import import_module

from jelly._core.base.objects import show_fields
from jelly.errors import JellyArgumentError, JellyLimitError

cdef enum:
    SHALLOW = 4  # levels of quoted triples that are compared term by term

# Characters that N-Triples escapes in literals and in IRIs.
_LITERAL_ESCAPES = {i: f"\\u{i:04X}" for i in [*range(0x20), 0x7F]} | {
    ord(char): "\\" + name for char, name in zip("\t\b\n\r\f\"\\", "tbnrf\"\\")
}
_IRI_ESCAPES = {i: f"\\u{i:04X}" for i in [*range(0x21), *b'<>"{}|^`\\']}

_XSD_STRING = XSD_STRING.decode()
# The datatype of literals with a language, by `Literal.base`.
_TAGGED = (RDF_LANG_STRING.decode(), RDF_DIR_LANG_STRING.decode(), RDF_DIR_LANG_STRING.decode())
_DIRECTIONS = (None, "ltr", "rtl")


cdef inline bint is_term(object x):
    cdef type kind = type(x)
    return (
        kind is IRI or kind is Literal or kind is BlankNode or kind is QuotedTriple or kind is Variable or kind is AnyTerm
    )


cdef object unchangeable(object x):
    return TypeError(f"{type(x).__name__} objects cannot be changed")


cdef object of_library(object x, bint is_graph):
    """The term for one of RDFLib or pyoxigraph; None if it is no such term."""
    from jelly._options.foreign_terms import parts_of

    parts = parts_of(x, is_graph)
    if parts is None:
        return None
    kind = parts[0]
    if kind == "literal":
        return Literal(parts[1], language=parts[2], datatype=parts[3], direction=parts[4])
    made = {"iri": IRI, "bnode": BlankNode, "triple": QuotedTriple, "variable": Variable, "default": DefaultGraph}[kind]
    return made(*parts[1:])


def to_term(x, bint is_graph=False):
    """A term of jelly for one of jelly, RDFLib or pyoxigraph; anything else as it is.

    >>> import jelly
    >>> to_term(jelly.IRI("a:b")), to_term("text")
    (IRI('a:b'), 'text')
    """
    return x if is_term(x) else of_library(x, is_graph) or x


cdef object as_term(object x, str what):
    if is_term(x):
        return x
    made = of_library(x, False)
    if made is None:
        raise JellyArgumentError(f"{what} must be an RDF term (IRI, BlankNode, Literal, QuotedTriple), not {type(x).__name__}")
    return made


cdef object as_graph(object x):
    if x is None:
        return DefaultGraph()
    if is_term(x) or type(x) is DefaultGraph:
        return x
    return of_library(x, True) or as_term(x, "the graph")


cdef tuple split_language(object language, object direction):
    """A language tag and `Literal.base`. The direction is given separately, or at the end of the tag as in N-Triples."""
    if direction is None and len(language) > N_DIRECTION and language.endswith(("--ltr", "--rtl")):
        language, direction = language[:-N_DIRECTION], language[-3:]
    if direction not in _DIRECTIONS:
        raise JellyArgumentError(f'a direction is "ltr", "rtl" or None, not {direction!r:.80}')
    return language, _DIRECTIONS.index(direction)


cdef str as_text(object x, str what):
    if type(x) is not str:
        if not isinstance(x, str):
            raise JellyArgumentError(f"{what} must be a str, not {type(x).__name__}")
        x = str.__str__(x)
    return x


cdef inline int depth_of(object x):
    return (<QuotedTriple>x).depth if type(x) is QuotedTriple else 0


cdef int64_t size_of(object x):
    """Characters of the text of a term, and of its datatype or language tag."""
    if type(x) is QuotedTriple:
        return (<QuotedTriple>x).size
    if type(x) is Literal and (<Literal>x).typed is not None:
        return len((<Literal>x).value) + len((<Literal>x).typed.value)
    return len(x.value) + len((<Literal>x).language or "") if type(x) is Literal else len(getattr(x, "value", ""))


# Quoted triples may share their parts, and one of 64 levels may then have 3^64 places.
@cache
def _order():
    """The module that compares them, which needs the classes of this one."""
    return import_module("jelly._core.terms.order")


cdef bint same_triples(QuotedTriple x, QuotedTriple y):
    if x is y or x.depth != y.depth or x.size != y.size:
        return x is y
    if x.depth > SHALLOW:
        return hash(x) == hash(y) and _order().same_triples(x, y)
    return x.s == y.s and x.p == y.p and x.o == y.o


cdef inline bint comparable(object x, object y, int op):
    """Whether two terms of one class are asked whether they are equal."""
    return type(x) is type(y) and (op == Py_EQ or op == Py_NE)


cdef object ordered(object x, object y, int op):
    if op == Py_EQ or op == Py_NE:
        return NotImplemented
    if type(x) is IRI and type(y) is IRI:
        return PyObject_RichCompare((<IRI>x).value, (<IRI>y).value, op)
    return _order().ordered(x, y, op)


# Terms only hold strings and other terms, so they cannot be part of a cycle: the garbage collector need not see them.
# The free lists are long because the terms of a Batch all come and go together.

@cython.final
@cython.no_gc
@cython.freelist(4096)
cdef class IRI:
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

    def __init__(self, value):
        if self.value is not None:
            raise unchangeable(self)
        self.value = as_text(value, "an IRI")

    def __hash__(self):
        return hash(self.value)

    def __richcmp__(self, other, int op):
        if not comparable(self, other, op):
            return ordered(self, other, op)
        return (self.value == (<IRI>other).value) == (op == Py_EQ)

    def __str__(self):
        return f"<{self.value.translate(_IRI_ESCAPES)}>"

    def __repr__(self):
        return f"IRI({self.value!r})"

    def __reduce__(self):
        return IRI, (self.value,)


@cython.final
@cython.no_gc
@cython.freelist(4096)
cdef class BlankNode:
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

    def __init__(self, value):
        if self.value is not None:
            raise unchangeable(self)
        self.value = as_text(value, "a blank node label")

    def __hash__(self):
        return hash(self.value) ^ 0x5BD1E995

    def __richcmp__(self, other, int op):
        if not comparable(self, other, op):
            return ordered(self, other, op)
        return (self.value == (<BlankNode>other).value) == (op == Py_EQ)

    def __str__(self):
        return f"_:{self.value}"

    def __repr__(self):
        return f"BlankNode({self.value!r})"

    def __reduce__(self):
        return BlankNode, (self.value,)


@cython.final
@cython.no_gc
@cython.freelist(4096)
cdef class Literal:
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

    def __init__(self, value, *, language=None, datatype=None, direction=None):
        cdef int base = 0
        if self.value is not None:
            raise unchangeable(self)
        if type(value) is not str:
            if not isinstance(value, str) and language is None and datatype is None and direction is None:
                from jelly._options.literals import to_lexical  # decimal takes long to import
                found = to_lexical(value)
                if found is not None:
                    value, datatype = found
            value = as_text(value, "a lexical form")
        if language is not None:
            language = as_text(language, "a language tag")
            if not language:
                raise JellyArgumentError("a language tag must not be empty")
            language, base = split_language(language, direction)
        elif direction is not None:
            raise JellyArgumentError("a literal with a direction needs a language")
        if datatype is not None:
            if type(datatype) is not IRI:
                datatype = IRI(datatype)
            if language is not None:
                if (<IRI>datatype).value != _TAGGED[base]:
                    raise JellyArgumentError("a literal has a language or a datatype, not both")
            elif (<IRI>datatype).value != _XSD_STRING:
                self.typed = datatype
        self.language = language
        self.base = base
        self.value = value

    @property
    def direction(self) -> str | None:
        """The base direction: ``"ltr"``, ``"rtl"`` or None."""
        return _DIRECTIONS[self.base]

    @property
    def lex(self) -> str:
        """The lexical form, the same as ``value``."""
        return self.value

    @property
    def datatype(self) -> IRI:
        """The datatype: xsd:string for plain literals, rdf:langString for those with a language, rdf:dirLangString for
        those with a direction too."""
        if self.typed is not None:
            return self.typed
        return IRI(_XSD_STRING if self.language is None else _TAGGED[self.base])

    def to_python(self):
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
        if self.typed is None:
            return self.value
        from jelly._options.literals import of_lexical
        found = of_lexical(self.value, self.typed.value)
        return self if found is None else found

    def __hash__(self):
        return hash(self.value) ^ 0x27D4EB2F

    def __richcmp__(self, other, int op):
        cdef Literal x
        if not comparable(self, other, op):
            return ordered(self, other, op)
        x = other
        same = self.value == x.value and self.base == x.base and self.language == x.language and self.typed == x.typed
        return same == (op == Py_EQ)

    def __str__(self):
        text = f'"{self.value.translate(_LITERAL_ESCAPES)}"'
        if self.language is not None:
            return f"{text}@{self.language}" if self.base == 0 else f"{text}@{self.language}--{self.direction}"
        return text if self.typed is None else f"{text}^^{self.typed}"

    def __repr__(self):
        if self.language is not None:
            more = "" if self.base == 0 else f", direction={self.direction!r}"
            return f"Literal({self.value!r}, language={self.language!r}{more})"
        return f"Literal({self.value!r})" if self.typed is None else f"Literal({self.value!r}, datatype={self.typed!r})"

    def __reduce__(self):
        # Three values if there is no direction, which earlier versions can read too.
        parts = (self.value, self.language, self.typed)
        return _literal, parts if self.base == 0 else (*parts, self.direction)


def _literal(value, language, datatype, direction=None):
    return Literal(value, language=language, datatype=datatype, direction=direction)


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class Variable:
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

    def __init__(self, value):
        if self.value is not None:
            raise unchangeable(self)
        self.value = as_text(value, "the name of a variable")

    def __hash__(self):
        return hash(self.value) ^ 0x1B873593

    def __richcmp__(self, other, int op):
        if not comparable(self, other, op):
            return ordered(self, other, op)
        return (self.value == (<Variable>other).value) == (op == Py_EQ)

    def __str__(self):
        return f"?{self.value}"

    def __repr__(self):
        return f"Variable({self.value!r})"

    def __reduce__(self):
        return Variable, (self.value,)


@cython.final
@cython.no_gc
cdef class AnyTerm:
    """The class of `ANY`, which stands for any term in a pattern. All instances are equal.

    It is no RDF term: of all formats, RDF Thrift and RDF Protobuf can hold it.

    Examples
    --------
    >>> import jelly
    >>> jelly.ANY, jelly.AnyTerm() == jelly.ANY
    (ANY, True)
    """

    def __hash__(self):
        return 0x38495AB5

    def __richcmp__(self, other, int op):
        if op != Py_EQ and op != Py_NE:
            return ordered(self, other, op)
        return (type(other) is AnyTerm) == (op == Py_EQ)

    def __str__(self):
        return "ANY"

    def __repr__(self):
        return "ANY"

    def __reduce__(self):
        return AnyTerm, ()


ANY = AnyTerm()


cdef object in_place(term):
    """A term as text in a position other than the object, with quoted triples as in RDF-star (RDF 1.2 has none there)."""
    cdef QuotedTriple triple = term if type(term) is QuotedTriple else None
    if triple is None:
        return str(term)
    if triple.size > MAX_QUOTED:
        _order().need_writable(triple)
    return f"<< {in_place(triple.s)} {in_place(triple.p)} {triple.o} >>"


@cython.final
@cython.no_gc
@cython.freelist(64)
cdef class QuotedTriple:
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
    def value(self):
        return str(self)

    def __init__(self, s, p, o):
        if self.s is not None:
            raise unchangeable(self)
        self.hold(as_term(s, "the subject"), as_term(p, "the predicate"), as_term(o, "the object"))

    cdef int hold(self, object s, object p, object o) except -1:
        """Take the three terms. The depth has a limit: hashing, comparing and freeing recurse. The size stops growing where it
        is more than any memory holds."""
        cdef int depth = max(depth_of(s), depth_of(p), depth_of(o)) + 1
        if depth > MAX_DEPTH:
            raise JellyLimitError(f"quoted triples are nested deeper than {MAX_DEPTH}")
        self.depth = depth
        self.size = min(size_of(s) + size_of(p) + size_of(o), NO_LIMIT)
        self.s = s
        self.p = p
        self.o = o
        return 0

    def __iter__(self):
        return iter((self.s, self.p, self.o))

    def __hash__(self):
        cdef Py_hash_t found = self.hashed
        if found == 0:
            found = self.hashed = hash((self.s, self.p, self.o)) ^ 0x165667B1
        return found

    def __richcmp__(self, other, int op):
        if not comparable(self, other, op):
            return ordered(self, other, op)
        return same_triples(self, other) == (op == Py_EQ)

    def __str__(self):
        if self.size > MAX_QUOTED:
            _order().need_writable(self)
        return f"<<( {in_place(self.s)} {in_place(self.p)} {self.o} )>>"

    def __repr__(self):
        if self.size > MAX_QUOTED:
            _order().need_writable(self)
        return f"QuotedTriple({self.s!r}, {self.p!r}, {self.o!r})"

    def __reduce__(self):
        return QuotedTriple, (self.s, self.p, self.o)


@cython.final
@cython.no_gc
cdef class DefaultGraph:
    """The graph of quads that are in no named graph. All instances are equal.

    Examples
    --------
    >>> import jelly
    >>> jelly.DefaultGraph() == jelly.DefaultGraph()
    True
    """

    value = ""

    def __hash__(self):
        return 0x2545F491

    def __richcmp__(self, other, int op):
        if op != Py_EQ and op != Py_NE:
            return ordered(self, other, op)
        return (type(other) is DefaultGraph) == (op == Py_EQ)

    def __str__(self):
        return ""

    def __repr__(self):
        return "DefaultGraph()"

    def __reduce__(self):
        return DefaultGraph, ()


for _term in (IRI("a"), BlankNode("a"), Variable("a")):
    show_fields(_term, {"value": "value"})
show_fields(Literal("a", language="b"), {"value": "value", "language": "language"})
show_fields(QuotedTriple(IRI("a"), IRI("b"), IRI("c")), {
    "s": "s", "p": "p", "o": "o", "subject": "s", "predicate": "p", "object": "o",
})
