"""Jelly-RDF 1.2 by the classes of protobuf and plain Python: what our decoder of columns is judged by.

Nothing here uses the code under test. Terms are those of `support.oracle`; a language tag with a base direction is
written `ar--rtl`. A stream that breaks a rule of facts/jelly_1_2.md is `Refused`, with the rule and the frame.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.protobuf")
pytest.importorskip("grpc_tools")

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
KINDS = ("name_ids", "lex_values", "bnodes", "triple_terms")
DIRECTIONS = ("", "--ltr", "--rtl")


class Refused(Exception):
    """A broken rule, and the frame that breaks it."""


@cache
def classes() -> dict[str, Any]:
    """The messages of columns.proto."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    from grpc_tools import protoc

    source = Path(__file__).with_name("columns.proto")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "x.pb"
        assert protoc.main(["protoc", f"-I{source.parent}", f"--descriptor_set_out={out}", str(source)]) == 0
        (file,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    messages = pool.FindFileByName(source.name).message_types_by_name
    return {name: message_factory.GetMessageClass(message) for name, message in messages.items()}


class Ids:
    """The state of the ids of IRIs, of one column or of what has its own."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle, self.name, self.prefix = oracle, 0, 0

    def iri(self, prefix: int, name: int) -> tuple[str, str]:
        self.prefix = prefix or self.prefix
        self.name = name or self.name + 1
        tables = self.oracle.tables
        self.oracle.need("R15", self.name in tables[0])
        self.oracle.need("R16", self.prefix == 0 or self.prefix in tables[1])
        return ("iri", tables[1].get(self.prefix, "") + tables[0][self.name])


class Oracle:
    """One delimited stream: `statements`, `messages` (None: FLAT), `namespaces`, `options`, `frames`."""

    def __init__(self, data: bytes) -> None:
        self.index = 0
        self.options: list[Any] = []
        self.statements: list[Any] = []
        self.messages: list[int] | None = None
        self.namespaces: list[tuple[str, str, int]] = []
        self.ends: list[int] = []  # of the frames, in statements
        self.open = 0
        at = 0
        while at < len(data):
            size = shift = 0
            while True:
                self.need("R1", at < len(data) and shift < 70)
                byte, at = data[at], at + 1
                size, shift = size | (byte & 0x7F) << shift, shift + 7
                if byte < 0x80:
                    break
            self.need("R1", at + size <= len(data))
            self.frame(data[at : at + size])
            at += size
            self.index += 1
        if self.messages is not None and self.open:
            self.messages.append(self.open)

    def need(self, rule: str, holds: object) -> None:
        if not holds:
            raise Refused(rule, self.index)

    def frame(self, data: bytes) -> None:
        from google.protobuf.message import DecodeError

        try:
            frame = classes()["Frame"].FromString(data)
        except DecodeError as error:
            raise Refused("R2 R3", self.index) from error
        if frame.rows:
            self.need("R5", len(frame.rows) == 1 and frame.rows[0].WhichOneof("row") == "options")
            self.restate(frame.rows[0].options)
        self.need("R4", self.options)
        if frame.HasField("columns"):
            self.batch(frame.columns)
        self.ends.append(len(self.statements))

    def restate(self, o: Any) -> None:
        self.need("R6 R7", o.version == 3)
        self.need("R8", not (o.generalized or o.star or o.logical_type))
        self.numbering = "P" if o.physical_type else "S"
        types = (o.physical_type, o.f5, o.f6) if o.physical_type else (o.f5, o.f6, o.f7)
        self.need("R9", types[0] in (1, 2))
        self.need("R10", types[1] in (0, 1))
        self.need("R11", types[2] in range(4))
        self.need("R12", o.names >= 128)
        self.need("R13", not self.options or types[:2] == self.types[:2])
        self.types = types
        self.sizes = (o.names, o.prefixes, o.datatypes)
        self.tables: tuple[dict[int, str], ...] = ({}, {}, {})
        self.last = [0, 0, 0]
        if types[1] and not self.options:
            self.messages = []
        if self.open and self.messages is not None:
            self.messages.append(self.open)
        self.open = 0
        self.options.append(o)

    def batch(self, c: Any) -> None:
        self.need("R19", c.row_count < 1 << 27)
        for i, field in enumerate(("names", "prefixes", "datatypes")):
            for entry in getattr(c, field):
                for k, value in enumerate(entry.values):
                    self.last[i] = entry.id if entry.id and k == 0 else self.last[i] + 1
                    self.need("R14", 1 <= self.last[i] <= self.sizes[i])
                    self.tables[i][self.last[i]] = value
        ids = Ids(self)
        for namespace in c.namespaces:
            self.need("R26", namespace.HasField("value"))
            iri = ids.iri(namespace.value.prefix_id, namespace.value.name_id)[1]
            self.namespaces.append((namespace.name, iri, len(self.statements)))
        fields = ("subjects", "predicates", "objects", "graphs")
        for field in fields[:3]:
            self.need("R20", c.HasField(field) or c.row_count == 0)
        self.need("R23", self.types[0] == 2 or not c.HasField("graphs"))
        columns = [self.column(getattr(c, field), c.row_count, field) for field in fields]
        rows = zip(*columns[: self.types[0] + 2], strict=True)
        self.statements += [row if len(row) == 4 else (*row, None) for row in rows]
        self.open += c.row_count
        lengths = c.f15 if self.numbering == "P" else c.f10
        self.need("R24", self.messages is not None or not lengths)
        self.need("R25", sum(lengths) <= c.row_count)
        before = self.open - c.row_count
        for n in lengths:
            assert self.messages is not None
            self.messages.append(before + n)
            self.open -= before + n
            before = 0

    def column(self, c: Any, rows: int, field: str) -> list[Any]:
        counts = [len(getattr(c, name)) for name in KINDS]
        n = sum(counts)
        self.need("R22", field == "objects" or not counts[1] + counts[3] + (counts[2] if field == "predicates" else 0))
        self.need("R27", c.kinds or n in counts)
        kinds = [c.kinds[i // 4] >> i % 4 * 2 & 3 for i in range(min(n, 4 * len(c.kinds)))]
        if c.kinds:
            self.need("R28", len(c.kinds) == (n + 3) // 4)
            self.need("R29", n % 4 == 0 or c.kinds[-1] >> n % 4 * 2 == 0)
            self.need("R30", [kinds.count(k) for k in range(4)] == counts)
        else:
            kinds = [k for k in range(4) for _ in range(counts[k])]
        self.need("R31", len(c.prefix_ids) in (0, 1, counts[0]))
        self.need("R32", len(c.literal_kinds) in (0, 1, counts[1]))
        self.need("R34", len(c.directions) in (0, len(c.langtags)))
        ids, inner = Ids(self), Ids(self)
        prefixes = list(c.prefix_ids) or [0]
        prefixes = prefixes if len(prefixes) == counts[0] else prefixes * counts[0]
        literal_kinds = list(c.literal_kinds) or [0]
        literal_kinds = literal_kinds if len(literal_kinds) == counts[1] else literal_kinds * counts[1]
        lists = (
            (ids.iri(p, name) for p, name in zip(prefixes, c.name_ids, strict=True)),
            (self.literal_of_kind(c, lex, v) for lex, v in zip(c.lex_values, literal_kinds, strict=True)),
            (("bnode", label) for label in c.bnodes),
            (self.triple(term, inner) for term in c.triple_terms),
        )
        values = [next(lists[k]) for k in kinds]
        cells: list[Any] = []
        i = 0
        tokens = iter(c.layouts)
        for token in tokens:
            skip, unbound, length = token >> 5, token >> 4 & 1, token & 15
            if length == 15:
                more = next(tokens, None)
                self.need("R40", more is not None)
                length += more or 0
            self.need("R38", i + skip <= n)
            cells += values[i : i + skip]
            i += skip
            self.need("R39", unbound or i < n)
            self.need("R41", len(cells) + length + 2 - unbound <= rows)
            cells += [None] * (length + 1) if unbound else [values[i]] * (length + 2)
            i += not unbound
        cells += values[i:]
        self.need("R41", len(cells) <= rows)
        self.need("R21", field == "graphs" or (len(cells) == rows and None not in cells))
        return cells + [None] * (rows - len(cells))

    def literal_of_kind(self, c: Any, lex: str, v: int) -> tuple[Any, ...]:
        if v == 0:
            return ("literal", lex, None, None)
        if v % 2:
            return self.typed(lex, (v + 1) // 2)
        self.need("R33", v // 2 <= len(c.langtags))
        return self.tagged(lex, c.langtags[v // 2 - 1], c.directions[v // 2 - 1] if c.directions else 0)

    def tagged(self, lex: str, tag: str, direction: int) -> tuple[Any, ...]:
        self.need("R35", direction in (0, 1, 2))
        self.need("R36", direction == 0 or self.types[2] != 1)
        return ("literal", lex, tag + DIRECTIONS[direction], None)

    def typed(self, lex: str, id: int) -> tuple[Any, ...]:
        self.need("R17", id in self.tables[2])
        datatype = self.tables[2][id]
        self.need("R18", datatype not in (f"{RDF}langString", f"{RDF}dirLangString"))
        return ("literal", lex, None, None if datatype == XSD_STRING else datatype)

    def triple(self, t: Any, ids: Ids) -> tuple[Any, ...]:
        self.need("R37", self.types[2] in (0, 3))
        s, o = t.WhichOneof("subject"), t.WhichOneof("object")
        self.need("R42", s and o and t.HasField("p_iri"))
        return ("triple", self.part(t, s, ids), self.part(t, "p_iri", ids), self.part(t, o, ids))

    def part(self, t: Any, field: str, ids: Ids) -> tuple[Any, ...]:
        value = getattr(t, field)
        if field.endswith("iri"):
            return ids.iri(value.prefix_id, value.name_id)
        if field.endswith("bnode"):
            return ("bnode", value)
        if field == "o_triple_term":
            return self.triple(value, ids)
        kind = value.WhichOneof("kind")
        self.need("R44", kind == "langtag" or value.direction == 0)
        if kind == "langtag":
            return self.tagged(value.lex, value.langtag, value.direction)
        if kind is None:
            return ("literal", value.lex, None, None)
        self.need("R43", value.datatype)
        return self.typed(value.lex, value.datatype)
