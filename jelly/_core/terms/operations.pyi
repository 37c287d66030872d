"""The operations of a patch as small immutable Python objects, made from Batches and collected into them."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, final

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import Materializer
from jelly._core.terms.model import IRI, BlankNode, Literal, Quad, QuotedTriple, Triple

@disjoint_base
class Operation:
    """One row of a patch, the base of all operations.

    The operations are `Add`, `Delete`, `AddNamespace`, `DeleteNamespace`, `Header`, `Start`, `Commit` and `Abort`.
    Operations with equal values are equal, and ``str()`` gives the line of RDF Patch.
    """
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> Any: ...

@final
class Add(Operation):
    """Add a statement (RDF Patch: A).

    Parameters
    ----------
    statement : Triple, Quad or sequence of terms
        The statement.

    Examples
    --------
    >>> from jelly import IRI
    >>> str(Add((IRI("a:s"), IRI("a:p"), IRI("a:o"))))
    'A <a:s> <a:p> <a:o> .'
    """
    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def statement(self) -> Triple | Quad: ...
    def __init__(self, statement: Any) -> None: ...

@final
class Delete(Operation):
    """Delete a statement (RDF Patch: D).

    Parameters
    ----------
    statement : Triple, Quad or sequence of terms
        The statement.

    Examples
    --------
    >>> from jelly import IRI
    >>> str(Delete((IRI("a:s"), IRI("a:p"), IRI("a:o"), IRI("a:g"))))
    'D <a:s> <a:p> <a:o> <a:g> .'
    """
    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def statement(self) -> Triple | Quad: ...
    def __init__(self, statement: Any) -> None: ...

@final
class AddNamespace(Operation):
    """Declare a namespace (RDF Patch: PA).

    Parameters
    ----------
    name : str
        The prefix, without a colon.
    iri : IRI or str
        The IRI that it stands for.
    graph : IRI, BlankNode or Literal, optional
        The graph of the declaration. By default the default graph.

    Examples
    --------
    >>> str(AddNamespace("ex", "http://example.org/"))
    'PA "ex" <http://example.org/> .'
    """
    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def name(self) -> str: ...
    @property
    def iri(self) -> IRI: ...
    @property
    def graph(self) -> IRI | BlankNode | Literal | None: ...
    def __init__(self, name: str, iri: IRI | str, graph: Any = None) -> None: ...

@final
class DeleteNamespace(Operation):
    """Delete a namespace declaration (RDF Patch: PD).

    Parameters
    ----------
    name : str
        The prefix, without a colon.
    iri : IRI or str, optional
        The IRI that it stood for, if known.
    graph : IRI, BlankNode or Literal, optional
        The graph of the declaration. By default the default graph.

    Examples
    --------
    >>> str(DeleteNamespace("ex"))
    'PD "ex" .'
    """
    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def name(self) -> str: ...
    @property
    def iri(self) -> IRI | None: ...
    @property
    def graph(self) -> IRI | BlankNode | Literal | None: ...
    def __init__(self, name: str, iri: IRI | str | None = None, graph: Any = None) -> None: ...

@final
class Header(Operation):
    """A header of a patch (RDF Patch: H).

    Parameters
    ----------
    key : str
        Name of the header, for example ``id`` or ``prev``.
    value : IRI, BlankNode, Literal or QuotedTriple
        Its value.

    Raises
    ------
    JellyArgumentError
        If the value is not a term.

    Examples
    --------
    >>> from jelly import IRI
    >>> str(Header("id", IRI("uuid:1")))
    'H id <uuid:1> .'
    """
    __match_args__: ClassVar[tuple[str, ...]]
    @property
    def key(self) -> str: ...
    @property
    def value(self) -> IRI | BlankNode | Literal | QuotedTriple: ...
    def __init__(self, key: str, value: IRI | BlankNode | Literal | QuotedTriple) -> None: ...

@final
class Start(Operation):
    """Start a transaction (RDF Patch: TX)."""

@final
class Commit(Operation):
    """End a transaction; its operations take effect (RDF Patch: TC)."""

@final
class Abort(Operation):
    """End a transaction; its operations do not take effect (RDF Patch: TA)."""

@final
class OperationIterator:
    """Operations one by one out of ``parts``: `Materializer` of the Batch of a patch, and the range of its rows.

    The end of a patch is not an operation and left out.
    """
    def __new__(cls, parts: Iterable[tuple[Materializer, int, int]]) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Operation: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class OperationBatchBuilder:
    """Fills the Batch of a patch, as a `BatchBuilder` does with statements (``arity`` 3 or 4).

    ``batch`` is the Batch being filled.
    """
    @property
    def batch(self) -> Batch:
        """The Batch being filled."""
    def __new__(cls, arity: int) -> Self: ...
    def __len__(self) -> int: ...
    def lend(self, function: Callable[[Batch], object]) -> None:
        """Call a function with the Batch, then empty it, see `BatchBuilder.lend`."""
    def clear(self) -> None:
        """Empty the Batch, or begin another one if arrays of it are in use."""
    def add(self, operation: Operation) -> int:
        """Append an operation. Return the number of rows, or a larger number if the Batch has much text."""
    def end_patch(self) -> None:
        """End the patch here."""
    def __reduce__(self) -> Any: ...
