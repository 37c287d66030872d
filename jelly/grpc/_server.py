"""The server of RdfStreamService and of the services of proto/broker.proto."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import Future
from contextlib import aclosing
from functools import partial
from threading import Thread
from typing import Any, Literal
from weakref import WeakSet

from jelly._bytes.frame_text import POOL
from jelly._formats.registry import JELLY
from jelly._options.settings import checked
from jelly._streams.frames import FrameEncoder
from jelly.errors import JellyOptionsError, need
from jelly.grpc._calls import each
from jelly.grpc._context import (
    Authenticate,
    Authorize,
    Call,
    Publication,
    Refusal,
    Subscription,
    Tls,
    grpc,
    host_and_port,
    is_open,
    metadata_of,
    status_of,
)
from jelly.grpc._protocol import (
    DELETE_TOPIC,
    KINDS,
    LIST_TOPICS,
    PATCH_SERVICE,
    RECEIVED,
    SERVICE,
    TOPIC_SERVICE,
    Fitting,
    Kind,
    TopicInfo,
    inflate,
    pack_info,
    pack_infos,
    unpack_subscribe,
)

MAX_MESSAGE = 16 << 20
# A message that is longer than MAX_MESSAGE is refused by the service; what is longer than this by the transport.
MAX_RECEIVED = 256 << 20
CALL_END = 0.01  # seconds for gRPC to notice that a cancelled call has ended
CANCELLED = 1.0  # seconds, at least, for a cancelled call to end
END = 10.0  # seconds for the loop to end: more than one takes whose handler lets it


class Handler:
    """Base of handlers for a `Server`: override the methods that it should have. They run in one event loop.

    An exception ends the call: a `Refusal` with the status that it names, a JellyError with INVALID_ARGUMENT.

    Attributes
    ----------
    kinds : tuple of {"statements", "patches"}
        The contents that may be subscribed to and published, by default statements alone. The ``kind`` of a call says
        which one it is.

    Notes
    -----
    Unstable: patches over gRPC are our own, see ``proto/broker.proto``.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import Client, Handler, Server
    >>> class Greeting(Handler):
    ...     def on_subscribe(self, call):
    ...         return [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("hello"))]
    >>> with Server(Greeting()) as server, Client(server.address) as client:
    ...     [len(frame) for frame in client.subscribe("any")]
    [1]
    """

    kinds: tuple[Kind, ...] = ("statements",)

    def on_subscribe(self, call: Subscription) -> AsyncIterable[Any] | Iterable[Any]:
        """Answer a subscription with the items of the stream, see `FrameEncoder`.

        An iterable that is not asynchronous must not wait: everything else waits with it.
        """
        raise NotImplementedError("this server has nothing to subscribe to")

    async def on_publish(self, call: Publication) -> None:
        """Receive a published stream: iterate over ``call``. It is acknowledged when this method returns."""
        raise NotImplementedError("nothing can be published on this server")

    async def on_list_topics(self, call: Call) -> list[TopicInfo]:
        """List all topics. The server leaves out those to which the client may not subscribe."""
        raise NotImplementedError("this server has no list of topics")

    async def on_delete_topic(self, call: Call, topic: str) -> TopicInfo:
        """Delete the ``topic`` for the client of ``call``, and return what it was."""
        raise NotImplementedError("topics cannot be deleted on this server")


class Server:
    """A server. In asyncio it serves within ``async with``; ``with`` and `start` run it in a thread of its own.

    Parameters
    ----------
    handler : Handler
        Object that answers the calls, such as a `Broker`.
    address : str, default "127.0.0.1:0"
        ``host:port`` (port 0: any free port) or ``unix:path``. Addresses other than the loopback need ``tls`` or
        ``insecure=True``.
    tls : Tls, optional
        Key and certificate of the server.
    authenticate : callable, optional
        Takes the metadata of a call and returns the identity of the client, or None to refuse it, see `tokens`.
    authorize : callable, optional
        Takes identity, ``"subscribe"``, ``"publish"`` or ``"delete"``, and the topic, and returns whether the call is
        allowed.
    insecure : bool, default False
        Serve without TLS on any address.
    compression : {"gzip"}, optional
        Compress what is sent.
    max_message_bytes : int, default 16 MiB
        Maximum bytes of a frame. A longer one ends the call with INVALID_ARGUMENT.
    max_received_bytes : int, default 256 MiB
        Maximum bytes of a message on the wire (-1 = unlimited). gRPC refuses a longer one with RESOURCE_EXHAUSTED,
        before it is in memory.
    **limits : int
        Limits of the `Decoder`.

    Attributes
    ----------
    address : str
        The address; while the server runs, with the port in use.

    Raises
    ------
    OSError
        If the address is not available when the server starts.

    Examples
    --------
    >>> import jelly.grpc
    >>> class Numbers(jelly.grpc.Handler):
    ...     def on_subscribe(self, call):
    ...         return jelly.read(b"<a:s> <a:p> <a:o> .", format="nt")
    >>> with jelly.grpc.Server(Numbers()) as server, jelly.grpc.Client(server.address) as client:
    ...     [str(statement) for statement in client.subscribe("any").statements()]
    ['<a:s> <a:p> <a:o> .']
    """

    @checked(JELLY.reading)
    def __init__(
        self,
        handler: Handler,
        address: str = "127.0.0.1:0",
        *,
        tls: Tls | None = None,
        authenticate: Authenticate | None = None,
        authorize: Authorize | None = None,
        insecure: bool = False,
        compression: Literal["gzip"] | None = None,
        max_message_bytes: int = MAX_MESSAGE,
        max_received_bytes: int = MAX_RECEIVED,
        **limits: int,
    ) -> None:
        if is_open(address) and tls is None and not insecure:
            raise JellyOptionsError(
                f"{address} can be reached from other machines: pass tls=, or insecure=True if that is intended"
            )
        self.handler: Handler = handler
        self.address: str = address
        self._tls = tls
        self._authenticate = authenticate
        self._authorize = authorize
        self._max_bytes = max_message_bytes
        self._limits = limits
        self._compression = grpc.Compression.Gzip if compression else None
        self._options = [
            # gRPC itself refuses messages with RESOURCE_EXHAUSTED; the specification asks for INVALID_ARGUMENT. So
            # `inflate` unpacks messages, up to the limit of the server: see there.
            ("grpc.max_receive_message_length", max_received_bytes),
            ("grpc.per_message_decompression", 0),
            ("grpc.max_send_message_length", -1),
            ("grpc.so_reuseport", 0),
            ("grpc.http2.min_ping_interval_without_data_ms", 5000),
            ("grpc.keepalive_permit_without_calls", 1),
            # Half-open connections: a peer that does not answer counts as gone.
            ("grpc.keepalive_time_ms", 30_000),
            ("grpc.keepalive_timeout_ms", 10_000),
            ("grpc.server_handshake_timeout_ms", 10_000),
        ]
        self._server: Any = None
        self._health: Any = None
        self._tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._thread: Thread | None = None
        self._ending: Any = None
        self._loop: Any = None
        self._grace = 1.0

    # ---- calls

    def _methods(self) -> dict[str, Any]:
        """The functions that gRPC calls, by method."""
        methods = {
            name: grpc.unary_unary_rpc_method_handler(partial(self._unary, answer))
            for name, answer in ((LIST_TOPICS, self._list), (DELETE_TOPIC, self._delete))
        }
        for kind, (subscribe, publish) in KINDS.items():
            answer = partial(self._publish, kind)
            methods[subscribe] = grpc.unary_stream_rpc_method_handler(partial(self._subscribe, kind))
            methods[publish] = grpc.stream_unary_rpc_method_handler(partial(self._unary, answer))
        return methods

    def _begin(self, kind: Kind | None = None) -> None:
        """Note a call, and refuse one of a content that the handler does not have."""
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
        if kind is not None and kind not in self.handler.kinds:
            raise NotImplementedError(f"this server has no {kind}")

    def _check(self, call: Call, action: str, topic: str) -> None:
        """Ask ``authorize`` whether the client may do this."""
        if self._authorize is not None:
            if not self._authorize(call.identity, action, topic):
                what = f"{action} to {topic!r}" if action in ("publish", "subscribe") else f"{action} {topic!r}"
                raise Refusal("PERMISSION_DENIED", f"{call.identity or 'you'} may not {what}")
            call.is_authorized = True

    async def _subscribe(self, kind: Kind, request: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            self._begin(kind)
            call = Subscription(context, self, kind, inflate(request, self._max_bytes))
            self._check(call, "subscribe", call.topic)
            fitting = Fitting(call.options)
            encoder = FrameEncoder(patch=kind == "patches")
            async with aclosing(each(self.handler.on_subscribe(call))) as items:
                async for item in items:
                    for frame in encoder.add(item):
                        yield fitting.fit(frame)
            for frame in encoder.close() if encoder.is_begun else ():
                yield fitting.fit(frame)
        except Exception as error:
            await context.abort(*status_of(error))

    async def _unary(self, answer: Callable[[Any, Any], Awaitable[bytes]], request: Any, context: Any) -> Any:
        try:
            return await answer(request, context)
        except Exception as error:
            await context.abort(*status_of(error))

    async def _publish(self, kind: Kind, requests: AsyncIterator[bytes], context: Any) -> bytes:
        self._begin(kind)
        await self.handler.on_publish(Publication(context, self, kind, requests))
        return RECEIVED

    def _asked(self, request: bytes, context: Any) -> tuple[Call, str]:
        """A call about topics, and the name in it."""
        self._begin()
        call = Call(context, self)
        return call, unpack_subscribe(inflate(request, self._max_bytes))[0]

    async def _list(self, request: bytes, context: Any) -> bytes:
        call, name = self._asked(request, context)
        may = self._authorize or (lambda *_: True)
        infos = await self.handler.on_list_topics(call)
        shown = [info for info in infos if name in ("", info.name) and may(call.identity, "subscribe", info.name)]
        if name and not shown:
            raise Refusal("NOT_FOUND", f"there is no topic {name!r}")
        return pack_infos(shown)

    async def _delete(self, request: bytes, context: Any) -> bytes:
        call, name = self._asked(request, context)
        self._check(call, "delete", name)
        return pack_info(await self.handler.on_delete_topic(call, name))

    # ---- in asyncio

    async def __aenter__(self) -> Server:
        guard = [] if self._authenticate is None else [_Guard(self._authenticate)]
        self._server = grpc.aio.server(interceptors=guard, options=self._options, compression=self._compression)
        for path, method in self._methods().items():
            service, _, name = path[1:].partition("/")
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {name: method}),))
        self._health = _add_extras(self._server)
        self._bind()
        await self._server.start()
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._health.enter_graceful_shutdown()
        await self._server.stop(self._grace)
        # gRPC has cancelled the calls but not waited for them: a loop that ends now would print their tracebacks.
        if calls := {task for task in self._tasks if not task.done()}:
            await asyncio.wait(calls, timeout=max(self._grace, CANCELLED))
            await asyncio.sleep(CALL_END)

    async def serve_forever(self) -> None:
        """Serve until this coroutine is cancelled, or `stop` is called."""
        async with self:
            await self._ending.wait()

    def _bind(self) -> None:
        address, server = self.address, self._server
        try:
            if self._tls is not None:
                port = server.add_secure_port(address, self._tls.of_server())
            else:
                port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise _bind_error(address, error) from None
        if not address.startswith("unix:"):
            self.address = f"{address.rpartition(':')[0]}:{port}"

    # ---- in a thread

    def start(self) -> None:
        """Serve in a thread. A ``with`` statement does this."""
        started: Future[None] = Future()

        async def serve() -> None:
            try:
                async with self:
                    started.set_result(None)
                    await self._ending.wait()
            except BaseException as error:
                if started.done():
                    raise
                started.set_exception(error)

        self._thread = Thread(target=lambda: asyncio.run(serve()), name="jelly-grpc", daemon=True)
        self._thread.start()
        started.result()

    def stop(self, grace: float = 1.0) -> None:
        """Refuse new calls, and end open calls after a grace period in seconds. Any thread may stop a server.

        A method of the handler that does not end when it is cancelled is not waited for longer than some ten seconds.
        """
        self._grace = grace
        if self._ending is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._ending.set)
        if self._thread is not None:
            self._thread.join(grace + max(grace, CANCELLED) + END)

    def wait(self) -> None:
        """Wait until the server that was started in a thread stops."""
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


def _bind_error(address: str, error: RuntimeError) -> OSError:
    """The reason why an address is not available, which gRPC does not give."""
    try:
        places: Any
        if address.startswith("unix:") and hasattr(socket, "AF_UNIX"):
            places = [(socket.AF_UNIX, socket.SOCK_STREAM, 0, "", address.removeprefix("unix:"))]
        else:
            places = socket.getaddrinfo(*host_and_port(address), type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as trial:
                trial.bind(place)
    except OSError as reason:
        return OSError(reason.errno, f"cannot listen there: {reason.strerror or reason}", address)
    return OSError(f"cannot listen on {address}: {error}")


def _add_extras(server: Any) -> Any:
    """Add health checking and reflection. Return the health servicer."""
    with need("grpc", "a server needs grpcio-health-checking and grpcio-reflection"):
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc
        from grpc_reflection.v1alpha import reflection, reflection_pb2
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for module in (health_pb2, reflection_pb2):
        POOL.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    services = (SERVICE, PATCH_SERVICE, TOPIC_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(services, server, pool=POOL)
    return servicer


class _Guard(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Refuses calls of clients that ``authenticate`` does not know, except health checks."""

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        if details.method.startswith("/grpc.health.") or self._authenticate(metadata_of(details.invocation_metadata)):
            return await continuation(details)

        async def abort(request: Any, context: Any) -> None:
            detail = "no valid token: expected the metadata 'authorization: Bearer ...'"
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, detail)

        return grpc.stream_stream_rpc_method_handler(abort)
