"""Python terms and Batches to Jelly bytes."""

import pytest
from work import ENCODE, NAMES


@pytest.mark.parametrize("who", ENCODE)
@pytest.mark.parametrize("name", NAMES)
def bench_encode(data, measure, name, who):
    measure(ENCODE[who], data(name))


@pytest.mark.parametrize("name", NAMES)
def bench_encode_jvm(data, measure, jvm, name):
    measure(jvm.job("encode"), data(name))
