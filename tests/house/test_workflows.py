"""The workflows of CI name what there is, and linters find nothing in them; wheels are built for each platform."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
if not WORKFLOWS:
    pytest.skip("the workflows are not there", allow_module_level=True)
yaml = pytest.importorskip("yaml")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_names_is_there(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    for job in jobs.values():
        assert {"runs-on", "timeout-minutes", "steps"} <= job.keys()
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= jobs.keys()
        for row in job.get("strategy", {}).get("matrix", {}).get("include", []):
            assert re.search(rf"^{row.get('target', 'test')}\b.*:", makefile, re.M), row
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step.get("uses", f"a/b@{40 * '0'}")), step
            command = step.get("run", "")
            for target in re.findall(r"^make ([\w-]+)", command, re.M):
                assert re.search(rf"^{target}\b.*:", makefile, re.M), target
            for group in re.findall(r"--group (\w+)", command):
                assert re.search(rf"^{group} = \[", project, re.M), group
            for place in re.findall(r"\btests[\w/]*", command):
                assert (ROOT / place).exists(), place


def test_the_tag_of_a_hash_is_told_and_is_the_same_everywhere() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for path in WORKFLOWS:
        lines = [line for line in path.read_text().splitlines() if "uses:" in line]
        for line in lines:
            told = re.fullmatch(r" *(?:- )?uses: (\S+)@([0-9a-f]{40})  # (v[0-9.]+)", line)
            assert told is not None, line
            found.setdefault(told[1], set()).add((told[2], told[3]))
    assert {name for name, pins in found.items() if len(pins) > 1} == set()


def run(name: str, *arguments: str | Path) -> str:
    """What a command of an optional package prints."""
    command = shutil.which(name, path=sysconfig.get_path("scripts"))
    if command is None:
        pytest.skip(f"{name} is not installed (pip install --group lint)")
    done = subprocess.run([command, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_workflows_have_the_form_that_github_asks_for() -> None:
    run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS)


def test_the_workflows_give_away_no_rights() -> None:
    run("zizmor", "--offline", "--quiet", "--config", ROOT / ".github" / "zizmor.yml", *WORKFLOWS)


VERSIONS = ("cp310", "cp311", "cp312", "cp313", "cp314", "cp314t", "cp315", "cp315t")
PLATFORMS = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"),
    "macos": ("macosx_x86_64", "macosx_arm64"),
    "windows": ("win_amd64", "win_arm64"),
}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_wheels_are_built_for_each_platform(platform: str) -> None:
    found = run("cibuildwheel", "--platform", platform, "--print-build-identifiers", ".").split()
    assert set(found) == {f"{version}-{name}" for version in VERSIONS for name in PLATFORMS[platform]}


def test_the_configuration_of_wheels_has_the_form_that_cibuildwheel_asks_for(tmp_path: Path) -> None:
    resources = pytest.importorskip("cibuildwheel.util.resources", reason="pip install --group lint")
    tomllib = pytest.importorskip("tomllib")
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    file = tmp_path / "cibuildwheel.json"
    file.write_text(json.dumps(configuration))
    run("check-jsonschema", "--schemafile", resources.CIBUILDWHEEL_SCHEMA, file)
