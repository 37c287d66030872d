"""House rules of the sources, as far as a test can tell. The way out of a rule is a comment "house: allow"."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "jelly" / "_core"
if not CORE.is_dir():
    pytest.skip("the sources are not there", allow_module_level=True)

CYTHON = sorted([*CORE.rglob("*.pyx"), *CORE.rglob("*.pxd")])
PYTHON = sorted((ROOT / "jelly").rglob("*.py"))
EVERYTHING = [
    path
    for folder in ("jelly", "tests", "bench", "proto")
    for path in sorted((ROOT / folder).rglob("*.p*"))
    if path.suffix in (".py", ".pyx", ".pxd", ".pyi")
]

# The packages of the core: each may import from those before it, and from its own.
CYCLES = ()
PACKAGES = ["base", "rules", "algebra", "jelly", "ntriples", "terms", "jena", "results", "arrow", "boundaries"]


def ids(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code(path: Path) -> list[tuple[int, str]]:
    """The lines of a file with their numbers, without comments, docstrings and what is allowed."""
    text = re.sub(r'"""(?:.|\n)*?"""', lambda match: "\n" * match[0].count("\n"), path.read_text())
    lines = enumerate(text.splitlines(), 1)
    return [(number, re.sub(r"\s*#.*", "", line)) for number, line in lines if "house: allow" not in line]


def offenders(pattern: str, paths: list[Path] = CYTHON) -> list[str]:
    found = re.compile(pattern)
    return [f"{ids(path)}:{number}: {line}" for path in paths for number, line in code(path) if found.search(line)]


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("with gil", r"\bwith\s+gil\b"),
        ("include", r"^\s*include\b"),
        ("DEF", r"^\s*(DEF|IF|ELIF)\s"),
        ("cpdef enum", r"\bcpdef\s+enum\b"),
        ("cimport *", r"\bcimport\s+\*"),
        ("typed memoryview", r"\b(u?int\d*_t|u?char|short|int|long|float|double|Py_ssize_t|size_t|object)\s*\[\s*:"),
        ("Pyrex loop", r"\bfor\s+\w+\s+from\b"),
        ("print", r"\bprint\("),
    ],
)  # fmt: skip
def test_core_has_no(what: str, pattern: str) -> None:
    assert offenders(pattern) == []


def test_core_has_no_module_state() -> None:
    # A cdef line at the margin that is no function, class, enum, struct or extern block declares a variable.
    allowed = re.compile(r"^cdef\s+(class|enum|struct|union|extern|packed)\b|^cdef\b.*\(")
    assert [line for line in offenders(r"^cdef\b") if not allowed.search(line.split(": ", 1)[1])] == []


def test_nogil_functions_are_noexcept() -> None:
    heads = []
    for path in CYTHON:
        text = "\n".join(line for _, line in code(path))
        heads += [
            (ids(path), match[0])
            for match in re.finditer(r"^ *(cdef|cpdef)\b[^=\n]*?\((?:[^()]|\([^()]*\))*\)[^\n]*", text, re.M)
        ]
    nogil = [(path, head) for path, head in heads if re.search(r"\bnogil\b", head[head.rindex(")") :])]
    assert len(nogil) > 50
    assert [head for head in nogil if "noexcept" not in head[1]] == []


def test_every_pxd_with_code_has_a_pyx() -> None:
    for path in CORE.rglob("*.pxd"):
        if any(re.match(r"cdef (?!enum|extern|struct)", line) for _, line in code(path)):
            assert path.with_suffix(".pyx").exists(), ids(path)


@pytest.mark.parametrize("path", [path for path in CYTHON if path.suffix == ".pyx"], ids=ids)
def test_a_compiled_module_says_what_it_is(path: Path) -> None:
    first = path.read_text().split('"""')
    assert first[0] == "", "no docstring"
    assert first[1].split("\n\n")[0].rstrip().endswith("."), first[1]


def test_core_is_compiled_and_nothing_else_is() -> None:
    assert [ids(path) for path in (ROOT / "jelly").rglob("*.pyx") if path.parent.parent != CORE] == []
    assert [ids(path) for path in CORE.rglob("*.py") if path.read_text()] == ["jelly/_core/__init__.py"]


@pytest.mark.parametrize("path", EVERYTHING, ids=ids)
def test_a_file_fits_in_one_head(path: Path) -> None:
    # Generated files are not read. Docstrings do not count: whoever documents a function must not have to move it.
    limit = 600 if path.name != "schema.pxd" else 10_000
    if path.parts[len(ROOT.parts)] == "jelly":
        assert len(re.sub(r'"""(?:.|\n)*?"""\n*', "", path.read_text()).splitlines()) <= limit


def imported_by(path: Path) -> set[str]:
    """The modules of jelly that a Cython file imports or cimports, when it is loaded."""
    text = "\n".join(line for _, line in code(path))
    found = set(re.findall(r"^\s*from (jelly[\w.]*) c?import", text, re.M))
    found |= set(re.findall(r"^\s*c?import (jelly[\w.]*)", text, re.M))
    return {name if name != "jelly._core.base" else "jelly._core.base.schema" for name in found}


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("path", [path for path in CYTHON if path.stem != "__init__"], ids=ids)
def test_packages_of_the_core_import_downward(path: Path) -> None:
    own = path.parent.name
    for name in imported_by(path):
        if not name.startswith("jelly._core."):
            assert name.split(".")[1] in ("errors", "_html", "_options"), f"{ids(path)} imports {name}"
            continue
        package = name.split(".")[2]
        assert PACKAGES.index(package) <= PACKAGES.index(own), f"{ids(path)} imports {name}"


def test_no_cycle_in_the_core() -> None:
    edges: dict[str, set[str]] = {}
    for path in CYTHON:
        edges.setdefault(module_of(path), set()).update(imported_by(path) - {module_of(path)})
    for ring in CYCLES:
        edges[ring[0]].discard(ring[1])
    done: set[str] = set()
    while ready := [name for name in edges if name not in done and not (edges[name] & edges.keys()) - done]:
        done.update(ready)
    assert sorted(edges.keys() - done) == []


def test_rooms_without_the_gil_call_no_python() -> None:
    # These have no Python objects but for test doors and the exceptions that those raise.
    for room in ("base/memory", "base/protobuf", "base/utf8", "jelly/lookup", "jelly/frame_reader", "jelly/decode",
                 "jelly/encode", "jelly/frame_writer", "jelly/term_out", "ntriples/term_reader",
                 "ntriples/term_writer", "ntriples/patch_text", "arrow/values", "arrow/import_rows"):
        text = re.split("# Test (?:door|hook)", (CORE / f"{room}.pyx").read_text())[0]
        assert not re.search(r"^\s*(raise|try|except|import|def|cdef class|cdef object)\b", text, re.M), room


def test_the_schema_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "proto" / "generate.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff() -> None:
    pytest.importorskip("ruff")
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "--quiet", "."], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


# ---- Python


def test_modules_import_downward_and_in_no_circle() -> None:
    # The contracts are in pyproject.toml. Imports of the compiled core are tested above.
    pytest.importorskip("importlinter")
    call = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


OPTIONAL = {
    "duckdb", "pyshacl",
    "zstandard", "pyarrow", "rdflib", "pyspark", "pandas", "grpc", "grpc_health", "grpc_reflection", "pyoxigraph",
    "click", "rich", "yaml", "google", "polars", "matplotlib", "fsspec", "graphframes", "confluent_kafka",
    "deltalake", "igraph", "networkx", "prometheus_client", "scipy",
}  # fmt: skip


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("import_module")
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            found.add(str(node.args[0].value).split(".")[0])
    return found


def test_each_optional_package_is_imported_in_one_module() -> None:
    where: dict[str, list[str]] = {}
    for path in PYTHON:
        for package in imports(ast.parse(path.read_text())) & OPTIONAL:
            # Packages of our own, such as jelly/spark, count as one module.
            inner = path.relative_to(ROOT / "jelly").parts
            where.setdefault(package, []).append(inner[0])
    assert {package: modules for package, modules in where.items() if len(set(modules)) > 1} == {}


def test_the_package_itself_needs_numpy_only() -> None:
    needed = set(sys.stdlib_module_names) | {"jelly", "numpy"}
    for path in PYTHON:
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):  # type checkers have typing_extensions
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                node.body = [each for each in node.body if getattr(each, "module", "") != "typing_extensions"]
        assert imports(tree) - needed <= OPTIONAL, ids(path)


@pytest.mark.parametrize("path", PYTHON, ids=ids)
def test_no_input_is_checked_by_assert(path: Path) -> None:
    # `assert x is not None` tells the type checker what we know; nothing else may be asserted.
    asserts = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]
    assert [ast.unparse(node) for node in asserts if not ast.unparse(node.test).endswith(" is not None")] == []


def test_no_assert_in_the_core() -> None:
    assert offenders(r"^\s*assert\b") == []


@pytest.mark.parametrize("path", sorted((ROOT / "jelly").glob("*.py")), ids=ids)
def test_public_functions_say_what_they_do(path: Path) -> None:
    tree = ast.parse(path.read_text())
    exported = next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ),
        [],
    )
    for node in tree.body:
        overloaded = "overload" in map(ast.unparse, getattr(node, "decorator_list", ()))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in exported and not overloaded:
            assert ast.get_docstring(node), f"{ids(path)}: {node.name}"


def test_no_file_names_a_place_outside() -> None:
    # The tests find shared data beside the project and nowhere else.
    pattern = re.compile(r"/(tmp|work|home|root)/\w")
    for path in EVERYTHING:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            assert not pattern.search(line) or path == Path(__file__) or "house: allow" in line, f"{ids(path)}:{number}"
