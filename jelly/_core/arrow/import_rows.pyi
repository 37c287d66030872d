"""Rows of Arrow string columns, plain or dictionary, into the BatchData of a Batch. Every value is checked."""
