"""What the tests of text share: Batches as tuples, reading and writing in one call."""

from jelly._core.base.kinds import Kind
from jelly._core.ntriples.text import TextReader, TextWriter

IRI, BNODE, LITERAL, LANG, TYPED, TRIPLE, *_ = map(int, Kind)
XSD = "http://www.w3.org/2001/XMLSchema#"


def term(batch, i):
    """A term as nested tuples that start with its kind."""
    if i < 0:
        return None
    kind = int(batch.kind[i])
    aux = int(batch.aux[i])
    if kind == TRIPLE:
        return (kind, *(term(batch, int(k)) for k in batch.quoted[aux]))
    if kind == TYPED:
        return (kind, batch.term_text(i), batch.term_text(aux))
    if kind == LANG:
        return (kind, batch.term_text(i), batch.term(aux))  # the tag with its direction
    return (kind, batch.term_text(i))


def rows(batches):
    """The statements of Batches as tuples of terms."""
    found = []
    for batch in batches:
        batch.check()
        columns = [batch.s, batch.p, batch.o] + ([batch.g] if batch.arity == 4 else [])
        found += [tuple(term(batch, int(i)) for i in row) for row in zip(*columns, strict=True)]
    return found


def read(data, quads=False, **settings):
    reader = TextReader(quads=quads, **settings)
    return [*reader.feed(data), *reader.close()]


def one(data, quads=False, **settings):
    """The only statement of `data`."""
    (row,) = rows(read(data.encode() if isinstance(data, str) else data, quads, **settings))
    return row


def write(batches, quads=False):
    writer = TextWriter(quads)
    return b"".join(map(writer.encode, batches))


def iri(text):
    return (IRI, text)


S, P, O, G = (iri(f"a:{letter}") for letter in "spog")  # noqa: E741
