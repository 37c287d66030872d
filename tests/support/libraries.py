"""The compiled libraries of the core and the modules in them, which pkgutil does not see."""

from __future__ import annotations

import re
from pathlib import Path

import jelly._core

CORE = Path(jelly._core.__file__).parent
LIBRARIES = sorted(path for path in CORE.rglob("*") if path.suffix in (".so", ".pyd"))


def module_names() -> list[str]:
    """All compiled modules by the functions that make them."""
    return [
        f"jelly._core.{library.parent.name}.{name.decode()}"
        for library in LIBRARIES
        for name in sorted(set(re.findall(rb"\0PyInit_(\w+)", library.read_bytes())))
    ]
