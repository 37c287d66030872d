"""BinaryWriter and ResultWriter: the Python classes that write RDF Thrift and RDF Protobuf, and raise their errors."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch

@disjoint_base
class BinaryWriter:
    """Batches in, RDF Thrift or RDF Protobuf out: the bytes that Jena writes of the same statements.

    ``prefixes`` (name to namespace) and, in Protobuf, ``base`` are declared first; namespaces of the Batches follow
    where they stand. ``shorten`` writes an IRI as a prefixed name where a declared namespace fits, the one up to its
    last / or # before the longest: by default in Thrift, as Jena does, and not in Protobuf. ``values=True`` writes
    integers, decimals and doubles as such (Jena: in Thrift only): their lexical form and the difference between
    xsd:integer and xsd:long, int, short or byte are lost then; what does not fit 64 bits and infinities stay literals.
    ``default_quads=True`` (Protobuf only) writes the default graph as quads, as Jena does with N-Quads that it streams.
    ``patch=True`` writes the Batches of patches as Jena's binary RDF Patch (Thrift).

    >>> import jelly
    >>> batch = next(jelly.scan(b'<a:s> <a:p> "o" .', format="nt").batches())
    >>> BinaryWriter("thrift").encode(batch).hex()
    '2c1c1c1803613a7300001c1c1803613a7000001c3c18016f00000000'
    """
    def __new__(
        cls,
        encoding: str,
        *,
        prefixes: Mapping[str, str] | None = None,
        shorten: bool | None = None,
        values: bool = False,
        base: str | None = None,
        default_quads: bool = False,
        patch: bool = False,
    ) -> Self: ...
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The rows of a Batch, at the first time behind the prefixes. ``keep_frames`` is ignored: there are no frames."""
    def chunks(self, batch: Batch, size: int = 1048576) -> Iterator[bytes]:
        """The rows of a Batch, part by part of about `size` bytes, so that they are never all in memory.

        JellyOptionsError where another Batch is written before the last part was taken, or this was closed.
        """
    def close(self) -> bytes:
        """What is left to write: the prefixes, where there was no Batch."""
    def __reduce__(self) -> Any: ...

@disjoint_base
class ResultWriter:
    """SPARQL results as RDF Thrift or RDF Protobuf, the bytes that Jena writes. The variables come first.

    >>> import jelly
    >>> batch = next(jelly.results.read_results(b'{"head":{"vars":["x"]},"results":{"bindings":[{}]}}', format="json").batches())
    >>> ResultWriter("protobuf", ["x"]).encode(batch).hex()
    '050a030a0178040a024200'
    """
    def __new__(cls, encoding: str, variables: Iterable[str]) -> Self: ...
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """The rows of a Batch, at the first time behind the variables. ``keep_frames`` is ignored: there are no frames."""
    def close(self) -> bytes:
        """What is left to write: the variables, where there was no Batch."""
    def __reduce__(self) -> Any: ...
