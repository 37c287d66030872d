"""How much two sources differ: `jelly.patch.diff_stat` and ``jelly diff --stat``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from click.testing import CliRunner
from support.shared import shared

import jelly
from jelly.cli.commands import cli
from jelly.patch import diff_stat


def test_numbers_by_predicate(tmp_path: Path) -> None:
    rows = list(jelly.read(shared("data", "vocabs-quads", "vocabs.nq.gz")))[:20_000]
    old, new = rows[:-700], rows[500:]
    for name, some in (("old", old), ("new", new)):
        jelly.write(tmp_path / f"{name}.jelly", some)
    for memory in (1 << 29, 1 << 18):
        found = diff_stat(tmp_path / "old.jelly", tmp_path / "new.jelly", memory=memory, match_blank_nodes=False)
        added, deleted = set(new) - set(old), set(old) - set(new)
        assert (found.added, found.deleted, found.namespaces) == (len(added), len(deleted), 0)
        more, fewer = (Counter(str(row.p) for row in some) for some in (added, deleted))
        assert found.predicates == {name: (more[name], fewer[name]) for name in more | fewer}
        sizes = [sum(pair) for pair in found.predicates.values()]
        assert sizes == sorted(sizes, reverse=True)
        assert found
    assert not diff_stat(tmp_path / "old.jelly", tmp_path / "old.jelly")


def test_command(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text('<a:s> <a:p> "1" .\n')
    new.write_text('<a:s> <a:p> "2" .\n<a:s> <a:q> "2" .\n')
    run = CliRunner().invoke
    command = ["diff", str(old), str(new)]
    found = run(cli, [*command, "--stat"])
    assert (found.exit_code, found.stdout) == (0, "+1\t-1\t<a:p>\n+1\t-0\t<a:q>\n")
    assert found.stderr == "2 additions, 1 deletion\n"
    predicates = {"<a:p>": {"added": 1, "deleted": 1}, "<a:q>": {"added": 1, "deleted": 0}}
    told = {"added": 2, "deleted": 1, "predicates": predicates}
    assert json.loads(run(cli, [*command, "--stat", "--json"]).stdout) == told
    assert run(cli, [*command, "--stat", "--exit-code"]).exit_code == 1
    assert run(cli, ["diff", str(old), str(old), "--stat", "--exit-code"]).exit_code == 0
    for more in ([], ["-"]):
        found = run(cli, [*command, *more])
        assert (found.exit_code, found.stdout.count("\n")) == (0, 5)
    for wrong in (["-", "--stat"], ["--stat", "--to", "rdfp"], ["--json"]):
        assert run(cli, [*command, *wrong]).exit_code == 2


def test_fail_if(tmp_path: Path) -> None:
    old, new = tmp_path / "old.nt", tmp_path / "new.nt"
    old.write_text("".join(f'<a:s{n}> <a:{"pq"[n == 9]}> "1" .\n' for n in range(10)))
    new.write_text("".join(f'<a:s{n}> <a:p> "1" .\n' for n in range(1, 9)) + '<a:s> <a:r> "1" .\n')
    # Of 10 statements two are deleted, one of nine <a:p> and the only <a:q>; one <a:r> is new.
    assert diff_stat(old, new).old == {"<a:p>": 9, "<a:q>": 1}
    for condition, lines in {
        "deleted>1": ["deleted>1: 2 deleted, OLD has 10"], "deleted>2": [], "deleted>20%": [],
        "deleted>19.9%": ["deleted>19.9%: 2 deleted, OLD has 10"],
        "changed>29%": ["changed>29%: 3 changed, OLD has 10"], "added>10%": [],
        "p.deleted>50%": ["p.deleted>50%: 1 deleted of <a:q>, OLD has 1"],
        "p.added>0": ["p.added>0: 1 added of <a:r>, OLD has 0"],
        "p.added>900%": ["p.added>900%: 1 added of <a:r>, OLD has 0"],
        "p.deleted>11%": [f"p.deleted>11%: 1 deleted of <a:{p}>, OLD has {n}" for p, n in (("p", 9), ("q", 1))],
    }.items():  # fmt: skip
        found = CliRunner().invoke(cli, ["diff", str(old), str(new), "--stat", "--fail-if", condition])
        told = [f"{len(lines)} above --fail-if:", *(f"  {line}" for line in lines)] if lines else []
        assert found.exit_code == bool(lines), condition
        assert found.stderr.splitlines() == ["1 addition, 2 deletions", *told]
    wrong = ["", ">", ">x", ">-1", ">5 %", "<5", ">" + "9" * 99, ">1\n"]
    wrong = [*(f"deleted{one}" for one in wrong), "o.deleted>5", "p.>1", "gone>1"]
    for more in (*(["--stat", "--fail-if", one] for one in wrong), ["--fail-if", "deleted>1"],
                 ["--stat", "--exit-code", "--fail-if", "deleted>1"]):  # fmt: skip
        assert CliRunner().invoke(cli, ["diff", str(old), str(new), *more]).exit_code == 2, more
    old.write_text("no statement")
    found = CliRunner().invoke(cli, ["diff", str(old), str(new), "--stat", "--fail-if", "deleted>1"])
    assert found.exit_code == 2
    assert found.stderr.startswith("error: ")
    assert CliRunner().invoke(cli, ["diff", str(new), str(new), "--stat", "--fail-if", "p.changed>0"]).exit_code == 0
