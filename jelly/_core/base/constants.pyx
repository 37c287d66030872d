"""The constants of the core as Python enums."""

from enum import IntEnum

_SUBJECT, _PREDICATE, _OBJECT, _GRAPH = SUBJECT, PREDICATE, OBJECT, GRAPH


class Slot(IntEnum):
    """Slots of a statement.

    >>> [slot.name.lower() for slot in Slot]
    ['subject', 'predicate', 'object', 'graph']
    """

    SUBJECT = _SUBJECT
    PREDICATE = _PREDICATE
    OBJECT = _OBJECT
    GRAPH = _GRAPH


class Op(IntEnum):
    """Operations of a patch, as in `Batch.op`: the numbers of the rows of Jelly-Patch.

    >>> Op.ADD, Op(15).name
    (<Op.ADD: 2>, 'PUNCTUATION')
    """

    ADD = OP_ADD
    DELETE = OP_DELETE
    NAMESPACE_ADD = OP_NAMESPACE_ADD
    NAMESPACE_DELETE = OP_NAMESPACE_DELETE
    START = OP_START
    COMMIT = OP_COMMIT
    ABORT = OP_ABORT
    HEADER = OP_HEADER
    PUNCTUATION = OP_PUNCTUATION


MOST_VARIABLES = MAX_VARIABLES
RDF = RDF_NAMESPACE.decode()
XSD_STRING_IRI = XSD_STRING.decode()
LANG_STRING_IRI = RDF_LANG_STRING.decode()
DIR_LANG_STRING_IRI = RDF_DIR_LANG_STRING.decode()
