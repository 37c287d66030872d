"""The constants of the core as Python enums."""

from enum import IntEnum

class Kind(IntEnum):
    """Kinds of terms, as in `Batch.kind`. ``TEXT`` and later kinds are not RDF terms; the last two are terms of patterns.

    >>> Kind(4).name, Kind.TEXT_RTL - Kind.TEXT
    ('LANG', 2)
    """
    IRI = 1
    BNODE = 2
    LITERAL = 3
    LANG = 4
    TYPED = 5
    TRIPLE = 6
    TEXT = 7
    TEXT_LTR = 8
    TEXT_RTL = 9
    VARIABLE = 10
    ANY = 11

NOUNS: tuple[str, ...]

class Slot(IntEnum):
    """Slots of a statement.

    >>> [slot.name.lower() for slot in Slot]
    ['subject', 'predicate', 'object', 'graph']
    """
    SUBJECT = 0
    PREDICATE = 1
    OBJECT = 2
    GRAPH = 3

class Op(IntEnum):
    """Operations of a patch, as in `Batch.op`: the numbers of the rows of Jelly-Patch.

    >>> Op.ADD, Op(15).name
    (<Op.ADD: 2>, 'PUNCTUATION')
    """
    ADD = 2
    DELETE = 3
    NAMESPACE_ADD = 4
    NAMESPACE_DELETE = 5
    START = 6
    COMMIT = 7
    ABORT = 8
    HEADER = 14
    PUNCTUATION = 15

RDF: str
XSD_STRING_IRI: str
LANG_STRING_IRI: str
DIR_LANG_STRING_IRI: str
