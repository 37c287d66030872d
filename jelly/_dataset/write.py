"""``jelly.write``: statements by a `Writer`, tables as a `Dataset`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from jelly._bytes.names import name_of
from jelly._core.algebra.select import select
from jelly._core.base.batch import Batch
from jelly._core.terms.batch_builder import BatchBuilder
from jelly._formats.registry import WRITING, Content, find
from jelly._options.layouts import LayoutWithValues
from jelly._options.options import StreamOptions
from jelly._options.settings import checked
from jelly._streams.outputs import COLLECT_ROWS
from jelly._streams.writer import Statement, Writer, iterate
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from typing import Protocol

    from typing_extensions import Unpack

    from jelly._options.keywords import WriteOptions

    class _Table(Protocol):
        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

    Statements: TypeAlias = Iterable[Statement] | Batch | _Table
else:
    Statements = Any  # looked at in `write`


@checked(WRITING)
def write(
    dst: Any,
    statements: Statements,
    options: StreamOptions | Mapping[str, Any] | None = None,
    *,
    layout: LayoutWithValues = "flat",
    **settings: Unpack[WriteOptions],
) -> int:
    """Write statements, or a table of statements.

    Parameters
    ----------
    dst : Any
        The output, as for `Writer`: a path, a URL of fsspec, or a binary file object; also a table (``.parquet``,
        ``.arrow``, ``.csv``).
    statements : iterable of Triple, Quad or sequences of terms; or table
        The statements. A table is one of pyarrow, polars, pandas or DuckDB, with the columns of a layout of
        `jelly.arrow`; in a file of a table also one of `wide`.
    options : StreamOptions or mapping, optional
        Options of a Jelly stream, or some of their fields.
    layout : {"flat", "ntriples", "typed"}, default "flat"
        Columns of a table that is written.
    **settings : Unpack[WriteOptions]
        Shared keywords, see `WriteOptions`.

    Raises
    ------
    JellyError
        See `Writer`. If writing fails, no partial file is left.

    Examples
    --------
    >>> import io, jelly
    >>> jelly.write(io.BytesIO(), jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    1
    """
    is_table = hasattr(statements, "__arrow_c_stream__") and not hasattr(statements, "write")
    items: Any = statements
    if not is_table and (isinstance(statements, str) or not isinstance(statements, Iterable | Batch)):
        raise JellyArgumentError(
            f"statements is {statements!r:.80}: expected an iterable of triples or quads, or a table;"
            " jelly.convert takes files"
        )
    target = find(settings.get("format"), name_of(dst), tables=True)
    if is_table or target.content is Content.TABLE:
        from jelly._bytes.workers import Workers
        from jelly._dataset.output import refuse_for_tables, write_table
        from jelly._dataset.scan import dataset_of

        given: dict[str, Any] = {**settings}
        given.pop("format", None)
        about = getattr(getattr(statements, "schema", None), "metadata", None)
        if target.content is Content.TABLE and isinstance(about, dict) and about.get(b"layout") == b"wide":
            from jelly._formats.table_files import write_table_file

            return write_table_file(dst, statements, kind=target.name)
        if is_table:
            made = dataset_of(statements).write(dst, to=target.name, options=options, layout=layout, **given)
            return made.statements
        threads = given.pop("threads", 1)
        refuse_for_tables(given | {"options": options})
        with Workers(threads) as workers:
            return write_table(dst, _batches(items), target, layout, workers)[0]
    with Writer(dst, options, **settings) as writer:
        writer.extend(items)
    return writer.statements


def _batches(statements: Iterable[Any]) -> Iterator[Batch]:
    builder, iterator, more = BatchBuilder(4), iterate(statements), True
    while more:
        more = builder.extend(iterator, COLLECT_ROWS)
        yield select(builder.batch, slice(None))
        builder.clear()  # but not of statements that it has taken ahead
