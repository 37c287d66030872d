"""Batches to frames of columns (Jelly-RDF 1.2), without the GIL. The layout is not final.

Rows go in two steps. First the lookup entries of each row are made sure of: what the frame refers to stays in the
tables until it ends, and it ends before a row for which a table has no entry left. Then each column takes the terms of
these rows, one column after another.
"""
