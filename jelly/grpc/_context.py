"""Calls as handlers see them, status codes of errors, and TLS."""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions
from jelly._options.settings import checked
from jelly._streams.frames import FrameDecoder, frame_of, statements_of
from jelly._streams.reader import Frame, Statement
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError, JellyOptionsError, need
from jelly.grpc._protocol import BIG, FOLLOW, START, TOPIC, TOPIC_BYTES, Kind, inflate, unpack_subscribe
from jelly.patch._patch import PUNCTUATION

with need("grpc", "gRPC needs grpcio"):
    import grpc

__all__ = ["grpc"]

log = logging.getLogger("jelly.grpc")

# Maximum bytes of the message of a status: clients refuse headers of more than 8 KB. A byte that is not ASCII takes 3.
MAX_DETAIL = 2000

_FULL, _FILES = "the store is full", "the server has too many open files"
_EXHAUSTED = {
    errno.ENOSPC: _FULL, errno.EDQUOT: _FULL, errno.EFBIG: _FULL, errno.EMFILE: _FILES, errno.ENFILE: _FILES
}  # fmt: skip

Authenticate = Callable[[Mapping[str, str]], "str | None"]
Authorize = Callable[["str | None", str, str], bool]


class Refusal(JellyError):
    """An error with which a handler ends a call.

    Parameters
    ----------
    code : str
        Name of a ``grpc.StatusCode``.
    reason : str
        Message for the client.
    **place : Any
        Keywords of `JellyError`.

    Examples
    --------
    >>> Refusal("NOT_FOUND", "there is no such topic").code
    'NOT_FOUND'
    """

    def __init__(self, code: str, reason: str, **place: Any) -> None:
        if code not in grpc.StatusCode.__members__:
            raise JellyArgumentError(f"{code!r} is not the name of a status code")
        self.code = code
        super().__init__(reason, **place)


def status_of(error: BaseException) -> tuple[Any, str]:
    """The status code and the message for a call that failed with this error.

    Errors in a stream are INVALID_ARGUMENT, as the specification asks. Unexpected errors are INTERNAL
    and described only in the log.
    """
    codes = grpc.StatusCode
    if isinstance(error, OSError) and error.errno in _EXHAUSTED:
        log.error("the store: %s", error)
        return codes.RESOURCE_EXHAUSTED, _EXHAUSTED[error.errno]
    if isinstance(error, JellyError | NotImplementedError):
        usual = codes.INVALID_ARGUMENT if isinstance(error, JellyError) else codes.UNIMPLEMENTED
        code = codes.__members__.get(getattr(error, "code", ""), usual)
        text = str(error).encode(errors="replace")[:MAX_DETAIL].decode(errors="ignore")
        return code, text or "not implemented"
    log.error("a call failed", exc_info=error)
    return codes.INTERNAL, "the server failed; its log says why"


class Call:
    """A call, as a handler sees it.

    Parameters
    ----------
    context, server : Any
        Internal.

    Attributes
    ----------
    peer : str
        Address of the client.
    metadata : dict of str to str
        Entries of the call metadata that are text.
    identity : Any
        Identity of the client, as ``authenticate`` returned it.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import Client, Handler, Server
    >>> class Closed(Handler):
    ...     async def on_list_topics(self, call):
    ...         print(call.identity, call.metadata["authorization"])
    ...         return []
    >>> names = {"Bearer s3cret": "ann"}
    >>> with Server(Closed(), authenticate=lambda metadata: names.get(metadata.get("authorization"))) as server:
    ...     with Client(server.address, token="s3cret") as client:
    ...         client.topics()
    ann Bearer s3cret
    []
    """

    def __init__(self, context: Any, server: Any) -> None:
        self._context = context
        self._server = server
        self.peer: str = context.peer()
        self.metadata: dict[str, str] = metadata_of(context.invocation_metadata())
        self.identity: str | None = None
        if server._authenticate is not None:
            self.identity = server._authenticate(self.metadata)
        self.is_authorized = False  # by the `authorize` of the server


def metadata_of(pairs: Any) -> dict[str, str]:
    """Call metadata as a dict of text."""
    return {key: value for key, value in pairs or () if isinstance(value, str)}


class Subscription(Call):
    """A call of SubscribeRdf, or of SubscribePatch.

    Parameters
    ----------
    context, server, kind, request : Any
        Internal.

    Attributes
    ----------
    topic : str
        Name of the topic.
    kind : {"statements", "patches"}
        The content that is asked for.
    options : StreamOptions, PatchOptions or None
        Requested stream options.
    start : int, "earliest", "latest" or None
        First message that the subscriber asks for.
    follow : bool
        Whether to continue with messages that are published later.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import Client, Handler, Server
    >>> class Greeting(Handler):
    ...     def on_subscribe(self, call):
    ...         return [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(f"hello {call.topic}"))]
    >>> with Server(Greeting()) as server, Client(server.address) as client:
    ...     [statement.o.value for statement in client.subscribe("ann").statements()]
    ['hello ann']
    """

    def __init__(self, context: Any, server: Any, kind: Kind, request: bytes) -> None:
        super().__init__(context, server)
        self.kind: Kind = kind
        self.topic: str
        self.options: StreamOptions | PatchOptions | None
        self.topic, self.options = unpack_subscribe(request, kind == "patches")
        self.start: int | str | None = _start(self.metadata.get(START))
        self.follow: bool = self.metadata.get(FOLLOW, "1") != "0"

    async def send_metadata(self, metadata: Mapping[str, str]) -> None:
        """Send metadata before the first frame."""
        await self._context.send_initial_metadata(tuple(metadata.items()))


def _start(value: str | None) -> int | str | None:
    if value in (None, "earliest", "latest"):
        return value
    if value and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    raise JellyOptionsError(f"{START} is {value!r}: expected the number of a message, earliest or latest")


class Publication(Call):
    """A call of PublishRdf: an asynchronous iterator of Batches, one for each frame.

    In a call of PublishPatch the Batches have operations, see `jelly.patch.PatchReader.batches`. The patches that they
    are parts of, as their options say, must not have more bytes than a frame may have.

    Parameters
    ----------
    context, server, kind, requests : Any
        Internal.

    Attributes
    ----------
    kind : {"statements", "patches"}
        The published content.
    messages : int
        Number of frames so far.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import Client, Handler, Server
    >>> class Counter(Handler):
    ...     async def on_publish(self, call):
    ...         print(call.topic, [len(batch) async for batch in call], call.messages)
    >>> with Server(Counter()) as server, Client(server.address) as client:
    ...     client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    news [1] 1
    1
    """

    def __init__(self, context: Any, server: Any, kind: Kind, requests: AsyncIterator[bytes]) -> None:
        super().__init__(context, server)
        self.kind: Kind = kind
        self._requests = requests
        self._decoder = FrameDecoder(patch=kind == "patches", **server._limits)
        self._open = 0  # bytes since a patch ended
        named = [value for key, value in context.invocation_metadata() or () if key == TOPIC_BYTES]
        try:
            self._topic: str = self.metadata.get(TOPIC) or (named[0].decode() if named else "")
        except UnicodeDecodeError:
            raise JellyOptionsError(f"{TOPIC_BYTES} is not UTF-8") from None
        self._checked = False
        self.messages: int = 0
        # Of a broker: see `Topic`, when the publication began; and whether the topic was offered its options.
        self.lost = 0
        self.is_offered = False

    @property
    def options(self) -> Any:
        """The options of the stream, or None before the first frame that has them; of patches PatchOptions."""
        return self._decoder.options

    @property
    def topic(self) -> str:
        """The topic, or ``""``.

        It is the call metadata ``jelly-topic``, else the stream name, which is known from the first Batch on.
        """
        name: str = getattr(self.options, "stream_name", "")
        return self._topic or name

    def _decode(self, frame: bytes) -> Batch:
        most = self._server._max_bytes
        frame = inflate(frame, most)
        batch = self._decoder.decode(frame)
        # Empty frames may come before the options, which name the topic.
        if not self._checked and (self._topic or self.options is not None):
            self._server._check(self, "publish", self.topic)
            self._checked = True
        self.messages += 1
        if batch.op is not None:
            self._open = len(frame) + (0 if PUNCTUATION in batch.op else self._open)
            if self._open > most:
                raise JellyLimitError(f"a patch of more than {most} bytes, the most of a message: cut it up")
        return batch

    async def __aiter__(self) -> AsyncIterator[Batch]:
        async for frame in self._requests:
            yield self._decode(frame) if len(frame) < BIG else await asyncio.to_thread(self._decode, frame)

    async def frames(self) -> AsyncIterator[Frame]:
        """Iterate over the messages as `Frame` objects, with metadata and namespaces."""
        async for batch in self:
            yield frame_of(batch, self.messages - 1)

    async def statements(self) -> AsyncIterator[Statement]:
        """Iterate over the statements of all messages."""
        async for batch in self:
            for statement in statements_of(batch):
                yield statement


@dataclass(frozen=True)
class Tls:
    """Keys and certificates of a secure channel, in PEM: paths, or the contents as bytes.

    A server needs ``key`` and ``certificate``. A client needs ``authorities`` if the system does not know the authority
    of the server.

    Attributes
    ----------
    key : str, os.PathLike or bytes, optional
        Private key.
    certificate : str, os.PathLike or bytes, optional
        Certificate of the key.
    authorities : str, os.PathLike or bytes, optional
        Certificates of authorities. A server with them only accepts clients whose certificate is signed by one of them.

    Examples
    --------
    >>> from jelly.grpc import Client, Tls
    >>> client = Client("example.org:50051", tls=Tls(), token="s3cret")
    >>> client.close()
    """

    key: str | PathLike[str] | bytes | None = None
    certificate: str | PathLike[str] | bytes | None = None
    authorities: str | PathLike[str] | bytes | None = None

    def of_server(self) -> Any:
        """Create grpc.ServerCredentials."""
        if self.key is None or self.certificate is None:
            raise JellyArgumentError("the TLS of a server needs key and certificate")
        authorities = _pem(self.authorities)
        return grpc.ssl_server_credentials(
            [(_pem(self.key), _pem(self.certificate))], authorities, require_client_auth=authorities is not None
        )

    def of_client(self) -> Any:
        """Create grpc.ChannelCredentials."""
        return grpc.ssl_channel_credentials(_pem(self.authorities), _pem(self.key), _pem(self.certificate))


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of an address to listen on. JellyOptionsError if it is none: gRPC takes 99999 for 34463."""
    host, _, port = address.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or len(port) > 5 or int(port) > 65_535:
        raise JellyOptionsError(f"{address!r} is no address: expected HOST:PORT")
    return host.strip("[]"), int(port)


def is_open(address: str) -> bool:
    """Whether other machines can reach what listens on an address. JellyOptionsError if it is none."""
    if not address.startswith("unix"):
        host_and_port(address)
    return not is_loopback(address)


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pem(value: str | PathLike[str] | bytes | None) -> bytes | None:
    return value if value is None or isinstance(value, bytes) else Path(value).read_bytes()


@checked()
def tokens(known: Mapping[str, str]) -> Authenticate:
    """Make an ``authenticate`` function for servers, which takes call metadata, from bearer tokens.

    Parameters
    ----------
    known : mapping of str to str
        Identity by token.

    Examples
    --------
    >>> tokens({"s3cret": "ann"})({"authorization": "Bearer s3cret"})
    'ann'
    """
    # All tokens are compared, each in constant time.
    pairs = [(token.encode(), name) for token, name in known.items()]

    def authenticate(metadata: Mapping[str, str]) -> str | None:
        scheme, _, token = metadata.get("authorization", "").partition(" ")
        found = [name for known, name in pairs if hmac.compare_digest(known, token.strip().encode())]
        return found[0] if found and scheme.lower() == "bearer" else None

    return authenticate
