"""Jelly frames to Batches: rows, lookup entries and statements, without the GIL."""
