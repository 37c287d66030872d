"""Run a harness over files, without libFuzzer: python replay.py HARNESS FILE ..."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.readers import HARNESSES

if __name__ == "__main__":
    for file in sys.argv[2:]:
        print(file)
        HARNESSES[sys.argv[1]].run(Path(file).read_bytes())
