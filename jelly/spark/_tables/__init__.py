"""Tables for work with graphs, made by `jelly.spark.ingest` with ``layout`` ids, vertical or wide.

- `buckets`: rows in partitions by the hash of a term, which all of these layouts begin with.
- `ids`: numbers for terms: the tables ``terms`` and ``triples``.
- `build`: a table for each predicate or class, and the steps in which all of these layouts are made.
- `graph`: vertices and edges for GraphFrames, the only module here that needs Spark.
"""
