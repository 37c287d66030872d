"""The errors of this package. Each is also the fitting builtin exception, so that any code can catch it.

What is wrong with the input, the options, the arguments or the answer of a server is a `JellyError`; what the system
says of files and connections is an OSError of Python, with the path or the address as ``filename``. Arguments of a
wrong type or value are a `JellyArgumentError`, which is a TypeError and a ValueError. These come as Python has them:

- what Python itself finds when it binds arguments: too many or missing ones, or a wrong type for a compiled class,
- IndexError of a place that is not there, as the protocol of sequences wants it,
- the use of an object that is closed or in use elsewhere (ValueError, RuntimeError), and pickling one that cannot be
  (TypeError),
- whatever a callable or iterable of the caller raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "JellyArgumentError",
    "JellyError",
    "JellyFormatError",
    "JellyLimitError",
    "JellyOptionsError",
    "JellyServiceError",
    "JellySyntaxError",
    "JellyTimeoutError",
    "JellyTruncatedError",
    "JellyUnsupportedError",
    "JellyWarning",
    "JoinedWarning",
    "LateError",
    "MissingExtraError",
    "OptionsWarning",
    "QueryError",
    "TruncatedWarning",
]


class JellyError(Exception):
    """Base of all errors of this package.

    Attributes
    ----------
    reason : str
        What is wrong, without the location.
    frame : int or None
        Number of the frame, from 0.
    row : int or None
        Number of the row in the frame or in the Batch, from 0.
    offset : int or None
        Byte in the decompressed stream, from 0.
    line : int or None
        Line of a text, from 1.
    source : str or None
        Name of the input or output.
    message : int or None
        Number of the message in a message log, from 0.
    column : int or None
        Column in the line, in characters, from 1.

    Examples
    --------
    >>> import jelly
    >>> try:
    ...     jelly.loads(b"\\x05hello")
    ... except jelly.JellyError as error:
    ...     print(type(error).__name__, error.frame, error.offset)
    JellyFormatError 0 4
    """

    def __init__(
        self,
        reason: str,
        *,
        frame: int | None = None,
        row: int | None = None,
        offset: int | None = None,
        line: int | None = None,
        source: str | None = None,
        message: int | None = None,
        column: int | None = None,
    ) -> None:
        self.frame = frame
        self.row = row
        self.offset = offset
        self.line = line
        self.source = source
        self.message = message
        self.column = column
        super().__init__(reason)

    @property
    def reason(self) -> str:
        """What is wrong, without the location."""
        return str(self.args[0])

    @reason.setter
    def reason(self, reason: str) -> None:
        self.args: tuple[Any, ...] = (reason,)

    def __str__(self) -> str:
        place = where(self, "message", *PLACES)
        if self.source:
            place = f"{self.source}: {place}" if place else self.source
        return f"{self.reason} ({place})" if place else self.reason


PLACES = ("frame", "row", "offset", "line")


def where(found: Any, *names: str) -> str:
    """Where something was found, in words, from those of its attributes that are known."""
    parts = [("byte" if name == "offset" else name, getattr(found, name)) for name in names]
    return ", ".join(f"{noun} {number}" for noun, number in parts if number is not None)


def place_of(error: JellyError) -> dict[str, Any]:
    """The keywords of an error that say where it is."""
    return {name: getattr(error, name) for name in (*PLACES, "source", "message", "column")}


class JellyFormatError(JellyError, ValueError):
    """The bytes are not what the specification allows."""


class JellySyntaxError(JellyFormatError):
    """A text has a syntax error; ``line`` and ``column`` give its position, and ``reason`` begins with the column."""


class JellyTruncatedError(JellyFormatError, EOFError):
    """The input ends in the middle of a frame, a statement or a compressed block."""


class JellyLimitError(JellyFormatError):
    """The input exceeds a limit. The message names the limit."""


class JellyUnsupportedError(JellyError, NotImplementedError):
    """A version or feature that this package does not read, or a term that a format cannot hold."""


class QueryError(JellyError, RuntimeError):
    """The query failed whose results these are: the stream says so at its end. The rows before are given out."""


class JellyOptionsError(JellyError, ValueError):
    """The stream options do not allow a statement, or contradict each other."""


class LateError(JellyOptionsError):
    """A statement needs stream options (``fields``) other than those that were written and cannot be taken back.

    Give them before, as ``options=``: what they allow need not come.
    """

    def __init__(self, reason: str, fields: Any = None, **place: Any) -> None:
        super().__init__(reason, **place)
        self.fields: dict[str, Any] = dict(fields or {})


class JellyArgumentError(JellyError, TypeError, ValueError):
    """A call has an unknown keyword, or an argument of a type or value that it does not take."""


class JellyServiceError(JellyError, ConnectionError):
    """A call to a service failed. ``code`` is the name of its status, for example ``UNAVAILABLE``."""

    def __init__(self, reason: str, code: str = "UNKNOWN", **place: Any) -> None:
        self.code = code
        super().__init__(reason, **place)



class JellyTimeoutError(JellyServiceError, TimeoutError):
    """A call did not finish before its deadline."""


class JellyWarning(UserWarning):
    """Something valid that is probably a mistake."""


class JoinedWarning(JellyWarning):
    """A Jelly stream seems to consist of several streams joined with ``cat``, but is not read with ``joined=True``."""


class OptionsWarning(JellyWarning):
    """A Jelly stream holds statements that its options do not announce, or has an unusual pair of types."""


class TruncatedWarning(JellyWarning):
    """Results in Jelly-SPARQL end without a trailer: rows may be missing. With ``require_trailer`` that is an error."""


class MissingExtraError(JellyError, ImportError):
    """An optional dependency is not installed, or cannot be imported. The message names the extra that installs it."""

    def __init__(self, reason: str, **place: object) -> None:
        super().__init__(reason)


@contextmanager
def need(extra: str, what: str) -> Iterator[None]:
    """Context manager for imports: one that fails is a MissingExtraError, which says ``what`` needs the extra, and why
    it failed where the package is there.
    """
    try:
        yield
    except ImportError as error:
        first: BaseException = error
        while first.__cause__ is not None:  # of a need within this one, too
            first = first.__cause__
        # A package is not there; a module in one is not there where its version is another one.
        if not isinstance(first, ModuleNotFoundError) or "." in (first.name or ""):
            what += f", and what is installed cannot be imported ({first})"
        raise MissingExtraError(f"{what}: python -m pip install 'jelly-rdf[{extra}]'") from error


# For `need`: what all that answers SPARQL queries asks for.
QUERIES = "query", "SPARQL queries need duckdb, RDFLib, pyarrow and pyoxigraph"


def lacking(name: str, error: MissingExtraError) -> Any:
    """The function in the place of a public one whose extra is missing, which says so when it is called.

    So ``help(jelly)`` and ``from jelly import *`` work without the extra.

    >>> lacking("query", MissingExtraError("SPARQL queries need duckdb"))("people.nt", "ASK {}")
    Traceback (most recent call last):
    jelly.MissingExtraError: SPARQL queries need duckdb
    """

    def function(*args: Any, **options: Any) -> Any:
        raise MissingExtraError(error.reason) from error.__cause__

    function.__name__ = function.__qualname__ = name
    function.__module__ = "jelly"
    function.__doc__ = f"Not available: {error.reason}"
    return function


def memory_error(error: MemoryError, **place: Any) -> JellyLimitError:
    """The error for a MemoryError of a library. pyoxigraph raises it for a token that is longer than its buffer."""
    text = str(error)
    if "buffer" not in text:
        return JellyLimitError(f"not enough memory: {text or 'an allocation failed'}", **place)
    return JellyLimitError(
        "a string or IRI is longer than the 16 MiB that pyoxigraph can read (no setting raises that): Jelly, N-Triples"
        " and N-Quads hold longer ones",
        **place,
    )
