"""Servers of RdfStreamService and of the services of proto/broker.proto: one with threads and one for asyncio."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any
from weakref import WeakSet

from jelly._formats.registry import JELLY
from jelly._options.settings import checked
from jelly.errors import JellyOptionsError, need
from jelly.grpc._context import (
    Authenticate,
    Authorize,
    Call,
    Publication,
    Refusal,
    Subscription,
    Tls,
    grpc,
    is_loopback,
    metadata_of,
    status_of,
)
from jelly.grpc._framing import Fitting, encode_frames
from jelly.grpc._patches import encode_patches
from jelly.grpc._protocol import (
    DELETE_TOPIC,
    LIST_TOPICS,
    PATCH_SERVICE,
    POOL,
    PUBLISH,
    PUBLISH_PATCH,
    RECEIVED,
    SERVICE,
    SUBSCRIBE,
    SUBSCRIBE_PATCH,
    TOPIC_SERVICE,
    inflate,
    unpack_subscribe,
)
from jelly.grpc._topic_info import TopicInfo, pack_info, pack_infos

__all__ = ["AsyncHandler", "AsyncServer", "Handler", "Server"]

MAX_MESSAGE = 16 << 20
# A message that is longer than MAX_MESSAGE is refused by the service; what is longer than this by the transport.
MAX_RECEIVED = 256 << 20
CALL_END = 0.01  # seconds for gRPC to notice that a cancelled call has ended


class Handler:
    """Base of handlers for a `Server`: override one method or both. Threads of the server call them, several at once.

    An exception ends the call: a `Refusal` with the status that it names, a JellyError with INVALID_ARGUMENT.
    """

    def on_subscribe(self, call: Subscription) -> Iterable[Any]:
        """Answer a subscription.

        Parameters
        ----------
        call : Subscription
            The request.

        Returns
        -------
        iterable of bytes, Batch, Frame or statements
            The stream of the topic, see `encode_frames`.
        """
        raise NotImplementedError("this server has nothing to subscribe to")

    def on_publish(self, call: Publication) -> None:
        """Receive a published stream. The server acknowledges it when this method returns.

        Parameters
        ----------
        call : Publication
            The request; iterate over it for Batches.
        """
        raise NotImplementedError("nothing can be published on this server")

    def on_subscribe_patch(self, call: Subscription) -> Iterable[Any]:
        """Answer a subscription to patches.

        Unstable: this is our own, since the specification has no service for patches.

        Parameters
        ----------
        call : Subscription
            The request.

        Returns
        -------
        iterable of Patch, Batch or bytes
            The patches of the topic, see `encode_patches`.
        """
        raise NotImplementedError("this server has no patches to subscribe to")

    def on_publish_patch(self, call: Publication) -> None:
        """Receive a published stream of patches. The server acknowledges it when this method returns.

        Unstable: this is our own, since the specification has no service for patches.

        Parameters
        ----------
        call : Publication
            The request; iterate over it for Batches.
        """
        raise NotImplementedError("no patches can be published on this server")

    def on_list_topics(self, call: Call) -> list[TopicInfo]:
        """Tell of all topics. The server leaves out those to which the client may not subscribe.

        Parameters
        ----------
        call : Call
            The request.

        Returns
        -------
        list of TopicInfo
            The topics.
        """
        raise NotImplementedError("this server has no list of topics")

    def on_delete_topic(self, call: Call, topic: str) -> TopicInfo:
        """Delete a topic.

        Parameters
        ----------
        call : Call
            The request.
        topic : str
            Name of the topic.

        Returns
        -------
        TopicInfo
            What was deleted.
        """
        raise NotImplementedError("topics cannot be deleted on this server")


class AsyncHandler:
    """Base of handlers for an `AsyncServer`: like `Handler`, with coroutines of one event loop."""

    def on_subscribe(self, call: Subscription) -> AsyncGenerator[bytes, None]:
        """Answer a subscription.

        Parameters
        ----------
        call : Subscription
            The request.

        Returns
        -------
        AsyncGenerator[bytes, None]
            The frames of the topic, without their lengths.
        """
        raise NotImplementedError("this server has nothing to subscribe to")

    async def on_publish(self, call: Publication) -> None:
        """Receive a published stream. The server acknowledges it when this method returns.

        Parameters
        ----------
        call : Publication
            The request; iterate over it for Batches with ``async for``.
        """
        raise NotImplementedError("nothing can be published on this server")

    def on_subscribe_patch(self, call: Subscription) -> AsyncGenerator[bytes, None]:
        """Answer a subscription to patches.

        Unstable: this is our own, since the specification has no service for patches.

        Parameters
        ----------
        call : Subscription
            The request.

        Returns
        -------
        AsyncGenerator[bytes, None]
            The frames of the topic, without their lengths, each a whole patch.
        """
        raise NotImplementedError("this server has no patches to subscribe to")

    async def on_publish_patch(self, call: Publication) -> None:
        """Receive a published stream of patches. The server acknowledges it when this method returns.

        Unstable: this is our own, since the specification has no service for patches.

        Parameters
        ----------
        call : Publication
            The request; iterate over it for Batches with ``async for``.
        """
        raise NotImplementedError("no patches can be published on this server")

    def on_list_topics(self, call: Call) -> list[TopicInfo]:
        """Tell of all topics. The server leaves out those to which the client may not subscribe.

        Parameters
        ----------
        call : Call
            The request.

        Returns
        -------
        list of TopicInfo
            The topics.
        """
        raise NotImplementedError("this server has no list of topics")

    async def on_delete_topic(self, call: Call, topic: str) -> TopicInfo:
        """Delete a topic.

        Parameters
        ----------
        call : Call
            The request.
        topic : str
            Name of the topic.

        Returns
        -------
        TopicInfo
            What was deleted.
        """
        raise NotImplementedError("topics cannot be deleted on this server")


class _Settings:
    """Settings of both servers, and the parts that depend on them."""

    def __init__(
        self,
        address: str,
        tls: Tls | None,
        authenticate: Authenticate | None,
        authorize: Authorize | None,
        insecure: bool,
        gzip: bool,
        max_message_bytes: int,
        max_received_bytes: int,
        limits: dict[str, int],
    ) -> None:
        if tls is None and not insecure and not is_loopback(address):
            raise JellyOptionsError(
                f"{address} can be reached from other machines: pass tls=, or insecure=True if that is intended"
            )
        self.address = address
        self.tls = tls
        self.authenticate = authenticate
        self.authorize = authorize
        self.max_bytes = max_message_bytes
        self.limits = limits
        self.compression = grpc.Compression.Gzip if gzip else None
        self.options = [
            # What gRPC refuses by itself ends with RESOURCE_EXHAUSTED; the specification asks for INVALID_ARGUMENT.
            # So `inflate` unpacks messages, up to the limit of the server: see there.
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

    def install(self, server: Any, subscribe: Any, publish: Any, topics: Any, is_async: bool) -> tuple[Any, str]:
        """Add the methods of the services and bind the address. Return the health servicer and the address.

        ``subscribe`` and ``publish`` make the methods; they take whether it is the one for patches. ``topics`` makes
        those of TopicService; it takes whether it is the one that deletes.
        """
        methods = {
            LIST_TOPICS.rpartition("/")[2]: grpc.unary_unary_rpc_method_handler(topics(False)),
            DELETE_TOPIC.rpartition("/")[2]: grpc.unary_unary_rpc_method_handler(topics(True)),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(TOPIC_SERVICE, methods),))
        for service, suffix, patch in ((SERVICE, "Rdf", False), (PATCH_SERVICE, "Patch", True)):
            methods = {
                f"Subscribe{suffix}": grpc.unary_stream_rpc_method_handler(subscribe(patch)),
                f"Publish{suffix}": grpc.stream_unary_rpc_method_handler(publish(patch)),
            }
            server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, methods),))
        return _add_extras(server, is_async), self.bind(server)

    def bind(self, server: Any) -> str:
        """Bind the address. Return it with the chosen port."""
        try:
            if self.tls is not None:
                port = server.add_secure_port(self.address, self.tls.of_server())
            else:
                port = server.add_insecure_port(self.address)
        except RuntimeError as error:
            raise _bind_error(self.address, error) from None
        return self.address if self.address.startswith("unix:") else f"{self.address.rpartition(':')[0]}:{port}"

    def subscription(self, context: Any, request: bytes, patch: bool) -> Subscription:
        call = Subscription(context, self.authenticate, inflate(request, self.max_bytes), patch)
        self.check(call, "subscribe", call.topic)
        return call

    def listed(self, call: Call, infos: list[TopicInfo], name: str) -> list[TopicInfo]:
        """The topics that a client gets to see, or the one with a name."""
        may = self.authorize
        shown = [info for info in infos if not name or info.name == name]
        if may is not None:
            shown = [info for info in shown if may(call.identity, "subscribe", info.name)]
        if name and not shown:
            raise Refusal("NOT_FOUND", f"there is no topic {name!r}")
        return shown

    def publication(self, context: Any, requests: Any, patch: bool) -> Publication:
        return Publication(context, self.authenticate, requests, self.check, self.max_bytes, patch, **self.limits)

    def check(self, call: Call, action: str, topic: str) -> None:
        """Ask ``authorize`` whether the client may do this."""
        if self.authorize is not None:
            if not self.authorize(call.identity, action, topic):
                what = f"{action} to {topic!r}" if action in ("publish", "subscribe") else f"{action} {topic!r}"
                raise Refusal("PERMISSION_DENIED", f"{call.identity or 'you'} may not {what}")
            call.is_authorized = True


def _bind_error(address: str, error: RuntimeError) -> OSError:
    """The reason why an address is not available, which gRPC does not give."""
    host, _, port = address.rpartition(":")
    try:
        places = socket.getaddrinfo(host.strip("[]") or None, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, place in places:
            with socket.socket(family, kind, protocol) as trial:
                trial.bind(place)
    except OSError as reason:
        return OSError(reason.errno, f"cannot listen there: {reason.strerror or reason}", address)
    return OSError(f"cannot listen on {address}: {error}")


def _add_extras(server: Any, is_async: bool) -> Any:
    """Add health checking and reflection. Return the health servicer."""
    with need("grpc", "a server needs grpcio-health-checking and grpcio-reflection"):
        from grpc_health.v1 import health, health_pb2, health_pb2_grpc
        from grpc_reflection.v1alpha import reflection, reflection_pb2
    servicer = health.aio.HealthServicer() if is_async else health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    for module in (health_pb2, reflection_pb2):
        POOL.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    services = (SERVICE, PATCH_SERVICE, TOPIC_SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(services, server, pool=POOL)
    return servicer


def _refusing(method: str, code: Any, detail: str, is_async: bool) -> Any:
    """A handler for a method, or for an unknown one, that ends every call with a status."""

    def abort(request: Any, context: Any) -> None:
        context.abort(code, detail)

    async def abort_async(request: Any, context: Any) -> None:
        await context.abort(code, detail)

    if method in (PUBLISH, PUBLISH_PATCH):
        return grpc.stream_unary_rpc_method_handler(abort_async if is_async else abort)
    if method in (SUBSCRIBE, SUBSCRIBE_PATCH):
        return grpc.unary_stream_rpc_method_handler(abort_async if is_async else abort)
    if method in (LIST_TOPICS, DELETE_TOPIC):
        return grpc.unary_unary_rpc_method_handler(abort_async if is_async else abort)
    return grpc.stream_stream_rpc_method_handler(abort_async if is_async else abort)


class _AuthInterceptor:
    """Refuses calls of clients that ``authenticate`` does not know, except health checks."""

    is_async = False

    def __init__(self, authenticate: Authenticate) -> None:
        self._authenticate = authenticate

    def refusal(self, details: Any) -> Any:
        """A handler that refuses the call, or None."""
        if details.method.startswith("/grpc.health.") or self._authenticate(metadata_of(details.invocation_metadata)):
            return None
        detail = "no valid token: expected the metadata 'authorization: Bearer ...'"
        return _refusing(details.method, grpc.StatusCode.UNAUTHENTICATED, detail, self.is_async)


class _SyncGuard(_AuthInterceptor, grpc.ServerInterceptor):  # type: ignore[misc]
    def intercept_service(self, continuation: Any, details: Any) -> Any:
        return self.refusal(details) or continuation(details)


class _AsyncGuard(_AuthInterceptor, grpc.aio.ServerInterceptor):  # type: ignore[misc]
    is_async = True

    async def intercept_service(self, continuation: Any, details: Any) -> Any:
        return self.refusal(details) or await continuation(details)


class Server:
    """A server with threads. Each open call uses one of ``workers``.

    Parameters
    ----------
    handler : Handler
        What to do with calls.
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
    gzip : bool, default False
        Compress what is sent.
    max_message_bytes : int, default 16 MiB
        Maximum bytes of a frame. A longer one ends the call with INVALID_ARGUMENT.
    max_received_bytes : int, default 256 MiB
        Maximum bytes of a message on the wire (-1 = unlimited). gRPC refuses a longer one with RESOURCE_EXHAUSTED,
        before it is in memory.
    workers : int, default 32
        Maximum number of open calls. A subscription takes a worker as long as it is open, also while it waits for
        frames. When all are taken, every other call waits for one, health checks too. `AsyncServer` has no such limit.
    **limits : int
        Limits of the `Decoder`.

    Attributes
    ----------
    address : str
        The address, with the port in use.

    Raises
    ------
    JellyArgumentError
        If the handler is an `AsyncHandler`, such as a `Broker`.
    OSError
        If the address is not available.

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
        gzip: bool = False,
        max_message_bytes: int = MAX_MESSAGE,
        max_received_bytes: int = MAX_RECEIVED,
        workers: int = 32,
        **limits: int,
    ) -> None:
        self._settings = settings = _Settings(
            address, tls, authenticate, authorize, insecure, gzip, max_message_bytes, max_received_bytes, limits
        )
        self.handler: Handler = handler
        self.address: str
        self._server = grpc.server(
            ThreadPoolExecutor(workers, "jelly-grpc"),
            interceptors=[_SyncGuard(authenticate)] if authenticate is not None else [],
            options=settings.options,
            compression=settings.compression,
        )
        self._health, self.address = settings.install(self._server, self._subscribe, self._publish, self._topics, False)

    def _subscribe(self, patch: bool) -> Any:
        handle = self.handler.on_subscribe_patch if patch else self.handler.on_subscribe
        encode: Any = encode_patches if patch else encode_frames

        def subscribe(request: bytes, context: Any) -> Iterator[bytes]:
            try:
                call = self._settings.subscription(context, request, patch)
                fitting = Fitting(call.options)
                for frame in encode(handle(call)):
                    yield from fitting.fit(frame)
            except Exception as error:
                context.abort(*status_of(error))

        return subscribe

    def _publish(self, patch: bool) -> Any:
        handle = self.handler.on_publish_patch if patch else self.handler.on_publish

        def publish(requests: Iterator[bytes], context: Any) -> bytes:
            try:
                handle(self._settings.publication(context, requests, patch))
            except grpc.RpcError:  # the client went away
                raise
            except Exception as error:
                context.abort(*status_of(error))
            return RECEIVED

        return publish

    def _topics(self, delete: bool) -> Any:
        settings = self._settings

        def topics(request: bytes, context: Any) -> Any:
            try:
                call = Call(context, settings.authenticate)
                name, _ = unpack_subscribe(inflate(request, settings.max_bytes))
                if not delete:
                    return pack_infos(settings.listed(call, self.handler.on_list_topics(call), name))
                settings.check(call, "delete", name)
                return pack_info(self.handler.on_delete_topic(call, name))
            except Exception as error:
                context.abort(*status_of(error))

        return topics

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start to serve. A ``with`` statement does this."""
        self._server.start()

    def stop(self, grace: float = 1.0) -> None:
        """Refuse new calls, and end open calls after a grace period.

        Parameters
        ----------
        grace : float, default 1.0
            Seconds.
        """
        self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()

    def wait(self) -> None:
        """Wait until the server stops."""
        self._server.wait_for_termination()


class AsyncServer:
    """A server for asyncio. Its errors are those of `Server`.

    Parameters
    ----------
    handler : AsyncHandler
        What to do with calls.
    address : str, default "127.0.0.1:0"
        ``host:port`` (port 0: any free port) or ``unix:path``, see `Server`.
    tls : Tls, optional
        Key and certificate of the server.
    authenticate : callable, optional
        Takes the metadata of a call and returns the identity of the client, or None to refuse it, see `tokens`.
    authorize : callable, optional
        Takes identity, ``"subscribe"``, ``"publish"`` or ``"delete"``, and the topic, and returns whether the call is
        allowed.
    insecure : bool, default False
        Serve without TLS on any address.
    gzip : bool, default False
        Compress what is sent.
    max_message_bytes : int, default 16 MiB
        Maximum bytes of a frame. A longer one ends the call with INVALID_ARGUMENT.
    max_received_bytes : int, default 256 MiB
        Maximum bytes of a message on the wire (-1 = unlimited). gRPC refuses a longer one with RESOURCE_EXHAUSTED,
        before it is in memory.
    **limits : int
        Limits of the `Decoder`.

    Examples
    --------
    >>> import asyncio
    >>> async def main():
    ...     async with AsyncServer(AsyncHandler()) as server:
    ...         return server.address.partition(":")[0]
    >>> asyncio.run(main())
    '127.0.0.1'
    """

    @checked(JELLY.reading)
    def __init__(
        self,
        handler: AsyncHandler,
        address: str = "127.0.0.1:0",
        *,
        tls: Tls | None = None,
        authenticate: Authenticate | None = None,
        authorize: Authorize | None = None,
        insecure: bool = False,
        gzip: bool = False,
        max_message_bytes: int = MAX_MESSAGE,
        max_received_bytes: int = MAX_RECEIVED,
        **limits: int,
    ) -> None:
        self._settings = _Settings(
            address, tls, authenticate, authorize, insecure, gzip, max_message_bytes, max_received_bytes, limits
        )
        self.handler: AsyncHandler = handler
        self._server: Any = None
        self._health: Any = None
        self._calls: WeakSet[asyncio.Task[Any]] = WeakSet()
        self.address: str = address

    def _note_call(self) -> None:
        if (task := asyncio.current_task()) is not None:
            self._calls.add(task)

    def _subscribe(self, patch: bool) -> Any:
        handle = self.handler.on_subscribe_patch if patch else self.handler.on_subscribe

        async def subscribe(request: bytes, context: Any) -> AsyncIterator[bytes]:
            self._note_call()
            try:
                call = self._settings.subscription(context, request, patch)
                fitting = Fitting(call.options)
                async with aclosing(handle(call)) as frames:
                    async for frame in frames:
                        for fitted in fitting.fit(frame):
                            yield fitted
            except Exception as error:
                await context.abort(*status_of(error))

        return subscribe

    def _publish(self, patch: bool) -> Any:
        handle = self.handler.on_publish_patch if patch else self.handler.on_publish

        async def publish(requests: AsyncIterator[bytes], context: Any) -> bytes:
            self._note_call()
            try:
                await handle(self._settings.publication(context, requests, patch))
            except Exception as error:
                await context.abort(*status_of(error))
            return RECEIVED

        return publish

    def _topics(self, delete: bool) -> Any:
        settings = self._settings

        async def topics(request: bytes, context: Any) -> Any:
            self._note_call()
            try:
                call = Call(context, settings.authenticate)
                name, _ = unpack_subscribe(inflate(request, settings.max_bytes))
                if not delete:
                    return pack_infos(settings.listed(call, self.handler.on_list_topics(call), name))
                settings.check(call, "delete", name)
                return pack_info(await self.handler.on_delete_topic(call, name))
            except Exception as error:
                await context.abort(*status_of(error))

        return topics

    async def __aenter__(self) -> AsyncServer:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start to serve. Afterwards ``address`` has the port in use."""
        settings = self._settings
        self._server = grpc.aio.server(
            interceptors=[_AsyncGuard(settings.authenticate)] if settings.authenticate is not None else [],
            options=settings.options,
            compression=settings.compression,
        )
        self._health, self.address = settings.install(self._server, self._subscribe, self._publish, self._topics, True)
        await self._server.start()

    async def stop(self, grace: float = 1.0) -> None:
        """Refuse new calls, and end open calls after a grace period.

        Parameters
        ----------
        grace : float, default 1.0
            Seconds.
        """
        if self._server is not None:
            await self._health.enter_graceful_shutdown()
            await self._server.stop(grace)
            # gRPC has cancelled the calls but not waited for them: a loop that ends now would print their tracebacks.
            if calls := {task for task in self._calls if not task.done()}:
                await asyncio.wait(calls, timeout=grace or None)
                await asyncio.sleep(CALL_END)

    async def wait(self) -> None:
        """Wait until the server stops."""
        await self._server.wait_for_termination()
