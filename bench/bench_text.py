"""N-Triples and N-Quads to Jelly and back, without Python terms in between."""

import pytest
from work import SOURCES, TEXT


@pytest.mark.parametrize("who", TEXT)
@pytest.mark.parametrize("name", SOURCES)
def bench_text(data, measure, name, who):
    measure(TEXT[who], data(name))
