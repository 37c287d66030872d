"""Compares two wheels of one version, built in different folders: python tests/support/same_wheel.py SECOND FIRST.

The second may have fewer compiled modules and stubs. With all of them the files themselves are compared.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

COMPILED = (".so", ".pyd")
STUB = ".pyi"


def differences(second: Path, first: Path) -> list[str]:
    """What differs between two wheels."""
    with zipfile.ZipFile(second) as one, zipfile.ZipFile(first) as other:
        found, whole = ({name: wheel.read(name) for name in wheel.namelist()} for wheel in (one, other))
    missing = [name for name in whole if name not in found and not name.endswith((*COMPILED, STUB))]
    new = [name for name in found if name not in whole]
    # RECORD has a line for each file.
    other_bytes = [
        name for name, data in found.items()
        if name in whole and whole[name] != data and (found.keys() == whole.keys() or not name.endswith("/RECORD"))
    ]  # fmt: skip
    if not missing + new + other_bytes and found.keys() == whole.keys() and second.read_bytes() != first.read_bytes():
        return ["the archives, though not the files in them"]
    return missing + new + other_bytes


def main(second: str, first: str) -> None:
    wrong = differences(Path(second), Path(first))
    if wrong:
        raise SystemExit(f"two builds differ in {len(wrong)} files: {', '.join(wrong[:10])}")
    with zipfile.ZipFile(second) as one:
        names = one.namelist()
    count = sum(name.endswith(COMPILED) for name in names)
    if not count:
        raise SystemExit(f"{second} has no compiled module")
    print(f"two builds are the same: {len(names)} files, {count} compiled modules among them")


if __name__ == "__main__":
    main(*sys.argv[1:])
