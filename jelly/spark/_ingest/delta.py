"""What only tables of Delta have (extra ``delta``, no jar): a journal that is committed once, and compaction.

Tasks stage Parquet files as for any table. When all are done, the driver gives them their names, which nobody reads as
long as Delta's log does not have them, and writes the journal. Then one commit adds these files, removes those of
former tasks, and says by a transaction of Delta (``jelly.ingest``) which journal counts. So every reader sees the table
before or after it, and of two ingests at a time one fails.

A compaction changes no journal: files that are not in the log any more became those that no task has written. Spark
sorts the rows of a sorted table by ranges: its files become few of a target size, and no two files of a partition
overlap, so the statistics of files and row groups tell which to read.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from jelly._bytes.names import is_url
from jelly._formats.arrow_tables import pa
from jelly.errors import JellyError, need
from jelly.spark._ingest.buckets import PARTITION, Step, read, sorted_step
from jelly.spark._ingest.tasks import FOLDER, Tasks, file_names, journal_name, new_reports, staged_files
from jelly.spark._jobs import found_by, mapped
from jelly.spark._parts import Rows
from jelly.spark._parts.files import Directories
from jelly.spark._store import TEMPORARY, Json, Store

with need("delta", "tables of Delta need deltalake"):
    import deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
    from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The name of our transactions, and of what a commit says of itself.
_NAME = "jelly.ingest"
_COMPACT = "jelly.compact"
# Operations of others that change no statements.
_HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END", "FSCK", "SET TBLPROPERTIES")
# What fsspec calls the options of S3, and what Delta does.
_S3 = {
    "key": "AWS_ACCESS_KEY_ID", "secret": "AWS_SECRET_ACCESS_KEY", "token": "AWS_SESSION_TOKEN",
    "endpoint_url": "AWS_ENDPOINT_URL", "region_name": "AWS_REGION", "anon": "AWS_SKIP_SIGNATURE",
}  # fmt: skip
# Commits to try where others commit, too.
_TRIES = 20
# What deltalake takes for a part of a URL in a path of this machine: it panics, or looks in another directory.
_UNFIT = re.compile(r"[\[\]|^\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}" + r"|\\" * (os.sep == "/"))
_COLOUR = re.compile(r"\x1b\[\d*m")


class DeltaTasks(Tasks):
    """The tasks of a table of Delta.

    ``settings`` None stands for those that it was made with. JellyError if there are other files, if the table was made
    with other settings, or by no ingest.
    """

    def __init__(
        self, store: Store, settings: Json | None, schema: Any = None, column: str | None = None
    ) -> None:
        super().__init__(store)
        self._schema, self._keys = schema, [column] if column else []
        # The journal has the version of the table before it, too, and what others have done to its statements.
        self._state |= {"version": 0, "others": None}
        if not is_url(store.path) and (unfit := _UNFIT.search(store.path)):
            raise JellyError(f"deltalake knows no table in a directory with {unfit[0]!r} in its path", source=store.url)
        self._table = self._open()
        if self._table is not None:
            number = self._table.transaction_version(_NAME)
            if number is None:
                raise JellyError("the table of Delta was made by no ingest: use another directory", source=store.url)
            self._load(number, settings)
        elif settings is None:
            raise JellyError("there is no table of Delta", source=store.url)
        else:
            # A run that was killed before the first commit may have given files their names.
            ours = {name for report in new_reports(store, None, set()) for name in file_names(report)}
            if any(not name.startswith((f"{TEMPORARY}/", f"{FOLDER}/")) for name in store.files().keys() - ours):
                raise JellyError("the directory is not empty and is no table of Delta", source=store.url)
            self.settings = settings

    # ---- Delta

    @contextlib.contextmanager
    def _told(self, is_last: bool = False) -> Iterator[None]:
        """Within this, errors of Delta are JellyErrors on a line, if no other try may follow."""
        try:
            yield
        except (DeltaError, OSError) as error:
            if isinstance(error, TableNotFoundError) or isinstance(error, CommitFailedError) and not is_last:
                raise
            text = " ".join(_COLOUR.sub("", str(error)).split())
            raise JellyError(f"Delta: {text:.400}", source=self.store.url) from None

    @property
    def _storage(self) -> dict[str, str]:
        given = {**self.store.storage, **self.store.storage.get("client_kwargs", {})}
        names = _S3 if self.store.path.startswith(("s3://", "s3a://")) else {}
        made = {
            names.get(name, name): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in given.items() if isinstance(value, str | int)
        }  # fmt: skip
        if made.get("AWS_ENDPOINT_URL", "").startswith("http://"):
            made["AWS_ALLOW_HTTP"] = "true"
        return made

    def _open(self) -> deltalake.DeltaTable | None:
        try:
            with self._told():
                return deltalake.DeltaTable(self.store.path, storage_options=self._storage)
        except TableNotFoundError:
            return None

    def _active(self) -> dict[str, Json]:
        """The files of the table by their names, as Delta's log tells of them."""
        if self._table is None:
            return {}
        files = pa.table(self._table.get_add_actions()).to_pylist()
        return {unquote(file["path"]): file for file in files}

    def _is_ours(self) -> bool:
        """Whether the journal is still the one that counts. The table is the newest then."""
        self._table = self._open()
        return (0 if self._table is None else self._table.transaction_version(_NAME) or 0) == self._number

    def _commit(self, add: Sequence[AddAction], gone: Collection[str], number: int, **told: str) -> None:
        """Make a commit. JellyError if another ingest was first, or others have taken ``gone`` out of the table."""
        properties = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction(_NAME, number)],
            custom_metadata={_NAME: str(number), **told},
            # It holds for the files that the table has now: Delta does not look whether others removed one meanwhile.
            max_commit_retries=0,
        )
        for tries in range(_TRIES):
            if not self._is_ours():
                break
            active = self._active()
            if not active.keys() >= set(gone):
                raise self._overtaken()
            now = int(time.time() * 1000)
            remove = [
                RemoveAction(name, not told, now, active[name]["size_bytes"], active[name].get("partition") or {})
                for name in sorted(gone)
            ]  # fmt: skip
            with contextlib.suppress(CommitFailedError), self._told(tries + 1 == _TRIES):
                if self._table is not None:
                    self._table.create_write_transaction(
                        [*add, *remove], "append", self._table.schema(), self._table.metadata().partition_columns,
                        commit_properties=properties,
                    )  # fmt: skip
                else:
                    try:
                        create_table_with_add_actions(
                            self.store.path, deltalake.Schema.from_arrow(self._schema), list(add),
                            partition_by=self._keys, storage_options=self._storage, commit_properties=properties,
                        )  # fmt: skip
                    except DeltaError:
                        if self._open() is None:
                            raise
                        continue  # another has made it meanwhile
                self._table = self._open()
                return
        if self._table is None or self._table.transaction_version(_NAME) != number:  # its answer may be lost
            raise self._overtaken()

    # ---- tasks

    def drop(self, paths: Collection[str]) -> None:
        names = {name for name, report in self.tasks.items() if any(part[0] in paths for part in report["parts"])}
        if not names:
            return
        active = self._active().keys()
        rewritten = {name for name, report in self.tasks.items() if file_names(report) - active}
        if not rewritten.isdisjoint(names):
            if others := self._foreign():
                raise JellyError(
                    f"a source has changed or is gone, but nobody knows where its statements are, because others have "
                    f"changed the table ({others}): ingest into another directory", source=self.store.url,
                )  # fmt: skip
            self._former |= active - {file for report in self.tasks.values() for file in file_names(report)}
            names |= rewritten
        for name in names:
            report = self.tasks.pop(name)
            self._dropped |= {part[0] for part in report["parts"]}
            self._former |= file_names(report) & active

    def _foreign(self) -> str | None:
        """What others have done to statements of the table since its first ingest; None if nothing."""
        others: str | None = self._state["others"]
        if others is not None or self._table is None:
            return others
        since = self._table.version() - self._state["version"]
        with self._told():
            entries = self._table.history(since) if since else []
        for entry in entries:
            if not {_NAME, _COMPACT} & entry.keys() and entry.get("operation") not in _HARMLESS:
                return f"{entry.get('operation', 'a commit')} in version {entry['version']}"
        return None if len(entries) == since else "commits that its log does not have any more"

    def _publish(self, state: Json) -> int:
        if not self._is_ours():
            raise self._overtaken()
        self.store.publish(self.staged)
        # Greater than any before, and of no other run.
        number = max(int(time.time()), (self._number >> 30) + 1) << 30 | secrets.randbits(30)
        state |= {"version": 0 if self._table is None else self._table.version(), "others": self._foreign()}
        self.store.write_json(journal_name(number), state)
        adds = [add for name in sorted(self._ready) for add in self._adds(self.tasks[name])]
        self._commit(adds, self._former, number)
        return number

    def _adds(self, report: Json, is_new: bool = True) -> Iterator[AddAction]:
        for name, size in report["files"]:
            values = Directories(("",)).values(name)
            now = int(time.time() * 1000)
            yield AddAction(name, size, values, now, is_new, json.dumps(report["stats"][name], ensure_ascii=False))

    # ---- compaction

    @property
    def files(self) -> list[tuple[str, int]]:
        """The files of the table, with their sizes."""
        return sorted((name, file["size_bytes"]) for name, file in self._active().items())

    @property
    def order(self) -> str | None:
        """The columns by which the last change has sorted the whole table, with commas."""
        assert self._table is not None
        return self._table.history(1)[0].get(_COMPACT)

    def compact(self, target: int) -> tuple[int, int]:
        """Make few files of small ones. Return how many these were and are."""
        assert self._table is not None
        told = deltalake.CommitProperties(custom_metadata={_COMPACT: ""})
        try:
            with self._told():
                done = self._table.optimize.compact(target_size=target, commit_properties=told)
        except CommitFailedError:
            raise self._overtaken() from None
        return done["numFilesRemoved"], done["numFilesAdded"]

    def replace(self, files: Collection[str], reports: Sequence[Json], order: str) -> None:
        """Put the files of tasks in the place of others with the same statements."""
        self.store.publish([file for report in reports for file in staged_files(report)])
        adds = [add for report in reports for add in self._adds(report, is_new=False)]
        self._commit(adds, files, self._number, **{_COMPACT: order})


# ---- compaction of a sorted table

# Bytes of small files that a task reads.
_TASK_BYTES = 1 << 25

Files = Sequence[tuple[str, int]]  # with their sizes


def by_spark(
    run: Callable[[Step], Any],
    store: Store,
    files: Files,
    ranges: int,
    schema: pa.Schema,
    sort: Sequence[str],
    spark: SparkSession,
) -> list[Any]:
    """What ``run`` gives for each range of the rows of some files."""
    from pyspark import TaskContext
    from pyspark.sql import functions as F

    def write(rows: Rows) -> Any:
        context = TaskContext.get()
        assert context is not None
        return run(sorted_step(context.partitionId(), schema, rows))

    columns = ", ".join(f"{name} string" for name in (*schema.names, PARTITION))
    order = [F.col(name).asc_nulls_last() for name in (PARTITION, *sort)]
    n = min(len(files), -(-sum(size for _, size in files) // _TASK_BYTES))
    groups = [[name for name, _ in files[i::n]] for i in range(n)]
    rows = mapped(spark.range(0, n, 1, n), partial(read, store, schema, groups), columns)
    return found_by(rows.repartitionByRange(ranges, *order).sortWithinPartitions(*order), write)
