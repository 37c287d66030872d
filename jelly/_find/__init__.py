"""Statements that match a pattern, in files of all formats, and tables that read only what is asked of them."""
