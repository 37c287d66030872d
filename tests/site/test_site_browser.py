"""The built site in a real browser: no error, nothing from another host, search, copying, a telephone."""

from __future__ import annotations

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.pages import DOCS, ROOT

for name in ("mkdocs", "material", "mkdocstrings", "click", "rich"):
    pytest.importorskip(name, reason=f"{name} is not installed: run `make docs`")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: run `make docs`")

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    """The address of the site, which is built strictly, and the paths of its pages."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    done = subprocess.run(
        [*command, "-f", str(DOCS / "site" / "mkdocs.yml"), "-d", str(folder)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted(path.parent.relative_to(folder).as_posix() for path in folder.rglob("index.html"))

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            """Keep the output of the tests clean."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/", ["" if page == "." else f"{page}/" for page in pages]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    with playwright.sync_playwright() as driver:
        if path is None and not Path(driver.chromium.executable_path).exists():
            pytest.skip("there is no Chromium: install it, or run `playwright install chromium`")
        # A container often runs as root, where Chromium needs to be told not to use its sandbox.
        found = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_page(site: tuple[str, list[str]], browser: Any, width: int, scheme: str) -> None:
    """No error on the console, no request to another host, and the page is not wider than the screen."""
    base, pages = site
    assert {"", "spark/", "reference/command-line/", "reference/api/terms/"} <= set(pages)
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    problems: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    # The next page is opened while scripts of the one before may still be on their way: that is no failure.
    page.on("requestfailed", lambda one: "ERR_ABORTED" in one.failure or problems.append(f"{one.url}: {one.failure}"))
    page.on("response", lambda answer: answer.status >= 400 and problems.append(f"{answer.url}: {answer.status}"))
    page.on("request", lambda one: one.url.startswith((base, "data:", "blob:")) or problems.append(one.url))
    for name in pages:
        page.goto(base + name)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{name or 'the first page'} is {wide} wide"
        assert page.locator("h1").count() >= 1, name
        assert problems == [], name
    page.close()


def test_search(site: tuple[str, list[str]], browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    # The page listens to the field when its scripts have run, and then to its keys: text that comes without a key, as
    # fill() puts it, is only found if the index is loaded later. Results come while one types.
    page.goto(site[0], wait_until="networkidle")
    field = page.locator("input.md-search__input")
    field.click()
    field.press_sequentially("seekable")
    page.locator("a.md-search-result__link").filter(has_text=re.compile("seekable", re.I)).first.wait_for()
    page.close()


# What newcomers type, and the page that answers it.
QUESTIONS = {
    "convert nt to jelly": "how-to/files/",
    "find one subject": "how-to/files/",
    "patch": "how-to/streams/",
    "memory": "how-to/operation/",
    "what is a jelly file": "explanation/jelly/",
    "read_arrow": "reference/api/tables/",
    "install": "install/",
    "to_pandas": "reference/api/dataset/",
    "kafka": "kafka/",
    "blank nodes": "explanation/blank-nodes/",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_first_result_answers(site: tuple[str, list[str]], browser: Any, question: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(site[0], wait_until="networkidle")
    field = page.locator("input.md-search__input")
    field.click()
    field.press_sequentially(question)
    wanted = QUESTIONS[question]
    first = page.locator("a.md-search-result__link").first
    playwright.expect(first).to_have_attribute("href", re.compile(f"^{re.escape(site[0] + wanted)}(#.*)?([?].*)?$"))
    page.close()


def test_code_can_be_copied(site: tuple[str, list[str]], browser: Any) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{site[0]}spark/")
    code = page.locator("pre > code").first.inner_text()
    page.locator(".md-code__button[data-md-type=copy], .md-clipboard").first.click()
    page.locator(".md-dialog").wait_for(timeout=60_000)
    assert page.evaluate("navigator.clipboard.readText()").strip() == code.strip()
    assert "jelly.spark.register(spark)" in code
    context.close()
