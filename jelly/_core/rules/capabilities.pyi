"""What a format can hold: which terms, in which positions. One check of a Batch for all writers.

Each term is checked once. Rows are checked if some kind of term is not allowed everywhere, or if a term of
the Batch is not allowed: a Batch may have terms that no row uses.
"""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from jelly._core.base.batch import Batch

REPLACED_LABEL: str
CAPABILITIES: dict[str, Capabilities]

def element_name(iri: str) -> str:
    """The name of the element that RDF/XML has for a predicate: the longest NCName that its IRI ends with, or "".

    >>> element_name("http://example.org/v1#a-1"), element_name("http://example.org/1")
    ('a-1', '')
    """
def capabilities_of(name: str, keep_labels: bool = False) -> Capabilities:
    """The capabilities of the format with this name."""

@disjoint_base
class Capabilities:
    """What a format can hold. A writer calls `fit` for each Batch before it writes any of it.

    Parameters
    ----------
    title : str
        The name of the format, for errors.
    named_graphs : bool, default True
        Whether a statement may be in a named graph.
    generalized : bool, default False
        Whether any kind of term may stand in any position.
    literal_subjects : bool, default True
        With `generalized`: whether literals may stand elsewhere than as object.
    quoted : {"none", "object", "any"}, default "any"
        Where quoted triples may stand. "object" is RDF 1.2: as object, and in them nothing that is generalized.
    directions : bool, default True
        Whether a literal may have a base direction.
    labels : {"any", "ntriples", "turtle", "xml"}, default "any"
        The labels of blank nodes. "xml": those of Turtle that do not begin with a digit.
    tags : {"any", "plain", "bcp47"}, default "any"
        Language tags: any but the empty one; of letters, digits and hyphens; well-formed by RFC 5646.
    iris : {"any", "not-bnode", "bare", "plain", "absolute"}, default "any"
        IRIs: none that begins with ``_:``; nor with ``<<``; with a scheme and without what N-Triples escapes; by RFC 3987.
    texts : {"any", "xml"}, default "any"
        Characters of IRIs and literals; "xml" is XML 1.0.
    names : bool, default False
        Whether a predicate must end with a name that an element of RDF/XML can have.
    tagged : bool, default False
        Whether literals typed rdf:langString or rdf:dirLangString without a language tag are refused.
    patterns : bool, default False
        With `generalized`: whether variables and ANY may stand anywhere.
    keep_labels : bool, default False
        Whether a label that cannot be held is an error. Else the blank node gets another label: ``esc_`` and the
        label, of which all but letters and digits is written as ``_`` and two hexadecimal digits a byte. The same
        label gives the same, always; labels that look like that are written so too, so no two become one.
    instead : str, default ""
        What holds terms in other places, and named graphs: for errors.
    inner_labels : bool, default False
        Whether in quoted triples only labels of N-Triples are held. Others are an error: if one was replaced there, it
        would have to be replaced in all other Batches too.
    quoted_graphs : bool, default True
        With `generalized`: whether a quoted triple may be a graph.
    results : bool, default False
        Whether it holds query results and no statements. Any kind of term may be the value of a variable.

    Examples
    --------
    >>> import jelly
    >>> turtle = Capabilities("Turtle", named_graphs=False, iris="absolute", labels="turtle")
    >>> batch = next(jelly.scan(jelly.dumps([(jelly.BlankNode("a b"), jelly.IRI("a:p"), jelly.IRI("a:o"))])).batches())
    >>> turtle.fit(batch).term(0)
    '_:esc_a_20b'
    >>> turtle.fit(next(jelly.scan(b"<a:s> <p> <a:o> .", format="nt").batches()))
    Traceback (most recent call last):
    jelly.JellyUnsupportedError: Turtle cannot hold the IRI <p>, here as predicate: it is relative (row 0)
    """
    title: str
    keep_labels: bool
    settings: dict[str, Any]
    results: bool
    def __init__(
        self,
        title: str,
        *,
        named_graphs: bool = True,
        generalized: bool = False,
        literal_subjects: bool = True,
        quoted: Literal["none", "object", "any"] = "any",
        directions: bool = True,
        labels: Literal["any", "ntriples", "turtle", "xml"] = "any",
        tags: Literal["any", "plain", "bcp47"] = "any",
        iris: Literal["any", "not-bnode", "bare", "plain", "absolute"] = "any",
        texts: Literal["any", "xml"] = "any",
        names: bool = False,
        tagged: bool = False,
        patterns: bool = False,
        keep_labels: bool = False,
        instead: str = "",
        results: bool = False,
        inner_labels: bool = False,
        quoted_graphs: bool = True,
    ) -> None: ...
    def replace(self, **settings: Any) -> Capabilities:
        """The same with other settings."""
    def fit(self, batch: Batch, rows: npt.NDArray[np.int64] | None = None, slots: int = 15) -> Batch:
        """The Batch, or a copy in which blank nodes have other labels. No other change is ever made.

        ``rows`` is an int64 array of the rows that are meant (None: all), ``slots`` has a bit for each column that is
        (1 subject, 2 predicate, 4 object, 8 graph). Raises JellyUnsupportedError, which names the term and the row, and
        JellyOptionsError where statements are given for query results, or the other way round.
        """
    def __reduce__(self) -> Any: ...
