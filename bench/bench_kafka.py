"""Values of Kafka: records of ten statements to bytes and back, beside N-Quads with gzip, and pyjelly.

    python -m pytest bench/bench_kafka.py    speed, with bytes per record among the details
    python bench/bench_kafka.py              the table of sizes of docs/kafka.md
    python bench/bench_kafka.py --speed      records a second of processor time, the best of several rounds
"""

from __future__ import annotations

import gzip
import io
import statistics
import sys
import time
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import pyoxigraph
import pytest
import zstandard
from pyjelly.integrations.generic.serialize import flat_stream_to_file
from work import SOURCES, Data, shared

import jelly
from jelly._core.terms.batch_builder import BatchBuilder
from jelly.kafka import JellyDeserializer, JellySerializer

ROWS = 10  # statements in a record
RECORDS = 4000
DICTIONARY = 1 << 16
SETS = SOURCES | {
    "dbpedia-abstracts": ("data", "dbpedia-abstracts", "long-abstracts-10k.nt.gz"),
    "schemaorg": ("data", "schemaorg", "schemaorg-all-https.nq.gz"),
    "bsbm100": ("data", "bsbm100", "bsbm-100.nt.gz"),
    "dbpedia-ontology": ("data", "dbpedia-ontology", "dbpedia-ontology.nt.gz"),
    "dbpedia-fragment": ("data", "dbpedia-fragment", "dbpedia-fragment.nt.gz"),
    "cell-ontology": ("data", "cell-ontology", "cl-eye-slim.nt.gz"),
    "go-pattern": ("data", "go-pattern", "go-pattern-conformance.nt.gz"),
    "vocabs-star": ("data", "vocabs-star", "vocabs-star.nt.gz"),
}

Encode = Callable[[], list[Any]]


class Records:
    """Records of a data set, spread over it, in every form that a peer takes."""

    def __init__(self, statements: list[Any]) -> None:
        all_records = [statements[i : i + ROWS] for i in range(0, len(statements) - ROWS + 1, ROWS)]
        chosen = all_records[:: max(1, len(all_records) // RECORDS)][:RECORDS]
        # Read again, so that the objects lie in memory in the order of the records.
        self.groups: list[list[Any]] = [list(jelly.loads(jelly.dumps(group))) for group in chosen]
        builder = BatchBuilder(len(statements[0]))
        for group in self.groups:
            builder.extend(iter(group), 1 << 40)
            builder.end_frame()
        self.batch = builder.batch
        self.quads = len(statements[0]) == 4
        self.format = pyoxigraph.RdfFormat.N_QUADS if self.quads else pyoxigraph.RdfFormat.N_TRIPLES

    def texts(self) -> list[bytes]:
        """N-Quads (N-Triples where there are no graphs) of each record."""
        made = []
        for group in self.groups:
            out = io.BytesIO()
            jelly.write(out, group, format="nq" if self.quads else "nt", quoted="rdf-star")
            made.append(out.getvalue())
        return made

    def of_pyoxigraph(self) -> list[list[Any]]:
        made = [list(pyoxigraph.parse(text, self.format)) for text in self.texts()]
        return made if self.quads else [[quad.triple for quad in group] for group in made]

    def of_pyjelly(self) -> list[list[Any]]:
        one = Data.__new__(Data)
        groups = []
        for group in self.groups:
            one.__dict__.clear()
            one.statements = group
            groups.append(one.of_pyjelly)
        return groups


@cache
def records(name: str) -> Records:
    return Records(list(jelly.read(shared(*SETS[name]))))


def of_pyjelly(group: list[Any]) -> bytes:
    out = io.BytesIO()
    flat_stream_to_file(iter(group), out)
    return out.getvalue()


def encoders(data: Records) -> dict[str, Encode]:
    serializer = JellySerializer()
    pyoxi, pyj = data.of_pyoxigraph(), data.of_pyjelly()
    return {
        "jelly, frames of a Batch": lambda: serializer.serialize_many(data.batch),
        "jelly, many": lambda: serializer.serialize_many(data.groups),
        "jelly, one by one": lambda: [serializer(group) for group in data.groups],
        "pyoxigraph N-Quads": lambda: [pyoxigraph.serialize(group, format=data.format) for group in pyoxi],
        "pyoxigraph N-Quads, gzip": lambda: [
            gzip.compress(pyoxigraph.serialize(group, format=data.format), 6) for group in pyoxi
        ],
        "pyjelly": lambda: [of_pyjelly(group) for group in pyj],
    }


def decoders(data: Records) -> dict[str, Encode]:
    values = JellySerializer().serialize_many(data.groups)
    texts = [gzip.compress(text, 6) for text in data.texts()]
    statements, batches = JellyDeserializer(), JellyDeserializer("batch")
    return {
        "jelly to statements": lambda: [statements(value) for value in values],
        "jelly to Batches": lambda: [batches(value) for value in values],
        "pyoxigraph N-Quads, gzip": lambda: [
            list(pyoxigraph.parse(gzip.decompress(text), data.format)) for text in texts
        ],
    }


ENCODERS = (
    "jelly, frames of a Batch", "jelly, many", "jelly, one by one", "pyoxigraph N-Quads", "pyoxigraph N-Quads, gzip",
    "pyjelly",
)  # fmt: skip
DECODERS = "jelly to statements", "jelly to Batches", "pyoxigraph N-Quads, gzip"


def run(benchmark: Any, job: Encode, name: str, group: str) -> None:
    benchmark.group = f"{group} {name}"
    made = benchmark.pedantic(job, rounds=5, iterations=1, warmup_rounds=1)
    benchmark.extra_info["records"] = len(made)
    if isinstance(made[0], bytes):
        benchmark.extra_info["bytes/record"] = round(sum(map(len, made)) / len(made))
    if benchmark.stats:
        benchmark.extra_info["records/s"] = round(len(made) / benchmark.stats.stats.median)


@pytest.mark.parametrize("who", ENCODERS)
@pytest.mark.parametrize("name", SOURCES)
def bench_serialize(benchmark, name, who):
    run(benchmark, encoders(records(name))[who], name, "kafka serialize")


@pytest.mark.parametrize("who", DECODERS)
@pytest.mark.parametrize("name", SOURCES)
def bench_deserialize(benchmark, name, who):
    run(benchmark, decoders(records(name))[who], name, "kafka deserialize")


# ---- tables for the page


def distinct_text(group: list[Any]) -> bytes:
    """The text of each different term of a record, once: what no form without shared knowledge can do without."""
    builder = BatchBuilder(4)
    builder.extend(iter(group), 1 << 40)
    return builder.batch.text.tobytes()


def mean(values: list[bytes]) -> float:
    return sum(map(len, values)) / len(values)


def together(values: list[bytes], n: int = 100) -> float:
    """Bytes per record if a client compresses many together, as Kafka's compression.type=zstd does."""
    parts = [b"".join(values[i : i + n]) for i in range(0, len(values) - n + 1, n)]
    return sum(len(zstandard.compress(part, 3)) for part in parts) / (n * len(parts))


def sizes() -> None:
    names = [
        "N-Quads, gzip", "Jelly", "Jelly, gzip", "distinct text, deflate",
        f"Jelly, zstd, dictionary {DICTIONARY >> 10} KB", "100 Jelly, zstd", "100 N-Quads, zstd",
    ]  # fmt: skip
    print("| data | " + " | ".join(names) + " |\n|" + " --- |" * (len(names) + 1))
    ratios = []
    for name in SETS:
        data = records(name)
        texts, values = data.texts(), JellySerializer().serialize_many(data.groups)
        # The dictionary is trained on other records than those it is measured on.
        dictionary = zstandard.train_dictionary(DICTIONARY, values[::2]).as_bytes()
        packed = JellySerializer(compression="zstd", dictionary=dictionary)
        base = mean([gzip.compress(text, 6) for text in texts])
        odd = mean([gzip.compress(text, 6) for text in texts[1::2]])
        found = [
            base / base,
            mean(values) / base,
            mean([gzip.compress(value, 6) for value in values]) / base,
            # Raw deflate, without any head.
            mean([zlib.compress(distinct_text(group), 9)[2:-4] for group in data.groups]) / base,
            mean(packed.serialize_many(data.groups[1::2])) / odd,
            together(values) / base,
            together(texts) / base,
        ]
        ratios.append(found)
        print(f"| {name} | {base:.0f} B | " + " | ".join(f"{value:.2f}" for value in found[1:]) + " |", flush=True)
    medians = [statistics.median(column) for column in zip(*ratios, strict=True)]
    print("| median | 1 | " + " | ".join(f"{value:.2f}" for value in medians[1:]) + " |")


def speeds(rounds: int = 9) -> None:
    for what, jobs_of in (("serialize", encoders), ("deserialize", decoders)):
        for name in SOURCES:
            jobs = jobs_of(records(name))
            best = dict.fromkeys(jobs, float("inf"))
            # In turn, so that what else the machine does hits all alike.
            for _ in range(rounds):
                for who, job in jobs.items():
                    start = time.process_time()
                    job()
                    best[who] = min(best[who], time.process_time() - start)
            for who, seconds in best.items():
                rate = len(records(name).groups) / seconds / 1000
                print(f"{what:12s} {name:16s} {who:26s} {rate:8.0f} k/s", flush=True)


if __name__ == "__main__":
    speeds() if "--speed" in sys.argv else sizes()
