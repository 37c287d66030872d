"""Statements as numbers: `read_ids`, tables of the layout ids, and graphs of other libraries made of them."""
