"""``make under-load``: the tests marked `bounded`, again and again beside a load that takes all cores.

``python tests/support/under_load.py [rounds] [seconds] [arguments of pytest]``: no round begins after that many
seconds, if they are given and not 0.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

# Python that takes a core and its caches until the process that started it is gone.
BURNER = """
import os
parent, found = os.getppid(), bytearray(1 << 24)
while os.getppid() == parent:
    for i in range(0, len(found), 64):
        found[i] = (found[i] + i) & 0xff
"""

TESTS = Path(__file__).resolve().parents[1]
FILES = [str(path) for path in TESTS.rglob("test_*.py") if "mark.bounded" in path.read_text()]


def main(rounds: int = 50, seconds: int = 0, *arguments: str) -> int:
    began = time.monotonic()
    burners = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(os.cpu_count() or 1)]
    failed = done = 0
    try:
        for _ in range(rounds):
            if seconds and time.monotonic() - began > seconds:
                break
            command = [sys.executable, "-m", "pytest", "-q", "-m", "bounded", *(arguments or FILES)]
            failed += subprocess.run(command, check=False).returncode != 0
            done += 1
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    print(f"{done} rounds beside {len(burners)} processes that take a core each: {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3]), *sys.argv[3:]))
