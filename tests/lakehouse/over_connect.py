"""Merges under Spark Connect, with a server of its own: ``over_connect.py FOLDER JARS`` prints what the tables hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spark"))

COLUMNS = "op string, file string, row long, s string, p string, o string, g string"


def main() -> None:
    from cluster import RESULT
    from pyspark.sql import SparkSession

    import jelly.spark

    folder, jars = sys.argv[1:]
    builder: Any = SparkSession.builder
    builder = builder.remote("local[2]").config("spark.driver.extraClassPath", jars)
    conf = {
        "spark.driver.memory": "768m",
        "spark.local.dir": f"{folder}/local",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": f"{folder}/iceberg",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in conf.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    assert "connect" in type(spark).__module__
    jelly.spark.register(spark, functions=True)

    def patch(*changes: tuple[str, int]) -> Any:
        rows = [(op, "f", row, f"<a:{n}>", "<a:p>", "<a:o>", "<a:g>") for row, (op, n) in enumerate(changes)]
        return spark.createDataFrame(rows, COLUMNS)

    found: dict[str, Any] = {"api": api(spark, Path(folder, "api"))}
    for format, table in {"delta": "default.t", "iceberg": "ice.db.t"}.items():
        first = jelly.spark.merge(patch(("add", 1), ("add", 2)), table, create=format, transaction=("log", 1))
        again = jelly.spark.merge(patch(("add", 3)), table, transaction=("log", 1))
        patch(("delete", 1), ("add", 4)).coalesce(1).write.parquet(f"{folder}/{format}/in")
        query = jelly.spark.merge(
            spark.readStream.schema(COLUMNS).parquet(f"{folder}/{format}/in"), table,
            checkpoint=f"{folder}/{format}/state[1]", trigger={"availableNow": True},
        )  # fmt: skip
        assert query.awaitTermination(600)
        if error := query.exception():
            raise error
        spark.sql(f"refresh table {table}")
        found[format] = [bool(first), bool(again), sorted(row.s for row in spark.table(table).collect())]
    try:
        jelly.spark.merge(patch(("add", 1)), "default.nothing")
    except jelly.JellyError as error:
        found["nothing"] = str(error)
    print(RESULT + json.dumps(found), flush=True)
    spark.stop()


def api(spark: Any, folder: Path) -> dict[str, Any]:
    """What functions, data sources and jobs give."""
    import jelly.spark

    folder.mkdir()
    files = [str(folder / f"{name}.nt") for name in ("one", "two")]
    for name in ("one", "two"):
        (folder / f"{name}.nt").write_text(f'<a:{name}> <a:p> "1"@en .\n')
    read = spark.read.format("jelly")
    read.option("layout", "ntriples").load(f"{folder}/{{one,two}}.nt").createOrReplaceTempView("t")
    read.load(files[0]).write.format("jelly").mode("append").save(f"{folder}/out")
    counted, errors, left_out = jelly.spark.stats(files, spark=spark, split_bytes=1)
    made = jelly.spark.ingest(files, folder / "table", spark=spark, split_bytes=1)
    jelly.spark.ingest(files, folder / "ids", spark=spark, layout="ids", buckets=2)
    jelly.spark.ingest(files, folder / "delta", spark=spark, split_bytes=1, to="delta", sort=["subject"])
    compacted = jelly.spark.compact_table(folder / "delta", spark=spark)
    statements = read.load(files)
    triples, terms = jelly.spark.to_ids(statements)
    return {
        "compacted": [compacted.compacted, compacted.compacted_to],
        "frames": [triples.count(), terms.count(), jelly.spark.vertical(statements)["a:p"].count()],
        "ingest": [made.statements, spark.read.parquet(f"{folder}/table").count(),
                   spark.read.parquet(f"{folder}/ids/terms").count()],
        "read": read.load(f"{folder}/*.nt").count(),
        "written": spark.sql(f"select count(*) n from read_jelly('{folder}/out')").first().n,
        "sql": sorted(list(row) for row in spark.sql("select lexical(o), lang(o), is_iri(s) from t").collect()),
        "stats": [counted.statements, errors, left_out],
    }


if __name__ == "__main__":
    main()
