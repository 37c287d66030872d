#!/bin/bash -eu
# Build all harnesses for OSS-Fuzz, which sets $CC, $CFLAGS, $LIB_FUZZING_ENGINE and $OUT. $OUT gets, for each harness, a
# program and the zip file of its corpus, and the interpreter with all packages, as it is alone where the programs run.
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}

"$python" -m venv --clear "$OUT/venv"
pip=("$OUT/venv/bin/python" -m pip --disable-pip-version-check)
"${pip[@]}" install --quiet --upgrade "pip>=25.1"
# The C files; what this compiles of them is not used.
env -u CFLAGS -u CXXFLAGS -u CC -u CXX PYTHONWARNINGS="ignore:Editable installation" \
    "${pip[@]}" install --quiet --group fuzz -e .
"$OUT/venv/bin/python" tests/fuzz/build.py "$OUT"
"$OUT/venv/bin/python" tests/fuzz/package.py "$OUT"
rm -rf "$OUT/venv"
