"""Real data: what others wrote is read, text goes through Jelly unchanged, tiny tables, size against pyjelly."""

import base64
import gzip
import io
import re
from functools import cache
from itertools import islice, zip_longest

import pytest
from support.chance import LONG
from support.oracle import parse_line, parse_text, plain_all, statement
from support.shared import shared

import jelly

DATA = shared("data")
MANY = 20_000 if LONG else 5_000


def files(*suffixes):
    return sorted(str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.name.endswith(suffixes))


TEXTS = files(".nt", ".nq", ".nt.gz", ".nq.gz")
BIG = [path for path in TEXTS if path.endswith(".gz") and not path.startswith("jelly-samples")]
SAMPLES = files(".jelly", ".jelly.gz", ".jelly_b64")


def sample(path):
    data = (DATA / path).read_bytes()
    return base64.b64decode(data) if path.endswith("_b64") else data


@cache
def first_statements(path):
    """The first MANY statements of a text file, as the independent reader reads them."""
    with gzip.open(DATA / path, "rt", encoding="utf-8", newline="\n") as lines:
        return parse_text("".join(islice(lines, MANY)), arity(path))


def arity(path):
    return 4 if ".nq" in path else 3


def options_for(path, names, prefixes, datatypes, physical=None):
    return jelly.StreamOptions(
        physical_type=physical or arity(path) - 2,
        rdf_star="star" in path,
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
    )


def written(statements, options):
    out = io.BytesIO()
    jelly.write(out, statements, options)
    return out.getvalue()


def test_all_files_are_there():
    assert len(TEXTS) >= 38
    assert len(BIG) >= 13
    assert len(SAMPLES) >= 42


# ---- what others wrote

COUNTS = {"iot-weather_100kt": 100_000, "nanopubs": 762, "riverbench_main": 23, "weather_quads": 64, "foaf.jelly": None}


@pytest.mark.parametrize("path", SAMPLES)
def test_samples_are_read(path):
    data = sample(path)
    statements = list(jelly.read(data))
    assert statements
    for part, count in COUNTS.items():
        if part in path and count:
            assert len(statements) == count
    frames = list(jelly.scan(data).frames())
    assert [x for frame in frames for x in frame] == statements
    if "_v1_1_" in path:  # of Jelly-JVM, with namespaces; those of 1.1.1 with metadata
        assert any(frame.namespaces for frame in frames)
        assert all(set(frame.metadata) == {"keyString", "keyLowBytes", "keyZeroes"} for frame in frames) == (
            "_v1_1_1" in path
        )


JVM = "jelly-samples/jelly-jvm/integration-tests/src/test/resources/"
PYJELLY = "jelly-samples/pyjelly/tests/"
REFERENCES = {
    "iot-weather/assist-iot-weather_100kt.jelly.gz": "iot-weather/assist-iot-weather-100k.nt.gz",
    "jelly-samples/jelly-jvm/examples/src/main/resources/jelly/weather.jelly": JVM + "triples/weather.nt",
    "jelly-samples/jelly-jvm/examples/src/main/resources/jelly/weather-quads.jelly": JVM + "src/weather-graphs.trig",
    "jelly-samples/site/docs/assets/samples/foaf.jelly": "jelly-samples/site/docs/assets/samples/foaf.ttl",
    PYJELLY + "integration_tests/test_examples/example_data/sample.jelly": PYJELLY
    + "integration_tests/test_examples/example_data/sample.nt",
    **{
        f"{JVM}backcompat/{name}_{version}.jelly": f"{JVM}backcompat/{name}.trig"
        for name in ("riverbench_main", "riverbench_nanopubs", "weather_quads")
        for version in ("v1_0_0", "v1_1_0", "v1_1_1")
    },
    **{
        f"jelly-samples/pyjelly-history/{name.rpartition('/')[2]}.jelly": f"{PYJELLY}e2e_test_cases/{name}"
        for name in (
            "quads_rdf_1_1/weather-quads.nq",
            "quads_rdf_1_1/nq-syntax-tests.nq",
            "triples_rdf_1_1/nt-syntax-subm-01.nt",
            "triples_rdf_1_1/p2_ontology.nt",
            "triples_rdf_1_1/rdf-stax-1-1-2.nt",
            "triples_rdf_1_1/riverbench-assist-iot-weather-1-0-2.nt",
        )
    },
}
REFERENCES = {re.sub(r"\.n[tq]\.jelly$", ".jelly", path): text for path, text in REFERENCES.items()}


def canonical(quads, ox):
    """The set of statements with blank nodes named by canonicalisation."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


@pytest.mark.interop
@pytest.mark.parametrize("path", REFERENCES)
def test_samples_say_what_their_text_says(path):
    ox = pytest.importorskip("pyoxigraph")

    def term(x):
        if isinstance(x, jelly.IRI):
            return ox.NamedNode(x.value)
        if isinstance(x, jelly.BlankNode):
            return ox.BlankNode(x.value)
        if isinstance(x, jelly.Literal):
            if x.language is not None:
                return ox.Literal(x.value, language=x.language)
            return ox.Literal(x.value, datatype=ox.NamedNode(x.datatype.value))
        return ox.DefaultGraph()

    text = (DATA / REFERENCES[path]).read_bytes()
    if REFERENCES[path].endswith(".gz"):
        text = gzip.decompress(text)
    suffix = REFERENCES[path].removesuffix(".gz").rpartition(".")[2]
    expected = ox.parse(text, ox.RdfFormat.from_extension(suffix))
    actual = (ox.Quad(*map(term, x)) for x in jelly.read(sample(path)))
    assert canonical(actual, ox) == canonical(expected, ox)


# ---- text to Jelly to text


@pytest.mark.parametrize("path", TEXTS)
def test_text_to_jelly_to_text(path):
    original = (DATA / path).read_bytes()
    name = "x" + path[path.rindex(".n") :]
    if name.endswith(".gz"):
        original = gzip.decompress(original)
    out = io.BytesIO()
    with jelly.Writer(out, jelly.StreamOptions(rdf_star=True, generalized_statements=True)) as writer:
        for batch in jelly.scan(DATA / path).batches():
            writer.add_batch(batch)
    text = io.BytesIO()
    with jelly.Writer(text, format=name.removesuffix(".gz")[-2:]) as back:
        for batch in jelly.scan(out.getvalue()).batches():
            back.add_batch(batch)
    before = [line for line in re.split(rb"[\r\n]+", original) if line.strip() and not line.lstrip().startswith(b"#")]
    after = text.getvalue().splitlines() if b"\r" not in text.getvalue() else text.getvalue().split(b"\n")[:-1]
    changed = [(x, y) for x, y in zip_longest(before, after, fillvalue=b"") if x != y]
    n = arity(path)
    for x, y in changed:  # other escapes or spaces, but the same statement
        assert parse_line(x.decode(), n) == parse_line(y.decode(), n)
    assert writer.statements == back.statements == len(before)


# ---- tiny tables

TINY = [(8, 1, 1), (8, 2, 1), (8, 0, 1)]


@pytest.mark.parametrize("tables", TINY, ids=str)
@pytest.mark.parametrize("path", BIG)
def test_tiny_tables(path, tables):
    statements = first_statements(path)
    for physical in (2, 3) if arity(path) == 4 else (1,):
        options = options_for(path, *tables, physical)
        assert plain_all(jelly.loads(written(map(statement, statements), options))) == statements


@pytest.mark.interop
@pytest.mark.parametrize("tables", TINY, ids=str)
@pytest.mark.parametrize("path", BIG)
def test_tiny_tables_as_pyjelly_reads_them(path, tables):
    by_pyjelly = pytest.importorskip("support.by_pyjelly")
    statements = first_statements(path)[:2000]
    for physical in (2, 3) if arity(path) == 4 else (1,):
        data = written(map(statement, statements), options_for(path, *tables, physical))
        assert by_pyjelly.read(data) == statements


# ---- size

SIZES = [(4000, 150, 32), (128, 32, 32), (128, 16, 16)]


@pytest.mark.interop
@pytest.mark.parametrize("tables", SIZES, ids=str)
@pytest.mark.parametrize("path", BIG)
def test_not_larger_than_pyjelly(path, tables):
    by_pyjelly = pytest.importorskip("support.by_pyjelly")
    statements = first_statements(path)
    for physical in (2, 3) if arity(path) == 4 else (1,):
        options = options_for(path, *tables, physical)
        ours = len(written(map(statement, statements), options))
        theirs = len(by_pyjelly.write(statements, options))
        assert ours <= theirs, f"{path} {options.physical_type.name} {tables}: we {ours}, pyjelly {theirs} bytes"
