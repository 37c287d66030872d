"""The table of keywords is true: its types are those of signatures, and formats have no other keywords."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

import jelly
from jelly._formats.registry import (
    MESSAGE_READING,
    PATCH_READING,
    READING,
    REGISTRY,
    RESULT_READING,
    VERSIONS,
    WRITING,
    Content,
)
from jelly._options.keywords import MANY, READ, WRITE, ReadOptions, SourceOptions, WriteOptions, described, type_of
from jelly._options.limits import SETTABLE
from jelly._options.spelling import spelled

TYPED: list[tuple[Any, dict[str, Any]]] = [(ReadOptions, READ), (WriteOptions, WRITE)]


@pytest.mark.parametrize(("kind", "table"), TYPED, ids=["read", "write"])
def test_each_row_has_a_type(kind: Any, table: dict[str, Any]) -> None:
    assert list(kind.__annotations__) == list(table)
    assert not kind.__required_keys__
    for name, row in table.items():
        assert row.name == name
        assert row.help.endswith("."), name
        assert f"{name} : " in kind.__doc__


def test_sources_on_spark() -> None:
    """Functions of Spark take what the class has of its own, and what any format may have."""
    files = pytest.importorskip("jelly.spark._parts.files", reason="pyarrow is not installed")
    assert list(SourceOptions.__annotations__) == [*READ, *MANY]
    of_any = {"format", "on_error", "blank_nodes", "skolem_base"}
    assert MANY.keys() | of_any == files.OF_MANY - files.READING_LIMITS
    for name, row in MANY.items():
        assert row.name == name
        assert f"{name} : " in (SourceOptions.__doc__ or "")
    assert spelled("raise split_bytes to read it at once", "Spark") == "raise splitBytes to read it at once"


def test_formats_have_no_other_keywords() -> None:
    limits = {limit.name for limit in SETTABLE}
    assert set(READ) >= READING | PATCH_READING | RESULT_READING | MESSAGE_READING | VERSIONS | limits
    assert {*WRITE, "options"} >= WRITING


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions and classes that take what a user has to write."""
    for module in ("jelly", "jelly.patch", "jelly.messages", "jelly.results"):
        owner = importlib.import_module(module)
        for name in owner.__all__:
            thing = getattr(owner, name)
            if getattr(getattr(thing, "__init__", thing), "keywords", getattr(thing, "keywords", None)):
                yield f"{module}.{name}", thing


def words(kind: Any) -> set[Any]:
    """The parts of a type: the members of a union, the words of a Literal."""
    return {word for part in get_args(kind) or (kind,) for word in get_args(part) or (part,)}


@pytest.mark.parametrize(("name", "thing"), list(functions()), ids=[name for name, _ in functions()])
def test_signatures_have_the_types_of_the_table(name: str, thing: Callable[..., Any]) -> None:
    function = thing.__init__ if isinstance(thing, type) else thing  # type: ignore[misc]
    inner = inspect.unwrap(function)
    for parameter in inspect.signature(inner).parameters.values():
        if parameter.name not in READ | WRITE or parameter.name in OTHERS | OF_ONE.get(name, set()):
            continue
        annotation = parameter.annotation
        try:
            kind = eval(annotation, inner.__globals__) if isinstance(annotation, str) else annotation
        except NameError:  # of a module that only type checkers import
            continue
        assert words(kind) <= words(type_of(parameter.name)) | {type(None)}, parameter


# These also take objects that only the package makes; and the words of one function that mean something else there.
OTHERS = {"threads", "library"}
OF_ONE = {"jelly.messages.Message": {"index"}}


def test_the_section_of_a_docstring() -> None:
    text = described([READ["on_error"]], ReadOptions.__annotations__)
    assert text.splitlines()[2] == "on_error : Literal['raise', 'skip'], default 'raise'"


def test_passed_keywords_are_checked_by_their_types() -> None:
    for name, value, expected in (
        ("lenient", "no", "bool"), ("max_row_bytes", "x", "a whole number"), ("message", "RDF", '"rows"'),
    ):  # fmt: skip
        with pytest.raises(jelly.JellyArgumentError, match=f"{name} is '{value}': expected .*{expected}"):
            jelly.read(b"", format="protobuf", **{name: value})  # type: ignore[arg-type]


# These say themselves for which of their formats they are.
OF_THE_WRITER = {"max_expansion", "strict", "on_error", "message", "base", "default_quads"}


def test_rows_name_the_formats_that_have_them() -> None:
    formats = [REGISTRY[content] for content in (Content.STATEMENTS, Content.PATCH, Content.RESULTS)]
    for format in [format for each in formats for format in each.values()]:
        for table, names in ((READ, format.reading), (WRITE, format.writing)):
            for name in names - OF_THE_WRITER:
                told = table[name].formats
                # Results of queries in RDF Thrift are "their results", and those of text have limits of their own.
                assert not told or format.title in told or "results" in told, (format.title, name)


def test_the_keywords_are_in_the_signature() -> None:
    """IPython completes what `inspect.signature` gives."""
    for name, thing in functions():
        owner = getattr(thing, "__init__", thing) if isinstance(thing, type) else thing
        assert set(owner.keywords) <= inspect.signature(thing).parameters.keys(), name  # type: ignore[union-attr]
    told = inspect.signature(jelly.read).parameters
    assert list(told)[:3] == ["src", "format", "delimited"]
    assert (told["format"].default, told["strict"].default, told["batch_rows"].default) == (None, False, 32768)
    assert "options" not in told
    assert inspect.signature(jelly.Writer).parameters["delimited"].default is True


def test_ipython_completes_keywords() -> None:
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    completer = importlib.import_module("IPython.core.completer")
    made = shell.InteractiveShell.instance()
    made.run_cell("import jelly")
    for text, wanted in {
        "jelly.read('x', fo": "format=",
        "jelly.write('x', [], see": "seekable=",
        "jelly.find('x', bla": "blank_nodes=",
        "jelly.Reader('x', on_e": "on_error=",
    }.items():
        with completer.provisionalcompleter():
            assert wanted in [one.text for one in made.Completer.completions(text, len(text))], text
