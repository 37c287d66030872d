"""Jelly against the generated classes of protobuf and a plain reader of what they give."""

from __future__ import annotations

import random
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from support.oracle import plain

from fuzz.harness import harness, read_all
from fuzz.readers.jelly_streams import bodies, columns, streams
from fuzz.structures import Delimited
from jelly import Decoder, JellyLimitError
from jelly._streams.drain import drain

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests" / "differential"))
MORE_STRICT = re.compile("empty language tag|this is Jelly-Patch")


@cache
def classes() -> Any:
    """The classes of rdf.proto."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from grpc_tools import protoc

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rdf.pb"
        words = ["protoc", f"-I{ROOT / 'proto'}", f"--descriptor_set_out={path}", str(ROOT / "proto" / "rdf.proto")]
        assert protoc.main(words) == 0
        (file,) = descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindFileByName(file.name).message_types_by_name["RdfStreamFrame"])


@harness("jelly_protobuf", corpus=streams, files=(".jelly",), structure=Delimited())
def jelly_protobuf(data: bytes, chance: random.Random) -> None:
    """Where protobuf and the reader of the specification take a stream, the Decoder takes it, and gives the same."""
    from google.protobuf.message import DecodeError
    from reference import Decoder as Reference

    frames = list(bodies(data))
    if data != b"".join(_with_length(body) for body in frames):
        return
    reference = Reference()
    try:
        parts = list(reference.read([classes().FromString(body) for body in frames]))
    except (DecodeError, AssertionError, KeyError, TypeError, AttributeError, ValueError):
        return
    theirs = [_quad(statement) for statements, _, _ in parts for statement in statements]
    ours = read_all(drain(Decoder(delimited=True), [data]))
    if ours.error is None:
        assert [tuple(map(_plain, row)) for row in ours.rows] == theirs
        assert [sum(len(part[0]) for part in parts[: i + 1]) for i in range(len(parts))] == ours.ends


@harness("jelly_columns", corpus=columns, files=(".jelly",), structure=Delimited())
def jelly_columns(data: bytes, chance: random.Random) -> None:
    """The oracle of Jelly-RDF 1.2 and the Decoder take the same streams, and give the same statements.

    Beyond the rules we refuse what is no RDF (an empty language tag), what is above our limits, an empty stream, and
    rows of Jelly-Patch. We take empty frames before the options, and do not look into a field that another one of the
    same number replaces (R2, R3). Protobuf refuses messages that are 100 deep.
    """
    from support.column_oracle import Oracle, Refused
    from support.column_vectors import with_direction

    decoder = Decoder(delimited=True)
    ours = read_all(drain(decoder, [data]))
    if decoder.options is not None and decoder.options.version < 3:
        return  # rows
    if ours.error is not None and (ours.error[0] is JellyLimitError or MORE_STRICT.search(ours.error[1])):
        return
    try:
        theirs = Oracle(data).statements
    except Refused as caught:
        refused = caught
    except RecursionError:
        return
    else:
        assert ours.error is None or not data, f"refused: {ours.error}"
        refused = None
    if refused is not None:
        if not {"R2", "R4"} & {*refused.args[0].split()}:
            assert ours.error is not None, f"taken in spite of {refused}"
        return
    rows = [tuple(None if term is None else with_direction(term) for term in row) for row in ours.rows]
    assert rows == theirs


def _with_length(body: bytes) -> bytes:
    from fuzz.structures import varint

    return varint(len(body)) + body


def _quad(statement: tuple[Any, ...]) -> tuple[Any, ...]:
    return statement if len(statement) == 4 else (*statement, None)


def _plain(term: Any) -> Any:
    return None if term is None else plain(term)
