"""The Python of README and docs/ as modules, one a page, for the type checkers (`make types`)."""

from __future__ import annotations

import re
from pathlib import Path

from support.pages import ROOT, pages, programs_at

# Names that a page gets from what runs it.
_GIVEN = {
    "spark": "from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()",
    "paths": "paths: list[str] = []",
}


def write_modules(folder: Path) -> list[str]:
    """Write a module for each page with Python into ``folder``; their lines have the numbers of those of the page.

    ``jelly`` is in a folder of its own beside them, ``types``, where checkers find this copy and no other.
    """
    (folder / "types").mkdir()
    (folder / "types" / "jelly").symlink_to(ROOT / "jelly", target_is_directory=True)
    made = []
    for page in (ROOT / "README.md", *pages()):
        lines = [""]
        for line, text in programs_at(page):
            lines += [""] * (line - len(lines)) + text.splitlines()
        text = "\n".join(lines)
        if not text.strip():
            continue
        for name, given in _GIVEN.items():
            if re.search(rf"(?<![\w.\"])(?<!import ){name}(?=[.,)])", text) and f"\n{name} = " not in text:
                lines[0] += given
        name = Path(page).with_suffix("").as_posix().removeprefix(f"{ROOT}/")
        made.append(f"page_{re.sub(r'[^a-zA-Z0-9]', '_', name)}.py")
        (folder / made[-1]).write_text("\n".join(lines) + "\n")
    return made
