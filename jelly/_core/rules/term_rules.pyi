"""Checks of the text of one term: which parts a format cannot hold."""
