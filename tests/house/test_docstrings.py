"""Every public name is documented once: a summary, and each parameter that is not a shared keyword.

Shared keywords are explained in `jelly.ReadOptions` and `jelly.WriteOptions` alone: a function repeats one only to say
something of its own. A function with a type says in it what it returns, and a trivial one has one line.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly._options.keywords import MANY, READ, WRITE, ReadOptions, SourceOptions, WriteOptions

MODULES = (
    "jelly", "jelly.arrow", "jelly.errors", "jelly.grpc", "jelly.messages", "jelly.oxigraph", "jelly.patch",
    "jelly.plot", "jelly.rdflib", "jelly.results", "jelly.spark", "jelly.stats",
)  # fmt: skip
SECTIONS = {
    "Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "References", "Examples",
}  # fmt: skip
SHARED = {*READ, *WRITE, *MANY}
CORE = Path(jelly.__file__).parent / "_core"


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by title; what stands before the first of them has the title ""."""
    found = {"": ""}
    title = ""
    lines = inspect.cleandoc(text).splitlines()
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1]):
            title = line
            found[title] = ""
        elif not re.fullmatch(r"-{3,}", line):
            found[title] += line + "\n"
    return found


def entries(text: str) -> set[str]:
    """The names that a section of parameters or attributes describes: ``name : type`` or ``one, two : type``."""
    heads = re.findall(r"^([\w*][\w*, ]*?) : \S.*\n    +\S", text, re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def stub_signatures() -> dict[tuple[str, str], tuple[list[str], bool]]:
    """Parameters of the methods of compiled classes, and whether they return something, from the stubs."""
    found = {}
    for path in CORE.rglob("*.pyi"):
        for owner in ast.parse(path.read_text()).body:
            if isinstance(owner, ast.ClassDef):
                for node in owner.body:
                    if isinstance(node, ast.FunctionDef):
                        given = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
                        names = [argument.arg for argument in given][1:]
                        returns = node.returns is not None and ast.unparse(node.returns) != "None"
                        found[owner.name, node.name] = (names, returns)
    return found


STUBS = stub_signatures()


def is_compiled(owner: type) -> bool:
    return not owner.__flags__ & 1 << 9


def parameters(thing: Callable[..., Any], owner: type | None = None) -> tuple[list[str], bool]:
    """The parameters of a callable without ``self``, and whether it returns something."""
    if isinstance(thing, type):
        if is_compiled(thing):
            for name in ("__new__", "__init__"):
                if (thing.__name__, name) in STUBS:
                    return STUBS[thing.__name__, name][0], False
            return [], False
        made = inspect.unwrap(thing.__init__) if hasattr(thing.__init__, "keywords") else thing
        return [name for name in inspect.signature(made).parameters if name != "self"], False
    if owner is not None and is_compiled(owner):
        return STUBS[owner.__name__, thing.__name__]
    signature = inspect.signature(inspect.unwrap(thing))  # not that with the shared keywords, which are explained once
    names = [*signature.parameters]
    return names[names[:1] in (["self"], ["cls"]) :], signature.return_annotation not in (
        None, "None", inspect.Signature.empty,
    )  # fmt: skip


def public() -> Iterator[tuple[str, Any, type | None]]:
    """Every public class and function, and every public method and property of the classes, once."""
    seen: set[int] = set()
    for module_name in MODULES:
        try:
            module = importlib.import_module(module_name)
        except jelly.MissingExtraError:
            continue
        for name in module.__all__:
            thing = getattr(module, name)
            if not inspect.isroutine(thing) and not isinstance(thing, type) or id(thing) in seen:
                continue
            seen.add(id(thing))
            yield f"{module_name}.{name}", thing, None
            if isinstance(thing, type):
                for base in thing.__mro__:
                    if not base.__module__.startswith("jelly"):
                        continue
                    for member, value in vars(base).items():
                        value = getattr(value, "__func__", value)
                        # Attributes of compiled classes that are no properties cannot have a docstring.
                        is_documented = inspect.isgetsetdescriptor(value) and value.__doc__
                        is_own = inspect.isroutine(value) or isinstance(value, property) or is_documented
                        if not member.startswith("_") and is_own and id(value) not in seen:
                            seen.add(id(value))
                            yield f"{module_name}.{name}.{member}", value, base


PUBLIC = list(public())


@pytest.mark.parametrize(("name", "thing", "owner"), PUBLIC, ids=[name for name, _, _ in PUBLIC])
def test_docstring(name: str, thing: Any, owner: type | None) -> None:
    text = thing.__doc__
    assert text, "no docstring"
    parts = sections(text)
    summary = parts[""].split("\n\n")[0].strip()
    assert re.match(r"[A-Z`\"*]", summary), f"the summary begins with no capital letter: {summary!r}"
    assert re.search(r"[.:]`*\Z", summary), f"the summary ends without a period: {summary!r}"
    assert parts.keys() - {""} <= SECTIONS, f"unknown sections {parts.keys() - SECTIONS}"
    if isinstance(thing, property | functools.cached_property) or inspect.isgetsetdescriptor(thing):
        return
    if isinstance(thing, type):
        described = entries(parts.get("Parameters", "")) | entries(parts.get("Attributes", ""))
        if issubclass(thing, enum.Enum):
            assert set(thing.__members__) <= described, set(thing.__members__) - described
            return
        if issubclass(thing, Exception) and thing is not jelly.JellyError:
            return  # the parameters are those of JellyError
        if thing in (ReadOptions, WriteOptions, SourceOptions):
            assert described == (MANY if thing is SourceOptions else thing.__annotations__).keys()
            return
        if dataclasses.is_dataclass(thing):
            missing = {field.name for field in dataclasses.fields(thing)} - described
            assert not missing, f"fields without a description: {sorted(missing)}"
            return
        needed, _ = parameters(thing)
    else:
        described = entries(parts.get("Parameters", ""))
        needed, _ = parameters(thing, owner)
    missing = undescribed(needed, described, text)
    assert not missing, f"parameters without a description: {sorted(missing)}"
    if not isinstance(thing, type):
        unknown = described - set(needed)
        assert not unknown, f"described, but no parameters: {sorted(unknown)}"


def undescribed(needed: Collection[str], described: Collection[str], text: str) -> set[str]:
    """The parameters of which nothing is said: no shared keywords, not the only one, and not named in a sentence."""
    missing = {name for name in needed if name not in described and f"``{name}" not in text}
    # Those that are passed on: the text names the function that has them.
    own = missing - SHARED - ({"settings", "options", "limits"} if "keywords of `" in text else set())
    return set() if len(needed) == 1 else own


# Rooms of which the docstrings keep to the rule about what is returned.
SHORT = (
    "_bytes", "_options", "_streams", "kafka", "rdflib", "spark", "arrow.py", "oxigraph.py", "plot.py", "polars.py",
    "stats.py", "_formats", "patch", "messages", "results.py",
)  # fmt: skip


def returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """What a docstring says in the section of the returned value, without its type."""
    text = sections(ast.get_docstring(node) or "")
    return " ".join(re.findall(r"^ +(.*)", text.get("Returns", "") + text.get("Yields", ""), re.MULTILINE))


@pytest.mark.parametrize("room", SHORT)
def test_no_section_repeats_the_type_that_is_returned(room: str) -> None:
    place = CORE.parent / room
    for path in [place] if place.suffix else sorted(place.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
                told = returned(node)
                assert not told or len(told.split()) > 12, f"{path.name}: {node.name} returns: {told}"


def test_the_check_finds_what_is_missing() -> None:
    text = """Do it.

    Parameters
    ----------
    one, two : int
        Two numbers.
    **more : Any
        Others.
    three : int

    Returns
    -------
    int
        Their sum.
    """
    parts = sections(text)
    assert list(parts) == ["", "Parameters", "Returns"]
    (function,) = ast.parse(f'def f() -> int:\n    """{text}"""').body
    assert isinstance(function, ast.FunctionDef)
    assert returned(function) == "Their sum."
    assert entries(parts["Parameters"]) == {"one", "two", "more"}
    assert len(PUBLIC) > 250
    assert undescribed(["one", "two", "three", "seekable"], entries(parts["Parameters"]), text) == {"three"}
    assert undescribed(["one"], (), text) == set()
    assert undescribed(["one", "two"], (), "Do it ``two`` times.") == {"one"}
    assert parameters(jelly.Encoder.encode, jelly.Encoder) == (["batch", "keep_frames"], True)
    assert parameters(jelly.dumps) == (["statements", "options", "delimited"], True)
