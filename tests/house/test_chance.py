"""What the tests draw by chance is the same in every run."""

import re
from pathlib import Path

from support.chance import LONG
from support.measure import run

TESTS = Path(__file__).resolve().parent.parent
DRAW = """
import hashlib, sys
from hypothesis import given
from support.chance import examples
from support.strategies import streams
if len(sys.argv) > 1:
    import jelly.cli.convert, jelly.patch
found = hashlib.sha256()

@examples(30)
@given(streams())
def draw(x):
    found.update(repr(x).encode())

draw()
print(found.hexdigest())
"""


def test_each_run_draws_the_same(monkeypatch):
    """Whatever the seed of hashes is, and whatever modules are there; the long form draws anew."""
    drawn = []
    for seed, *more in (("0",), ("1", "more modules")):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        done = run("-c", DRAW, *more)
        assert done.returncode == 0, done.stderr
        drawn.append(done.stdout)
    assert (drawn[0] == drawn[1]) is not LONG


def test_all_numbers_of_examples_are_scaled():
    """Else the long form would draw no more of them."""
    found = {path.name for path in TESTS.rglob("*.py") if re.search(r"\bmax_examples *=\s*\w", path.read_text("utf-8"))}
    assert found == {"chance.py"}
