"""Bytes in and out: sources, sinks, part files, remote files, compression and workers. It knows no format."""
