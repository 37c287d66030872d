"""The stubs of the compiled modules have the docstrings of the modules: `PYTHONPATH=tests python -m support.stubs`."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "jelly" / "_core"


def stubs() -> dict[str, Path]:
    """The stub of each compiled module, which may not be there, by the name of the module."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.with_suffix(".pyi")
        for path in sorted(CORE.rglob("*.pyx"))
    }


def _literal(text: str, indent: str) -> list[str]:
    """A docstring as lines of a source."""
    lines = inspect.cleandoc(text).splitlines()
    quote = 'r"""' if "\\" in text else '"""'
    if len(lines) == 1 and not lines[0].endswith('"'):
        return [f'{indent}{quote}{lines[0]}"""']
    return [f"{indent}{quote}{lines[0]}", *((indent + line).rstrip() for line in lines[1:]), f'{indent}"""']


def _doc(thing: Any, name: str) -> str:
    """The docstring that a class or module has for a name; Python writes those of special methods itself."""
    found = vars(thing).get(name)
    text = getattr(getattr(found, "__func__", found), "__doc__", None)
    return "" if name.startswith("__") or not isinstance(text, str) else text


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _fill(lines: list[str], node: ast.ClassDef | ast.FunctionDef, text: str) -> None:
    """Give a class or function in the lines of a stub this docstring, in place of one that it has."""
    indent = " " * (node.col_offset + 4)
    first, last = node.body[0], node.body[-1]
    rest = [one for one in node.body if not _is_docstring(one)]
    is_empty = not rest or (isinstance(rest[0], ast.Expr) and isinstance(rest[0].value, ast.Constant))
    if is_empty:
        start, stop = first.lineno - 1, last.end_lineno or last.lineno
        head = lines[start][: first.col_offset].rstrip()
        made = _literal(text, indent) if text else []
        if head.strip():  # on the line of the signature
            lines[start:stop] = [head, *made] if text else [f"{head} ..."]
        else:
            lines[start:stop] = made or [f"{indent}..."]
    else:
        start = first.lineno - 1
        while isinstance(rest[0], ast.FunctionDef) and first is rest[0] and lines[start - 1].lstrip().startswith("@"):
            start -= 1
        stop = (first.end_lineno or first.lineno) if _is_docstring(first) else start
        lines[start:stop] = _literal(text, indent) if text else []


def filled(source: str, module: Any) -> str:
    """The source of a stub with the docstrings of its module."""
    tree = ast.parse(source)
    places: list[tuple[ast.ClassDef | ast.FunctionDef, str]] = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            places.append((node, _doc(module, node.name)))
        if isinstance(node, ast.ClassDef):
            owner = getattr(module, node.name)
            places += [(one, _doc(owner, one.name)) for one in node.body if isinstance(one, ast.FunctionDef)]
    lines = source.splitlines()
    for node, text in sorted(places, key=lambda place: -place[0].lineno):
        _fill(lines, node, text)
    if tree.body and _is_docstring(tree.body[0]):
        del lines[: tree.body[0].end_lineno]
        while lines and not lines[0]:
            del lines[0]
    head = _literal(module.__doc__, "")
    return "\n".join([*head, *([""] if lines else []), *lines]) + "\n"


def main() -> None:
    for name, path in stubs().items():
        path.write_text(filled(path.read_text() if path.exists() else "", importlib.import_module(name)))


if __name__ == "__main__":
    main()
