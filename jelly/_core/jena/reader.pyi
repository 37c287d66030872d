"""BinaryReader and ResultReader: the Python classes that read RDF Thrift and RDF Protobuf, and raise their errors."""

from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.push_reader import PushReader

@disjoint_base
class BinaryReader(PushReader):
    """RDF Thrift or RDF Protobuf in, Batches out, no I/O: feed it chunks of bytes, cut anywhere.

    ``encoding`` is ``"thrift"`` or ``"protobuf"``. Batches are of triples as long as the rows are, and of quads from
    the first quad on; with ``quads=True`` always of quads. A Batch holds at most ``batch_rows`` statements and ends
    early at about ``batch_bytes`` of text. ``max_row_bytes`` and ``max_prefixes`` are the limits that hostile input
    runs into.

    ``patch=True`` reads Jena's binary RDF Patch (Thrift) instead: its Batches have the operations as ``op``, see
    `jelly.patch`.

    ``message`` (Protobuf only) says which message of the schema the whole input is: ``"RDF_Stream"`` or ``"RDF_Graph"``,
    without a length before it, or ``"rows"``, each RDF_StreamRow with its length before it, as Jena writes them. By
    default the first bytes tell. ``scan=True`` gives no Batches: it only finds out whether there is a quad, see `quads`.

    Stricter than Jena, which takes a row that is cut off for the end of the data: that, an unknown kind of row or
    term, and bad UTF-8 are errors with the byte offset. Variables and ANY are terms of a kind of their own. REPEAT is
    the term of the row before in the same position.

    >>> from jelly._core.jena.reader import BinaryReader
    >>> data = bytes.fromhex("2c1c1c1803613a7300001c1c1803613a7000001c3c18016f00000000")
    >>> reader = BinaryReader("thrift")
    >>> [batch.term(2) for chunk in (data[:9], data[9:]) for batch in reader.feed(chunk)]
    ['"o"']
    """
    def __new__(
        cls,
        encoding: str,
        *,
        quads: bool = False,
        batch_rows: int = 16384,
        batch_bytes: int = 16777216,
        max_row_bytes: int = 268435456,
        max_prefixes: int = 4096,
        patch: bool = False,
        message: str | None = None,
        scan: bool = False,
    ) -> Self: ...
    @property
    def base(self) -> str | None:
        """The base IRI that RDF Protobuf may tell; nothing is resolved with it."""
    @property
    def quads(self) -> bool:
        """Whether there was a quad, or quads were asked for."""
    @property
    def prefixes(self) -> dict[str, str]:
        """The prefixes declared so far and their namespaces."""

@disjoint_base
class ResultReader(BinaryReader):
    """SPARQL results in RDF Thrift or RDF Protobuf in, Batches whose columns are variables out, no I/O.

    ``variables`` are known when the first Batch comes or the input ends.

    >>> from jelly._core.jena.reader import ResultReader
    >>> reader = ResultReader("thrift")
    >>> [batch] = reader.feed(bytes.fromhex("192c180178001801760000192c3c18016100007c000000"))
    >>> batch.variables, batch.cells.tolist(), batch.term(0)
    (('x', 'v'), [[0, -1]], '"a"')
    """
    def __new__(cls, encoding: str, **limits: Any) -> Self: ...
    @property
    def variables(self) -> tuple[str, ...] | None:
        """The names of the variables, without ``?``; None before they are read."""
