"""Each compiled module has a stub with its docstrings, and each compiled class the signature that its stub tells."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stubs import filled, stubs

STUBS = stubs()


@pytest.mark.parametrize("name", STUBS)
def test_the_stub_has_the_docstrings_of_the_module(name: str) -> None:
    path = STUBS[name]
    assert path.is_file(), "no stub: PYTHONPATH=tests python -m support.stubs"
    text = path.read_text()
    assert text == filled(text, importlib.import_module(name)), "PYTHONPATH=tests python -m support.stubs"


def constructors() -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """The constructors in the stubs: module, class and what is written there."""
    for module, path in STUBS.items():
        for owner in ast.parse(path.read_text()).body if path.is_file() else ():
            if isinstance(owner, ast.ClassDef):
                for node in owner.body:
                    if isinstance(node, ast.FunctionDef) and node.name in ("__new__", "__init__"):
                        yield module, owner.name, node


CONSTRUCTORS = list(constructors())


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


def test_the_check_finds_another_docstring(tmp_path: Path) -> None:
    module = importlib.import_module("jelly._core.algebra.changes")
    good = filled("class NetChanges:\n    def take(self) -> None: ...\ndef other() -> int: ...\n", module)
    assert good.startswith('"""')
    assert good.endswith("def other() -> int: ...\n")
    assert module.NetChanges.take.__doc__.split("\n")[0].strip() in good
    assert filled(good, module) == good
    assert filled(good.replace(module.__doc__.split()[0], "Other", 1), module) == good
    assert len(CONSTRUCTORS) > 40
