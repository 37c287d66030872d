"""N-Triples and N-Quads: the test suites of the W3C, and real data there and back."""

import gzip
import re
import tarfile

import pytest
from support.shared import ROOT, shared
from textcase import BNODE, LANG, LITERAL, TRIPLE, TYPED, XSD, iri, read, rows, write

from jelly.errors import JellyFormatError

# The suites of the W3C.


def suite(prefix, pattern):
    """Names and contents of the files of the suite."""
    archive = ROOT / "data" / "w3c-rdf-tests.tar.gz"
    if not archive.exists():
        return []
    with tarfile.open(archive) as tar:
        return [
            (member.name.removeprefix(prefix), tar.extractfile(member).read())
            for member in tar.getmembers()
            if member.name.startswith(prefix) and re.search(pattern, member.name)
        ]


PREFIX = "w3c-rdf-tests/rdf/"
POSITIVE = suite(PREFIX + "rdf11/rdf-n-", r"/(?!.*-bad-)[^/]*\.n[tq]$")
NEGATIVE = suite(PREFIX + "rdf11/rdf-n-", r"-bad-[^/]*\.n[tq]$")
POSITIVE_12 = suite(PREFIX + "rdf12/rdf-n-", r"/(?!.*-bad-)[^/]*\.n[tq]$")
# Canonical N-Triples of RDF 1.2, without what is another form there: triple terms, language tags in lower case and
# escapes of U+FFFE and U+FFFF.
CANONICAL = [
    (name, data, dict(POSITIVE_12)[canonical])
    for name, data in POSITIVE_12
    if (canonical := re.sub(r"(\.n[tq])$", r"-c14n\1", name)) in dict(POSITIVE_12)
    and not re.search("triple-term|langtagged_string|uchar_escaping-01", name)
]


def test_suites_are_there():
    shared("data", "w3c-rdf-tests.tar.gz")
    # The manifests name 41 and 53 positive tests; two more files of each kind lie beside them.
    assert (len(POSITIVE), len(NEGATIVE)) == (43 + 55, 29 + 34)
    assert len(POSITIVE_12) == 2 * (7 + 81)
    assert len(CANONICAL) == 2 * (40 - 7)


def from_pyoxigraph(term):
    import pyoxigraph

    if isinstance(term, pyoxigraph.DefaultGraph):
        return None
    if isinstance(term, pyoxigraph.NamedNode):
        return iri(term.value)
    if isinstance(term, pyoxigraph.BlankNode):
        return (BNODE, term.value)
    if isinstance(term, pyoxigraph.Triple):
        return (TRIPLE, *map(from_pyoxigraph, (term.subject, term.predicate, term.object)))
    if term.language:
        direction = getattr(term, "direction", None)
        return (LANG, term.value, f"{term.language}--{direction.value}" if direction else term.language)
    if term.datatype.value == f"{XSD}string":
        return (LITERAL, term.value)
    return (TYPED, term.value, term.datatype.value)


def lower_tags(term):
    """pyoxigraph makes language tags lower case."""
    if term is not None and term[0] == LANG:
        return (LANG, term[1], term[2].lower())
    return tuple(lower_tags(part) if isinstance(part, tuple) else part for part in term) if term else None


def peer(data, quads):
    pyoxigraph = pytest.importorskip("pyoxigraph")
    form = pyoxigraph.RdfFormat.N_QUADS if quads else pyoxigraph.RdfFormat.N_TRIPLES
    return [
        tuple(map(from_pyoxigraph, (q.subject, q.predicate, q.object, *([q.graph_name] if quads else []))))
        for q in pyoxigraph.parse(data, format=form)
    ]


@pytest.mark.parametrize(("name", "data"), POSITIVE, ids=[name for name, _ in POSITIVE])
def test_w3c_positive(name, data):
    quads = name.endswith("q")
    found = rows(read(data, quads, strict=True))
    assert rows(read(data, quads)) == found
    labels = {}

    def same_label(term):
        # pyoxigraph may rename blank nodes, but each in one way
        if term is not None and term[0] == BNODE:
            return (BNODE, labels.setdefault(term[1], len(labels)))
        return lower_tags(term)

    mine = [tuple(map(same_label, row)) for row in found]
    labels.clear()
    assert mine == [tuple(map(same_label, row)) for row in peer(data, quads)]
    assert rows(read(write(read(data, quads), quads), quads, strict=True)) == found


@pytest.mark.parametrize(("name", "data"), NEGATIVE, ids=[name for name, _ in NEGATIVE])
def test_w3c_negative(name, data):
    with pytest.raises(JellyFormatError) as caught:
        read(data, name.endswith("q"), strict=True)
    assert caught.value.line is not None


@pytest.mark.parametrize(("name", "data"), POSITIVE_12, ids=[name for name, _ in POSITIVE_12])
def test_w3c_positive_12(name, data):
    quads = name.endswith("q")
    found = rows(read(data, quads))
    assert rows(read(write(read(data, quads), quads), quads)) == found
    mine = [tuple(map(lower_tags, row)) for row in found]
    theirs = [tuple(map(lower_tags, row)) for row in peer(data, quads)]
    blank = [row for row in mine + theirs if f"({BNODE}, " in repr(row)]
    assert [row for row in mine if row not in blank] == [row for row in theirs if row not in blank]
    assert len(mine) == len(theirs)


@pytest.mark.parametrize(("name", "data", "canonical"), CANONICAL, ids=[name for name, *_ in CANONICAL])
def test_w3c_canonical(name, data, canonical):
    quads = name.endswith("q")
    assert write(read(data, quads), quads) == canonical


# Real data.

FILES = sorted(
    str(path.relative_to(ROOT)) for path in ROOT.glob("data/**/*") if re.search(r"\.n[tq](\.gz)?$", path.name)
) if ROOT.exists() else []

SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def normal(line):
    """A line with its escapes resolved. Only lines that have some come here."""
    def character(match):
        escape = match.group(1)
        if escape[0] in "uU":
            return chr(int(escape[1:], 16))
        return SHORT.get(escape, escape)

    return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", character, line.decode()).encode()


def test_files_are_there():
    shared("data")
    assert len(FILES) > 30


@pytest.mark.parametrize("name", FILES)
def test_real_data(name):
    path = shared(name)
    data = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    quads = ".nq" in name
    written = write(read(data, quads), quads).splitlines()
    source = [line for line in data.splitlines() if line.strip() and not line.lstrip().startswith((b"#", b"VERSION"))]
    assert len(written) == len(source)
    for mine, theirs in zip(written, source, strict=True):
        if mine != theirs:
            theirs = re.sub(rb"\s+\.\s*(#[^\">]*)?$|\.\s*$", b" .", theirs)
            mine, theirs = (line.replace(b"<<(", b"<< ").replace(b")>>", b" >>") for line in (mine, theirs))
            theirs = theirs.replace(b"^^<%sstring>" % XSD.encode(), b"")
            assert b"".join(normal(mine).split()) == b"".join(normal(theirs).split())
