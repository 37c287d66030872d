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
