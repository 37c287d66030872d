"""Jelly files with an index, read in part, and the index of one in a file beside it."""
