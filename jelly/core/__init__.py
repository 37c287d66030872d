"""Keeps pickles of earlier versions readable. Use `jelly` instead."""
