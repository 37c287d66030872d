"""Every regular expression of the package, fed with 128 KB of what would make it slow, or 1 MB with JELLY_LONG=1."""

from __future__ import annotations

import ast
import importlib
import os
import pkgutil
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from support.libraries import module_names
from support.measure import SANITIZED, run, within

import jelly
from jelly._options.literals import _READERS
from jelly._options.spelling import Front, _pattern

try:
    from re import _constants as op
    from re import _parser as parser
except ImportError:  # Python 3.10
    import sre_constants as op
    import sre_parse as parser

ROOT = Path(jelly.__file__).parent
SIZE = 1 << (20 if os.environ.get("JELLY_LONG") else 17)
# A linear pattern takes some milliseconds for it, a quadratic one many seconds.
# Patterns that are written where they are used: file, pattern. Their input is a name or a message, yet they are
# tried too.
INLINE = {
    ("cli/options.py", "f'([0-9]+)({unit}|)'"),  # those of sizes and ages are tried
    ("cli/common.py", "(?<=ch)es$|s$"),
    ("cli/common.py", r"(?<!\w)(\w+)=(?=[\s,;)]|$)"),
    ("_html.py", r"[^\t\n\r\x20-\x7e\xa0-\U0010ffff]"),
    ("cli/common.py", r"; use (--[\w-]+(?: or --[\w-]+)*)"),
    ("cli/options.py", "^(reading|writing|stream)_"),
    ("cli/options.py", r"(?<=\.) (?=[A-Z])"),
    ("cli/options.py", ",? "),
    ("cli/options.py", r"\W"),
    ("_options/spelling.py", "[_(]"),
    ("_options/spelling.py", "parts"),  # tried as it is made
    ("_options/literals.py", "form"),  # these, too
    ("spark/_store.py", "^([^/]+://)[^/?#]*@"),
    ("messages/_reader.py", "max_(frame|line)_bytes"),
    ("_formats/sniff.py", "<(?:!DOCTYPE )?html"),
    ("_formats/sniff.py", r'\A\[?\s*\{\s*(?:\"|\})'),
    ("_bytes/remote.py", r"[?\[]"),
    ("_bytes/remote.py", "[0-9]{1,18}"),
    ("_bytes/names.py", "[?#]"),
    ("messages/_tar.py", b"[0-9]{1,19}"),
    ("_formats/result_syntaxes.py", '[",\r\n]'),
    ("spark/_parts/files.py", "^file:(//(?=/))?"),
    ("_dataset/blank_node_scope.py", "^s3[an]://"),
    ("_options/namespaces.py", r"[/#]"),
    ("_options/namespaces.py", r"\w[\w+.-]*://(?:www\.)?(.*)"),
    ("cli/options.py", r"(?=.)([0-9]*)(?:(\.\.=?)([0-9]*))?"),
    ("rdflib/_store.py", r"f'(?<![\\w-]){re.escape(name)}:'"),
    ("spark/_ingest/tasks.py", r"_ingest/(\d+)[.]json"),
    ("spark/_lakehouse.py", r"([*?{}\[\]\\])"),
}
FUNCTIONS = ("match", "search", "sub", "subn", "split", "findall", "finditer", "fullmatch")


def modules() -> list[Any]:
    found = []
    for name in (*(item.name for item in pkgutil.walk_packages([str(ROOT)], "jelly.")), *module_names()):
        if name.endswith("__main__") or "_pb2" in name:
            continue
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            continue  # an extra that is not installed
    return found


def patterns() -> dict[str, re.Pattern[Any]]:
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            has_parts = isinstance(value, type) or isinstance(getattr(value, "_pattern", None), re.Pattern)
            parts = vars(value).items() if has_parts else ()
            for inner, each in [(name, value), *parts]:
                if isinstance(each, re.Pattern):
                    found[f"{module.__name__}.{name}.{inner}"] = each
    for front in get_args(Front):
        found[f"_options/spelling.py: {front}"] = _pattern(front)[0]
    for name, read in _READERS.items():
        for cell in getattr(read, "__closure__", None) or ():
            if isinstance(each := getattr(cell.cell_contents, "__self__", None), re.Pattern):
                found[f"_options/literals.py: {name}"] = each
    for file, text in INLINE:
        found[f"{file}: {text!r}"] = re.compile(text)
    return found


def alphabet(tree: Any) -> Iterator[str]:
    """Characters and strings that a parsed pattern speaks of, and some of each class."""
    literals = ""
    for kind, value in tree:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            literals += chr(value)
            yield chr(value)
            continue
        if literals:
            yield literals
            literals = ""
        if kind is op.IN:
            for what, inner in value:
                if what is op.LITERAL:
                    yield chr(inner)
                elif what is op.RANGE:
                    yield from (chr(inner[0]), chr(inner[1]))
                elif what is op.CATEGORY:
                    yield {op.CATEGORY_SPACE: " ", op.CATEGORY_DIGIT: "0"}.get(inner, "a")
        elif kind is op.BRANCH:
            for part in value[1]:
                yield from alphabet(part)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, getattr(op, "POSSESSIVE_REPEAT", None)):
            yield from alphabet(value[2])
        elif kind is op.SUBPATTERN:
            yield from alphabet(value[3])
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            yield from alphabet(value[1])
        elif kind is getattr(op, "ATOMIC_GROUP", None):
            yield from alphabet(value)
    if literals:
        yield literals


def heads(tree: Any) -> list[str]:
    """Texts that the pattern may begin with, part by part: what leads to its repetitions."""
    made = [""]
    for kind, value in tree:
        if kind is op.LITERAL:
            piece = chr(value)
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            made.append(made[-1] + (next(iter(heads_of_one(value[2])), "") * max(value[0], 1)))
            continue
        elif kind is op.SUBPATTERN:
            made += [made[-1] + part for part in heads(value[3])]
            continue
        elif kind in (op.IN, op.ANY, op.NOT_LITERAL, op.BRANCH):
            piece = next(iter(heads_of_one([(kind, value)])), "")
        else:
            continue
        made.append(made[-1] + piece)
    return list(dict.fromkeys(made))


def heads_of_one(tree: Any) -> list[str]:
    made = []
    for kind, value in tree:
        if kind is op.BRANCH:
            return [heads(part)[-1] for part in value[1]]
        if kind is op.SUBPATTERN:
            return [heads(value[3])[-1]]
        if kind is op.LITERAL:
            made.append(chr(value))
        else:
            made.append(next((c for c in alphabet([(kind, value)])), "a"))
    return ["".join(made)]


def shapes(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """What attacks begin with, what they repeat, and what they end with."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    letters = list(dict.fromkeys([*alphabet(tree), " ", "\n", "\r\n", "a", "0", "-", '"', "<", "\\"]))
    begins = heads(tree)
    for letter in letters:
        for tail in ("", "\0", "!", "\n", '"'):
            yield "", letter, tail
        for begin in begins:
            yield begin, letter, "\0"
            yield begin, letter, '"'
    for begin in begins:
        if begin:
            yield "", begin, ""
            for letter in letters:
                yield "", begin + letter, ""
    for first in letters:
        for second in letters:
            yield "", first + second, "\0"


def attack_of(shape: tuple[str, str, str], size: int) -> str:
    begin, again, tail = shape
    return begin + again * (size // len(again)) + tail


def methods(name: str) -> list[str]:
    """How the package uses a pattern: one that is only matched is never tried from each position."""
    if ": " in name:
        return ["match"] if name.startswith(("_options/namespaces.py: '\\\\w", "_tools/yaml.py")) else ["finditer"]
    called = rf"\b{name.split('.')[-2]}\.({'|'.join(FUNCTIONS)})\("
    module = name.rsplit(".", 2)[0].split(".")[1:]
    place = ROOT / Path(*module)
    sources = place.with_suffix(".py"), place.with_suffix(".pyx"), place / "__init__.py"
    text = next(source for source in sources if source.exists()).read_text()
    used = set(re.findall(called, text))
    # What is given to another name may be used in any way.
    if not used or len(re.findall(rf"\b{name.split('.')[-2]}\b", text)) - 1 > len(re.findall(called, text)):
        return ["finditer"]
    return sorted({method if method in ("match", "fullmatch", "search") else "finditer" for method in used})


def match(pattern: re.Pattern[Any], used: list[str], attack: str) -> None:
    data: Any = attack.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else attack
    for method in used:
        found = getattr(pattern, method)(data)
        if method == "finditer":
            for _ in found:
                pass


def seconds(pattern: re.Pattern[Any], used: list[str], attack: str) -> float:
    began = time.process_time()
    match(pattern, used, attack)
    return time.process_time() - began


def try_pattern(name: str, pattern: re.Pattern[Any]) -> None:
    """All attacks on one pattern at 1 KB, and the slowest of them at 128 KB, or at 1 MB."""
    used = methods(name)
    spent = {}
    for shape in shapes(pattern):
        attack = attack_of(shape, 1 << 10)
        what = f"1 KB of {attack[:40]!r}... by {pattern.pattern!r}"
        spent[shape] = within(0.5, lambda: seconds(pattern, used, attack), what)  # noqa: B023
    for shape in sorted(spent, key=spent.__getitem__)[-6:]:
        for size in (SIZE >> 2, SIZE):
            attack = attack_of(shape, size)
            what = f"{size} bytes of {attack[:40]!r}... by {pattern.pattern!r}"
            within(0.5 + 2 * size / (1 << 20), lambda: match(pattern, used, attack), what)  # noqa: B023


def inline() -> set[tuple[str, Any]]:
    """Calls of re with a pattern that is written there, and those whose pattern is no literal."""
    found: set[tuple[str, Any]] = set()
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text())
        top = {id(node) for statement in tree.body for node in ast.walk(statement) if not isinstance(
            statement, ast.FunctionDef | ast.ClassDef
        )}  # fmt: skip
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
                continue
            name = path.relative_to(ROOT).as_posix()
            if node.func.attr in FUNCTIONS or (node.func.attr == "compile" and id(node) not in top):
                first = node.args[0]
                found.add((name, first.value if isinstance(first, ast.Constant) else ast.unparse(first)))
    return found


def test_every_pattern_is_known() -> None:
    assert inline() == INLINE
    assert len(patterns()) > 30


@pytest.mark.bounded
def test_what_is_slow_is_found() -> None:
    """The test of the tests: a pattern that this package had."""
    pattern = re.compile(rb'"@([a-z]+(?:-[a-z0-9]+)+)(?=[^"\n]*\n)')

    def slowest(size: int) -> float:
        attacks = [attack_of(shape, size) for shape in shapes(pattern)]
        return max(min(seconds(pattern, ["finditer"], attack) for _ in range(3)) for attack in attacks)

    times = [slowest(size) for size in (1024, 4096)]
    assert times[1] > 6 * times[0]


@pytest.mark.skipif(SANITIZED, reason="the sanitizers are too slow, and this is not our own C code")
@pytest.mark.bounded
def test_every_pattern_is_linear() -> None:
    work = "import test_patterns as t\nfor each in t.patterns().items():\n    t.try_pattern(*each)"
    done = run("-c", f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{work}")
    assert done.returncode == 0, done.stderr[-2000:]
