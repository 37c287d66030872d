"""Bytes in and out: sources, sinks, compression, and the readers and writers of statements."""
