"""Patches made in memory: nesting, operations in place of a patch, and what the commands say of them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import jelly
from jelly import IRI, BlankNode
from jelly.patch import (
    Abort,
    Add,
    Commit,
    Delete,
    Patch,
    PatchWriter,
    Start,
    apply,
    compact,
    diff,
    dumps,
    invert,
    loads,
)

ONE, TWO = ((IRI("a:s"), IRI("a:p"), IRI(f"a:{i}")) for i in (1, 2))
WRONG = {
    "nested": [Start(), Add(ONE), Start(), Add(TWO), Commit()],
    "no start": [Add(ONE), Commit()],
    "aborted twice": [Start(), Abort(), Abort()],
}


@pytest.mark.parametrize("operations", WRONG.values(), ids=WRONG)
def test_transactions_that_are_wrong_are_refused(operations: list[jelly.patch.Operation]) -> None:
    row = next(i for i in range(1, len(operations) + 1) if _fails(operations[:i])) - 1
    calls = [
        lambda: Patch(operations),
        lambda: apply(operations, b"", io.BytesIO(), format="nt", to="nt"),
        lambda: compact(operations),
        lambda: compact([operations]),
        lambda: invert(Patch(operations)),
    ]
    calls += [lambda f=f: dumps(operations, format=f) for f in ("jellyp", "rdfp", "trp")]
    for call in calls:
        with pytest.raises(jelly.JellyFormatError, match="transaction"):
            call()
    with pytest.raises(jelly.JellyFormatError) as caught:
        Patch(operations)
    assert caught.value.row == row


def _fails(operations: list[jelly.patch.Operation]) -> bool:
    try:
        Patch(operations)
    except jelly.JellyFormatError:
        return True
    return False


@pytest.mark.parametrize("format", ["jellyp", "rdfp", "trp"])
def test_an_open_transaction_is_not_written(format: str) -> None:
    with pytest.raises(jelly.JellyFormatError, match="ends inside a transaction"):
        dumps([Start(), Add(ONE)], format=format)
    with pytest.raises(jelly.JellyFormatError, match="ends inside a transaction"):
        dumps([Patch([Start()]), Patch()], format=format)
    out = io.BytesIO()
    with PatchWriter(out, format=format) as writer:
        writer.add(Start())
        writer.add_batch(next(Patch([Add(ONE)]).batches()))
        writer.add(Commit())
    assert [len(patch) for patch in loads(out.getvalue(), format=format)] == [3]


def test_operations_are_a_patch() -> None:
    operations = [Start(), Add(ONE), Commit()]
    assert dumps(operations, format="rdfp") == dumps(Patch(operations), format="rdfp")
    assert compact(iter(operations)) == Patch(operations)
    assert compact([Add(ONE), Patch([Add(TWO)])]) == Patch([Start(), Add(ONE), Add(TWO), Commit()])
    out = io.BytesIO()
    assert apply(operations, b"", out, format="nt", to="nt").added == 1
    with pytest.raises(TypeError, match=r"expected Iterable\[Patch \| Operation\] \| Patch"):
        dumps(["A"])
    assert isinstance(diff(b"", b"", format="nt"), Patch)


def test_what_was_added_and_deleted_may_have_been_there_before() -> None:
    patch = compact([Patch([Add(ONE)]), Patch([Delete(ONE)])])
    assert patch == Patch([Start(), Delete(ONE), Commit()])
    line = b"<a:s> <a:p> <a:1> .\n"
    for old, missing in ((line, 0), (b"", 1)):
        out = io.BytesIO()
        assert apply(patch, old, out, format="nt", to="nt").missing == missing
        assert out.getvalue() == b""


def test_texts_keep_labels_apart_in_jena() -> None:
    patch = Patch([Add((BlankNode("a1"), IRI("a:p"), BlankNode("b1")))])
    assert dumps(patch, format="rdfp") == b"A <_:a1> <a:p> <_:b1> .\n"
    other = dumps(patch, format="rdfp", marked_blank_nodes=False)
    assert other == b"A _:a1 <a:p> _:b1 .\n"
    assert loads(other, format="rdfp") == loads(dumps(patch, format="rdfp"), format="rdfp") == [patch]
    out = io.BytesIO()
    diff(b"", b"_:a1 <a:p> _:b1 .\n", out, to="rdfp", format="nt")
    assert b"A <_:a1> <a:p> <_:b1> .\n" in out.getvalue()


# ---- commands


def test_commands_tell_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    testing = pytest.importorskip("click.testing")
    from jelly.cli.commands import cli

    def run(*words: str) -> tuple[int, str]:
        done = testing.CliRunner().invoke(cli, [*["patch"][: words[0] != "diff"], *words])
        return done.exit_code, done.output

    monkeypatch.chdir(tmp_path)
    Path("a.nt").write_text("_:x <a:p> <a:1> .\n<a:s> <a:p> <a:1> .\n")
    Path("b.nt").write_text("_:x <a:p> <a:1> .\n<a:s> <a:p> <a:2> .\n<a:s> <a:p> <a:3> .\n")
    Path("c.nt").write_text("<a:s> <a:p> <a:9> .\n")
    assert run("diff", "a.nt", "b.nt", "x.rdfp") == (0, "2 additions, 1 deletion\n")
    assert run("diff", "--exit-code", "a.nt", "b.nt", "x.rdfp") == (1, "2 additions, 1 deletion\n")
    assert run("diff", "--exit-code", "a.nt", "a.nt", "y.rdfp") == (0, "0 additions, 0 deletions\n")
    code, told = run("diff", "--exit-code", "a.nt", "none.nt", "y.rdfp")
    assert code == 2
    assert "none.nt" in told
    assert run("diff", "a.nt", "none.nt", "y.rdfp")[0] == 1
    code, told = run("apply", "x.rdfp", "c.nt", "d.nt")
    assert code == 0
    assert "2 added, 0 deleted, 1 deletion did not match any statement\nwarning: " in told
    told = "2 added, 1 deleted, 0 deletions did not match any statement\n"
    assert run("apply", "x.rdfp", "a.nt", "d.nt") == (0, told)
    code, told = run("apply", "--missing", "error", "x.rdfp", "c.nt", "e.nt")
    assert code == 1
    assert not Path("e.nt").exists()
    for command in ([], ["diff"]):
        assert "anon0" in run(*command, "--help")[1]
