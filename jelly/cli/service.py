"""The commands ``jelly serve``, ``publish`` and ``subscribe`` (extras ``cli`` and ``grpc``)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, islice
from typing import Any

import click

import jelly
from jelly import patch as patches
from jelly._core.base.constants import Op
from jelly._formats.registry import FORMATS, PATCH_FORMATS, Content, find, having
from jelly._io.source import split_suffix
from jelly._io.widening import ALL_FIELDS, LateError, changed, missing, open_fields
from jelly._tools.convert import choose_options
from jelly.cli.commands import cli
from jelly.cli.common import STATEMENTS, limits_of, progress_bar, reading_options, say
from jelly.cli.reading import settings_of, wide_advice, wide_changes, wide_options

__all__ = ["cli"]

REFRESH = 0.5  # seconds between two updates of the counters
_TOKEN = "JELLY_TOKEN"  # in the environment, where other users do not see it as they see arguments


def _tls(**files: str | None) -> Any:
    """The TLS settings from files, or None."""
    from jelly.grpc import Tls

    return Tls(**files) if any(files.values()) else None


def _client_options(command: Callable[..., Any]) -> Callable[..., Any]:
    path = click.Path(exists=True, dir_okay=False)
    options = [
        click.option(
            "--tls",
            is_flag=True,
            help="Use TLS; the system must know the authority of the server's certificate.",
        ),
        click.option(
            "--ca",
            type=path,
            help="Certificates (PEM) of the authorities that signed the server's certificate.",
        ),
        click.option("--cert", type=path, help="Certificate (PEM) of the client, with --key."),
        click.option("--key", type=path, help="Key (PEM) of the client."),
        click.option("--gzip", is_flag=True, help="Compress sent messages."),
        click.option(
            "--timeout",
            type=float,
            metavar="SECONDS",
            help="Give up after this many seconds (default: never).",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _client(address: str, given: dict[str, Any]) -> Any:
    from jelly.grpc import Client, Tls

    tls = _tls(authorities=given["ca"], certificate=given["cert"], key=given["key"])
    if tls is None and given["tls"]:
        tls = Tls()
    return Client(address, tls=tls, token=os.environ.get(_TOKEN), gzip=given["gzip"])


@cli.command(short_help="Serve topics over gRPC.")
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:50051",
    show_default=True,
    help="Address to listen on (port 0: any free port).",
)
@click.option(
    "--topic",
    "files",
    metavar="NAME=FILE",
    multiple=True,
    help="Create a topic with the frames of a file. Repeatable.",
)
@click.option(
    "--store",
    type=click.Path(file_okay=False),
    help="Directory that stores the topics, one Jelly file each.",
)
@click.option(
    "--keep", type=click.IntRange(1), default=10_000, show_default=True, help="Messages kept per topic without a store."
)
@click.option("--cert", type=click.Path(exists=True, dir_okay=False), help="Certificate (PEM), for TLS.")
@click.option("--key", type=click.Path(exists=True, dir_okay=False), help="Key (PEM) of the certificate.")
@click.option(
    "--ca",
    type=click.Path(exists=True, dir_okay=False),
    help="Only accept clients whose certificate is signed by these authorities (PEM).",
)
@click.option(
    "--tokens",
    type=click.File(),
    help="File of NAME TOKEN lines: only accept clients with one of the tokens.",
)
@click.option("--insecure", is_flag=True, help="Accept other machines without TLS.")
@click.option("--gzip", is_flag=True, help="Compress sent messages.")
@reading_options(*STATEMENTS)
def serve(listen: str, files: tuple[str, ...], store: str | None, keep: int, tokens: Any, **given: Any) -> None:
    """Serve RDF streams over gRPC (the Jelly service RdfStreamService) until SIGINT or SIGTERM.

    A topic is created by its first publication. A subscriber gets the messages that the topic keeps, then new ones.

    \b
    Examples:
      jelly serve --store topics/
      jelly serve --topic weather=weather.jelly --listen 127.0.0.1:0
    """
    # gRPC also writes to standard error, for example if a port is in use. The exception has the same information.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from jelly.grpc import AsyncServer, Broker, Topics
    from jelly.grpc import tokens as known_tokens
    from jelly.grpc._server import is_loopback

    if not (given["cert"] or given["insecure"] or is_loopback(listen)):
        raise jelly.JellyOptionsError(
            f"{listen} can be reached from other machines: give --cert and --key, or --insecure if that is intended"
        )
    if bool(given["cert"]) != bool(given["key"]):
        raise click.UsageError("--cert and --key go together")

    pairs = [_pair(file) for file in files]
    settings = settings_of([file for _, file in pairs], None, given["limits"])
    people = None
    if tokens is not None:
        lines = [line.split() for line in tokens if line.strip() and not line.startswith("#")]
        if any(len(line) != 2 for line in lines) or not lines:
            raise click.UsageError("--tokens: expected lines of a name and a token")
        people = known_tokens({token: name for name, token in lines})
    with closing(Topics(store, keep=keep)) as topics:
        for (name, file), each in zip(pairs, settings, strict=True):
            _load(topics, name, file, each)
        server = AsyncServer(
            Broker(topics),
            listen,
            tls=_tls(certificate=given["cert"], key=given["key"], authorities=given["ca"]),
            authenticate=people,
            insecure=given["insecure"],
            gzip=given["gzip"],
        )
        asyncio.run(_serve(server, topics))


def _pair(text: str) -> tuple[str, str]:
    name, _, file = text.partition("=")
    if not name or not file:
        raise click.UsageError(f"--topic {text!r}: expected NAME=FILE")
    return name, file


def _load(topics: Any, name: str, file: str, settings: dict[str, Any]) -> None:
    """Fill a topic from a file, unless the store already has the topic."""
    topic = topics.get(name, create=True)
    if topic.end:
        say(f"topic {name}: {topic.end:,} messages in the store, {file} is not loaded")
        return
    with jelly.Reader(file, **settings) as reader, progress_bar(f"Loading {name}") as progress:
        topic.fill(*_batches(reader, progress))
    say(f"topic {name}: {topic.end:,} messages from {file}")


def _batches(
    reader: jelly.Reader, progress: Callable[[int, int | None, int | None], object] | None
) -> tuple[Iterator[Any], jelly.StreamOptions | None]:
    """The Batches of a reader, with an update of the progress after each, and the options of the stream."""
    batches = reader.source.watched(reader.batches(), progress)
    first = list(islice(batches, 1))  # the options come before it
    return chain(first, batches), reader.options


def _published(
    reader: jelly.Reader,
    changes: dict[str, Any],
    progress: Callable[[int, int | None, int | None], object] | None,
) -> tuple[Iterator[Any], jelly.StreamOptions]:
    """The Batches to publish, and options for all of them, chosen by the first Batch."""
    batches = reader.source.watched(reader.batches(), progress)
    first = next(batches, None)
    options = choose_options(changes, reader, 3 if first is None else first.arity)
    if first is not None:
        options = changed(options, missing(options, first, open_fields(changes)))

    def checked() -> Iterator[Any]:
        for batch in batches if first is None else chain([first], batches):
            if fields := missing(options, batch, ALL_FIELDS):
                raise LateError.of(fields, "give options that allow it")
            yield batch

    return checked(), options


def _is_patch(format: str | None, path: str) -> bool:
    """Whether a format, or by default the suffix of a path, is one of patches."""
    name = (format or split_suffix(path)[0]).lower()
    return any(known.is_called(name) for known in PATCH_FORMATS.values())


def _publish_patches(
    file: str, from_format: str | None, topic: str, client: Any, changes: dict[str, Any], given: dict[str, Any]
) -> None:
    """Publish the patches of a file."""
    if changes.keys() - {"rdf_star", "generalized_statements"}:
        raise click.UsageError("--physical and --namespaces are for statements, not for patches")
    found = find(from_format, "" if file == "-" else file, content=Content.PATCH)
    settings = {"format": found.name} | having(limits_of(given["limits"], found.reading), found.reading)
    operations = 0

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        nonlocal operations
        for batch in batches:
            operations += len(batch) - int((batch.op == Op.PUNCTUATION).sum())
            yield batch

    with patches.PatchReader(file, **settings) as reader, progress_bar("Publishing") as progress:
        batches = reader.source.watched(reader.batches(), progress)
        first = next(batches, None)
        sent = 0
        if first is not None:
            options = changed(reader.options or jelly.patch.PatchOptions(), changes)
            options = changed(options, missing(options, first, ALL_FIELDS - changes.keys()))
            items = counted(chain([first], batches))
            sent = client.publish_patches(items, topic=topic, options=options, timeout=given["timeout"])
    say(f"{sent:,} patches, {operations:,} operations acknowledged")


async def _serve(server: Any, topics: Any) -> None:
    broker = server.handler
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, done.set)
    async with server:
        say(f"listening on {server.address}, {len(topics.names()):,} topics; Ctrl-C stops")
        while not done.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(done.wait(), REFRESH)
            if sys.stderr.isatty():
                # Return to the start of the line, and clear it.
                click.echo(f"\r\x1b[K{_counts(broker)}, {broker.subscribers:,} subscribers", err=True, nl=False)
    if sys.stderr.isatty():
        click.echo(err=True)
    say(_counts(broker))


def _counts(broker: Any) -> str:
    return f"{broker.published:,} messages in, {broker.delivered:,} out"


@cli.command(short_help="Publish a file to a topic of a gRPC server.")
@click.argument("file")
@click.option("--to", "address", metavar="HOST:PORT", required=True, help="The server.")
@click.option("--topic", required=True, help="The topic.")
@click.option(
    "--from",
    "from_format",
    type=click.Choice([*FORMATS, *PATCH_FORMATS]),
    help="Format of the input (default: by the suffix of the file).",
)
@click.option(
    "--frame-rows",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    help="Statements per frame, unless frames are kept.",
)
@_client_options
@wide_options
@reading_options(*STATEMENTS)
def publish(file: str, address: str, topic: str, from_format: str | None, frame_rows: int, **given: Any) -> None:
    """Publish the statements or the patches of a file.

    Each frame is a message; the frames of a grouped stream are kept. Of patches (.jellyp, .rdfp, .trp) each message is
    a whole patch, and --frame-rows does not apply.

    The first publication decides which statements a topic can hold. Named graphs, generalized statements and quoted
    triples need --physical quads, --generalized and --star there, unless the beginning of the file has some.
    Namespaces are always allowed.

    The topic is sent as the stream name and as call metadata jelly-topic. The environment variable JELLY_TOKEN holds
    the token, if any.

    \b
    Examples:
      jelly publish weather.jelly --to 127.0.0.1:50051 --topic weather
      jelly cat people.nt --to jelly | jelly publish - --to 127.0.0.1:50051 --topic people
    """
    changes = wide_changes(given)
    if _is_patch(from_format, file):
        with _client(address, given) as client, wide_advice():
            _publish_patches(file, from_format, topic, client, changes, given)
        return
    (settings,) = settings_of((file,), from_format, given["limits"])
    with (
        jelly.Reader(file, **settings) as reader,
        progress_bar("Publishing") as progress,
        _client(address, given) as client,
        wide_advice(),
    ):
        batches, options = _published(reader, changes, progress)
        sent = client.publish(batches, topic=topic, options=options, frame_rows=frame_rows, timeout=given["timeout"])
    say(f"{sent:,} messages, {reader.statements:,} statements acknowledged")


@cli.command(short_help="Write the messages of a topic to a file.")
@click.argument("address", metavar="HOST:PORT")
@click.argument("topic")
@click.option(
    "-o",
    "--output",
    default="-",
    show_default=True,
    help="Output file; its suffix chooses the format. - is standard output.",
)
@click.option("--to", "to_format", help="Format of the output (default: by the suffix of the file, else N-Quads).")
@click.option("--start", metavar="N", help="First message: its number, earliest (default) or latest.")
@click.option("--follow", is_flag=True, help="Keep following new messages until interrupted (Ctrl-C).")
@click.option("-n", "number", type=click.IntRange(1), help="Stop after this many messages.")
@_client_options
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
    if to_format is None and output == "-":
        to_format = "nq"
    is_patch = _is_patch(to_format, output)
    writer: Any = None
    messages = 0
    begin = int(start) if start is not None and start.isdigit() else start

    def written(feed: Any) -> Any:
        if is_patch:
            return patches.PatchWriter(output, feed and feed.options, format=to_format)
        return jelly.Writer(output, feed.options if feed and to_format in (None, "jelly") else None, format=to_format)

    with (
        _client(address, given) as client,
        progress_bar("Receiving", output == "-") as progress,
        (client.subscribe_patches if is_patch else client.subscribe)(
            topic, start=begin, follow=follow, timeout=given["timeout"]
        ) as feed,
        _signals_close(feed),
    ):
        try:
            for batch in feed.batches():
                if writer is None:
                    writer = written(feed)
                if is_patch:
                    writer.add_batch(batch)
                else:
                    writer.add_batch(batch, keep_frames=True)
                if output == "-":
                    writer.flush()
                messages += 1
                if progress is not None:
                    progress(messages, number, writer.operations - messages if is_patch else writer.statements)
                if messages == number:
                    break
        except BaseException as error:
            if writer is not None:
                writer.abort()
            if isinstance(error, jelly.JellyServiceError) and "holds patches" in error.reason and not is_patch:
                raise jelly.JellyServiceError(
                    f"{error.reason}; give --to rdfp, or -o FILE.jellyp", error.code
                ) from None
            raise
    if writer is None:
        writer = written(None)
    writer.close()
    if is_patch:
        say(f"{messages:,} patches, {writer.operations - messages:,} operations")
    else:
        say(f"{messages:,} messages, {writer.statements:,} statements")


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

    before = {number: signal.signal(number, close) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        restore()
