"""Jelly bytes to Batches and to Python terms."""

import pytest
from work import DECODE, NAMES


@pytest.mark.parametrize("who", DECODE)
@pytest.mark.parametrize("name", NAMES)
def bench_decode(data, measure, name, who):
    measure(DECODE[who], data(name))


@pytest.mark.parametrize("name", NAMES)
def bench_decode_jvm(data, measure, jvm, name):
    measure(jvm.job("decode"), data(name))
