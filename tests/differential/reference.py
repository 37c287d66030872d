"""Jelly-RDF over the protobuf classes: a reader that follows the specification word by word, and a writer that uses
all the freedom which the specification leaves. Both are slow and share nothing with the package."""

from support.oracle import XSD_STRING

SLOTS = ("subject", "predicate", "object", "graph")


def take_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def varint(value, padding=0):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(padding):  # longer than need be, which is still the same number
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def split(data):
    """The frames of a delimited stream as bytes."""
    at = 0
    while at < len(data):
        size, at = take_varint(data, at)
        yield data[at : at + size]
        at += size
    assert at == len(data)


class Table:
    def __init__(self, size):
        self.size = size
        self.values = {}
        self.last = 0

    def define(self, entry):
        self.last = entry.id or self.last + 1
        assert 1 <= self.last <= self.size, "an entry outside of the table"
        self.values[self.last] = entry.value


class Decoder:
    """Asserts what the specification forbids."""

    def __init__(self):
        self.options = None
        self.last = {}
        self.last_name = self.last_prefix = 0
        self.graph = ()  # closed

    def read(self, frames):
        """(statements, namespaces, metadata) of each frame."""
        for frame in frames:
            self.statements, self.namespaces = [], []
            for row in frame.rows:
                kind = row.WhichOneof("row")
                assert self.options is not None or kind == "options", "no options yet"
                getattr(self, f"read_{kind}")(getattr(row, kind))
            yield self.statements, self.namespaces, dict(frame.metadata)

    def read_options(self, row):
        row.DiscardUnknownFields()
        if self.options is not None:
            assert row == self.options, "the options changed"
            return
        self.options = row
        assert 1 <= row.version <= 2
        assert row.physical_type in (1, 2, 3)
        assert row.max_name_table_size >= 8
        self.names = Table(row.max_name_table_size)
        self.prefixes = Table(row.max_prefix_table_size)
        self.datatypes = Table(row.max_datatype_table_size)

    def read_name(self, row):
        self.names.define(row)

    def read_prefix(self, row):
        self.prefixes.define(row)

    def read_datatype(self, row):
        self.datatypes.define(row)

    def read_namespace(self, row):
        assert self.options.version >= 2
        self.namespaces.append((row.name, self.iri(row.value)[1]))

    def read_triple(self, row):
        if self.options.physical_type == 3:
            assert self.graph != (), "no graph is open"
            self.statements.append((*self.terms(row, 3), *self.graph))
        else:
            assert self.options.physical_type == 1
            self.statements.append(self.terms(row, 3))

    def read_quad(self, row):
        assert self.options.physical_type == 2
        self.statements.append(self.terms(row, 4))

    def read_graph_start(self, row):
        assert self.options.physical_type == 3
        assert self.graph == (), "a graph is open"
        kind = row.WhichOneof("graph")
        self.graph = (self.term(kind[2:], getattr(row, kind)),)

    def read_graph_end(self, row):
        assert self.graph != ()
        self.graph = ()

    def terms(self, row, arity):
        for slot in SLOTS[:arity]:
            kind = row.WhichOneof(slot)
            if kind is not None:
                self.last[slot] = self.term(kind[2:], getattr(row, kind))
                if not self.options.generalized_statements:
                    assert self.last[slot] is None or self.last[slot][0] in {
                        "subject": ("iri", "bnode", "triple"),
                        "predicate": ("iri",),
                        "object": ("iri", "bnode", "literal", "triple"),
                        "graph": ("iri", "bnode"),
                    }[slot]
        return tuple(self.last[slot] for slot in SLOTS[:arity])  # KeyError: nothing to repeat

    def term(self, kind, value):
        if kind == "iri":
            return self.iri(value)
        if kind == "bnode":
            return ("bnode", value)
        if kind == "default_graph":
            return None
        if kind == "literal":
            if value.WhichOneof("literalKind") == "datatype":
                datatype = self.datatypes.values[value.datatype]
                return ("literal", value.lex, None, None if datatype == XSD_STRING else datatype)
            return ("literal", value.lex, value.langtag or None, None)
        assert kind == "triple_term"
        assert self.options.rdf_star
        spo = [(slot, value.WhichOneof(slot)) for slot in SLOTS[:3]]
        return ("triple", *(self.term(name[2:], getattr(value, name)) for _, name in spo))

    def iri(self, value):
        self.last_name = value.name_id or self.last_name + 1
        self.last_prefix = value.prefix_id or self.last_prefix
        prefix = self.prefixes.values[self.last_prefix] if self.last_prefix else ""
        return ("iri", prefix + self.names.values[self.last_name])


class Lookup:
    """A table of the writer: entries go to any place that the row being written does not use."""

    def __init__(self, size, new_entry, random):
        self.size = size
        self.new_entry = new_entry
        self.random = random
        self.values = {}  # id to value
        self.last = 0
        self.pinned = set()

    def find(self, value, rows):
        known = [id for id, held in self.values.items() if held == value]
        if not known or self.random.random() < 0.1:
            free = [id for id in range(1, self.size + 1) if id not in self.pinned]
            following = self.last + 1
            id = following if following in free and self.random.random() < 0.7 else self.random.choice(free)
            # The id may be given even where 0 would do.
            implied = id == following and self.random.random() < 0.7
            rows.append(self.new_entry(0 if implied else id, value))
            self.last = id
            self.values[id] = value
        else:
            id = self.random.choice(known)
        self.pinned.add(id)
        return id


class Encoder:
    """Writes statements in one of the many ways that are allowed, as `random` has it."""

    def __init__(self, pb, options, random):
        self.pb = pb
        self.random = random
        self.options = options
        row = pb.RdfStreamRow

        def lookup(size, entry, field):
            return Lookup(size, lambda id, value: row(**{field: entry(id=id, value=value)}), random)

        self.names = lookup(options.max_name_table_size, pb.RdfNameEntry, "name")
        self.prefixes = lookup(options.max_prefix_table_size, pb.RdfPrefixEntry, "prefix")
        self.datatypes = lookup(options.max_datatype_table_size, pb.RdfDatatypeEntry, "datatype")
        self.last = {}
        self.last_name = self.last_prefix = 0
        self.graph = ()
        self.rows = [row(options=options)]

    def begin(self):
        for table in (self.names, self.prefixes, self.datatypes):
            table.pinned = set()
        if self.random.random() < 0.1:
            self.rows.append(self.pb.RdfStreamRow(options=self.options))

    def add(self, statement):
        physical = self.options.physical_type
        if physical == 3:
            self.change_graph(statement[3])
        self.begin()
        new = (self.pb.RdfQuad if physical == 2 else self.pb.RdfTriple)()
        for slot, term in zip(SLOTS, statement if physical == 2 else statement[:3], strict=False):
            repeated = slot in self.last and self.last[slot] == term
            if not repeated or self.random.random() < 0.3:
                self.put(new, slot[0], term)
            self.last[slot] = term
        self.rows.append(self.pb.RdfStreamRow(**{"quad" if physical == 2 else "triple": new}))

    def namespace(self, name, iri):
        self.begin()
        new = self.pb.RdfNamespaceDeclaration(name=name, value=self.iri(iri))
        self.rows.append(self.pb.RdfStreamRow(namespace=new))

    def change_graph(self, graph):
        while self.graph != (graph,) or self.random.random() < 0.1:
            self.end_graph()
            empty = self.random.random() < 0.1
            self.begin()
            new = self.pb.RdfGraphStart()
            self.graph = (None if empty else graph,)
            self.put(new, "g", self.graph[0])
            self.rows.append(self.pb.RdfStreamRow(graph_start=new))

    def end_graph(self):
        if self.graph != ():
            self.rows.append(self.pb.RdfStreamRow(graph_end=self.pb.RdfGraphEnd()))
            self.graph = ()

    def put(self, new, letter, term):
        if term is None:
            new.g_default_graph.SetInParent()
        elif term[0] == "iri":
            getattr(new, f"{letter}_iri").CopyFrom(self.iri(term[1]))
        elif term[0] == "bnode":
            setattr(new, f"{letter}_bnode", term[1])
        elif term[0] == "literal":
            literal = getattr(new, f"{letter}_literal")
            literal.SetInParent()
            literal.lex = term[1]
            if term[2] is not None:
                literal.langtag = term[2]
            elif term[3] is not None or self.random.random() < 0.1:
                literal.datatype = self.datatypes.find(XSD_STRING if term[3] is None else term[3], self.rows)
        else:
            quoted = getattr(new, f"{letter}_triple_term")
            for slot, part in zip("spo", term[1:], strict=True):
                self.put(quoted, slot, part)

    def iri(self, text):
        new = self.pb.RdfIri()
        cut = 0
        if self.prefixes.size and (text or self.last_prefix) and (self.last_prefix or self.random.random() < 0.9):
            cut = self.random.randint(0, len(text))
            prefix = self.prefixes.find(text[:cut], self.rows)
            if prefix != self.last_prefix or self.random.random() < 0.3:
                new.prefix_id = prefix
            self.last_prefix = prefix
        name = self.names.find(text[cut:], self.rows)
        if name != self.last_name + 1 or self.random.random() < 0.3:
            new.name_id = name
        self.last_name = name
        return new


# ---- the same message in other bytes


def scramble(descriptor, data, random):
    """Other bytes for a message: fields in any order, zeros that are given, long varints, fields that nobody knows."""
    fields = []
    at = 0
    while at < len(data):
        tag, at = take_varint(data, at)
        field = descriptor.fields_by_number[tag >> 3]
        if tag & 7 == 0:
            value, at = take_varint(data, at)
            fields.append((field.number, varint(tag) + varint(value, random.choice([0, 0, 0, 1, 2]))))
        else:
            assert tag & 7 == 2
            size, at = take_varint(data, at)
            value = data[at : at + size]
            at += size
            if field.message_type is not None:
                value = scramble(field.message_type, value, random)
            fields.append((field.number, varint(tag) + varint(len(value), random.choice([0, 0, 0, 1])) + value))
    present = {number for number, _ in fields}
    for field in descriptor.fields:
        unset = field.number not in present and field.message_type is None and field.containing_oneof is None
        if unset and random.random() < 0.2:
            is_text = field.type in (field.TYPE_STRING, field.TYPE_BYTES)
            fields.append((field.number, varint(field.number << 3 | (2 if is_text else 0)) + b"\0"))
    if not descriptor.GetOptions().map_entry:
        for number in (100, 5000):
            if random.random() < 0.1:
                kind, value = random.choice(
                    [(0, varint(2**64 - 1)), (1, b"\xff" * 8), (2, b"\x05hello"), (2, b"\0"), (5, b"\x0a\0\0\0")]
                )
                fields.append((number, varint(number << 3 | kind) + value))
    # What is repeated stays in its order, all else may stand anywhere.
    order = list(range(len(fields)))
    random.shuffle(order)
    shuffled = [fields[i] for i in order]
    for number in {number for number, _ in fields}:
        ordered = iter([value for field, value in fields if field == number])
        shuffled = [(field, next(ordered)) if field == number else (field, value) for field, value in shuffled]
    return b"".join(value for _, value in shuffled)
