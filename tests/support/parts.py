"""``make test``: the parts of the tests in lanes, all of them also after one that fails, and all failures at the end.

``python tests/support/parts.py "make one; make two" "make three"``: each argument is a lane, whose commands run one
after the other; the lanes run at once. What a lane prints is shown as a whole, that of the first one as it comes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from queue import Queue
from threading import Thread

# What pytest prints last, in both of its ways: "== 1 failed, 20 passed in 3.21s (0:01:02) ==", "20 passed in 3.21s".
CLOSING = re.compile(r"=* ?(?P<counts>\d+ [a-z]+(?:, \d+ [a-z]+)*|no tests ran) in [\d.]+s(?: \([\d:]+\))? ?=*$")
COUNT = re.compile(r"(\d+) ([a-z]+?)s?\b")
# As pytest orders them.
ORDER = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warning", "error")


class Part:
    """A command of a lane: what it printed, how it ended."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.lines: Queue[str | None] = Queue()
        self.status = -1
        self.seconds = 0.0
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self) -> None:
        began = time.monotonic()
        try:
            with subprocess.Popen(
                self.command, shell=True, text=True, errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            ) as process:
                assert process.stdout is not None
                is_summary = False
                last = ""
                for line in process.stdout:
                    self.lines.put(line)
                    text = line.rstrip("\n")
                    is_summary |= "short test summary info" in text
                    if found := CLOSING.match(text):
                        is_summary = False
                        for count, what in COUNT.findall(found["counts"]):
                            self.counts[what] += int(count)
                    elif is_summary and text.startswith(("FAILED ", "ERROR ")):
                        self.failures.append(text)
                    last = text or last
            self.status = process.returncode
            if self.status and not self.failures:
                self.counts["error"] += 1
                self.failures.append(f"ERROR {self.command} - {last or f'status {self.status}'}")
        finally:
            self.seconds = time.monotonic() - began
            self.lines.put(None)

    def output(self) -> Iterator[str]:
        yield f"\n>>> {self.command}\n"
        yield from iter(self.lines.get, None)


def run(lane: list[Part]) -> None:
    for part in lane:
        part.run()


def closing(parts: list[Part], seconds: float) -> list[str]:
    """The last lines: how each part ended, all failures, and the sums as pytest would give them."""
    lines = ["", "parts of the tests:"]
    for part in parts:
        how = "passed" if not part.status else "FAILED"
        lines.append(f"  {how} {part.command} ({summary(part.counts) or 'no tests'}, {part.seconds:.0f} s)")
    total = sum((part.counts for part in parts), Counter())
    if failures := [failure for part in parts for failure in part.failures]:
        lines += ["", "all failures:", *failures]
    return [*lines, f"===== {summary(total) or 'no tests ran'} in {seconds:.2f}s ====="]


def summary(counts: Counter[str]) -> str:
    plural = {"warning", "error"}
    return ", ".join(
        f"{counts[what]} {what}{'s' if what in plural and counts[what] > 1 else ''}" for what in ORDER if counts[what]
    )


def main(arguments: list[str]) -> int:
    began = time.monotonic()
    lanes = [[Part(command.strip()) for command in lane.split(";")] for lane in arguments]
    for lane in lanes:
        Thread(target=run, args=(lane,), daemon=True).start()
    parts = [part for lane in lanes for part in lane]
    for part in parts:
        for line in part.output():
            sys.stdout.write(line)
            sys.stdout.flush()
    print("\n".join(closing(parts, time.monotonic() - began)), flush=True)
    return 1 if any(part.status for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
