"""The wire protocol: names, control messages, the options of a stream for a request, and frames changed to them.

A message with statements is a bare RdfStreamFrame, one with patches a bare RdfPatchFrame; both are handled as bytes.
Control messages are read and written by protobuf's own classes, see `jelly._bytes.frame_text`.
The services for patches and topics are an extension, see proto/broker.proto.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

import numpy as np

from jelly._bytes.frame_text import RDF, message
from jelly._core.base.batch import Batch
from jelly._core.jelly.encoder import Encoder
from jelly._core.jelly.stream_options import options_row
from jelly._options.limits import default
from jelly._options.options import (
    MAX_TABLE_SIZE,
    MIN_NAME_TABLE,
    TABLES,
    LogicalType,
    PatchOptions,
    PatchStreamType,
    PhysicalType,
    StatementType,
    StreamOptions,
)
from jelly._streams.frames import FrameDecoder, FrameEncoder, as_frames
from jelly.errors import JellyError, JellyFormatError, JellyLimitError, JellyOptionsError
from jelly.patch import Patch
from jelly.patch._patch import PUNCTUATION, split_patches

Kind = Literal["statements", "patches"]

SERVICE = f"{RDF}.RdfStreamService"
SUBSCRIBE = f"/{SERVICE}/SubscribeRdf"
PUBLISH = f"/{SERVICE}/PublishRdf"
PATCH_SERVICE = "jelly.v1.PatchStreamService"
SUBSCRIBE_PATCH = f"/{PATCH_SERVICE}/SubscribePatch"
PUBLISH_PATCH = f"/{PATCH_SERVICE}/PublishPatch"
# The methods of each content.
KINDS: dict[Kind, tuple[str, str]] = {
    "statements": (SUBSCRIBE, PUBLISH), "patches": (SUBSCRIBE_PATCH, PUBLISH_PATCH)
}  # fmt: skip
TOPIC_SERVICE = "jelly.v1.TopicService"
LIST_TOPICS = f"/{TOPIC_SERVICE}/ListTopics"
DELETE_TOPIC = f"/{TOPIC_SERVICE}/DeleteTopic"

# Call metadata of this package: PublishRdf has no field for a topic, SubscribeRdf none for the first message.
TOPIC = "jelly-topic"
TOPIC_BYTES = "jelly-topic-bin"  # the same in UTF-8, where it is not printable ASCII: other entries of text are
START = "jelly-start"
FOLLOW = "jelly-follow"
FIRST = "jelly-first"  # sent back: the number of the first message

RECEIVED = b""  # RdfStreamReceived has no fields

# The sizes of tables, and the largest that readers accept by default.
_SIZES = {size: default(limit) for size, limit in TABLES.items()}


def pack_subscribe(topic: str, options: StreamOptions | PatchOptions | None = None) -> bytes:
    """An RdfStreamSubscribe or, with the options of patches, a PatchSubscribe, which has the same fields.

    >>> pack_subscribe("news").hex()
    '0a046e657773'
    """
    patch = isinstance(options, PatchOptions)
    request = _subscribe(patch)
    request.topic = topic
    if options is not None:
        # Without a version: any version that jelly reads.
        asked = options if options.version else options.replace(version=2)
        request.requested_options.MergeFromString(options_row(asked))
    return bytes(request.SerializeToString())


def _subscribe(patch: bool, data: bytes = b"") -> Any:
    return message("jelly.v1.PatchSubscribe" if patch else f"{RDF}.RdfStreamSubscribe", data)


def inflate(message: bytes, max_bytes: int) -> bytes:
    """A message as gRPC received it, unpacked if it is compressed. JellyLimitError if it has more bytes than allowed.

    gRPC does not show which messages are compressed. But none of the protocol begins as gzip (1F, a type of field that
    does not exist) or zlib does (78, a number in field 15).

    >>> import gzip
    >>> inflate(gzip.compress(b"\\n\\x04news"), 6), inflate(b"\\n\\x04news", 6)
    (b'\\n\\x04news', b'\\n\\x04news')
    """
    if message[:1] in (b"\x1f", b"\x78"):
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            message = inflater.decompress(message, max_bytes + 1)
        except zlib.error as error:
            raise JellyFormatError(f"a compressed message cannot be unpacked: {error}") from None
        if len(message) <= max_bytes and not inflater.eof:
            raise JellyFormatError("a compressed message is cut off")
        if len(message) > max_bytes:
            raise JellyLimitError(f"a compressed message of more than {max_bytes} bytes, the most that are accepted")
    if len(message) > max_bytes:
        raise JellyLimitError(f"a message of {len(message)} bytes: at most {max_bytes} are accepted")
    return message


def unpack_subscribe(data: bytes, patch: bool = False) -> tuple[str, StreamOptions | PatchOptions | None]:
    """Topic and requested options of an RdfStreamSubscribe, or of a PatchSubscribe; unknown fields are ignored.

    JellyFormatError, JellyOptionsError or JellyUnsupportedError if it is malformed.

    >>> unpack_subscribe(pack_subscribe("news", StreamOptions.small(physical_type=1)))[1].max_name_table_size
    128
    """
    request = _subscribe(patch, data)
    if not request.HasField("requested_options"):
        return request.topic, None
    return request.topic, unpack_options(request.requested_options.SerializeToString(), patch)


def unpack_options(data: bytes, patch: bool = False) -> StreamOptions | PatchOptions:
    """The options that an RdfStreamOptions or RdfPatchOptions asks for. Fields that are not set are left open.

    Protobuf has no difference between a size of 0 and one that is not set: with a name table of 0, which no stream has,
    the sizes that are 0 are open, and become the largest. For patches an open statement type is QUADS, which holds
    both, and an open stream type is FRAME, the only one that is sent.

    >>> unpack_options(b"").max_name_table_size == unpack_options(b"\\x48\\x00").max_prefix_table_size == 1 << 20
    True
    >>> unpack_options(b"", patch=True).stream_type.name, unpack_options(b"\\x08\\x01", patch=True).statement_type.name
    ('FRAME', 'TRIPLES')
    """
    asked = message(f"{RDF}.patch.RdfPatchOptions" if patch else f"{RDF}.RdfStreamOptions", data)
    values: dict[str, Any] = {field.name: getattr(asked, field.name) for field in asked.DESCRIPTOR.fields}
    sizes = {field: min(values[field], MAX_TABLE_SIZE) for field in _SIZES}
    if not sizes["max_name_table_size"]:
        sizes = {field: size or MAX_TABLE_SIZE for field, size in sizes.items()}
    # No writer may have fewer names, whatever a client asks for.
    sizes["max_name_table_size"] = max(sizes["max_name_table_size"], MIN_NAME_TABLE)
    values |= sizes
    if not patch:
        return StreamOptions(**values)
    defaults = {"stream_type": PatchStreamType.FRAME, "statement_type": StatementType.QUADS, "version": 1}
    return PatchOptions(**values | {name: values[name] or default for name, default in defaults.items()})


def usual(options: Any) -> Any:
    """Options whose tables are no larger than readers accept by default, whatever a server was told to accept.

    >>> usual(StreamOptions(physical_type=1, max_name_table_size=100_000)).max_name_table_size
    4096
    """
    return options.replace(**{name: min(getattr(options, name), most) for name, most in _SIZES.items()})


def serve_options(own: Any, requested: Any) -> Any:
    """The options for sending a stream with the options ``own`` to a subscriber who asked for ``requested``.

    Physical type, logical type, name and version must be equal where they are asked for; a stream without a name gets
    the one that was asked for. Patches are sent in a stream of type FRAME; who asks for quads gets triples too, which
    are quads in the default graph. Tables become as small as asked for. A stream that may have generalized statements
    or quoted triples is sent as one that has none, if so asked: a statement that has some then ends it.
    JellyOptionsError where that cannot be.

    >>> own = StreamOptions(physical_type=1, logical_type=1, version=1)
    >>> serve_options(own, own.replace(max_name_table_size=64)).max_name_table_size
    64
    """
    if requested is None:
        return own
    if isinstance(own, PatchOptions):
        if requested.stream_type != PatchStreamType.FRAME:
            kind = requested.stream_type.name
            raise JellyOptionsError(f"stream type {kind} was asked for, patches are sent as FRAME")
        fits = {"statement_type": requested.statement_type >= own.statement_type}
        changes = {"statement_type": requested.statement_type}
    else:
        fits = {
            "physical_type": requested.physical_type in (0, own.physical_type),
            "logical_type": requested.logical_type in (0, own.logical_type, own.logical_type.base),
            "stream_name": not requested.stream_name or own.stream_name in ("", requested.stream_name),
            "version": not requested.version or own.version <= requested.version,
        }
        changes = {"stream_name": own.stream_name or requested.stream_name}
    _refuse_unfit(own, requested, fits, "asked for, this is")
    changes |= {name: min(getattr(own, name), getattr(requested, name)) for name in _SIZES}
    flags = ("generalized_statements", "rdf_star")
    return own.replace(**changes, **{name: getattr(own, name) and getattr(requested, name) for name in flags})


def _refuse_unfit(own: Any, other: Any, fits: dict[str, bool], words: str) -> None:
    """JellyOptionsError with the fields that do not fit and their values."""

    def text(options: Any, name: str) -> str:
        value = getattr(options, name)
        return getattr(value, "name", None) or repr(value)

    if wrong := [name for name, fit in fits.items() if not fit]:
        each = (f"{name.replace('_', ' ')} {text(other, name)} was {words} {text(own, name)}" for name in wrong)
        raise JellyOptionsError("; ".join(each))


def check_content(what: str, patches: bool, expected: bool) -> None:
    """JellyOptionsError where patches were sent or asked for and statements are there, or the other way round."""
    if patches != expected:
        service, suffix = (PATCH_SERVICE, "Patch") if patches else (SERVICE, "Rdf")
        use = f"Publish{suffix} and Subscribe{suffix} of {service}"
        raise JellyOptionsError(f"{what} holds {'patches' if patches else 'statements'}: use {use}")


# Logical types of streams of triples as streams of quads.
_AS_QUADS = {LogicalType.FLAT_TRIPLES: LogicalType.FLAT_QUADS, LogicalType.GRAPHS: LogicalType.DATASETS}


def accept_options(own: Any, offered: Any) -> None:
    """Refuse, with JellyOptionsError, a stream whose statements do not fit into a topic with the options ``own``.

    Triples fit into a stream of quads. Quoted triples, generalized statements and namespaces are checked later, when
    statements with them arrive.

    >>> accept_options(StreamOptions(physical_type=1), StreamOptions(physical_type=2))
    Traceback (most recent call last):
    jelly.JellyOptionsError: physical type QUADS was offered, the topic is of TRIPLES
    """
    if isinstance(own, PatchOptions):
        fits = {"statement_type": offered.statement_type <= own.statement_type}
    else:
        kind = offered.logical_type
        widens = offered.physical_type == PhysicalType.TRIPLES < own.physical_type
        if widens and _AS_QUADS.get(kind, kind) == own.logical_type:
            return
        fits = {"physical_type": offered.physical_type == own.physical_type, "logical_type": kind == own.logical_type}
    _refuse_unfit(own, offered, fits, "offered, the topic is of")


# ---- frames

# Frames of more bytes are handled in another thread, so that they do not block the event loop.
BIG = 1 << 17


class Fitting:
    """Change frames to the options that a subscriber asked for. Without options, or if they are the same, keep them.

    >>> import jelly
    >>> frames = FrameEncoder().encode_many(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"))
    >>> fitting = Fitting(jelly.StreamOptions.small(physical_type=1, rdf_star=True))
    >>> decoder = FrameDecoder()
    >>> batches = [decoder.decode(fitting.fit(frame)) for frame in frames]
    >>> decoder.options.max_name_table_size
    128
    """

    def __init__(self, requested: StreamOptions | PatchOptions | None) -> None:
        self._requested = requested
        self._decoder = None if requested is None else FrameDecoder(patch=isinstance(requested, PatchOptions))
        self._encoder: FrameEncoder | None = None

    def fit(self, frame: bytes) -> bytes:
        """The frame to send for the next frame. JellyOptionsError if the requested options cannot be fulfilled."""
        if self._decoder is None:
            return frame
        batch = self._decoder.decode(frame)
        own = self._decoder.options
        if self._encoder is None:
            if own is None:
                return frame
            options = serve_options(own, self._requested)
            if options == own:
                self._decoder = None
                return frame
            self._encoder = FrameEncoder(options)
        return self._encoder.encode(batch)


class WholePatches:
    """Cut a stream of patches, of any type, into Batches of one frame that are whole patches.

    Nothing of a patch is given away before its end has arrived, so that a stream that breaks off leaves no half of one.

    >>> from jelly.patch import Commit, Patch, Start
    >>> frames = FrameEncoder(patch=True).encode_many([Patch([Start(), Commit()]), Patch()])
    >>> decoder = FrameDecoder(patch=True)
    >>> batches = [decoder.decode(frame) for frame in frames]
    >>> whole = WholePatches(decoder.options)
    >>> [len(patch) for batch in batches for patch in whole.add(batch)], list(whole.close())
    ([3, 1], [])
    """

    def __init__(self, options: PatchOptions) -> None:
        self._decoder = FrameDecoder(patch=True)
        self._encoder: Encoder | None = None
        if not options.is_grouped:
            self._encoder = Encoder(usual(as_frames(options)), frame_rows=0, frame_bytes=0)

    def add(self, batch: Batch) -> Iterator[Batch]:
        """The patches that are complete with another Batch."""
        if self._encoder is None:
            check_whole(batch)
            yield batch
        else:
            yield from map(self._decoder.decode, self._encoder.encode_frames(batch))

    def close(self) -> Iterator[Batch]:
        """The last patch, which the end of the stream ends. JellyFormatError if a transaction is open."""
        if self._encoder is not None and self._encoder.place % 4:
            yield from map(self._decoder.decode, self._encoder.close_frames())


def check_whole(batch: Batch) -> None:
    """JellyFormatError if the Batch of a frame is not one whole patch."""
    ends = np.flatnonzero(batch.op == PUNCTUATION) if batch.op is not None else np.empty(0)
    if len(ends) != 1 or ends[0] != len(batch) - 1:
        raise JellyFormatError("the frame is not a whole patch: it ends inside a transaction")


def patch_of(batch: Batch, options: PatchOptions | None) -> Patch:
    """The patch of a frame that was received."""
    if options is not None and not options.is_grouped:
        raise JellyOptionsError(
            f"a stream of type {options.stream_type.name}: expected FRAME, where a frame is a patch"
        )
    check_whole(batch)
    return next(split_patches([batch], lambda: True))


# ---- topics

_SAME = ("name", "patches", "first", "end", "bytes", "statements", "subscribers", "owner")


@dataclass(frozen=True)
class TopicInfo:
    """Metadata of a topic.

    Attributes
    ----------
    name : str
        Name of the topic.
    patches : bool
        Whether it holds patches, not statements.
    first, end : int
        Numbers of the oldest message that is kept, and of the next one.
    bytes : int
        Bytes of the messages that are kept.
    statements : int
        Statements that are kept; of patches operations.
    subscribers : int
        Number of subscribers.
    owner : str
        Name of the client that created the topic, or ``""``.
    keep_bytes : int or None
        Approximate maximum bytes that are kept.
    keep_age : float or None
        Seconds for which messages are kept.
    updated : datetime or None
        Time of the newest message.
    options : StreamOptions, PatchOptions or None
        Options of the stream, from the first message on.

    Examples
    --------
    >>> import jelly
    >>> from jelly.grpc import Broker, Client, Server
    >>> with Server(Broker()) as server, Client(server.address) as client:
    ...     _ = client.publish(jelly.read(b"<a:s> <a:p> <a:o> .", format="nt"), topic="news")
    ...     [(info.name, info.first, info.end, info.statements) for info in client.topics()]
    [('news', 0, 1, 1)]
    """

    name: str
    patches: bool = False
    first: int = 0
    end: int = 0
    bytes: int = 0
    statements: int = 0
    subscribers: int = 0
    owner: str = ""
    keep_bytes: int | None = None
    keep_age: float | None = None
    updated: datetime | None = None
    options: StreamOptions | PatchOptions | None = None


def pack_info(info: TopicInfo) -> bytes:
    """A TopicInfo message."""
    return bytes(_message(info).SerializeToString())


def _message(info: TopicInfo) -> Any:
    made = message("jelly.v1.TopicInfo")
    for name in _SAME:
        setattr(made, name, getattr(info, name))
    made.keep_bytes = info.keep_bytes or 0
    made.keep_seconds = min(round(info.keep_age or 0), (1 << 64) - 1)  # which a float rounds up
    made.updated = round(info.updated.timestamp() * 1000) if info.updated is not None else 0
    if info.options is not None:
        options = made.patch_options if isinstance(info.options, PatchOptions) else made.options
        options.MergeFromString(options_row(info.options))
    return made


def unpack_info(data: bytes) -> TopicInfo:
    """The TopicInfo of a message.

    >>> info = TopicInfo("news", True, 300, 700, keep_bytes=1 << 40, owner="ann", options=PatchOptions(stream_type=1))
    >>> unpack_info(pack_info(info)) == info
    True
    """
    return _read(message("jelly.v1.TopicInfo", data))


def _read(sent: Any) -> TopicInfo:
    options = None
    for field in ("options", "patch_options"):
        if sent.HasField(field):
            with contextlib.suppress(JellyError):  # those that no writer may choose
                options = unpack_options(getattr(sent, field).SerializeToString(), field == "patch_options")
    try:
        updated = datetime.fromtimestamp(sent.updated / 1000, timezone.utc) if sent.updated else None
    except (ValueError, OverflowError, OSError):
        raise JellyFormatError(f"{sent.updated} milliseconds are no time of a topic") from None
    return TopicInfo(
        **{name: getattr(sent, name) for name in _SAME},
        keep_bytes=sent.keep_bytes or None,
        keep_age=float(sent.keep_seconds) or None,
        updated=updated,
        options=options,
    )


def pack_infos(infos: list[TopicInfo]) -> bytes:
    """A TopicList message."""
    made = message("jelly.v1.TopicList")
    made.topics.extend(map(_message, infos))
    return bytes(made.SerializeToString())


def unpack_infos(data: bytes) -> list[TopicInfo]:
    """The topics of a TopicList message."""
    return [_read(sent) for sent in message("jelly.v1.TopicList", data).topics]
