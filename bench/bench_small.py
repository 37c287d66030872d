"""One message of 26 quads: what a call costs."""

import pytest
from work import DUMPS, LOADS


@pytest.mark.parametrize("who", LOADS)
def bench_loads(data, measure, who):
    measure(LOADS[who], data("small"))


@pytest.mark.parametrize("who", DUMPS)
def bench_dumps(data, measure, who):
    measure(DUMPS[who], data("small"))
