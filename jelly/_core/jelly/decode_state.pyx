"""State of a decoder: its options, its lookup tables, the frame that is read, the terms that may be repeated."""
