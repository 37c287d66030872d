"""What is in a frame of columns (Jelly-RDF 1.2): packed lookup entries, and terms as runs, kinds, ids and strings."""
