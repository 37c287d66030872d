"""Work in several threads with results in order: pieces of text, segments of Jelly, lines of Batches."""
