"""The wire protocol except frames: names, the subscription message, and the options of a stream for a request.

A message with statements is a bare RdfStreamFrame, one with patches a bare RdfPatchFrame; both are handled as bytes.
The services for patches and topics are an extension, see proto/broker.proto.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from jelly._core.jelly.encoder import options_row, patch_options_row
from jelly._options.options import (
    MAX_TABLE_SIZE,
    MIN_NAME_TABLE,
    LogicalType,
    PatchOptions,
    PatchStreamType,
    PhysicalType,
    StatementType,
    StreamOptions,
)
from jelly.errors import JellyFormatError, JellyLimitError, JellyOptionsError

SERVICE = "eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService"
SUBSCRIBE = f"/{SERVICE}/SubscribeRdf"
PUBLISH = f"/{SERVICE}/PublishRdf"
PATCH_SERVICE = "jelly.v1.PatchStreamService"
SUBSCRIBE_PATCH = f"/{PATCH_SERVICE}/SubscribePatch"
PUBLISH_PATCH = f"/{PATCH_SERVICE}/PublishPatch"
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

_TOPIC_TAG, _OPTIONS_TAG = 0x0A, 0x12
_SIZES = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")
# Tags of RdfStreamOptions.
_NAME_TAG = 0x0A
_OPTION_TAGS = {
    0x10: "physical_type",
    0x18: "generalized_statements",
    0x20: "rdf_star",
    0x48: "max_name_table_size",
    0x50: "max_prefix_table_size",
    0x58: "max_datatype_table_size",
    0x70: "logical_type",
    0x78: "version",
}
# Tags of RdfPatchOptions.
_PATCH_OPTION_TAGS = {
    0x08: "statement_type",
    0x10: "stream_type",
    0x18: "generalized_statements",
    0x20: "rdf_star",
    0x48: "max_name_table_size",
    0x50: "max_prefix_table_size",
    0x58: "max_datatype_table_size",
    0x78: "version",
}


def put_varint(value: int) -> bytes:
    """A varint.

    >>> put_varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def take_varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and its end. JellyFormatError if there is none.

    >>> take_varint(b"\\xac\\x02", 0)
    (300, 2)
    """
    value = shift = 0
    for i in range(at, min(at + 10, len(data))):
        value |= (data[i] & 0x7F) << shift
        if data[i] < 0x80:
            return value, i + 1
        shift += 7
    raise JellyFormatError("expected a varint", offset=at)


def pack_subscribe(topic: str, options: StreamOptions | PatchOptions | None = None) -> bytes:
    """An RdfStreamSubscribe or, with the options of patches, a PatchSubscribe, which has the same fields.

    >>> pack_subscribe("news").hex()
    '0a046e657773'
    """
    packed = b""
    if topic:
        name = topic.encode()
        packed += bytes([_TOPIC_TAG]) + put_varint(len(name)) + name
    if isinstance(options, PatchOptions):
        row = patch_options_row(options)
        packed += bytes([_OPTIONS_TAG]) + put_varint(len(row)) + row
    elif options is not None:
        # Without a version: any version that jelly reads.
        row = options_row(options if options.version else options.replace(version=2))
        packed += bytes([_OPTIONS_TAG]) + put_varint(len(row)) + row
    return packed


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


def fields_of(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The fields of a message: tag, number, bytes. A field has a number, or bytes (those of 32 and 64 bits, too)."""
    at = 0
    while at < len(data):
        tag, at = take_varint(data, at)
        number = size = 0
        if tag & 7 == 0:
            number, at = take_varint(data, at)
        elif tag & 7 == 2:
            size, at = take_varint(data, at)
        elif tag & 7 in (1, 5):
            size = 8 if tag & 7 == 1 else 4
        else:
            raise JellyFormatError(f"tag {tag} does not belong in a subscription", offset=at)
        if size > len(data) - at:
            raise JellyFormatError("the subscription ends in the middle of a field", offset=at)
        yield tag, number, data[at : at + size]
        at += size


def text_of(value: bytes, what: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise JellyFormatError(f"the {what} is not UTF-8") from None


def unpack_subscribe(data: bytes, patch: bool = False) -> tuple[str, StreamOptions | PatchOptions | None]:
    """Topic and requested options of an RdfStreamSubscribe, or of a PatchSubscribe; unknown fields are ignored.

    JellyFormatError, JellyOptionsError or JellyUnsupportedError if it is malformed.

    >>> unpack_subscribe(pack_subscribe("news", StreamOptions.small(physical_type=1)))[1].max_name_table_size
    128
    """
    topic = ""
    options: bytes | None = None
    for tag, _, value in fields_of(data):
        if tag == _TOPIC_TAG:
            topic = text_of(value, "topic")
        elif tag == _OPTIONS_TAG:
            options = (options or b"") + value  # protobuf merges messages so
    if options is None:
        return topic, None
    return topic, unpack_patch_options(options) if patch else unpack_options(options)


def _numbers(data: bytes, tags: dict[int, str]) -> dict[str, Any]:
    """The numbers of a message of options by name: sizes that are open are the largest, flags are bools."""
    values: dict[str, Any] = {tags[tag]: number for tag, number, _ in fields_of(data) if tag in tags}
    sizes = {field: min(values.get(field, 0), MAX_TABLE_SIZE) for field in _SIZES}
    if not sizes["max_name_table_size"]:
        sizes = {field: size or MAX_TABLE_SIZE for field, size in sizes.items()}
    # No writer may have fewer names, whatever a client asks for.
    sizes["max_name_table_size"] = max(sizes["max_name_table_size"], MIN_NAME_TABLE)
    return values | sizes | {flag: bool(values.get(flag)) for flag in ("generalized_statements", "rdf_star")}


def unpack_options(data: bytes) -> StreamOptions:
    """The StreamOptions that an RdfStreamOptions message asks for. Fields that are not set are left open.

    Protobuf does not tell a size of 0 from one that is not set: with a name table of 0, which no stream has, the sizes
    that are 0 are open, and become the largest.

    >>> unpack_options(b"").max_name_table_size == unpack_options(b"\\x48\\x00").max_prefix_table_size == 1 << 20
    True
    """
    name = ""
    for tag, _, value in fields_of(data):
        if tag == _NAME_TAG:
            name = text_of(value, "stream name")
    return StreamOptions(**_numbers(data, _OPTION_TAGS), stream_name=name)


def unpack_patch_options(data: bytes) -> PatchOptions:
    """The PatchOptions that an RdfPatchOptions message asks for; what is not set is open, as in `unpack_options`.

    An open statement type is QUADS, which holds both; an open stream type is FRAME, the only one that is sent.

    >>> unpack_patch_options(b"").stream_type.name, unpack_patch_options(b"\\x08\\x01").statement_type.name
    ('FRAME', 'TRIPLES')
    """
    values = _numbers(data, _PATCH_OPTION_TAGS)
    values["stream_type"] = values.get("stream_type") or PatchStreamType.FRAME
    values["statement_type"] = values.get("statement_type") or StatementType.QUADS
    return PatchOptions(**(values | {"version": values.get("version") or 1}))


def serve_options(own: StreamOptions, requested: StreamOptions | None) -> StreamOptions:
    """The options for sending a stream with the options ``own`` to a subscriber who asked for ``requested``.

    Physical type, logical type, name and version must be equal where they are asked for; a stream without a name gets
    the one that was asked for. Tables become as small as asked for. A stream that may have generalized statements or
    quoted triples is sent as one that has none, if so asked: a statement that has some then ends it. JellyOptionsError
    where that cannot be.

    >>> own = StreamOptions(physical_type=1, logical_type=1, version=1)
    >>> serve_options(own, own.replace(max_name_table_size=64)).max_name_table_size
    64
    """
    if requested is None:
        return own
    problems = []
    if requested.physical_type not in (PhysicalType.UNSPECIFIED, own.physical_type):
        problems.append(f"physical type {requested.physical_type.name} was asked for, this is {own.physical_type.name}")
    if requested.logical_type not in (LogicalType.UNSPECIFIED, own.logical_type, own.logical_type.base):
        problems.append(f"logical type {requested.logical_type.name} was asked for, this is {own.logical_type.name}")
    if requested.stream_name and own.stream_name not in ("", requested.stream_name):
        problems.append(f"stream name {requested.stream_name!r} was asked for, this is {own.stream_name!r}")
    if requested.version and own.version > requested.version:
        problems.append(f"version {requested.version} was asked for, this is {own.version}")
    if problems:
        raise JellyOptionsError("; ".join(problems))
    sizes = {name: min(getattr(own, name), getattr(requested, name)) for name in _SIZES}
    return own.replace(
        stream_name=own.stream_name or requested.stream_name,
        generalized_statements=own.generalized_statements and requested.generalized_statements,
        rdf_star=own.rdf_star and requested.rdf_star,
        **sizes,
    )


def serve_patch_options(own: PatchOptions, requested: PatchOptions | None) -> PatchOptions:
    """The options for sending patches of a stream with the options ``own``, of type FRAME, see `serve_options`.

    Who asks for quads gets triples too, which are quads in the default graph. JellyOptionsError where that cannot be.

    >>> own = PatchOptions(stream_type=1)
    >>> serve_patch_options(own, own.replace(max_name_table_size=64)).max_name_table_size
    64
    """
    if requested is None:
        return own
    if requested.stream_type != PatchStreamType.FRAME:
        raise JellyOptionsError(f"stream type {requested.stream_type.name} was asked for, patches are sent as FRAME")
    if requested.statement_type < own.statement_type:
        raise JellyOptionsError(
            f"statement type {requested.statement_type.name} was asked for, this is {own.statement_type.name}"
        )
    sizes = {name: min(getattr(own, name), getattr(requested, name)) for name in _SIZES}
    return own.replace(
        statement_type=requested.statement_type,
        generalized_statements=own.generalized_statements and requested.generalized_statements,
        rdf_star=own.rdf_star and requested.rdf_star,
        **sizes,
    )


def check_content(what: str, patches: bool, expected: bool) -> None:
    """JellyOptionsError where patches were sent or asked for and statements are there, or the other way round."""
    if patches == expected:
        return
    service, method = (SERVICE, "PublishRdf and SubscribeRdf") if not patches else (
        PATCH_SERVICE, "PublishPatch and SubscribePatch"
    )  # fmt: skip
    raise JellyOptionsError(f"{what} holds {'patches' if patches else 'statements'}: use {method} of {service}")


# Logical types of streams of triples as streams of quads.
_AS_QUADS = {LogicalType.FLAT_TRIPLES: LogicalType.FLAT_QUADS, LogicalType.GRAPHS: LogicalType.DATASETS}


def accept_options(own: StreamOptions, offered: StreamOptions) -> None:
    """Refuse, with JellyOptionsError, a stream whose statements do not fit into a topic with the options ``own``.

    Triples fit into a stream of quads. Quoted triples, generalized statements and
    namespaces are checked later, when statements with them arrive.

    >>> accept_options(StreamOptions(physical_type=1), StreamOptions(physical_type=2))
    Traceback (most recent call last):
    jelly.JellyOptionsError: physical type QUADS was offered, the topic is of TRIPLES
    """
    problems = []
    if offered.physical_type == PhysicalType.TRIPLES < own.physical_type:
        as_quads = _AS_QUADS.get(offered.logical_type, offered.logical_type)
        if as_quads == own.logical_type:
            return
    if offered.physical_type != own.physical_type:
        problems.append(
            f"physical type {offered.physical_type.name} was offered, the topic is of {own.physical_type.name}"
        )
    if offered.logical_type != own.logical_type:
        problems.append(
            f"logical type {offered.logical_type.name} was offered, the topic is of {own.logical_type.name}"
        )
    if problems:
        raise JellyOptionsError("; ".join(problems))


def accept_patch_options(own: PatchOptions, offered: PatchOptions) -> None:
    """Refuse, with JellyOptionsError, patches of quads for a topic of triples; others are checked as they arrive.

    >>> accept_patch_options(PatchOptions(statement_type=1), PatchOptions())
    Traceback (most recent call last):
    jelly.JellyOptionsError: statement type QUADS was offered, the topic is of TRIPLES
    """
    if offered.statement_type > own.statement_type:
        raise JellyOptionsError(
            f"statement type {offered.statement_type.name} was offered, the topic is of {own.statement_type.name}"
        )
