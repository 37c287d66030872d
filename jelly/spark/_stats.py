"""``jelly spark stats``: the counts of `jelly.stats`, computed and merged on executors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal

from jelly._dataset.blank_node_scope import BlankNodes, Mode
from jelly._options.settings import checked
from jelly.errors import JellyError
from jelly.spark._partitions import Part, split
from jelly.spark._parts.directories import Directories
from jelly.spark._parts.files import READING_LIMITS, absolute, find_sources
from jelly.spark._reading import read_batches
from jelly.spark._session import described, on_executors, plain_error, session
from jelly.stats import MAX_KEYS, Counting, Stats

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["stats"]

Counted = tuple[Counting, list[JellyError]]


@checked(READING_LIMITS)
def stats(
    src: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    spark: SparkSession | str | None = None,
    conf: Mapping[str, str] | None = None,
    top: int = 20,
    max_keys: int = MAX_KEYS,
    on_error: Literal["fail", "skip"] = "fail",
    skip_unknown: bool = False,
    allow_empty: bool = False,
    split_bytes: int | None = None,
    pattern: str | None = None,
    format: str | None = None,
    storage: Mapping[str, Any] | None = None,
    blank_nodes: Mode = "scope",
    skolem_base: str | None = None,
    partitions: bool = True,
    **limits: Any,
) -> tuple[Stats, list[JellyError], list[str]]:
    """Count the terms of the statements of many files, on executors. ``jelly spark stats`` is the command.

    Parameters
    ----------
    src : str, path or iterable of those
        Files, directories, patterns or URLs, as for the data source "jelly".
    spark : SparkSession or str, optional
        A session, or the master to start one on, see `ingest`.
    conf : mapping, optional
        Settings of Spark for a session that is started.
    top : int, default 20
        Entries in each list.
    max_keys : int, default 1000000
        See `jelly.stats.stats`. Runs of statements end where a task does.
    on_error : {"fail", "skip"}, default "fail"
        Whether broken input fails, or is skipped and told.
    skip_unknown : bool, default False
        Leave out files with the suffix of no format, which are an error otherwise.
    allow_empty : bool, default False
        Accept that there are no files to read.
    split_bytes : int, optional
        Bytes of sources per task; see ``splitBytes`` of the data source.
    pattern : str, optional
        Read only files with such names.
    format : str, optional
        The format of all files.
    storage : mapping, optional
        Options of fsspec for URLs.
    blank_nodes : {"scope", "keep", "skolemize"}, default "scope"
        See ``blankNodes`` of the data source: by default blank nodes of different files are different nodes, also if
        they have the same label.
    skolem_base : str, optional
        The IRI before the labels of ``"skolemize"``.
    partitions : bool, default True
        Whether directories such as ``graph=...`` say the graph of their files.
    **limits : Any
        Limits of reading, of any format, such as ``max_line_bytes``: see `jelly.Reader`.

    Returns
    -------
    Stats, list of JellyError, list of str
        The counts, the errors that ``on_error="skip"`` skipped, and the files that ``skip_unknown`` left out.

    Raises
    ------
    JellyError
        As for `jelly.spark.ingest`.

    Examples
    --------
    >>> def predicates(sources):
    ...     return stats(sources, spark="local[2]")[0].predicates.top
    """
    labels = BlankNodes(blank_nodes, skolem_base)
    places = Directories(tuple(absolute(src)), partitions)
    files, unknown = find_sources(
        absolute(src),
        pattern=pattern,
        format=format,
        storage=storage,
        skip_unknown=skip_unknown,
        skip_errors=on_error == "skip",
        allow_empty=allow_empty,
    )
    left_out = [file.path for file in unknown]
    tasks = split(files, split_bytes, format=format, storage=storage, directories=places, limits=limits)
    if not tasks:
        return Counting(max_keys).result(top), [], left_out
    read: Callable[..., Any] = partial(
        read_batches, format=format, storage=dict(storage or {}), blank_nodes=labels, limits=limits
    )
    with session(spark, conf) as running:
        counting = partial(_count, read, max_keys, on_error == "skip")
        with described(running, "jelly spark stats", files):
            try:
                counted, errors = reduce(_merge, on_executors(running, counting, tasks, _merge))
            except Exception as error:
                raise plain_error(error) from None
    if on_error == "fail" and errors:
        raise errors[0]
    return counted.result(top), errors, left_out


def _count(read: Callable[..., Any], max_keys: int, skip: bool, task: list[Part]) -> Counted:
    counting = Counting(max_keys)
    errors: list[JellyError] = []
    try:
        for part in task:
            for batch in read(part, errors=errors if skip else None):
                counting.add(batch)
    except JellyError as error:
        # The error is a result: Spark would try the task again, which would fail too.
        return Counting(max_keys), [error]
    return counting, errors


def _merge(one: Counted, two: Counted) -> Counted:
    one[0].merge(two[0])
    return one[0], one[1] + two[1]
