"""From Jelly files to a Parquet table and SQL: the predicates used most, and paths of two statements.

    python bench/spark/example.py OUT SRC...

Run it again after files have come or changed: only those are read.
"""

from __future__ import annotations

import sys
from typing import Any

from jelly.spark._ingest import ingest
from jelly.spark._jobs import session

TOP_PREDICATES = """
    select predicate, count(*) as statements, count(distinct subject) as subjects
    from statements group by predicate order by statements desc, predicate limit 10
"""

# What leads where: ?a first ?b . ?b second ?c
TWO_HOPS = """
    select one.predicate as first, two.predicate as second, count(*) as paths
    from statements one join statements two on one.object = two.subject
    where one.object_kind in ('iri', 'bnode')
    group by first, second order by paths desc, first, second limit 10
"""


def tabulate(spark: Any, src: list[str], out: str) -> tuple[list[Any], list[Any]]:
    """Bring the files into the table ``out``; the rows of both queries over it."""
    done = ingest(src, out, spark=spark)
    print(f"{done.statements:,} statements of {done.sources} files, {done.seconds:.1f} s", file=sys.stderr)
    spark.read.parquet(out).createOrReplaceTempView("statements")
    return spark.sql(TOP_PREDICATES).collect(), spark.sql(TWO_HOPS).collect()


def main() -> None:
    out, *src = sys.argv[1:]
    with session("local[*]") as spark:
        for rows in tabulate(spark, src, out):
            for row in rows:
                print(*row, sep="\t")


if __name__ == "__main__":
    main()
