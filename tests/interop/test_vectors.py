"""What Jena wrote and how it read: the vectors beside the facts, byte for byte and line by line of its log."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.rowcraft import attempt, read, read_rows, statements, write, write_rows
from support.shared import shared

import jelly
from jelly import (
    IRI,
    BlankNode,
    JellyFormatError,
    JellyTruncatedError,
    JellyUnsupportedError,
    Literal,
    QuotedTriple,
)
from jelly._core.jena.reader import BinaryReader, ResultReader
from jelly._core.terms.materialize import Materializer

VECTORS = json.loads(shared("facts", "rdf_binary_vectors.json").read_text("utf-8"))
GRAPHS = {example["name"]: example for example in VECTORS["examples"] if "thrift" in example}
RESULTS = {example["name"]: example for example in VECTORS["examples"] if "srt" in example}
CASES = {case["name"]: case for case in VECTORS["reader_cases"]}


def test_all_are_there() -> None:
    assert (len(GRAPHS), len(RESULTS), len(CASES)) == (13, 3, 131)


# ---- bytes

# What the encoder needs to be told to do as Jena did: it streams N-Quads and TriG into Protobuf as quads alone.
SETTINGS = {
    "d1.trig": {"default_quads": True},
    "d1.nq": {"default_quads": True},
    "base.ttl": {"base": "http://b/"},
}


@pytest.mark.parametrize("source", ["thrift", "protobuf"])
@pytest.mark.parametrize("name", GRAPHS)
def test_bytes_of_graphs(name: str, source: str) -> None:
    example = GRAPHS[name]
    thrift, protobuf = bytes.fromhex(example["thrift"]), bytes.fromhex(example["proto"])
    batches = read(source, thrift if source == "thrift" else protobuf)
    assert write("thrift", batches) == thrift
    if "thriftv" in example:
        assert write("thrift", batches, values=True) == bytes.fromhex(example["thriftv"])
    assert write("protobuf", batches, **SETTINGS.get(name, {})) == protobuf
    # Shorter, for Jena the same.
    shorter = write("protobuf", batches, shorten=True)
    assert len(shorter) <= len(write("protobuf", batches))
    assert statements(read("protobuf", shorter)) == statements(batches)


@pytest.mark.parametrize("name", GRAPHS)
def test_statements_of_graphs(name: str) -> None:
    """The bytes say what the text says that Jena read."""
    example = GRAPHS[name]
    syntax = name.partition(".")[2]
    if syntax in ("ttl", "trig"):
        pytest.importorskip("pyoxigraph")
    wanted = [tuple(x) for x in jelly.read(example["input"].encode(), format=syntax)]
    found = [tuple(x) for x in statements(read("thrift", bytes.fromhex(example["thrift"])))]
    if name == "base.ttl":
        assert len(found) == len(wanted) == 1
        return
    assert sorted(map(plain, found)) == sorted(map(plain, wanted))


def plain(statement: tuple[Any, ...]) -> str:
    text = " ".join(str(term) for term in statement if not isinstance(term, jelly.DefaultGraph))
    return re.sub(r"_:\w+", "_:", text).replace("@EN-gb", "@en-GB")


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("encoding", ["thrift", "protobuf"])
def test_bytes_of_results(name: str, encoding: str) -> None:
    data = bytes.fromhex(RESULTS[name]["srt" if encoding == "thrift" else "srp"])
    wanted = json.loads(RESULTS[name]["input"])
    variables, rows = read_rows(encoding, data)
    assert list(variables) == wanted["head"]["vars"]
    values = [{name: str(term.value) for name, term in zip(variables, row, strict=True) if term} for row in rows]
    assert values == [{name: term["value"] for name, term in row.items()} for row in wanted["results"]["bindings"]]
    reader = ResultReader(encoding)
    assert write_rows(encoding, [*reader.feed(data), *reader.close()], variables) == data


# ---- how Jena reads


def jena(term: Any, inner: bool = False) -> str:
    """A term as the log has it."""
    if isinstance(term, IRI):
        return term.value if inner else f"<{term.value}>"
    if isinstance(term, BlankNode):
        return f"_:{term.value}"
    if isinstance(term, QuotedTriple):
        return f"<<( {' '.join(jena(part, True) for part in term)} )>>"
    assert isinstance(term, Literal)
    if term.language:
        return str(term)
    datatype = term.datatype.value
    if datatype == "http://www.w3.org/2001/XMLSchema#string":
        return f'"{term.value}"'
    datatype = datatype.replace("http://www.w3.org/2001/XMLSchema#", "xsd:")
    return f'"{term.value}"^^' + datatype.replace("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:")


def log_of_rows(encoding: str, data: bytes) -> tuple[list[str], Any]:
    """What we read as Jena logs it; prefixes and base apart, as Batches have them apart."""
    batches, error = attempt(encoding, data)
    lines = [f"PREFIX {name}: <{iri}>" for batch in batches for _, _, name, iri in batch.namespaces]
    for s, p, o, *g in (statement for batch in batches for statement in Materializer(batch).statements()):
        graph = "Q null | " if g and isinstance(g[0], jelly.DefaultGraph) else f"Q {jena(g[0])} | " if g else "T "
        lines.append(f"{graph}{jena(s)} {jena(p)} {jena(o)}")
    return lines, error


def log_of_results(encoding: str, data: bytes) -> tuple[list[str], Any]:
    batches, error = attempt(encoding, data, results=True)
    reader = ResultReader(encoding)
    try:
        list(reader.feed(data))
        list(reader.close())
    except jelly.JellyError:
        pass
    lines = [] if reader.variables is None else [f"VARS [{', '.join('?' + name for name in reader.variables)}]"]
    for row in (row for batch in batches for row in batch):
        bound = zip(reader.variables or (), row, strict=True)
        cells = [f"( ?{name} = {jena(term)} )" for name, term in bound if term is not None]
        lines.append("ROW " + (" ".join(cells) or "()"))
    return lines, error


def log_of_jena(case: dict[str, Any]) -> tuple[list[str], bool]:
    """The lines of data, and whether an error ended them."""
    text = "\n".join(case["jena_5_6_0"])
    lines = re.findall(r"(?m)^(?:T |Q |PREFIX |VARS |ROW ).*$", text)
    lines = [re.sub(r"^Q <urn:x-arq:DefaultGraph(Node)?>", "Q null", line) for line in lines]
    # ARQ prints literals of results as SPARQL does, and a row in the order of its own hash table.
    lines = [re.sub(r"= (-?\d+) \)", r'= "\1"^^xsd:integer )', line) for line in lines]
    # In them it also has brackets around the IRIs of a triple term.
    lines = [re.sub(r"<(http[^ >]*)>", r"\1", line) if line.startswith("ROW") else line for line in lines]
    return lines, "EXC" in text or "ERROR" in text


# Where we are stricter than Jena, and the error that it is; the rows before it are the same.
STRICTER: dict[str, type[Exception]] = {
    # Jena takes a row that is cut off for the end.
    "t_01_trunc_midrow": JellyTruncatedError,
    "t_02_trunc_1byte_short": JellyTruncatedError,
    "t_21_trailing_text": JellyTruncatedError,
    "t_21b_trailing_text2": JellyUnsupportedError,
    "trs_09_trunc": JellyTruncatedError,
    # It reads the first field of a union and takes the second for the end.
    "t_08_union_two_fields": JellyFormatError,
    # It skips what it does not know, and what it takes for too long.
    "t_04_unknown_row_field": JellyUnsupportedError,
    "t_17_huge_len": JellyTruncatedError,
    # It has nodes for the terms of patterns.
    "t_11_any": JellyUnsupportedError,
    "t_12_var": JellyUnsupportedError,
    "p_11_any": JellyUnsupportedError,
    "p_12_var": JellyUnsupportedError,
    "trs_11_var_term": JellyUnsupportedError,
    "trs_15_any": JellyUnsupportedError,
    # It puts U+FFFD there.
    "t_16_bad_utf8": JellyFormatError,
}
# What Jena cannot read and we can: a language tag that is none, the second of two columns with one name.
LAXER = {"t_35_badlang", "trs_13_dupvars"}
# Java's names of infinity are no xsd:double; older Javas have more digits than need be.
REPLACED = {
    '"Infinity"': '"INF"',
    '"-Infinity"': '"-INF"',
    "9.999999999999999E22": "1.0E23",
    "PREFIX ex::": "PREFIX ex:",
}


@pytest.mark.parametrize("name", CASES)
def test_reader_cases(name: str) -> None:
    case = CASES[name]
    encoding, *_, kind = case["format"].split()
    data = bytes.fromhex(case["hex"])
    lines, error = (log_of_results if kind == "set" else log_of_rows)(encoding, data)
    wanted, fails = log_of_jena(case)
    for text, ours in REPLACED.items():
        wanted = [line.replace(text, ours) for line in wanted]
    if name in LAXER:
        assert error is None
        assert fails
        return
    if error is not None and name != "t_17_huge_len":
        assert error.row is not None
        assert 0 <= error.offset <= len(data)
    if name in STRICTER:
        assert type(error) is STRICTER[name]
        assert words(lines) == words(wanted)[: len(lines)]
        return
    assert (error is not None) == fails, error
    if "_nest" in name and not fails:
        assert lines[0].count("<<(") == int(name.partition("_nest")[2])
        lines = [lines[0][: len(wanted[0])]]  # the log is cut there
        assert len(wanted[0]) > 300
    assert words(lines) == words(wanted)


def words(lines: list[str]) -> list[list[str]]:
    """The lines with prefixes first and the cells of a row in any order; those of an error are cut off."""
    lines = sorted(lines, key=lambda line: not line.startswith("PREFIX"))
    return [sorted(line.split()) if line.startswith("ROW") else [line.rstrip()] for line in lines]


def test_base_is_told() -> None:
    reader = BinaryReader("protobuf")
    list(reader.feed(bytes.fromhex(CASES["p_23_base"]["hex"])))
    assert reader.base == "http://base/"
    assert BinaryReader("thrift").base is None
