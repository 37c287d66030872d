"""The command on other systems: outputs of other encodings, and signals of Windows."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

pytest.importorskip("click")
import jelly.cli  # noqa: E402
import jelly.cli.service as service  # noqa: E402


def run(*arguments: str, encoding: str | None = None, **variables: str) -> subprocess.CompletedProcess[bytes]:
    dropped = ("LC_", "LANG", "PYTHONUTF")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    if encoding is not None:
        environment["PYTHONIOENCODING"] = encoding
    command = [sys.executable, "-m", "jelly", *arguments]
    return subprocess.run(command, capture_output=True, env=environment | variables, timeout=240)


def test_text_that_an_encoding_cannot_hold(tmp_path: Path) -> None:
    file = tmp_path / "\u03a9.nt"
    file.write_text("<a:s> <a:p> 1 .\n", "utf-8")  # not N-Triples
    done = run("validate", str(file), encoding="cp1252")
    assert done.returncode == 1, done.stderr
    assert b"\\u03a9.nt" in done.stdout
    assert b"Traceback" not in done.stderr


PLAIN_C = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.mark.parametrize("settings", [PLAIN_C, {"encoding": "cp1252"}])
def test_data_are_utf_8_in_any_locale(tmp_path: Path, settings: dict[str, str]) -> None:
    text = '<a:s> <a:p> "\u03a9\u20ac\\n" .\n'.encode()
    file = tmp_path / "x.nt"
    file.write_bytes(text)
    done = run("cat", str(file), "--to", "nt", **settings)
    assert (done.returncode, done.stdout) == (0, text), done.stderr


def test_a_pipe_of_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="cp1252", newline="\r\n")
    monkeypatch.setattr(sys, "platform", "win32")
    jelly.cli._take_all_characters(stream)
    monkeypatch.undo()
    stream.write("\u03a9\n")
    stream.flush()
    assert raw.getvalue() == "\u03a9\n".encode()


def test_ctrl_break(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = service._asks_to_end()
    assert usual == [signal.SIGINT, signal.SIGTERM]
    numbers = {"SIGINT": 2, "SIGTERM": 15, "SIGBREAK": 21}
    monkeypatch.setattr(service, "signal", types.SimpleNamespace(Signals=numbers, **numbers))
    assert service._asks_to_end() == [2, 15, 21]


@pytest.mark.parametrize("other", ['__version__ = "0.1.0"\n', None], ids=["installed over ours", "removed again"])
def test_another_package_of_that_name_is_told(tmp_path: Path, other: str | None) -> None:
    """The package jelly of PyPI writes into our folder, and takes our __init__.py away when it is removed."""
    ours = Path(jelly.cli.__file__).parents[1]
    (tmp_path / "jelly").mkdir()
    for path in ours.iterdir():
        if path.name not in ("__init__.py", "__pycache__"):
            (tmp_path / "jelly" / path.name).symlink_to(path, target_is_directory=path.is_dir())
    if other is not None:
        (tmp_path / "jelly" / "__init__.py").write_text(other)
    for arguments in (["--version"], ["count", "x.jelly"]):
        command = [sys.executable, "-m", "jelly", *arguments]
        variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True)
        assert done.returncode == 1
        assert b"Traceback" not in done.stderr
        assert b"pip uninstall jelly;" in done.stderr
