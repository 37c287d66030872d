"""The registry of formats, and one codec per family of formats."""
