"""The base of all readers: chunks of bytes in, Batches out. Independent of formats."""

from collections.abc import Iterator
from typing import Any, final

from typing_extensions import Buffer, Self, disjoint_base

@disjoint_base
class PushReader:
    r"""The base of `Decoder`, `TextReader` and `BinaryReader`: bytes in, Batches out, no I/O.

    ``feed(chunk)`` and ``close()`` are all that most callers need; with ``push``, ``finish`` and ``pull`` a caller takes
    only Batches that are full, however the input is cut. ``bytes_read`` counts what was pushed.

    A reader that raised stays failed: it raises the same error again. It serves one thread at a time.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False)
    >>> isinstance(reader, PushReader), [len(batch) for batch in reader.feed(b"<a:s> <a:p> <a:o> .\n<a:s> <a")]
    (True, [1])
    >>> [batch.first_row for data in (b":p> <a:o> .\n", b"<a:s> ") for batch in reader.feed(data)], reader.statements
    ([1], 2)
    >>> reader.close()
    Traceback (most recent call last):
    jelly.JellyTruncatedError: column 7: the input ends inside a statement (byte 46, line 3)
    """
    bytes_read: int
    @property
    def statements(self) -> int:
        """Number of statements read so far; of query results the number of rows. While another thread reads, those given out."""
    def push(self, data: Buffer) -> None:
        """Pass the next chunk of bytes.

        Parameters
        ----------
        data : bytes-like
            The chunk. The reader keeps a reference to it until it has been read.

        Raises
        ------
        RuntimeError
            If the previous chunk is not used up. Call `pull` until it returns None.
        ValueError
            If the reader is closed.
        """
    def finish(self) -> None:
        """Declare the end of the input. `pull` then returns the remaining Batches, or raises the error of a truncated input."""
    # Any: most give Batches, a ResultReader pairs.
    def pull(self, flush: bool = False) -> Any:
        """Return the next full Batch.

        Parameters
        ----------
        flush : bool, default False
            Also return a Batch that is not full.

        Returns
        -------
        Batch or None
            None if the input is used up.

        Raises
        ------
        JellyError
            If the input is wrong. All statements before the error are returned first.
        """
    def feed(self, data: Buffer) -> Iterator[Any]:
        """Read a chunk of bytes.

        Parameters
        ----------
        data : bytes-like
            The chunk.

        Returns
        -------
        Iterator[Batch]
            Batches with all statements that are complete by now. Consume it before the next chunk.

        Raises
        ------
        JellyError
            If the input is wrong. The iterator raises it, after the Batches before the error.
        """
    def close(self) -> Iterator[Any]:
        """End the input and read what is left.

        Returns
        -------
        Iterator[Batch]
            The remaining Batches.

        Raises
        ------
        JellyTruncatedError
            If the input ends inside a statement. If no Batch comes before it, the error is raised at once.
        """
    def __reduce__(self) -> Any: ...

@final
class BatchIterator:
    r"""The iterator that `PushReader.feed` and `PushReader.close` return: each step pulls a Batch.

    >>> from jelly._core.ntriples.text import TextReader
    >>> batches = TextReader(quads=False).feed(b"<a:s> <a:p> <a:o> .\n")
    >>> [len(batch) for batch in batches], list(batches)
    ([1], [])
    """
    def __new__(cls, feeder: PushReader, first: Any = None) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def __reduce__(self) -> Any: ...
