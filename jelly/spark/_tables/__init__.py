"""Tables for work with graphs, made by `jelly.spark.ingest` with ``layout`` ids, vertical or wide.

- `buckets`: rows in partitions by the hash of a term, which all of these layouts begin with.
- `ids`: numbers for terms: the tables ``terms`` and ``triples``.
- `vertical`: a table for each predicate; `wide`: a table for each class.
- `graph`: vertices and edges for GraphFrames, the only module here that needs Spark.
"""
