"""Public classes and functions report the module from which users import them."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any

from jelly._core.base.objects import set_type_name

_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class that Python code made


def name_public(module: str, names: Iterable[str], namespace: dict[str, Any]) -> None:
    """Set ``__module__`` to ``module`` for the classes and functions of these ``names`` that jelly defines.

    In the ``namespace`` of a module these are then the names that dir() shows.

    >>> import jelly
    >>> jelly.IRI, jelly.Reader.__module__, jelly.read.__module__
    (<class 'jelly.IRI'>, 'jelly', 'jelly')
    """
    if "__name__" in namespace:
        namespace.setdefault("__dir__", lambda: sorted(names))
    for name in names:
        thing = namespace.get(name)
        if isinstance(thing, ModuleType) or not getattr(thing, "__module__", "").startswith("jelly."):
            continue
        if isinstance(thing, type) and not thing.__flags__ & _HEAP_TYPE:
            set_type_name(thing, f"{module}.{name}")
        elif isinstance(thing, type | FunctionType):
            thing.__module__ = module
