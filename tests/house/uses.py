"""What users write, with every public module; test_typing.py checks it with mypy and pyright, strict. It never runs."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack, assert_type

import jelly
import jelly.arrow
import jelly.errors
import jelly.grpc
import jelly.kafka
import jelly.messages
import jelly.oxigraph
import jelly.patch
import jelly.plot
import jelly.polars
import jelly.rdflib
import jelly.results
import jelly.spark
import jelly.stats


def read(path: str) -> Iterator[str]:
    for s, p, o in jelly.read(path):
        yield f"{s} {p} {o}"
    for frame in jelly.scan(path).frames():
        assert_type(frame.metadata, dict[str, bytes])
        for statement in frame:
            assert_type(statement, jelly.Triple | jelly.Quad)
    for batch in jelly.scan(path).batches():
        assert_type(batch, jelly.Batch)
        assert_type(batch.s, npt.NDArray[np.int32])
        assert_type(batch.unique(), jelly.Batch)
        assert_type(batch.statements(), list[Any])
        assert_type(batch.terms(), list[Any])
    with jelly.open(path) as file:
        assert_type(file[0], jelly.Triple | jelly.Quad)
        assert_type(file[0:1], list[jelly.Triple | jelly.Quad])


def misspelt(path: str, triple: jelly.Triple) -> None:
    jelly.raed(path)  # type: ignore[attr-defined]
    print(triple.vlaue)  # type: ignore[attr-defined]
    print(triple.s.vlaue)  # type: ignore[union-attr]
    jelly.find(path, p=5)  # type: ignore[arg-type]
    jelly.find(path, p=["a:p", jelly.IRI("a:q")], o=jelly.LanguageRange("en"))
    for s, _, o in jelly.read(path):
        print(s.vlaue)  # type: ignore[union-attr]
        if isinstance(o, jelly.Literal):
            assert_type(o.language, str | None)
        jelly.Triple(s, jelly.IRI("a:p"), o)
    for statement in jelly.read([path, path]):
        assert_type(statement, jelly.Triple | jelly.Quad)
        print(statement.subjcet)  # type: ignore[union-attr]
    for statement in jelly.find(path, p="a:p"):
        assert_type(statement, jelly.Triple | jelly.Quad)
    jelly.read(path).clsoe()  # type: ignore[attr-defined]
    jelly.read(path, formt="nt")  # type: ignore[call-arg]
    jelly.inspect(path, max_nmaes=5)  # type: ignore[call-arg]
    jelly.validate(path, delimted=True)  # type: ignore[call-arg]
    jelly.canonicalize(path, formt="nt")  # type: ignore[call-arg]
    jelly.count(path, formt="nt")  # type: ignore[call-arg]
    jelly.append(path, path, blank_nodes="kept")  # type: ignore[arg-type]
    jelly.open(path, max_names="5")  # type: ignore[call-overload]
    jelly.index(path, max_nmaes=5)  # type: ignore[call-arg]
    jelly.patch.read_log(path, on_eror="skip")  # type: ignore[call-arg]
    jelly.write(path, "hello")  # type: ignore[arg-type]
    jelly.write(path, [1, 2])  # type: ignore[list-item]
    jelly.dumps("hello")  # type: ignore[arg-type]
    jelly.Writer(path).add("x")  # type: ignore[arg-type]
    jelly.Triple("s", "p", "o")  # type: ignore[arg-type]


def values(statement: jelly.Triple | jelly.Quad) -> str:
    assert_type(statement.p, jelly.IRI)
    assert_type(statement.s.value, str)
    for s, p, o in [statement]:
        assert_type(s.value + p.value + o.value, str)
    for s, _, o, g in [statement]:
        named: jelly.Term = g
        print(s.value, isinstance(named, jelly.DefaultGraph))
        return o.value
    return ""


async def read_asynchronously(path: str) -> int:
    n = 0
    async for statement in jelly.scan(path):
        assert_type(statement, jelly.Triple | jelly.Quad)
        n += 1
    async for frame in jelly.scan(path).frames():
        assert_type(frame, jelly.Frame)
    async for batch in jelly.scan(path).batches():
        assert_type(batch, jelly.Batch)
    return n


def write(path: str, literal: jelly.Literal) -> int:
    triple = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), literal)
    assert_type(literal.datatype, jelly.IRI)
    assert_type(literal.language, str | None)
    jelly.Literal(5, language="en")
    assert sorted([triple, triple]) == [triple, triple]
    with jelly.Writer(path, jelly.StreamOptions.small(rdf_star=True), seekable=True) as writer:
        writer.add(triple)
        writer.end_frame({"key": b"value"})
    assert_type(jelly.loads(jelly.dumps([triple])), list[jelly.Triple | jelly.Quad])
    return jelly.write(path, [triple])


def files(path: str, **options: Unpack[jelly.ReadOptions]) -> list[str]:
    found = jelly.scan(path, **options).filter(p="a:p", where="o.kind = iri").sort("predicate,object")
    assert_type(found.count(), int)
    assert_type(found.unique().sample(5)[1:].write("out.jelly", seekable=True), jelly.Conversion)
    assert_type(found.split("out-{}.jelly", by="graph"), list[jelly.Part])
    assert_type(found.to_ids(), jelly.GraphIds)
    assert_type(jelly.convert(path, "out.nt", blank_nodes="keep", to="nt").statements, int)
    assert_type(jelly.append(path, "out.jelly", blank_nodes="keep"), int)
    jelly.index("out.jelly", terms=True)
    assert_type(jelly.inspect(path, per_frame=True, max_frames=5).statements, int)
    assert_type(jelly.describe(path).graph, jelly.GraphDescription)
    assert_type(jelly.canonicalize(path, algorithm="sha384", max_steps=5).digest, str)
    assert_type(jelly.read_options(path), jelly.StreamOptions)
    return [str(problem) for problem in jelly.validate(path, joined=True)]


def results(path: str) -> int:
    found = jelly.results.read_results(path, format="json")
    assert_type(found.variables, tuple[str, ...])
    for each in jelly.results.read_result_sets("sets.jellys"):
        assert_type(each, jelly.results.Results)
    return jelly.results.write_results("out.tsv", found)


def counted(path: str) -> dict[str, int]:
    found = jelly.stats.stats(path, top=5, threads=2)
    assert_type(found, jelly.stats.Stats)
    jelly.plot.plot_stats(found, "stats.png")
    assert_type(jelly.stats.stats("results.srj", content="results"), jelly.stats.ResultStats)
    return found.predicates.top


def patches(path: str) -> jelly.patch.Patch:
    for operation in jelly.patch.Patch([jelly.patch.Start(), jelly.patch.Commit()]):
        assert_type(operation, jelly.patch.Operation)
    changes = jelly.patch.diff(path, "new.nt", format="nt")
    assert_type(changes, jelly.patch.Patch)
    assert_type(jelly.patch.diff_stat(path, path).added, int)
    assert_type(jelly.patch.apply(changes, path, "out.jelly", on_missing="error").deleted, int)
    with jelly.patch.PatchWriter("log.jellyp", {"stream_name": "log"}) as writer:
        writer.write(changes)
    assert_type(jelly.patch.loads(jelly.patch.dumps(changes)), list[jelly.patch.Patch])
    return jelly.patch.compact(jelly.patch.read_log("log.jellyp", after=jelly.IRI("uuid:1")))


async def messages(path: str, chunks: AsyncIterator[bytes]) -> int:
    for message in jelly.messages.read_messages(path, dialect="directive"):
        assert_type(message, jelly.messages.Message)
        assert_type(message.statements, list[jelly.Triple | jelly.Quad])
    async for message in jelly.messages.aread_messages(chunks):
        assert_type(message.prefixes, dict[str, str])
    assert_type(jelly.messages.negotiate("application/n-quads"), str | None)
    return jelly.messages.write_messages("out.jelly", jelly.messages.group(jelly.read(path), by="subject"))


class Numbers(jelly.grpc.Handler):
    async def on_subscribe(self, call: jelly.grpc.Subscription) -> AsyncIterator[Any]:
        for statement in jelly.read(call.topic):
            yield statement


async def services(path: str) -> None:
    with jelly.grpc.Server(Numbers(), compression="gzip") as server, jelly.grpc.Client(server.address) as client:
        assert_type(client.publish(jelly.read(path), topic="t"), int)
        for frame in client.subscribe("t", follow=False):
            assert_type(frame, jelly.Frame)
    async with jelly.grpc.AsyncClient("localhost:1", compression="gzip") as client:
        async for patch in client.subscribe("t", kind="patches"):
            assert_type(patch, jelly.patch.Patch)
    jelly.grpc.Server(Numbers(), compression="zstd")  # type: ignore[arg-type]
    assert_type(jelly.grpc.Broker(jelly.grpc.Topics()).topics, jelly.grpc.Topics)


def records(path: str) -> list[bytes | None]:
    jelly.kafka.JellyDeserializer("batch", max_names=5)(b"")
    return jelly.kafka.JellySerializer(compression="zstd").serialize_many(jelly.read(path))


def libraries(path: str) -> None:
    graph: Any = [*jelly.rdflib.read_graphs(path, format="jelly")][0]
    assert_type(jelly.rdflib.write("out.jelly", graph, stream_name="n"), int)
    assert_type(jelly.oxigraph.write("out.jelly", jelly.oxigraph.read(path, format="nt")), int)
    # pyarrow has no types.
    table: Any = jelly.arrow.to_table(path)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    assert_type(jelly.write_arrow("out.jelly", table, seekable=True), int)
    jelly.polars.scan_jelly(path, blank_nodes="keep").select("subject").collect()


def tables(spark: Any, path: Path) -> int:
    jelly.spark.register(spark, pushdown=True)
    done = jelly.spark.ingest(path, "table", spark=spark, on_error="skip", glob="*.nt", max_line_bytes=1 << 20)
    jelly.spark.ingest(path, "table", pattern="*.nt")  # type: ignore[call-arg]
    options: jelly.spark.SourceOptions = {"storage": {"anon": True}, "split_bytes": 1 << 20}
    counts, errors, unknown = jelly.spark.stats([path], spark=spark, **options)
    assert_type(counts, jelly.stats.Stats)
    assert_type(errors, list[jelly.errors.JellyError])
    assert_type(unknown, list[str])
    return done.statements
