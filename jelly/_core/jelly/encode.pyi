"""Batches to Jelly frames: LRU lookup tables, repeated terms and ids of 0, without the GIL."""
