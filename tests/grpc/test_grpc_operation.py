"""The broker as a server that people run: metrics, health, quotas, signals, full disks, many and slow subscribers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import closing

import pytest
from prometheus_client import parser
from serving import end, messages, numbers, options, plain, serve_command, spawn, until

import jelly
import jelly.grpc as jg
import jelly.grpc._topic
from jelly import IRI, Frame, Literal, Triple
from jelly.grpc._metrics import Monitor

LONG = bool(os.environ.get("JELLY_LONG"))
OPTIONS = options("quads")
GRAPHS = options("graph messages")
TOKENS = {"a-token": "ann", "b-token": "bob"}


def big(i, size=20_000):
    return Frame(i, [Triple(IRI("a:s"), IRI("a:p"), Literal(f"{i} " + "x" * size))], {"number": b"%d" % i})


def get(address, path):
    """Status and text of a page."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=240) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def figures(address):
    """The metrics by name."""
    status, text = get(address, "/metrics")
    assert status == 200
    found = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.name.startswith("jelly_")
        assert family.type in ("counter", "gauge")
        assert family.documentation
        for sample in family.samples:
            found[" ".join([sample.name, *sample.labels.values()])] = sample.value
    return found


def test_metrics_and_health(serve, tmp_path):
    topics = jg.Topics(tmp_path)
    server = serve(topics)
    name = 'ä "b"\\\n'
    with closing(Monitor(server.handler, "127.0.0.1:0")) as monitor, jg.Client(server.address) as client:
        client.publish(messages("quads", 12), topic="t", options=OPTIONS)
        client.publish(jelly.patch.Patch([jelly.patch.Start(), jelly.patch.Commit()]), topic=name, kind="patches")
        with pytest.raises(jelly.JellyServiceError):
            client.publish(messages("graphs", 1), topic="t", options=options("graphs"))
        with pytest.raises(jelly.JellyServiceError):
            list(client.subscribe("none"))
        with client.subscribe("t") as feed:
            frames = iter(feed)
            numbers(next(frames) for _ in range(12))
            found = figures(monitor.address)
        assert found["jelly_messages_published_total"] == 13
        assert found["jelly_messages_delivered_total"] in (11, 12)  # the last one counts when it is asked for the next
        assert found["jelly_calls_refused_total"] == 2
        assert found["jelly_subscribers"] == found["jelly_topic_subscribers t"] == 1
        assert found["jelly_topics"] == 2
        assert found["jelly_store_failing"] == 0
        assert found["jelly_store_free_bytes"] > 0
        assert found["jelly_topic_messages_total t"] == 12
        assert found["jelly_topic_statements t"] == sum(map(len, messages("quads", 12)))
        assert found["jelly_topic_bytes t"] == (tmp_path / "t.jelly").stat().st_size
        assert abs(found["jelly_topic_updated_seconds t"] - time.time()) < 100
        assert found[f"jelly_topic_statements {name}"] == 2
        assert get(monitor.address, "/health") == (200, '{"status": "ok"}\n')
        assert get(monitor.address, "/other")[0] == 404
        monitor.is_stopping = True
        assert get(monitor.address, "/health") == (503, '{"status": "stopping"}\n')
        with pytest.raises(OSError, match="cannot listen there"):
            Monitor(server.handler, monitor.address)
    assert "'here' is no address: expected HOST:PORT" in command("serve", "--metrics", "here", code=1)
    server.close()
    topics.close()


def test_quotas_and_owners(serve, tmp_path):
    """A token may create so many topics, also after a restart, and delete those that it created."""
    for restart in range(2):
        topics = jg.Topics(tmp_path, topics_per_owner=2)
        server = serve(topics, authenticate=jg.tokens(TOKENS))
        with jg.Client(server.address, token="a-token") as ann, jg.Client(server.address, token="b-token") as bob:
            if restart == 0:
                for name in ("a1", "a2"):
                    ann.publish(messages("quads", 1), topic=name, options=OPTIONS)
            with pytest.raises(
                jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: ann has 2 topics, which is the most"
            ):
                ann.publish(messages("quads", 1), topic="a3", options=OPTIONS)
            ann.publish(messages("quads", 1), topic="a1", options=OPTIONS)
            bob.publish(messages("quads", 1), topic="a1", options=OPTIONS)
            bob.publish(messages("quads", 1), topic="b1", options=OPTIONS)
            assert {info.name: info.owner for info in bob.topics()} == {"a1": "ann", "a2": "ann", "b1": "bob"}
            with pytest.raises(jelly.JellyServiceError, match="PERMISSION_DENIED: bob may not delete 'a1'"):
                bob.delete_topic("a1")
            with (
                jg.Client(server.address) as nobody,
                pytest.raises(jelly.JellyServiceError, match="UNAUTHENTICATED"),
            ):
                nobody.delete_topic("a1")
            if restart:
                ann.delete_topic("a2")
                ann.publish(messages("quads", 1), topic="a3", options=OPTIONS)
        server.close()
        topics.close()
    assert json.loads((tmp_path / ".owners.json").read_text()) == {"a1": "ann", "b1": "bob", "a3": "ann"}


def test_authorize_decides_about_topics(serve):
    def authorize(identity, action, topic):
        return identity == "ann" or (action == "subscribe" and topic == "open")

    server = serve(authenticate=jg.tokens(TOKENS), authorize=authorize)
    with jg.Client(server.address, token="a-token") as ann, jg.Client(server.address, token="b-token") as bob:
        server.handler.topics.get("closed", create=True)
        ann.publish(messages("quads", 1), topic="open", options=OPTIONS)
        assert [info.name for info in ann.topics()] == ["closed", "open"]
        assert [info.name for info in bob.topics()] == ["open"]
        with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND"):
            bob.topics("closed")
        with pytest.raises(jelly.JellyServiceError, match="PERMISSION_DENIED: bob may not delete 'open'"):
            bob.delete_topic("open")
        assert ann.delete_topic("closed").name == "closed"  # which nobody has created

        async def main():
            async with jg.AsyncClient(server.address, token="a-token") as client:
                assert [info.name for info in await client.topics()] == ["open"]
                assert (await client.delete_topic("open")).end == 1
                with pytest.raises(jelly.JellyServiceError, match="NOT_FOUND"):
                    await client.delete_topic("open")

        asyncio.run(main())
    with jg.Server(jg.Handler()) as own, jg.Client(own.address) as client:
        for call in (client.topics, lambda: client.delete_topic("t")):
            with pytest.raises(jelly.JellyServiceError, match="UNIMPLEMENTED"):
                call()


def command(*arguments, code=0):
    """The command in this process: what it printed, errors too."""
    testing = pytest.importorskip("click.testing", reason="the command needs click")
    from jelly.cli.commands import cli

    done = testing.CliRunner().invoke(cli, arguments)
    assert done.exit_code == code, done.output
    assert "Traceback" not in done.output
    return done.output


def served(*arguments, **settings):
    """``jelly serve`` with metrics: the process, its address and that of the metrics."""
    process = spawn(
        "-m", "jelly", "serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", *arguments, **settings
    )
    told = {}
    for line in process.stderr:
        if line.startswith("metrics and health on "):
            told["metrics"] = line.strip().rpartition("/")[2]
        if line.startswith("listening on "):
            return process, line.split()[2].rstrip(","), told["metrics"]
    raise AssertionError("the server did not start")


def test_the_command_topics(tmp_path):
    process, address, monitor = served("--store", str(tmp_path), "--keep-bytes", "1M", "--keep-bytes", "big=1G",
                                       "--keep-age", "7d", "--keep-age", "big=90s", "--sync", "interval")  # fmt: skip
    try:
        with jg.Client(address) as client:
            client.publish(messages("quads", 12), topic="big", options=OPTIONS)
            client.publish(jelly.patch.Patch(), topic="changes", kind="patches")
        out = command("topics", address)
        assert [line.split()[:3] for line in out.splitlines()[1:]] == [
            ["big", "statements", "12"], ["changes", "patches", "1"]
        ]  # fmt: skip
        out = command("topics", address, "--json")
        told = {one["name"]: one for one in json.loads(out)}
        assert (told["big"]["keep_bytes"], told["big"]["keep_age"]) == (1 << 30, 90)
        assert (told["changes"]["keep_bytes"], told["changes"]["keep_age"]) == (1 << 20, 7 * 86400)
        assert told["big"]["options"]["physical_type"] == "QUADS"
        assert told["changes"]["options"]["stream_type"] == "FRAME"
        out = command("topics", address, "big")
        assert "end: 12" in out
        assert "keep bytes: 1,073,741,824" in out
        err = command("topics", address, "big", "--delete", code=1)
        assert "Delete topic big" in err
        err = command("topics", address, "big", "--delete", "--yes")
        assert "topic big: 12 messages deleted" in err
        for arguments in ((address, "big"), (address, "big", "--delete", "--yes")):
            err = command("topics", *arguments, code=1)
            assert "NOT_FOUND: there is no topic 'big'" in err
        assert figures(monitor)["jelly_topics"] == 1
    finally:
        process.send_signal(signal.SIGTERM)
        assert end(process) == 0
    for wrong, told in (
        (("--keep-age", "soon"), "no age"), (("--keep-bytes", "t=0"), "no size"), (("--sync", "x"), "'x'"),
        (("--topics-per-token", "1"), "needs --tokens"),
    ):  # fmt: skip
        err = command("serve", *wrong, code=2)
        assert told in err


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_where_the_loop_takes_no_signals(ending, tmp_path):
    """As on Windows: no traceback, and what was published is there."""
    code = (
        "import asyncio, sys\n"
        "def refuse(*arguments): raise NotImplementedError\n"
        "asyncio.SelectorEventLoop.add_signal_handler = refuse\n"
        "sys.argv[1:] = ['serve', '--listen', '127.0.0.1:0', '--store', sys.argv[1]]\n"
        "from jelly.cli import main\nmain()"
    )
    process = spawn("-c", code, str(tmp_path))
    line = next(line for line in process.stderr if line.startswith("listening on "))
    with jg.Client(line.split()[2].rstrip(",")) as client, client.subscribe("t") as feed:
        client.publish(messages("quads", 3), topic="t", options=OPTIONS)
        assert numbers([next(iter(feed))]) == [0]
        process.send_signal(ending)
        told = process.stderr.read()
    assert end(process) == 0
    assert "Traceback" not in told
    assert "3 messages in" in told
    assert len(list(jelly.scan(tmp_path / "t.jelly").frames())) == 3

@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_while_others_publish_and_subscribe(ending, tmp_path):
    """No traceback; those who are connected are told; what was acknowledged is there, of the rest a beginning."""
    process, address, _ = served("--store", str(tmp_path), start_new_session=True)
    open_ended, told = threading.Event(), []
    sent = iter(range(10, 1_000_000))

    def without_end():
        for i in sent:
            yield from messages("quads", 1, start=i)
            if i == 20:
                open_ended.set()

    def publish():
        with jg.Client(address, retries=0) as client:
            try:
                client.publish(without_end(), topic="t", options=OPTIONS)
            except jelly.JellyServiceError as error:
                told.append(error.code)

    def listen():
        with jg.Client(address, retries=0) as client:
            try:
                list(client.subscribe("t"))
            except jelly.JellyServiceError as error:
                told.append(error.code)

    with jg.Client(address) as client:
        client.publish(messages("quads", 10), topic="t", options=OPTIONS)
        threads = [threading.Thread(target=target) for target in (listen, listen, publish)]
        for thread in threads:
            thread.start()
        assert open_ended.wait(240)
        until(lambda: client.topics("t")[0].subscribers == 2)
    os.killpg(process.pid, ending)  # as Ctrl-C does: all processes of the group
    said = process.stderr.read()
    assert end(process) == 0
    for thread in threads:
        thread.join(240)
        assert not thread.is_alive()
    assert len(said.splitlines()) == 1
    assert "messages in" in said
    assert len(told) == 3
    assert set(told) <= {"UNAVAILABLE", "CANCELLED"}
    with jg.Topics(tmp_path) as topics:
        assert numbers(jelly.scan(tmp_path / "t.jelly").frames()) == [*range(topics.get("t").end)]
        assert topics.get("t").end >= 10


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_while_it_begins(ending, tmp_path):
    """A signal while a large file is loaded ends the command, without a traceback."""
    os.mkfifo(tmp_path / "never.nt")
    process = spawn("-m", "jelly", "serve", "--listen", "127.0.0.1:0", "--topic", f"t={tmp_path / 'never.nt'}")
    with open(tmp_path / "never.nt", "wb"):  # when it has opened the file
        process.send_signal(ending)
        said = process.stderr.read()
        code = end(process)
    assert "Traceback" not in said
    assert code in (130, 143, -ending)


def test_a_full_disk(tmp_path):
    """The broker says so, keeps what it has, serves it, and goes on when there is room."""
    store = tmp_path / "small"
    store.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(store)]
        done = subprocess.run(mount, capture_output=True, timeout=240, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("a small file system cannot be mounted")
    try:
        filler = store / "filler"
        filler.write_bytes(bytes(400_000))
        process, address, monitor = served("--store", str(store))
        try:
            with jg.Client(address) as client:
                acknowledged = 0
                with pytest.raises(jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: the store is full"):  # noqa: PT012
                    for i in range(100):
                        client.publish([big(i)], topic="t", options=GRAPHS)
                        acknowledged += 1
                assert 20 < acknowledged < 40
                for i in range(3):  # it goes on to say so
                    with pytest.raises(jelly.JellyServiceError, match="the store is full"):
                        client.publish([big(i)], topic="t", options=GRAPHS)
                    with pytest.raises(jelly.JellyServiceError, match="the store is full"):
                        client.publish([big(i)], topic=f"new{i}", options=GRAPHS)
                status, text = get(monitor, "/health")
                assert (status, json.loads(text)["status"]) == (503, "failing")
                assert figures(monitor)["jelly_store_failing"] == 1
                assert numbers(client.subscribe("t", follow=False)) == [*range(acknowledged)]
                filler.unlink()
                assert get(monitor, "/health")[0] == 200
                client.publish([big(acknowledged)], topic="t", options=GRAPHS)
                assert numbers(client.subscribe("t", follow=False)) == [*range(acknowledged + 1)]
        finally:
            process.send_signal(signal.SIGTERM)
            told = process.stderr.read()
            assert end(process) == 0
        assert "No space left on device" in told
        assert "Traceback" not in told
        assert numbers(jelly.scan(store / "t.jelly").frames()) == [*range(acknowledged + 1)]
    finally:
        subprocess.run(["umount", "-l", str(store)], timeout=240, check=True)


def test_files_that_may_not_grow(tmp_path):
    """A quota, here a limit of the process: what is acknowledged is kept, other topics and the next start go on."""
    pytest.importorskip("resource")
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "sys.argv[1:] = ['serve', '--listen', '127.0.0.1:0', '--store', sys.argv[1]]\n"
        "from jelly.cli import main\nmain()"
    )
    process = spawn("-c", code, str(tmp_path))
    line = next(line for line in process.stderr if line.startswith("listening on "))
    address = line.split()[2].rstrip(",")
    acknowledged = 0
    try:
        with jg.Client(address) as client:
            with pytest.raises(jelly.JellyServiceError, match="RESOURCE_EXHAUSTED: the store is full"):  # noqa: PT012
                for acknowledged in range(100):
                    client.publish([big(acknowledged)], topic="t", options=GRAPHS)
            assert 10 < acknowledged < 15
            assert numbers(client.subscribe("t", follow=False)) == [*range(acknowledged)]
            client.publish([big(0)], topic="u", options=GRAPHS)
    finally:
        process.send_signal(signal.SIGTERM)
        told = process.stderr.read()
        assert end(process) == 0
    assert "Traceback" not in told
    with jg.Topics(tmp_path) as topics:
        topics.get("t").fill([big(acknowledged)], GRAPHS)
        assert numbers(jelly.scan(tmp_path / "t.jelly").frames()) == [*range(acknowledged + 1)]


def test_a_fast_publisher_waits_for_the_broker(serve, monkeypatch):
    """The broker takes a message when it has stored the one before: a fast publisher is slowed, nothing piles up."""
    allowed, enough = threading.Semaphore(0), threading.Event()
    append = jelly.grpc._topic.Topic.append

    def slowly(self, batch):
        assert allowed.acquire(timeout=240)
        if enough.is_set():
            raise jelly.JellyError("enough")
        append(self, batch)

    monkeypatch.setattr(jelly.grpc._topic.Topic, "append", slowly)
    server = serve()
    made = 0

    def items():
        nonlocal made
        for i in range(3000):
            made += 1
            yield big(i, 200_000)  # stored in a thread, so that the loop of the server goes on

    def publish():
        with pytest.raises(jelly.JellyServiceError, match="enough"):
            client.publish(items(), topic="t", options=GRAPHS, timeout=240)

    with jg.Client(server.address) as client:
        thread = threading.Thread(target=publish)
        thread.start()
        until(lambda: made > 1)
        for stored in range(1, 6):
            before = made
            allowed.release()
            until(lambda n=stored: server.handler.published == n)
            # Whatever is under way fits into the windows and buffers of the connection.
            until(lambda n=before: made == n or made > n)
            assert made - stored < 100
        still = -1
        while still != made:  # until nothing moves any more
            still = made
            threading.Event().wait(0.3)
        assert made - server.handler.published < 100  # of 600 MB
        enough.set()
        allowed.release()
        thread.join(240)
        assert not thread.is_alive()


def test_a_thousand_subscribers(serve):
    """All get all; in the long form 50 messages and 1,000 subscribers, else 200 of them."""
    count, lots = (1000, 10) if LONG else (200, 3)
    server = serve()
    given = messages("quads", 5 * lots)

    async def main() -> None:
        clients = [jg.AsyncClient(server.address) for _ in range(10)]

        async def listen(i: int) -> int:
            frames = clients[i % 10].subscribe("t").raw()
            found = 0
            decoder = jg.FrameDecoder()
            async for frame in frames:
                decoder.decode(frame)
                found += 1
                if found == len(given):
                    break
            return found

        async with jg.AsyncClient(server.address) as publisher:
            await publisher.publish(given[:5], topic="t", options=OPTIONS)
            tasks = [asyncio.create_task(listen(i)) for i in range(count)]
            while server.handler.subscribers < count:
                await asyncio.sleep(0.01)
            for lot in range(1, lots):
                await publisher.publish(given[5 * lot : 5 * lot + 5], topic="t", options=OPTIONS)
            assert await asyncio.wait_for(asyncio.gather(*tasks), 300) == [len(given)] * count
        for client in clients:
            await client.close()

    asyncio.run(main())
    until(lambda: server.handler.subscribers == 0)
    assert server.handler.delivered >= count * (len(given) - 1)


def test_the_port_of_the_metrics_is_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for policy, told in (
            ("always", "a publication is acknowledged when it is on the disk"),
            ("interval", "a crash of the machine may lose what was acknowledged in the last 5 s"),
            ("never", "a crash of the machine may lose what the system did not write yet"),
        ):
            err = command("serve", "--listen", "127.0.0.1:0", "--metrics", f"127.0.0.1:{port}", "--store",
                          str(tmp_path), "--sync", policy, "--sync-interval", "5s", code=1)  # fmt: skip
            assert "cannot listen there" in err
            assert f"{tmp_path}: {told}\n" in err


def test_statements_stay_as_they_are_over_a_restart_with_files(tmp_path):
    """The command with limits: rolled files, a restart by kill -9, and a subscriber that starts in the middle."""
    arguments = ("--store", str(tmp_path), "--keep-bytes", "200K")
    process, address = serve_command(*arguments)
    with jg.Client(address) as client:
        for start in range(0, 1500, 300):
            client.publish(messages("quads", 300, start=start), topic="t", options=OPTIONS)
    process.kill()
    end(process)
    process, address = serve_command(*arguments)
    try:
        with jg.Client(address) as client:
            (info,) = client.topics("t")
            assert info.end == 1500
            assert 0 < info.first < 1400
            assert sum(path.stat().st_size for path in tmp_path.glob("t*.jelly")) == info.bytes < 300 << 10
            middle = (info.first + info.end) // 2
            found = list(client.subscribe("t", start=middle, follow=False))
            assert plain(found) == plain(messages("quads", 1500 - middle, start=middle))
    finally:
        process.send_signal(signal.SIGTERM)
        assert end(process) == 0
