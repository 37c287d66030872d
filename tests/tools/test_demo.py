"""The demo: its data are always the same, every statement comes back, and a loss would be noticed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from support.shared import shared

import jelly

PLACE = Path(__file__).resolve().parents[2] / "bench" / "demo.py"
if not PLACE.exists():
    pytest.skip("bench/demo.py is not part of a wheel", allow_module_level=True)
SPEC = importlib.util.spec_from_file_location("demo", PLACE)
demo = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(demo)


def test_catalogue_has_everything():
    statements = list(demo.catalogue(20_000))
    assert len(statements) == 20_000
    assert statements[:500] == list(demo.catalogue(500))
    literals = {s.o for s in statements if isinstance(s.o, jelly.Literal)}
    assert {literal.language for literal in literals} == {None, "en", "de", "pl", "ja"}
    assert len({literal.datatype for literal in literals}) >= 5
    assert any(isinstance(s.s, jelly.BlankNode) for s in statements)
    assert len({s.g for s in statements}) == 5


def test_sample_is_what_the_generator_makes():
    name, _, text = next(demo._inputs())
    assert name == "sample"
    assert text == demo.as_text(demo.SAMPLE_SIZE)


def test_run(monkeypatch, capsys):
    monkeypatch.setattr(demo, "FILES", demo.FILES[:1])
    monkeypatch.setattr(demo, "PATIENCE", 0.01)
    assert demo.main() == 0
    out = capsys.readouterr().out
    assert "are the same after the round trip" in out
    assert "catalogue" in out
    next_commands = out.partition("Try next:\n")[2].splitlines()[:3]
    assert [line.split()[1] for line in next_commands] == ["convert", "stats", "cat"]
    assert Path(next_commands[0].split()[2]).exists()
    assert len([line for line in out.splitlines() if "█" in line or "#" in line]) == 4


def test_real_data_is_used(monkeypatch):
    path = shared("data", demo.FILES[0])
    monkeypatch.setattr(demo, "SHARED", shared("data"))  # beside the tests, where an installed package does not look
    assert path.parent.name in [name for name, _, _ in demo._inputs()]


def test_run_without_rich(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.delitem(sys.modules, "jelly.cli.display", raising=False)
    monkeypatch.setattr(demo, "FILES", ())
    monkeypatch.setattr(demo, "PATIENCE", 0.0)
    assert demo.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[4:6]] == ["sample", "catalogue"]
    assert len({len(line) for line in lines[2:6]}) == 1


def test_absent_data_is_told(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(demo, "SHARED", tmp_path)
    monkeypatch.setattr(demo, "PATIENCE", 0.0)
    assert demo.main() == 0
    assert "Some of the data" in capsys.readouterr().out


@pytest.mark.parametrize("keep", [0, 99])
def test_a_loss_is_noticed(monkeypatch, capsys, keep):
    monkeypatch.setattr(demo, "FILES", ())
    monkeypatch.setattr(demo, "PATIENCE", 0.0)
    real = demo.convert

    def lossy(src, dst, **settings):
        done = real(src, dst, **settings)
        if settings.get("to"):
            text = dst.getvalue().splitlines(keepends=True)
            dst.seek(0)
            dst.truncate()
            dst.write(b"".join(text[:keep] + text[keep + 1 :]))
        return done

    monkeypatch.setattr(demo, "convert", lossy)
    assert demo.main() == 1
    assert "DIFFERENT after the round trip: sample, catalogue" in capsys.readouterr().out


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-c", "import demo; demo.FILES = (); raise SystemExit(demo.main())"],
        cwd=PLACE.parent,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
