"""Digests of what every writer makes of real data and of the vectors: to see whether a change changes a byte.

    python bench/digests.py                  compares with tests/pipeline/digests.json, and fails where they differ
    python bench/digests.py --write          writes that file anew: in a commit of its own, with its reason
    python bench/digests.py --print          prints them, also under an older `jelly` (PYTHONPATH)

The inputs are those of ../shared. A line of the file has a digest for each of WAYS, in their order.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jelly
from jelly import patch

SHARED = Path(__file__).parents[2] / "shared"
KEPT = Path(__file__).parents[1] / "tests" / "pipeline" / "digests.json"
READ = (".jelly", ".nt", ".nq", ".ttl", ".trig", ".rdf")
PATCHES = (".jellyp", ".rdfp")
LARGEST = 3_000_000  # bytes of a source
SMALL = {"max_name_table_size": 128, "max_prefix_table_size": 8, "max_datatype_table_size": 8}
# How files are written: the suffix, and keywords.
WAYS = {
    "jelly": (".jelly", {"seekable": False}),
    "jelly, small tables": (".jelly", {"seekable": False, "options": SMALL, "frame_rows": 50}),
    "jelly, without prefixes": (".jelly", {"seekable": False, "options": {**SMALL, "max_prefix_table_size": 0}}),
    "jelly, keyframes": (".jelly", {"seekable": True}),
    "jelly 1.2": (".jelly", {"seekable": False, "options": {"version": 3}}),
    "jelly 1.2, small tables": (".jelly", {"seekable": False, "options": {"version": 3, **SMALL}, "frame_rows": 50}),
    "lines": (".nq", {}),
    "thrift": (".rt", {}),
    "protobuf": (".rpb", {}),
}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def sources(suffixes: tuple[str, ...]) -> Iterator[Path]:
    for folder in ("data", "conformance", "jelly-1.2"):
        for path in sorted((SHARED / folder).rglob("*")):
            if Path(path.name.removesuffix(".gz")).suffix in suffixes and path.stat().st_size <= LARGEST:
                yield path


def written(path: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """The digest of what each way makes of a file; of an error its class."""
    for way, (suffix, keywords) in WAYS.items():
        out = folder / f"out{suffix}"
        try:
            jelly.convert(path, out, **keywords)
        except (jelly.JellyError, ImportError) as error:
            yield way, type(error).__name__
        else:
            yield way, digest(out.read_bytes())


def written_patches(path: Path) -> Iterator[tuple[str, str]]:
    for way, keywords in (("patch", {}), ("patch, small frames", {"frame_rows": 3})):
        try:
            yield way, digest(patch.dumps(patch.PatchReader(path.read_bytes()), **keywords))
        except jelly.JellyError as error:
            yield way, type(error).__name__


def digests(path: Path) -> str:
    """What each way makes of a file: digests, classes of errors, and "?" where blank nodes get random labels."""
    if Path(path.name.removesuffix(".gz")).suffix in PATCHES:
        return " ".join(made for _, made in written_patches(path))
    with tempfile.TemporaryDirectory() as folder:
        first, again = (dict(written(path, Path(folder))) for _ in range(2))
    return " ".join(made if again[way] == made else "?" for way, made in first.items())


def all_digests() -> dict[str, str]:
    return {str(path.relative_to(SHARED)): digests(path) for path in sources(READ + PATCHES)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--write", action="store_true", help="write the file anew")
    choice.add_argument("--print", action="store_true", help="print the digests")
    given = parser.parse_args()
    found = all_digests()
    text = json.dumps(found, indent=0) + "\n"
    if given.print:
        print(text, end="")
        return 0
    if given.write:
        KEPT.write_text(text)
        return 0
    kept = json.loads(KEPT.read_text())
    differ = [path for path in kept | found if kept.get(path) != found.get(path)]
    for path in differ:
        ways = zip(WAYS, kept.get(path, "").split(), found.get(path, "").split(), strict=False)
        print(f"{path}: {', '.join(way for way, x, y in ways if x != y) or 'differs'}")
    print(f"{len(kept | found) - len(differ)} of {len(kept | found)} files are written as before")
    return len(differ) > 0


if __name__ == "__main__":
    sys.exit(main())
