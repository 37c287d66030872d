"""The `Decoder`: the Python class over frame_reader and decode. It turns their faults into exceptions."""

from collections.abc import Iterator
from typing import Literal

from typing_extensions import Buffer, Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._core.base.push_reader import PushReader
from jelly._options.options import PatchOptions, StreamOptions

@disjoint_base
class Decoder(PushReader):
    """Decode Jelly: bytes in, Batches out. Feed it from files, sockets, brokers or an event loop.

    Parameters
    ----------
    delimited : bool, optional
        Whether each frame has its length before it. By default the first bytes tell.
    batch_rows : int, default 32768
        Maximum statements per Batch.
    batch_bytes : int, default 16 MiB
        Bytes of text after which a Batch ends.
    max_frame_bytes : int, default 256 MiB
        Maximum bytes of a frame.
    max_names, max_prefixes, max_datatypes : int
        Maximum sizes of the lookup tables that a stream may ask for; by default 4096, 1024 and 256 entries.
    max_frame_rows : int, default 16777216
        Maximum rows of a frame of Jelly 1.2, of which a few bytes can say that there are 134 million.
    options : StreamOptions or PatchOptions, optional
        Options of a stream that is read from the middle, where it does not repeat them: from a keyframe, or with ``state``
        from any frame.
    state : bytes, optional
        What `save` returned at that position.
    first_row, first_frame, offset : int, default 0
        Number of the statement, number of the frame and byte at which reading starts.
    patch : bool, default False
        Read Jelly-Patch instead of Jelly-RDF. Its Batches have the operations in ``op``, see `jelly.patch`.
    place : int, optional
        Position in a stream of patches at which reading starts, see `Encoder.place`.
    joined : bool, default False
        Read several streams joined with ``cat``: each options row begins another stream, which may have other options, so
        that Batches of triples and of quads may alternate. Without it such an input gives wrong statements, as with every
        reader of Jelly 1.1; where this is noticed there is a `JoinedWarning`.
    unknown_rows : {"error", "skip"}, default "error"
        What to do with a row of an unknown kind.
    strict : bool, default False
        Refuse what the specification advises against: quoted triples and generalized statements that the options do not
        announce, pairs of logical and physical type outside the recommended table, graphs in patches of triples, and
        namespaces without a graph at the start of a patch of quads. By default these are read; the first two kinds give an
        `OptionsWarning`.

    Raises
    ------
    JellyError
        If the input is wrong; the error gives frame, row and byte. The Decoder then raises it again at each call.
    JellyArgumentError
        If an argument is out of range.

    Notes
    -----
    Labels of blank nodes are given as they are, in all frames: whether their scope is the stream or the frame is for
    the caller to say, see `Reader`. With ``joined=True`` those of the joined streams are not told apart.

    Unstable: Jelly-RDF 1.2 (columns, ``max_frame_rows``) follows a schema that is not final.

    Examples
    --------
    >>> import jelly
    >>> data = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
    >>> decoder = jelly.Decoder()
    >>> [len(batch) for chunk in (data[:30], data[30:]) for batch in decoder.feed(chunk)] + list(decoder.close())
    [1]
    """
    options: StreamOptions | None  # of a patch PatchOptions
    quiet: bool  # no warnings: whoever sets it looks at restarts and at the statements
    def __new__(
        cls,
        *,
        delimited: bool | None = None,
        batch_rows: int = 32768,
        batch_bytes: int = ...,
        max_frame_bytes: int = ...,
        max_names: int = 4096,
        max_prefixes: int = 1024,
        max_datatypes: int = 256,
        max_frame_rows: int = 16777216,
        options: StreamOptions | PatchOptions | None = None,
        state: bytes | None = None,
        first_row: int = 0,
        first_frame: int = 0,
        offset: int = 0,
        patch: bool = False,
        place: int | None = None,
        joined: bool = False,
        unknown_rows: Literal["error", "skip"] = "error",
        strict: bool = False,
    ) -> Self: ...
    @property
    def frames(self) -> int:
        """Number of frames decoded to their end; of a log in columns (Jelly 1.2) the number of messages."""
    @property
    def place(self) -> int:
        """Position in a stream of patches when all Batches have been pulled, see `Encoder.place`."""
    @property
    def delimited(self) -> bool | None:
        """Whether the stream is delimited; None as long as that is not known."""
    @property
    def oddities(self) -> list[str]:
        """What was read of a patch though it should not be there, in words; ``strict`` refuses it."""
    @property
    def restarts(self) -> list[int]:
        """Where another stream seems to begin though the input is not read as ``joined``: frame, row and byte offset
        of the first such place, and how many there are; empty where there is none.
        """
    @property
    def restated(self) -> tuple[int, int, int] | None:
        """The last frame in columns (Jelly 1.2) that restated the options: its byte offset, the number of its first
        statement, its number as of `frames`. Reading can begin there with nothing of what was before. None before the
        first one, and one that ends a message does not count.
        """
    @property
    def in_message(self) -> bool:
        """Whether a message of a log in columns (Jelly 1.2) has rows and no end yet."""
    @property
    def whole(self) -> bool:
        """Whether Batches of a log in columns (Jelly 1.2) end where a message does, however long that is."""
    @whole.setter
    def whole(self, value: bool) -> None:
        """Whether Batches of a log in columns (Jelly 1.2) end where a message does, however long that is."""
    def pull(self, flush: bool = False) -> Batch | None: ...
    def decode_frame(self, data: Buffer) -> Batch:
        """Decode one frame without a length, for example a gRPC or Kafka message.

        Pass the frames of a stream in order, and do not call `push` or `feed`. ``batch_rows`` and ``batch_bytes`` do not apply.

        Parameters
        ----------
        data : bytes-like
            The frame.

        Returns
        -------
        Batch
            The statements of the frame, as a Batch with one frame.

        Raises
        ------
        JellyError
            If the frame is malformed. The Decoder then raises it again at each call.
        ValueError
            If the Decoder has been fed in another way.
        """
    def save(self) -> bytes:
        """Save the state between two frames, so that another Decoder can continue there.

        Returns
        -------
        bytes
            The state, for ``Decoder(options=..., state=...)``.

        Raises
        ------
        ValueError
            If the input ends inside a frame, or statements have not been pulled yet.
        """
    @property
    def offset(self) -> int:
        """Byte in the stream at which the next frame begins."""
    def feed(self, data: Buffer) -> Iterator[Batch]: ...
    def close(self) -> Iterator[Batch]: ...
