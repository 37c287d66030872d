"""The recipe for conda says what pyproject.toml says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import jelly

ROOT = Path(__file__).resolve().parents[2]
RECIPE = ROOT / "recipe" / "recipe.yaml"
if not RECIPE.is_file():
    pytest.skip("the recipe is not there", allow_module_level=True)
yaml = pytest.importorskip("yaml")
tomllib = pytest.importorskip("tomllib")


def versions(requirements: list[Any]) -> dict[str, str]:
    """The bounds by name; conda has a blank before them."""
    found = {}
    for one in requirements:
        if isinstance(one, str) and (told := re.fullmatch(r"([\w.-]+)(?:\[\w+\])? *([<>=].*)?", one)):
            found[told[1].lower()] = told[2] or ""
    return found


def test_the_recipe_and_the_project_agree() -> None:
    recipe = yaml.safe_load(RECIPE.read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert recipe["context"]["version"] == jelly.__version__
    about, told = recipe["about"], project["project"]
    assert (about["license"], about["summary"]) == (told["license"], told["description"])
    assert about["repository"] == told["urls"]["Source"]
    needs = recipe["requirements"]
    build = versions(project["build-system"]["requires"])
    assert {name: bound for name, bound in versions(needs["host"]).items() if name in build} == build
    extras = told["optional-dependencies"]
    run = versions(needs["run"])
    assert run.pop("python") == ""
    assert run == versions(told["dependencies"] + extras["cli"])
    every = [one for name, some in extras.items() if name != "spark" for one in some]
    known = versions(every)
    for name, bound in versions(needs["run_constraints"]).items():
        assert known[name] == bound, name


def test_rattler_build_can_render_it() -> None:
    rattler = pytest.importorskip("rattler_build", reason="pip install py-rattler-build")
    recipe = rattler.Stage0Recipe.from_file(str(RECIPE))
    variants = rattler.VariantConfig.from_yaml('python: ["3.12.*"]\nc_compiler: [gcc]\nc_stdlib: [sysroot]\n')
    for platform in ("linux-64", "osx-arm64", "win-64"):
        settings = rattler.RenderConfig(platform=rattler.PlatformConfig(target_platform=platform))
        [found] = recipe.render(variants, settings)
        assert "numpy >=1.24" in found.recipe.requirements.run
