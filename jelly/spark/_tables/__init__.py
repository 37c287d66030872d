"""Tables for work with graphs.

- `ids`: numbers for terms: the tables ``terms`` and ``triples``.
- `plans`: a table for each predicate or class: names, types and columns.
- `buckets`: how `jelly.spark.ingest` makes all of these from files, in partitions by the hash of a term.
- `frames`: how Spark makes them of DataFrames; and vertices and edges. The only module here that needs Spark.
"""
