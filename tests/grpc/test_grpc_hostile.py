"""Bad clients: refused with a status, the others never notice, nothing is left behind."""

from __future__ import annotations

import contextlib
import datetime
import errno
import gc
import os
import random
import socket
import ssl
import struct
import threading
import warnings

import grpc
import pytest
from serving import messages, numbers, options, until
from support import craft

import jelly
import jelly.grpc as jg
from jelly.grpc._context import status_of
from jelly.grpc._metrics import Monitor
from jelly.grpc._protocol import PUBLISH, SUBSCRIBE, pack_subscribe

OPTIONS = options("quads")
LIMIT = 1 << 20


def bare(*rows):
    """A frame without its length."""
    frame = craft.frame(*rows)
    return frame[len(craft.varint(len(b"".join(rows)))) :]


GOOD = bare(craft.options(2, name=b"bad"), craft.quad())
PUBLISHED = {
    "no frame": ([], "INVALID_ARGUMENT", "no frame"),
    "no options": ([bare(craft.quad())], "INVALID_ARGUMENT", "options"),
    "nothing but nothing": ([b"", b""], "INVALID_ARGUMENT", "no options"),
    "no topic": ([bare(craft.options(2), craft.quad())], "INVALID_ARGUMENT", "no topic"),
    "malformed": ([GOOD, b"\x0a\xff"], "INVALID_ARGUMENT", ""),
    "malformed after rows": ([GOOD, bare(craft.quad()) + b"\x0a\xff"], "INVALID_ARGUMENT", "malformed"),
    "garbage": ([b"\xff" * 100], "INVALID_ARGUMENT", ""),
    "a gigabyte announced": ([GOOD, b"\x0a" + craft.varint(1 << 30)], "INVALID_ARGUMENT", ""),
    "names": ([bare(craft.options(2, names=5000))], "INVALID_ARGUMENT", "max_name"),
    "prefixes": ([bare(craft.options(2, prefixes=5000))], "INVALID_ARGUMENT", "max_prefix"),
    "datatypes": ([bare(craft.options(2, datatypes=5000))], "INVALID_ARGUMENT", "max_datatype"),
    "version": ([bare(craft.options(2, version=99))], "INVALID_ARGUMENT", "version"),
    "other options later": ([GOOD, bare(craft.options(2, names=20))], "INVALID_ARGUMENT", "options"),
    "triples among quads": ([GOOD, bare(craft.triple())], "INVALID_ARGUMENT", ""),
    "oversize": ([GOOD, bytes(LIMIT + 1)], "INVALID_ARGUMENT", "at most 1048576"),
    "far too big": ([GOOD, bytes(100 * LIMIT)], "INVALID_ARGUMENT", "at most 1048576"),
}
ASKED = {
    "garbage": (b"\xff" * 100, "INVALID_ARGUMENT"),
    "cut": (pack_subscribe("t", OPTIONS)[:-3], "INVALID_ARGUMENT"),
    "no topic": (b"", "NOT_FOUND"),
    "not UTF-8": (b"\x0a\x02\xff\xff", "INVALID_ARGUMENT"),
    "other options": (pack_subscribe("t", options("graphs")), "INVALID_ARGUMENT"),
    "a gigabyte announced": (b"\x0a" + craft.varint(1 << 30), "INVALID_ARGUMENT"),
    "far too big": (bytes(100 * LIMIT), "INVALID_ARGUMENT"),
}


def handles():
    """How many files are open and threads run, without the pool of the event loop: it adds one where none is idle."""
    gc.collect()
    pool = [thread for thread in threading.enumerate() if thread.name.startswith("asyncio_")]
    assert len(pool) <= 32, pool
    return len(os.listdir("/proc/self/fd")), threading.active_count() - len(pool)


def header(name, value):
    """Of HPACK: a literal without an index."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def http2(kind, flags, stream, data):
    return struct.pack(">I", len(data))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + data


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2(4, 0, 0, b"")
HEADERS = http2(
    1,
    4,
    1,
    header(b":method", b"POST")
    + header(b":scheme", b"http")
    + header(b":path", PUBLISH.encode())
    + header(b":authority", b"localhost")
    + header(b"content-type", b"application/grpc")
    + header(b"te", b"trailers"),
)
# Before 1.84, gRPC waits for the whole of a message that is too long, as it does for any other.
ENDS = tuple(map(int, grpc.__version__.split(".")[:2])) >= (1, 84)
NOISE = random.Random(1).randbytes(2000)
# What comes over the socket, and whether the server ends the call or connection by itself and at once.
SENT = {
    "nothing": (b"", False),
    "noise": (NOISE, True),
    "HTTP 1": (b"GET / HTTP/1.1\r\n\r\n", True),
    "half a preface": (PREFACE[:10], False),
    "a call left open": (PREFACE + HEADERS, False),
    "a gigabyte announced by gRPC": (PREFACE + HEADERS + http2(0, 0, 1, b"\0" + struct.pack(">I", 1 << 30)), ENDS),
    "noise in a call": (PREFACE + HEADERS + NOISE[:500], True),
}


def test_bad_clients(serve):
    """All of them after each other, beside a publisher and a subscriber that go on."""
    server = serve(max_message_bytes=LIMIT)
    with jg.Client(server.address) as client, client.subscribe("t") as feed:
        client.publish(messages("quads", 1), topic="t", options=OPTIONS)
        frames = iter(feed)
        assert numbers([next(frames)]) == [0]
        published = 1

        def unaffected() -> None:
            nonlocal published
            client.publish(messages("quads", 1, start=published), topic="t", options=OPTIONS)
            assert numbers([next(frames)]) == [published]
            published += 1

        unaffected()
        with grpc.insecure_channel(server.address) as channel:
            for what, (sent, code, detail) in PUBLISHED.items():
                with pytest.raises(grpc.RpcError) as caught:
                    channel.stream_unary(PUBLISH)(iter(sent), timeout=240)
                assert caught.value.code().name == code, what
                assert detail in caught.value.details(), what
                unaffected()
            for what, (request, code) in ASKED.items():
                with pytest.raises(grpc.RpcError) as caught:
                    list(channel.unary_stream(SUBSCRIBE)(request, timeout=240))
                assert caught.value.code().name == code, what
            with pytest.raises(grpc.RpcError) as caught:
                channel.unary_unary("/no/method")(b"", timeout=240)
            assert caught.value.code().name == "UNIMPLEMENTED"
        before = handles()
        host, _, port = server.address.rpartition(":")
        held = []
        for what, (sent, ends) in SENT.items():
            connection = socket.create_connection((host, int(port)), 20)
            held.append(connection)
            connection.sendall(sent)
            if ends:
                wait_for_end(connection, what)
            unaffected()
        for connection in held:
            connection.close()
        # A thread of the client's gRPC that reads a call ends a moment after the call.
        until(lambda: all(now <= then for now, then in zip(handles(), before, strict=True)))
        # What they published before they went wrong is there; nothing else is.
        assert server.handler.topics.names() == ["bad", "t"]
        assert all(str(s) == "_:s _:p _:o _:g ." for s in client.subscribe("bad", follow=False).statements())
    until(lambda: server.handler.subscribers == 0)


def wait_for_end(connection, what):
    """Until the server has closed the connection, or the call: trailers, a reset, or its goodbye."""
    data = b""
    while True:
        try:
            got = connection.recv(65536)
        except ConnectionError:
            return
        data += got
        at = 0
        while at + 9 <= len(data):
            size, kind, flags = int.from_bytes(data[at : at + 3], "big"), data[at + 3], data[at + 4]
            if kind in (3, 7) or (kind == 1 and flags & 1):
                return
            at += 9 + size
        if not got:
            return


def test_many_calls_leave_nothing(serve):
    server = serve()

    def calls(count: int) -> None:
        for i in range(count):
            with jg.Client(server.address) as client:
                client.publish(messages("quads", 2), topic="t", options=OPTIONS)
                feed = client.subscribe("t", start=i)
                frames = iter(feed)
                next(frames)
                feed.close()
                with pytest.raises(jelly.JellyServiceError):
                    client.publish([b"\xff\xff"], topic="t")

    calls(8)
    before = handles()
    calls(25)
    until(lambda: server.handler.subscribers == 0)
    until(lambda: all(now <= then + 2 for now, then in zip(handles(), before, strict=True)))


# ---- who may do what


def refused(code, work):
    with pytest.raises(jelly.JellyServiceError) as caught:
        work()
    assert caught.value.code == code, caught.value
    return str(caught.value)


@pytest.mark.parametrize("own", [False, True])
def test_tokens(own, serve):
    class Echo(jg.Handler):
        async def on_publish(self, call):
            self.seen = [call.identity, call.topic, sum([len(batch) async for batch in call])]

        def on_subscribe(self, call):
            return messages("quads", 2)

    known = jg.tokens({"s3cret": "ann", "other": "bob"})
    server = serve(handler=Echo() if own else None, authenticate=known)
    for token in (None, "wrong", "s3cre", "s3cret2", ""):
        with jg.Client(server.address, token=token, retries=0) as client:
            publish = lambda c=client: c.publish(messages("quads", 2), topic="t", options=OPTIONS)  # noqa: E731
            assert "no valid token" in refused("UNAUTHENTICATED", publish)
            refused("UNAUTHENTICATED", lambda c=client: list(c.subscribe("t")))
    with jg.Client(server.address, token="s3cret") as client:
        assert client.publish(messages("quads", 2), topic="t", options=OPTIONS) == 2
        assert len(list(client.subscribe("t", follow=False))) == 2
    if own:
        assert server.handler.seen == ["ann", "t", 10]


@pytest.mark.parametrize("named", [False, True])
def test_who_may_do_what_with_which_topic(named, serve):
    """The topic counts that the stream goes to, whether metadata or options name it, and when."""
    asked = []

    def authorize(identity, action, topic):
        asked.append((identity, action, topic))
        return topic == "ours" or action == "subscribe"

    server = serve(authenticate=jg.tokens({"s3cret": "ann"}), authorize=authorize)
    with jg.Client(server.address, token="s3cret") as client:

        def publish(topic: str) -> None:
            own = OPTIONS if named else OPTIONS.replace(stream_name=topic)
            # Frames of nothing before the options must not settle which topic it is.
            frames = jg.FrameEncoder(own).encode_many(messages("quads", 2))
            client.publish([b"", b"", *frames], topic=topic if named else None)

        publish("ours")
        assert "ann may not publish to 'theirs'" in refused("PERMISSION_DENIED", lambda: publish("theirs"))
        assert server.handler.topics.names() == ["ours"]
        assert len(list(client.subscribe("ours", follow=False))) == 2
        assert asked == [("ann", "publish", "ours"), ("ann", "publish", "theirs"), ("ann", "subscribe", "ours")]


def test_only_the_loopback_unless_told_otherwise():
    for address in ("0.0.0.0:0", "[::]:0", "example.org:0"):
        with pytest.raises(jelly.JellyOptionsError, match="can be reached from other machines"):
            jg.Server(jg.Handler(), address)
    with jg.Server(jg.Handler()) as server, pytest.raises(OSError, match="cannot listen"):
        jg.Server(jg.Handler(), server.address).start()


def test_what_is_no_address_to_listen_on(tmp_path):
    for address in ("50051", "localhost", "localhost:", "127.0.0.1:99999", "127.0.0.1:http", "127.0.0.1:\u0661", ":0"):
        for kind, handler in ((jg.Server, jg.Handler()), (Monitor, jg.Broker())):
            with pytest.raises(jelly.JellyOptionsError, match="is no address: expected HOST:PORT"):
                kind(handler, address)
    with pytest.raises(OSError, match="cannot listen there: No such file or directory"):
        jg.Server(jg.Handler(), f"unix:{tmp_path}/none/socket").start()
    with jg.Server(jg.Broker(), f"unix:{tmp_path}/socket") as server, jg.Client(server.address) as client:
        assert client.topics() == []


def test_errors_of_long_names(serve):
    """The status of an error arrives, whatever it has to say: clients refuse long headers."""
    for kind in (jelly.JellyError, lambda reason: jg.Refusal("NOT_FOUND", reason)):
        code, text = status_of(kind("\U0001f600" * 10_000))
        assert len(text.encode()) == 2000
        assert code.name in ("INVALID_ARGUMENT", "NOT_FOUND")
    server = serve()
    with jg.Client(server.address) as client:
        for name in ("\U0001f600" * 5000, "\u00e9" * 5000, "e" * 5000):
            for call in (client.topics, client.delete_topic, lambda name: list(client.subscribe(name))):
                with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND: there is no topic"):
                    call(name)


def test_what_is_exhausted():
    """A limit of open files is not taken for a full disk."""
    for number, reason in ((errno.ENOSPC, "the store is full"), (errno.EMFILE, "too many open files")):
        code, text = status_of(OSError(number, os.strerror(number)))
        assert code.name == "RESOURCE_EXHAUSTED"
        assert reason in text


def test_tls(serve, tmp_path):
    trustme = pytest.importorskip("trustme")
    ours, theirs = trustme.CA(), trustme.CA()
    of_server, of_client, of_stranger = (
        ours.issue_cert("localhost", "127.0.0.1"),
        ours.issue_cert("client"),
        theirs.issue_cert("client"),
    )
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(days=1)
    other_host = ours.issue_cert("example.org")
    expired = ours.issue_cert("localhost", "127.0.0.1", not_before=now - 2 * day, not_after=now - day)
    early = ours.issue_cert("localhost", "127.0.0.1", not_before=now + day, not_after=now + 2 * day)

    def tls(certificate, ca):
        pem = {} if certificate is None else {
            "key": certificate.private_key_pem.bytes(), "certificate": certificate.cert_chain_pems[0].bytes()
        }  # fmt: skip
        return jg.Tls(**pem, authorities=None if ca is None else ca.cert_pem.bytes())

    of_server.private_key_pem.write_to_path(tmp_path / "key.pem")
    of_server.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    one_way = serve(tls=jg.Tls(tmp_path / "key.pem", tmp_path / "cert.pem"))
    mutual = serve(tls=tls(of_server, ours))
    tries = [
        (one_way, tls(None, ours), True),
        (one_way, tls(None, theirs), False),
        (one_way, tls(None, None), False),
        (one_way, None, False),
        (mutual, tls(of_client, ours), True),
        (mutual, tls(of_stranger, ours), False),
        (mutual, tls(None, ours), False),
        (mutual, None, False),
        (serve(tls=tls(expired, None)), tls(None, ours), False),
        (serve(tls=tls(early, None)), tls(None, ours), False),
        (serve(tls=tls(other_host, None)), tls(None, ours), False),
        (mutual, tls(expired, ours), False),
        (mutual, tls(early, ours), False),
        (mutual, tls(of_client, ours), True),  # the others have done no harm
    ]
    for server, security, welcome in tries:
        with jg.Client(server.address, tls=security, retries=0) as client:

            def work(client=client):
                client.publish(messages("quads", 2), topic="t", options=OPTIONS, timeout=240)
                return len(list(client.subscribe("t", follow=False, timeout=240)))

            if welcome:
                assert work() >= 2
            else:
                refused("UNAVAILABLE", work)
    assert (one_way.handler.published, mutual.handler.published) == (2, 4)
    assert all(server.handler.published == 0 for server, _, welcome in tries[8:-3] if not welcome)
    with pytest.raises(ValueError, match="needs key and certificate"):
        jg.Tls().of_server()


def test_what_is_no_tls(serve, tmp_path):
    """Plain text and rubbish at a port with TLS, silence, and TLS at a port without: nobody else is hindered."""
    trustme = pytest.importorskip("trustme")
    ca = trustme.CA()
    issued = ca.issue_cert("localhost", "127.0.0.1")
    known = jg.Tls(authorities=ca.cert_pem.bytes())
    key, certificate = issued.private_key_pem.bytes(), issued.cert_chain_pems[0].bytes()
    secure, plain = serve(tls=jg.Tls(key, certificate)), serve()
    host, _, port = secure.address.rpartition(":")
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # the beginning of a handshake that does not go on
    with contextlib.ExitStack() as stack:
        for first in (b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", bytes(256) * 40, hello, b""):
            for _ in range(10):
                sock = stack.enter_context(socket.create_connection((host, int(port)), timeout=240))
                sock.sendall(first)
        with jg.Client(secure.address, tls=known, retries=0) as client:
            assert client.publish(messages("quads", 2), topic="t", options=OPTIONS, timeout=240) == 2
    for old in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=ca.cert_pem.bytes().decode())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = context.maximum_version = old
            context.set_ciphers("ALL:@SECLEVEL=0")  # this side would take it
        with (
            socket.create_connection((host, int(port)), timeout=240) as sock,
            pytest.raises((ssl.SSLError, ConnectionError)),
        ):
            context.wrap_socket(sock, server_hostname="127.0.0.1")
    with jg.Client(plain.address, tls=known, retries=0) as client:
        refused("UNAVAILABLE", lambda: client.publish(messages("quads", 1), topic="t", options=OPTIONS, timeout=240))
    with jg.Client(plain.address, retries=0) as client:
        assert client.publish(messages("quads", 2), topic="t", options=OPTIONS, timeout=240) == 2
    assert (secure.handler.published, plain.handler.published) == (2, 2)
