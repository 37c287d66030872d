"""Put beside the program that build.py made what it needs where there is nothing else: python package.py FOLDER.

The interpreter, its packages, the harnesses, and for each harness a script and the zip file of its corpus.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.readers import HARNESSES
from fuzz.run import MAX_LEN, SANITIZER
from fuzz.seeds import corpus

ROOT = Path(__file__).resolve().parents[2]
# OSS-Fuzz takes files for programs that have the name of this function in them.
SCRIPT = """#!/bin/bash
# LLVMFuzzerTestOneInput
here=$(dirname "$(readlink -f "$0")")
export JELLY_FUZZ_HARNESS={name} PYTHONHOME="$here/python" PYTHONMALLOC=malloc PYTHONHASHSEED=0
export PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$here/lib:$here/tree/tests:$here/packages"
export ASAN_OPTIONS="${{ASAN_OPTIONS:+$ASAN_OPTIONS:}}{asan}"
exec "$here/driver" "$@"
"""


def package(out: Path) -> None:
    def without(*names: str) -> Any:
        return shutil.ignore_patterns("__pycache__", *names)

    paths = sysconfig.get_paths()
    version = f"python{sysconfig.get_python_version()}"
    stdlib = out / "python" / "lib" / version
    leave = without("test", "tests", "idlelib", "site-packages", "*.a")
    shutil.copytree(paths["stdlib"], stdlib, ignore=leave, dirs_exist_ok=True)
    shutil.copytree(paths["purelib"], out / "packages", ignore=without(), dirs_exist_ok=True)
    library = Path(sysconfig.get_config_var("LIBDIR")) / sysconfig.get_config_var("INSTSONAME")
    if library.suffix != ".a":
        shutil.copy(library, out / "lib" / library.name)
    for part in ("proto", "tests/fuzz", "tests/support", "tests/differential"):
        shutil.copytree(ROOT / part, out / "tree" / part, ignore=without(), dirs_exist_ok=True)
    for name, harness in HARNESSES.items():
        script = out / name
        script.write_text(SCRIPT.format(name=name, asan=SANITIZER["ASAN_OPTIONS"]))
        script.chmod(0o755)
        (out / f"{name}.options").write_text(f"[libfuzzer]\nmax_len = {MAX_LEN}\ntimeout = 30\n")
        with zipfile.ZipFile(out / f"{name}_seed_corpus.zip", "w") as archive:
            for data in {bytes(data) for data in corpus(harness)}:
                archive.writestr(hashlib.sha1(data).hexdigest(), data)


if __name__ == "__main__":
    package(Path(sys.argv[1]).resolve())
