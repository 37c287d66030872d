"""The options of the data sources, in one table: how each is read from its text, its default, and its meaning."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypeAlias

from jelly._dataset.blank_node_scope import MODES as BLANK_NODE_MODES
from jelly._options.keywords import MANY, READ
from jelly._options.keywords import SourceOptions as SourceOptions
from jelly._options.layouts import LAYOUTS
from jelly._options.limits import SETTABLE
from jelly.errors import JellyOptionsError

# What a user has set: texts by name.
Options: TypeAlias = Mapping[str, str]

MODES = ("FAILFAST", "DROPMALFORMED", "PERMISSIVE")

_AGE = re.compile(r"\s*(\d+)\s*(s|m|h|d)\s*")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True)
class Option:
    """An option of the data sources: its meaning, its default, and ``read``, which makes its value of a name and text.

    ``read`` are words, of which the option is one in any case; ``of`` is the part of the documentation.
    """

    help: str
    default: Any = None
    read: Callable[[str, str], Any] | tuple[str, ...] = lambda name, text: text
    of: str = "Reading"


def option(options: Options, name: str, words: Sequence[str] = (), default: Any = None) -> Any:
    """The value of an option: a default, or what its text means. ``words`` and ``default`` replace those of the table.

    >>> option({"frames": "True"}, "frames"), option({}, "frames"), option({"maxFileAge": "7d"}, "maxFileAge")
    (True, False, 604800)
    """
    row = OPTIONS[name]
    if name not in options:
        return row.default if default is None else default
    text = options[name]
    if callable(row.read):
        return row.read(name, text)
    for word in words or row.read:
        if text.lower() == word.lower():
            return {"true": True, "false": False}.get(word, word)
    raise JellyOptionsError(f"option {name} is {text!r}: expected one of {', '.join(words or row.read)}")


def _size(name: str, text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise JellyOptionsError(f"option {name} is {text!r}: expected a whole number, at least 1")
    return int(text)


def _names(name: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text.strip() else ()


def _object(text: str) -> dict[str, Any] | None:
    """A JSON object; None if a text is something else."""
    try:
        made = json.loads(text)
    except ValueError:
        return None
    return made if isinstance(made, dict) else None


def _storage(name: str, text: str) -> dict[str, Any]:
    """The options for the file system of fsspec. Errors do not show them: they may hold a password."""
    storage = _object(text)
    if storage is None:
        raise JellyOptionsError('option storage must be a JSON object, such as {"anon": true}')
    return storage


def _directories(name: str, text: str) -> dict[str, list[str]]:
    """The values of directories to read."""
    given = _object(text)
    given = {"": None} if given is None else given
    lists = {key: [value] if isinstance(value, str) else value for key, value in given.items()}
    if not all(isinstance(values, list) and all(isinstance(x, str) for x in values) for values in lists.values()):
        raise JellyOptionsError(
            'option partitionFilter must be a JSON object of strings or lists of strings: {"graph": "http://a/"}'
        )
    return lists


def _age(name: str, text: str) -> float:
    """Seconds: a whole number with s, m, h or d."""
    match = _AGE.fullmatch(text)
    if match is None:
        raise JellyOptionsError(f"{name} is {text!r}: expected a number and s, m, h or d, as in 7d")
    return int(match[1]) * _SECONDS[match[2]]


def _time(name: str, text: str) -> float:
    """Seconds since the epoch."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise JellyOptionsError(f"option {name} is {text!r}: expected a time, as 2026-01-31T12:00:00") from None


_FLAG = ("true", "false")
_DIRECTORIES, _WRITING, _STREAMS = "Directories", "Writing", "Streams"

OPTIONS: dict[str, Option] = {
    "path": Option("The path, which `load` and `save` set."),
    "paths": Option("Several paths, as JSON, which `load` sets.", None, lambda name, text: tuple(json.loads(text))),
    "layout": Option("Columns.", "flat", tuple(LAYOUTS)),
    "columns": Option("Names of the columns to build, separated by commas. Or use `.schema(...)`.", None, _names),
    "blankNodes": Option(READ["blank_nodes"].help, "scope", BLANK_NODE_MODES),
    "skolemBase": Option(READ["skolem_base"].help),
    "frames": Option(
        "Also the columns `frame` (number in the file) and `metadata` (map of string to binary).", False, _FLAG
    ),
    "fileColumn": Option(
        "A name, such as `file`: also a column with the path of the file. `columns` and `.schema(...)` may name it, "
        "`frame`, and `row`, the number of the statement in the file, from 0; one task reads a text then."
    ),
    "mode": Option(
        "Broken input: `FAILFAST` fails the job and names the file. `DROPMALFORMED` skips it: the line in N-Triples "
        "and N-Quads, the bytes up to the next keyframe in Jelly, the rest of the file in other formats. `PERMISSIVE` "
        "skips it too, but adds a row of nulls whose column `_corrupt_record` gives the reason, file, frame and byte "
        "or line.",
        "FAILFAST", MODES,
    ),
    "columnNameOfCorruptRecord": Option("Another name for the column `_corrupt_record`.", "_corrupt_record"),
    "ignoreMissingFiles": Option("Leave out files that are gone when a task opens them.", False, _FLAG),
    "format": Option("Format of all files. By default the suffix of each decides."),
    "splitBytes": Option(MANY["split_bytes"].help, None, _size),
    "pathGlobFilter": Option(MANY["glob"].help),
    "modifiedAfter": Option("Only files changed at this time or later: `2026-01-31T00:00:00`, in the time zone of the "
                            "driver, or with one: `2026-01-31T00:00:00+01:00`.", -math.inf, _time),
    "modifiedBefore": Option("Only files changed before this time.", math.inf, _time),
    "recursiveFileLookup": Option("Only `true` is known: directories are read at any depth, and name values.", True,
                                  ("true",)),
    "skipUnknown": Option(MANY["skip_unknown"].help, False, _FLAG),
    "storage": Option('JSON with options for the file system of fsspec: `{"anon": true}`.', {}, _storage),
    "pushdown": Option(
        "Evaluate the filters `=` and `in` on subject, predicate, object or graph on term ids, and on the file and its "
        "directories before it is opened. Needs the setting `spark.sql.python.filterPushdown.enabled`; "
        "`register(spark, pushdown=True)` sets both.", False, _FLAG,
    ),
    "partitions": Option(MANY["partitions"].help, True, _FLAG, _DIRECTORIES),
    "partitionColumns": Option("Names of directories, such as `day` of `day=1`, that are also columns.", (), _names,
                               _DIRECTORIES),
    "partitionFilter": Option(
        'JSON: read only files in directories with these values: `{"graph": "http://a/", "day": ["1"]}`.', {},
        _directories, _DIRECTORIES,
    ),
    "basePath": Option("The directory below which such names count. By default the path.", of=_DIRECTORIES),
    "ifExists": Option("If the directory is not empty: append, fail, or write nothing.", "append",
                       ("append", "error", "ignore"), _WRITING),
    "compression": Option("`none`, `gzip` or `zstd`.", "none", lambda name, text: text.lower(), _WRITING),
    "maxFilesPerTrigger": Option("Files per batch.", 1000, _size, _STREAMS),
    "maxFileAge": Option(
        "For example `7d` (s, m, h, d): ignore files older than the newest by this much; for directories that keep "
        "more than 65536 files.", math.inf, _age, _STREAMS,
    ),
    "follow": Option("The path is one local file that grows.", False, _FLAG, _STREAMS),
    "maxBytesPerTrigger": Option("Bytes of such a file per batch; `splitBytes` of them are a task.", 1 << 28, _size,
                                 _STREAMS),
    "checkpointLocation": Option("The directory of the state of a query, for Spark itself.", of=_STREAMS),
    "queryName": Option("The name of a query, for Spark itself.", of=_STREAMS),
}  # fmt: skip

# Options of Spark's own sources for broken files.
_ERRORS = ("ignorecorruptfiles", "badrecordspath")
_LIMITS = {limit.name: limit.camel for limit in SETTABLE}


def check_options(options: Iterable[str]) -> None:
    """Refuse an option that does not exist.

    >>> check_options(["path", "colums"])
    Traceback (most recent call last):
    jelly.JellyOptionsError: unknown option 'colums': did you mean columns?
    """
    known = {name.lower(): name for name in (*OPTIONS, *_LIMITS, *_LIMITS.values())}
    if "provider" in options:
        return  # these are the properties of a table
    for name in options:
        # Platforms may add settings of their own.
        if name.lower() not in known and "." not in name and not name.startswith("_"):
            near = get_close_matches(name.lower(), known, 1)
            advice = f"did you mean {known[near[0]]}?" if near else f"expected one of {', '.join(OPTIONS)}"
            if name.lower() in _ERRORS:
                advice = "option mode says what becomes of broken input"
            raise JellyOptionsError(f"unknown option {name!r}: {advice}")


def limits_of(options: Options, known: Iterable[str], source: str) -> dict[str, int]:
    """The limits that options set, as keywords: ``maxLineBytes``, or ``max_line_bytes``. Others than ``known`` fail."""
    found: dict[str, int] = {}
    for keyword, name in _LIMITS.items():
        for spelling in (keyword, name):
            if spelling in options:  # in any case
                if keyword not in known:
                    raise JellyOptionsError(f"the data source {source} has no option {name}")
                found[keyword] = _size(name, options[spelling])
    return found
