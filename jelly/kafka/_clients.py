"""Adapters to the clients: the error class of confluent-kafka, the serializer class of kafka-python, headers."""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Iterable, MutableMapping
from typing import TYPE_CHECKING, Any

from jelly.errors import JellyError, place_of

if not TYPE_CHECKING:
    try:
        from confluent_kafka.serialization import SerializationError as ClientError
    except ImportError:
        ClientError = Exception

if TYPE_CHECKING or ClientError is Exception:
    _Error = JellyError
else:
    # `ClientError` first would hide the __init__ of JellyError.
    class _Error(JellyError, ClientError):
        """An error of both."""


class JellySerializationError(_Error):
    """A value cannot be serialized or deserialized. ``__cause__`` is the error that says why.

    Where confluent-kafka is installed it is a ``confluent_kafka.serialization.SerializationError`` too.

    Examples
    --------
    >>> try:
    ...     JellyDeserializer()(b"hello")
    ... except JellySerializationError as error:
    ...     print(type(error.__cause__).__name__)
    JellyTruncatedError
    """


def serialization_error(error: JellyError) -> JellySerializationError:
    """An error as a `JellySerializationError` with the same reason and place."""
    return JellySerializationError(error.reason, **place_of(error))


def known_to_clients(kind: type) -> None:
    """Make a class a serializer or deserializer of kafka-python, which gives headers only to its own classes."""
    module = sys.modules.get("kafka.serializer")
    for name in ("Serializer", "Deserializer"):
        base = getattr(module, name, None)
        if isinstance(base, ABCMeta) and hasattr(kind, name.lower().removesuffix("r")):
            base.register(kind)


def take_header(headers: Any, name: str) -> str | None:
    """The text of a header; upper and lower case of its name are the same. Clients have lists of pairs, or dicts."""
    pairs: Iterable[Any] = headers.items() if isinstance(headers, MutableMapping) else headers or ()
    for key, value in pairs:
        if key.lower() == name:
            return value.decode("ascii", "replace") if isinstance(value, bytes) else value
    return None


def set_headers(headers: Any, made: Iterable[tuple[str, bytes | None]]) -> None:
    """Put headers into those of a client, in the place of headers of the same names; None removes one."""
    for name, value in made:
        if isinstance(headers, MutableMapping):
            for key in [key for key in headers if key.lower() == name]:
                del headers[key]
            if value is not None:
                headers[name] = value
        elif isinstance(headers, list):
            headers[:] = [pair for pair in headers if pair[0].lower() != name]
            if value is not None:
                headers.append((name, value))
