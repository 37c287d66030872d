"""What a user of the last tag would have to change: `make api`. Exit code 1 if there is anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[2]


def breaking(tag: str) -> list[str]:
    """A line for each public name, parameter or type that is gone or is another one since ``tag``."""
    settings = {"allow_inspection": False, "resolve_aliases": True}
    old = griffe.load_git("jelly", ref=tag, repo=ROOT, search_paths=["."], **settings)
    new = griffe.load("jelly", search_paths=[str(ROOT)], **settings)
    found = griffe.find_breaking_changes(old, new)
    # Functions of commands are no API.
    return [one.explain(griffe.ExplanationStyle.ONE_LINE) for one in found if not one.obj.path.startswith("jelly.cli")]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        last = sys.argv[1]
    else:
        command = ["git", "describe", "--tags", "--abbrev=0"]
        last = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    if not last:
        print("there is no tag to compare with")
        sys.exit()
    lines = breaking(last)
    print("\n".join(lines) or f"nothing is gone since {last}")
    sys.exit(bool(lines))
