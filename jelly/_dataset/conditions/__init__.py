"""Conditions on statements, decided on the term ids of a Batch."""
