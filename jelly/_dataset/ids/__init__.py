"""Statements as arrays and tables of ids."""
