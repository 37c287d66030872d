"""Gives compiled classes the names that users import, such as `jelly.IRI`."""

from cpython.object cimport PyTypeObject

# The names that types refer to, which are never freed.
_names = []


def set_type_name(type kind not None, str name not None):
    """Call a class of the core ``name``, such as ``"jelly.IRI"``: what it says it is, in tracebacks and in pickles."""
    text = name.encode()
    _names.append(text)
    (<PyTypeObject*>kind).tp_name = text
