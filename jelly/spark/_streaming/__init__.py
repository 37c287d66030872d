"""Structured Streaming: what a query has read, and the readers and the sink of streams.

- `streams`: a directory with new files, a file that grows, and a sink of Jelly files.
- `directory_offset`, `tail`: offsets, which say what a query has read of a directory and of a file that grows.
- `refused`: a stream that cannot be read says why. It needs nothing that Spark 4.1 lacks.
"""
