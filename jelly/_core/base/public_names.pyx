"""Gives compiled classes the names that users import, such as `jelly.IRI`."""

from cpython.object cimport PyTypeObject

# Names that types refer to. They are never freed.
_names = []


def set_type_name(type kind not None, str name not None):
    """Set the name of a class of the core, such as ``"jelly.IRI"``, that tracebacks and pickles use."""
    text = name.encode()
    _names.append(text)
    (<PyTypeObject*>kind).tp_name = text
