"""``jelly.scan``: the statements of one or several sources, read when something is asked of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack
from itertools import repeat
from typing import TYPE_CHECKING, Any

from jelly._bytes.names import name_of
from jelly._bytes.part_file import PartFolder, refuse_url
from jelly._bytes.source import Progress
from jelly._bytes.workers import Workers
from jelly._core.algebra.graph_ids import GraphDictionary
from jelly._core.base.batch import Batch
from jelly._core.terms.materialize import StatementIterator
from jelly._core.terms.model import IRI
from jelly._core.terms.statements import Quad, Triple
from jelly._dataset.conditions.pattern import Pattern, Selection, Wanted
from jelly._dataset.output import Conversion, Options, Tabular, write_dataset, write_stream
from jelly._dataset.seekable.file import Condition
from jelly._dataset.sources import Sources
from jelly._dataset.split import Names, Part, by_parts, by_size, by_term, check_ways
from jelly._dataset.steps.order import MEMORY, Sort, Unique
from jelly._dataset.steps.step import Items, Sample, Slice, Step, merged, refuse_places
from jelly._dataset.stream import Stream
from jelly._formats.registry import WRITING, find
from jelly._options.layouts import FolderLayout, LayoutWithValues
from jelly._options.settings import checked
from jelly._streams.inputs import READ_ROWS
from jelly._streams.reader import Frame
from jelly._streams.spool import Spool
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self, Unpack

    from jelly._dataset.ids.graph_ids import GraphIds
    from jelly._formats.arrow_tables import pa
    from jelly._options.keywords import WriteOptions

_WRITING, _TO = WRITING - {"format"}, {"format": "pass to=, the format of the output"}


class Dataset(Tabular):
    """The statements of one or several sources, as `scan` returns them, read when something is asked of them.

    Methods such as `filter`, `sort` and ``[a:b]`` add a step and return another Dataset; nothing is read for that.
    Iterate over a Dataset for statements, also with ``async for``, or call a method that reads: each reads the sources
    from their start; a pipe or iterator is an error the second time. Memory stays bounded, however long the input is.

    Where pyarrow, DuckDB or polars was imported before, it is a dataset of pyarrow, which DuckDB queries by its name
    and of which polars reads only the columns and rows that it needs; see `schema`, `to_table`, `to_batches` and
    `scanner`.

    Parameters
    ----------
    sources : Sources
        The sources. `scan` makes them.
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns for Arrow.
    threads : int, default 1
        Number of threads that read ahead.
    sorted_by : str, optional
        The order of sources that are merged.
    steps : tuple of callables
        What is done with the Batches, in order.

    Examples
    --------
    >>> import io, jelly
    >>> people = jelly.scan(b'<a:2> <a:name> "Bob" .\\n<a:1> <a:name> "Ann" .\\n<a:1> <a:knows> <a:2> .', format="nt")
    >>> [statement.o.value for statement in people.filter(p="a:name").sort()]
    ['Ann', 'Bob']
    >>> people.filter(where="o.kind = iri").count(), people[1:].count()
    (1, 2)
    >>> out = io.BytesIO()
    >>> people.sort("os").write(out, to="nt").statements
    3
    """

    def __init__(
        self,
        sources: Sources,
        layout: LayoutWithValues = "flat",
        threads: int = 1,
        sorted_by: str | None = None,
        steps: tuple[Step, ...] = (),
    ) -> None:
        self._sources = sources
        self._layout: LayoutWithValues = layout
        self._threads = threads
        self._sorted_by = sorted_by
        self._steps = steps

    def __repr__(self) -> str:
        steps = "".join(f", {getattr(step, '__name__', type(step).__name__.lower())}" for step in self._steps)
        first, *others = self._sources.each
        name = name_of(first) or type(first).__name__
        return f"<jelly.Dataset of {name}{f' and {len(others)} more' if others else ''}{steps}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._sources, self._layout, self._threads, self._sorted_by, self._steps)

    def _then(self, *steps: Step, threads: int | None = None) -> Self:
        threads = self._threads if threads is None else threads
        return type(self)(self._sources, self._layout, threads, self._sorted_by, steps)

    # ---- steps

    @checked()
    def filter(
        self,
        s: Wanted = None,
        p: Wanted = None,
        o: Wanted = None,
        g: Wanted = None,
        *,
        where: str | Iterable[str] = (),
        invert: bool = False,
    ) -> Self:
        """Keep the statements that match a pattern and meet conditions.

        Nothing is made of the others, so they cost little more than reading Batches. Of a Jelly file whose index has
        filters (see `Writer`), only the segments that may hold such statements are read.

        Parameters
        ----------
        s, p, o, g : term, str, IRIPrefix, Datatype, LanguageRange, or an iterable of these, optional
            The subject, predicate, object and graph, see `Pattern`.
        where : str or iterable of str, optional
            Conditions that must all hold: a place (``s``, ``p``, ``o``, ``g``), a dot, a property, ``=`` or ``!=``, and
            one value or several with ``|`` between them. Properties are ``kind`` (``iri``, ``blank``, ``literal``,
            ``quoted``, and ``default`` for the default graph), ``language`` (a language range: ``en`` is also
            ``en-GB``, ``*`` any language), ``datatype`` (an IRI, also with ``xsd:`` or ``rdf:``) and ``prefix`` (the
            start of the IRI). With ``!=`` it holds for all others, also those that have no such property.
        invert : bool, default False
            Keep the statements that do not match.

        Examples
        --------
        >>> import jelly
        >>> words = jelly.scan(b'<a:s> <a:p> "colour"@en .\\n<a:s> <a:p> "Farbe"@de .', format="nt")
        >>> [statement.o.value for statement in words.filter(p="a:p", where="o.language != en")]
        ['Farbe']
        """
        return self._then(*self._steps, Selection(Pattern(s, p, o, g), where, invert))

    @checked()
    def sort(self, by: str = "spog", *, memory: int = MEMORY) -> Self:
        """Sort the statements.

        Terms are ordered as those of Python are: the default graph, blank nodes, IRIs, literals, quoted triples, each
        by their text (code point by code point), literals with the same text by datatype and language. Statements that
        are equal in the places of ``by`` keep their order.

        Parameters
        ----------
        by : str, default "spog"
            Some of subject, predicate, object and graph, with commas, or their letters; the most important first.
        memory : int, default 256 MiB
            Approximate bytes of memory; the process itself takes some 80 MB more. Other statements go to temporary
            files, as Jelly: about the size of the output, for very large inputs twice that.

        Examples
        --------
        >>> import jelly
        >>> data = b"<a:b> <a:p> <a:x> .\\n<a:a> <a:p> <a:z> ."
        >>> [statement.s.value for statement in jelly.scan(data, format="nt").sort("sp")]
        ['a:a', 'a:b']
        """
        return self._then(*self._steps, Sort(by, memory))

    @checked()
    def unique(self, *, memory: int = MEMORY) -> Self:
        """Keep each statement once, at the place where it comes first.

        Straight after `sort`, or of sources sorted by all four places (see `scan`), no memory is needed for this; after
        `sort` places that the order does not name count after the others then.

        Parameters
        ----------
        memory : int, default 256 MiB
            Approximate bytes of memory for hashes of the statements. More of them go to temporary files.

        Examples
        --------
        >>> import jelly
        >>> jelly.scan(b"<a:s> <a:p> <a:o> .\\n<a:s> <a:p> <a:o> .", format="nt").unique().count()
        1
        """
        if self._steps and isinstance(last := self._steps[-1], Sort):
            return self._then(*self._steps[:-1], last.unique())
        # Else equal statements need not stand together, and others are equal in the order.
        if self._sorted_by is not None and {*"spog"} <= {*self._sorted_by} and not self._steps:
            return self._then(merged)
        return self._then(*self._steps, Unique(memory))

    @checked()
    def sample(self, rows: int | None = None, *, fraction: float | None = None, seed: int | None = None) -> Self:
        """Keep some statements, chosen by chance.

        Parameters
        ----------
        rows : int, optional
            The number of statements, or all if there are fewer. Twice as many are in memory.
        fraction : float, optional
            Instead of ``rows``, the chance of each statement, from 0 to 1. This takes no memory.
        seed : int, optional
            The same seed chooses the same statements of the same sources, on every machine. By default none does.

        Examples
        --------
        >>> import jelly
        >>> jelly.scan(b"<a:s> <a:p> <a:x> .\\n<a:s> <a:p> <a:y> .", format="nt").sample(1, seed=7).count()
        1
        """
        return self._then(*self._steps, Sample(rows, fraction, seed))

    @checked()
    def __getitem__(self, wanted: slice) -> Self:
        start, stop = wanted.start or 0, wanted.stop
        if wanted.step not in (None, 1) or start < 0 or (stop is not None and stop < 0):
            raise JellyArgumentError(f"{wanted} is no range of statements: expected a:b, both from the start")
        return self._then(*self._steps, Slice(start, stop))

    # ---- reading

    def __iter__(self) -> Iterator[Triple | Quad]:
        return StatementIterator(self._batches(self._fine, is_uniform=True))

    @property
    def _fine(self) -> Sources:
        """The sources, in small Batches where each statement becomes objects: they stay in the cache."""
        return self._sources if self._condition is not None else self._sources.but(batch_rows=READ_ROWS)

    async def __aiter__(self) -> AsyncIterator[Triple | Quad]:
        async for batch in Items(self, lambda it: it._batches(it._fine)):
            for statement in batch.statements():
                yield statement

    @checked()
    def batches(self, threads: int | None = None) -> Items[Batch]:
        """Iterate over Batches: statements as numpy arrays of term ids. Also with ``async for``.

        Parameters
        ----------
        threads : int, optional
            Number of threads that read ahead. By default that of `scan`.

        Examples
        --------
        >>> import jelly
        >>> [len(batch) for batch in jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()]
        [1]
        """
        return Items(self._then(*self._steps, threads=threads), lambda it: it._batches(it._sources))

    def frames(self) -> Items[Frame]:
        """Iterate over frames, including empty ones: in a grouped stream each is a graph or a dataset.

        A text is one frame. Also with ``async for``. JellyArgumentError after a step, which keeps no frames.

        Examples
        --------
        >>> import jelly
        >>> [len(frame) for frame in jelly.scan(jelly.dumps([])).frames()]
        [0]
        """
        if self._is_changed:
            raise JellyArgumentError("frames() is for sources as they are: a step keeps no frames")
        return Items(self, lambda it: Stream(it._sources).frames())

    @checked()
    def count(self, *, progress: Progress | None = None) -> int:
        """Count the statements, without making them.

        Parameters
        ----------
        progress : callable, optional
            See `jelly.convert`.

        Examples
        --------
        >>> import jelly
        >>> jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").count()
        1
        """
        if self._steps and isinstance(last := self._steps[-1], Selection):
            return sum(map(last.count, self._then(*self._steps[:-1])._batches(self._sources, last, progress=progress)))
        return sum(map(len, self._batches(self._sources, progress=progress)))

    @property
    def _condition(self) -> Selection | None:
        """The condition that sources may know something of."""
        return self._steps[0] if self._steps and isinstance(self._steps[0], Selection) else None

    def _batches(
        self,
        sources: Sources,
        condition: Condition | None = None,
        is_uniform: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[Batch]:
        as_is = len(sources.each) == 1 and not (is_uniform or self._steps or condition)
        source = self._stream(sources, self._threads, as_is=as_is)
        wanted = self._condition if self._steps else condition
        return self._run(source.batches(wanted) if progress is None else source.watched(progress, wanted))

    def _run(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        for step in self._steps:
            batches = step(batches)
        return batches

    # ---- other libraries

    def to_arrow(self, *, typed: bool = False, **columns: Any) -> pa.RecordBatchReader:
        """Make a stream of Arrow record batches, built as they are taken; ``read_all()`` makes a table of it.

        Parameters
        ----------
        typed : bool, default False
            Add columns for the values of literals: the layout "typed" of `jelly.arrow`.
        **columns : Any
            ``layout``, ``dictionary``, ``columns``, ``batch_rows`` and ``direction`` of `jelly.arrow.from_batches`.
            ``row``, ``frame`` and ``metadata`` are for sources as they are or filtered once, ``row`` for slices, too.

        Examples
        --------
        >>> import jelly
        >>> found = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").to_arrow(columns=["subject"])
        >>> found.read_all()["subject"].to_pylist()
        ['a:s']
        >>> ages = jelly.scan(b'<a:s> <a:age> "007"^^<http://www.w3.org/2001/XMLSchema#int> .', format="nt")
        >>> ages.to_arrow(typed=True).read_all().select(["object", "bigint"]).to_pylist()
        [{'object': '007', 'bigint': 7}]
        """
        from jelly._formats.arrow_tables import from_batches

        columns = {"layout": "typed" if typed else self._layout} | columns
        condition = self._condition if len(self._steps) == 1 else None
        if condition is not None:
            # Columns are made of the rows that match; no Batch of them is.
            return from_batches(self._then()._batches(self._sources, condition), keep=condition.rows, **columns)
        if self._is_changed:
            refuse_places(columns.get("columns") or (), self._steps, is_merge=self._sorted_by is not None)
        return from_batches(self.batches(), **columns)

    @checked()
    def wide(
        self,
        cls: Wanted = None,
        *,
        typed: bool = True,
        max_columns: int = 1000,
        memory: int = MEMORY,
        progress: Progress | None = None,
    ) -> pa.RecordBatchReader:
        """Make a table with a row for each subject and a column for each predicate: see `jelly.wide`.

        Parameters
        ----------
        cls : IRI, str, or an iterable of these, optional
            Take only the subjects that are of one of these classes.
        typed : bool, default True
            Make columns of values.
        max_columns : int, default 1000
            Maximum predicates.
        memory : int, default 256 MiB
            Approximate bytes of memory.
        progress : callable, optional
            See `write`.

        Examples
        --------
        >>> import jelly
        >>> data = b'<a:1> <a:name> "Ann" .\\n<a:1> <a:knows> <a:2> .\\n<a:2> <a:name> "Bob" .'
        >>> jelly.scan(data, format="nt").filter(p="a:name").wide().read_all().to_pylist()
        [{'subject': 'a:1', 'name': 'Ann'}, {'subject': 'a:2', 'name': 'Bob'}]
        """
        from jelly._dataset.tables.wide import wide_table

        classes = None if cls is None else [term.value for term in Pattern(o=cls).o or () if isinstance(term, IRI)]
        batches = self._batches(self._sources, is_uniform=True, progress=progress)
        return wide_table(batches, classes, typed, max_columns, memory)

    @checked()
    def to_ids(
        self,
        *,
        dictionary: GraphDictionary | str | os.PathLike[str] | None = None,
        literals: bool = True,
        apart: bool = True,
        dtype: npt.DTypeLike = "int32",
    ) -> GraphIds:
        """Read the statements as arrays of ids: equal terms have one id, over all sources, from 0 without gaps.

        Memory: 12 bytes for a statement (16 for a quad, twice that with int64), and for each distinct term its text and
        40 to 80 bytes. No Python object is made for a term or a statement. Blank nodes of different paths are
        different nodes, those of one path the same in each call, unless ``blank_nodes="keep"`` was given.

        Parameters
        ----------
        dictionary : GraphDictionary or path, optional
            The ``dictionary`` of an earlier result, or a directory that was written with ``layout="ids"``: terms keep
            the ids that they have there, and new ones follow. It grows by this call.
        literals : bool, default True
            Take statements with literals. Without them literals are no nodes.
        apart : bool, default True
            Give predicates ids of their own, from 0. Otherwise a predicate is a node, too.
        dtype : data type, default int32
            int32 or int64. There are at most 2^31 ids; more are a JellyLimitError.

        Examples
        --------
        >>> import jelly
        >>> files = [[b"<a:x> <a:p> <a:y> ."], [b'<a:y> <a:p> "text" .\\n<a:y> <a:q> <a:z> .']]
        >>> ids = jelly.scan(files, format="nt").to_ids(literals=False)
        >>> ids.edge_index.tolist(), ids.p.tolist(), ids.terms()
        ([[0, 1], [1, 2]], [0, 1], ['<a:x>', '<a:y>', '<a:z>'])
        """
        from jelly._dataset.ids.graph_ids import to_ids

        batches = self._batches(self._sources.scoped())
        return to_ids(batches, dictionary, literals=literals, apart=apart, dtype=dtype)

    # ---- writing

    @checked(_WRITING, elsewhere=_TO)
    def write(
        self,
        dst: Any,
        *,
        to: str | None = None,
        options: Options = None,
        layout: LayoutWithValues | FolderLayout | None = None,
        max_columns: int = 1000,
        memory: int = MEMORY,
        drop_graphs: bool = False,
        progress: Progress | None = None,
        **writing: Unpack[WriteOptions],
    ) -> Conversion:
        """Write the statements to a file, in any format.

        Without steps, Jelly written from Jelly keeps the stream options (of several sources those of the first, as wide
        as all need), namespaces and metadata, and it keeps the frames where they have a meaning (grouped streams,
        frames with metadata). After a step it is a flat stream with those options and namespaces. Jelly written from
        other formats is a flat stream.

        ``options={"version": 3}`` writes Jelly-RDF 1.2 (see `StreamOptions`), which is also written from Jelly-RDF 1.2
        unless you ask for ``{"version": 2}`` or read with ``star=``. In both directions grouped streams become streams
        of messages, and the reverse. A quoted triple of RDF-star and a triple term of RDF 1.2 become each other only
        with ``star=``.

        Parameters
        ----------
        dst : str, os.PathLike or binary file object
            The output, as for `Writer`; also a table (``.parquet``, ``.arrow``, ``.csv``), and for the layout ``"ids"``
            a directory.
        to : str, optional
            Format of the output. By default the suffix decides.
        options : StreamOptions or mapping, optional
            Options of the Jelly stream that is written, or only the fields that change.
        layout : {"flat", "ntriples", "typed", "ids", "property-graph"}, optional
            Columns of a table, by default those of the Dataset. ``"ids"``: two tables in a directory.
            ``triples.parquet`` has the columns ``subject``, ``predicate``, ``object`` and ``graph`` (null in the
            default graph) of numbers, ``terms.parquet`` has ``id``, ``kind``, ``value``, ``datatype`` and ``lang``. Ids
            are 0, 1, 2 ... in the order of the terms. ``"property-graph"``: ``nodes.csv`` and ``relationships.csv``
            in a directory, with heads for ``neo4j-admin database import``. A node is a subject, or an object that is
            no literal: ``id`` is its text, its labels are its classes, its properties literals, with the names and
            types that `wide` gives columns (xsd:decimal is text). U+001F stands between the values of a list. All
            other statements are relationships. Graphs do not count.
        max_columns : int, default 1000
            Maximum properties of a property graph; more are a JellyLimitError.
        memory : int, default 256 MiB
            Approximate bytes of memory for sorting the statements of a property graph, see `sort`.
        drop_graphs : bool, default False
            Write all statements as triples. A statement of two graphs is written twice.
        progress : callable, optional
            Called after each Batch with the bytes read, the total bytes (None if unknown) and the number of statements.
        **writing : Unpack[WriteOptions]
            Shared keywords: see `WriteOptions`. ``prefixes`` are declared before those of the sources, in any format
            that has them.

        Raises
        ------
        JellyArgumentError
            If a keyword does not go with the formats.
        LateError
            If named graphs, namespaces, quoted triples or generalized statements appear after the output has started,
            and the output cannot be written again, or the caller chose options without them. The message names the
            options to pass. A file is written again with wider options.
        JellyError
            If the input is wrong. The unfinished output file is removed.

        Examples
        --------
        >>> import io, jelly
        >>> out = io.BytesIO()
        >>> jelly.scan(b'<a:s> <a:p> "o" .', format="nt").write(out).statements
        1
        >>> text = io.BytesIO()
        >>> jelly.scan(out.getvalue()).write(text, to="nt").statements, text.getvalue()
        (1, b'<a:s> <a:p> "o" .\\n')
        """
        how: dict[str, Any] = {"options": options, "drop_graphs": drop_graphs, **writing}
        return write_dataset(self, dst, to, layout, progress, how, max_columns, memory)

    @property
    def _is_changed(self) -> bool:
        """Whether the statements are not those of one source after the other, so that frames have no meaning."""
        return bool(self._steps) or self._sorted_by is not None

    @property
    def _knows_all(self) -> bool:
        return any(getattr(step, "needs_all", False) for step in self._steps)

    def _stream(self, sources: Sources, threads: int | Workers, **how: Any) -> Stream:
        return Stream(sources, threads, self._sorted_by, merged in self._steps, **how)

    @checked(_WRITING, elsewhere=_TO)
    def split(
        self,
        dst: str | os.PathLike[str],
        *,
        rows: int | None = None,
        parts: int | None = None,
        by: str | None = None,
        max_files: int = 1000,
        memory: int = MEMORY,
        to: str | None = None,
        options: Options = None,
        progress: Progress | None = None,
        **writing: Unpack[WriteOptions],
    ) -> list[Part]:
        """Write the statements to several files. They get their names when all are complete: on an error there is none.

        Parameters
        ----------
        dst : str or os.PathLike
            The names of the files: ``{}`` stands for the number of the file, or for a short name of its term. Without
            it ``-{}`` stands before the suffix.
        rows : int, optional
            Statements of each file; the last one has the rest.
        parts : int, optional
            The number of files, of sizes that differ by one statement at most. The statements are in a temporary file
            before.
        by : {"subject", "predicate", "object", "graph"}, optional
            One file for each term in this place, in the order of the terms; statements keep their order in it. They are
            sorted for that, see `sort`. A blank node may be in several files: with the same label.
        max_files : int, default 1000
            With ``by``: more terms are a JellyLimitError, before anything is written.
        memory : int, default 256 MiB
            See `sort`.
        to : str, optional
            Format of the output. By default the suffix decides.
        options : StreamOptions or mapping, optional
            See `write`.
        progress : callable, optional
            See `write`.
        **writing : Unpack[WriteOptions]
            Shared keywords: see `WriteOptions`.

        Returns
        -------
        list of Part
            The files, with their statements and terms. No statements are no file.

        Examples
        --------
        >>> import jelly, os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> data = b"<a:s> <a:p#name> <a:o> .\\n<a:s> <a:p#age> <a:o> .\\n<a:t> <a:p#name> <a:o> ."
        >>> made = jelly.scan(data, format="nt").split(os.path.join(folder, "{}.jelly"), by="predicate")
        >>> [(os.path.basename(part.path), part.statements, part.term) for part in made]
        [('age.jelly', 1, IRI('a:p#age')), ('name.jelly', 2, IRI('a:p#name'))]
        """
        check_ways(rows, parts, by, max_files)
        how: dict[str, Any] = {**writing, "known": self._knows_all or rows is None, "options": options}
        target, names = find(to, name_of(dst), tables=True), Names(dst)
        refuse_url(names.folder)  # before anything is read
        made: list[Part] = []
        with Workers(how.pop("threads", None) or self._threads) as workers, ExitStack() as stack:
            source = self._stream(self._sources, workers)
            batches = self._run(source.watched(progress, self._condition))
            if by is not None:
                pieces = by_term(batches, by[0], max_files, memory)
            elif parts is not None:
                pieces = by_parts(batches, parts, Spool(memory // 4, stack))
            else:
                pieces = by_size(batches, repeat(rows or 0))
            folder = stack.enter_context(PartFolder(names.folder))
            for label, term, some in pieces:
                path = names.of(label)
                n, _ = write_stream(folder.of(path), some, source, target, flat=True, workers=workers, **how)
                made.append(Part(path, n, term))
            folder.commit(part.path for part in made)
        return made
