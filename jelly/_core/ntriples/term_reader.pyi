"""N-Triples and N-Quads to Batches: lines, statements and terms, without the GIL and without copying the input."""
