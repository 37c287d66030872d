"""Structured Streaming: what a query has read, and the readers and the sink of streams.

- `streams`: a directory with new files, a file that grows, and a sink of Jelly files. It needs Spark 4.2.
- `offsets`: what a query has read of a directory and of a file that grows.
"""
