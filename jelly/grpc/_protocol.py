"""The wire protocol besides frames: names, the subscription message, and which stream answers which request.

A message of the two methods that carries statements is a bare RdfStreamFrame, handled as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from jelly._core.jelly.decoder import Decoder
from jelly._core.jelly.encoder import options_row
from jelly._options import MIN_NAME_TABLE, LogicalType, PhysicalType, StreamOptions
from jelly.errors import JellyFormatError, JellyOptionsError

SERVICE = "eu.ostrzyciel.jelly.core.proto.v1.RdfStreamService"
SUBSCRIBE = f"/{SERVICE}/SubscribeRdf"
PUBLISH = f"/{SERVICE}/PublishRdf"

# Call metadata of this package: PublishRdf has no field for a topic, SubscribeRdf none for the first message.
TOPIC = "jelly-topic"
START = "jelly-start"
FOLLOW = "jelly-follow"
FIRST = "jelly-first"  # sent back: the number of the first message

RECEIVED = b""  # RdfStreamReceived has no fields

_TOPIC_TAG, _OPTIONS_TAG = 0x0A, 0x12
_MAX_OPTIONS = 1 << 16


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
    """A varint and where it ends. JellyFormatError where there is none.

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


def split_frames(data: bytes) -> Iterator[bytes]:
    """The frames of a delimited stream, whole ones only, without their lengths.

    >>> list(split_frames(b"\\x01a\\x02bc"))
    [b'a', b'bc']
    """
    at = 0
    while at < len(data):
        size, at = take_varint(data, at)
        yield data[at : at + size]
        at += size


def pack_subscribe(topic: str, options: StreamOptions | None = None) -> bytes:
    """An RdfStreamSubscribe.

    >>> pack_subscribe("news").hex()
    '0a046e657773'
    """
    packed = b""
    if topic:
        name = topic.encode()
        packed += bytes([_TOPIC_TAG]) + put_varint(len(name)) + name
    if options is not None:
        # A version left open is any that we read.
        row = options_row(options if options.version else options.replace(version=2))
        packed += bytes([_OPTIONS_TAG]) + put_varint(len(row)) + row
    return packed


def unpack_subscribe(data: bytes) -> tuple[str, StreamOptions | None]:
    """Topic and requested options of an RdfStreamSubscribe; unknown fields are passed over.

    JellyFormatError, JellyOptionsError or JellyUnsupportedError where it is not one.

    >>> unpack_subscribe(pack_subscribe("news", StreamOptions.small(physical_type=1)))[1].max_name_table_size
    128
    """
    topic = ""
    options = None
    at = 0
    while at < len(data):
        tag, at = take_varint(data, at)
        if tag & 7 == 0:
            _, at = take_varint(data, at)
            continue
        if tag & 7 != 2:
            raise JellyFormatError(f"tag {tag} does not belong in a subscription", offset=at)
        size, at = take_varint(data, at)
        field = data[at : at + size]
        if len(field) < size:
            raise JellyFormatError("the subscription ends in the middle of a field", offset=at)
        at += size
        if tag == _TOPIC_TAG:
            try:
                topic = field.decode()
            except UnicodeDecodeError:
                raise JellyFormatError("the topic is not UTF-8", offset=at - size) from None
        elif tag == _OPTIONS_TAG:
            options = unpack_options(field)
    return topic, options


def unpack_options(data: bytes) -> StreamOptions:
    """The StreamOptions of an RdfStreamOptions message: it is read as a stream of nothing else."""
    if len(data) > _MAX_OPTIONS:
        raise JellyFormatError(f"stream options of {len(data)} bytes: expected at most {_MAX_OPTIONS}")
    row = b"\x0a" + put_varint(len(data)) + data
    # A client may ask for tables of any size: they are never made here.
    decoder = Decoder(delimited=False, max_names=1 << 20, max_prefixes=1 << 20, max_datatypes=1 << 20)
    decoder.quiet = True
    decoder.push(b"\x0a" + put_varint(len(row)) + row)
    decoder.finish()
    decoder.pull(True)
    options: StreamOptions | None = decoder.options
    if options is None:
        raise JellyFormatError("not stream options")
    return options


def serve_options(own: StreamOptions, requested: StreamOptions | None) -> StreamOptions:
    """The options with which a stream that has the options ``own`` can be sent to one who asked for ``requested``.

    The physical type must be equal, and the logical type where it is asked for; what the stream uses of generalized
    statements, RDF-star and version must have been asked for; tables become as small as asked for. JellyOptionsError
    where that cannot be.

    >>> own = StreamOptions(physical_type=1, logical_type=1, version=1)
    >>> serve_options(own, own.replace(max_name_table_size=64)).max_name_table_size
    64
    """
    if requested is None:
        return own
    problems = []
    if requested.physical_type != own.physical_type:
        problems.append(f"physical type {requested.physical_type.name} was asked for, this is {own.physical_type.name}")
    if requested.logical_type not in (LogicalType.UNSPECIFIED, own.logical_type, own.logical_type.base):
        problems.append(f"logical type {requested.logical_type.name} was asked for, this is {own.logical_type.name}")
    if own.generalized_statements and not requested.generalized_statements:
        problems.append("the stream may have generalized statements")
    if own.rdf_star and not requested.rdf_star:
        problems.append("the stream may have quoted triples")
    if requested.version and own.version > requested.version:
        problems.append(f"version {requested.version} was asked for, this is {own.version}")
    sizes = {}
    for name in ("max_name_table_size", "max_prefix_table_size", "max_datatype_table_size"):
        sizes[name] = min(getattr(own, name), getattr(requested, name))
    # No writer may have fewer names, whatever a client asks for.
    sizes["max_name_table_size"] = max(sizes["max_name_table_size"], MIN_NAME_TABLE)
    if problems:
        raise JellyOptionsError("; ".join(problems))
    return own.replace(**sizes)


# What a stream of triples is as one of quads.
_AS_QUADS = {LogicalType.FLAT_TRIPLES: LogicalType.FLAT_QUADS, LogicalType.GRAPHS: LogicalType.DATASETS}


def accept_options(own: StreamOptions, offered: StreamOptions) -> None:
    """Refuse, with JellyOptionsError, a stream whose statements do not go into one with the options ``own``.

    Triples go into a stream of quads. Whether a stream that may have quoted triples, generalized statements or
    namespaces does have some, its statements show: the topic refuses those that it cannot hold.

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
