"""The `Encoder`: the Python class over encode. It turns its faults into exceptions."""

from typing_extensions import Self, disjoint_base

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions

@disjoint_base
class Encoder:
    """Encode Jelly: Batches in, bytes out.

    Parameters
    ----------
    options : StreamOptions or PatchOptions
        Options of the stream. Where they leave the physical type or the version open, the first Batch decides. With
        PatchOptions the Encoder writes Jelly-Patch and takes Batches of patches, see `jelly.patch`.
    frame_rows : int, optional
        Rows after which a frame ends (0: unlimited). In a grouped stream (``options.is_grouped``) frames end only where
        those of the Batches end. By default 256, lookup entries included. In version 3 (Jelly-RDF 1.2) the default is
        16384 statements, and a number given for a grouped stream puts messages together until a frame has that many.
    frame_bytes : int, default 1 MB
        Maximum bytes of a frame (0: unlimited). A larger statement has a frame of its own.
    delimited : bool, default True
        Write the length of each frame before it. False writes one frame without its length.
    keyframe_rows : int, default 0
        Statements from one keyframe to the next (0: no keyframes). A keyframe refers to nothing before it.
    keyframe : bool, default False
        Make the first frame a keyframe, so that a reader of another stream with these options can continue.
    skip_namespaces : bool, default False
        Leave out namespace declarations if the stream has version 1. By default they are an error there.
    independent : bool, default False
        Make each frame a stream of its own, with its options and without references to other frames, as values in Kafka
        are. Together they are joined streams.
    continued : bool, default False
        What is written continues a stream at a keyframe. The stream options are left out; in version 3 they come again.
    announced : str, default ""
        With ``continued`` in version 3: the RDF version that the stream has announced so far, where its options leave
        it open.
    place : int, default 0
        With ``continued`` in a stream of patches: where the part begins, see `place`.

    Raises
    ------
    JellyArgumentError
        If an argument is out of range, keyframes or independent frames are asked for in a stream that is not
        delimited, or ``announced`` or ``place`` is given for a stream that has none.

    Notes
    -----
    Labels of blank nodes are written as they are, in all frames: their scope is that of the Batches, see `Writer`.

    Examples
    --------
    >>> import jelly
    >>> batch = next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches())
    >>> encoder = jelly.Encoder(jelly.StreamOptions.small())
    >>> data = encoder.encode(batch) + encoder.close()
    >>> list(jelly.loads(data)) == list(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    True
    """
    options: StreamOptions  # of a patch PatchOptions
    takes_any: bool
    def __new__(
        cls,
        options: StreamOptions | PatchOptions,
        *,
        frame_rows: int | None = None,
        frame_bytes: int = ...,
        delimited: bool = True,
        keyframe_rows: int = 0,
        keyframe: bool = False,
        skip_namespaces: bool = False,
        independent: bool = False,
        continued: bool = False,
        announced: str = "",
        place: int = 0,
    ) -> Self: ...
    @property
    def announced(self) -> str:
        """The RDF version that the stream announces by now; "" before version 3 and before the first Batch."""
    @property
    def frames(self) -> int:
        """Number of frames finished so far."""
    @property
    def statements(self) -> int:
        """Number of statements taken so far; of a patch the number of rows, including the ends of patches."""
    def encode(self, batch: Batch, keep_frames: bool | None = None) -> bytes:
        """Encode a Batch.

        Parameters
        ----------
        batch : Batch
            The statements.
        keep_frames : bool, optional
            Whether a frame ends wherever a frame of the Batch ends. By default only in a grouped stream.

        Returns
        -------
        bytes
            The frames that are finished by now, often none.

        Raises
        ------
        JellyOptionsError
            If the options do not allow a statement of the Batch. The Encoder then raises it again at each call.
        """
    def _encode_part(self, batch: Batch, start: int, stop: int | None) -> bytes:
        """Encode some rows of a Batch, of which other streams have the rest. Frames of the Batch are not kept.

        Parameters
        ----------
        batch : Batch
            The statements.
        start : int
            The first row. Namespaces before it are left out, those at it are not.
        stop : int, optional
            The row before which to stop, and before the namespaces at it. By default the whole rest.

        Returns
        -------
        bytes
            The frames that are finished by now.
        """
    def encode_frames(self, batch: Batch, keep_frames: bool | None = None) -> list[bytes]:
        """Encode a Batch, like `encode`, as separate frames without lengths, as gRPC and Kafka send them.

        Parameters
        ----------
        batch : Batch
            The statements.
        keep_frames : bool, optional
            Whether a frame ends wherever a frame of the Batch ends. By default only in a grouped stream.

        Returns
        -------
        list of bytes
            The frames that are finished by now.

        Raises
        ------
        JellyOptionsError
            If the options do not allow a statement of the Batch. The Encoder then raises it again at each call.
        """
    @property
    def delimited(self) -> bool:
        """Whether each frame has its length before it."""
    @property
    def is_open(self) -> bool:
        """Whether rows or metadata wait for the end of their frame."""
    def cut(self) -> bytes:
        """Give all that was encoded, the frame that is open included; no graph or patch is ended.

        For a stream that is written again, see `repeat`: nothing can be encoded after it.

        Returns
        -------
        bytes
            The remaining frames.
        """
    def repeat(self, batch: Batch, open_end: bool = False) -> bytes:
        """Encode a Batch of a stream that this one replaces.

        Frames end where those of the Batch end and nowhere else.

        Parameters
        ----------
        batch : Batch
            The statements.
        open_end : bool, default False
            Let the last frame of the Batch go on.

        Returns
        -------
        bytes
            The frames that are finished by now.
        """
    def close_frames(self) -> list[bytes]:
        """End the stream, like `close`, with separate frames without lengths.

        Returns
        -------
        list of bytes
            The remaining frames.
        """
    @property
    def n_bytes(self) -> int:
        """Number of bytes of the frames finished so far."""
    @property
    def last_frame(self) -> int:
        """Byte offset of the frame that is held back."""
    @property
    def keyframe_rows(self) -> int:
        """Statements from one keyframe to the next; 0 without keyframes."""
    @property
    def keyframes(self) -> list[tuple[int, int, int, int]]:
        """Byte offset, statement number, frame number and `place` of each keyframe after the first frame."""
    @property
    def place(self) -> int:
        """Position in a stream of patches.

        It is 4 times the number of patches that have ended, plus 1 inside a patch, or plus 2 inside a transaction. It is 0 for
        Jelly-RDF. A FLAT patch never ends.
        """
    def finish(self) -> None:
        """End the last frame. With keyframes it is held back, so that `close` can add metadata to it."""
    def close(self, metadata: dict[str, bytes] | None = None) -> bytes:
        """End the stream.

        Parameters
        ----------
        metadata : dict of str to bytes, optional
            Metadata for the last frame. Only for streams with keyframes.

        Returns
        -------
        bytes
            The remaining frames. An empty stream is one frame with the options.

        Raises
        ------
        JellyArgumentError
            If there is metadata but the stream has no keyframes.
        """

def column_headers(options: StreamOptions) -> tuple[bytes, ...]:
    """The RdfStreamOptions messages of version 3, by the RDF version that they announce; see `column_state.pxd`."""
def options_row(options: StreamOptions) -> bytes:
    """The RdfStreamOptions message of some StreamOptions; fields that are zero are left out."""
def settled(options: StreamOptions, arity: int, namespaces: bool) -> tuple[StreamOptions, bytes]:
    """The options with nothing left open, and their row."""
def needed_version(batch: Batch) -> int:
    """The RDF version that terms of a Batch need, as its number in `RDF_VERSIONS`.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "o"@en--ltr .', format="nt").batches()
    >>> needed_version(batch)
    2
    """
def patch_options_row(options: PatchOptions) -> bytes:
    """The RdfPatchOptions message of some PatchOptions."""
