"""Answers queries: by DuckDB what it is asked for, by pyoxigraph all else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain, islice
from operator import index
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from jelly._bytes.source import Source
from jelly._core.algebra.reshape import as_statements
from jelly._core.base.batch import Batch
from jelly._core.ntriples.text import TextWriter
from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, to_term
from jelly._dataset.dataset import Dataset
from jelly._dataset.sources import OF_SOURCES, Sources
from jelly._dataset.subset import can_repeat, subset
from jelly._formats.registry import JELLY_RESULTS
from jelly._formats.result_syntaxes import batches_of
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyLimitError, JellyUnsupportedError
from jelly.oxigraph import fill
from jelly.rdflib._query.algebra import Algebra
from jelly.rdflib._query.engine import LEAST, Engine
from jelly.rdflib._query.syntax import Untranslated, is_constant, ox, parsed, rdflib, walk
from jelly.rdflib._query.touched import Touched, may_stay, touched
from jelly.results import Results

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions


# Bytes that the store of pyoxigraph takes for a statement, and DESCRIBE for a node.
_STORED, _NODE = 400, 500
# Solutions of pyoxigraph that are taken at once.
_PIECE = 1 << 14


class Answer(NamedTuple):
    """The answer of a query, and how it was found: solutions, triples (``is_graph``) as rows of three variables, or a
    ``boolean``."""

    plan: str
    variables: tuple[str, ...] = ()
    batches: Iterator[Batch] = iter(())
    boolean: bool | None = None
    is_graph: bool = False


def answer(dataset: Dataset, sparql: str, memory: int, threads: int, explain: bool) -> Answer:
    """The answer of a query, or with ``explain`` only the plan."""
    # Errors in the parser hold the frames of all its callers until Python looks for circles: this one has no engine.
    return _answer(parsed(sparql), dataset, sparql, memory, threads, explain)


def _answer(algebra: Any, dataset: Dataset, sparql: str, memory: int, threads: int, explain: bool) -> Answer:
    describes = algebra is not None and algebra.name == "DescribeQuery"
    asked = Touched()
    try:
        if algebra is None:
            raise Untranslated("what RDFLib does not parse, an empty list or template, or a name with a backslash")
        if describes and (algebra.datasetClause or "*" in algebra.PV or not can_repeat(dataset)):
            raise Untranslated("DESCRIBE of FROM, of *, or of what can be read only once")
        asked = touched(algebra)
        found = Answer("jelly.subset")
        if algebra.p is not None:
            engine = Engine.of(dataset, asked, memory)
            engine.begin(memory, threads, algebra.base)
            found = _by_duckdb(engine, algebra, dataset, asked, explain)
        return _described(dataset, algebra, found, memory) if describes and not explain else found
    except (Untranslated, RecursionError) as reason:
        if algebra is not None and algebra.broken is not None:
            raise JellyUnsupportedError(
                "pyoxigraph has no names of aggregates in other expressions, and groups of SELECT only, and DuckDB is "
                f"not asked for {reason}"
            ) from None
        # pyoxigraph asks the statements whether there is the constant that a path without steps begins at.
        if describes or (algebra is not None and may_stay(algebra)):
            asked = Touched()
        plan = f"pyoxigraph, in memory, because of {reason}\nstatements: {_told(asked)}"
        return Answer(plan) if explain else _by_pyoxigraph(asked.of(dataset), sparql, memory, plan)


def _described(dataset: Dataset, algebra: Any, found: Answer, memory: int) -> Answer:
    """The descriptions of IRIs, and of the solutions that are found of variables."""
    nodes = {to_term(term) for term in algebra.PV if is_constant(term)}
    for row in _Solutions(found):
        nodes.update(term for term in row if isinstance(term, IRI | BlankNode))
        if len(nodes) * _NODE > max(memory, LEAST):
            raise JellyLimitError(f"DESCRIBE of {len(nodes)} nodes needs more than the {memory} bytes allowed")
    about = subset(dataset.filter(g=DefaultGraph()), focus=nodes)
    return found._replace(is_graph=True, batches=about.unique().batches())


def _told(asked: Touched) -> str:
    places = [
        f"{name} is one of {len(terms)}: {', '.join(term.n3() for term in terms[:5])}{', ...' * (len(terms) > 5)}"
        for name, terms in zip(("subject", "predicate", "object"), asked, strict=True)
        if terms is not None
    ]
    return "; ".join(places) or "all"


def _by_duckdb(engine: Engine, algebra: Any, dataset: Dataset, asked: Touched, explain: bool) -> Answer:
    with ExitStack() as stack:
        stack.callback(engine.close)
        made = Algebra(engine)
        table = made.table(algebra.p)
        found = Answer(f"DuckDB, on ids\nstatements: {_told(asked)}\n{table.sql}")
        if explain:
            return found
        engine.load(asked.of(dataset), algebra.datasetClause or ())
        if algebra.name == "AskQuery":
            rows = engine.rows(f"SELECT 1::INTEGER FROM ({table.sql}) LIMIT 1")
            return found._replace(boolean=sum(map(len, rows)) > 0)
        if algebra.name == "ConstructQuery":
            names: list[Any] = ["s", "p", "o"]
            # That of CONSTRUCT WHERE is its pattern.
            template = algebra.template or next(part for part in walk(algebra.p) if part.name == "BGP").triples
            batches: Iterator[Batch] = map(as_statements, engine.statements(made, table, template))
        else:
            names = [each for each in dict.fromkeys(algebra.PV) if isinstance(each, rdflib.Variable)]
            batches = engine.results(made, table, names)
        batches = _closing(stack.pop_all(), batches)
    return found._replace(variables=tuple(map(str, names)), batches=batches, is_graph=algebra.name == "ConstructQuery")


def _closing(stack: ExitStack, batches: Iterator[Batch]) -> Iterator[Batch]:
    with stack:
        yield from batches


def _by_pyoxigraph(some: Dataset, sparql: str, memory: int, plan: str) -> Answer:
    store = ox.Store()
    most = memory // _STORED

    def limited() -> Iterator[Batch]:
        n = 0
        for batch in some.batches():
            n += len(batch)
            if n > most:
                raise JellyLimitError(
                    f"pyoxigraph answers this query in memory, and it can touch more than {most} statements, as "
                    f"many as {memory} bytes hold: raise memory, or simplify the query ({plan.splitlines()[0]})"
                )
            yield batch

    fill(store, limited())
    found: Any = store.query(sparql)
    if isinstance(found, ox.QueryBoolean):
        return Answer(plan, boolean=bool(found))
    is_graph = isinstance(found, ox.QueryTriples)
    names = ("s", "p", "o") if is_graph else tuple(variable.value for variable in found.variables)
    rows = ((each.subject, each.predicate, each.object) if is_graph else each for each in _in_pieces(found))
    made = ([None if term is None else to_term(term) for term in row] for row in rows)
    batches = batches_of(names, made)
    return Answer(plan, names, map(as_statements, batches) if is_graph else batches, is_graph=is_graph)


def _in_pieces(found: Any) -> Iterator[Any]:
    """Solutions of pyoxigraph. It ends the process where another thread takes one, so the first are taken now."""

    def rest(thread: int) -> Iterator[Any]:
        while get_ident() == thread:
            yield from (piece := [*islice(found, _PIECE)])
            if len(piece) < _PIECE:
                return
        raise JellyUnsupportedError(
            f"pyoxigraph answers this query, so another thread can read the first {_PIECE} solutions only"
        )

    first = [*islice(found, _PIECE)]
    return chain(first, rest(get_ident())) if len(first) == _PIECE else iter(first)


class _Solutions(Results):
    """The solutions of a query of files."""

    def __init__(self, found: Answer) -> None:
        self.source, self.format, self._decoder = Source(b""), JELLY_RESULTS, None
        self.variables, self._batches, self._set = found.variables, found.batches, found


@checked(OF_SOURCES)
def query(
    src: Any,
    sparql: str,
    *,
    memory: int = 1 << 30,
    explain: bool = False,
    **options: Unpack[ReadOptions],
) -> Any:
    """Answer a SPARQL 1.1 query of files, without loading them into a store.

    Only statements that the patterns of the query can match are kept, and of a Jelly file with an index only the
    segments are read that may have some. They become numbers, of which DuckDB makes joins; terms are made for the
    results alone. The values of expressions are those of pyoxigraph. What is not translated, such as NOW(), or EXISTS
    within an expression, pyoxigraph answers as a whole, from these statements in memory. DESCRIBE is `subset`.

    The default graph is that of the files: statements without a graph. All others are named graphs. Statements that
    are there twice count once, as in a store. SERVICE is refused.

    Parameters
    ----------
    src : Any
        The input, as for `scan`, or a `Dataset`.
    sparql : str
        The query.
    memory : int, default 1 GiB
        Maximum bytes, about, for the terms of the kept statements, the values of expressions and DuckDB, which has what
        these leave, at least 4 MiB, and goes on in temporary files; or for the store of pyoxigraph.
    explain : bool, default False
        Read nothing, and tell as text which way is taken and why, and which statements are kept.
    **options : Unpack[ReadOptions]
        Shared keywords: see `ReadOptions`. DuckDB uses as many ``threads``.

    Returns
    -------
    Results, Dataset or str
        Solutions of SELECT, or with ``boolean`` the answer of ASK; a `Dataset`, which can be read once, for CONSTRUCT
        and DESCRIBE; or the text with ``explain``.

    Raises
    ------
    JellySyntaxError
        If it is no query.
    JellyUnsupportedError
        If it has SERVICE.
    JellyLimitError
        If it needs more memory, such as for terms.
    MissingExtraError
        Without duckdb, rdflib, pyarrow and pyoxigraph (extra ``query``).

    Examples
    --------
    >>> import jelly
    >>> data = b'<a:1> <a:name> "Ann" .\\n<a:2> <a:name> "Bob" .\\n<a:1> <a:knows> <a:2> .'
    >>> found = jelly.query(data, "SELECT ?name { <a:1> <a:knows>/<a:name> ?name }", format="nt")
    >>> list(found)
    [(Literal('Bob'),)]
    >>> jelly.query(data, "ASK { ?x <a:age> ?age }", format="nt").boolean
    False
    """
    threads = options.pop("threads", 1)
    if memory < 1:
        raise JellyArgumentError("memory must be at least 1")
    if isinstance(src, Dataset) and options:
        raise JellyArgumentError(f"{', '.join(options)} is for `scan`, as src is a Dataset")
    dataset = src if isinstance(src, Dataset) else Dataset(Sources(src, **options), threads=threads)
    found = answer(dataset, sparql, memory, index(threads), explain)
    if explain:
        return found.plan
    if not found.is_graph:
        return _Solutions(found)
    lines = TextWriter(quads=False)
    return Dataset(Sources((lines.encode(batch) for batch in found.batches), format="nt"))
