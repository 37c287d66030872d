"""Streams of statements: the reading loop, Reader, Writer, threads, options that widen, spools."""
