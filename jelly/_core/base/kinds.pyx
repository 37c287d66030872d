"""The kinds of terms as Python numbers, sets and nouns."""

from enum import IntEnum


class Kind(IntEnum):
    """Kinds of terms, as in `Batch.kind`. ``TEXT`` and later kinds are not RDF terms; the last two are terms of patterns.

    >>> Kind(4).name, Kind.TEXT_RTL - Kind.TEXT
    ('LANG', 2)
    """

    IRI = KIND_IRI
    BNODE = KIND_BNODE
    LITERAL = KIND_LITERAL
    LANG = KIND_LANG
    TYPED = KIND_TYPED
    TRIPLE = KIND_TRIPLE
    TEXT = KIND_TEXT
    TEXT_LTR = KIND_TEXT_LTR
    TEXT_RTL = KIND_TEXT_RTL
    VARIABLE = KIND_VARIABLE
    ANY = KIND_ANY


# What a term of each kind is called, by the number of the kind.
NOUNS = tuple(row_of_kind(kind).noun.decode() for kind in range(N_KINDS))

_SETS = {
    "node": NODES, "literal": LITERALS, "triple": TRIPLES, "text": TEXTS, "pattern": PATTERNS, "spare": SPARES,
    "term": TERMS, "compound": COMPOUND,
}


def kinds_of(name: str) -> tuple:
    """The numbers of the kinds in a set.

    >>> kinds_of("node"), kinds_of("literal")
    ((1, 2), (3, 4, 5))
    """
    return tuple(kind for kind in range(N_KINDS) if _SETS[name] >> kind & 1)


def with_article(int kind) -> str:
    """The noun of a kind of term, with its article.

    >>> with_article(1), with_article(2)
    ('an IRI', 'a blank node')
    """
    return f"{'an' if NOUNS[kind] == 'IRI' else 'a'} {NOUNS[kind]}"
