"""The commands ``jelly serve``, ``publish``, ``subscribe`` and ``topics`` (extras ``cli`` and ``grpc``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from itertools import chain, islice
from typing import Any

import click

import jelly
from jelly import patch as patches
from jelly._core.base.constants import Op
from jelly._formats.registry import Content, content_of
from jelly._options.options import ROW_VERSION
from jelly._streams.outputs import ALL_FIELDS, changed, is_columns, late_error, missing, open_fields, output_options
from jelly.cli.common import is_terminal, numbers, progress_bar, report, say, show
from jelly.cli.options import (
    COUNT,
    SIZE,
    command,
    forms,
    measure,
    option,
    reads,
    streams,
    together,
)
from jelly.cli.reading import inputs, refuse_json, stream_of, wide_advice

REFRESH = 0.5  # seconds between two updates of the counters
_TOKEN = "JELLY_TOKEN"  # in the environment, where other users do not see it as they see arguments


_SYNC = {
    "always": "a publication is acknowledged when it is on the disk",
    "interval": "a crash of the machine may lose what was acknowledged in the last {:g} s",
    "never": "a crash of the machine may lose what the system did not write yet",
}
_KAFKA = "a publication is acknowledged when all replicas in sync have it (acks=all)"
# What messages and their rows are called, of statements and of patches.
_NOUNS = (("messages", "statements"), ("patches", "operations"))
AGE = measure("age", "[smhd]", {"": 1, "S": 1, "M": 60, "H": 3600, "D": 86400}, "90s, 30m, 12h or 7d")


def _of_topic(kind: Callable[[Any], Any]) -> Callable[[str], tuple[str, Any]]:
    """The type of values for all topics, or NAME=VALUE for one: pairs of the name, or "", and the value."""

    def value_of(text: str) -> tuple[str, Any]:
        name, _, rest = text.rpartition("=")
        return name, kind(rest)

    value_of.__name__ = kind.__name__
    return value_of


_PEM = click.Path(exists=True, dir_okay=False)
_client_options = together(
    option("--tls", "Use TLS; the system must know the authority of the server's certificate."),
    option("--ca FILE", "Certificates (PEM) of the authorities that signed the server's certificate.", kind=_PEM),
    option("--cert FILE", "Certificate (PEM) of the client, with --key.", kind=_PEM),
    option("--key FILE", "Key (PEM) of the client.", kind=_PEM),
    option("--insecure", "Send the token without TLS to another machine too."),
    option("--compression [gzip]", "Compress sent messages."),
    option("--timeout SECONDS", "Give up after this many seconds (default: never).", kind=float),
)


def _tls(cert: str | None, key: str | None, ca: str | None, wanted: bool = False) -> Any:
    """The TLS settings, or None if there are no files for them and TLS is not ``wanted``."""
    from jelly.grpc import Tls

    return Tls(key, cert, ca) if cert or key or ca or wanted else None


def _client(address: str, given: dict[str, Any]) -> Any:
    from jelly.grpc import Client

    tls = _tls(given["cert"], given["key"], given["ca"], given["tls"])
    token, compression, insecure = os.environ.get(_TOKEN), given["compression"], given["insecure"]
    return Client(address, tls=tls, token=token, compression=compression, insecure=insecure)


@command()
@option("--listen HOST:PORT", "Address to listen on (port 0: any free port).", "127.0.0.1:50051")
@option("--topic NAME=FILE...", "Create a topic with the frames of a file. Repeatable.", name="files")
@option("--store DIRECTORY", "Directory that stores the topics, one Jelly file each; or kafka://HOST:PORT, for topics "
        "in Kafka.", kind=click.Path(file_okay=False))
@option("--keep N", "Messages kept per topic without a store (default: 10,000).", kind=COUNT)
@option("--keep-bytes [NAME=]SIZE...", "Bytes kept per topic, or of one topic; the oldest messages are deleted "
        "(default: all in a store, else 256M).", kind=_of_topic(SIZE))
@option("--keep-age [NAME=]AGE...", "Age of the messages that are kept, such as 12h or 7d, or of those of one topic "
        "(default: any).", kind=_of_topic(AGE))
@option("--sync [always|interval|never]", "When messages are on the disk: before they are acknowledged (nothing "
        "acknowledged is lost), every --sync-interval (a crash of the machine loses what was acknowledged since), or "
        "when the system writes them (it loses about half a minute). A crash of the broker alone loses nothing that "
        "was acknowledged.", "always")
@option("--sync-interval AGE", "Time for --sync interval.", "1s", AGE)
@option("--metrics HOST:PORT", "Answer HTTP there: /metrics for Prometheus, and /health. Anybody who reaches it can "
        "read the topics' names.")
@option("--cert FILE", "Certificate (PEM), for TLS.", kind=_PEM)
@option("--key FILE", "Key (PEM) of the certificate.", kind=_PEM)
@option("--ca FILE", "Only accept clients whose certificate is signed by these authorities (PEM).", kind=_PEM)
@option("--tokens FILE", "File of NAME TOKEN lines: only accept clients with one of the tokens.", kind=click.File())
@option("--topics-per-token N", "Topics that the owner of a token may create (default: any).", kind=COUNT)
@option("--insecure", "Accept other machines without TLS.")
@option("--compression [gzip]", "Compress sent messages.")
@reads(format=False)
def serve(listen: str, files: Any, store: str | None, keep: int | None, tokens: Any, **given: Any) -> None:
    """Serve RDF streams over gRPC (the Jelly service RdfStreamService) until SIGINT or SIGTERM.

    A topic is created by its first publication. A subscriber gets the messages that the topic keeps, then new ones.
    See docs/broker.md.

    \b
    Examples:
      jelly serve --store topics/
      jelly serve --store topics/ --keep-age 7d --keep-bytes 10G --keep-bytes weather=100G --metrics 127.0.0.1:9464
      jelly serve --store kafka://127.0.0.1:9092
      jelly serve --topic weather=weather.jelly --listen 127.0.0.1:0
    """
    # gRPC also writes to standard error, for example if a port is in use. The exception has the same information.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from jelly.grpc import Broker, Server, Topics
    from jelly.grpc import tokens as known_tokens
    from jelly.grpc._context import is_open

    if is_open(listen) and not (given["cert"] or given["insecure"]):
        raise jelly.JellyOptionsError(
            f"{listen} can be reached from other machines: give --cert and --key, or --insecure if that is intended"
        )
    if bool(given["cert"]) != bool(given["key"]):
        raise click.UsageError("--cert and --key go together")

    settings = dict(inputs([file for _, file in files if not _is_patch(None, file)], given["reading"]))
    people = None
    if tokens is not None:
        lines = [line.split() for line in tokens if line.strip() and not line.startswith("#")]
        if any(len(line) != 2 for line in lines) or not lines:
            raise click.UsageError("--tokens: expected lines of a name and a token")
        people = known_tokens({token: name for name, token in lines})
    elif given["topics_per_token"] is not None:
        raise click.UsageError("--topics-per-token needs --tokens")
    limits: dict[str, dict[str, Any]] = {"": {}}  # by topic; "" are all others
    for limit in ("keep_bytes", "keep_age"):
        for name, value in given[limit]:
            limits.setdefault(name, {})[limit] = value
    topics = Topics(
        store, keep=keep, **limits.pop(""), per_topic=limits, sync=given["sync"], sync_interval=given["sync_interval"],
        topics_per_owner=given["topics_per_token"],
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        stack.enter_context(closing(topics))
        if store is not None:
            guarantee = _KAFKA if topics.store is None else _SYNC[given["sync"]].format(given["sync_interval"])
            say(f"{store}: {guarantee}")
        for name, file in files:
            _load(topics, name, file, settings.get(file))
        broker = Broker(topics)
        monitor = None
        if given["metrics"]:
            from jelly.grpc._metrics import Monitor

            monitor = stack.enter_context(closing(Monitor(broker, given["metrics"])))
        tls = _tls(given["cert"], given["key"], given["ca"])
        server = Server(
            broker, listen, tls=tls, authenticate=people, insecure=given["insecure"], compression=given["compression"]
        )  # fmt: skip
        asyncio.run(_serve(server, topics, monitor))


def _load(topics: Any, name: str, file: str, settings: dict[str, Any] | None) -> None:
    """Fill a topic from a file, one of patches without settings, unless the store already has the topic."""
    topic = topics.get(name, create=True)
    if topic.end:
        say(f"topic {name}: {topic.end:,} messages in the store, {file} is not loaded")
        return
    try:
        with (
            progress_bar(f"Loading {name}") as progress,
            patches.PatchReader(file) if settings is None else jelly.Reader(file, **settings) as reader,
        ):
            batches = reader.source.watched(reader.batches(), progress)
            first = [*islice(batches, 1)]  # the options come before it
            topic.fill(chain(first, batches), reader.options or (patches.PatchOptions() if settings is None else None))
    except BaseException:
        if topics.store is not None:  # the next start would take the beginning of the file for all of it
            topics.delete(name)
        raise
    say(f"topic {name}: {topic.end:,} messages from {file}")


def _is_patch(format: str | None, path: str) -> bool:
    return content_of(None, (path, format)) is Content.PATCH


def _begun(
    reader: Any, batches: Iterator[Any], changes: dict[str, Any], is_patch: bool
) -> tuple[Any, Iterator[Any] | None]:
    """Options for all Batches of a reader, chosen by the first one, and the Batches; None if there is none."""
    first = next(batches, None)
    options: Any
    if is_patch:
        wide = {"rdf_star": True, "generalized_statements": True}
        options = changed(reader.options or patches.PatchOptions(), wide)
    else:
        options = output_options(reader.options, 3 if first is None else first.arity, changes)
    if is_columns(options):
        options = options.replace(version=ROW_VERSION)  # as topics are
    if first is None:
        return options, None
    return changed(options, missing(options, first, open_fields(changes))), chain([first], batches)


def _counted(batches: Iterator[Any], options: Any, counts: dict[str, int], rows: str) -> Iterator[Any]:
    """The Batches, which need no more than ``options``; their statements or operations are counted."""
    for batch in batches:
        if fields := missing(options, batch, ALL_FIELDS):
            raise late_error(fields, "give options that allow it")
        counts[rows] += len(batch) - (0 if batch.op is None else int((batch.op == Op.PUNCTUATION).sum()))
        yield batch


async def _serve(server: Any, topics: Any, monitor: Any) -> None:
    broker = server.handler
    done = asyncio.Event()
    _on_signals(done)
    async with server:
        if monitor is not None:
            say(f"metrics and health on http://{monitor.address}")
        say(f"listening on {server.address}, {len(topics.names()):,} topics; Ctrl-C stops")
        while not done.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(done.wait(), REFRESH)
            if is_terminal(sys.stderr):
                # Return to the start of the line, and clear it.
                click.echo(f"\r\x1b[K{_counts(broker)}, {broker.subscribers:,} subscribers", err=True, nl=False)
        if monitor is not None:
            monitor.is_stopping = True
    if is_terminal(sys.stderr):
        click.echo(err=True)
    say(_counts(broker))


def _asks_to_end() -> list[signal.Signals]:
    """The signals that end a command: Ctrl-C, SIGTERM, and Ctrl-Break of Windows."""
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)]


def _on_signals(done: asyncio.Event) -> None:
    """Set the event on a signal that asks to end."""
    loop = asyncio.get_running_loop()
    for number in _asks_to_end():
        try:
            loop.add_signal_handler(number, done.set)
        except NotImplementedError:  # the loops of Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(done.set))


def _counts(broker: Any) -> str:
    return f"{broker.published:,} messages in, {broker.delivered:,} out"


@command("FILE")
@click.argument("address", metavar="HOST:PORT")
@click.argument("topic")
@reads("star")
@option("--frame-rows N", "Statements per frame, unless frames are kept.", 256)
@_client_options
@streams("physical_type", "allow")
@forms("json")
def publish(file: str, address: str, topic: str, frame_rows: int, **given: Any) -> None:
    """Publish the statements or the patches of a file.

    Each frame is a message; the frames of a grouped stream are kept. Of patches (.jellyp, .rdfp, .trp) each message is
    a whole patch, and --frame-rows does not apply.

    The first publication decides which statements a topic can hold. Named graphs, generalized statements and quoted
    triples need --physical quads, --allow generalized and --allow star there, unless the beginning of the file has
    some. Namespaces are always allowed.

    The topic is sent as the stream name and as call metadata jelly-topic. The environment variable JELLY_TOKEN holds
    the token, if any.

    \b
    Examples:
      jelly publish weather.jelly 127.0.0.1:50051 weather
      jelly cat people.nt --to jelly | jelly publish - 127.0.0.1:50051 people
    """
    changes, reading = stream_of(given["stream"]), given["reading"]
    is_patch = _is_patch(reading.get("format"), file)
    if is_patch and changes.keys() - {"rdf_star", "generalized_statements"}:
        raise click.UsageError("--physical and --allow namespaces are for statements, not for patches")
    ((_, settings),) = inputs([file], reading, Content.PATCH if is_patch else Content.STATEMENTS)
    messages, rows = _NOUNS[is_patch]
    counts = {messages: 0, rows: 0}
    with (
        (patches.PatchReader if is_patch else jelly.Reader)(file, **settings) as reader,
        progress_bar("Publishing") as progress,
        _client(address, given) as client,
        wide_advice(),
    ):
        options, batches = _begun(reader, reader.source.watched(reader.batches(), progress), changes, is_patch)
        if batches is not None or not is_patch:  # of no statements there is a frame with the options
            sent = client.publish(
                _counted(batches or iter(()), options, counts, rows), topic=topic, options=options,
                kind="patches" if is_patch else "statements", frame_rows=frame_rows, timeout=given["timeout"],
            )  # fmt: skip
            # Which is a message where each frame has a meaning of its own.
            counts[messages] = 0 if batches is None and not options.is_grouped else sent
    report(numbers(**counts) + " acknowledged", counts)


@command()
@click.argument("address", metavar="HOST:PORT")
@click.argument("topic")
@option("-o, --output FILE", "Output file; its suffix chooses the format. - is standard output.", "-")
@option("--to FORMAT", "Format of the output (default: by the suffix of the file, else N-Quads).", name="to_format",
        kind=str)
@option("--start N", "First message: its number, earliest (default) or latest.", kind=str)
@option("--follow", "Keep following new messages until interrupted (Ctrl-C); a server that is gone is tried again for "
        "3 seconds.")
@option("-n N", "Stop after this many messages.", name="number")
@_client_options
@forms("json")
def subscribe(address: str, topic: str, output: str, to_format: str | None, start: str | None, follow: bool,
              number: int | None, **given: Any) -> None:  # fmt: skip
    """Write the messages of a topic to a file, or print them.

    In Jelly each message is a frame. A format of patches (jellyp, rdfp, trp) subscribes to patches. The environment
    variable JELLY_TOKEN holds the token, if any.

    \b
    Examples:
      jelly subscribe 127.0.0.1:50051 weather -o weather.jelly
      jelly subscribe 127.0.0.1:50051 weather --start latest --follow
      jelly subscribe 127.0.0.1:50051 changes --to rdfp
    """
    if output == "-":
        to_format = to_format or "nq"
        refuse_json()
    is_patch = _is_patch(to_format, output)
    messages, rows = _NOUNS[is_patch]
    writer_of: Any = patches.PatchWriter if is_patch else jelly.Writer
    begin = int(start) if start is not None and start.isdigit() else start
    n = 0
    with (
        _client(address, given) as client,
        progress_bar("Receiving", output == "-") as progress,
        client.subscribe(
            topic, kind="patches" if is_patch else "statements", start=begin, follow=follow, timeout=given["timeout"]
        ) as feed,
        _signals_close(feed),
        _advice(),
    ):
        batches = islice(feed.batches(), number)
        first = [*islice(batches, 1)]  # the options come before it
        options = feed.options if is_patch or to_format in (None, "jelly") else None
        with writer_of(output, options, format=to_format) as writer:
            for n, batch in enumerate(chain(first, batches), 1):
                writer.add_batch(batch, **{} if is_patch else {"keep_frames": True})
                if output == "-":
                    writer.flush()
                if progress is not None:
                    progress(n, number, getattr(writer, rows))
    counts = {messages: n, rows: getattr(writer, rows)}
    report(numbers(**counts), counts)


@contextlib.contextmanager
def _advice() -> Iterator[None]:
    """Context manager: who asks a topic of patches for statements is told how to get patches."""
    try:
        yield
    except jelly.JellyServiceError as error:
        if "holds patches" not in error.reason:
            raise
        raise jelly.JellyServiceError(f"{error.reason}; give --to rdfp, or -o FILE.jellyp", error.code) from None


@contextlib.contextmanager
def _signals_close(feed: Any) -> Iterator[None]:
    """Context manager: SIGINT and SIGTERM close the feed, so that received messages are kept; a second one interrupts.

    An exception in the handler could leave a lock of grpcio held, and later users of that lock would wait forever.
    """

    def close(number: int, frame: Any) -> None:
        restore()
        threading.Thread(target=feed.close, daemon=True).start()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, close) for number in _asks_to_end()}
    try:
        yield
    finally:
        restore()


def _described(info: Any) -> dict[str, Any]:
    """The metadata of a topic, for JSON."""
    found: dict[str, Any] = {
        "name": info.name, "content": "patches" if info.patches else "statements",
        **{name: getattr(info, name) for name in ("first", "end", "bytes", "statements", "subscribers")},
        "owner": info.owner or None, "keep_bytes": info.keep_bytes, "keep_age": info.keep_age,
        "updated": info.updated and info.updated.isoformat(timespec="seconds"),
    }  # fmt: skip
    if info.options is not None:
        found["options"] = {name: getattr(value, "name", value) for name, value in asdict(info.options).items()}
    return found


@command()
@click.argument("address", metavar="HOST:PORT")
@click.argument("name", metavar="[TOPIC]", required=False)
@option("--delete", "Delete the topic with all its messages. Its subscriptions end.")
@option("--yes", "With --delete: do not ask.")
@forms("json")
@_client_options
def topics(address: str, name: str | None, delete: bool, yes: bool, **given: Any) -> None:
    """List the topics of a broker (jelly serve), describe one, or delete it.

    The list has the content, the messages that are kept, the bytes and the subscribers of each topic; the description
    also the numbers of its messages, its limits and its stream options. If clients have tokens, only the one that
    created a topic may delete it. The environment variable JELLY_TOKEN holds the token, if any.

    \b
    Examples:
      jelly topics 127.0.0.1:50051
      jelly topics 127.0.0.1:50051 weather --json
      jelly topics 127.0.0.1:50051 weather --delete
    """
    if delete:
        if name is None:
            raise click.UsageError("give the name of the topic to delete")
        if not yes:
            click.confirm(f"Delete topic {name} with all its messages?", abort=True, err=True)
        with _client(address, given) as client:
            info = client.delete_topic(name, timeout=given["timeout"])
        report(f"topic {name}: {numbers(messages=info.end - info.first)} deleted", _described(info))
        return
    with _client(address, given) as client:
        infos = client.topics(*([] if name is None else [name]), timeout=given["timeout"])
    found = [_described(info) for info in infos]
    show(found if name is None else found[0], _draw_list if name is None else _draw_topic, infos, yaml=False)


def _draw_list(infos: list[Any]) -> None:
    width = max([len(info.name) for info in infos] + [5])
    click.echo(f"{'topic':{width}}  {'content':10}  {'messages':>12}  {'bytes':>16}  {'subscribers':>11}")
    for info in infos:
        kept, content = info.end - info.first, "patches" if info.patches else "statements"
        click.echo(f"{info.name:{width}}  {content:10}  {kept:12,}  {info.bytes:16,}  {info.subscribers:11,}")


def _draw_topic(infos: list[Any]) -> None:
    told = _described(infos[0])
    for key, value in (told | told.pop("options", {})).items():
        if value is not None and value != "":
            click.echo(f"{key.replace('_', ' ')}: {f'{value:,}' if isinstance(value, int | float) else value}")
