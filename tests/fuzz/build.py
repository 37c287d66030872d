"""Compile the core and the driver for libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer.

    python build.py FOLDER      FOLDER/lib gets the package, FOLDER/driver is the program

Only what changed is compiled. The C files are those of the normal build. With $LIB_FUZZING_ENGINE the compiler is $CC
with $CFLAGS, as OSS-Fuzz sets them; without it clang, with its own libFuzzer, or the clang that $CC names.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
INCLUDE = [f"-I{sysconfig.get_path('include')}"]
# Cython calls functions through pointers of another type, which clang 17 and later take for a fault.
COMMON = ["-fno-omit-frame-pointer", "-fno-strict-aliasing", "-fwrapv", "-w", "-DNDEBUG", "-fno-sanitize=function"]


def compiler() -> list[str]:
    """The compiler and its flags: those of OSS-Fuzz where it builds, else clang, such as CC=clang-19."""
    given = "LIB_FUZZING_ENGINE" in os.environ
    cc = os.environ.get("CC", "clang")
    name = shlex.split(cc if given or "clang" in cc else "clang")
    if shutil.which(name[0]) is None:
        raise SystemExit(
            f"fuzz: {name[0]} is not installed. The fuzzers need clang with its runtime library (Debian: clang and"
            " libclang-rt-NN-dev). pytest tests/fuzz runs all harnesses on their seeds without it"
        )
    flags = ["-O1", "-g", "-fsanitize=fuzzer-no-link", *SANITIZERS]
    return [*name, *(shlex.split(os.environ.get("CFLAGS", "")) if given else flags), *COMMON]


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"fuzz: {shlex.join(command)}\n{done.stderr[-4000:]}")


def newer(made: Path, *sources: Path) -> bool:
    return made.exists() and all(made.stat().st_mtime >= source.stat().st_mtime for source in sources)


def compile_module(source: Path, made: Path, command: list[str]) -> bool:
    if newer(made, source):
        return False
    made.parent.mkdir(parents=True, exist_ok=True)
    part = made.with_suffix(".part")
    run([*command, *INCLUDE, "-fPIC", "-shared", str(source), "-o", str(part)])
    part.rename(made)
    return True


def compile_driver(made: Path, command: list[str]) -> None:
    source = Path(__file__).with_name("driver.c")
    if newer(made, source):
        return
    engine = shlex.split(os.environ.get("LIB_FUZZING_ENGINE", "-fsanitize=fuzzer"))
    folder, version = sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDVERSION")
    plain = [word for word in command if not word.startswith("-fsanitize=fuzzer-no-link")]
    # -rdynamic: the modules find libFuzzer and the sanitizers in the program.
    paths = [f"-L{folder}", f"-lpython{version}", f"-Wl,-rpath,{folder}", "-Wl,-rpath,$ORIGIN/lib"]
    paths += [*shlex.split(sysconfig.get_config_var("LIBS") or ""), "-lm"]
    run([*plain, *INCLUDE, str(source), *engine, "-rdynamic", *paths, "-o", str(made)])


def c_files() -> list[Path]:
    """The C files of all compiled modules."""
    core = ROOT / "jelly" / "_core"
    found = [path.with_suffix(".c") for path in sorted(core.rglob("*.pyx"))]
    for made in found:
        if not newer(made, made.with_suffix(".pyx")):
            raise SystemExit(f"fuzz: {made.relative_to(ROOT)} is older than its source: build the package first")
    return [*found, core / "base" / "cython_shared.c"]  # which Cython makes for all of them


def build(folder: Path) -> int:
    """Build into a folder; return how many modules were compiled."""
    command, lib = compiler(), folder / "lib"
    kept = set()
    for path in (ROOT / "jelly").rglob("*"):
        if path.is_file() and path.suffix not in (".pyx", ".pxd", ".c", ".so", ".pyc", ".html"):
            made = lib / path.relative_to(ROOT)
            kept.add(made)
            if not newer(made, path):
                made.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, made)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    pairs = [(path, (lib / path.relative_to(ROOT)).with_suffix(suffix)) for path in c_files()]
    kept.update(made for _, made in pairs)
    for path in lib.rglob("*"):
        if path.is_file() and path not in kept and path.suffix != ".pyc":
            path.unlink()  # of a module that is no more
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        n = sum(pool.map(lambda pair: compile_module(*pair, command), pairs))
    compile_driver(folder / "driver", command)
    return n


if __name__ == "__main__":
    print(f"fuzz: compiled {build(Path(sys.argv[1]).resolve())} modules")
