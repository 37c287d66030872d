"""Logs say by VERSION what delimits their messages; what they do not say is never guessed in silence."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import jelly
from jelly.messages import read_messages, write_messages

V = 'VERSION "1.2-messages"\n'
A, B = "<a:s> <a:p> <a:1> .\n", "<a:s> <a:p> <a:2> .\n"
FAMILY = ["nt", "nq", "ttl", "trig"]
TURTLE = ["ttl", "trig"]


def sizes(text: str, format: str, size: int | None = None, **settings: object) -> list[int]:
    data = text.encode()
    source = data if size is None else [data[at : at + size] for at in range(0, len(data), size)]
    return [len(message) for message in read_messages(source, format=format, **settings)]


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("format", FAMILY)
@pytest.mark.parametrize("label", ["1.2-messages", "1.2-basic-messages", "1.1-messages"])
def test_the_label_is_enough(format: str, label: str, size: int | None) -> None:
    head = (
        f'# a log\n\n \t# @messages\nVERSION "{label}" # yes\n'
        if format in TURTLE
        else f'# a log\n\n VERSION "{label}" # yes\n'
    )
    assert sizes(f"{head}{A}MESSAGE\n# @message\nMESSAGE\n{B}MESSAGE\n", format, size) == [1, 0, 1]
    assert sizes(f"{head}MESSAGE\n{B}", format, size) == [0, 1]


@pytest.mark.parametrize("size", [None, 1, 2, 7])
@pytest.mark.parametrize("format", TURTLE)
@pytest.mark.parametrize(
    "head",
    [
        "@version '1.2-messages' .",
        "@prefix e: <a:> .\nBASE <a:>\nversion\t'1.2-messages'",
        '\ufeffPREFIX : <a:> @prefix\n version: <a:>.Version "1.2-messages"',
    ],
)
def test_any_spelling(format: str, head: str, size: int | None) -> None:
    assert sizes(f"{head}\n{A}@message .\n{B}", format, size) == [1, 1]


@pytest.mark.parametrize("size", [None, 1, 7])
@pytest.mark.parametrize("format", FAMILY)
@pytest.mark.parametrize("head", ["", 'VERSION "1.2"\n', '# VERSION "1.2-messages"\n'])
def test_else_comments_delimit(format: str, head: str, size: int | None) -> None:
    assert sizes(f"{head}{A}# @message\n{B}", format, size) == [1, 1]
    with pytest.raises(jelly.JellySyntaxError, match="does not announce it: expected VERSION") as caught:
        sizes(f"{head}{A}MESSAGE\n{B}", format, size)
    assert caught.value.line == 2 + head.count("\n")


@pytest.mark.parametrize("format", FAMILY)
def test_who_says_comments_gets_them(format: str) -> None:
    assert sizes(f"{V}{A}# @message\n{B}", format, dialect="comment") == [1, 1]
    assert sizes(f"{A}{V}# @message\n{B}", format) == [1, 1]  # too late
    with pytest.raises(jelly.JellySyntaxError, match='pass dialect="directive"') as caught:
        sizes(f"{V}{A}MESSAGE\n{B}", format, dialect="comment")
    assert caught.value.line == 3
    media = {
        "nt": "application/n-triples",
        "nq": "application/n-quads",
        "ttl": "text/turtle",
        "trig": "application/trig",
    }
    assert sizes(f"{V}{A}# @message\n{B}", f"{media[format]}; messages=rdfm") == [1, 1]
    assert sizes(f"{V}{A}MESSAGE\n{B}", media[format]) == [1, 1]


@pytest.mark.parametrize("text", ["prefix:s <a:p> <a:o> .", "v:s v:p v:o .", "base", "version <a:x>", "p", "# open"])
def test_what_only_begins_like_a_directive_is_read(text: str) -> None:
    head = "@prefix prefix: <a:> . @prefix v: <b:> .\n"

    def told(size: int | None) -> object:
        try:
            return sizes(head + text, "ttl", size)
        except jelly.JellySyntaxError as error:
            return str(error)

    assert told(1) == told(None)


def test_a_long_head_is_decided_the_same_in_chunks() -> None:
    text = "# " + "x" * 9000 + f"\n{V}{A}# @message\n{B}"
    assert sizes(text, "ttl") == sizes(text, "ttl", 1000) == [1, 1]


@pytest.mark.parametrize("format", FAMILY)
@pytest.mark.parametrize("dialect", ["comment", "directive"])
def test_what_we_write_is_read_without_a_dialect(format: str, dialect: str) -> None:
    out = io.BytesIO()
    statement = jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI("a:o"))
    write_messages(out, [[], [statement], [], [statement, statement]], format=format, dialect=dialect)
    assert [len(message.dataset()) for message in read_messages(out.getvalue(), format=format)] == [0, 1, 0, 1]


def test_a_context_is_for_the_lines_behind_it() -> None:
    log = '{"@context":{"@vocab":"https://schema.org/"}}\n{"@id":"http://x/1","name":"H"}\n{}\n{"@id":"http://x/2","name":"I"}\n'
    assert sizes(log, "ndjsonld") == sizes(log, "application/ld+ndjson") == [1, 0, 1]
    assert sizes(log, "ndjsonld", dialect="comment") == [0, 0, 0, 0]


def test_the_command_speaks_of_options(tmp_path: Path) -> None:
    testing = pytest.importorskip("click.testing")
    from jelly.cli.commands import cli

    def run(*words: object) -> tuple[int, str]:
        done = testing.CliRunner().invoke(cli, [str(words[0]), "--messages", *map(str, words[1:])])
        return done.exit_code, done.output

    log = tmp_path / "m.nt"
    log.write_text(f"{V}{A}MESSAGE\n{B}")
    assert run("validate", log) == (0, f"{log}: no problems\n")
    code, told = run("validate", "--dialect", "comment", log)
    assert code == 1
    assert "use --dialect directive" in told
    flat = tmp_path / "flat.jelly"
    jelly.write(flat, jelly.read(A.encode(), format="nt"))
    for words in (("validate", flat), ("count", flat)):
        code, told = run(*words)
        assert code == 1
        assert "use --force to read them as messages" in told
    remote = tmp_path / "m.ndjsonld"
    remote.write_text('{"@context": "http://c/", "a": 1}\n')
    assert "give it with --context URL=FILE" in run("validate", remote)[1]
