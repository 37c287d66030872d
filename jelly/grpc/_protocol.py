"""The wire protocol except frames: names, control messages, and the options of a stream for a request.

A message with statements is a bare RdfStreamFrame, one with patches a bare RdfPatchFrame; both are handled as bytes.
Control messages are read and written by protobuf's own classes, which are made from jelly/data/service.binpb.
The services for patches and topics are an extension, see proto/broker.proto.
"""

from __future__ import annotations

import zlib
from importlib import resources
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
from jelly.errors import JellyFormatError, JellyLimitError, JellyOptionsError, need

with need("grpc", "the services need protobuf"):
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

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

_SIZES = ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size")
_RDF = "eu.ostrzyciel.jelly.core.proto.v1"

# The descriptions of the services. A separate pool: the program may have loaded other classes with the same names.
POOL = DescriptorPool()
for _file in FileDescriptorSet.FromString(resources.files("jelly").joinpath("data/service.binpb").read_bytes()).file:
    POOL.Add(_file)


def message(name: str, data: bytes = b"") -> Any:
    """A control message of the services, by protobuf's own class. JellyFormatError if it is malformed.

    >>> message("jelly.v1.TopicRequest", b"\\n\\x04news").name
    'news'
    """
    made = GetMessageClass(POOL.FindMessageTypeByName(name))()
    try:
        made.MergeFromString(data)
    except DecodeError as error:
        raise JellyFormatError(f"expected a message {name}: {error}") from None
    return made


def pack_options(options: StreamOptions | PatchOptions) -> bytes:
    """An RdfStreamOptions or RdfPatchOptions."""
    return patch_options_row(options) if isinstance(options, PatchOptions) else options_row(options)


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
    patch = isinstance(options, PatchOptions)
    request = _subscribe(patch)
    request.topic = topic
    if options is not None:
        # Without a version: any version that jelly reads.
        asked = options if options.version else options.replace(version=2)
        request.requested_options.MergeFromString(pack_options(asked))
    packed: bytes = request.SerializeToString()
    return packed


def _subscribe(patch: bool, data: bytes = b"") -> Any:
    return message("jelly.v1.PatchSubscribe" if patch else f"{_RDF}.RdfStreamSubscribe", data)


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

    Protobuf does not tell a size of 0 from one that is not set: with a name table of 0, which no stream has, the sizes
    that are 0 are open, and become the largest. For patches an open statement type is QUADS, which holds both, and an
    open stream type is FRAME, the only one that is sent.

    >>> unpack_options(b"").max_name_table_size == unpack_options(b"\\x48\\x00").max_prefix_table_size == 1 << 20
    True
    >>> unpack_options(b"", patch=True).stream_type.name, unpack_options(b"\\x08\\x01", patch=True).statement_type.name
    ('FRAME', 'TRIPLES')
    """
    asked = message(f"{_RDF}.patch.RdfPatchOptions" if patch else f"{_RDF}.RdfStreamOptions", data)
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
