"""The workflows of CI name what there is: make targets, dependency groups, paths."""

from __future__ import annotations

import re
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
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step.get("uses", "a/b@v1")), step
            command = step.get("run", "")
            for target in re.findall(r"^make ([\w-]+)", command, re.M):
                assert re.search(rf"^{target}:", makefile, re.M), target
            for group in re.findall(r"--group (\w+)", command):
                assert re.search(rf"^{group} = \[", project, re.M), group
            for place in re.findall(r"\btests[\w/]*", command):
                assert (ROOT / place).exists(), place
