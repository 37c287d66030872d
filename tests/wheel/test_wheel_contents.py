"""What is in a wheel, and what it needs: run by `make wheel`, with the wheel installed and out of the tree."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.libraries import LIBRARIES, module_names

import jelly

WHEEL = Path(os.environ.get("JELLY_WHEEL", ""))
if not os.environ.get("JELLY_WHEEL"):
    pytest.skip("JELLY_WHEEL names no wheel: make wheel", allow_module_level=True)

PACKAGE = Path(jelly.__file__).parent
MODULES = [name for name in module_names() if not name.endswith(".cython_shared")]  # that one is all Cython's
MOST = 2_500_000  # bytes


def test_it_is_the_wheel_that_is_tested() -> None:
    assert PACKAGE.is_relative_to(sys.prefix)
    with zipfile.ZipFile(WHEEL) as archive:
        names = set(archive.namelist())
        assert {str(path.relative_to(PACKAGE.parent).as_posix()) for path in LIBRARIES} <= names
        assert len(MODULES) > 60
    assert f"-{importlib.metadata.version('jelly-rdf')}-" in WHEEL.name


def test_what_is_in_it() -> None:
    with zipfile.ZipFile(WHEEL) as archive:
        names = archive.namelist()
    suffixes = {Path(name).suffix for name in names if name.startswith("jelly/") and name[-1] != "/"}
    assert suffixes == {".py", ".pyi", ".typed", ".binpb", LIBRARIES[0].suffix}
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "jelly", "jelly_rdf", "pyspark_jelly.py", "pyspark_jelly_patch.py", "pyspark_jelly_results.py",
    }  # fmt: skip
    for needed in ("jelly/py.typed", "jelly/data/service.binpb"):
        assert needed in names
    assert sum(name.endswith("LICENSE") for name in names) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="wheels are repaired and stripped on Linux")
def test_its_size() -> None:
    assert WHEEL.stat().st_size < MOST
    assert "manylinux" in WHEEL.name or "musllinux" in WHEEL.name
    for library in LIBRARIES:
        assert b".symtab" not in library.read_bytes(), library


@pytest.mark.parametrize("name", MODULES)
def test_each_compiled_module_has_a_stub_with_its_docstring(name: str) -> None:
    stub = PACKAGE.parent / (name.replace(".", "/") + ".pyi")
    said = ast.get_docstring(ast.parse(stub.read_text(encoding="utf-8")))
    assert said == inspect.cleandoc(importlib.import_module(name).__doc__ or "")


def test_its_metadata() -> None:
    said = importlib.metadata.metadata("jelly-rdf")
    assert said["Author"] == "The jelly-rdf developers"
    urls = {line.partition(",")[0] for line in said.get_all("Project-URL") or []}
    assert urls == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert "Typing :: Typed" in (said.get_all("Classifier") or [])


def test_numpy_is_enough() -> None:
    code = """
import sys, jelly
statements = [jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o", language="en"))]
assert jelly.loads(jelly.dumps(statements)) == statements
assert not {"pyarrow", "pyoxigraph", "rdflib", "click", "grpc", "pyspark", "yaml"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    needs = importlib.metadata.requires("jelly-rdf") or []
    assert [need for need in needs if "extra ==" not in need] == ["numpy>=1.24"]


def test_the_command_says_what_it_needs() -> None:
    done = subprocess.run([sys.executable, "-m", "jelly", "--help"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "jelly-rdf[cli]" in done.stderr
    assert "Traceback" not in done.stderr


def test_its_bill_of_materials() -> None:
    """PEP 770: CycloneDX in dist-info/sboms, of the package and what it needs."""
    with zipfile.ZipFile(WHEEL) as archive:
        [name] = [name for name in archive.namelist() if "/sboms/" in name and name[-1] != "/"]
        assert name.endswith(".dist-info/sboms/jelly-rdf.cdx.json")
        told = json.loads(archive.read(name))
    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    component = told["metadata"]["component"]
    assert (component["name"], component["version"]) == ("jelly-rdf", importlib.metadata.version("jelly-rdf"))
    assert component["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    needs = importlib.metadata.requires("jelly-rdf") or []
    names = {re.match(r"[\w.-]+", need)[0].lower() for need in needs} - {"jelly-rdf"}  # type: ignore[index]
    found = {one["name"].lower(): one["scope"] for one in told["components"]}
    assert found.keys() == names | {"cython"}
    assert {name for name, scope in found.items() if scope == "required"} == {"numpy", "cython"}
    assert told["dependencies"][0]["ref"] == component["bom-ref"]
