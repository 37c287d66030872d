"""The pages of the reference that are made from the package are complete."""

from __future__ import annotations

import json
import re
import sys
from types import SimpleNamespace

import pytest
from support.pages import DOCS, ROOT, pages

for extra in ("click", "rich"):
    pytest.importorskip(extra, reason="the reference describes the command")
sys.path.insert(0, str(DOCS / "site"))

import generated  # noqa: E402
import performance  # noqa: E402
import public  # noqa: E402

import jelly  # noqa: E402
from jelly._formats import registry  # noqa: E402
from jelly.cli.commands import cli  # noqa: E402
from jelly.spark._options import OPTIONS  # noqa: E402

PAGES = generated.pages()
NAVIGATION = (DOCS / "site" / "mkdocs.yml").read_text("utf-8")


def test_every_public_name_has_a_page() -> None:
    assert public.missing() == []
    described = public.described()
    assert {"jelly.Reader", "jelly.errors.JellyError", "jelly.kafka.JellySerializer"} <= described.keys()
    for name, page in described.items():
        assert f"::: {name}\n" in PAGES[f"reference/api/{page.path}"]


def test_a_name_without_a_page_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public, "PAGES", [page for page in public.PAGES if page.module != "jelly.kafka"])
    assert "jelly.kafka" in public.missing()
    assert "jelly.kafka.JellySerializer" in public.missing()


def test_the_public_names_are_those_of_the_modules() -> None:
    assert set(public.exported("jelly")) == set(jelly.__all__)
    assert "jelly.spark" in public.modules()


def test_every_page_is_in_the_navigation() -> None:
    assert [path for path in PAGES if f": {path}\n" not in NAVIGATION and f"- {path}\n" not in NAVIGATION] == []


def test_every_command_and_option() -> None:
    found = dict(generated.leaves(cli, ("jelly",)))
    assert {("jelly", "convert"), ("jelly", "patch", "apply"), ("jelly", "serve")} <= found.keys()
    for words, command in found.items():
        page = PAGES[f"reference/commands/jelly-{words[1]}.md"]
        assert f"(commands/jelly-{words[1]}.md)" in PAGES["reference/command-line.md"]
        section = page[page.index(f"```text\n{' '.join(words)} ") :].partition("\n## jelly ")[0]
        assert command.help
        for parameter in command.params:
            if parameter.param_type_name == "option":
                assert all(f"`{name}`" in section for name in parameter.opts), (words, parameter.opts)
                assert parameter.help, (words, parameter.opts)


def test_every_format_and_suffix() -> None:
    page = PAGES["reference/formats.md"]
    for name in dir(registry):
        formats = getattr(registry, name)
        if name.endswith("FORMATS"):
            for one in formats.values():
                assert all(f"`{suffix}`" in page for suffix in (*one.suffixes, *one.media_types, one.name))


def test_every_keyword() -> None:
    page = PAGES["reference/options.md"]
    for name in registry.READING | registry.WRITING:
        assert re.search(rf"`{name}`", page), name


def test_every_option_of_spark() -> None:
    page = PAGES["reference/spark-options.md"]
    for name, row in OPTIONS.items():
        assert f"| `{name}` |" in page
        assert row.help in page


def test_every_error() -> None:
    for name in jelly.errors.__all__:
        assert f"[`{name}`][jelly.errors.{name}]" in PAGES["reference/api/errors.md"]


def test_the_picture_of_speed_is_current() -> None:
    """If this fails: python docs/site/performance.py."""
    assert performance.PICTURE.read_text("utf-8") == performance.picture()


def test_the_page_of_speed_has_every_figure() -> None:
    page = performance.page()
    known = json.loads(performance.FIGURES.read_text("utf-8"))
    results = known["results"]
    for one in results:
        assert one["work"] in performance.TITLES
        assert one["who"] in page
    assert "bench/report.py" in page
    versions = known["machine"]["packages"]
    for name, package, call in performance.CALLS:
        assert f"| {name} | {versions[package]} | {call} |" in page
    others = {"sizes", "growth", "threads", "memory", "search", "search on Spark", "verbs"}
    assert "jelly sort, 226 MiB" in page
    assert known.keys() == {"machine", "results"} | others
    assert page.count("<svg") == len({one["work"] for one in results}) + len(others)


def test_what_is_unstable_is_marked() -> None:
    stability = (DOCS / "explanation" / "stability.md").read_text("utf-8")
    assert "**unstable**: RDF Messages" in stability
    # The mark in the docstring is the only one.
    assert not [path for path, text in PAGES.items() if path.startswith("reference/api/") and "!!! warning" in text]
    pytest.importorskip("griffe", reason="mkdocstrings is not installed: run `make docs`")
    import compiled

    choices = "    mode : {'a', 'b'}, optional"  # griffe would take the first choice for the default
    assert compiled._CHOICES.sub(r" : \1, \2", choices) == "    mode : 'a', 'b', optional"

    box = '!!! warning "Unstable"\n\n    This follows a draft. It may change in a MINOR version.\n'
    assert compiled.boxed("What.\n\nUnstable: this follows a draft.\n") == f"What.\n\n{box}"
    assert compiled.boxed("Unstable things\n") == "Unstable things\n"


def test_links_to_files_of_the_project_lead_to_its_repository() -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: run `make docs`")
    import hooks

    repository = "https://github.com/jelly-rdf/jelly-python/blob/main/"
    found = []
    for path in pages():
        page = SimpleNamespace(file=SimpleNamespace(src_uri=path))
        text = hooks.on_page_markdown((DOCS / path).read_text("utf-8"), page, None, None)
        for link in re.findall(r"\]\(([^)#]+)", text):
            if link.startswith(repository):
                found.append(link.removeprefix(repository))
                assert (ROOT / found[-1]).exists(), f"{path}: {link}"
            elif not link.startswith("https://"):
                assert (DOCS / path).parent.joinpath(link).resolve().is_relative_to(DOCS), f"{path}: {link}"
    assert {"proto/broker.proto", "docs/examples/Containerfile", "tests/letter/requirements.csv"} <= set(found)


def test_the_search_prefers_what_newcomers_ask() -> None:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: run `make docs`")
    import hooks

    boosts = {}
    for path in (*pages(), "performance.md", "reference/api/patch.md", "reference/command-line.md"):
        page = SimpleNamespace(file=SimpleNamespace(src_uri=path), meta={})
        hooks.on_page_content("", page, None, None)
        boosts[path] = page.meta.get("search", {}).get("boost", 1)
    assert boosts["install.md"] > boosts["how-to/files.md"] > boosts["limits.md"] > boosts["performance.md"]
    assert boosts["how-to/streams.md"] > boosts["reference/api/patch.md"]


def test_the_figures_of_the_readme_are_those_of_the_page() -> None:
    """Rounded once, from the same measurements."""
    known = {}
    for one in json.loads(performance.FIGURES.read_text("utf-8"))["results"]:
        if "statements/s" in one:
            known[one["work"], one["who"], one["data"]] = one["statements/s"] / 1e6
    lines = [line.replace("*", "") for line in (ROOT / "README.md").read_text("utf-8").splitlines() if line[:2] == "| "]
    [head] = [line for line in lines if line.startswith("| work |")]
    data = [cell.strip() for cell in head.split("|")[3:-1]]
    rows: dict[tuple[str, str], list[float]] = {}
    work = ""
    for line in lines[lines.index(head) + 2 :]:
        task, who, *cells = (cell.strip() for cell in line.split("|")[1:-1])
        work = task or work
        rows[work, who] = [float(cell) for cell in cells]
    decode, encode = "decode to Python terms", "encode from Python terms"
    for row, (work, who) in {
        (decode, "jelly"): ("decode", "jelly loop"),
        (decode, "Jelly-JVM, to terms of Java"): ("decode", "Jelly-JVM"),
        (decode, "pyoxigraph, from N-Triples or N-Quads"): ("decode", "pyoxigraph text loop"),
        ("decode to columns of ids", "jelly"): ("decode", "jelly Batch"),
        (encode, "jelly"): ("encode", "jelly terms"),
        (encode, "pyoxigraph, to N-Triples or N-Quads"): ("encode", "pyoxigraph text"),
        (encode, "Jelly-JVM, from terms of Java"): ("encode", "Jelly-JVM"),
        ("text to Jelly", "jelly"): ("text", "jelly text to Jelly"),
    }.items():
        measured = [known[work, who, name] for name in data]
        assert rows[row] == [float(f"{rate:.1f}" if rate > 1 else f"{rate:.2f}") for rate in measured], row
