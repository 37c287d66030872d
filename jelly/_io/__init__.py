"""Input and output: sources, sinks, compression, and the readers and writers of statements."""
