"""Steps of a `Dataset` (concatenation, `unique`, `filter`, `split`, `sample`) against the same in Python."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support import steps
from support.shared import shared

import jelly
from jelly import IRI, BlankNode, DefaultGraph, Literal, Quad, QuotedTriple, Triple
from jelly.cli.commands import cli
from jelly.errors import JellyArgumentError, JellyError, JellyLimitError
from jelly.stats import stats

LONG = bool(os.environ.get("JELLY_LONG"))
ROWS = None if LONG else 20_000


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """Real quads, and a file of them."""
    statements = list(islice(jelly.read(shared("data", "vocabs-quads", "vocabs.nq.gz")), ROWS))
    path = tmp_path_factory.mktemp("data") / "in.jelly"
    jelly.write(path, statements)
    return path, statements


@pytest.fixture(scope="module")
def star() -> list[Any]:
    return list(islice(jelly.read(shared("data", "vocabs-star", "vocabs-star.nt.gz")), 5000))


def quads(rows: list[Any]) -> list[Quad]:
    return [row if len(row) == 4 else Quad(*row, None) for row in rows]


# ---- concat


def test_any_order_and_options(data: tuple[Path, list[Any]], star: list[Any], tmp_path: Path) -> None:
    path, statements = data
    triples, small, text = tmp_path / "star.jelly", tmp_path / "small.jelly", tmp_path / "x.nt.gz"
    jelly.write(triples, star)
    jelly.write(small, statements[:50], jelly.StreamOptions.small().replace(physical_type=2), seekable=True)
    jelly.write(text, star[:10])
    found = {str(path): statements, str(triples): star, str(small): statements[:50], str(text): star[:10]}
    names = list(found)
    for order in (names, names[::-1], [names[2], names[1], names[0]]):
        out = tmp_path / "out.jelly"
        expected = [row for name in order for row in found[name]]
        assert steps.concat(order, out, blank_nodes="keep", seekable=True) == len(expected)
        assert quads(list(jelly.read(out))) == quads(expected)
        with jelly.open(out) as file:
            assert len(file) == len(expected)
        pipe = io.BytesIO()
        steps.concat(order, pipe, blank_nodes="keep", to="jelly")
        assert quads(list(jelly.loads(pipe.getvalue()))) == quads(expected)


def test_namespaces_metadata_and_options_are_kept(tmp_path: Path) -> None:
    path, out = tmp_path / "x.jelly", tmp_path / "out.jelly"
    options = jelly.StreamOptions(
        physical_type=2, logical_type=jelly.LogicalType.DATASETS, version=2, stream_name="mine", max_name_table_size=64
    )
    with jelly.Writer(path, options) as writer:
        for i in range(3):
            writer.namespace("e", f"http://e/{i}")
            writer.add(Quad(IRI("a:s"), IRI("a:p"), Literal(str(i)), None))
            writer.end_frame({"n": b"%d" % i})
    assert steps.concat([path, path], out) == 6
    frames = list(jelly.scan(out).frames())
    assert [frame.metadata for frame in frames] == [{"n": b"%d" % i} for i in (0, 1, 2)] * 2
    assert [frame.namespaces for frame in frames] == [[("e", f"http://e/{i}")] for i in (0, 1, 2)] * 2
    assert jelly.read_options(out) == options


@pytest.fixture
def late() -> jelly.Dataset:
    """Statements of which the second half has a namespace before it."""
    out = io.BytesIO()
    with jelly.Writer(out, {"version": 2}) as writer:
        for i in range(200):
            if i == 100:
                writer.namespace("ex", "http://ex/")
            writer.add(Triple(IRI(f"a:{i}"), IRI("a:p"), Literal("x")))
    return jelly.scan(out.getvalue(), batch_rows=10)


def test_what_waits_in_a_file_may_have_namespaces_late(late: jelly.Dataset, tmp_path: Path) -> None:
    assert late.unique(memory=1).count() == 200
    parts = late.split(tmp_path / "{}.jelly", parts=3, memory=1)
    assert [part.statements for part in parts] == [67, 67, 66]


@pytest.mark.parametrize("subject", ["a:7", "a:none"])
def test_namespaces_behind_the_last_statement_are_kept(late: jelly.Dataset, subject: str, tmp_path: Path) -> None:
    path, text = tmp_path / "x.jelly", tmp_path / "x.ttl"
    found = late.filter(s=subject)
    assert found.write(path).statements == found.write(text).statements == (subject == "a:7")
    assert [name for frame in jelly.scan(path).frames() for name in frame.namespaces] == [("ex", "http://ex/")]
    assert "@prefix ex: <http://ex/> .\n" in text.read_text()


def test_blank_nodes_of_several_files_are_different(tmp_path: Path) -> None:
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_bytes(b"_:x <a:p> <a:o> .")
    names = [tmp_path / "a.nt", tmp_path / "b.nt"]
    out = tmp_path / "out.nt"
    for call in (steps.concat, steps.unique, steps.sort, steps.merge):
        assert call(names, out) == 2
        assert len({statement.s for statement in jelly.read(out)}) == 2
    assert steps.unique(names, out, blank_nodes="keep") == 1


# ---- unique


@pytest.mark.parametrize("memory", [1 << 28, 1 << 19, 1 << 14])
def test_each_statement_once(data: tuple[Path, list[Any]], memory: int, tmp_path: Path) -> None:
    path, statements = data
    out, other = tmp_path / "out.jelly", tmp_path / "other.jelly"
    jelly.write(other, statements[::-3])
    n = steps.unique([other, path, path, other], out, memory=memory, blank_nodes="keep")
    assert list(jelly.read(out)) == list(dict.fromkeys(statements[::-3] + statements))
    assert n == len(set(statements))


# ---- filter


def literal(term: Any) -> bool:
    return isinstance(term, Literal)


XSD = "http://www.w3.org/2001/XMLSchema#"
CONDITIONS: dict[str, Any] = {
    "o.kind=literal": lambda s: literal(s.o),
    "o.kind != literal": lambda s: not literal(s.o),
    "s.kind=iri|quoted": lambda s: isinstance(s.s, IRI | QuotedTriple),
    "s.kind=blank": lambda s: isinstance(s.s, BlankNode),
    "o.language=en": lambda s: literal(s.o) and f"{s.o.language}-".lower().startswith("en-"),
    "o.language!=en|de": lambda s: not (literal(s.o) and f"{s.o.language}-".lower().startswith(("en-", "de-"))),
    "o.language=*": lambda s: literal(s.o) and s.o.language is not None,
    "o.datatype=xsd:string": lambda s: literal(s.o) and s.o.datatype.value == XSD + "string",
    "o.datatype!=xsd:string|rdf:langString": lambda s: not literal(s.o) or s.o.datatype.value not in (
        XSD + "string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"),
    f"o.datatype=<{XSD}date>|{XSD}dateTime": lambda s: literal(s.o) and s.o.datatype.value in (
        XSD + "date", XSD + "dateTime"),
    "p.prefix=http://www.w3.org/2000/": lambda s: s.p.value.startswith("http://www.w3.org/2000/"),
    "g.kind=default": lambda s: isinstance(getattr(s, "g", DefaultGraph()), DefaultGraph),
    "g.kind!=default": lambda s: not isinstance(getattr(s, "g", DefaultGraph()), DefaultGraph),
}  # fmt: skip


def test_conditions(data: tuple[Path, list[Any]], star: list[Any], tmp_path: Path) -> None:
    path, statements = data
    other, out = tmp_path / "star.jelly", tmp_path / "out.jelly"
    jelly.write(other, star)
    seen = set()
    for text, keep in CONDITIONS.items():
        for source, rows in ((path, statements), (other, star)):
            expected = [row for row in rows if keep(row)]
            assert steps.filter(source, out, where=text) == len(expected), text
            assert list(jelly.read(out)) == expected
            seen.add((text, bool(expected), len(expected) == len(rows)))
    # The conditions tell something apart.
    assert all((text, True, False) in seen for text in CONDITIONS if text != "g.kind=default" and "g." not in text)
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    some = [row for row in statements if not (literal(row.o) and row.p.value == label)]
    assert steps.filter(path, out, p=label, where=["o.kind=literal", "s.kind!=quoted"], invert=True) == len(some)
    assert list(jelly.read(out)) == some


@pytest.mark.parametrize(
    "text", ["", "o", "o.kind", "o.kind=", "x.kind=iri", "o.kind=thing", "o.nothing=x", "o.language=e n", "o.kind==iri"]
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(JellyArgumentError):
        steps.filter(b"<a:s> <a:p> <a:o> .", io.BytesIO(), where=text, format="nt", to="nt")


# ---- split


@pytest.mark.parametrize("how", [{"rows": 7000}, {"rows": 1_000_000}, {"parts": 7}, {"parts": 1}])
def test_pieces(data: tuple[Path, list[Any]], how: dict[str, int], tmp_path: Path) -> None:
    path, statements = data
    made = steps.split(path, tmp_path / "x.jelly", memory=1 << 20, **how)
    assert [os.path.basename(part.path) for part in made] == [f"x-{i:05}.jelly" for i in range(len(made))]
    assert sorted(os.listdir(tmp_path)) == [os.path.basename(part.path) for part in made]
    pieces = [list(jelly.read(part.path)) for part in made]
    assert [len(piece) for piece in pieces] == [part.statements for part in made]
    assert [row for piece in pieces for row in piece] == statements
    sizes = {part.statements for part in made}
    if "parts" in how:
        assert (len(made), max(sizes) - min(sizes) <= 1) == (how["parts"], True)
    else:
        assert sizes - {len(statements) % how["rows"]} <= {how["rows"]}


@pytest.mark.parametrize("by", ["predicate", "graph"])
def test_a_file_for_each_term(data: tuple[Path, list[Any]], by: str, tmp_path: Path) -> None:
    path, statements = data
    made = steps.split(path, tmp_path / "{}.nq", by=by, memory=1 << 20)
    expected: dict[Any, list[Any]] = {}
    for row in sorted(statements, key=lambda row: getattr(row, by)):
        expected.setdefault(getattr(row, by), []).append(row)
    assert {part.term: list(jelly.read(part.path)) for part in made} == expected
    assert [part.term for part in made] == list(expected)
    assert len({part.path.lower() for part in made}) == len(made) == len(os.listdir(tmp_path))


def test_names_of_files(tmp_path: Path) -> None:
    names = ["http://e/a/b", "http://e/B", "http://e/x#", "http://e/../..", "urn:x:y/z", "http://e/é "]
    names.append("http://e/" + "n" * 99)
    rows = [Triple(IRI("a:s"), IRI(name), BlankNode("x")) for name in names]
    source = tmp_path / "in.jelly"
    jelly.write(source, rows)
    (tmp_path / "out").mkdir()
    made = steps.split(source, tmp_path / "out" / "p-{}.nt.gz", by="p")
    assert {part.term.value for part in made} == set(names)
    assert len(os.listdir(tmp_path / "out")) == len(names)
    wanted = {"p-x.nt.gz", "p-z.nt.gz", "p-term.nt.gz", "p-__.nt.gz", f"p-{'n' * 60}.nt.gz"}
    assert wanted <= set(os.listdir(tmp_path / "out"))
    [part] = steps.split(source, tmp_path / "out" / "g.nt", by="g")
    assert (part.term, os.path.basename(part.path), part.statements) == (DefaultGraph(), "g-default.nt", len(names))


def test_too_many_files(data: tuple[Path, list[Any]], tmp_path: Path) -> None:
    with pytest.raises(JellyLimitError, match="more than 5 terms"):
        steps.split(data[0], tmp_path / "x.jelly", by="s", max_files=5)
    for wrong in ({}, {"rows": 5, "parts": 5}, {"rows": 0}, {"by": "x"}, {"parts": 1, "max_files": 0}):
        with pytest.raises(JellyArgumentError):
            steps.split(data[0], tmp_path / "x.jelly", **wrong)  # type: ignore[arg-type]
    with pytest.raises(JellyArgumentError, match="several files"):
        steps.split(data[0], "-", rows=5)
    assert os.listdir(tmp_path) == []


def test_several_files_are_not_written_to_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose name is one of a directory of this machine, too."""
    monkeypatch.chdir(tmp_path)
    dataset = jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt")
    for write in (
        lambda: dataset.split("memory://bucket/part-{}.nt", rows=1),
        lambda: dataset.split("memory://part-{}.nt", by="s"),
        lambda: dataset.write("memory://bucket/ids", layout="ids"),
        lambda: dataset.write("memory://bucket/graph", layout="property-graph"),
    ):
        with pytest.raises(jelly.JellyUnsupportedError, match="not to a URL"):
            write()
    assert os.listdir(tmp_path) == []
    (tmp_path / "log.nq").write_text("<a:s> <a:p> <a:o> .")
    done = CliRunner().invoke(cli, ["split", "--messages", "log.nq", "-o", "memory://bucket/{}.nq"])
    assert (done.exit_code, os.listdir(tmp_path)) == (1, ["log.nq"])
    assert "not to a URL" in done.stderr


# ---- sample


@pytest.mark.parametrize("n", [0, 1, 100, 19_999, 10_000_000])
def test_so_many(data: tuple[Path, list[Any]], n: int, tmp_path: Path) -> None:
    path, statements = data
    out = tmp_path / "out.jelly"
    assert steps.sample(path, out, n, seed=1) == min(n, len(statements))
    found = list(jelly.read(out))
    # In their order, and no row twice.
    rest = iter(statements)
    assert all(row in rest for row in found)
    # Where the Batches of a source begin does not matter.
    jelly.write(tmp_path / "again.nq", statements)
    steps.sample(tmp_path / "again.nq", out, n, seed=1)
    assert list(jelly.read(out)) == found
    if n == 100:
        steps.sample(path, out, n, seed=2)
        assert list(jelly.read(out)) != found
        steps.sample(path, out, n)
        assert list(jelly.read(out)) != found


def test_all_are_as_likely(tmp_path: Path) -> None:
    # So many rows that those that are held are thrown away now and then.
    n = 400_000
    text = b"".join(b"<a:s> <a:p> <a:%d> .\n" % i for i in range(n))
    out = tmp_path / "out.nt"
    assert steps.sample(text, out, 20_000, seed=5, format="nt") == 20_000
    places = [int(statement.o.value[2:]) for statement in jelly.read(out)]
    tenths = [sum(1 for place in places if place * 10 // n == i) for i in range(10)]
    assert all(abs(tenth - 2000) < 250 for tenth in tenths)  # six standard deviations
    found = steps.sample(text, out, fraction=0.1, seed=5, format="nt")
    assert abs(found - 40_000) < 1200
    assert [steps.sample(text, out, fraction=share, format="nt") for share in (0, 1)] == [0, n]


@pytest.mark.parametrize(
    "how", [{}, {"rows": 1, "fraction": 0.5}, {"rows": -1}, {"fraction": 1.5}, {"rows": 1, "seed": -1}]
)
def test_what_is_no_sample(how: dict[str, Any]) -> None:
    with pytest.raises(JellyArgumentError):
        steps.sample(b"", io.BytesIO(), **how, format="nt")


# ---- empty inputs, and the commands


def test_nothing(tmp_path: Path) -> None:
    for call in (steps.concat, steps.sort, steps.merge, steps.unique, steps.filter):
        out = tmp_path / "out.jelly"
        assert call(b"", out, format="nt") == 0
        assert list(jelly.read(out)) == []
    assert steps.sample(b"", tmp_path / "out.nt", 5, format="nt") == 0
    assert steps.split(b"", tmp_path / "x.nt", parts=5, format="nt") == []
    with pytest.raises(FileNotFoundError):
        steps.concat(str(tmp_path / "*.none"), tmp_path / "out.nt")


def test_commands(tmp_path: Path) -> None:
    lines = [f'<a:s> <a:p{i % 2}> "{i}"@{"en" if i % 3 else "de"} .' for i in range(12)]
    (tmp_path / "in.nt").write_text("\n".join(lines) + "\n")
    source, out = str(tmp_path / "in.nt"), str(tmp_path / "out.nt")
    run = CliRunner().invoke

    def printed(*command: str) -> list[str]:
        found = run(cli, [*command])
        assert found.exit_code == 0, found.output
        return found.stdout.splitlines()

    assert printed("convert", source, source, "-", "--to", "nq", "--blank-nodes", "keep") == lines * 2
    assert printed("convert", "--unique", source, source, "-", "--to", "nq") == lines
    assert printed("find", source, "-w", "o.language=de", "-p", "a:p1") == [lines[3], lines[9]]
    assert printed("find", source, "-w", "o.language=de", "-v", "--object", '"1"@en') == lines
    assert len(printed("convert", source, "-", "--to", "nt", "--sample", "5", "--seed", "1")) == 5
    assert printed("convert", source, "-", "--to", "nt", "--sample", "1.0") == lines
    assert len(printed("convert", source, source, "-", "--to", "nt", "--sample", "11", "--unique")) == 11
    assert printed("convert", source, source, "-", "--to", "nt", "--unique", "--threads", "2") == lines
    assert printed("split", source, "--rows", "8", "-o", str(tmp_path / "r-{}.nt")) == [
        f"{tmp_path / 'r-00000.nt'}\t8", f"{tmp_path / 'r-00001.nt'}\t4"
    ]
    assert printed("split", source, "--by", "predicate", "-o", str(tmp_path / "{}.jelly"))[0].endswith(
        "p0.jelly\t6\t<a:p0>"
    )
    assert printed("split", source, "--by", "graph", "-o", str(tmp_path / "{}.nt"))[0].endswith("\t12\tdefault")
    assert printed("convert", "--unique", source, out) == []
    pytest.importorskip("pyarrow")
    assert printed("sort", source, "--to", "csv")[0] == printed("cat", source, "--to", "csv")[0]
    assert printed("convert", "--unique", out, str(tmp_path / "out.parquet")) == []
    assert printed("sort", str(tmp_path / "out.parquet")) == sorted(lines, key=lambda line: (line[6:10], line))
    assert len(list(jelly.read(out))) == 12
    for wrong in (
        ("split", source, "-o", out), ("split", source, "--rows", "5"), ("convert", source), ("convert",),
        ("find", source, "-w", "x"), ("find", source, "-p", "no term"), ("convert", "x.unknown", out),
        ("convert", source, out, "--sample", "2.0"), ("convert", source, out, "--unique", "--drop-graphs"),
    ):  # fmt: skip
        assert run(cli, list(wrong)).exit_code == 2, wrong
    (tmp_path / "bad.nt").write_text("wrong")
    assert run(cli, ["convert", "--unique", str(tmp_path / "bad.nt"), str(tmp_path / "made.nt")]).exit_code == 1
    assert not (tmp_path / "made.nt").exists()


def test_unknown_keywords_are_named() -> None:
    made = jelly.scan(b"", format="nt")
    for statements in (made, made.sort(), made.unique(), made.filter()):
        with pytest.raises(JellyError, match="did you mean 'seekable'"):
            statements.write(io.BytesIO(), seekabl=True)


FEW = [Triple(IRI(f"a:{i}"), IRI("a:p"), Literal(str(i))) for i in range(1000)]


def test_progress_of_several_sources_has_a_total(tmp_path: Path) -> None:
    first, second = tmp_path / "a.nt", tmp_path / "b.nt.gz"
    jelly.write(first, FEW)
    jelly.write(second, FEW)
    both = first.stat().st_size + second.stat().st_size
    runs: dict[str, Callable[[Any], object]] = {
        "convert": lambda told: jelly.convert([first, second], tmp_path / "o.nt", progress=told),
        "sort": lambda told: jelly.scan([first, second]).sort().write(tmp_path / "o.nt", progress=told),
        "count": lambda told: jelly.scan([first, second]).filter(p="a:p").count(progress=told),
        "stats": lambda told: stats([first, second], progress=told),
    }
    for name, run in runs.items():
        seen: list[tuple[int, int | None, int | None]] = []
        run(lambda *call, seen=seen: seen.append(call))
        assert {total for _, total, _ in seen} == {both}, name
        assert seen[-1][0] == both, name
    # Where one has no size the total is unknown.
    seen = []
    sources = [first, io.BytesIO(second.read_bytes())]
    jelly.convert(sources, tmp_path / "o.nt", format="nt", progress=lambda *call: seen.append(call))
    assert {total for _, total, _ in seen} == {None}


def test_files_of_sort_and_find_may_have_filters(tmp_path: Path) -> None:
    file, out = tmp_path / "a.nt", tmp_path / "o.jelly"
    jelly.write(file, FEW)
    for command in (["sort", str(file)], ["find", str(file)]):
        done = CliRunner().invoke(cli, [*command, "--index", "terms", "-o", str(out)])
        assert done.exit_code == 0, done.output
        assert jelly.inspect(out).filter_bytes > 0
