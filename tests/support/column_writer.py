"""A plain writer of Jelly-RDF 1.2, by the classes of protobuf: it makes streams for the tests of the decoder.

Nothing here uses the code under test. Statements are tuples of terms as `support.oracle` has them; a language tag may
end with `--ltr` or `--rtl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from support.column_oracle import DIRECTIONS, classes

UNUSED = 1 << 62


class Full(Exception):
    """What one batch refers to does not fit into its tables."""


class Table:
    """Texts and their ids, which are given out in a ring; what the present batch uses stays."""

    def __init__(self, size: int) -> None:
        self.size, self.next = size, 1
        self.ids: dict[str, int] = {}
        self.texts: dict[int, str] = {}
        self.used: set[int] = set()
        self.new: list[tuple[int, str]] = []

    def id(self, text: str) -> int:
        found = self.ids.get(text)
        if found is None:
            if len(self.used) >= self.size:
                raise Full
            while self.next in self.used or self.next > self.size:
                self.next = self.next + 1 if self.next < self.size else 1
            found = self.next
            self.ids.pop(self.texts.get(found, ""), None)
            self.ids[text], self.texts[found] = found, text
            self.new.append((found, text))
            self.next = found + 1
        self.used.add(found)
        return found

    def entries(self, to: Any, last: int) -> int:
        """Write what is new, ids that follow one another in one entry."""
        for id, text in self.new:
            if not len(to) or id != last + 1:
                to.add(id=0 if id == last + 1 else id)
            to[-1].values.append(text)
            last = id
        self.new, self.used = [], set()
        return last


class Writer:
    """Statements to frames. `numbering` is S or P; `messages` makes it a stream of messages."""

    def __init__(
        self, *, quads: bool, numbering: str = "P", messages: bool = False, rdf: int = 0,
        sizes: tuple[int, int, int] = (4000, 150, 32), rows: int = 32768, name: str = "",
    ) -> None:  # fmt: skip
        self.quads, self.numbering, self.messages, self.rdf = quads, numbering, messages, rdf
        self.sizes, self.rows, self.name = sizes, rows, name
        self.out: list[bytes] = []
        self.restate()

    def restate(self) -> None:
        """State the options in the next frame; the tables are empty from there on."""
        self.tables = [Table(size) for size in self.sizes]
        self.last = [0, 0, 0]
        o = self.options = classes()["Options"](stream_name=self.name, version=3)
        o.names, o.prefixes, o.datatypes = self.sizes
        types = (2 if self.quads else 1, int(self.messages), self.rdf)
        fields = ("physical_type", "f5", "f6") if self.numbering == "P" else ("f5", "f6", "f7")
        for field, value in zip(fields, types, strict=True):
            setattr(o, field, value)

    def write(self, statements: Sequence[Any], lengths: Iterable[int] = (), **marks: Any) -> None:
        """Write statements in as few frames as the tables and `rows` allow; `lengths` of messages in the last one."""
        at = 0
        while True:
            frame, n = self.frame(statements[at : at + self.rows])
            at += n
            done = at >= len(statements)
            if done:
                self.mark(frame, lengths, **marks)
            data = frame.SerializeToString()
            size, head = len(data), b""
            while size >= 0x80:
                head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
            self.out.append(head + bytes([size]) + data)
            if done:
                return

    def mark(self, frame: Any, lengths: Iterable[int], metadata: Any = None) -> None:
        for key, value in (metadata or {}).items():
            frame.metadata[key] = value
        if lengths:
            getattr(frame.columns, "f15" if self.numbering == "P" else "f10").extend(lengths)

    def frame(self, statements: Sequence[Any]) -> tuple[Any, int]:
        """A frame of the first statements, and how many they are."""
        rows = []
        for statement in statements:
            try:
                rows.append([self.ids_of(x) for x in statement])
            except Full:
                if not rows:
                    raise
                break
        frame = classes()["Frame"]()
        if self.options is not None:
            frame.rows.add().options.CopyFrom(self.options)
            self.options = None
        c = frame.columns
        c.row_count = len(rows)
        for i, field in enumerate((c.names, c.prefixes, c.datatypes)):
            self.last[i] = self.tables[i].entries(field, self.last[i])
        names = ("subjects", "predicates", "objects", "graphs")[: 3 + self.quads]
        for i, field in enumerate(names):
            cells = [row[i] if i < len(row) else None for row in rows]
            if i < 3 or any(cell is not None for cell in cells):
                Column(getattr(c, field)).write(cells)
        return frame, len(rows)

    def ids_of(self, x: Any) -> Any:
        """A term with its ids in place of its texts."""
        if x is None or x[0] == "bnode":
            return x
        if x[0] == "iri":
            cut = max(x[1].rfind("/"), x[1].rfind("#")) + 1 if self.sizes[1] else 0
            return ("iri", self.tables[1].id(x[1][:cut]) if self.sizes[1] else 0, self.tables[0].id(x[1][cut:]))
        if x[0] == "triple":
            return ("triple", *map(self.ids_of, x[1:]))
        _, lex, language, datatype = x
        return ("literal", lex, language, None if datatype is None else self.tables[2].id(datatype))


def split_tag(language: str) -> tuple[str, int]:
    for direction in (1, 2):
        if language.endswith(DIRECTIONS[direction]) and len(language) > 5:
            return language[:-5], direction
    return language, 0


class Ids:
    """Ids in their shortest form."""

    def __init__(self) -> None:
        self.name = self.prefix = 0

    def deltas(self, prefix: int, name: int) -> tuple[int, int]:
        found = (0 if prefix == self.prefix else prefix, 0 if name == self.name + 1 else name)
        self.prefix, self.name = prefix, name
        return found


class Column:
    """One column of a batch."""

    def __init__(self, c: Any) -> None:
        self.c, self.ids, self.inner = c, Ids(), Ids()
        self.tags: dict[tuple[str, int], int] = {}
        self.prefixes: list[tuple[int, int]] = []
        self.literal_kinds: list[int] = []

    def write(self, cells: Sequence[Any]) -> None:
        c = self.c
        kinds: list[int] = []
        at = skip = 0
        while at < len(cells):
            end = at + 1
            while end < len(cells) and cells[end] == cells[at]:
                end += 1
            if cells[at] is None:
                if end < len(cells):
                    self.token(skip, 1, end - at - 1)
                    skip = 0
            else:
                kinds.append(self.value(cells[at]))
                if end - at == 1:
                    skip += 1
                else:
                    self.token(skip, 0, end - at - 2)
                    skip = 0
            at = end
        if len({*kinds}) > 1:
            data = bytearray((len(kinds) + 3) // 4)
            for i, kind in enumerate(kinds):
                data[i // 4] |= kind << i % 4 * 2
            c.kinds = bytes(data)
        absolute = {prefix for prefix, _ in self.prefixes}
        if absolute != {0}:
            c.prefix_ids.extend([*absolute] if len(absolute) == 1 else [delta for _, delta in self.prefixes])
        if {*self.literal_kinds} != {0}:
            c.literal_kinds.extend({*self.literal_kinds} if len({*self.literal_kinds}) == 1 else self.literal_kinds)
        c.langtags.extend(tag for tag, _ in self.tags)
        if any(direction for _, direction in self.tags):
            c.directions.extend(direction for _, direction in self.tags)

    def token(self, skip: int, unbound: int, length: int) -> None:
        self.c.layouts.append(skip << 5 | unbound << 4 | min(length, 15))
        if length >= 15:
            self.c.layouts.append(length - 15)

    def value(self, x: Any) -> int:
        if x[0] == "iri":
            prefix, name = self.ids.deltas(*x[1:])
            self.prefixes.append((x[1], prefix))
            self.c.name_ids.append(name)
            return 0
        if x[0] == "bnode":
            self.c.bnodes.append(x[1])
            return 2
        if x[0] == "triple":
            self.triple(self.c.triple_terms.add(), x)
            return 3
        _, lex, language, datatype = x
        kind = 0
        if language is not None:
            kind = 2 * self.tags.setdefault(split_tag(language), len(self.tags) + 1)
        elif datatype is not None:
            kind = 2 * datatype - 1
        self.c.lex_values.append(lex)
        self.literal_kinds.append(kind)
        return 1

    def triple(self, t: Any, x: Any) -> None:
        for slot, term in zip("spo", x[1:], strict=True):
            if term[0] == "iri":
                iri = getattr(t, f"{slot}_iri")
                iri.SetInParent()
                iri.prefix_id, iri.name_id = self.inner.deltas(*term[1:])
            elif term[0] == "bnode":
                setattr(t, f"{slot}_bnode", term[1])
            elif term[0] == "triple":
                t.o_triple_term.SetInParent()
                self.triple(t.o_triple_term, term)
            else:
                _, lex, language, datatype = term
                t.o_literal.lex = lex
                if language is not None:
                    t.o_literal.langtag, t.o_literal.direction = split_tag(language)
                elif datatype is not None:
                    t.o_literal.datatype = datatype


def write(statements: Sequence[Any], **settings: Any) -> bytes:
    """A stream of statements."""
    writer = Writer(**settings)
    writer.write(statements)
    return b"".join(writer.out)
