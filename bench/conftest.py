"""Quiet surroundings for the benches: one processor, no garbage collector; data and peers made once."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from time import perf_counter

import pytest
from work import Data, Job, Jvm, Unavailable

PROCESSORS = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


@pytest.fixture(scope="session", autouse=True)
def quiet() -> Iterator[None]:
    if PROCESSORS:
        os.sched_setaffinity(0, {max(PROCESSORS)})
    yield
    if PROCESSORS:
        os.sched_setaffinity(0, PROCESSORS)


@pytest.fixture(scope="session")
def data() -> Callable[[str], Data]:
    """The data set of a name."""
    known: dict[str, Data] = {}

    def get(name: str) -> Data:
        if name not in known:
            known[name] = Data(name)
        return known[name]

    return get


@pytest.fixture(scope="session")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jvm]:
    try:
        peer = Jvm(tmp_path_factory.mktemp("jvm"), PROCESSORS)
    except Unavailable as reason:
        pytest.skip(str(reason))
    yield peer
    peer.close()


@pytest.fixture
def measure(benchmark) -> Callable[[Job, Data], None]:
    """Time a job over some data and note statements a second."""

    def run(job: Job, data: Data) -> None:
        benchmark.group = f"{benchmark.name.partition('[')[0].removesuffix('_jvm')} {data.name}"
        assert job(data) == data.count  # makes the input
        start = perf_counter()
        job(data)
        seconds = perf_counter() - start
        # What lives by now is left alone by the collector, and none runs meanwhile.
        gc.collect()
        gc.freeze()
        gc.disable()
        try:
            iterations = 1 if seconds > 1e-3 else 100
            rounds = 3 if seconds > 0.3 else 7 if iterations == 1 else 50
            counted = benchmark.pedantic(job, args=(data,), rounds=rounds, iterations=iterations)
        finally:
            gc.enable()
            gc.unfreeze()
        assert counted == data.count
        benchmark.extra_info["statements"] = data.count
        if benchmark.stats:  # not with --benchmark-disable
            benchmark.extra_info["statements/s"] = round(data.count / benchmark.stats.stats.median)

    return run
