"""jelly.canonicalize: RDFC-1.0, against the rules and examples of the Recommendation and against pyoxigraph."""

import gzip
import hashlib
import io
import itertools
import random
import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.canonical import TRIES
from support.compiled import digest
from support.measure import within
from support.shared import shared

import jelly
from jelly._core.ntriples.canonical import Canonicalizer
from jelly.cli.commands import cli

P = "<a:p>"


def canonical(text, **settings):
    data = text if isinstance(text, bytes) else text.encode()
    return jelly.canonicalize(data, format="nq", **settings).document.decode()


def by_pyoxigraph(text, algorithm="RDFC_1_0"):
    oxigraph = pytest.importorskip("pyoxigraph")
    nquads = oxigraph.RdfFormat.N_QUADS
    dataset = oxigraph.Dataset(oxigraph.parse(text.encode(), format=nquads))
    dataset.canonicalize(getattr(oxigraph.CanonicalizationAlgorithm, algorithm))
    return "".join(sorted(oxigraph.serialize([quad], format=nquads).decode() for quad in dataset))


def edges(pairs, predicate=P):
    return "".join(f"_:n{x} {predicate} _:n{y} .\n" for x, y in pairs)


def shuffled(text, seed=1):
    """The same dataset with other labels, in another order, with some statements twice."""
    chance = random.Random(seed)
    found = sorted(set(re.findall(r"_:\w+", text)))
    names = dict(zip(found, chance.sample([f"_:z{i}" for i in range(len(found))], len(found)), strict=True))
    lines = [re.sub(r"_:\w+", lambda found: names[found[0]], line) for line in text.splitlines(True)]
    lines += lines[:2]
    chance.shuffle(lines)
    return "".join(lines)


# ---- SHA-2


@given(st.binary(max_size=400), st.integers(1, 150), st.booleans())
def test_sha(data, step, wide):
    assert digest(data, wide, step) == (hashlib.sha384 if wide else hashlib.sha256)(data).hexdigest()


@pytest.mark.parametrize("wide", [False, True])
def test_sha_of_each_length(wide):
    for n in range(300):
        data = b"\xff" * n
        assert digest(data, wide) == (hashlib.sha384 if wide else hashlib.sha256)(data).hexdigest()


# ---- canonical N-Quads


def test_each_character_of_a_literal():
    """Appendix A: these escapes and no others; characters that are none of XML 1.1 count as controls."""
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 0x22: '\\"', 0x5C: "\\\\"}
    odd = [*range(32), 0x7F, 0xFFFE, 0xFFFF]
    others = [0x20, 0x27, 0x7E, 0x80, 0x85, 0xA0, 0x2028, 0xFDD0, 0xFEFF, 0xFFFD, 0x10000, 0x1FFFE, 0x1F600, 0x10FFFF]
    for point in [*odd, *short, *others]:
        text = f"a{chr(point)}{chr(point)}b"
        wanted = short.get(point, f"\\u{point:04X}" if point in odd else chr(point))
        data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal(text))])
        found = jelly.canonicalize(data, format="jelly").document.decode()
        assert found == f'<a:s> <a:p> "a{wanted}{wanted}b" .\n', hex(point)
        assert found == by_pyoxigraph(found)


def test_terms():
    text = (
        '<a:s> <a:p> "x"^^<http://www.w3.org/2001/XMLSchema#string> .\n<a:s> <a:p> "x" .\n'
        '<a:s> <a:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        '<a:s> <a:p> "x"@en-US .\n<a:s> <a:p> "x"@en .\n<a:s> <a:p> "\\u00e9\\U0001F600" .\n<a:s> <a:p> <a:\\u00e9> .\n'
    )
    assert canonical(text) == (
        '<a:s> <a:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n<a:s> <a:p> "x" .\n<a:s> <a:p> "x"@en .\n'
        '<a:s> <a:p> "x"@en-US .\n<a:s> <a:p> "é😀" .\n<a:s> <a:p> <a:é> .\n'
    )


def test_datatype_string_of_jelly_is_left_out():
    string = "http://www.w3.org/2001/XMLSchema#string"
    data = jelly.dumps([(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("x", datatype=string))])
    assert jelly.canonicalize(data, format="jelly").document == b'<a:s> <a:p> "x" .\n'


def test_graphs_and_order():
    """Code point order of lines: the default graph first, as a full stop is before < and _."""
    objects = ('"b"', "<a:o>", "_:x", '"a"@en', '"a"', '"a!"')
    lines = [f"<a:s> <a:p> {o}{g} .\n" for o in objects for g in ("", " <a:g>", " _:x")]
    found = canonical("".join(lines))
    assert found.splitlines(True) == sorted(found.splitlines(True))
    assert found == by_pyoxigraph("".join(lines))
    assert len(found.splitlines()) == 18


def test_empty():
    found = jelly.canonicalize(b"", format="nq")
    assert (found.document, found.statements, found.labels) == (b"", 0, {})
    assert found.digest == hashlib.sha256(b"").hexdigest()


@given(st.lists(st.text(st.sampled_from("ab\x00é"), max_size=20), min_size=20, max_size=200), st.integers(0, 60))
def test_sorting(words, n):
    """Many texts that begin with the same bytes, of every length around the words that sorting looks at."""
    statements = [(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("x" * n + word)) for word in words]
    found = jelly.canonicalize(jelly.dumps(statements), format="jelly").document.splitlines(True)
    assert found == sorted(found)
    assert len(found) == len(set(words))


def test_sorting_of_many_terms():
    chance = random.Random(4)
    numbers = [chance.randrange(10**9) for _ in range(30_000)]
    text = "".join(f'<http://example.org/{n % 977}> <a:p{n % 7}> "{n}" <a:g{n % 3}> .\n' for n in numbers)
    found = canonical(text).splitlines(True)
    assert found == sorted(set(text.splitlines(True)))


@pytest.mark.bounded
def test_long_texts_with_one_beginning():
    body = "y" * 300_000
    text = "".join(f'<a:s> <a:p> "{body}{i}" .\n' for i in range(40))
    found = within(5, lambda: canonical(text)).splitlines(True)
    assert found == sorted(text.splitlines(True))


def test_labels_in_decimal_order():
    """_:c14n10 comes before _:c14n2."""
    text = "".join(f'_:b{i} <a:p> "{i}" .\n' for i in range(1234))
    found = canonical(text).splitlines(True)
    assert found == sorted(found)
    assert {line.split()[0] for line in found} == {f"_:c14n{i}" for i in range(1234)}


# ---- blank nodes: the examples of the Recommendation

EX = "http://example.com/#"


def labels(text, **settings):
    return jelly.canonicalize(text.encode(), format="nq", **settings).labels


def test_unique_hashes():
    text = f"<{EX}p> <{EX}q> _:e0 .\n<{EX}p> <{EX}r> _:e1 .\n_:e0 <{EX}s> <{EX}u> .\n_:e1 <{EX}t> <{EX}u> .\n"
    assert labels(text) == {"e0": "c14n0", "e1": "c14n1"}


def test_shared_hashes():
    text = f"<{EX}p> <{EX}q> _:e0 .\n<{EX}p> <{EX}q> _:e1 .\n_:e0 <{EX}p> _:e2 .\n"
    text += f"_:e1 <{EX}p> _:e3 .\n_:e2 <{EX}r> _:e3 .\n"
    assert labels(text) == {"e0": "c14n3", "e1": "c14n2", "e2": "c14n0", "e3": "c14n1"}


# ---- blank nodes: structures

K33 = [(x, y) for a, b in itertools.product(range(3), range(3, 6)) for x, y in ((a, b), (b, a))]
_EDGES = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5)]
PRISM = [(x, y) for a, b in _EDGES for x, y in ((a, b), (b, a))]


def cycle(n):
    return [(i, (i + 1) % n) for i in range(n)]


def moved(pairs, by):
    return [(x + by, y + by) for x, y in pairs]


STRUCTURES = {
    **{f"cycle of {n}": edges(cycle(n)) for n in range(2, 7)},
    **{f"double cycle of {n}": edges(cycle(n)) + edges([(y, x) for x, y in cycle(n)], "<a:q>") for n in range(2, 7)},
    "self": edges([(0, 0), (1, 1)]),
    "equal components": edges([(0, 1), (1, 2), (10, 11), (11, 12), (20, 21), (21, 22)]),
    "equal cycles": edges([(0, 1), (1, 0), (10, 11), (11, 10), (20, 21), (21, 22), (22, 20)]),
    "diamond": edges([(0, 1), (0, 2), (1, 3), (2, 3)]),
    "two trees": edges([(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (10, 11), (10, 12), (11, 13), (12, 14), (12, 15)]),
    "K(3,3) and prism": edges(K33) + edges(moved(PRISM, 6)),
    "prism and K(3,3)": edges(PRISM) + edges(moved(K33, 6)),
    "two prisms": edges(PRISM) + edges(moved(PRISM, 6)),
    "clique of 4": edges(itertools.permutations(range(4), 2)),
    "graph names": "_:n0 <a:p> _:n1 _:n2 .\n_:n1 <a:p> _:n0 _:n2 .\n_:n2 <a:p> _:n2 _:n0 .\n",
    "one related node in two graphs": "_:n0 <a:p> _:n1 <a:g> .\n_:n0 <a:p> _:n1 <a:h> .\n_:n1 <a:p> _:n0 <a:g> .\n"
    "_:n1 <a:p> _:n0 <a:h> .\n_:n2 <a:p> _:n0 <a:g> .\n_:n3 <a:p> _:n1 <a:h> .\n",
    "list": "".join(f'_:n{i} <a:first> "1" .\n_:n{i} <a:rest> _:n{i + 1} .\n' for i in range(40)),
}  # fmt: skip


@pytest.mark.parametrize("algorithm", ["sha256", "sha384"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name, algorithm):
    text = STRUCTURES[name]
    found = canonical(text, algorithm=algorithm)
    for seed in range(5):
        assert canonical(shuffled(text, seed), algorithm=algorithm) == found
    assert canonical(found, algorithm=algorithm) == found
    assert found == by_pyoxigraph(text, "RDFC_1_0" if algorithm == "sha256" else "RDFC_1_0_SHA_384")
    assert len(set(re.findall(r"_:c14n\d+", found))) == len(set(re.findall(r"_:n\d+", text)))


def test_structures_differ():
    # K(3,3) and the prism are there in two orders.
    assert len({canonical(text) for text in STRUCTURES.values()}) == len(STRUCTURES) - 1


NODES = [f"_:n{i}" for i in range(5)]
quads = st.tuples(
    st.sampled_from([*NODES, "<a:s>"]),
    st.sampled_from(["<a:p>", "<a:q>"]),
    st.sampled_from([*NODES, "<a:o>", '"x"@en', '"\\t\\u0001"']),
    st.sampled_from(["", "", "<a:g>", *NODES]),
)


@given(st.lists(quads, max_size=14), st.integers(0, 99))
def test_any_small_graph(found, seed):
    text = "".join(f"{s} {p} {o} {g} .\n" for s, p, o, g in found)
    # RDFC-1.0 leaves some datasets with named graphs two forms, and pyoxigraph (0.5) gives either by chance.
    forms = {by_pyoxigraph(text) for _ in range(TRIES)}
    assert {canonical(text), canonical(shuffled(text, seed))} <= forms
    forms = {by_pyoxigraph(text, "RDFC_1_0_SHA_384") for _ in range(TRIES)}
    assert canonical(text, algorithm="sha384") in forms


def test_two_forms():
    """The hash of a related blank node (4.7) leaves the graph out, so either of two nodes may come first."""
    text = "_:d <a:p> _:f <a:x> .\n_:d <a:p> _:e .\n_:c <a:p> _:f .\n_:c <a:p> _:e <a:x> .\n"
    forms = {by_pyoxigraph(text) for _ in range(TRIES)}
    assert {canonical(shuffled(text, seed)) for seed in range(20)} == forms
    assert len(forms) == 2


@pytest.mark.parametrize(
    "name", ["movies/30kmovies.nt.gz", "cell-ontology/cl-eye-slim.nt.gz", "vocabs-quads/vocabs.nq.gz"]
)
def test_real_data(name):
    data = gzip.decompress(shared("data", *name.split("/")).read_bytes())
    text = "\n".join(data.decode().split("\n")[:20_000]) + "\n"
    assert canonical(text) == by_pyoxigraph(text)


# ---- limits


@pytest.mark.parametrize("n", [10, 20, 60])
@pytest.mark.bounded
def test_cliques_end_with_an_error(n):
    text = edges(itertools.permutations(range(n), 2))

    def work():
        with pytest.raises(jelly.JellyLimitError, match="raise max_steps") as caught:
            canonical(text)
        return str(caught.value)

    assert "steps" in within(10, work)  # takes a second or two


def test_a_hub_of_equal_nodes_ends_with_an_error():
    hubs = "".join(f"_:h{c} <a:p> _:{c}{i} .\n_:{c}{i} <a:q> _:h{c} .\n" for c in "xy" for i in range(40))
    with pytest.raises(jelly.JellyLimitError):
        canonical(hubs)


def test_deep_paths_take_no_stack():
    """Two equal chains: the search goes to their ends, 30,000 nodes deep."""
    n = 30_000
    text = "".join(f'_:{c}{i} <a:v> "{i}" .\n_:{c}{i} <a:next> _:{c}{i + 1} .\n' for c in "xy" for i in range(n))
    found = jelly.canonicalize(text.encode(), format="nq")
    assert found.statements == 4 * n
    assert len(found.labels) == 2 * n + 2


def test_max_steps():
    text = edges([(i, (i + 1) % 6) for i in range(6)])
    work = Canonicalizer()
    for batch in jelly.scan(text.encode(), format="nq").batches():
        work.add(batch)
    work.finish()
    steps = work.steps
    assert 0 < steps < 1000
    assert canonical(text, max_steps=steps) == canonical(text)
    with pytest.raises(jelly.JellyLimitError, match=f"more than {steps - 1} steps"):
        canonical(text, max_steps=steps - 1)
    assert canonical('_:x <a:p> "o" .', max_steps=0) == '_:c14n0 <a:p> "o" .\n'  # nothing is alike
    with pytest.raises(ValueError, match="at least 0"):
        canonical(text, max_steps=-1)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .", "the object is a quoted triple"),
        ("<< <a:s> <a:p> <a:o> >> <a:p> <a:o> .", "the subject is a quoted triple"),
        ("<a:s> _:b <a:o> .", "the predicate is of the kind blank node"),
        ('"s" <a:p> <a:o> .', "the subject is of the kind literal"),
        ('<a:s> <a:p> <a:o> "g"@en .', "the graph is of the kind literal"),
    ],
)
def test_what_is_not_defined(statement, message):
    with pytest.raises(jelly.JellyUnsupportedError, match=message) as caught:
        canonical(f"<a:s> <a:p> <a:o> .\n{statement}\n")
    assert caught.value.row == 1
    assert "RDFC-1.0" in caught.value.reason


def test_patches_are_refused():
    work = Canonicalizer()
    batch = next(iter(jelly.patch.PatchReader(b"A <a:s> <a:p> <a:o> .\n", format="rdfp").batches()))
    with pytest.raises(jelly.JellyError, match="jelly.patch"):
        work.add(batch)


def test_order_of_calls():
    with pytest.raises(ValueError, match="sha256"):
        Canonicalizer("md5")
    work = Canonicalizer()
    with pytest.raises(ValueError, match="not finished"):
        list(work.chunks())
    work.finish()
    work.finish()
    assert list(work.chunks()) == []
    with pytest.raises(ValueError, match="has finished"):
        work.add(next(jelly.scan(b"<a:s> <a:p> <a:o> .", format="nt").batches()))
    with pytest.raises(ValueError, match="size"):
        list(work.chunks(0))


# ---- the function


def test_formats_chunks_and_destinations(tmp_path):
    text = STRUCTURES["two trees"] + '<a:s> <a:p> "x"@en .\n'
    wanted = jelly.canonicalize(text.encode(), format="nq")
    assert wanted.digest == hashlib.sha256(wanted.document).hexdigest()
    assert str(wanted) == wanted.document.decode()
    path = tmp_path / "a.jelly"
    jelly.convert(text.encode(), path, format="nt")
    assert jelly.canonicalize(path) == wanted
    out = tmp_path / "out.nq.gz"
    found = jelly.canonicalize(path, out)
    assert found.document is None
    assert (found.digest, found.statements, found.labels) == (wanted.digest, wanted.statements, wanted.labels)
    assert gzip.decompress(out.read_bytes()) == wanted.document
    buffer = io.BytesIO()
    jelly.canonicalize(path, buffer)
    assert buffer.getvalue() == wanted.document
    work = Canonicalizer()
    for batch in jelly.scan(path, batch_rows=2).batches():
        work.add(batch)
    work.finish()
    assert b"".join(work.chunks(1)) == wanted.document
    assert len(list(work.chunks(1))) == wanted.statements


def test_errors_leave_no_file(tmp_path):
    out = tmp_path / "out.nq"
    for text in (b"bad", b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> ."):
        with pytest.raises(jelly.JellyError):
            jelly.canonicalize(text, out, format="nt")
        assert not list(tmp_path.iterdir())


def test_unknown_keywords():
    with pytest.raises(jelly.JellyArgumentError, match="did you mean 'max_steps'"):
        jelly.canonicalize(b"", format="nt", max_step=1)


# ---- the commands


def run(*args, code=0):
    result = CliRunner().invoke(cli, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = STRUCTURES["diamond"]
    (tmp_path / "a.nt").write_text(text)
    (tmp_path / "b.nq").write_text(shuffled(text))
    (tmp_path / "c.nq").write_text(STRUCTURES["self"])
    document = canonical(text)
    assert run("canonicalize", "a.nt").stdout == document
    assert run("canonicalize", "b.nq", "out.nq.gz").stdout == ""
    assert gzip.decompress((tmp_path / "out.nq.gz").read_bytes()).decode() == document
    digest = hashlib.sha256(document.encode()).hexdigest()
    lines = run("canonicalize", "--hash", "a.nt", "b.nq", "out.nq.gz", "c.nq").stdout.splitlines()
    assert lines[:3] == [f"{digest}  a.nt", f"{digest}  b.nq", f"{digest}  out.nq.gz"]
    assert lines[3].split("  ")[0] != digest
    other = hashlib.sha384(canonical(text, algorithm="sha384").encode()).hexdigest()
    assert run("canonicalize", "--hash", "--algorithm", "sha384", "a.nt").stdout == f"{other}  a.nt\n"
    assert run("canonicalize", "--hash", "--from", "nt", "a.nt").stdout == f"{digest}  a.nt\n"


def test_errors_of_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.nt").write_text(STRUCTURES["cycle of 6"])
    told = run("canonicalize", "--hash", "--max-steps", "3", "a.nt", code=1)
    assert "a.nt: the blank nodes are too much alike" in told.stderr
    assert "raise --max-steps" in told.stderr
    assert "none.nt: No such file" in run("canonicalize", "none.nt", code=1).stderr
    assert "--from" in run("canonicalize", "--hash", "a.ods", code=2).stderr
    run("canonicalize", "--hash", code=2)
    run("canonicalize", "--algorithm", "md5", "a.nt", code=2)
