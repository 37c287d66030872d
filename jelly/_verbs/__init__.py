"""Verbs on whole files of statements: concat, append, sort, merge, unique, filter, split and sample."""
