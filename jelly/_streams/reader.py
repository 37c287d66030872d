"""Reader: chooses the format, turns bytes into Batches and Batches into objects, and locates errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._core.ntriples.text import TextReader
from jelly._core.terms.materialize import Materializer, StatementIterator, read_whole
from jelly._core.terms.statements import Quad, Triple
from jelly._core.terms.term_adapter import TermAdapter
from jelly._formats.protocols import declared_in
from jelly._formats.registry import JELLY, NQ, NT, READING, VERSIONS, Content
from jelly._formats.sniff import HEAD, explain
from jelly._options.options import StreamOptions
from jelly._options.settings import checked, fitted
from jelly._streams.drain import drain
from jelly._streams.inputs import ItemReader
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from jelly._options.keywords import ReadOptions

Statement = Triple | Quad
# Keywords of all formats, for their readers.
_OF_ALL = {"delimited": None, "strict": False, "on_error": "raise"}

# Decoders of small messages, for the next ones.
_SPARE: list[Decoder] = []
# So many wait of each kind, here and in `writer`, and only after messages of so many bytes at the most.
SPARES = 4
MOST_SPARE = 1 << 14


class Reader(ItemReader[Statement]):
    """Read a stream of RDF in any format.

    Iterate over the Reader for statements, or call `frames` or `batches`. A Reader can be consumed only once, in one of
    these ways. Memory stays bounded, whatever the size of the input.

    Parameters
    ----------
    src : str, os.PathLike, OpenFile of fsspec, bytes-like, binary file object or iterable of bytes
        The input. ``"-"`` is standard input, a str with ``http://`` or ``https://`` the address of a body on the web:
        a server that sends no byte for 60 seconds, or those that the environment variable JELLY_TIMEOUT says, is a
        TimeoutError. Other URLs, such as ``s3://bucket/x.jelly``, are opened by fsspec. Files with the suffix
        ``.parquet``, ``.arrow`` or ``.csv`` are tables of statements (see `jelly.arrow`). Several sources are read by
        `read`, `find` and others, not here.
        gzip, zstd, bz2 and xz are recognised by the first bytes.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`: all but ``blank_nodes``, ``skolem_base`` and ``threads``. Lines that
        ``on_error="skip"`` skips are in ``skipped``.
        Unstable: ``rdf`` and ``star``, as RDF 1.2 is a draft.

    Raises
    ------
    JellyArgumentError
        If the format does not have one of the keywords.
    JellyError
        If the input is wrong; the message gives frame, row and byte, or line and column. Statements before the error
        are yielded first.

    Notes
    -----
    Blank node labels are returned unchanged, and the scope of a blank node is the input: in all frames the same
    label is the same node, and in another input it is another one, although equal in Python. Where each frame has a
    scope of its own, as in a message log, read with `jelly.messages`. In the formats of pyoxigraph, nodes without a
    label are ``anon0``, ``anon1`` and so on.

    ``max_frame_bytes``, ``max_line_bytes`` and ``max_row_bytes`` are raised to 16 times the size of the file if that is
    more, so that a file with one long literal can be read.

    Examples
    --------
    >>> import jelly
    >>> with jelly.Reader(b"<a:s> <a:p> <a:o> .", format="nt") as reader:
    ...     [str(statement) for statement in reader]
    ['<a:s> <a:p> <a:o> .']
    """

    @checked(READING, VERSIONS)
    def __init__(self, src: Any, **options: Unpack[ReadOptions]) -> None:
        given: dict[str, Any] = {**options}
        rdf, star = given.pop("rdf", None), given.pop("star", None)
        own = {name: given.pop(name, default) for name, default in _OF_ALL.items()}
        self._change = None
        if rdf is not None or star is not None:
            from jelly._streams.rdf_version import changes

            self._change = changes(rdf, star)
        self._open(src, Content.STATEMENTS, given, own, tables=True)
        # Whether a reader of quads is to be opened if there are some; the keywords for that.
        self._mixed = self.format.mixed and not given.get("quads")
        if rdf is not None and self.format in (NT, NQ):
            self._settings["rdf"] = rdf
            self._decoder = self.format.open_reader(**self._settings)

    @property
    def delimited(self) -> bool | None:
        """Whether the Jelly stream is delimited, or None for text and before that is known."""
        return getattr(self._decoder, "delimited", None)

    @property
    def base(self) -> str | None:
        """The base IRI that RDF Protobuf declares, or None. Nothing is resolved with it."""
        return getattr(self._decoder, "base", None)

    @property
    def statements(self) -> int:
        """Statements read so far."""
        return int(self._decoder.statements)

    def __repr__(self) -> str:
        where = f" of {self.source.name}" if self.source.name else ""
        return f"<jelly.Reader{where}: {self.format.title}, {self.statements} statements so far>"

    def __iter__(self) -> StatementIterator:
        return StatementIterator(self.uniform())

    def uniform(self) -> Iterator[Batch]:
        """Iterate over the Batches of the stream, like `batches`, all of them of triples or all of quads.

        A dataset in RDF Thrift or RDF Protobuf may begin with triples, which are its default graph. A path, bytes or
        a file that can seek is searched for quads first.

        Raises
        ------
        JellyOptionsError
            If a quad comes after triples that were yielded, from a source that can be read only once.
        """
        return self._of_one_kind() if self._mixed else self.batches()

    def _skim(self) -> None:
        """Check terms of lines and keep none of them, for who only looks for errors."""
        if type(self._decoder) is TextReader:
            self._decoder.skim()

    def _of_one_kind(self) -> Iterator[Batch]:
        if self._finds_quads():
            self._decoder = self.format.open_reader(**self._settings | {"quads": True})
        arity = 0
        for batch in self.batches():
            if arity == 3 < batch.arity:
                raise JellyOptionsError(
                    "a quad comes after triples, as in a dataset, and the source cannot be read twice: pass quads=True",
                    source=self.source.name or None,
                )
            arity = batch.arity
            yield batch

    def _finds_quads(self) -> bool:
        """Whether there is a quad, where the source can be read twice. Errors are raised when it is read."""
        scan = self.format.open_reader(**self._settings, scan=True)
        with contextlib.suppress(JellyError), self.source.ahead() as source:
            chunks = () if source is None else source.chunks()
            for _ in drain(scan, takewhile(lambda _: not scan.quads, chunks)):
                pass
        return bool(scan.quads)

    def _read(self) -> Iterator[Batch]:
        decoder = self._decoder
        # With rdf= a line VERSION holds for all lines after it.
        in_pieces = type(decoder) is TextReader and not self.source.is_live and "rdf" not in self._settings
        if self.workers is not None and in_pieces:
            from jelly._streams.text import PieceReader

            make = partial(self.format.open_reader, **self._settings)
            self._decoder = decoder = PieceReader(make, self.workers)
        elif self.workers is not None and hasattr(decoder, "workers"):
            decoder.workers = self.workers
        batches = super()._read()
        return batches if self._change is None else self._change(batches)

    def frames(self, library: TermAdapter | None = None) -> Iterator[Frame]:
        """Iterate over the frames of the stream, including empty ones. A text is one frame.

        Parameters
        ----------
        library : TermAdapter, optional
            Create the terms of this library (for example RDFLib) instead of ``jelly`` terms.
        """
        if self.format is JELLY:
            return frames_of(self.batches(), library=library)
        return iter([whole_frame(self.uniform(), library=library)])


class Framed:
    """Base of what is written as one frame: it has statements, metadata and namespaces."""

    __slots__ = ()

    metadata: Any
    namespaces: Any


class Frame(Framed):
    """One frame of a stream.

    Parameters
    ----------
    index : int
        Number of the frame in the stream, from 0.
    statements : list of Triple or Quad
        The statements of the frame, in order.
    metadata : dict of str to bytes, optional
        Metadata of the frame.
    namespaces : list of (str, str), optional
        Prefix and IRI of each namespace declaration in the frame.

    Examples
    --------
    >>> import jelly
    >>> data = jelly.dumps(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    >>> with jelly.Reader(data) as reader:
    ...     [(frame.index, len(frame), frame.metadata) for frame in reader.frames()]
    [(0, 1, {})]
    """

    __slots__ = ("index", "metadata", "namespaces", "statements")

    def __init__(
        self,
        index: int,
        statements: list[Statement],
        metadata: dict[str, bytes] | None = None,
        namespaces: list[tuple[str, str]] | None = None,
    ) -> None:
        self.index: int = index
        self.statements: list[Statement] = statements
        self.metadata: dict[str, bytes] = metadata or {}
        self.namespaces: list[tuple[str, str]] = namespaces or []

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.statements)

    def __len__(self) -> int:
        return len(self.statements)

    def __repr__(self) -> str:
        return f"<jelly.Frame {self.index}: {len(self.statements)} statements>"


def whole_frame(batches: Iterable[Batch], index: int = 0, library: TermAdapter | None = None) -> Frame:
    """All statements of Batches as one frame.

    They all stay in memory, so equal terms of ``jelly`` are one object: a prefix makes them as long as it likes.
    """
    whole = Frame(index, [])
    share: dict[Any, Any] = {}
    for batch in batches:
        statements = Materializer(batch, library).statements()
        if library is None:
            statements = [type(each)(*[share.setdefault(term, term) for term in each]) for each in statements]
        whole.statements += statements
        whole.namespaces += [(prefix, iri) for _, _, prefix, iri in batch.namespaces]
    return whole


def frames_of(batches: Iterable[Batch], index: int = 0, library: TermAdapter | None = None) -> Iterator[Frame]:
    """The frames of Batches of Jelly; the first frame has number ``index``."""
    statements: list[Statement] = []
    namespaces: list[tuple[str, str]] = []
    metadata: dict[str, bytes] = {}
    for batch in batches:
        terms = Materializer(batch, library)
        declared, described = declared_in(batch), batch.metadata
        row = 0
        for i, end in enumerate([*batch.frames.tolist(), None]):
            if end != row:  # there may be many empty frames
                statements += terms.statements(row, end)
            if declared:
                namespaces += declared.get(i, ())
            if described:
                metadata |= described.get(i, {})
            if end is None:
                break
            yield Frame(index, statements, metadata, namespaces)
            index += 1
            row = end
            statements, namespaces, metadata = [], [], {}


@checked(READING - {"format", "batch_rows"})
def read_options(src: Any, **options: Unpack[ReadOptions]) -> StreamOptions:
    """Read the stream options at the start of a Jelly stream. Only the beginning of the stream is decoded.

    Parameters
    ----------
    src : Any
        The input: a path, bytes, a binary file object or an iterable of chunks of bytes.
    **options : Unpack[ReadOptions]
        Shared keywords, see `ReadOptions`, except ``format`` and ``batch_rows``.

    Raises
    ------
    JellyError
        If the stream does not begin with valid options.

    Examples
    --------
    >>> import jelly
    >>> jelly.read_options(jelly.dumps([])).physical_type.name
    'TRIPLES'
    """
    settings: Any = options
    with Reader(src, format="jelly", batch_rows=1, **settings) as reader:
        for _ in reader.batches():  # the first may be of frames before the options; a log without messages has none
            if reader.options is not None:
                break
        found: StreamOptions | None = reader.options
    assert found is not None, "a stream without options is refused by the Decoder"
    return found


@checked(
    JELLY.reading - {"max_expansion"},
    {"delimited"},
    elsewhere={"format": "loads reads Jelly; use jelly.read(data, format=...)"},
)
def loads(data: Any, **options: Unpack[ReadOptions]) -> list[Statement]:
    """Read all statements of a Jelly stream in memory.

    Parameters
    ----------
    data : bytes-like
        The whole stream, not compressed. For other formats use ``jelly.read(data, format=...)``.
    **options : Unpack[ReadOptions]
        Shared keywords of Jelly, see `ReadOptions`.

    Raises
    ------
    JellyError
        If the data are not a valid Jelly stream.

    Examples
    --------
    >>> import jelly
    >>> jelly.loads(jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))]))
    [Triple(IRI('a:s'), IRI('a:p'), Literal('o'))]
    """
    if type(data) is not bytes:
        try:
            data = memoryview(data).cast("B")
        except TypeError:
            raise JellyArgumentError(f"data is {data!r:.80}: expected bytes") from None
    small = not options and len(data) <= MOST_SPARE
    try:  # threads take from it, too
        decoder = _SPARE.pop() if small else Decoder(**fitted({**options}, JELLY.reading, len(data)))
    except IndexError:
        decoder = Decoder()
    try:
        statements = read_whole(decoder, data)
    except JellyError as error:
        explain(error, bytes(data[:HEAD]), JELLY.name)
        raise
    if small and len(_SPARE) < SPARES and decoder._again():
        _SPARE.append(decoder)
    return statements
