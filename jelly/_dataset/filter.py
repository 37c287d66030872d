"""The statements that match a pattern and conditions, or those that do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from jelly._bytes.source import Progress
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.base.constants import RDF, Kind
from jelly._dataset.output import Input, Mode, Options, write_batches
from jelly._dataset.pattern import LanguageRange, Pattern, Wanted
from jelly._dataset.terms import Ids, Terms
from jelly._formats.registry import READING, VERSIONS
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError

__all__ = ["Condition", "filter"]

_KINDS: dict[str, tuple[int, ...]] = {
    "iri": (Kind.IRI,),
    "blank": (Kind.BNODE,),
    "literal": (Kind.LITERAL, Kind.LANG, Kind.TYPED),
    "quoted": (Kind.TRIPLE,),
    "default": (),  # the default graph has no term
}
_PROPERTIES = ("kind", "language", "datatype", "prefix")
_SHORT = {"xsd:": "http://www.w3.org/2001/XMLSchema#", "rdf:": RDF}


class Condition:
    """A condition on one place of a statement: ``o.kind=iri|blank``, ``o.language!=en``.

    >>> import jelly
    >>> [batch] = jelly.read_batches(b'<a:s> <a:p> "x" .\\n<a:s> <a:p> <a:o> .', format="nt")
    >>> Condition("o.kind = literal").mask(batch).tolist(), Condition("o.kind != literal").mask(batch).tolist()
    ([True, False], [False, True])
    """

    def __init__(self, text: str) -> None:
        place, equals, values = text.partition("=")
        self.negated: bool = place.endswith("!")
        self.slot, _, self.property = place.removesuffix("!").strip().partition(".")
        self.values: list[str] = [value.strip() for value in values.split("|")]
        if not equals or self.slot not in tuple("spog") or self.property not in _PROPERTIES or not all(self.values):
            raise JellyArgumentError(
                f"{text!r} is not a condition: expected one of s, p, o and g, a dot, one of {', '.join(_PROPERTIES)}, "
                "= or !=, and values with | between them, such as o.kind=iri|blank or o.language!=en"
            )
        for value in self.values:
            if self.property == "kind" and value not in _KINDS:
                raise JellyArgumentError(f"{value!r} is not a kind of term: expected one of {', '.join(_KINDS)}")
            if self.property == "language":
                LanguageRange(value)  # refuses what is none
        if self.property == "datatype":
            self.values = [_datatype(value) for value in self.values]

    def mask(self, batch: Batch) -> Ids:
        """Of each row whether it meets the condition."""
        ids = getattr(batch, self.slot)
        terms = Terms(batch)
        # The default graph has id -1, the last index here. All triples are in it.
        there = np.zeros(batch.n_terms + 1, bool)
        there[-1] = self.property == "kind" and "default" in self.values
        for value in self.values:
            there[self._ids(batch, terms, value)] = True
        found = np.full(len(batch), there[-1]) if ids is None else there[ids]
        return ~found if self.negated else found

    def _ids(self, batch: Batch, terms: Terms, value: str) -> Ids:
        if self.property == "kind":
            return np.flatnonzero(np.isin(batch.kind, _KINDS[value]))
        if self.property == "language":
            return terms.with_language(value)
        if self.property == "datatype":
            return terms.with_datatype(value)
        return terms.with_prefix((Kind.IRI,), value.encode())


def _datatype(value: str) -> str:
    """The IRI of a datatype, written as such, in angle brackets, or with the prefix xsd: or rdf:."""
    if value.startswith("<") and value.endswith(">"):
        return value[1:-1]
    base = _SHORT.get(value[:4])
    return value if base is None else base + value[4:]


def _matching(batches: Iterable[Batch], pattern: Pattern, conditions: list[Condition], invert: bool) -> Iterator[Batch]:
    for batch in batches:
        mask = np.zeros(len(batch), bool)
        mask[pattern.rows(batch)] = True
        for condition in conditions:
            mask &= condition.mask(batch)
        if invert:
            mask = ~mask
        if mask.any():
            yield select(batch, mask)
        del batch


@checked(READING, VERSIONS)
def filter(
    sources: Any,
    out: Any,
    s: Wanted = None,
    p: Wanted = None,
    o: Wanted = None,
    g: Wanted = None,
    *,
    where: str | Iterable[str] = (),
    invert: bool = False,
    blank_nodes: Mode | None = None,
    skolem_base: str | None = None,
    to_format: str | None = None,
    options: Options = None,
    seekable: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> int:
    r"""Write the statements that match a pattern and conditions. They stay in their order.

    Parameters
    ----------
    sources : Any
        One source or several, as for `find`.
    out : str, os.PathLike or binary file object
        The output, as for `Writer`; also a table.
    s, p, o, g : term, str, IRIPrefix, Datatype, LanguageRange, or an iterable of these, optional
        What the subject, predicate, object and graph must be, see `Pattern`.
    where : str or iterable of str, optional
        Conditions that must all hold: a place (``s``, ``p``, ``o``, ``g``), a dot, a property, ``=`` or ``!=``, and one
        value or several with ``|`` between them. Properties are ``kind`` (``iri``, ``blank``, ``literal``, ``quoted``,
        and ``default`` for the default graph), ``language`` (a language range: ``en`` is also ``en-GB``, ``*`` any
        language), ``datatype`` (an IRI, also with ``xsd:`` or ``rdf:``) and ``prefix`` (what the IRI begins with). With
        ``!=`` it holds for all others, also those that have no such property.
    invert : bool, default False
        Write the statements that do not match.
    blank_nodes, skolem_base : optional
        Labels of blank nodes, see `find`.
    to_format : str, optional
        Format of the output. By default the suffix decides.
    options : StreamOptions or mapping, optional
        Options of a Jelly stream, see `Writer`.
    seekable : bool, default False
        Write an index, see `Writer`.
    progress : callable, optional
        Called with 0, None and the number of statements read so far.
    **settings : Any
        Keywords of `Reader`.

    Returns
    -------
    int
        Number of statements written.

    Raises
    ------
    JellyArgumentError
        If the pattern or a condition is wrong.

    Examples
    --------
    >>> import io, jelly
    >>> data = b'<a:s> <a:p> "colour"@en .\n<a:s> <a:p> "Farbe"@de .\n<a:s> <a:q> <a:o> .'
    >>> jelly.filter(data, io.BytesIO(), p="a:p", where="o.language != en", format="nt")
    1
    >>> jelly.filter(data, io.BytesIO(), where=["o.kind = literal"], invert=True, format="nt")
    1
    """
    conditions = [Condition(text) for text in ([where] if isinstance(where, str) else where)]
    found = Input(sources, blank_nodes, skolem_base, progress, **settings)
    batches = _matching(found.batches(), Pattern(s, p, o, g), conditions, invert)
    return write_batches(out, batches, found, to_format=to_format, options=options, seekable=seekable)
