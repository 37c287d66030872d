"""Wrong types and values in every parameter of every public function, from the signatures: the call works, or there is
a JellyError or an OSError, and no half file."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import importlib
import inspect
import io
import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.arguments import wrong_calls

import jelly
import jelly.stats
from jelly import patch, results

MODULES = (
    "jelly", "jelly.arrow", "jelly.grpc", "jelly.kafka", "jelly.messages", "jelly.oxigraph",
    "jelly.patch", "jelly.plot", "jelly.polars", "jelly.rdflib", "jelly.results", "jelly.stats",
)  # fmt: skip

LINES = b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o2> .\n"
S, P, OBJECT = jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o")
STATEMENTS = [jelly.Triple(S, P, OBJECT)]
PATCHES = [patch.Patch([patch.Header("id", S), patch.Add(STATEMENTS[0])])]
OUT, OUT_PATCH, OUT_RESULTS, OUT_FOLDER = "out.jelly", "out.jellyp", "out.jellys", "folder"

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
    "jelly.convert": (("in.nt", OUT), {}),
    "jelly.count": (("in.nt",), {}),
    "jelly.describe": (("in.nt",), {}),
    "jelly.dumps": ((STATEMENTS,), {}),
    "jelly.find": (("in.nt",), {}),
    "jelly.index": (("old.jelly",), {}),
    "jelly.inspect": (("in.jelly",), {}),
    "jelly.loads": ((jelly.dumps(STATEMENTS),), {}),
    "jelly.open": (("in.jelly",), {}),
    "jelly.read_options": (("in.jelly",), {}),
    "jelly.read": (("in.nt",), {}),
    "jelly.read_arrow": (("in.nt",), {}),
    "jelly.results.ResultOptions": ((), {}),
    "jelly.results.read_result_sets": (("in.srj",), {}),
    "jelly.results.read_results": (("in.srj",), {}),
    "jelly.results.write_result_sets": ((OUT_RESULTS, [True]), {}),
    "jelly.query": (("in.nt", "ASK {}"), {}),
    "jelly.subset": (("in.nt", S), {}),
    "jelly.wide": (("in.nt",), {}),
    "jelly.scan": (("in.nt",), {}),
    "jelly.validate": (("in.nt",), {}),
    "jelly.write": ((OUT, STATEMENTS), {}),
    "jelly.write_arrow": ((OUT, "TABLE"), {}),
    "jelly.results.write_results": ((OUT_RESULTS, ["s"], [[S]]), {}),
    "jelly.arrow.from_batches": (("BATCHES",), {}),
    "jelly.arrow.from_results": ((["s"], "RESULT BATCHES"), {}),
    "jelly.arrow.schema": ((), {}),
    "jelly.arrow.to_table": (("in.nt",), {}),
    "jelly.grpc.Client": (("127.0.0.1:1",), {}),
    "jelly.grpc.FrameDecoder": ((), {}),
    "jelly.grpc.FrameEncoder": ((jelly.StreamOptions.small().replace(physical_type=1, logical_type=1),), {}),
    "jelly.grpc.Topics": ((), {}),
    "jelly.grpc.Broker": ((), {}),
    "jelly.grpc.tokens": (({"token": "name"},), {}),
    "jelly.kafka.JellyDeserializer": ((), {}),
    "jelly.kafka.JellySerializer": ((), {}),
    "jelly.messages.Message": ((STATEMENTS,), {}),
    "jelly.messages.MessageReader": (("in.nt",), {}),
    "jelly.messages.MessageWriter": ((OUT,), {}),
    "jelly.messages.group": ((STATEMENTS, "subject"), {}),
    "jelly.messages.media_type": (("nt",), {}),
    "jelly.messages.negotiate": (("*/*",), {}),
    "jelly.messages.read_messages": (("in.nt",), {}),
    "jelly.messages.write_messages": ((OUT, [STATEMENTS]), {}),
    "jelly.oxigraph.load": (("STORE", "in.nt"), {}),
    "jelly.oxigraph.read": (("in.nt",), {}),
    "jelly.oxigraph.write": ((OUT, []), {}),
    "jelly.patch.Add": ((STATEMENTS[0],), {}),
    "jelly.patch.Delete": ((STATEMENTS[0],), {}),
    "jelly.patch.AddNamespace": (("n", "a:"), {}),
    "jelly.patch.DeleteNamespace": (("n",), {}),
    "jelly.patch.Header": (("id", S), {}),
    "jelly.patch.Patch": (([],), {}),
    "jelly.patch.PatchOptions": ((), {}),
    "jelly.patch.PatchReader": (("in.jellyp",), {}),
    "jelly.patch.PatchWriter": ((OUT_PATCH,), {}),
    "jelly.patch.apply": ((PATCHES[0], "in.nt", OUT), {}),
    "jelly.patch.compact": ((PATCHES,), {}),
    "jelly.patch.diff": (("in.nt", "in.jelly"), {}),
    "jelly.patch.diff_stat": (("in.nt", "in.jelly"), {}),
    "jelly.patch.dumps": ((PATCHES,), {}),
    "jelly.patch.invert": ((PATCHES[0],), {}),
    "jelly.patch.loads": ((patch.dumps(PATCHES),), {}),
    "jelly.patch.read_log": (("in.jellyp",), {}),
    "jelly.patch.read_patches": (("in.jellyp",), {}),
    "jelly.polars.scan_jelly": (("in.nt",), {}),
    "jelly.rdflib.read": (("in.nt",), {}),
    "jelly.rdflib.JellyStore": (("in.nt",), {}),
    "jelly.rdflib.read_graphs": (("in.jelly",), {}),
    "jelly.rdflib.validate": (("in.nt", "in.nt"), {}),
    "jelly.rdflib.write": ((OUT, []), {}),
    "jelly.rdflib.write_graphs": ((OUT, []), {}),
    "jelly.stats.stats": (("in.nt",), {}),
    "jelly.plot.plot_stats": (("STATS", "out.svg"), {}),
}  # fmt: skip



def of(module: str) -> Any:
    return importlib.import_module(module)


class InALoop:
    """An AsyncClient whose methods are run to their end."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        @functools.wraps(getattr(of("jelly.grpc").AsyncClient, name))
        def call(*args: Any, **given: Any) -> Any:
            async def run() -> Any:
                async with of("jelly.grpc").AsyncClient("127.0.0.1:1", retries=0) as client:
                    found = getattr(client, name)(*args, **given)
                    return await found if inspect.isawaitable(found) else [item async for item in found]

            return asyncio.run(run())

        del call.__wrapped__
        call.__signature__ = unbound(getattr(of("jelly.grpc").AsyncClient, name))
        return call


def unbound(method: Any) -> inspect.Signature:
    found = inspect.signature(method)
    return found.replace(parameters=list(found.parameters.values())[1:])


# What has methods with arguments, made anew for each call.
OBJECTS: dict[str, Callable[[], Any]] = {
    "jelly.Batch": lambda: next(jelly.scan("in.nt").batches()),
    "jelly.Dataset": lambda: jelly.scan("in.nt"),
    "jelly.Decoder": jelly.Decoder,
    "jelly.Encoder": lambda: jelly.Encoder(jelly.StreamOptions.small()),
    "jelly.GraphDictionary": jelly.GraphDictionary,
    "jelly.Description": lambda: jelly.describe("in.nt"),
    "jelly.GraphIds": lambda: jelly.scan("in.nt").to_ids(),
    "jelly.JellyFile": lambda: jelly.open("in.jelly"),
    "jelly.Pattern": lambda: jelly.Pattern(p=P),
    "jelly.Reader": lambda: jelly.Reader("in.nt"),
    "jelly.StreamOptions": jelly.StreamOptions,
    "jelly.Writer": lambda: jelly.Writer(io.BytesIO()),
    "jelly.grpc.AsyncClient": lambda: InALoop(),
    "jelly.grpc.Client": lambda: of("jelly.grpc").Client("127.0.0.1:1", retries=0),
    "jelly.grpc.FrameDecoder": lambda: of("jelly.grpc").FrameDecoder(),
    "jelly.grpc.FrameEncoder": lambda: of("jelly.grpc").FrameEncoder(
        jelly.StreamOptions.small().replace(physical_type=1, logical_type=1)
    ),
    "jelly.grpc.Topics": lambda: of("jelly.grpc").Topics(),
    "jelly.kafka.JellyDeserializer": lambda: of("jelly.kafka").JellyDeserializer(),
    "jelly.kafka.JellySerializer": lambda: of("jelly.kafka").JellySerializer(),
    "jelly.messages.MessageReader": lambda: of("jelly.messages").MessageReader(b"", format="nt"),
    "jelly.messages.MessageWriter": lambda: of("jelly.messages").MessageWriter(io.BytesIO(), format="nt"),
    "jelly.patch.Patch": lambda: PATCHES[0],
    "jelly.patch.PatchOptions": patch.PatchOptions,
    "jelly.results.ResultOptions": results.ResultOptions,
    "jelly.patch.PatchWriter": lambda: patch.PatchWriter(io.BytesIO()),
    "jelly.results.Results": lambda: results.read_results("in.srj"),
}

# A call of a method that works.
METHODS: dict[str, tuple[Any, ...]] = {
    "jelly.Batch.term_text": (0,),
    "jelly.Dataset.batches": (),
    "jelly.Dataset.filter": (),
    "jelly.Dataset.count": (),
    "jelly.Dataset.sample": (1,),
    "jelly.Dataset.sort": (),
    "jelly.Dataset.split": ("part-{}.jelly",),
    "jelly.Dataset.to_arrow": (),
    "jelly.Dataset.to_ids": (),
    "jelly.Dataset.wide": (),
    "jelly.Dataset.unique": (),
    "jelly.Dataset.write": (OUT,),
    "jelly.Decoder.decode_frame": (jelly.dumps(STATEMENTS, delimited=False),),
    "jelly.Decoder.feed": (jelly.dumps(STATEMENTS),),
    "jelly.Decoder.pull": (),
    "jelly.Decoder.push": (jelly.dumps(STATEMENTS),),
    "jelly.Description.write": ("described.nt",),
    "jelly.Encoder.close": (),
    "jelly.Encoder.encode": ("BATCH",),
    "jelly.Encoder.encode_frames": ("BATCH",),
    "jelly.GraphDictionary.add": ("BATCH",),
    "jelly.GraphDictionary.batch": (),
    "jelly.GraphDictionary.numbers": ("BATCH",),
    "jelly.GraphDictionary.results": ((), [[]]),
    "jelly.GraphIds.id_of": (S,),
    "jelly.GraphIds.node": (1,),
    "jelly.GraphIds.relation": (0,),
    "jelly.GraphIds.to_scipy": (),
    "jelly.JellyFile.batches": (),
    "jelly.JellyFile.frames": (),
    "jelly.Pattern.count": ("BATCH",),
    "jelly.Pattern.rows": ("BATCH",),
    "jelly.Pattern.select": ("BATCH",),
    "jelly.Reader.frames": (),
    "jelly.StreamOptions.big": (),
    "jelly.StreamOptions.replace": (),
    "jelly.StreamOptions.small": (),
    "jelly.Writer.add": (STATEMENTS[0],),
    "jelly.Writer.add_batch": ("BATCH",),
    "jelly.Writer.end_frame": (),
    "jelly.Writer.extend": (STATEMENTS,),
    "jelly.Writer.namespace": ("ex", "a:"),
    "jelly.grpc.FrameDecoder.decode": (jelly.dumps(STATEMENTS, delimited=False),),
    "jelly.grpc.FrameEncoder.add": (STATEMENTS[0],),
    "jelly.grpc.FrameEncoder.encode": ("BATCH OF A FRAME",),
    "jelly.grpc.FrameEncoder.encode_many": (STATEMENTS,),
    "jelly.grpc.Topics.delete": ("t",),
    "jelly.grpc.Topics.get": ("t",),
    "jelly.kafka.JellyDeserializer.deserialize": ("t", jelly.dumps(STATEMENTS, delimited=False)),
    "jelly.kafka.JellySerializer.headers": (),
    "jelly.kafka.JellySerializer.serialize": ("t", STATEMENTS),
    "jelly.kafka.JellySerializer.serialize_many": ([STATEMENTS],),
    "jelly.messages.MessageReader.feed": (LINES,),
    "jelly.messages.MessageWriter.add_batch": ("BATCH OF A FRAME",),
    "jelly.messages.MessageWriter.write": (STATEMENTS,),
    "jelly.patch.Patch.count": (1,),
    "jelly.patch.Patch.header": ("id",),
    "jelly.patch.PatchOptions.replace": (),
    "jelly.patch.PatchWriter.add": (patch.Add(STATEMENTS[0]),),
    "jelly.patch.PatchWriter.add_batch": ("PATCH BATCH",),
    "jelly.patch.PatchWriter.extend": ([patch.Add(STATEMENTS[0])],),
    "jelly.patch.PatchWriter.write": (PATCHES[0],),
    "jelly.results.ResultOptions.replace": (),
    "jelly.results.Results.to_arrow": (),
}

# Calls of a client that find no server: the port is closed.
UNSERVED: dict[str, tuple[Any, ...]] = {
    f"jelly.grpc.{client}.{method}": given
    for client in ("Client", "AsyncClient")
    for method, given in {
        "delete_topic": ("t",),
        "publish": (STATEMENTS,), "topics": (), "subscribe": ("t",),
    }.items()
}  # fmt: skip

# Keywords of such a call.
KEYWORDS = {"jelly.Dataset.split": {"rows": 1}}

# Methods that are not called so, and why.
METHODS_LEFT_OUT = {
    "what the server calls": """
        on_delete_topic on_list_topics on_publish on_subscribe""",
    "for the package": """
        PatchReader.watched MessageReader.watched Results.watched
        JellyFile.matching JellyFile.parts JellyFile.rows JellyFile.run
        Pattern.query Reader.watched Writer.allow Topics.acknowledge Topics.run Subscription.send_metadata""",
    "of another library, or a result": """
        Dataset.to_pandas Dataset.to_polars Results.to_pandas Results.to_polars
        JellyParser.parse JellySerializer.relativize JellySerializer.serialize Stats.shorten""",
    "what RDFLib calls": """
        JellyStore.add JellyStore.addN JellyStore.add_graph JellyStore.bind JellyStore.close JellyStore.commit
        JellyStore.contexts JellyStore.create JellyStore.destroy JellyStore.gc JellyStore.namespace JellyStore.open
        JellyStore.prefix JellyStore.query JellyStore.remove JellyStore.remove_graph JellyStore.triples
        JellyStore.triples_choices JellyStore.update""",
    "ends what runs": "stop",
    "names a variable": "Batch.column",
    "the same as term_text": "Batch.term",
    "of the encoder of Jelly-RDF alone": "Encoder.repeat",
}

# What is not called so, and why.
LEFT_OUT = {
    "a result, which the package makes": """
        Canonical Conversion FrameInspection Inspection Part Problem Frame GraphIds Dataset Results
        Description GraphDescription ClassPartition PropertyPartition
        Counts ResultStats Stats VariableStats TopicInfo Tls Feed AsyncFeed
        ReadOptions WriteOptions Call Publication Subscription Refusal""",
    "runs in a loop or opens a port; what checks the arguments is that of the others": """
        aencode_messages aread_messages AsyncClient Server""",
    "an enum of Python": "LogicalType PhysicalType PatchStreamType ResultStreamType StatementType",
    "has no arguments, or those of another library": """
        JellyParser JellySerializer register library Handler Operation Start Commit Abort AnyTerm
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
        return jelly.scan("in.nt").batches()
    if value == "BATCH":
        return next(jelly.scan("in.nt").batches())
    if value == "BATCH OF A FRAME":
        return jelly.Decoder().decode_frame(jelly.dumps(STATEMENTS, delimited=False))
    if value == "PATCH BATCH":
        with patch.PatchReader("in.jellyp") as reader:
            return next(iter(reader.batches()))
    if value == "RESULT BATCHES":
        return results.read_results("in.srj").batches()
    if value == "BROKER":
        return importlib.import_module("jelly.grpc").Broker()
    if value == "TABLE":
        return jelly.read_arrow("in.nt").read_all()
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
    elif hasattr(made, "to_table"):
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


# What the caller's own function gives or raises is not looked at.
CALLED = {"opener", "key", "graph", "keep", "progress", "dataset", "library"}

# Methods that take what is at a place, as a list does.
AT_PLACES = {
    "jelly.Batch.term_text", "jelly.GraphDictionary.batch", "jelly.GraphDictionary.results", "jelly.GraphIds.node",
    "jelly.GraphIds.relation",
}  # fmt: skip

# What Python says when it binds arguments to a compiled function.
BINDING = re.compile(r"Argument '\w+' has incorrect type|takes .* positional argument|unexpected keyword argument")


def method_of(name: str) -> Callable[[], Any]:
    """A maker of a public function, or of a method of a new object."""
    if name in CALLS:
        module, _, short = name.rpartition(".")
        function = getattr(importlib.import_module(module), short)
        return lambda: function
    owner, _, method = name.rpartition(".")
    return lambda: getattr(OBJECTS[owner](), method)


def faults(name: str, folder: Path) -> list[str]:
    """What came of wrong arguments and should not."""
    get = method_of(name)
    function = get()
    args, keywords = CALLS[name] if name in CALLS else ((METHODS | UNSERVED)[name], KEYWORDS.get(name, {}))
    with pytest.raises(jelly.JellyError) if name in UNSERVED else contextlib.nullcontext():
        used(function(*map(made, args), **keywords))
    bad = []
    known = {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name.startswith("in.")
    }
    start = set(known) | {"old.jelly"}
    for what, given, named in wrong_calls(
        function, args, keywords, lambda parameter, value: parameter in CALLED and callable(value)
    ):
        for path in folder.iterdir():
            if path.name not in start and path.is_file():
                path.unlink()
        before = set(os.listdir(folder))
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                used(get()(*map(made, given), **named))
        except (jelly.JellyError, OSError):
            if new := set(os.listdir(folder)) - before - {OUT_FOLDER}:
                bad.append(f"{name}({what}): left {new}")
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            if type(error) is TypeError and BINDING.search(str(error)):
                continue
            if name in AT_PLACES and type(error) is IndexError and re.search("^no |are not within", str(error)):
                continue
            bad.append(f"{name}({what}): {type(error).__name__}: {str(error)[:160]}")
    for file, data in known.items():
        assert Path(file).read_bytes() == data, name
    if "grpc" in name:
        gc.collect()  # servers that nobody closed, here, where their warnings are expected
    return bad


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*CALLS, *METHODS, *UNSERVED])
def test_wrong_arguments(name: str, place: Path) -> None:
    assert not faults(name, place)


def test_every_public_function_is_called() -> None:
    found = {"jelly.open"}
    left_out = " ".join(LEFT_OUT.values()).split()
    for module in MODULES:
        made = importlib.import_module(module)
        for name in made.__all__:
            full = f"{module}.{name}"
            if callable(getattr(made, name)) and not is_error(name) and (full in CALLS or name not in left_out):
                found.add(full)
    assert found == set(CALLS)


def test_every_public_method_is_called() -> None:
    left_out = " ".join(METHODS_LEFT_OUT.values()).split()
    found, missing = set(), set()
    for module in MODULES:
        for owner in importlib.import_module(module).__all__:
            made = getattr(importlib.import_module(module), owner)
            if not isinstance(made, type) or is_error(owner) or issubclass(made, int | dict):
                continue
            for name in dir(made):
                full = f"{module}.{owner}.{name}"
                if name.startswith("_") or not inspect.isroutine(getattr(made, name)):
                    continue
                if full in METHODS or full in UNSERVED:
                    found.add(full)
                elif {name, f"{owner}.{name}"}.isdisjoint(left_out) and takes_something(getattr(made, name)):
                    missing.add(full)
    assert found == {*METHODS, *UNSERVED}
    assert not missing


def takes_something(method: Any) -> bool:
    try:
        names = [*inspect.signature(method).parameters]
    except ValueError:  # of Python itself
        return False
    return bool(set(names) - {"self"})
