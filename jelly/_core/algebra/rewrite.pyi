"""Rows of a Batch for another one, whose terms have other ids."""
