"""Statements as plain tuples and a small, slow reader of N-Triples and N-Quads: what ours is judged by.

Nothing here uses the code under test. A term is ("iri", text), ("bnode", label), ("literal", lexical form, language,
datatype) or ("triple", s, p, o); the default graph is None; a statement is a tuple of 3 or 4 of them.
"""

import gzip
import re

import jelly

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

TOKEN = re.compile(
    r"""[ \t]*(?:
        (?P<open><<\(?)
      | (?P<close>\)?>>)
      | <(?P<iri>[^>]*)>
      | _:(?P<bnode>(?:\.*[^\s.<>"])+)
      | "(?P<lex>(?:[^"\\]|\\.)*)"(?:@(?P<language>[A-Za-z0-9-]+)|\^\^<(?P<datatype>[^>]*)>)?
      | (?P<dot>\.)
      | (?P<end>\#.*|$)
    )""",
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def unescape(text):
    def one(match):
        return SHORT[match[3]] if match[3] else chr(int(match[1] or match[2], 16))

    return ESCAPE.sub(one, text) if "\\" in text else text


def parse_line(line, arity):
    """The statement of a line, None where it is blank. Any term may be anywhere, quoted triples are both kinds."""
    stack = [[]]
    at, done = 0, False
    while True:
        token = TOKEN.match(line, at)
        assert token, f"no token at {at} of {line!r}"
        at = token.end()
        kind = token.lastgroup
        if kind == "end":
            break
        assert not done, f"text after the dot: {line!r}"
        if kind == "open":
            stack.append([])
        elif kind == "close":
            quoted = stack.pop()
            assert len(quoted) == 3, line
            stack[-1].append(("triple", *quoted))
        elif kind == "dot":
            done = True
        elif kind in ("iri", "bnode"):
            stack[-1].append((kind, unescape(token[kind])))
        else:
            datatype = unescape(token["datatype"]) if token["datatype"] is not None else None
            stack[-1].append(
                ("literal", unescape(token["lex"]), token["language"], None if datatype == XSD_STRING else datatype)
            )
    if not done:
        assert stack == [[]], f"no dot: {line!r}"
        return None
    (terms,) = stack
    assert len(terms) in range(3, arity + 1), line
    return (*terms, None) if len(terms) < arity else tuple(terms)


def parse_text(text, arity):
    lines = (parse_line(line, arity) for line in re.split(r"[\r\n]+", text))
    return [statement for statement in lines if statement is not None]


def read_text(path):
    """The statements of an N-Triples or N-Quads file, gzipped or not."""
    data = path.read_bytes()
    name = path.name.removesuffix(".gz")
    if name != path.name:
        data = gzip.decompress(data)
    return parse_text(data.decode(), 4 if name.endswith(".nq") else 3)


# ---- from and to the terms of the package


def plain(term):
    """A term of ours as a tuple."""
    match term:
        case jelly.IRI():
            return ("iri", term.value)
        case jelly.BlankNode():
            return ("bnode", term.value)
        case jelly.Literal():
            implied = term.language is not None or term.datatype.value == XSD_STRING
            return ("literal", term.value, term.language, None if implied else term.datatype.value)
        case jelly.QuotedTriple():
            return ("triple", plain(term.s), plain(term.p), plain(term.o))
        case jelly.DefaultGraph():
            return None
    raise TypeError(f"not a term: {term!r}")


def plain_all(statements):
    return [tuple(map(plain, statement)) for statement in statements]


def term(x):
    """A tuple as a term of ours."""
    if x is None:
        return jelly.DefaultGraph()
    if x[0] == "iri":
        return jelly.IRI(x[1])
    if x[0] == "bnode":
        return jelly.BlankNode(x[1])
    if x[0] == "literal":
        return jelly.Literal(x[1], language=x[2], datatype=x[3])
    return jelly.QuotedTriple(*map(term, x[1:]))


def statement(x):
    return (jelly.Triple if len(x) == 3 else jelly.Quad)(*map(term, x))


class Bijection:
    """Compares statements up to the names of blank nodes, each name standing for one other in all that it is shown."""

    def __init__(self):
        self.there = {}
        self.back = {}

    def same_term(self, x, y):
        if x is None or y is None:
            return x is y
        if x[0] != y[0]:
            return False
        if x[0] == "bnode":
            return self.there.setdefault(x[1], y[1]) == y[1] and self.back.setdefault(y[1], x[1]) == x[1]
        if x[0] == "triple":
            return all(map(self.same_term, x[1:], y[1:]))
        return x == y

    def compare(self, expected, actual):
        """Same statements, same order, duplicates kept."""
        for i, (x, y) in enumerate(zip(expected, actual, strict=False)):
            assert len(x) == len(y), f"statement {i}: {x} and {y}"
            assert all(map(self.same_term, x, y)), f"statement {i}:\n  expected {x}\n  got      {y}"
        assert len(actual) == len(expected)
