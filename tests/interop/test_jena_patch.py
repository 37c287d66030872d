"""Jena reads the RDF Patch that we write, text and binary, and we read what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from interop.peer import Peer
from support.shared import shared

from jelly.patch import Header, Patch, dumps, read_patches

pytestmark = pytest.mark.interop

FILES = sorted(
    path for path in shared("data", "rdf-patch").glob("*.rdfp") if not path.name.startswith("marmotta")
)


def told(patch: Patch) -> list[str]:
    """The lines of a patch, headers first and in any order: Jena keeps them apart, their names in small letters."""
    found = [Header(header.key.lower(), header.value) for header in patch.headers]
    return sorted(map(str, found)) + [str(operation) for operation in patch if not isinstance(operation, Header)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_text_and_binary(peer: Peer, tmp_path: Path, path: Path) -> None:
    (patch,) = read_patches(path)
    (tmp_path / "ours.rdfp").write_bytes(dumps(patch, format="rdfp"))
    (tmp_path / "ours.trp").write_bytes(dumps(patch, format="trp"))
    # As text Jena has quoted triples as objects only: << >> is a subject's.
    suffixes = ("trp",) if b"<< " in (tmp_path / "ours.rdfp").read_bytes() else ("rdfp", "trp")
    for ours in suffixes:
        for theirs in suffixes:
            peer.run("patch", tmp_path / f"ours.{ours}", tmp_path / f"theirs.{theirs}")
            (found,) = read_patches(tmp_path / f"theirs.{theirs}")
            assert told(found) == told(patch)
            # The bytes of the binary form are Jena's.
            if theirs == "trp" and not patch.headers:
                assert (tmp_path / "theirs.trp").read_bytes() == (tmp_path / "ours.trp").read_bytes()
