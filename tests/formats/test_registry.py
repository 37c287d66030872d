"""The registry: each name leads to one format of its content, and a format has the same name everywhere."""

from __future__ import annotations

import pytest

from jelly import JellyError
from jelly._formats.registry import REGISTRY, Content, find


@pytest.mark.parametrize("content", Content)
def test_each_name_leads_to_one_format(content: Content) -> None:
    taken: dict[str, str] = {}
    for name, format in REGISTRY[content].items():
        assert (format.name, format.content) == (name, content)
        for other in (name, *format.suffixes, *format.media_types):
            assert taken.setdefault(other, name) == name, f"{other} is {taken[other]} and {name}"
            assert find(other, content=content) is format
            assert find(other.upper(), content=content) is format
        for suffix in format.suffixes:
            assert find(None, f"x{suffix}", content=content) is format
            assert find(None, f"x{suffix}.gz", content=content) is format
            assert find(suffix[1:], content=content) is format


def test_the_same_format_has_the_same_name_everywhere() -> None:
    names: dict[str, set[str]] = {}
    for formats in REGISTRY.values():
        for format in formats.values():
            names.setdefault(format.title, set()).add(format.name)
    assert {title: found for title, found in names.items() if len(found) > 1} == {}


@pytest.mark.parametrize("content", Content)
def test_what_nothing_is_called(content: Content) -> None:
    kind = "" if content is Content.STATEMENTS else f" for {content.value}"
    with pytest.raises(JellyError, match=f"unknown format 'doc'{kind}: expected one of "):
        find("doc", content=content)
    with pytest.raises(JellyError, match=rf"unknown suffix '\.doc' of x\.doc{kind}: expected one of "):
        find(None, "x.doc", content=content)
    if content in (Content.RESULTS, Content.TABLE):
        with pytest.raises(JellyError, match=f"no format{kind}: expected one of "):
            find(None, content=content)


def test_limits_of_results_are_those_of_their_readers() -> None:
    for name, limit in (("json", "max_document_bytes"), ("xml", "max_text_bytes"), ("tsv", "max_text_bytes")):
        format = REGISTRY[Content.RESULTS][name]
        assert format.reading == {limit, "max_expansion"}
        assert format.open_reader(**{limit: 100}).variables is None


@pytest.mark.parametrize("content", [content for content in Content if content is not Content.TABLE])
def test_each_format_says_what_it_can_hold(content: Content) -> None:
    for format in REGISTRY[content].values():
        assert format.capabilities is not None


@pytest.mark.parametrize(("suffix", "name"), [(".nts", "nt"), (".nqs", "nq"), (".ttls", "ttl"), (".trigs", "trig")])
def test_suffixes_of_rdf_star(suffix: str, name: str) -> None:
    assert find(None, f"movies{suffix}.gz").name == name
