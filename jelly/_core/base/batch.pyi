"""The Batch: the structure of arrays between every reader and every writer."""

from typing import Any, final

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from jelly._core.base.batch_views import BatchViews
from jelly._options.options import StreamOptions

# Exports the buffer protocol, which stubs can only tell of since Python 3.12.
@final
class Column:
    """A read-only view of one array of a Batch; keeps the Batch alive. Exports the buffer protocol."""

@disjoint_base
class Batch(BatchViews):
    """Some statements of a stream as numpy arrays, and the terms they use.

    A Batch never changes. It owns its memory; its arrays are views of that memory. ``len(batch)`` is the number of
    rows. Batches come from readers; they are not created directly. A Batch of `jelly.results.read_results` has query results: its
    columns are variables, and ``s``, ``p``, ``o``, ``g`` and ``arity`` raise `JellyOptionsError`. Iterating over it yields a
    tuple of terms for each row, with None where a variable is unbound.

    Attributes
    ----------
    s, p, o : numpy.ndarray
        Subjects, predicates and objects: int32 term ids, one per statement.
    g : numpy.ndarray or None
        Graphs: int32 term ids, -1 for the default graph. None if the statements are triples.
    variables : tuple of str or None
        Names of the columns of query results. None if the rows are statements.
    cells : numpy.ndarray
        Query results: int32 term ids, shape (rows, variables), -1 where a variable is unbound. `column` gives one column.
    text, start : numpy.ndarray
        UTF-8 of all terms (uint8), and where each begins (int64): term ``i`` is ``text[start[i]:start[i + 1]]``.
    kind : numpy.ndarray
        Kinds of terms (int8): 1 IRI, 2 blank node, 3 plain literal, 4 literal with language, 5 typed literal, 6 quoted
        triple, 7 text that is not a term (a language tag). The language tag of a literal with a base direction has kind
        8 (ltr) or 9 (rtl). Terms of patterns are 10 (variable) and 11 (ANY).
    aux : numpy.ndarray
        For each term the id of its language tag or datatype, or its row in ``quoted`` (int32), else -1.
    first_row, first_frame : int
        Number of the first statement and of the first frame in the stream.
    options : StreamOptions or None
        Options of the stream, if it is Jelly.

    Notes
    -----
    Term ids are valid in one Batch only. Equal ids are equal terms, but equal terms may have different ids, because finding
    the first id again may cost more than it saves. In ``batch.unique()`` equal terms have equal ids: count and compare the
    ids of that one. Some terms may be used by no statement.

    Examples
    --------
    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "o" .', format="nt").batches())
    >>> len(batch), batch.p.tolist(), batch.term(2)
    (1, [1], '"o"')
    """
    first_row: int
    first_frame: int
    options: StreamOptions | None
    variables: tuple[str, ...] | None
    @property
    def arity(self) -> int:
        """Terms per statement: 3 for triples, 4 for quads."""
    @property
    def n_terms(self) -> int:
        """Number of terms in the Batch."""
    @property
    def nbytes(self) -> int:
        """Bytes of memory that the arrays use."""
    @property
    def s(self) -> npt.NDArray[np.int32]:
        """Subjects: int32 term ids."""
    @property
    def p(self) -> npt.NDArray[np.int32]:
        """Predicates: int32 term ids."""
    @property
    def o(self) -> npt.NDArray[np.int32]:
        """Objects: int32 term ids."""
    @property
    def g(self) -> npt.NDArray[np.int32] | None:
        """Graphs: int32 term ids, -1 for the default graph. None if the statements are triples."""
    @property
    def op(self) -> npt.NDArray[np.int8] | None:
        """Operations of a patch: int8, or None."""
    @property
    def cells(self) -> npt.NDArray[np.int32]:
        """Query results: int32 term ids, one row per result and one column per variable, -1 where it is unbound."""
    def column(self, variable: str) -> npt.NDArray[np.int32]:
        """The column of a variable of query results.

        Parameters
        ----------
        variable : str
            Name of the variable, without ``?``.

        Returns
        -------
        numpy.ndarray
            int32 term ids, one per row, -1 where the variable is unbound.

        Raises
        ------
        JellyArgumentError
            If there is no such variable.
        JellyOptionsError
            If the rows are statements.

        Examples
        --------
        >>> import jelly
        >>> data = b'{"head":{"vars":["x","y"]},"results":{"bindings":[{"y":{"type":"uri","value":"a:b"}}]}}'
        >>> batch = next(jelly.results.read_results(data, format="json").batches())
        >>> batch.column("x").tolist(), batch.term(batch.column("y")[0])
        ([-1], '<a:b>')
        """
    @property
    def text(self) -> npt.NDArray[np.uint8]:
        """UTF-8 of all terms, one after the other: uint8."""
    @property
    def start(self) -> npt.NDArray[np.int64]:
        """Position in ``text`` at which each term begins: int64, one item more than there are terms."""
    @property
    def kind(self) -> npt.NDArray[np.int8]:
        """Kinds of the terms: int8."""
    @property
    def aux(self) -> npt.NDArray[np.int32]:
        """Term id of the language tag or datatype, or row of ``quoted``, of each term: int32, -1 if it has none."""
    @property
    def quoted(self) -> npt.NDArray[np.int32]:
        """Term ids of quoted triples: int32, shape (n, 3)."""
    @property
    def frames(self) -> npt.NDArray[np.int64]:
        """For each frame that ends in this Batch, the number of rows before its end: int64."""
    @property
    def metadata(self) -> dict[int, dict[str, bytes]]:
        """Metadata of frames: ``{index into frames: {key: bytes}}``; only frames that have some."""
    @property
    def namespaces(self) -> list[tuple[int, int, str, str]]:
        """Namespace declarations: ``(row, index into frames, prefix, IRI)``. Each stands before that row, in that frame."""
    def term_text(self, term: int) -> str:
        """The text of a term: IRI, blank node label, lexical form or language tag.

        Parameters
        ----------
        term : int
            Term id.

        Returns
        -------
        str
            The text.

        Raises
        ------
        IndexError
            If there is no such term.
        """
    def term(self, term: int) -> str:
        """A term in N-Triples syntax, as str() writes the object of it; labels of blank nodes are as they are.

        Parameters
        ----------
        term : int
            Term id.

        Returns
        -------
        str
            The term.

        Raises
        ------
        IndexError
            If there is no such term.
        JellyLimitError
            If a quoted triple would be too long, as its parts stand in it again and again.
        """
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __reduce__(self) -> Any: ...

def restate(batch: Batch, options: StreamOptions | None) -> Batch:
    """Say which stream options a Batch has, None for unknown ones. Only for one that was not handed out yet."""
