"""One module has the pools of threads; no generator and no finalizer waits for a thread, as it may end anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "jelly").rglob("*.py"))
POOLS = {"jelly/_bytes/workers.py"}


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What is in a function, but not in those within it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from own_nodes(node)


def waits(tree: ast.AST) -> list[int]:
    """The lines at which a generator or a finalizer joins a thread or shuts a pool down."""
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = list(own_nodes(function))
        if function.name != "__del__" and not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
            continue
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                joins = node.func.attr == "join" and not node.args  # that of a str has an argument
                if joins or node.func.attr == "shutdown":
                    found.append(node.lineno)
    return found


def test_no_generator_waits_for_a_thread() -> None:
    for path in FILES:
        text, name = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
        assert waits(ast.parse(text)) == [], name
        assert name in POOLS or "ThreadPoolExecutor" not in text, f"{name}: use jelly._bytes.workers.Workers"


def test_the_rule_sees_what_it_is_for() -> None:
    old = "def f():\n    try:\n        yield 1\n    finally:\n        pool.shutdown(wait=True)\n        t.join()\n"
    assert waits(ast.parse(old)) == [5, 6]
    assert waits(ast.parse("class A:\n    def __del__(self):\n        self.thread.join()\n")) == [3]
    assert waits(ast.parse("def f():\n    t.join()\n")) == []
