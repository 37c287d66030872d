"""A log of patches applied to a table of statements on Spark: of each statement the last change holds.

    python bench/spark/patches.py OUT LOG SRC...

The patches of the directory LOG are put in order by their headers ``id`` and ``prev``; OUT gets Jelly files.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import functions as F

import jelly.spark
from jelly.patch import Header, Patch, read_log, read_patches
from jelly.spark._jobs import on_executors, session
from jelly.spark._parts.files import absolute, find_files

TERMS = ["s", "p", "o", "g"]


def headers(path: str) -> list[tuple[str, int, list[tuple[str, Any]]]]:
    """The headers of each patch of a file."""
    return [
        (path, number, [(header.key, header.value) for header in patch.headers])
        for number, patch in enumerate(read_patches(path))
    ]


def places(spark: Any, files: list[str]) -> list[tuple[str, int, int]]:
    """File and number of each patch, and its place in the log."""
    found = [told for patches in on_executors(spark, headers, files) for told in patches]
    patches = [Patch([Header(*given) for given in told]) for _, _, told in found]
    where = {patch.id: (path, number) for (path, number, _), patch in zip(found, patches, strict=True)}
    return [(*where[patch.id], place) for place, patch in enumerate(read_log(patches))]


def patched(spark: Any, statements: Any, log: str) -> Any:
    """The statements, columns s, p, o, g in N-Triples syntax, after all patches of a log. Each is there once."""
    files = [file.path for file in find_files(absolute(log))]
    order = spark.createDataFrame(places(spark, files), "file string, patch long, place long")
    changes = spark.read.format("jelly-patch").option("layout", "ntriples").load(files)
    last = F.max_by("op", F.struct("place", "row")).alias("op")
    net = changes.join(F.broadcast(order), ["file", "patch"]).groupBy(*TERMS).agg(last)
    return statements.select(*TERMS).subtract(net.select(*TERMS)).union(net.where("op = 'add'").select(*TERMS))


def main() -> None:
    out, log, *src = sys.argv[1:]
    with session("local[*]") as spark:
        jelly.spark.register(spark)
        # Patches name blank nodes by the labels that the files have.
        read = spark.read.format("jelly").options(layout="ntriples", blankNodes="keep")
        statements = read.load(absolute(src))
        patched(spark, statements, log).write.format("jelly").mode("overwrite").save(out)


if __name__ == "__main__":
    main()
