"""Inputs of all kinds: one or several sources, their formats and their blank nodes."""
