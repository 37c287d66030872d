"""Errors, options and arguments that once were of another family, or did something else than they said."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import steps

import jelly
from jelly import patch
from jelly.cli.commands import cli

S = jelly.IRI("a:s")
ONE = jelly.Triple(S, jelly.IRI("a:p"), jelly.IRI("a:o"))


def test_the_builtins_of_an_argument() -> None:
    assert issubclass(jelly.JellyArgumentError, TypeError)
    assert issubclass(jelly.JellyArgumentError, ValueError)


def test_strict_and_a_version() -> None:
    with pytest.raises(jelly.JellyArgumentError, match="strict=True is RDF 1.1"):
        jelly.read(b"<a:s> <a:p> <a:o> .", format="nt", strict=True, rdf="1.2")


def test_types_are_told_by_name() -> None:
    for wrong, text in (
        ({"batch_rows": "5"}, "batch_rows is '5': expected a whole number"),
        ({"strict": "no"}, "strict is 'no': expected bool"),
        ({"format": 5}, "format is 5: expected str or None"),
        ({"rdf": "2"}, 'rdf is \'2\': expected "1.1", "1.2-basic", "1.2" or None'),
    ):
        with pytest.raises(jelly.JellyArgumentError) as caught:
            jelly.read(b"", **wrong)  # type: ignore[arg-type]
        assert str(caught.value) == text


def test_star_imports_leave_the_builtins_alone() -> None:
    program = "from jelly import *; import builtins; assert open is builtins.open; read"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert "open" in dir(jelly)


def test_folder_and_data_in_each_others_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(jelly.JellyArgumentError, match="dst is b'<a:s>"):
        steps.write_ids(b"<a:s> <a:p> <a:o> .", "folder")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_what_is_published() -> None:
    jg = pytest.importorskip("jelly.grpc")
    operations = [patch.Start(), patch.Add(ONE), patch.Commit()]
    whole = patch.Patch(operations)
    alone = b"".join(jg.FrameEncoder(patch=True).encode_many(operations))
    assert alone == b"".join(jg.FrameEncoder(patch=True).encode_many([whole]))
    mixed = list(jg.FrameEncoder(patch=True).encode_many([*operations, whole, patch.Add(ONE)]))
    assert len(mixed) == 3
    for wrong in (b"abc", [whole], [5], "abc"):  # as `Client.publish` encodes them
        with pytest.raises(jelly.JellyArgumentError):
            list(jg.FrameEncoder().encode_many(wrong))
    for wrong in (b"abc", [ONE], [5]):
        with pytest.raises(jelly.JellyArgumentError):
            list(jg.FrameEncoder(patch=True).encode_many(wrong))


@pytest.mark.parametrize("address", ["192.0.2.1:50051", "example.invalid:50051"])
def test_a_token_is_not_sent_in_the_clear(address: str) -> None:
    jg = pytest.importorskip("jelly.grpc")
    for client in (jg.Client, jg.AsyncClient):
        with pytest.raises(jelly.JellyOptionsError, match="could read the token: pass tls=, or insecure=True"):
            client(address, token="s3cret")
    for given in ({"insecure": True}, {"tls": jg.Tls()}):
        jg.Client(address, token="s3cret", **given).close()
    jg.Client(address).close()
    for here in ("127.0.0.1:1", "[::1]:1", "localhost:1", "unix:/nowhere"):
        jg.Client(here, token="s3cret").close()
    done = CliRunner().invoke(cli, ["topics", address], env={"JELLY_TOKEN": "s3cret"})
    assert done.exit_code == 1
    assert "use --tls, or --insecure" in done.stderr


def test_memory_of_a_comparison_is_a_size(tmp_path: Path) -> None:
    for name in ("old.nt", "new.nt"):
        (tmp_path / name).write_bytes(b"<a:s> <a:p> <a:o> .\n")
    for size, code in (("512M", 0), ("64m", 0), ("67108864", 0), ("0", 2), ("much", 2)):
        args = ["diff", str(tmp_path / "old.nt"), str(tmp_path / "new.nt"), "--stat", "--memory", size]
        assert CliRunner().invoke(cli, args).exit_code == code


def patches(n: int, rows: int) -> list[patch.Patch]:
    made = []
    for i in range(n):
        links = [patch.Header("prev", jelly.IRI(f"a:{i - 1}"))] if i else []
        adds = [patch.Add(jelly.Triple(S, jelly.IRI(f"a:p{i}"), jelly.Literal(f"{j}"))) for j in range(rows)]
        star = patch.Add(jelly.Triple(S, S, jelly.QuotedTriple(S, S, S)))
        headers = [patch.Header("id", jelly.IRI(f"a:{i}")), *links]
        made.append(patch.Patch([*headers, patch.Start(), *adds, star, patch.Commit()]))
    return made


def test_inverting_and_sorting_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The patches are in a temporary file from the first byte on, and none of them in memory."""
    from jelly.patch import _log

    held = []
    real = _log.PatchSpool.__getitem__

    def get(self: _log.PatchSpool, number: int) -> patch.Patch:
        held.append(number)
        return real(self, number)

    monkeypatch.setattr(_log, "HELD_BYTES", 1)
    monkeypatch.setattr(_log.PatchSpool, "__getitem__", get)
    log = patches(20, 5)
    src, out = str(tmp_path / "log.jellyp"), str(tmp_path / "out.jellyp")
    with patch.PatchWriter(src) as writer:
        for one in reversed(log):
            writer.write(one)
    assert CliRunner().invoke(cli, ["patch", "invert", src, out]).exit_code == 0
    assert held == list(range(19, -1, -1))
    undone = list(patch.read_patches(out))
    assert [one.prev for one in undone] == [one.id for one in log]
    assert [[str(x) for x in one][-3:] for one in undone] == [[str(x) for x in patch.invert(one)][-3:] for one in log]
    held.clear()
    assert CliRunner().invoke(cli, ["patch", "log", src, "-o", out]).exit_code == 0
    assert held == list(range(19, -1, -1))
    assert list(patch.read_patches(out)) == log == patch.read_log(src)


def test_triples_and_their_patches_come_back(tmp_path: Path) -> None:
    from jelly.patch._log import PatchSpool

    with PatchSpool() as spool:
        given = [*patches(3, 2), patch.Patch([patch.Add(ONE)], quads=False), patch.Patch()]
        for one in given:
            spool.add(one)
        assert [spool[number] for number in (4, 0, 3, 1, 2)] == [given[number] for number in (4, 0, 3, 1, 2)]
        assert [spool[number].quads for number in range(5)] == [one.quads for one in given]


def test_conditions_of_pyarrow_are_pushed_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are understood by their text: if another version of pyarrow writes them otherwise, all segments are read."""
    pc = pytest.importorskip("pyarrow.compute")
    from jelly._dataset.arrow_dataset import conditions_of
    from jelly._dataset.seekable.file import JellyFile

    segments = 0
    real = JellyFile._read

    def read(self: JellyFile, *args: object) -> object:
        nonlocal segments
        segments += 1
        return real(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(JellyFile, "_read", read)
    path = tmp_path / "x.jelly"
    rows = (jelly.Triple(jelly.IRI(f"a:s{i}"), jelly.IRI("a:p"), jelly.Literal(f"{i}")) for i in range(20_000))
    jelly.write(path, rows, keyframe_rows=500, index="terms")
    subject, literal = pc.field("subject"), pc.field("object")
    for filter, n in (
        (subject == "a:s7", 1),
        ((subject == "a:s7") & (literal == "7"), 1),
        (subject.isin(["a:s7", "a:s19999"]), 2),
        ((subject == "a:s7") & pc.field("graph").is_null() & (literal > "6"), 1),
    ):
        segments = 0
        assert conditions_of(filter) is not None
        assert jelly.scan(path).count_rows(filter) == n
        assert 0 < segments <= 2 * n, str(filter)
    segments = 0
    assert jelly.scan(path).count_rows((subject == "a:s7") | (literal == "8")) == 2
    assert segments in (0, 40)  # as a whole


def test_types_of_streams_by_name() -> None:
    """As the command takes them, in any case."""
    options = jelly.StreamOptions(physical_type="quads", logical_type="Datasets")
    assert (options.physical_type, options.logical_type) == (jelly.PhysicalType.QUADS, jelly.LogicalType.DATASETS)
    assert jelly.read_options(jelly.dumps([], {"physical_type": "graphs"})).physical_type == jelly.PhysicalType.GRAPHS
    with pytest.raises(jelly.JellyArgumentError, match="is 'quad': expected one of unspecified, triples, quads, gr"):
        jelly.StreamOptions(physical_type="quad")
