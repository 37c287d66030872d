"""Gives compiled classes the names that users import, such as `jelly.IRI`."""

def set_type_name(kind: type, name: str) -> None:
    """Set the name of a class of the core, such as ``"jelly.IRI"``, that tracebacks and pickles use."""
