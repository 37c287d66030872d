"""Jobs on Spark: a session for them, tasks on its executors, their errors; and the job that counts, `stats`."""

from __future__ import annotations

import math
import os
import pickle
import re
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jelly._formats.arrow_tables import pa
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError, JellyOptionsError, MissingExtraError, need
from jelly.spark._parts import Part, Reading
from jelly.spark._parts.files import OF_MANY, Directories, File, Paths

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Unpack

    from jelly._options.keywords import SourceOptions
    from jelly.stats import Counting, Stats

    _Counted = tuple[Counting, list[JellyError]]

# The master of a session that is started where nothing names one.
MASTER = "local[*]"

# Seconds that a master has to answer.
_PATIENCE = 10
# Characters of an error of Spark.
_LONGEST = 400

# A master of one process, with its threads.
_LOCAL = re.compile(r"local(?:\[(\d+|\*)[^]]*\])?$")
# An exception in the text of an error of Spark, which holds traces of Python and of the JVM.
_RAISED = re.compile(r"^(?:: )?(?:\w+\.)*(\w*(?:Error|Exception)): (.*)$", re.M)

# The property of a thread that the UI shows.
_DESCRIPTION = "spark.job.description"

# The module that workers need first, and sessions whose workers have it.
_NEEDED = "jelly.spark._source"
_checked: set[tuple[str, str]] = set()

# Spark prints a line about its logging, unless logging is configured before it starts.
_LOGGING = """
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex{1}
"""


def _running() -> SparkSession | None:
    """The session that this process has; None if there is none."""
    if "pyspark" not in sys.modules:
        return None
    import pyspark
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    # The client of Spark Connect alone has no contexts.
    if getattr(getattr(pyspark, "SparkContext", None), "_active_spark_context", None) is not None:
        # Also where another thread made the session, or nobody made one of this context.
        return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    try:
        found = SparkSession.active()  # of Spark Connect, or one whose context was stopped
    except PySparkRuntimeError:
        return None
    return None if isinstance(found, SparkSession) else found


def _checked_session(spark: Any) -> SparkSession:
    if not hasattr(spark, "conf"):
        raise JellyArgumentError(f"spark is {spark!r:.80}: expected a SparkSession, a master or None")
    session: SparkSession = spark
    return session


def cores(spark: SparkSession | str | None) -> int | None:
    """The cores of a session or a master; None of a master that has to be asked.

    >>> cores("local[3]"), cores("spark://there:7077")
    (3, None)
    """
    spark = _running() or MASTER if spark is None else spark
    if not isinstance(spark, str):
        context = _context(_checked_session(spark))
        return None if context is None else int(context.defaultParallelism)
    found = _LOCAL.match(spark)
    if found is None:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


@contextmanager
def session(spark: SparkSession | str | None, conf: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Use a session, or that of this process, or start one on a master, which is stopped at the end: quiet, with this
    Python for its workers.

    None is the session of this process, or if there is none one on `MASTER`. ``conf`` are further settings of Spark for
    a session that is started. MissingExtraError where PySpark is not installed, JellyOptionsError where the session of
    this process has another master: a process has one, and it stays as it is.

    >>> def cores():
    ...     with session("local[2]") as spark:
    ...         return spark.sparkContext.defaultParallelism
    """
    running = _running() if spark is None or isinstance(spark, str) else _checked_session(spark)
    if running is not None:
        if isinstance(spark, str) and spark != (other := running.conf.get("spark.master", "")):
            raise JellyOptionsError(
                f"a session of Spark runs in this process on {other}, so none can start on {spark}: leave out the "
                "master to use that session, or stop it first"
            )
        yield running
        return
    master = MASTER if spark is None else str(spark)
    with need("spark-local", "Spark needs pyspark"):
        from pyspark.sql import SparkSession
    _check_java()
    _check_master(master)
    if master.startswith("local"):
        # The workers of a cluster have their own interpreter.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings: dict[str, Any] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.unix.domain.socket.enabled": "true",
    }
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, warnings.catch_warnings():
        logging = Path(folder, "log4j2.properties")
        logging.write_text(_LOGGING, "utf-8")
        # As a URI it has no blanks, which Java options cannot hold.
        settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={logging.as_uri()}"
        builder = SparkSession.builder.master(master).appName("jelly").config(map=settings | dict(conf or {}))
        warnings.simplefilter("ignore", FutureWarning)  # warnings of PySpark about pandas
        try:
            started = builder.getOrCreate()
        except Exception as error:
            raise JellyError(f"Spark did not start on {master}: {_summary(error)}") from error
    try:
        yield started
    finally:
        started.stop()


def _context(spark: SparkSession) -> SparkContext | None:
    """The context of a session; None under Spark Connect, which has none."""
    from pyspark.errors import PySparkException

    try:
        return spark.sparkContext
    except PySparkException:
        return None


def on_executors(
    spark: SparkSession,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    merge: Callable[[Any, Any], Any] | None = None,
) -> list[Any]:
    """The results of a function for some items, each computed by a task; or with ``merge`` fewer, merged by others.

    It also works under Spark Connect. A task that fails is an error of Spark.

    >>> def sizes(spark, files):
    ...     return on_executors(spark, lambda file: file.size, files)
    """
    # Each task gets all of them, and unpacks its own.
    packed = [pickle.dumps(item) for item in items]
    n = len(packed)

    def compute(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield function(pickle.loads(packed[number]))

    def merged(batches: Iterator[Any]) -> Iterator[Any]:
        made = [value for batch in batches for value in batch.column(0).to_pylist()]
        if made and merge is not None:
            yield reduce(merge, map(pickle.loads, made))

    # A range has a partition for each number.
    found = _pickled(spark.range(0, n, 1, n), compute)
    return _unpickled(found if merge is None else _pickled(found.repartition(math.isqrt(n)), merged))


def mapped(df: DataFrame, function: Callable[[Iterator[Any]], Iterator[Any]], columns: str) -> DataFrame:
    """The record batches that a function makes of those of each partition. Nothing is said of pandas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return df.mapInArrow(function, columns)


def found_by(df: DataFrame, function: Callable[[Iterator[Any]], Any]) -> list[Any]:
    """What a function finds in the record batches of each partition."""
    return _unpickled(_pickled(df, lambda batches: [function(batches)]))


def _pickled(df: DataFrame, function: Callable[[Iterator[Any]], Iterable[Any]]) -> DataFrame:
    """A row for each thing that a function finds in the record batches of a partition."""
    def look(batches: Iterator[Any]) -> Iterator[Any]:
        for found in function(batches):
            yield pa.RecordBatch.from_pydict({"found": [pickle.dumps(found)]})

    return mapped(df, look, "found binary")


def _unpickled(found: DataFrame) -> list[Any]:
    return [pickle.loads(row[0]) for row in found.collect()]


@contextmanager
def described(spark: SparkSession, what: str, files: Collection[File]) -> Iterator[None]:
    """Within this, Spark's UI shows what the jobs and stages of this thread are, and how much they read.

    >>> def count(spark, rdd, files):
    ...     with described(spark, "count", files):
    ...         return rdd.count()
    """
    context = _context(spark)
    if context is None:
        yield
        return
    before = context.getLocalProperty(_DESCRIPTION)
    size = sum(file.size for file in files) / 1e6
    context.setLocalProperty(_DESCRIPTION, f"{what}: {len(files):,} files, {size:,.1f} MB" if files else what)
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # type: ignore[arg-type] # None removes it


def _check_java() -> None:
    """JellyError without Java: PySpark itself only says that its process has ended."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=os.path.join(home, "bin") if home else None) is None:
        raise JellyError(
            f"JAVA_HOME is {home}, but there is no bin/java: expected the directory of Java 17 or later" if home else
            "Spark needs Java 17 or later: there is no java on PATH, and JAVA_HOME is not set"
        )  # fmt: skip


def _check_master(master: str) -> None:
    """JellyError if no standalone master answers: Spark itself tries for a minute."""
    places = [place.rpartition(":") for place in master.removeprefix("spark://").split(",")]
    are_known = all(host and port.isdecimal() and port.isascii() for host, _, port in places)
    if not master.startswith("spark://") or not are_known:
        return  # Spark judges it
    reasons = []
    for host, _, port in places:
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
        except (OSError, OverflowError) as error:
            reasons.append(f"{host}:{port}: {getattr(error, 'strerror', None) or error}")
        else:
            return
    raise JellyError(f"no Spark master answers ({'; '.join(reasons)}): is it running, and is this its address?")


def check_workers(spark: SparkSession) -> None:
    """MissingExtraError if the Python of the workers cannot import this package.

    One task tries it, once for a session, unless the workers run on this machine with this Python.
    """
    context = _context(spark)
    if context is None:
        whose, hint = "", ""
        session = spark.session_id, ""  # type: ignore[attr-defined] # of Spark Connect
    else:
        python, master = context.pythonExec, context.master or ""
        whose = f" ({python})"
        hint = (
            f", or choose another Python before the session starts: os.environ['PYSPARK_PYTHON'] = {sys.executable!r}"
        )
        session = context.applicationId, python
        is_own = os.path.dirname(shutil.which(python) or "") == os.path.dirname(sys.executable)
        if is_own and master.startswith("local"):
            return
    if session in _checked:
        return

    def probe(module: str) -> None:
        import_module(module)

    try:
        on_executors(spark, probe, [_NEEDED])
    except Exception as error:
        raise MissingExtraError(
            f"the Python of Spark's workers{whose} cannot import jelly: {_summary(error)}. "
            f"Install jelly-rdf[spark] there{hint}"
        ) from None
    _checked.add(session)


def _summary(error: BaseException) -> str:
    """The error of Spark, on a line: the first error that is not one of its wrappers, else the first."""
    text = str(error)
    found = _RAISED.findall(text)
    own = [f"{name}: {why}" for name, why in found if not name.startswith(("Py4J", "Spark", "PythonException"))]
    first = own[0] if own else found[0][1] if found else text.partition("\n")[0]
    return first if len(first) <= _LONGEST else first[:_LONGEST] + "..."


def plain_error(error: BaseException) -> BaseException:
    """The error of a worker, without the traces of Python and of the JVM.

    >>> str(plain_error(ValueError("one\\nOSError: [Errno 28] No space left on device\\n at java")))
    'a task failed: OSError: [Errno 28] No space left on device'
    """
    if not _RAISED.search(str(error)) and not type(error).__module__.startswith(("py4j", "pyspark")):
        return error
    failure = JellyError(f"a task failed: {_summary(error)}")
    failure.__cause__ = error
    return failure


# ---- the counts of `jelly.stats`, computed and merged on executors


@checked(OF_MANY)
def stats(
    src: Paths,
    *,
    spark: SparkSession | str | None = None,
    conf: Mapping[str, str] | None = None,
    top: int = 20,
    max_keys: int = 1_000_000,  # of jelly.stats, which takes workers of other jobs 0.1 s to import
    **options: Unpack[SourceOptions],
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
    **options : Unpack[SourceOptions]
        Shared keywords: see `SourceOptions`.

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
    from jelly.stats import Counting

    reading = Reading.of(options)
    paths, files, left_out = reading.sources(src, options.get("allow_empty", False))
    directories = Directories(tuple(paths), options.get("partitions", True))
    tasks = reading.split(files, options.get("split_bytes"), directories=directories)
    if not tasks:
        return Counting(max_keys).result(top), [], left_out
    with session(spark, conf) as running:
        counting = partial(_count, reading, max_keys)
        with described(running, "jelly spark stats", files):
            try:
                counted, errors = reduce(_merge, on_executors(running, counting, tasks, _merge))
            except Exception as error:
                raise plain_error(error) from None
    if errors and not reading.skip_errors:
        raise errors[0]
    return counted.result(top), errors, left_out


def _count(reading: Reading, max_keys: int, task: list[Part]) -> _Counted:
    from jelly.stats import Counting

    counting = Counting(max_keys)
    errors: list[JellyError] = []
    try:
        for part in task:
            for batch in reading.batches(part, errors=errors if reading.skip_errors else None):
                counting.add(batch)
    except JellyError as error:
        # The error is a result: Spark would try the task again, which would fail too.
        return Counting(max_keys), [error]
    return counting, errors


def _merge(one: _Counted, two: _Counted) -> _Counted:
    one[0].merge(two[0])
    return one[0], one[1] + two[1]
