"""Errors of the core: a code, a location and two numbers. Only fault.pyx turns them into exceptions."""

def _codes() -> list[int]:
    """All codes that have a message, for the tests."""
