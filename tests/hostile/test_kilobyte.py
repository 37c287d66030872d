"""1 KB of hostile input, compressed or not, for each door of the package: a JellyError or an answer, in bounded time
and memory. JELLY_LONG=1 tries all of them, else a part of them is tried."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.measure import SANITIZED, forget_peak, peak, run, within

SECONDS = 5
MEMORY = 200 << 20
LONG = bool(os.environ.get("JELLY_LONG"))

XML = b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
RESULT = b'{"head":{"vars":["x"]},"results":{"bindings":['
# What is said once, and what again and again.
HOSTILE: dict[str, tuple[bytes, bytes]] = {
    "newlines": (b"", b"\n"),
    "CRLF": (b"", b"\r\n"),
    "spaces": (b"", b" "),
    "zeros": (b"", b"\0"),
    "quotes": (b'<a:s> <a:p> "', b'"'),
    "open string": (b'<a:s> <a:p> "', b"x"),
    "hash": (b"", b"#"),
    "percent": (b"", b"%"),
    "dashes": (b"", b"---\n"),
    "dots": (b"", b"...\n"),
    "brackets": (b"<a:s> <a:p> ", b"["),
    "parentheses": (b"<a:s> <a:p> ", b"("),
    "braces": (b"", b"{"),
    "quoted": (b"", b"<< "),
    "triple terms": (b"<a:s> <a:p> ", b"<<( "),
    "elements": (b"", b"<a>"),
    "rdf elements": (XML, b"<e:p>"),
    "comments": (XML, b"<!--"),
    "sections": (XML, b"<![CDATA["),
    "entities": (b"<!DOCTYPE r [", b"<!ENTITY a "),
    "text": (XML + b'<r:Description r:about="a:b"><e:p>', b"x"),
    "references": (b'<!DOCTYPE r [<!ENTITY a "' + b"x" * 500 + b'">]>' + XML + b"<r:Description><e:p>", b"&a;"),
    "results elements": (b'<sparql xmlns="http://www.w3.org/2005/sparql-results#">', b"<head>"),
    "prefixes": (b"", b"@prefix a: <http://e/> .\n"),
    "open prefixes": (b"", b"@prefix "),
    "objects": (b"<a:s> <a:p> 1", b",1"),
    "messages": (b"", b"# @message\n"),
    "directives": (b'VERSION "1.2-messages"\n', b"MESSAGE\n"),
    "aliases": (b"- &a x\n", b"- *a\n"),
    "anchors": (b"", b"&a "),
    "keys": (b"", b"? "),
    "arrays": (b'{"a:p":', b"["),
    "values": (b'{"@id":"a:s","a:p":[1', b",1"),
    "bindings": (RESULT + b"{}", b",{}"),
    "variables": (b'{"head":{"vars":["x"', b',"x"'),
    "columns": (b"?x", b"\t?x"),
    "commas": (b"subject", b",a"),
    "patch": (b"", b"TX .\nTC .\n"),
    "patch prefixes": (b"", b'PA "a" <a:b> .\n'),
    "frames": (bytes.fromhex("0c0a0a0a08100148105008580878"[:28]) + b"\x01", b"\0"),
}
PACKS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "bz2": bz2.compress,
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": lambda data: __import__("zstandard").compress(data, 3),
}
SIZES = {"plain": 1 << 10, "bz2": 1 << 25, "gz": 1 << 20, "xz": 1 << 22, "zst": 1 << 24}


def entries() -> dict[str, Callable[[bytes], object]]:
    import io

    import jelly
    import jelly.arrow
    import jelly.messages
    import jelly.patch
    from jelly.stats import stats

    def used_up(items: Any) -> None:
        for _ in items:
            pass

    found: dict[str, Callable[[bytes], object]] = {}
    for name in ("jelly", "nt", "nq", "ttl", "trig", "rdf", "jsonld", "n3", "thrift", "protobuf"):
        found[f"read {name}"] = lambda data, name=name: used_up(jelly.scan(data, format=name).batches())
    for name in ("jelly", "nt", "nq", "ttl", "trig", "ndjsonld", "yamlld", "rdfxml"):
        found[f"messages {name}"] = lambda data, name=name: used_up(
            jelly.messages.read_messages(data, format=name, **({"force": True} if name == "jelly" else {}))
        )
    for name in ("thrift", "protobuf", "json", "xml", "tsv"):
        found[f"results {name}"] = lambda data, name=name: used_up(jelly.results.read_results(data, format=name))
    for name in ("rdfp", "jellyp", "trp"):
        found[f"patch {name}"] = lambda data, name=name: used_up(jelly.patch.PatchReader(data, format=name).batches())
    found["frames"] = lambda data: used_up(jelly.scan(data).frames())
    found["inspect"] = lambda data: jelly.inspect(data, per_frame=True)
    found["validate"] = lambda data: jelly.validate(data)
    found["stats"] = lambda data: stats(data, format="nt")
    found["convert"] = lambda data: jelly.convert(data, io.BytesIO(), format="nq", to="jelly")
    found["arrow"] = lambda data: used_up(jelly.read_arrow(data, format="nt"))
    return found


def cases() -> list[tuple[str, str, str]]:
    made = [(e, h, p) for e in entries() for h in HOSTILE for p in PACKS]
    # Where a row, a statement or a message may be one, two or eight bytes, it takes up to 2 microseconds: of 8 to 32 MB
    # of them that is more than the bound.
    large = {"results tsv": HOSTILE, "messages ttl": {"directives"}}
    large |= dict.fromkeys(("read ttl", "read trig", "read n3"), {"objects"})
    made = [case for case in made if case[1] not in large.get(case[0], ()) or case[2] in ("plain", "gz")]
    return made if LONG else made[::199]


def input_of(hostile: str, pack: str) -> bytes:
    begin, again = HOSTILE[hostile]
    return PACKS[pack](begin + again * (SIZES[pack] // len(again)))


def main(first: int, step: int, folder: Path) -> None:
    """Some of the cases one after the other; those that took too long are printed."""
    import jelly

    doors = entries()
    chosen = cases()[first::step]
    kept = {key: input_of(*key) for key in {case[1:] for case in chosen}}
    for entry, hostile, pack in chosen:
        (folder / "case").write_text(f"{entry}, {hostile}, {pack}")
        data = kept[hostile, pack]

        def work() -> None:
            with contextlib.suppress(jelly.JellyError):
                doors[entry](data)  # noqa: B023

        forget_peak()
        before = peak()
        try:
            within(SECONDS, work)
        except (AssertionError, TypeError, UnicodeDecodeError) as error:
            print(f"{entry}, {hostile}, {pack}: {error!r}")
        if (grown := peak() - before) > MEMORY:
            print(f"{entry}, {hostile}, {pack}: {grown >> 20} MB")


@pytest.mark.timeout(36_000 if LONG else 900)
@pytest.mark.skipif(SANITIZED, reason="takes too long")
@pytest.mark.bounded
def test_every_door_with_a_kilobyte(tmp_path: Path) -> None:
    pytest.importorskip("zstandard")
    pytest.importorskip("pyoxigraph")
    pytest.importorskip("yaml")
    code = f"""
import sys, resource; sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_kilobyte as t, jelly.arrow, jelly.oxigraph, jelly._tools.yaml
from pathlib import Path
t.main(0, 1, Path({str(tmp_path)!r}))
"""
    done = run("-c", code, timeout=35_000 if LONG else 840)
    last = (tmp_path / "case").read_text()
    assert done.returncode == 0, f"{last}: {done.stderr[-2000:]}"
    assert not done.stdout, done.stdout


def test_the_cases_are_a_kilobyte_or_so() -> None:
    for hostile in HOSTILE:
        assert len(input_of(hostile, "plain")) < 4096


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
