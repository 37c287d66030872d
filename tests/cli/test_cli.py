"""The command jelly: with click's runner, as a process, and on a terminal."""

import bz2
import gzip
import itertools
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from support import craft

import jelly
from jelly import IRI, Literal, Quad, StreamOptions, Triple
from jelly.cli.commands import cli

TEXT = b"".join(b'<http://a/s%d> <http://a/p> "%d" .\n' % (i // 3, i) for i in range(30))
# Processes run elsewhere and shall find the same package.
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(jelly.__file__).parent.parent), *sys.path])}
COMMAND = [sys.executable, "-m", "jelly"]
# As on work that takes long.
IMPATIENT = [
    sys.executable,
    "-c",
    "import jelly.cli.display; jelly.cli.display.PATIENCE = 0; from jelly.cli import main; main()",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_bytes(TEXT)
    jelly.convert("a.nt", "a.jelly", seekable=False)
    out = [Quad(IRI("a:s"), IRI("a:p"), Literal(str(i)), IRI(f"a:g{i}")) for i in range(3)]
    jelly.write("q.jelly", out)
    return tmp_path


def run(*args, code=0, stdin=None):
    result = CliRunner().invoke(cli, [str(arg) for arg in args], input=stdin)
    assert result.exit_code == code, result.output
    return result


def test_quoted_triples_in_either_form(folder):
    new, old = b"<a:s> <a:p> <<( <a:x> <a:y> <a:z> )>> .\n", b"<a:s> <a:p> << <a:x> <a:y> <a:z> >> .\n"
    Path("quoted.nt").write_bytes(old)
    run("convert", "quoted.nt", "new.nt")
    run("convert", "quoted.nt", "new.nq", "--quoted", "rdf-1.2")
    run("convert", "new.nt", "old.nt", "--quoted", "rdf-star")
    assert [Path(name).read_bytes() for name in ("new.nt", "new.nq", "old.nt")] == [new, new, old]
    assert "only with N-Triples and N-Quads" in run(
        "convert", "new.nt", "x.jelly", "--quoted", "rdf-star", code=2
    ).output
    table = run("convert", "new.nt", "x.csv", "--quoted", "rdf-star", code=2)
    assert "--quoted does not go with tables" in table.output
    Path("one.rdfp").write_bytes(b"H k " + old[12:] + b"A " + old)
    run("convert", "one.rdfp", "new.rdfp")
    run("convert", "new.rdfp", "old.rdfp", "--quoted", "rdf-star")
    assert Path("new.rdfp").read_bytes() == b"H k " + new[12:] + b"A " + new
    assert Path("old.rdfp").read_bytes() == Path("one.rdfp").read_bytes()
    run("convert", "new.rdfp", "x.jellyp", "--quoted", "rdf-star", code=1)


def process(*args, command=COMMAND, **settings):
    """The command as a process of its own, where the tests run, with the same package."""
    environment = ENVIRONMENT | settings.pop("env", {})
    return subprocess.Popen(
        [*command, *map(str, args)],
        env=environment,
        **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | settings),
    )


def finished(*args, **settings):
    with process(*args, **settings) as command:
        out, err = command.communicate(timeout=240)
    return command.returncode, (out or b"").decode(), err.decode()


def script(code):
    """Python that ends by running the command."""
    return [sys.executable, "-c", f"{code}; from jelly.cli import main; main()"]


# ---- convert


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst", ".bz2", ".xz"])
def test_convert_there_and_back(folder, suffix):
    result = run("convert", "a.nt", f"b.jelly{suffix}")
    ratio = ""  # which tells nothing of so few bytes
    assert re.fullmatch(rf"30 statements, [^(]* -> [^(]*{ratio}, .* s, .* statements/s\n", result.stderr)
    assert result.stdout == ""
    run("convert", "-q", f"b.jelly{suffix}", f"c.nq{suffix}")
    with jelly.Reader(f"c.nq{suffix}") as reader:
        assert len(list(reader)) == 30
    run("convert", "-q", f"c.nq{suffix}", "d.nt")
    assert Path("d.nt").read_bytes() == TEXT


def test_convert_options(folder):
    run("convert", "a.nt", "b.jelly", "--preset", "small", "--table-names", 64, "--table-prefixes", 0,
        "--table-datatypes", 9, "--physical", "graphs", "--logical", "timestamped-named-graphs",
        "--allow", "generalized", "--no-star",
        "--stream-name", "x")  # fmt: skip
    assert jelly.read_options("b.jelly") == StreamOptions(3, 114, "x", True, False, 64, 0, 9, 1)
    run("convert", "b.jelly", "c.jelly", "--preset", "big")
    assert jelly.read_options("c.jelly") == StreamOptions(3, 114, "x", True, False, version=1)


def test_convert_prefixes_and_values(folder):
    numbers = b'<http://a/s> <http://a/p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    Path("n.nt").write_bytes(numbers)
    run("convert", "--prefix", "a=http://a/", "n.nt", "n.ttl")
    assert Path("n.ttl").read_text() == "@prefix a: <http://a/> .\na:s a:p 01 .\n"
    run("convert", "--prefix", "a=http://a/", "--prefix", "b=http://b/", "n.nt", "n.jelly")
    assert next(jelly.scan("n.jelly").frames()).namespaces == [("a", "http://a/"), ("b", "http://b/")]
    run("convert", "--values", "--prefix", "a=http://a/", "n.nt", "n.rt")
    assert b"http://a/s" not in Path("n.rt").read_bytes()
    assert run("cat", "n.rt").stdout_bytes == numbers.replace(b'"01"', b'"1"')
    Path("three.nt").write_bytes(numbers + numbers.replace(b"01", b"2") + numbers.replace(b"01", b"3"))
    run("convert", "three.nt", "three.rpb")
    assert run("cat", "three.rpb").stdout_bytes == Path("three.nt").read_bytes()
    for args, message in (
        (["--prefix", "a=http://a/", "n.nt", "n.nq"], "--prefix does not go with N-Quads, which has no prefixes"),
        (["--prefix", "a", "n.nt", "n.ttl"], "'a' is not NAME=IRI"),
        (["--values", "n.nt", "n.nq"], "--values does not go with N-Quads, only with RDF Thrift and RDF Protobuf"),
        (["--values", "n.nt", "n.csv"], "--values does not go with tables"),
        (["--values", "n.nt", "n.jelly"], "--values does not go with Jelly, only with RDF Thrift and RDF Protobuf"),
        (["--repeat", "n.nt", "n.rpb"], "No such option"),
        (["--message", "RDF_Stream", "n.nt", "n.rpb"], "No such option"),
    ):
        assert message in run("convert", *args, code=2).output


def test_convert_frames(folder):
    run("convert", "a.nt", "b.jelly", "--frame-rows", 10)
    assert jelly.inspect("b.jelly").n_frames > 4
    run("convert", "a.nt", "b.jelly", "--frame-bytes", 100)
    assert jelly.inspect("b.jelly").n_frames > 4
    run("convert", "a.nt", "b.jelly", "--no-delimited")
    assert jelly.inspect("b.jelly").delimited is False


def has_index(path):
    return b"jelly.index" in Path(path).read_bytes()


def test_files_are_seekable(folder):
    for more in ([], ["--seekable"]):
        run("convert", "a.nt", "b.jelly", *more)
        with jelly.open("b.jelly") as file:
            assert len(file) == 30
    run("convert", "a.nt", "b.jelly", "--no-seekable")
    assert Path("b.jelly").read_bytes() == Path("a.jelly").read_bytes()
    assert not has_index("a.jelly")
    for more in (["b.jelly", "--no-delimited"], ["b.nq", "--to", "nt"], ["-"]):
        result = run("convert", "-q", "a.nt", *more)
        assert not has_index(more[0] if more != ["-"] else "a.nt")
        assert b"jelly.index" not in result.stdout_bytes
    for suffix, unpack in ((".gz", gzip.decompress), (".bz2", bz2.decompress)):
        run("convert", "a.nt", f"b.jelly{suffix}")
        assert b"jelly.index" not in unpack(Path(f"b.jelly{suffix}").read_bytes())
        run("convert", "a.nt", f"b.jelly{suffix}", "--no-seekable")
        assert unpack(Path(f"b.jelly{suffix}").read_bytes()) == Path("a.jelly").read_bytes()
        run("convert", "a.nt", f"b.jelly{suffix}", "--seekable")
        assert b"jelly.index" in unpack(Path(f"b.jelly{suffix}").read_bytes())


def test_filters_of_terms(folder):
    run("convert", "a.nt", "t.jelly", "--index", "terms", "--quiet")
    run("convert", "a.nt", "a.jelly", "--quiet")
    wanted = run("find", "a.jelly", "-s", "a:s").stdout
    for name in ("t.jelly", "a.jelly"):
        with jelly.open(name) as file:
            assert (file.filters is not None) == (name == "t.jelly")
            before = Path(name).read_bytes()
        told = run("index", "--terms", name).stderr
        assert told.startswith(f"{name}.idx: ")
        assert "% of the file" in told
        assert Path(name).read_bytes() == before
        with jelly.open(name) as file:
            assert file.filters is not None
        assert run("find", name, "-s", "a:s").stdout == wanted
        assert json.loads(run("inspect", name, "--json").stdout)["filter_bytes"] > 100
    for args, message in (
        (("t.nt",), "not go with N-Triples, only with Jelly"), (("t.jelly", "--no-seekable"), "go with --no-seekable"),
        (("t.csv",), "not go with tables"), (("t.jelly", "--no-delimited"), "not go with --no-delimited"),
    ):  # fmt: skip
        assert message in run("convert", "--index", "terms", "a.nt", *args, code=2).output


def test_convert_streams(folder):
    assert run("convert", "a.jelly", "-").stdout_bytes == TEXT
    assert jelly.loads(run("convert", "-q", "a.nt", "-").stdout_bytes) == jelly.loads(Path("a.jelly").read_bytes())
    assert run("convert", "--from", "nt", "--to", "nt", "-", "-", stdin=TEXT).stdout_bytes == TEXT
    packed = gzip.compress(Path("a.jelly").read_bytes())
    assert run("convert", "-", "-", stdin=packed).stdout_bytes == TEXT


def test_convert_errors(folder):
    result = run("convert", "q.jelly", "b.nt", code=1)
    assert result.stderr.startswith("error: b.nt: ")
    assert "named graph" in result.stderr
    Path("bad.nt").write_bytes(TEXT + b"bad\n")
    result = run("convert", "bad.nt", "b.jelly", code=1)
    assert re.match(r"error: bad\.nt: byte \d+, line 31: .*\n$", result.stderr)
    assert sorted(os.listdir()) == ["a.jelly", "a.nt", "bad.nt", "q.jelly"]
    result = run("convert", "bad.nt", "b.jelly", "--skip-errors")
    assert "Skipped 1 line with errors" in result.stderr
    assert "line 31: " in result.stderr
    Path("relative.nt").write_bytes(b"<s> <a:p> <a:o> .\n")
    run("convert", "relative.nt", "b.jelly")
    run("convert", "relative.nt", "b.jelly", "--strict", code=1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["convert", "a.ods", "b.jelly"], "unknown suffix '.ods'"),
        (["convert", "a.nt", "b.xyz"], "--to"),
        (["convert", "a.nt"], "Missing argument: expected SRC... DST."),
        (["convert", "a.nt", "b.jelly", "--table-names", "7"], "--table-names"),
        (["convert", "a.nt", "b.jelly", "--seekable", "--no-delimited"], "does not go with"),
        (["convert", "a.nt", "b.jelly", "--logical", "nothing"], "--logical"),
        (["validate", "a.jelly", "--against", "b.ods"], "b.ods"),
        (["cat", "a.ods"], "--from"),
        (["count"], "FILE"),
        (["head", "-n", "-1", "a.nt"], "-n"),
        (["nothing"], "No such command"),
    ],
)
def test_usage_errors(folder, args, message):
    result = run(*args, code=2)
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("command", ["inspect", "validate", "cat", "head", "count", "stats"])
def test_missing_file(folder, command):
    result = run(command, "none.jelly", code=1)
    assert result.stderr == "error: none.jelly: No such file or directory\n"


def test_directory_and_no_permission(folder):
    os.mkdir("dir.jelly")
    assert "the directory dir.jelly has no file of statements" in run("cat", "dir.jelly", code=1).stderr
    told = run("convert", "a.nt", "none/b.jelly", code=1).stderr
    assert told == "error: none/b.jelly: the directory none does not exist\n"
    assert run("convert", "a.nt", "dir.jelly", code=1).stderr == "error: dir.jelly: Is a directory\n"


@pytest.mark.parametrize(
    ("command", "to"),
    [
        ("convert", "none/b.jelly"), ("canonicalize", "none/b.nq"), ("sort", "-o=none/b.jelly"),
        ("wide", "-o=none/b.parquet"), ("stats", "--plot=none/b.png"), ("describe", "-o=none/b.ttl"),
    ],
)  # fmt: skip
def test_a_missing_directory_is_told_before_all_is_read(folder, command, to):
    Path("wrong.nt").write_text("<a:s> <a:p> <a:o> .\nwrong\n")
    option, _, name = to.rpartition("=")
    told = run(command, "wrong.nt", *filter(None, [option, name]), code=1).stderr
    assert told == f"error: {name}: the directory none does not exist\n"


def test_file_names_cannot_steer_the_terminal(folder):
    result = run("cat", "\x1b[31mred.jelly", code=1)
    assert "\x1b" not in result.stderr
    assert "\\x1b[31mred.jelly" in result.stderr
    # Nor can what is in a file.
    with jelly.Writer("odd.jelly", {"stream_name": "\x1b[2Jname"}) as writer:
        writer.add(Triple(IRI("a:s"), IRI("a:p"), Literal("o")))
        writer.end_frame({"\x1b[2Jkey": b"\x1b[2J"})
    shown = run("inspect", "odd.jelly", "--table", "--per-frame").stdout
    assert "\x1b" not in shown
    assert "\\x1b[2Jname" in shown
    assert "…" not in shown  # nothing is cut off in a narrow terminal
    with jelly.patch.PatchWriter("odd.jellyp") as patches:
        patches.write(jelly.patch.Patch([jelly.patch.Header("\x9b2Jkey", Literal("o"))]))
    shown = run("inspect", "--patches", "odd.jellyp", "--table").stdout
    assert "\x9b" not in shown
    assert "\\x9b2Jkey" in shown


def test_bugs_are_one_line_too(folder, monkeypatch):
    def broken(*args, **settings):
        raise RuntimeError("something\nodd")

    monkeypatch.setattr(jelly, "inspect", broken)
    result = run("inspect", "a.jelly", code=1)
    assert result.stderr == "error: RuntimeError: something\\nodd (JELLY_TRACEBACK=1 shows where)\n"
    monkeypatch.setenv("JELLY_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(cli, ["inspect", "a.jelly"]).exception, RuntimeError)


# ---- inspect


def test_inspect_yaml_and_json(folder):
    found = yaml.safe_load(run("inspect", "a.jelly").stdout)
    assert found == json.loads(run("inspect", "a.jelly", "--json").stdout)
    assert found == jelly.inspect("a.jelly").as_dict()
    found = json.loads(run("inspect", "--per-frame", "--json", "a.jelly").stdout)
    assert len(found["frames"]) == found["n_frames"]


def test_inspect_table(folder):
    with jelly.Writer("m.jelly", StreamOptions(2, 4, "my stream")) as writer:
        writer.namespace("[red]", "http://a/")
        writer.add(Quad(IRI("a:s"), IRI("a:p"), Literal("1", datatype="a:d"), IRI("a:g")))
        writer.end_frame({"[bold]key": b"value"})
    out = run("inspect", "m.jelly", "--table", "--per-frame").stdout
    for text in ("my stream", "DATASETS", "max name table size", "4,000", "[bold]key", "namespace", "datatype"):
        assert text in out


def test_inspect_damaged(folder):
    Path("cut.jelly").write_bytes(Path("a.jelly").read_bytes()[:-1])
    result = run("inspect", "cut.jelly", code=1)
    assert "inside a frame" in result.stderr
    assert result.stdout == ""


# ---- validate


def test_validate(folder):
    assert run("validate", "a.jelly").stdout == "a.jelly: no problems\n"
    assert json.loads(run("validate", "a.jelly", "--json").stdout) == []
    assert run("validate", "a.jelly", "--against", "a.nt", "--options", "a.jelly").exit_code == 0
    Path("b.nt").write_bytes(b"".join(reversed(TEXT.splitlines(keepends=True))))
    assert "statement differs" in run("validate", "a.jelly", "--against", "b.nt", code=1).stdout
    assert run("validate", "a.jelly", "--against", "b.nt", "--unordered").exit_code == 0
    result = run("validate", "a.jelly", "--options", "q.jelly", code=1)
    assert "physical_type is TRIPLES, expected QUADS" in result.stdout


def test_validate_prints_every_problem(folder):
    data = craft.frame(craft.options(generalized=False), craft.triple(), craft.triple()) + b"\xff"
    Path("bad.jelly").write_bytes(data)
    lines = run("validate", "bad.jelly", code=1).stdout.splitlines()
    assert len(lines) == 3
    assert re.match(r"bad\.jelly: frame 0, row 1, byte \d+: predicate is a blank node", lines[0])
    assert "the rest of the file was not checked" in lines[2]
    found = json.loads(run("validate", "bad.jelly", "--json", code=1).stdout)
    assert [(problem["frame"], problem["row"]) for problem in found] == [(0, 1), (0, 2), (1, None)]
    assert len(run("validate", "bad.jelly", "--limit", 1, code=1).stdout.splitlines()) == 2
    assert run("validate", "-", stdin=data, code=1).stdout.startswith("-: frame 0")


def test_validate_one_frame(folder):
    with jelly.Writer("g.jelly", StreamOptions(1, 3)) as writer:
        for line in TEXT.splitlines()[:2]:
            writer.extend(jelly.read(line, format="nt"))
            writer.end_frame()
    Path("second.nt").write_bytes(TEXT.splitlines()[1] + b"\n")
    run("validate", "g.jelly", "--against", "second.nt", "--frame", 1)
    run("validate", "g.jelly", "--against", "second.nt", "--frame", 0, code=1)


def test_head_does_not_wait_for_more(folder):
    """Of a pipe that stays open it reads what it needs, prints it and ends."""
    with subprocess.Popen(
        [*COMMAND, "head", "-n", "2", "--from", "nq", "-"], env=ENVIRONMENT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as command:  # fmt: skip
        command.stdin.write(TEXT)
        command.stdin.flush()
        assert command.wait(240) == 0
        assert command.stdout.read() == b"".join(TEXT.splitlines(keepends=True)[:2])


def test_results_in_json(folder):
    """Each command that tells a result prints it with --json, and nothing else on standard output."""
    for args, wanted in (
        (["convert", "a.nt", "b.jelly"], {"statements": 30}),
        (["convert", "a.nt", "c.jelly", "-q", "--unique"], {"statements": 30}),
        (["find", "a.nt", "-s", "http://a/s1", "--count"], {"statements": 3}),
        (["find", "a.nt", "-s", "http://a/s1", "-o", "d.nt"], {"file": "d.nt", "statements": 3}),
        (["append", "d.nt", "b.jelly"], {"file": "b.jelly", "statements": 3}),
        (["sort", "a.nt", "-o", "e.nt"], {"file": "e.nt", "statements": 30}),
        (["index", "a.jelly"], {"file": "a.jelly.idx"}),
        (["diff", "a.nt", "b.jelly", "change.rdfp"], {"added": 0, "deleted": 0, "predicates": {}}),
        (["diff", "q.jelly", "a.nt", "change.rdfp"], {"added": 30, "deleted": 3}),
        (["patch", "apply", "change.rdfp", "a.nt", "f.nt"], {"added": 0, "deleted": 0, "missing": 3}),
        (["convert", "change.rdfp", "change.jellyp"], {"operations": 35}),
    ):
        found = json.loads(run(*args, "--json").stdout)
        assert wanted.items() <= found.items(), args
    for args in (["convert", "a.nt", "-"], ["sort", "a.nt"], ["find", "a.nt"], ["diff", "a.nt", "b.jelly"]):
        assert "--json goes with an output file" in run(*args, "--json", code=2).stderr


# ---- cat, head, count


def test_cat(folder):
    assert run("cat", "a.jelly").stdout_bytes == TEXT
    assert run("cat", "a.nt", "a.jelly").stdout_bytes == TEXT * 2
    assert run("cat", "--from", "nt", "-", stdin=TEXT).stdout_bytes == TEXT
    out = run("cat", "q.jelly", "a.jelly").stdout_bytes
    assert out.count(b"\n") == 33
    assert b'<a:s> <a:p> "2" <a:g2> .\n' in out
    assert run("cat", "q.jelly", "--to", "nt", code=1).stdout_bytes == b""
    assert jelly.loads(run("cat", "--to", "jelly", "a.jelly", "a.jelly").stdout_bytes) == 2 * list(jelly.read("a.nt"))
    Path("empty.nt").write_bytes(b"")
    assert run("cat", "empty.nt").stdout_bytes == b""
    assert jelly.loads(run("cat", "--to", "jelly", "empty.nt").stdout_bytes) == []


def test_cat_keeps_blank_nodes_of_different_files_apart(folder):
    for name in ("x.nt", "y.nt"):
        Path(name).write_bytes(b"_:b <a:p> _:c .\n")
    # One file has its labels.
    assert run("cat", "x.nt").stdout_bytes == b"_:b <a:p> _:c .\n"
    out = run("cat", "x.nt", "y.nt", "x.nt").stdout_bytes
    one, two, again = out.splitlines()
    assert one == again
    assert not set(re.findall(rb"_:\S+", one)) & set(re.findall(rb"_:\S+", two))
    assert re.fullmatch(rb"_:(jf[0-9a-f]{16}_)b <a:p> _:\1c \.", one)
    assert run("cat", "--to", "jelly", "y.nt", "x.nt").stdout_bytes[-1:]
    # Labels that were given stay; those of a pipe are new each time.
    Path("both.nt").write_bytes(out)
    assert run("cat", "both.nt", "x.nt").stdout_bytes == out + one + b"\n"
    pipes = [run("cat", "--from", "nt", "-", "x.nt", stdin=b"_:b <a:p> <a:o> .\n").stdout_bytes for _ in range(2)]
    assert len({line for pipe in pipes for line in pipe.splitlines()}) == 3
    assert run("cat", "--blank-nodes", "keep", "x.nt", "y.nt").stdout_bytes == b"_:b <a:p> _:c .\n" * 2
    assert run("cat", "--blank-nodes", "scope", "x.nt").stdout_bytes == one + b"\n"
    iris = run("cat", "--blank-nodes", "skolemize", "--skolem-base", "https://e.org", "x.nt", "y.nt").stdout_bytes
    names = [re.findall(rb"_:(\S+)", line) for line in (one, two)]
    assert iris == b"".join(b"<%s%s> <a:p> <%s%s> .\n" % (GENID, b, GENID, c) for b, c in names)
    assert "set --skolem-base to one" in run("cat", "--blank-nodes", "skolemize", "x.nt", code=1).stderr


GENID = b"https://e.org/.well-known/genid/"


def test_cat_gives_what_is_before_an_error(folder):
    Path("bad.nt").write_bytes(TEXT + b"bad\n" + TEXT)
    result = run("cat", "a.nt", "bad.nt", code=1)
    assert result.stdout_bytes == TEXT * 2
    assert "line 31" in result.stderr


def test_head(folder):
    lines = TEXT.splitlines(keepends=True)
    for n in (0, 1, 10, 29, 30, 31):
        assert run("head", "-n", n, "a.jelly").stdout_bytes == b"".join(lines[:n])
    assert run("head", "a.nt").stdout_bytes == b"".join(lines[:10])
    assert run("head", "-n", 1, "q.jelly").stdout_bytes == b'<a:s> <a:p> "0" <a:g0> .\n'
    # What comes after it is not looked at.
    data = Path("a.jelly").read_bytes()
    assert run("head", "-n", 1, "-", stdin=data + b"\xff" * 9).stdout_bytes == lines[0]


def test_count(folder):
    assert run("count", "a.jelly").stdout == "30\ta.jelly\n"
    assert run("count", "a.jelly", "a.nt", "q.jelly").stdout == "30\ta.jelly\n30\ta.nt\n3\tq.jelly\n63\ttotal\n"
    Path("a.nt.bz2").write_bytes(bz2.compress(TEXT))
    assert run("count", "a.nt.bz2").stdout == "30\ta.nt.bz2\n"
    assert run("count", "--from", "nt", "-", stdin=TEXT).stdout == "30\t-\n"
    assert "a.jelly is of statements, not of patches" in run("count", "a.jelly", "b.jellyp", code=2).stderr


def test_index(folder):
    assert re.fullmatch(r"a\.jelly\.idx: \d+ bytes, .*% of the file\n", run("index", "a.jelly").stderr)
    with jelly.open("a.jelly") as file:
        assert file[29].o.value == "29"
    run("convert", "-q", "a.nt", "a.jelly.gz")
    assert run("index", "a.jelly.gz", code=1).stderr.startswith("error: a.jelly.gz: ")
    assert not os.path.exists("a.jelly.gz.idx")
    assert run("index", "none.jelly", code=1).stderr == "error: none.jelly: No such file or directory\n"


# ---- slice


@pytest.fixture
def frames(folder):
    """Thirty statements in ten frames, with an index."""
    options = StreamOptions(1, 3)
    with jelly.Writer("f.jelly", options, seekable=True, keyframe_rows=6) as writer:
        for i in range(10):
            writer.namespace("ns", f"http://a/{i}")
            writer.extend(jelly.loads(Path("a.jelly").read_bytes())[3 * i : 3 * i + 3])
            writer.end_frame({"number": b"%d" % i})
    return folder


def test_slice(frames):
    lines = TEXT.splitlines(keepends=True)
    for low, high in ((0, 3), (5, 20), (29, 30), (7, 7), (12, None), (None, 4), (None, None), (28, 99), (40, None)):
        wanted = f"{'' if low is None else low}:{'' if high is None else high}"
        assert run("slice", "f.jelly", wanted).stdout_bytes == b"".join(lines[low:high])
    assert run("slice", "f.jelly", "3:5", "--to", "nt").stdout_bytes == b"".join(lines[3:5])
    assert jelly.loads(run("slice", "f.jelly", "3:5", "--to", "jelly").stdout_bytes) == [
        Triple(IRI("http://a/s1"), IRI("http://a/p"), Literal(str(i))) for i in (3, 4)
    ]
    run("slice", "f.jelly", "3:5", "-o", "part.nt.gz")
    assert gzip.decompress(Path("part.nt.gz").read_bytes()) == b"".join(lines[3:5])


def test_slice_frames(frames):
    lines = TEXT.splitlines(keepends=True)
    assert run("slice", "--frames", "f.jelly", "2:4").stdout_bytes == b"".join(lines[6:12])
    assert run("slice", "--frames", "f.jelly", "8:").stdout_bytes == b"".join(lines[24:])
    run("slice", "--frames", "f.jelly", "3:5", "-o", "part.jelly")
    part = list(jelly.scan("part.jelly").frames())
    assert [frame.metadata for frame in part if len(frame)] == [{"number": b"3"}, {"number": b"4"}]
    assert part[0].namespaces == [("ns", "http://a/3")]
    with jelly.open("part.jelly") as file:
        assert len(file) == 6
        assert file.options == StreamOptions(1, 3, version=2)


def test_slice_errors(frames):
    assert run("slice", "a.jelly", "0:1").stdout_bytes == TEXT.splitlines(keepends=True)[0]  # an index in memory
    for wanted in ("5", "a:b", "5:3", "1:2:3", "1.5:2"):
        assert repr(wanted) in run("slice", "f.jelly", wanted, code=2).stderr
    run("index", "a.jelly")
    assert run("slice", "a.jelly", ":2").stdout_bytes == b"".join(TEXT.splitlines(keepends=True)[:2])
    assert run("slice", "none.jelly", "0:1", code=1).stderr == "error: none.jelly: No such file or directory\n"


# ---- stats


def test_stats(folder):
    found = json.loads(run("stats", "q.jelly", "--json").stdout)
    assert found["statements"] == 3
    assert found["predicates"] == {"top": {"a:p": 3}, "other": 0, "distinct": 1, "folded": 0}
    assert list(found["graphs"]["top"]) == ["a:g0", "a:g1", "a:g2"]
    assert found["degrees"] == {"2": 1}
    run("convert", "-q", "a.nt", "b.jelly")
    for args in (["a.nt"], ["a.jelly"], ["b.jelly", "--threads", 2]):
        found = yaml.safe_load(run("stats", *args).stdout)
        assert (found["statements"], found["degrees"], found["literal_bytes"]) == (30, {2: 10}, {1: 10, 2: 20})
    assert yaml.safe_load(run("stats", "-", "--from", "nt", stdin=TEXT).stdout)["statements"] == 30


def test_stats_table(folder):
    out = run("stats", "q.jelly", "--table", "--top", 1).stdout
    for word in ("a:p", "a:g0", "2 others", "XMLSchema#string", "100.0%", "2 to 3"):
        assert word in out


def test_stats_plot(folder):
    pytest.importorskip("matplotlib")
    assert run("stats", "q.jelly", "--plot", "q.png").output == run("stats", "q.jelly").output
    assert Path("q.png").read_bytes().startswith(b"\x89PNG")
    assert os.path.getsize("q.png") > 10_000
    os.unlink("q.png")
    assert run("stats", "q.jelly", "--plot", "q.png", "-q").output == ""
    assert os.path.getsize("q.png") > 1000
    assert "--quiet goes with --plot" in run("stats", "q.jelly", "-q", code=2).stderr
    assert "suffix .png" in run("stats", "none.jelly", "--plot", "q.txt", code=1).stderr
    hidden = """
import sys
class Hidden:
    def find_spec(name, *_):
        if name == "matplotlib":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Hidden)
"""
    code, out, err = finished("stats", "q.jelly", "--plot", "r.png", command=script(f"exec({hidden!r})"))
    assert (code, out) == (1, "")
    assert err == "error: pictures need the matplotlib package: python -m pip install 'jelly-rdf[plot]'\n"


# ---- help


@pytest.mark.parametrize(
    "command",
    [[], *([name] for name in ("convert", "inspect", "validate", "cat", "head", "count", "index", "slice", "stats"))],
)
def test_help_has_examples(command):
    out = run(*command, "--help").stdout
    assert f"jelly {command[0] if command else 'convert'} " in out
    assert "  jelly " in out
    assert out == run(*command, "-h").stdout


def test_version():
    assert run("--version").stdout == f"jelly {jelly.__version__}\n"


# ---- as a process


def test_process(folder):
    assert finished("--version") == (0, f"jelly {jelly.__version__}\n", "")
    code, out, err = finished("convert", "a.nt", "b.jelly")
    assert (code, out) == (0, "")
    assert err.count("\n") == 1
    assert "\x1b" not in err  # no colours, no progress bar
    assert finished("cat", "none.jelly") == (1, "", "error: none.jelly: No such file or directory\n")
    assert finished("cat", "a.ods")[0] == 2


def test_entry_point(folder):
    assert finished("count", "a.jelly", command=script("import sys")) == (0, "30\ta.jelly\n", "")


@pytest.mark.parametrize(
    ("module", "args"), [("click", ["count"]), ("rich", ["inspect", "--table"]), ("yaml", ["inspect"])]
)
def test_missing_packages(folder, module, args):
    code, out, err = finished(*args, "a.jelly", command=script(f"import sys; sys.modules['{module}'] = None"))
    assert (code, out) == (1, "")
    assert re.match(r"error: (the command|YAML) needs the \w+ package: .*'jelly-rdf\[(cli|messages)\]'\n$", err)


def test_commands_without_tables_need_neither_rich_nor_yaml(folder):
    command = script("import sys; sys.modules['rich'] = sys.modules['yaml'] = None")
    assert finished("cat", "a.jelly", command=command) == (0, TEXT.decode(), "")


def test_broken_pipe_is_silent(folder):
    Path("big.nt").write_bytes(TEXT * 20_000)
    with process("cat", "big.nt") as command:
        assert command.stdout.readline() == TEXT.splitlines(keepends=True)[0]
        command.stdout.close()
        err = command.stderr.read()
        assert command.wait(timeout=240) == 141
    assert err == b""


def wait_for(condition):
    deadline = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_leaves_no_file(folder, number, code):
    """The output has begun, the input goes on for ever: then the signal."""
    with process("convert", "--from", "nt", "-", "b.jelly.gz", stdin=subprocess.PIPE) as command:
        command.stdin.write(TEXT * 5000)  # more than a Batch
        command.stdin.flush()
        wait_for(lambda: any(".part" in name for name in os.listdir()))
        command.send_signal(number)
        out, err = command.communicate(timeout=240)
    told = b"interrupted; no unfinished file is left\n" if number == signal.SIGINT else b""
    assert (command.returncode, out, err) == (code, b"", told)
    assert sorted(os.listdir()) == ["a.jelly", "a.nt", "q.jelly"]


def test_a_file_without_a_suffix_is_not_replaced(folder):
    Path("precious").write_bytes(b"what it holds")
    for command in ("convert", "diff", "sort"):
        files = ["a.nt", "-o", "precious"] if command == "sort" else ["a.nt"] * (1 + (command == "diff")) + ["precious"]
        assert "has no suffix, which would say its format; use --to" in run(command, *files, code=2).stderr
    assert Path("precious").read_bytes() == b"what it holds"
    run("convert", "-q", "a.nt", "precious", "--to", "jelly")
    run("convert", "-q", "a.nt", "new")
    assert Path("new").read_bytes() == Path("precious").read_bytes()


def test_small_things_that_newcomers_type(folder):
    assert run("-V").stdout == run("--version").stdout
    assert "expected some of subject, predicate, object, graph" in run("sort", "--by", "xyz", "a.nt", code=2).stderr
    assert run("head", "-n", "2", "--to", "csv", "a.jelly").stdout.count("\n") == 3
    Path("w.jelly").write_bytes(b"@prefix e: <a:> . e:s e:p 36, 4.5, 1e3, true .\n")
    assert "use --from ttl" in run("count", "w.jelly", code=1).stderr
    run("convert", "--from", "ttl", "w.jelly", "w.nt")
    for word in ("36", "4.5", "1e3", "true"):
        assert f'"{word}"^^' in run("find", "w.nt", "--object", word).stdout
    assert "is not a term" in run("find", "w.nt", "--object", "Ada", code=2).stderr


def test_full_disk(folder):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    code, _, err = finished("convert", "a.jelly", "/dev/full", "--to", "nt")
    assert code == 1
    assert err == "error: /dev/full: No space left on device\n"
    with open("/dev/full", "wb") as full:
        code, _, err = finished("cat", "a.jelly", stdout=full, stderr=subprocess.PIPE)
    assert (code, err) == (1, "error: standard output: No space left on device\n")


# ---- on a terminal


def on_terminal(*args, command=COMMAND, stdin=None, env=None):
    """What a user sees: exit code and all that comes on a terminal, where stdout and stderr are the same one."""
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    environment = {"TERM": "xterm", "COLUMNS": "100", "LINES": "40"} | (env or {})
    streams = {"stdin": stdin or slave, "stdout": slave, "stderr": slave}
    with process(*args, command=command, env=environment, **streams) as child:
        os.close(slave)
        seen = b""
        while True:
            try:
                if not select.select([master], [], [], 60)[0]:
                    child.kill()
                    break
                part = os.read(master, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            seen += part
        code = child.wait(timeout=240)
    os.close(master)
    return code, seen.decode()


def test_progress_bar(folder):
    Path("long.nt.gz").write_bytes(gzip.compress(TEXT * 10_000, 1))
    code, seen = on_terminal("convert", "long.nt.gz", "long.jelly", command=IMPATIENT)
    assert code == 0
    assert "100%" in seen
    assert "N-Triples to Jelly: " in seen
    assert "300,000 statements, " in seen
    assert "\x1b[2K" in seen  # the bar goes away
    assert "\x1b[?25h" in seen  # the cursor comes back
    assert on_terminal("convert", "-q", "long.nt.gz", "long.jelly", command=IMPATIENT) == (0, "")
    for args in (
        ["inspect", "long.jelly"],
        ["validate", "long.jelly"],
        ["count", "long.nt.gz"],
        ["index", "long.jelly"],
        ["convert", "--messages", "long.nt.gz", "log.jelly"],
        ["diff", "long.nt.gz", "a.nt", "change.rdfp"],
        ["patch", "apply", "change.rdfp", "long.nt.gz", "other.nt"],
    ):
        assert "100%" in on_terminal(*args, command=IMPATIENT)[1], args


def test_no_bar_where_nobody_looks(folder):
    code, _, err = finished("convert", "a.nt", "b.jelly", command=IMPATIENT)
    assert code == 0
    assert err.startswith("30 statements")
    assert "\x1b" not in err


def test_no_bar_between_data(folder):
    assert on_terminal("convert", "-q", "a.jelly", "-", command=IMPATIENT)[1].replace("\r\n", "\n").encode() == TEXT


def test_spinner_where_the_size_is_not_known(folder):
    with subprocess.Popen(["cat", "a.nt"], stdout=subprocess.PIPE) as source:
        code, seen = on_terminal("count", "--from", "nt", "-", stdin=source.stdout, command=IMPATIENT)
    assert code == 0
    assert "Counting: 30 statements" in seen
    assert "%" not in seen
    assert "30\t-" in seen


def test_control_c_on_a_terminal(folder):
    pytest.importorskip("pty")
    os.mkfifo("endless")
    # The terminal must be that of a session, so that its Ctrl-C becomes a signal.
    code = (
        "import os, pty, sys\n"
        "pid, master = pty.fork()\n"
        "if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
        "seen = b''\n"
        "while b'statements' not in seen: seen += os.read(master, 65536)\n"
        "os.write(master, b'\\x03')\n"
        "try:\n"
        "    while part := os.read(master, 65536): seen += part\n"
        "except OSError: pass\n"
        "sys.stdout.write(seen.decode())\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
    )
    with process("convert", "--from", "nt", "endless", "b.jelly.gz", command=[sys.executable, "-c", code, *IMPATIENT],
                 env={"TERM": "xterm"}) as command, open("endless", "wb") as endless:  # fmt: skip
        endless.write(TEXT * 5000)
        endless.flush()
        out, err = command.communicate(timeout=240)
    assert command.returncode == 130, err
    assert b"Traceback" not in out + err
    assert b"\x1b[?25h" in out
    assert sorted(os.listdir()) == ["a.jelly", "a.nt", "endless", "q.jelly"]


def test_short_work_shows_no_bar(folder):
    code, seen = on_terminal("convert", "a.nt", "b.jelly")
    assert code == 0
    assert seen.startswith("30 statements")
    assert "\x1b" not in seen.replace("\x1b[0m", "")


def test_table_and_colours_on_a_terminal(folder):
    code, seen = on_terminal("inspect", "a.jelly")
    assert code == 0
    assert "│" in seen
    code, seen = on_terminal("cat", "none.jelly")
    assert code == 1
    assert "\x1b[31merror: none.jelly" in seen
    assert "\x1b" not in on_terminal("cat", "none.jelly", env={"NO_COLOR": "1"})[1]


def test_no_binary_on_a_terminal(folder):
    for args in (["convert", "a.nt", "-"], ["cat", "--to", "jelly", "a.nt"]):
        code, seen = on_terminal(*args)
        assert code == 2
        assert "Jelly is binary" in seen
    assert on_terminal("cat", "a.jelly")[1].replace("\r\n", "\n").encode() == TEXT


# ---- how it is made


def test_import_is_light():
    code = "import sys, jelly; before = set(sys.modules); import jelly.cli; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, env=ENVIRONMENT)
    assert set(done.stdout.split()) <= {"jelly.cli", "signal", "_signal"}


def test_the_version_needs_no_numpy():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "jelly", "--version"], capture_output=True, text=True, timeout=240,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, f"jelly {jelly.__version__}\n")
    assert "jelly._start" in done.stderr
    assert "numpy" not in done.stderr
    assert run("--version").stdout == done.stdout


def test_a_module_is_imported_when_its_command_runs():
    code = (
        "import sys; from click.testing import CliRunner; from jelly.cli.commands import cli\n"
        "for arguments in (['--help'], ['count', '--help']): assert CliRunner().invoke(cli, arguments).exit_code == 0\n"
        "print(*(name for name in sys.modules if name.startswith(('jelly.cli.', 'jelly.grpc', 'jelly.patch'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, env=ENVIRONMENT)
    assert "jelly.cli.look" in done.stdout
    assert not {"jelly.cli.convert", "jelly.cli.service", "jelly.patch", "jelly.grpc"} & set(done.stdout.split())


def test_shell_completion():
    for words, found in (("jelly con", "convert"), ("jelly patch co", "compact"), ("jelly cat --sk", "--skolem")):
        done = CliRunner().invoke(
            cli, prog_name="jelly",
            env={"_JELLY_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))},
        )  # fmt: skip
        assert found in done.output


def test_statements_are_what_they_were(folder):
    assert list(jelly.read("a.jelly"))[3] == Triple(IRI("http://a/s1"), IRI("http://a/p"), Literal("3"))


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("layout", ["flat", "ntriples"])
def test_convert_tables(tmp_path, suffix, layout):
    pytest.importorskip("pyarrow", reason="tables need pyarrow")
    text = b'<a:s> <a:p> "o, \\"x\\"\\n"@en <a:g> .\n_:b <a:p> "1"^^<a:t> .\n<a:s> <a:p> _:b <a:g> .\n'
    (tmp_path / "x.nq").write_bytes(text)
    runner = CliRunner()
    for src, dst in (("x.nq", "x.jelly"), ("x.jelly", f"x.{suffix}"), (f"x.{suffix}", "y.jelly"), ("y.jelly", "y.nq")):
        arguments = ["convert", "--layout", layout, "--threads", "2", str(tmp_path / src), str(tmp_path / dst)]
        done = runner.invoke(cli, arguments)
        assert done.exit_code == 0, done.output
        assert "3 statements" in done.output
    assert (tmp_path / "y.nq").read_bytes() == text
    with jelly.open(tmp_path / "y.jelly") as file:
        assert len(file) == 3


# ---- one stream of Jelly from several files


def test_cat_to_jelly_in_any_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "a.nt": b"<a:s> <a:p> <a:o> .\n",
        "b.ttl": b"@prefix e: <http://e/> . e:s e:p e:o .",
        "c.nq": b"<a:s> <a:p> <a:o> <a:g> .\n",
        "d.nt": b'"l" <a:p> <a:o> .\n',
    }
    for name, data in files.items():
        Path(name).write_bytes(data)
    for name, statement in (
        ("e.jelly", jelly.Triple(jelly.QuotedTriple(*[jelly.IRI("a:s")] * 3), *[jelly.IRI("a:s")] * 2)),
        ("f.jelly", jelly.Triple(*[jelly.IRI("a:s")] * 2, jelly.Literal("1", datatype="a:d"))),
    ):
        star = name == "e.jelly"
        options = jelly.StreamOptions(physical_type=1, rdf_star=star, max_datatype_table_size=0 if star else 32)
        jelly.write(name, [statement], options)
    pytest.importorskip("pyoxigraph")
    names = [*files, "e.jelly", "f.jelly"]
    for order in itertools.permutations(names):
        if order[0] > order[-1]:
            continue  # 360 of 720
        if random.Random(str(order)).random() > 0.1:
            continue
        data = run("cat", "--to", "jelly", *order).stdout_bytes
        wanted = [jelly.Quad(*s) for name in order for s in jelly.read(name)]
        assert [jelly.Quad(*s) for s in jelly.read(data)] == wanted
        assert jelly.validate(data) == []
    # What nobody needs is not announced.
    assert jelly.read_options(run("cat", "--to", "jelly", "a.nt", "a.nt").stdout_bytes) == jelly.read_options(
        jelly.dumps(jelly.read("a.nt"))
    ).replace(version=1)
    # Standard input is looked at, too, and read once.
    data = run("cat", "--to", "jelly", "--from", "nq", "a.nt", "-", stdin=files["c.nq"]).stdout_bytes
    assert len(list(jelly.read(data))) == 2
    assert list(jelly.read(run("cat", "--to", "jelly", "-", "--from", "nt", stdin=b"").stdout_bytes)) == []


def test_cat_to_a_pipe_names_the_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = b"".join(b"<a:s> <a:p> <a:o%d> .\n" % i for i in range(40_000)) + b'"l" <a:p> <a:o> .\n'
    Path("a.nt").write_bytes(text)
    error = run("cat", "--to", "jelly", "a.nt", code=1).stderr
    assert error == (
        "error: standard output: a generalized statement turned up after stream options that allow none were written: "
        "give --allow generalized\n"
    )
    data = run("cat", "--to", "jelly", "--allow", "generalized", "a.nt").stdout_bytes
    assert sum(1 for _ in jelly.read(data)) == 40_001
    with jelly.Writer("b.rt") as writer:
        writer.extend([jelly.Triple(*[jelly.IRI("a:s")] * 3)] * 40_000)
        writer.namespace("e", "http://e/")
        writer.add(jelly.Quad(*[jelly.IRI("a:s")] * 4))
    # One file is searched for quads, of several only the beginnings.
    Path("c.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n")
    error = run("cat", "--to", "jelly", "c.nt", "b.rt", code=1).stderr
    assert "give --physical quads\n" in error
    for files in (["b.rt"], ["--physical", "quads", "c.nt", "b.rt"]):
        data = run("cat", "--to", "jelly", *files).stdout_bytes
        assert jelly.read_options(data).logical_type.name == "FLAT_QUADS"
        assert sum(1 for _ in jelly.read(data)) == 40_000 + (len(files) > 1) + 1
    assert "go with --to jelly" in run("cat", "--allow", "generalized", "a.nt", code=2).stderr


@pytest.mark.filterwarnings("always::jelly.errors.JoinedWarning")
def test_joined_and_unknown_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts = [jelly.dumps([(IRI(f"http://{x}.org/s"), IRI(f"http://{x}.org/x/p"), IRI("a:o"))]) for x in "ab"]
    Path("ab.jelly").write_bytes(b"".join(parts))
    text = b"".join(run_text(part) for part in parts)
    for command in (["cat", "ab.jelly"], ["head", "ab.jelly"], ["convert", "ab.jelly", "-", "-q"]):
        assert "warning: another stream seems to begin at frame 1" in run(*command).stderr
        assert "--joined reads such files" in run(*command).stderr
        right = run(*command, "--joined")
        assert (right.stdout_bytes, right.stderr) == (text, "")
    assert run("stats", "ab.jelly", "--joined", "--json").stderr == ""
    assert "another stream seems to begin here" in run("validate", "ab.jelly", code=1).stdout
    run("validate", "ab.jelly", "--joined")
    assert "another stream seems to begin here" in run("inspect", "ab.jelly").stderr
    assert "problems" in run("inspect", "ab.jelly").stdout
    assert run("inspect", "ab.jelly", "--joined").stderr == ""
    Path("u.jelly").write_bytes(craft.frame(craft.options(), craft.row(7, b"x"), craft.triple(p=(craft.BNODE, b"p"))))
    assert "kind of the row is not set or unknown" in run("cat", "u.jelly", code=1).stderr
    assert run("cat", "u.jelly", "--skip-unknown-rows").stdout_bytes == b"_:s _:p _:o .\n"
    assert "no field that this version knows" in run("inspect", "u.jelly").stderr


def run_text(data):
    return run("cat", "--from", "jelly", "-", stdin=data).stdout_bytes


def test_validate_takes_other_formats(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_bytes(b"<a:s> <a:p> <a:o> .\nbad\n<a:s> <a:p> <a:q> .\n")
    Path("b.nt").write_bytes(b"<a:s> <a:p> <a:q> .\n<a:s> <a:p> <a:o> .\n")
    assert run("validate", "b.nt").stdout == "b.nt: no problems\n"
    assert run("validate", "a.nt", code=1).stdout == (
        "a.nt: line 2: column 1: expected a term as subject, found 'b'\n"
    )
    Path("a.nt").write_bytes(b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:q> .\n")
    assert "statement differs" in run("validate", "b.nt", "--against", "a.nt", code=1).stdout
    run("validate", "b.nt", "--against", "a.nt", "--unordered")
    jelly.convert("b.nt", "b.jelly")
    run("validate", "b.nt", "--against", "b.jelly")
    run("validate", "--from", "nt", "-", "--against", "b.jelly", stdin=Path("b.nt").read_bytes())
    for option, value in (("--delimited", "true"), ("--options", "b.jelly")):
        message = run("validate", "b.nt", option, value, code=1).stderr
        assert message == f"error: {option} goes with Jelly, not with N-Triples\n"
    pytest.importorskip("pyoxigraph")
    Path("c.ttl").write_bytes(b"<a:s> <a:p> <a:o>, .")
    assert "the rest of the file was not checked" in run("validate", "c.ttl", code=1).stdout


def test_labels_that_a_format_cannot_hold(tmp_path):
    source = tmp_path / "x.jelly"
    jelly.write(source, [(jelly.BlankNode("a b"), jelly.IRI("a:p"), jelly.BlankNode("c"))])
    for suffix in ("nt", "ttl"):
        target = tmp_path / f"x.{suffix}"
        run("convert", source, target)
        assert "_:esc_a_20b <a:p> _:c" in target.read_text()
        target.unlink()
        result = run("convert", source, target, "--keep-labels", code=1)
        assert result.exit_code == 1
        assert "cannot hold the label of the blank node 'a b', here as subject" in result.stderr
        assert not target.exists()


@pytest.mark.filterwarnings("always::RuntimeWarning")
def test_an_index_that_is_of_no_use(folder):
    """Files joined with cat have the index of the last: who counts is not told, who reads by it is, on one line."""
    jelly.write("one.jelly", [jelly.Triple(*[IRI("a:s")] * 3)], seekable=True)
    jelly.write("two.jelly", [Quad(*[IRI("a:s")] * 4)], seekable=True)
    Path("both.jelly").write_bytes(Path("one.jelly").read_bytes() + Path("two.jelly").read_bytes())
    assert run("count", "both.jelly", "--joined").stderr == ""
    told = run("find", "both.jelly", "-s", "a:s", "--count", code=1).stderr
    assert re.match(r"warning: the index of both\.jelly is ignored: .*\nerror: ", told), told
