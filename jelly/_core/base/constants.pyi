from enum import IntEnum

class Slot(IntEnum):
    SUBJECT = 0
    PREDICATE = 1
    OBJECT = 2
    GRAPH = 3

class Op(IntEnum):
    ADD = 2
    DELETE = 3
    NAMESPACE_ADD = 4
    NAMESPACE_DELETE = 5
    START = 6
    COMMIT = 7
    ABORT = 8
    HEADER = 14
    PUNCTUATION = 15

MOST_VARIABLES: int
RDF: str
XSD_STRING_IRI: str
LANG_STRING_IRI: str
DIR_LANG_STRING_IRI: str
