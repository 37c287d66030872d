"""Jelly-RDF 1.2: columns of terms to the rows of a Batch, without the GIL. The layout is not final.

A frame is opened first: its rows, its lookup entries, and of each column the lists, whose lengths must go together.
Then its rows are read in steps, column by column. A step may end in the middle of a run, so a frame of many rows is
given out in several Batches; the term of the run is carried on as the terms of the last statement are in rows.
"""
