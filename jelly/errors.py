"""The one family of errors. Each is also the builtin that fits, so that code that does not know us can catch it."""

from __future__ import annotations

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
    "MissingExtraError",
]


class JellyError(Exception):
    """Anything that this package refuses, with the place where it is known.

    ``reason`` is what is wrong, without the place. ``frame``, ``row`` and ``message`` (of a message log) count from 0,
    ``offset`` is the byte in the (decompressed) stream, ``line`` and ``column`` (in characters) count from 1; each is
    None where it does not apply.

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
        self.reason = reason
        self.frame = frame
        self.row = row
        self.offset = offset
        self.line = line
        self.source = source
        self.message = message
        self.column = column
        super().__init__(reason)

    def __str__(self) -> str:
        parts = [
            f"{name} {value}"
            for name, value in (
                ("message", self.message),
                ("frame", self.frame),
                ("row", self.row),
                ("byte", self.offset),
                ("line", self.line),
            )
            if value is not None
        ]
        place = ", ".join(parts)
        if self.source:
            place = f"{self.source}: {place}" if place else self.source
        return f"{self.reason} ({place})" if place else self.reason

    def __reduce__(self) -> tuple[object, ...]:
        place = (self.frame, self.row, self.offset, self.line, self.source, self.message, self.column)
        return (_rebuild, (type(self), self.reason, *place))


def _rebuild(
    kind: type[JellyError],
    reason: str,
    frame: int | None,
    row: int | None,
    offset: int | None,
    line: int | None,
    source: str | None,
    message: int | None = None,
    column: int | None = None,
) -> JellyError:
    place: dict[str, Any] = {"frame": frame, "row": row, "offset": offset, "line": line, "source": source}
    return kind(reason, **place, message=message, column=column)


class JellyFormatError(JellyError, ValueError):
    """The bytes are not what the specification allows."""


class JellySyntaxError(JellyFormatError):
    """A text format has a syntax error; ``line`` and ``column`` tell where, and ``reason`` begins with the column."""


class JellyTruncatedError(JellyFormatError, EOFError):
    """The input ends in the middle of something."""


class JellyLimitError(JellyFormatError):
    """The input asks for more than a limit allows. The message names the limit."""


class JellyUnsupportedError(JellyError, NotImplementedError):
    """A version or feature that this package does not read."""


class JellyOptionsError(JellyError, ValueError):
    """The stream options forbid what was to be written, or contradict themselves."""


class JellyArgumentError(JellyError, TypeError):
    """A call has a keyword that is not known, or an argument of a wrong type."""


class JellyServiceError(JellyError, ConnectionError):
    """A call of a service failed. ``code`` is the name of its status, ``UNAVAILABLE`` say."""

    def __init__(self, reason: str, code: str = "UNKNOWN", **place: Any) -> None:
        self.code = code
        super().__init__(reason, **place)

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.reason, self.code))


class JellyTimeoutError(JellyServiceError, TimeoutError):
    """A call was not over by its deadline."""


class JellyWarning(UserWarning):
    """Something that is probably not what was meant, where nothing is against the specification."""


class JoinedWarning(JellyWarning):
    """A Jelly stream seems to be several that were joined with ``cat``, and is not read with ``joined=True``."""


class MissingExtraError(JellyError, ImportError):
    """An optional dependency is not installed. The message names the extra that brings it."""

    def __init__(self, reason: str, **place: object) -> None:
        super().__init__(reason)
