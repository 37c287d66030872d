"""Wrong types and values in every parameter of every public function of `jelly.spark`: the call works, or there is a
JellyError or an OSError."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster import need_spark
from store_jobs import HERE, run_here
from support.arguments import parameters, wrong_calls

import jelly
import jelly.spark
from jelly.spark import _ingest

LINES = "<a:s> <a:p> <a:o> .\n"


def faults(function: Callable[..., Any], *args: Any, **keywords: Any) -> list[str]:
    """What came of wrong arguments and should not. The call is right with those given."""

    def is_right(parameter: str, value: Any) -> bool:
        """What the caller's function does, and sessions that would start."""
        return parameter in ("progress", "spark") and (callable(value) or value is None or isinstance(value, str))

    bad = []
    for what, given, named in wrong_calls(function, args, keywords, is_right):
        try:
            function(*given, **named)
        except (jelly.JellyError, OSError):
            pass
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            bad.append(f"{what}: {type(error).__name__}: {str(error)[:160]}")
    return bad


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a file, and tasks that run in this process."""
    need_spark()

    monkeypatch.setattr(_ingest, "_run", run_here)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.nt").write_text(LINES)
    return tmp_path


@pytest.mark.filterwarnings("ignore")
def test_ingest(here: Path) -> None:
    def ingest(src: Any, out: Any, **settings: Any) -> None:
        shutil.rmtree("out", ignore_errors=True)
        jelly.spark.ingest(src, out, **settings)

    ingest.keywords = {name for name, _ in parameters(jelly.spark.ingest)} - {"src", "dst"}  # type: ignore[attr-defined]
    ingest("in.nt", "out", spark=HERE)
    assert not faults(ingest, "in.nt", "out", spark=HERE)


@pytest.mark.filterwarnings("ignore")
def test_compact_table(here: Path) -> None:
    jelly.spark.ingest("in.nt", "out", spark=HERE, to="delta")
    jelly.spark.compact_table("out", spark=HERE)
    assert not faults(jelly.spark.compact_table, "out", spark=HERE)


@pytest.mark.filterwarnings("ignore")
def test_functions(spark: Any) -> None:
    values = spark.createDataFrame([(b"",)], "value binary")
    flat = spark.createDataFrame([], "subject string, predicate string, object string, object_kind string")
    patches = spark.createDataFrame([], "operation string, file string, row bigint, subject string")
    right: dict[str, tuple[Any, ...]] = {
        "changes": (values,), "describe": (flat,), "from_jelly": ("value",), "from_ntriples": ("value",),
        "graph_tables": (flat,), "graphframe": (flat,), "jelly_headers": (), "merge": (patches, "no_table"),
        "register": (spark,), "stats": ("in.nt",), "term_id": ("<a:s>",), "to_ids": (flat,),
        "to_jelly": ("s", "p", "o"), "vertical": (flat,), "wide": (flat, "a:C"),
    }  # fmt: skip
    others = {"ingest", "compact_table"}
    called = {name for name in jelly.spark.__all__ if not isinstance(getattr(jelly.spark, name), type)}
    assert called - others == right.keys()
    bad = {name: faults(getattr(jelly.spark, name), *args) for name, args in right.items()}
    assert not {name: found for name, found in bad.items() if found}
