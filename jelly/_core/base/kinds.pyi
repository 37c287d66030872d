from enum import IntEnum

class Kind(IntEnum):
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

def kinds_of(name: str) -> tuple[int, ...]: ...
def with_article(kind: int) -> str: ...
