"""Many messages in flat memory: each log in a process of its own, after a first part that warms everything up."""

from __future__ import annotations

import pytest
from support.chance import LONG
from support.measure import SANITIZED, growth

pytest.importorskip("pyoxigraph")

pytestmark = [
    pytest.mark.bounded,
    pytest.mark.leaks,
    pytest.mark.skipif(SANITIZED, reason="the sanitizers have memory of their own"),
]

MB = 1 << 20
# What is kept of each is noticed if it takes 28 bytes, less than a string does; in the long form 8.
MESSAGES = 1_000_000 if LONG else 300_000

MAKE = """
import asyncio
from jelly.messages import MessageReader, aread_messages, read_messages
from support.contents import convert_messages

def log(n, head=b""):
    yield head
    for at in range(n // 100):
        yield b"".join([
            b'# @message %d\\n<http://e/%d> <http://e/p> "%d"@en .\\n_:b <http://e/p> _:c .\\n# @message\\n' % (i, i, i)
            for i in range(at * 50, at * 50 + 50)
        ])

class Drop:
    def write(self, data):
        return len(data)
"""


@pytest.mark.parametrize(
    "work",
    [
        'assert convert_messages(log(n), Drop(), format="nt", to="jelly")[0] == n',
        'assert sum(1 for _ in read_messages(log(n), format="nq", rename_blank_nodes=True)) == n',
        'assert convert_messages(log(n), Drop(), format="nt", to="nq", to_dialect="directive")[0] == n',
        'assert convert_messages(log(n, b"PREFIX e: <a:>"), Drop(), format="ttl", to="jelly")[0] == n',
    ],
)
def test_many_messages(work: str) -> None:
    work = f"def work(n):\n    {work}\n"
    assert growth(f"{MAKE}\n{work}\nwork(100_000)", f"work({MESSAGES})") < 8 * MB
