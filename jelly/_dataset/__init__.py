"""Whole files and sets of files: sources, conditions, sort, unique, split, ids, index, random access, append."""
