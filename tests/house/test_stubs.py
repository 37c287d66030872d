"""Stubs of the compiled modules: their docstrings come with the wheel, their signatures are those of the classes."""

from __future__ import annotations

import ast
import importlib
import inspect
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
STUBS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path.with_suffix(".pyi")
    for path in sorted((ROOT / "jelly" / "_core").rglob("*.pyx"))
}
NODES = ast.ClassDef | ast.FunctionDef


@pytest.fixture(scope="module")
def documented() -> Callable[[str, str], str]:
    """What makes a stub as it is in a wheel, of the stub and the source."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setuptools.setup", lambda **_: None)
        patch.chdir(ROOT)
        made: Callable[[str, str], str] = runpy.run_path("setup.py")["documented"]
    return made


def docstring_of(owner: Any, name: str) -> str | None:
    """The docstring that a class or module has for a name; Python writes those of special methods itself."""
    found = vars(owner).get(name)
    text = getattr(getattr(found, "__func__", found), "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) and not name.startswith("__") else None


@pytest.mark.parametrize("name", STUBS)
def test_docstrings_stand_in_the_sources_alone(name: str, documented: Callable[[str, str], str]) -> None:
    stub, module = STUBS[name], importlib.import_module(name)
    plain = ast.walk(ast.parse(stub.read_text()))
    assert [node for node in plain if isinstance(node, NODES) and ast.get_docstring(node)] == []
    tree = ast.parse(documented(stub.read_text(), stub.with_suffix(".pyx").read_text()))
    assert ast.get_docstring(tree) == inspect.cleandoc(module.__doc__ or "")
    for node in tree.body:
        if isinstance(node, NODES):
            assert ast.get_docstring(node) == docstring_of(module, node.name), node.name
        for one in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(one, NODES):
                wanted = docstring_of(getattr(module, node.name), one.name)
                assert ast.get_docstring(one) == wanted, f"{node.name}.{one.name}"


def constructors() -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """The constructors in the stubs: module, class and what is written there."""
    for module, path in STUBS.items():
        for owner in ast.parse(path.read_text()).body:
            if isinstance(owner, ast.ClassDef):
                for node in owner.body:
                    if isinstance(node, ast.FunctionDef) and node.name in ("__new__", "__init__"):
                        yield module, owner.name, node


CONSTRUCTORS = list(constructors())


def test_there_are_constructors_to_look_at() -> None:
    assert len(CONSTRUCTORS) > 40


@pytest.mark.parametrize(("module", "name", "node"), CONSTRUCTORS, ids=[f"{m}.{n}" for m, n, _ in CONSTRUCTORS])
def test_a_compiled_class_tells_its_signature(module: str, name: str, node: ast.FunctionDef) -> None:
    found = list(inspect.signature(getattr(importlib.import_module(module), name)).parameters.values())
    given = node.args
    told: list[tuple[str, Any]] = [(one.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD) for one in given.args[1:]]
    told += [(one.arg, inspect.Parameter.KEYWORD_ONLY) for one in given.kwonlyargs]
    plain = [one for one in found if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if given.vararg is None:
        assert [(one.name, one.kind) for one in plain] == told
    defaults = dict(zip([one.arg for one in given.args][::-1], given.defaults[::-1], strict=False))
    defaults |= {one.arg: value for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value}
    for one in plain:
        assert (one.default is not one.empty) == (one.name in defaults), one
        if one.name in defaults and (value := ast.literal_eval(defaults[one.name])) is not ...:
            assert one.default == value, one
