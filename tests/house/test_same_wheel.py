"""Two builds of a wheel are compared file by file, and byte by byte."""

from __future__ import annotations

import zipfile
from pathlib import Path

from support.same_wheel import differences


def wheel(path: Path, files: dict[str, str], comment: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text)
        archive.comment = comment
    return path


def test_each_difference_is_told(tmp_path: Path) -> None:
    files = {"j/a.py": "1", "j/a.so": "2", "j/b.so": "3", "j-1.dist-info/RECORD": "4"}
    first = wheel(tmp_path / "first", files)
    assert differences(wheel(tmp_path / "same", files), first) == []
    assert differences(wheel(tmp_path / "other", files, b"!"), first) == ["the archives, though not the files in them"]
    for name in files:
        assert differences(wheel(tmp_path / "changed", files | {name: "x"}), first) == [name]
    fewer = {name: text for name, text in files.items() if name != "j/b.so"}
    assert differences(wheel(tmp_path / "fewer", fewer | {"j-1.dist-info/RECORD": "x"}), first) == []
    assert differences(wheel(tmp_path / "fewer", fewer | {"j/a.so": "x"}), first) == ["j/a.so"]
    assert differences(wheel(tmp_path / "fewer", {"j/a.so": "2", "j/c.py": ""}), first) == [
        "j/a.py", "j-1.dist-info/RECORD", "j/c.py",
    ]  # fmt: skip
