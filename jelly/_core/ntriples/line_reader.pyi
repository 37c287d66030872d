"""N-Triples and N-Quads line by line: comments, VERSION, and delimiters of messages."""
