"""Hooks of MkDocs: pages that are made, pages that live elsewhere, and a check that nothing is missing."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import generated  # noqa: E402
import performance  # noqa: E402
import public  # noqa: E402
from mkdocs.structure.files import File  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
log = logging.getLogger("mkdocs.hooks.jelly")
# Files of the project that pages refer to are on no page of the site; their names stay as text.
_OUTSIDE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:proto|tests)/[^)]*\)|\[([^\]]+)\]\(examples/[^)]*\)")
# Two fences that belong together say which is which behind the language.
_FENCE = re.compile(r"^```python (\w+)$", re.M)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/."""
    for path, text in {**generated.pages(), "performance.md": performance.page()}.items():
        files.append(File.generated(config, path, content=text))
    text = (ROOT / "jelly" / "docs" / "pyjelly.md").read_text("utf-8")
    files.append(File.generated(config, "how-to/pyjelly.md", content=_FENCE.sub(r'```python title="\1"', text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Leave links to files outside docs/ as text."""
    return _OUTSIDE.sub(lambda match: match[1] or match[2], markdown)


def on_post_build(config: Any) -> None:
    """Fail if a public name has no page, or no docstring on it."""
    for name in public.missing():
        log.warning("%s is on no page: add it to docs/site/public.py", name)
    site = Path(config.site_dir)
    for name, page in public.described().items():
        html = (site / "reference" / "api" / page.path.replace(".md", "") / "index.html").read_text("utf-8")
        if f'id="{name}"' not in html:
            log.warning("%s is not on the page %s: has it a docstring?", name, page.path)
