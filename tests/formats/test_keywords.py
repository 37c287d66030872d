"""Misspelt keywords are refused at the call, by name, with the one that was meant."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.contents import convert_messages

import jelly
from jelly import IRI, JellyArgumentError
from jelly._formats.registry import FORMATS, REGISTRY, Content
from jelly._options.settings import fitted, refuse_unknown
from jelly.messages import MessageReader, MessageWriter, read_messages, write_messages
from jelly.patch import PatchReader, PatchWriter, apply, diff, read_patches
from jelly.patch import dumps as dump_patches
from jelly.patch import loads as load_patches

T = (IRI("a:s"),) * 3
OUT = io.BytesIO

CALLS: list[tuple[Callable[..., Any], str, str]] = [
    (lambda **k: jelly.Reader(b"", **k), "formt", "format"),
    (lambda **k: jelly.read(b"", **k), "max_frame_byte", "max_frame_bytes"),
    (lambda **k: jelly.scan(b"", **k).batches(), "batch_row", "batch_rows"),
    (lambda **k: jelly.scan(b"", **k).frames(), "delimted", "delimited"),
    (lambda **k: jelly.read_options(b"", **k), "max_name", "max_names"),
    (lambda **k: jelly.loads(b"", **k), "max_prefix", "max_prefixes"),
    (lambda **k: jelly.dumps([], **k), "delimeted", "delimited"),
    (lambda **k: jelly.Writer(OUT(), **k), "seekabl", "seekable"),
    (lambda **k: jelly.write(OUT(), [], **k), "frame_row", "frame_rows"),
    (lambda **k: jelly.write(OUT(), [], format="thrift", **k), "prefixs", "prefixes"),
    (lambda **k: jelly.convert(b"", OUT(), **k), "fromat", "format"),
    (lambda **k: jelly.convert(b"", OUT(), **k), "tos", "to"),
    (lambda **k: jelly.open("none", **k), "max_datatype", "max_datatypes"),
    (lambda **k: jelly.inspect(b"", **k), "per_fame", "per_frame"),
    (lambda **k: jelly.validate(b"", **k), "againts", "against"),
    (lambda **k: jelly.results.read_results(b"", **k), "fromat", "format"),
    (lambda **k: jelly.results.write_results(OUT(), [], [], **k), "frmat", "format"),
    (lambda **k: MessageReader(b"", **k), "trialing", "trailing"),
    (lambda **k: read_messages(b"", **k), "dialct", "dialect"),
    (lambda **k: MessageWriter(OUT(), **k), "option", "options"),
    (lambda **k: write_messages(OUT(), [], **k), "dialet", "dialect"),
    (lambda **k: convert_messages(b"", OUT(), **k), "dialct", "dialect"),
    (lambda **k: PatchReader(b"", **k), "formt", "format"),
    (lambda **k: read_patches(b"", **k), "max_line_byte", "max_line_bytes"),
    (lambda **k: load_patches(b"", **k), "delimted", "delimited"),
    (lambda **k: PatchWriter(OUT(), **k), "marked_blank_node", "marked_blank_nodes"),
    (lambda **k: dump_patches([], **k), "seekabel", "seekable"),
    (lambda **k: jelly.convert(b"", OUT(), content="patches", **k), "marked_nodes", "marked_blank_nodes"),
    (lambda **k: diff(b"", b"", **k), "memry", "memory"),
    (lambda **k: diff(b"", b"", OUT(), **k), "header", "headers"),
    (lambda **k: apply([], b"", OUT(), **k), "on_mising", "on_missing"),
]


@pytest.mark.parametrize(("call", "wrong", "meant"), CALLS, ids=[wrong for _, wrong, _ in CALLS])
def test_a_misspelt_keyword(call: Callable[..., Any], wrong: str, meant: str) -> None:
    with pytest.raises(JellyArgumentError) as caught:
        call(**{wrong: 1})
    assert str(caught.value) == f"unknown keyword {wrong!r}: did you mean {meant!r}?"


def test_bridges() -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(JellyArgumentError, match="'thread': did you mean 'threads'"):
        jelly.read_arrow(b"", thread=2)
    with pytest.raises(JellyArgumentError, match="'laoyut': did you mean 'layout'"):
        jelly.write_arrow(OUT(), None, laoyut="flat")
    with pytest.raises(JellyArgumentError, match="'dictionry': did you mean 'dictionary'"):
        jelly.read_arrow(b"", content="patches", dictionry=True)
    with pytest.raises(JellyArgumentError, match="'transaction': did you mean 'transactions'"):
        jelly.write_arrow(OUT(), None, content="patches", transaction=True)


def test_rdflib() -> None:
    pytest.importorskip("rdflib")
    from jelly import rdflib

    for call, wrong, meant in (
        (lambda **k: rdflib.read(b"", **k), "formt", "format"),
        (lambda **k: rdflib.read_graphs(b"", **k), "formt", "format"),
        (lambda **k: rdflib.write(OUT(), [], **k), "steam_name", "stream_name"),
        (lambda **k: rdflib.write_graphs(OUT(), [], **k), "namespace", "namespaces"),
    ):
        with pytest.raises(JellyArgumentError, match=f"{wrong!r}: did you mean {meant!r}"):
            call(**{wrong: 1})


def test_oxigraph() -> None:
    pytest.importorskip("pyoxigraph")
    from jelly import oxigraph

    for call, wrong, meant in (
        (lambda **k: oxigraph.read(b"", **k), "leniant", "lenient"),
        (lambda **k: oxigraph.write(OUT(), [], **k), "frame_byte", "frame_bytes"),
        (lambda **k: oxigraph.load(None, b"", **k), "bas", "base"),
    ):
        with pytest.raises(JellyArgumentError, match=f"{wrong!r}: did you mean {meant!r}"):
            call(**{wrong: 1})


def test_a_keyword_of_another_format() -> None:
    with pytest.raises(JellyArgumentError, match="N-Triples has no keyword 'max_frame_bytes': did you mean 'max_line"):
        jelly.read(b"", format="nt", max_frame_bytes=1)
    with pytest.raises(JellyArgumentError, match="Jelly has no keyword 'lenient': expected one of batch_bytes, batch_"):
        jelly.read(b"", lenient=True)
    with pytest.raises(JellyArgumentError, match="N-Quads has no keyword 'prefixes': expected one of quoted"):
        jelly.Writer(OUT(), format="nq", prefixes={})
    with pytest.raises(JellyArgumentError, match="RDF Patch has no keyword 'max_names'"):
        read_patches(b"", format="rdfp", max_names=1)
    with pytest.raises(JellyArgumentError, match="json of query results has no keyword 'max_row_bytes'"):
        jelly.results.read_results(b"", format="json", max_row_bytes=1)


def test_nothing_is_opened_or_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (lambda: jelly.Writer("x.jelly", seekabl=True), lambda: jelly.Writer("x.nt", values=True)):
        with pytest.raises(JellyArgumentError):
            call()
    assert os.listdir(tmp_path) == []


def test_options_of_another_type() -> None:
    for call in (
        lambda: jelly.Writer(OUT(), options="x"),  # type: ignore[arg-type]
        lambda: jelly.write(OUT(), [T], "x"),  # type: ignore[arg-type]
        lambda: jelly.dumps([T], "x"),  # type: ignore[arg-type]
    ):
        with pytest.raises(JellyArgumentError, match="options is 'x': expected StreamOptions"):
            call()
    with pytest.raises(JellyArgumentError, match="expected PatchOptions"):
        PatchWriter(OUT(), jelly.StreamOptions())  # type: ignore[arg-type]


def test_the_error_is_both() -> None:
    error = JellyArgumentError("no")
    assert isinstance(error, TypeError)
    assert isinstance(error, jelly.JellyError)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (JellyArgumentError, "no")
    with pytest.raises(TypeError, match="unknown keyword 'zzz': expected one of a, b"):
        refuse_unknown(["a", "zzz"], ["b", "a"])


def test_names_documentation_and_signatures_stay() -> None:
    assert list(inspect.signature(jelly.dumps).parameters) == ["statements", "options", "delimited"]
    assert jelly.dumps.__name__ == "dumps"
    assert jelly.dumps.__doc__
    own = inspect.unwrap(jelly.Writer.__init__)
    assert list(inspect.signature(own).parameters) == ["self", "dst", "options", "settings"]
    assert list(inspect.signature(jelly.Writer).parameters)[:4] == ["dst", "options", "format", "frame_rows"]
    assert "seekable" in vars(jelly.Writer.__init__)["keywords"]


# ---- what is declared is what there is


def keywords_of(stub: str, name: str) -> set[str]:
    """The keywords of a compiled class as its stub tells, which stubtest compares with the class."""
    path = Path(jelly.__file__).parent / "_core" / f"{stub}.pyi"
    (found,) = (
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef) and node.name == name
    )
    (new,) = (node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
    return {argument.arg for argument in new.args.kwonlyargs}


SOURCE = {"max_expansion"}  # of all formats


def test_declared_keywords() -> None:
    # `options` and those behind it are for who begins in the middle of a stream.
    inner = {"delimited", "patch", "options", "state", "first_row", "first_frame", "offset", "place"}
    messages = {"messages", "announced", "trailing", "max_message_bytes"}
    assert FORMATS["jelly"].reading == (keywords_of("jelly/decoder", "Decoder") - inner) | SOURCE
    for name in ("nt", "nq"):
        own = messages | {"quads", "strict", "rdf", "on_error", "patch"}
        assert FORMATS[name].reading == (keywords_of("ntriples/text", "TextReader") - own) | SOURCE
        assert FORMATS[name].writing == {"quoted"}
    for name in ("thrift", "protobuf"):
        assert FORMATS[name].reading == (keywords_of("jena/reader", "BinaryReader") - {"patch", "scan"}) | SOURCE
        assert FORMATS[name].writing == keywords_of("jena/writer", "BinaryWriter") - {"patch"}
    assert set(FORMATS) == {*("jelly", "nt", "nq", "thrift", "protobuf"), *("ttl", "trig", "rdf", "jsonld", "n3")}
    assert set(REGISTRY[Content.PATCH]) == {"jellyp", "rdfp", "trp"}


def test_declared_keywords_of_syntaxes() -> None:
    pytest.importorskip("pyoxigraph")
    module = importlib.import_module("jelly._formats.syntaxes")
    taken = set(inspect.signature(module.SyntaxReader).parameters) - {"format"}
    for name in ("ttl", "trig", "rdf", "jsonld", "n3"):
        assert FORMATS[name].reading == taken | SOURCE


def test_each_declared_keyword_is_taken() -> None:
    values = {"base": "http://e/", "lenient": True, "quads": True, "joined": True, "unknown_rows": "skip"}
    values["message"] = None
    for format in FORMATS.values():
        if format.codec == "jelly._formats.syntaxes":
            pytest.importorskip("pyoxigraph")
        for name in format.reading:
            jelly.Reader(b"", format=format.name, **{name: values.get(name, 1000)}).close()


def test_limits_that_fit() -> None:
    assert fitted({"max_line_bytes": 5}, ["max_line_bytes"], 1 << 30) == {"max_line_bytes": 5}
    assert fitted({}, ["max_names", "base"], 1 << 40) == {}
    assert fitted({}, ["max_frame_bytes"], None) == {}
    assert fitted({}, ["max_frame_bytes"], 1 << 24) == {}
    assert fitted({}, ["max_frame_bytes"], (1 << 24) + 1) == {"max_frame_bytes": (1 << 28) + 16}
