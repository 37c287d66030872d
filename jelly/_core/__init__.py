"""The compiled core. Each of its packages is one library, `compiled`, which holds all modules of the package."""

import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location


class _Libraries:
    """Finds a module in the library of its package (PEP 489, "Multiple modules in one library")."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if not (path and name.startswith(f"{__name__}.") and name.count(".") == 3):
            return None
        file = f"{path[0]}/compiled{EXTENSION_SUFFIXES[0]}"
        return spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))


sys.meta_path.append(_Libraries)
