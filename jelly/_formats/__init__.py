"""The formats: one registry, and one codec a module."""
