"""RDF Binary through the official runtimes: thrift with its accelerated compact protocol, protobuf with classes made of
binary_rdf.proto. Terms as tuples of (kind, ...), the same in both."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jelly

# ---- thrift

STRING, STRUCT, I64, I32, DOUBLE, LIST = 11, 12, 10, 8, 4, 15
SPECS: dict[str, list[tuple[int, str, Any]]] = {
    "RDF_IRI": [(1, "iri", STRING)],
    "RDF_PrefixName": [(1, "prefix", STRING), (2, "localName", STRING)],
    "RDF_BNode": [(1, "label", STRING)],
    "RDF_Literal": [
        (1, "lex", STRING),
        (2, "langtag", STRING),
        (3, "datatype", STRING),
        (4, "dtPrefix", "RDF_PrefixName"),
        (5, "baseDirection", STRING),
    ],
    "RDF_Decimal": [(1, "value", I64), (2, "scale", I32)],
    "RDF_VAR": [(1, "name", STRING)],
    "RDF_ANY": [],
    "RDF_UNDEF": [],
    "RDF_REPEAT": [],
    "RDF_Term": [
        (1, "iri", "RDF_IRI"),
        (2, "bnode", "RDF_BNode"),
        (3, "literal", "RDF_Literal"),
        (4, "prefixName", "RDF_PrefixName"),
        (5, "variable", "RDF_VAR"),
        (6, "any", "RDF_ANY"),
        (7, "undefined", "RDF_UNDEF"),
        (8, "repeat", "RDF_REPEAT"),
        (9, "tripleTerm", "RDF_Triple"),
        (10, "valInteger", I64),
        (11, "valDouble", DOUBLE),
        (12, "valDecimal", "RDF_Decimal"),
    ],
    "RDF_Triple": [(1, "S", "RDF_Term"), (2, "P", "RDF_Term"), (3, "O", "RDF_Term")],
    "RDF_Quad": [(1, "S", "RDF_Term"), (2, "P", "RDF_Term"), (3, "O", "RDF_Term"), (4, "G", "RDF_Term")],
    "RDF_PrefixDecl": [(1, "prefix", STRING), (2, "uri", STRING)],
    "RDF_StreamRow": [(1, "prefixDecl", "RDF_PrefixDecl"), (2, "triple", "RDF_Triple"), (3, "quad", "RDF_Quad")],
}


class Thrift:
    """What the Thrift compiler makes of the specification, as far as it is needed to read and write."""

    def __init__(self) -> None:
        pytest.importorskip("thrift")
        from thrift.protocol.TBase import TBase
        from thrift.protocol.TCompactProtocol import TCompactProtocolAccelerated
        from thrift.transport.TTransport import TMemoryBuffer
        from thrift.TRecursive import fix_spec

        self._protocol, self._buffer = TCompactProtocolAccelerated, TMemoryBuffer
        self.classes: dict[str, Any] = {}
        for name, fields in SPECS.items():
            names = [field for _, field, _ in fields]

            def init(self: Any, *, _names: Any = tuple(names), **given: Any) -> None:
                for field in _names:
                    setattr(self, field, given.get(field))

            self.classes[name] = type(name, (TBase,), {"__slots__": names, "__init__": init})
        specs = []
        for name, fields in SPECS.items():
            spec: list[Any] = [None]
            for number, field, kind in fields:
                if isinstance(kind, str):
                    spec.append((number, STRUCT, field, [self.classes[kind], None], None))
                else:
                    spec.append((number, kind, field, "UTF8" if kind == STRING else None, None))
            self.classes[name].thrift_spec = tuple(spec)
            specs.append(self.classes[name])
        fix_spec(specs)

    def make(self, name: str, /, **fields: Any) -> Any:
        return self.classes[name](**fields)

    def write(self, rows: Iterable[Any]) -> bytes:
        buffer = self._buffer()
        protocol = self._protocol(buffer, fallback=False)
        for row in rows:
            row.write(protocol)
        return bytes(buffer.getvalue())

    def read(self, data: bytes) -> Iterator[Any]:
        buffer = self._buffer(data)
        protocol = self._protocol(buffer, fallback=False)
        size = len(data)
        make = self.classes["RDF_StreamRow"]
        while buffer.cstringio_buf.tell() < size:
            row = make()
            row.read(protocol)
            yield row

    def which(self, union: Any) -> str:
        return next(field for _, field, _ in SPECS[type(union).__name__] if getattr(union, field) is not None)


# ---- protobuf


class Protobuf:
    """The messages of binary_rdf.proto."""

    def __init__(self) -> None:
        pytest.importorskip("google.protobuf")
        protoc = pytest.importorskip("grpc_tools.protoc")
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

        source = Path(__file__).with_name("binary_rdf.proto")
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "x.pb"
            words = ["protoc", f"-I{source.parent}", f"--descriptor_set_out={out}", str(source)]
            assert protoc.main(words) == 0
            (file,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
        pool = descriptor_pool.DescriptorPool()
        pool.AddSerializedFile(file.SerializeToString())
        messages = pool.FindFileByName(source.name).message_types_by_name
        self.classes: dict[str, Any] = {
            name: message_factory.GetMessageClass(message) for name, message in messages.items()
        }

    def make(self, name: str, /, **fields: Any) -> Any:
        return self.classes[name](**{field: value for field, value in fields.items() if value is not None})

    def write(self, rows: Iterable[Any]) -> bytes:
        from google.protobuf.proto import serialize_length_prefixed

        out = io.BytesIO()
        for row in rows:
            serialize_length_prefixed(row, out)
        return out.getvalue()

    def read(self, data: bytes) -> Iterator[Any]:
        parse = self.classes["RDF_StreamRow"].FromString
        at, size = 0, len(data)
        while at < size:
            n = shift = 0
            while True:
                byte = data[at]
                at += 1
                n |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
            yield parse(data[at : at + n])
            at += n

    def which(self, union: Any) -> str:
        return str(union.WhichOneof(union.DESCRIPTOR.oneofs[0].name))


@cache
def official(encoding: str) -> Any:
    return Thrift() if encoding == "thrift" else Protobuf()


# ---- statements of ours to rows of theirs


def term_of(api: Any, term: Any) -> Any:
    """A term as the object of a runtime."""
    thrift = isinstance(api, Thrift)
    if isinstance(term, jelly.IRI):
        return api.make("RDF_Term", iri=api.make("RDF_IRI", iri=term.value))
    if isinstance(term, jelly.BlankNode):
        return api.make("RDF_Term", bnode=api.make("RDF_BNode", label=term.value))
    if isinstance(term, jelly.QuotedTriple):
        s, p, o = (term_of(api, part) for part in term)
        return api.make("RDF_Term", tripleTerm=api.make("RDF_Triple", S=s, P=p, O=o))
    if isinstance(term, jelly.Variable):
        return api.make("RDF_Term", variable=api.make("RDF_VAR" if thrift else "RDF_Var", name=term.value))
    if isinstance(term, jelly.AnyTerm):
        return api.make("RDF_Term", any=api.make("RDF_ANY"))
    fields: dict[str, Any] = {"lex": term.value}
    if term.language is not None:
        if thrift:
            fields |= {"langtag": term.language, "baseDirection": term.direction}
        elif term.direction is None:
            fields["langtag"] = term.language
        else:
            fields["langdir"] = f"{term.language}--{term.direction}"
    elif term.datatype.value != "http://www.w3.org/2001/XMLSchema#string":
        fields["datatype"] = term.datatype.value
    elif not thrift:
        fields["simple"] = True
    return api.make("RDF_Term", literal=api.make("RDF_Literal", **fields))


def row_of(api: Any, statement: Any) -> Any:
    """A statement as the row of a runtime."""
    s, p, o, *g = statement
    made = {"S": term_of(api, s), "P": term_of(api, p), "O": term_of(api, o)}
    if not g or g[0] is None or isinstance(g[0], jelly.DefaultGraph):
        return api.make("RDF_StreamRow", triple=api.make("RDF_Triple", **made))
    return api.make("RDF_StreamRow", quad=api.make("RDF_Quad", **made, G=term_of(api, g[0])))
