"""Wrong types and values in every parameter of every public function, from the signatures: the call works, or there is
a JellyError or an OSError, and no half file."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import jelly
import jelly.stats
from jelly import patch, results

MODULES = (
    "jelly", "jelly.arrow", "jelly.grpc", "jelly.kafka", "jelly.messages", "jelly.oxigraph", "jelly.pandas",
    "jelly.patch", "jelly.plot", "jelly.polars", "jelly.rdflib", "jelly.results", "jelly.stats",
)  # fmt: skip

WRONG: tuple[Any, ...] = (
    None, -1, 0, 2**31, 2**40, 2**63, 10**30, 1.5, float("nan"), "", "nonsense", "\ud800", b"x", b"", object(), [], {},
    (), True, lambda *_: 1, [object()], [None, 1], {"nonsense": 1}, {1: 2}, "\0",
)  # fmt: skip

LINES = b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o2> .\n"
S, P, OBJECT = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o")
STATEMENTS = [jelly.Triple(S, P, OBJECT)]
PATCHES = [patch.Patch([patch.Header("id", S), patch.Add(STATEMENTS[0])])]
OUT, OUT_PATCH, OUT_RESULTS, OUT_FOLDER = "out.jelly", "out.jellyp", "out.srj", "folder"

# A call that works: the arguments by position, and keywords. Files are made by `place`.
CALLS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "jelly.IRI": (("a:s",), {}),
    "jelly.BlankNode": (("b",), {}),
    "jelly.Variable": (("v",), {}),
    "jelly.Literal": (("x",), {}),
    "jelly.QuotedTriple": ((S, P, OBJECT), {}),
    "jelly.Triple": ((S, P, OBJECT), {}),
    "jelly.Quad": ((S, P, OBJECT, None), {}),
    "jelly.Datatype": (("a:d",), {}),
    "jelly.IRIPrefix": (("a:",), {}),
    "jelly.LanguageRange": (("en",), {}),
    "jelly.Pattern": ((), {}),
    "jelly.Decoder": ((), {}),
    "jelly.Encoder": ((jelly.StreamOptions.small(),), {}),
    "jelly.StreamOptions": ((), {}),
    "jelly.Reader": (("in.nt",), {}),
    "jelly.Writer": ((OUT,), {}),
    "jelly.JellyFile": (("in.jelly",), {}),
    "jelly.append": (("in.nt", "old.jelly"), {}),
    "jelly.canonicalize": (("in.nt", "out.nt"), {}),
    "jelly.concat": (("in.nt", OUT), {}),
    "jelly.convert": (("in.nt", OUT), {}),
    "jelly.dumps": ((STATEMENTS,), {}),
    "jelly.filter": (("in.nt", OUT), {}),
    "jelly.find": (("in.nt",), {}),
    "jelly.inspect": (("in.jelly",), {}),
    "jelly.loads": ((jelly.dumps(STATEMENTS),), {}),
    "jelly.merge": (("in.nt", OUT), {}),
    "jelly.open": (("in.jelly",), {}),
    "jelly.options": (("in.jelly",), {}),
    "jelly.read": (("in.nt",), {}),
    "jelly.read_arrow": (("in.nt",), {}),
    "jelly.read_batches": (("in.nt",), {}),
    "jelly.read_frames": (("in.nt",), {}),
    "jelly.read_ids": (("in.nt",), {}),
    "jelly.read_results": (("in.srj",), {}),
    "jelly.sample": (("in.nt", OUT), {"rows": 1}),
    "jelly.scan": (("in.nt",), {}),
    "jelly.sort": (("in.nt", OUT), {}),
    "jelly.split": (("in.nt", "part-{n}.jelly"), {"rows": 1}),
    "jelly.unique": (("in.nt", OUT), {}),
    "jelly.validate": (("in.nt",), {}),
    "jelly.write": ((OUT, STATEMENTS), {}),
    "jelly.write_arrow": ((OUT, "TABLE"), {}),
    "jelly.write_ids": ((OUT_FOLDER, "in.nt"), {}),
    "jelly.write_results": ((OUT_RESULTS, ["s"], [[S]]), {}),
    "jelly.arrow.from_batches": (("BATCHES",), {}),
    "jelly.arrow.from_results": ((["s"], "RESULT BATCHES"), {}),
    "jelly.arrow.schema": ((), {}),
    "jelly.arrow.read_arrow": (("in.nt",), {}),
    "jelly.arrow.write_arrow": ((OUT, "TABLE"), {}),
    "jelly.arrow.to_table": (("in.nt",), {}),
    "jelly.grpc.Client": (("127.0.0.1:1",), {}),
    "jelly.grpc.FrameDecoder": ((), {}),
    "jelly.grpc.FrameEncoder": ((jelly.StreamOptions.small().replace(physical_type=1, logical_type=1),), {}),
    "jelly.grpc.FrameWriter": ((), {}),
    "jelly.grpc.Topic": (("name", None), {}),
    "jelly.grpc.Topics": ((), {}),
    "jelly.grpc.Broker": ((), {}),
    "jelly.grpc.encode_frames": ((STATEMENTS,), {}),
    "jelly.grpc.encode_patches": ((PATCHES,), {}),
    "jelly.grpc.metrics_text": (("BROKER",), {}),
    "jelly.grpc.tokens": (({"token": "name"},), {}),
    "jelly.kafka.JellyDeserializer": ((), {}),
    "jelly.kafka.JellySerializer": ((), {}),
    "jelly.messages.Message": ((STATEMENTS,), {}),
    "jelly.messages.MessageReader": (("in.nt",), {}),
    "jelly.messages.MessageWriter": ((OUT,), {}),
    "jelly.messages.convert_messages": (("in.nt", OUT), {}),
    "jelly.messages.find_log": (("nt",), {}),
    "jelly.messages.group_by_count": ((STATEMENTS, 1), {}),
    "jelly.messages.group_by_graph": ((STATEMENTS,), {}),
    "jelly.messages.group_by_key": ((STATEMENTS, lambda statement: statement.s), {}),
    "jelly.messages.group_by_subject": ((STATEMENTS,), {}),
    "jelly.messages.media_type": (("nt",), {}),
    "jelly.messages.negotiate": (("*/*",), {}),
    "jelly.messages.parse_media_type": (("text/turtle",), {}),
    "jelly.messages.read_messages": (("in.nt",), {}),
    "jelly.messages.write_messages": ((OUT, [STATEMENTS]), {}),
    "jelly.oxigraph.load": (("STORE", "in.nt"), {}),
    "jelly.oxigraph.read": (("in.nt",), {}),
    "jelly.oxigraph.write": ((OUT, []), {}),
    "jelly.pandas.read_jelly": (("in.nt",), {}),
    "jelly.patch.Add": ((STATEMENTS[0],), {}),
    "jelly.patch.Delete": ((STATEMENTS[0],), {}),
    "jelly.patch.AddNamespace": (("n", "a:"), {}),
    "jelly.patch.DeleteNamespace": (("n",), {}),
    "jelly.patch.Header": (("id", S), {}),
    "jelly.patch.Patch": (([],), {}),
    "jelly.patch.PatchFile": (("in.jellyp",), {}),
    "jelly.patch.PatchOptions": ((), {}),
    "jelly.patch.PatchReader": (("in.jellyp",), {}),
    "jelly.patch.PatchWriter": ((OUT_PATCH,), {}),
    "jelly.patch.apply": ((PATCHES[0], "in.nt", OUT), {}),
    "jelly.patch.compact": ((PATCHES,), {}),
    "jelly.patch.convert": (("in.jellyp", "out.rdfp"), {}),
    "jelly.patch.diff": (("in.nt", "in.jelly"), {}),
    "jelly.patch.diff_stat": (("in.nt", "in.jelly"), {}),
    "jelly.patch.dumps": ((PATCHES,), {}),
    "jelly.patch.invert": ((PATCHES[0],), {}),
    "jelly.patch.loads": ((patch.dumps(PATCHES),), {}),
    "jelly.patch.open": (("in.jellyp",), {}),
    "jelly.patch.read_arrow": (("in.jellyp",), {}),
    "jelly.patch.read_log": (("in.jellyp",), {}),
    "jelly.patch.read_patches": (("in.jellyp",), {}),
    "jelly.patch.validate": (("in.jellyp",), {}),
    "jelly.patch.write_arrow": ((OUT_PATCH, "PATCH TABLE"), {}),
    "jelly.patch.write_diff": ((OUT_PATCH, "in.nt", "in.jelly"), {}),
    "jelly.plot.check_suffix": (("x.png",), {}),
    "jelly.polars.scan_jelly": (("in.nt",), {}),
    "jelly.rdflib.read": (("in.nt",), {}),
    "jelly.rdflib.read_frames": (("in.jelly",), {}),
    "jelly.rdflib.read_graphs": (("in.jelly",), {}),
    "jelly.rdflib.write": ((OUT, []), {}),
    "jelly.rdflib.write_graphs": ((OUT, []), {}),
    "jelly.rdflib.writer": ((OUT,), {}),
    "jelly.results.convert_results": (("in.srj", "out.csv"), {}),
    "jelly.results.read_results": (("in.srj",), {}),
    "jelly.results.write_results": ((OUT_RESULTS, ["s"], [[S]]), {}),
    "jelly.stats.Counting": ((), {}),
    "jelly.stats.Tally": ((), {}),
    "jelly.stats.result_stats": (("in.srj",), {}),
    "jelly.stats.stats": (("in.nt",), {}),
    "jelly.plot.plot_stats": (("STATS", "out.svg"), {}),
}  # fmt: skip

# What is not called so, and why.
LEFT_OUT = {
    "a result, which the package makes": """
        Canonical Conversion FrameInspection Inspection Part Problem Frame GraphIds Matches Scan Results Applied
        DiffStat Counts ResultStats Stats VariableStats TopicInfo LogFormat ResultFormat Tls Feed PatchFeed AsyncFeed
        AsyncPatchFeed Call Publication Subscription Refusal""",
    "runs in a loop or opens a port; what checks the arguments is that of the others": """
        AsyncReader aread aencode_messages aread_messages AsyncClient AsyncServer Server Monitor""",
    "an enum of Python": "LogicalType PhysicalType PatchStreamType StatementType",
    "has no arguments, or those of another library": """
        JellyParser JellySerializer register library_of Handler AsyncHandler Operation Start Commit Abort AnyTerm
        DefaultGraph Batch GraphDictionary""",
}


def is_error(name: str) -> bool:
    return name.endswith(("Error", "Warning"))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to write to, with some files to read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.nt").write_bytes(LINES)
    jelly.convert("in.nt", "in.jelly", seekable=True)
    jelly.convert("in.nt", "old.jelly", seekable=True)
    with patch.PatchWriter("in.jellyp", seekable=True) as writer:
        writer.write(PATCHES[0])
    results.write_results("in.srj", ["s"], [[S]])
    return tmp_path


def made(value: Any) -> Any:
    """An argument that can be used once only."""
    if value == "BATCHES":
        return jelly.read_batches("in.nt")
    if value == "RESULT BATCHES":
        return results.read_results("in.srj").batches()
    if value == "BROKER":
        return importlib.import_module("jelly.grpc").Broker()
    if value == "TABLE":
        return jelly.read_arrow("in.nt").read_all()
    if value == "PATCH TABLE":
        return patch.read_arrow("in.jellyp").read_all()
    if value == "STORE":
        return importlib.import_module("pyoxigraph").Store()
    if value == "STATS":
        return jelly.stats.stats("in.nt")
    return value


def used(made: Any) -> None:
    """Take from a result what it has; what was opened is closed."""
    if isinstance(made, str | bytes | dict | list | tuple | type | jelly.Decoder | jelly.Encoder):
        return
    if hasattr(made, "read_all"):
        made.read_all()
    elif isinstance(made, jelly.Scan):
        made.to_table()
    elif hasattr(made, "collect"):
        made.collect()
    elif hasattr(made, "__iter__"):
        for _ in itertools.islice(iter(made), 100):
            pass
    if callable(getattr(made, "abort", None)):
        made.abort()
    elif callable(getattr(made, "close", None)):
        made.close()


def parameters(function: Any) -> Iterator[tuple[str, bool]]:
    """The names of its parameters, and whether they are given by position."""
    found = inspect.signature(function).parameters.values()
    others = {*getattr(function, "keywords", ()), *getattr(getattr(function, "__init__", None), "keywords", ())}
    for parameter in found:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            yield parameter.name, True
            others.discard(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            others.add(parameter.name)
    yield from ((name, False) for name in sorted(others))


# What the caller's own function gives or raises is not looked at.
CALLED = {"opener", "key", "graph", "keep", "progress", "dataset", "library"}

# What Python says when it binds arguments to a compiled function.
BINDING = re.compile(r"Argument '\w+' has incorrect type|takes .* positional argument|unexpected keyword argument")


def faults(name: str, folder: Path) -> list[str]:
    """What came of wrong arguments and should not."""
    module, _, short = name.rpartition(".")
    function = getattr(importlib.import_module(module), short)
    args, keywords = CALLS[name]
    used(function(*map(made, args), **keywords))
    bad = []
    known = {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name.startswith("in.")
    }
    start = set(known) | {"old.jelly"}
    for place, (parameter, positional) in enumerate(parameters(function)):
        for wrong in WRONG:
            if parameter in CALLED and callable(wrong):
                continue
            for path in folder.iterdir():
                if path.name not in start and path.is_file():
                    path.unlink()
            given, named = list(map(made, args)), dict(keywords)
            if positional and place < len(given):
                given[place] = wrong
            else:
                named[parameter] = wrong
            before = set(os.listdir(folder))
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    used(function(*given, **named))
            except (jelly.JellyError, OSError):
                if new := set(os.listdir(folder)) - before - {OUT_FOLDER}:
                    bad.append(f"{name}({parameter}={wrong!r:.40}): left {new}")
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                if type(error) is TypeError and BINDING.search(str(error)):
                    continue
                bad.append(f"{name}({parameter}={wrong!r:.40}): {type(error).__name__}: {str(error)[:160]}")
    for file, data in known.items():
        assert Path(file).read_bytes() == data, name
    return bad


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_wrong_arguments(name: str, place: Path) -> None:
    assert not faults(name, place)


def test_every_public_function_is_called() -> None:
    found = {"jelly.open", "jelly.filter"}
    left_out = " ".join(LEFT_OUT.values()).split()
    for module in MODULES:
        made = importlib.import_module(module)
        for name in made.__all__:
            full = f"{module}.{name}"
            if callable(getattr(made, name)) and not is_error(name) and (full in CALLS or name not in left_out):
                found.add(full)
    assert found == set(CALLS)
