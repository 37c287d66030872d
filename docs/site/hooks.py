"""Hooks of MkDocs: pages that are made, pages that live elsewhere, and a check that nothing is missing."""

from __future__ import annotations

import logging
import posixpath
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
# Links to files of the project that are on no page of the site.
_OUTSIDE = re.compile(r"\]\(((?:\.\./)+[^)#]*|examples/[^)#]*)\)")
_FILES = "https://github.com/jelly-rdf/jelly-python/blob/main/"
# Two fences that belong together say which is which after the language.
_FENCE = re.compile(r"^```python (\w+)$", re.M)


# How much more, or less, a page counts in the search, by the beginning of its path: first what newcomers ask.
_BOOSTS = {
    "install": 4, "explanation/blank-nodes": 4, "how-to/pyjelly": 1, "how-to/describe": 1, "how-to/": 3,
    "tutorials/": 3, "explanation/jelly": 3, "kafka": 3, "spark.md": 2, "reference/command-line": 2, "performance": 0.3,
    "soak": 0.3, "letter": 0.3, "fuzzing": 0.3, "broker": 0.7, "reference/api/patch": 0.5, "reference/api/spark": 0.5,
    "reference/api/grpc": 0.5, "reference/api/rdflib": 0.5, "reference/api/kafka": 0.5,
}  # fmt: skip


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in docs/."""
    for path, text in {**generated.pages(), "performance.md": performance.page()}.items():
        files.append(File.generated(config, path, content=text))
    text = (ROOT / "jelly" / "docs" / "pyjelly.md").read_text("utf-8")
    files.append(File.generated(config, "how-to/pyjelly.md", content=_FENCE.sub(r'```python title="\1"', text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Let links to other files of the project lead to its repository."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def absolute(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        is_page = path.startswith("docs/") and not path.startswith("docs/examples/")
        return match[0] if is_page else f"]({_FILES}{path})"

    return _OUTSIDE.sub(absolute, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> None:
    """Let the search prefer pages, see `_BOOSTS`."""
    for start, boost in _BOOSTS.items():
        if page.file.src_uri.startswith(start):
            page.meta.setdefault("search", {"boost": boost})


def on_post_build(config: Any) -> None:
    """Fail if a public name has no page, or no docstring on it."""
    for name in public.missing():
        log.warning("%s is on no page: add it to docs/site/public.py", name)
    site = Path(config.site_dir)
    for name, page in public.described().items():
        html = (site / "reference" / "api" / page.path.replace(".md", "") / "index.html").read_text("utf-8")
        if f'id="{name}"' not in html:
            log.warning("%s is not on the page %s: has it a docstring?", name, page.path)
