"""Values of any kind to bytes: one frame for each, by one encoder for many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Any

from jelly._core.base.batch import Batch
from jelly._formats.registry import JELLY, JELLY_PATCH
from jelly._options.options import StreamOptions
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError
from jelly.kafka._clients import known_to_clients, serialization_error, set_headers
from jelly.kafka._compression import Compression, Shared, packer
from jelly.kafka._values import ValueEncoder, is_patch

# Values that are encoded together by `serialize_many`, at most.
TOGETHER = 1024


class JellySerializer:
    """Serialize RDF for Kafka. Call it, or give it to a client.

    A value is a graph or dataset of RDFLib, an iterable of statements of this package, of RDFLib or of pyoxigraph, a
    single statement, a `jelly.Batch`, a `jelly.Frame`, a `jelly.messages.Message`, a `jelly.patch.Patch`, an iterable
    of operations of a patch, or None, which stays None (a tombstone).

    Parameters
    ----------
    options : StreamOptions or mapping, optional
        Options of each value, or some of their fields. By default the tables are small (128 names, 16 prefixes, 16
        datatypes; 4000, 150 and 32 for values of more than 100 statements), graphs, datasets and messages are
        grouped streams and statements flat ones. Patches take the sizes of the tables only.
    namespaces : bool, default False
        Also write the namespaces of graphs, Batches, frames and messages.
    compression : {"gzip", "zstd"}, optional
        Compress each value by itself. By default none: clients compress many values together
        (``compression.type``).
    dictionary : bytes, optional
        Dictionary for zstd, for example of ``zstandard.train_dictionary``. Consumers need the same.
    level : int, optional
        Level of the compression; by default 6 for gzip and 3 for zstd.

    Raises
    ------
    JellyArgumentError
        If an argument is wrong.

    Notes
    -----
    The header ``content-type`` (``application/x-jelly-rdf``, of patches ``application/x-jelly-rdf-patch``) and, of
    compressed values, ``content-encoding`` are set where the client lets a serializer do it: confluent-kafka, if
    ``headers`` are given to ``produce`` (an empty list will do), and kafka-python from 3.0 on. See `headers` for
    others.

    It may be used from several threads.

    Examples
    --------
    >>> import jelly
    >>> serializer = JellySerializer()
    >>> statement = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))
    >>> jelly.loads(serializer([statement])) == [statement]
    True
    >>> len(serializer.serialize_many([[statement], None, [statement]]))
    3
    """

    @checked()
    def __init__(
        self,
        options: StreamOptions | Mapping[str, Any] | None = None,
        *,
        namespaces: bool = False,
        compression: Compression | None = None,
        dictionary: Any = None,
        level: int | None = None,
    ) -> None:
        self._again = partial(
            JellySerializer, options, namespaces=namespaces, compression=compression, dictionary=dictionary, level=level
        )
        ValueEncoder(options, namespaces)  # checks the options
        self._encode_one = Shared(lambda: ValueEncoder(options, namespaces).encode_one)
        self._encode = Shared(lambda: ValueEncoder(options, namespaces).encode)
        self._pack = packer(compression, dictionary, level)
        encoding = None if compression is None else compression.encode()
        # Of a value of statements, and of a patch.
        self._headers = [
            (("content-type", format.media_type.encode()), ("content-encoding", encoding))
            for format in (JELLY, JELLY_PATCH)
        ]
        known_to_clients(type(self))

    def __call__(self, value: Any, ctx: Any = None) -> bytes | None:
        """Serialize ``value``, see above; a JellySerializationError if that cannot be done.

        The ``headers`` of ``ctx`` are set if it is about a value and has any.
        """
        is_key = getattr(ctx, "field", "value") == "key"
        return self._serialize(value, None if is_key else getattr(ctx, "headers", None))

    def serialize(self, topic: str, *args: Any) -> bytes | None:
        """Serialize a value, as kafka-python calls it: ``topic`` and the value, from version 3.0 on with the headers
        before it, which are set. The topic is not used.
        """
        *headers, value = args
        return self._serialize(value, headers[0] if headers else None)

    def serialize_many(self, values: Iterable[Any] | Batch) -> list[bytes | None]:
        """Serialize many values, which is faster than one by one. The result has their order.

        Values that are encoded together have the same options: those that one of them needs (quoted triples, large
        tables) are announced by all.

        Parameters
        ----------
        values : iterable or Batch
            The values; or a Batch, each frame of which is a value.

        Raises
        ------
        JellySerializationError
            If a value cannot be serialized. None of them is then returned.

        Examples
        --------
        >>> import jelly
        >>> rows = b"<a:s> <a:p> <a:o> .\\n<a:s> <a:p> <a:o> .\\n<a:s> <a:p> <a:o> ."
        >>> [len(jelly.loads(value)) for value in JellySerializer().serialize_many(
        ...     jelly.messages.group(jelly.read(rows, format="nt"), 2))]
        [2, 1]
        """
        made: list[bytes | None] = []
        try:
            for part in _parts(values):
                made += self._encode(part)
        except JellyError as error:
            raise serialization_error(error) from error
        if self._pack is not None:
            made = [None if data is None else self._pack(data) for data in made]
        return made

    def _serialize(self, value: Any, headers: Any) -> bytes | None:
        """The bytes of a value, whose ``headers`` are set."""
        if value is None:
            return None
        made: bytes
        try:
            made, patch = self._encode_one(value)
        except JellyError as error:
            raise serialization_error(error) from error
        if self._pack is not None:
            made = self._pack(made)
        set_headers(headers, self._headers[patch])
        return made

    def headers(self, value: Any = ()) -> list[tuple[str, bytes]]:
        """The headers for a value, for clients in which a serializer cannot set them.

        Parameters
        ----------
        value : Any, optional
            The value. Only patches have others than the rest, and None has none.

        Examples
        --------
        >>> JellySerializer().headers()
        [('content-type', b'application/x-jelly-rdf')]
        """
        if value is None:
            return []
        return [(name, text) for name, text in self._headers[is_patch(value)] if text is not None]

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _parts(values: Iterable[Any] | Batch) -> Iterable[Any]:
    """The Batch, or lists of some values."""
    if isinstance(values, Batch):
        return [values]
    if not isinstance(values, Iterable):
        raise JellyArgumentError(f"values is {values!r:.80}: expected values to serialize")
    iterator = iter(values)
    return iter(lambda: list(islice(iterator, TOGETHER)), [])
