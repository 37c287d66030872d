"""Tests without the shared data are skipped, also in CI; `.ci/run` insists on the data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SCRIPT = TESTS.parent / ".ci" / "run"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one test, which needs a file of the shared data."""
    folder = tmp_path / "project" / "tests"
    (folder / "support").mkdir(parents=True)
    for name in ("conftest.py", "support/__init__.py", "support/chance.py", "support/shared.py"):
        shutil.copy(TESTS / name, folder / name)
    (folder / "test_one.py").write_text(
        "from support.shared import shared\ndef test_one():\n    assert shared('data', 'one').read_bytes() == b'1'\n"
    )
    return folder.parent


def run(project: Path, **environment: str) -> tuple[int, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "JELLY_SHARED", "PYTHONPATH")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests"],
        cwd=project, env=kept | environment, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("environment", [{}, {"CI": "true"}])
def test_absent_data_is_told_and_skipped(project: Path, environment: dict[str, str]) -> None:
    code, text = run(project, **environment)
    assert code == 0, text
    assert "1 skipped" in text
    assert f"{project.parent / 'shared'} is not there, so the tests that need it are skipped" in text


def test_absent_data_fails_where_it_is_required(project: Path) -> None:
    code, text = run(project, JELLY_SHARED="required")
    assert code == pytest.ExitCode.USAGE_ERROR
    assert f"JELLY_SHARED=required, but {project.parent / 'shared'} is not there" in text


def test_an_absent_file_fails_where_data_are_required(project: Path) -> None:
    (project.parent / "shared" / "data").mkdir(parents=True)
    code, text = run(project, JELLY_SHARED="required")
    assert code == pytest.ExitCode.TESTS_FAILED
    assert f"{project.parent / 'shared' / 'data' / 'one'} is not there" in text
    assert run(project)[0] == 0


def test_present_data_are_used(project: Path) -> None:
    (project.parent / "shared" / "data").mkdir(parents=True)
    (project.parent / "shared" / "data" / "one").write_bytes(b"1")
    for environment in ({}, {"JELLY_SHARED": "required"}):
        code, text = run(project, **environment)
        assert code == 0, text
        assert "1 passed" in text


@pytest.mark.skipif(not SCRIPT.is_file() or sys.platform == "win32", reason=".ci/run is not there")
def test_ci_run_requires_the_data(tmp_path: Path) -> None:
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$JELLY_SHARED $*"\n')
    make.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "JELLY_SHARED")}
    environment["PATH"] = f"{tmp_path}{os.pathsep}{environment['PATH']}"
    done = subprocess.run([str(SCRIPT)], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "required test\n"
