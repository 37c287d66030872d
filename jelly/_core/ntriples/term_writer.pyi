"""Batches to N-Triples and N-Quads: lengths are measured first, so that bytes are written without tests."""
