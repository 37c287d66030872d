"""Values of Python as lexical forms of XSD, and back."""

from typing import Any

def to_lexical(value: object) -> tuple[str, str] | None:
    """The canonical lexical form of XSD 1.1 for a value, and the IRI of its datatype; None for other classes.

    >>> to_lexical(1.5)[0], to_lexical(True)[0]
    ('1.5E0', 'true')
    """
def of_lexical(text: str, datatype: str) -> Any:
    """The value of a lexical form and the IRI of a datatype; None if the form is wrong, the datatype is unknown, or Python
    has no such value.

    >>> of_lexical("07", "http://www.w3.org/2001/XMLSchema#byte"), of_lexical("x", "a:b")
    (7, None)
    """
