"""N-Triples and N-Quads to Jelly and back, without Python terms in between; and the text alone, to Batches and back."""

import pytest
from work import READ_TEXT, SOURCES, TEXT, WRITE_TEXT


@pytest.mark.parametrize("who", TEXT)
@pytest.mark.parametrize("name", SOURCES)
def bench_text(data, measure, name, who):
    measure(TEXT[who], data(name))


@pytest.mark.parametrize("who", READ_TEXT)
@pytest.mark.parametrize("name", [*SOURCES, "small"])
def bench_read_text(data, measure, name, who):
    measure(READ_TEXT[who], data(name))


@pytest.mark.parametrize("who", WRITE_TEXT)
@pytest.mark.parametrize("name", SOURCES)
def bench_write_text(data, measure, name, who):
    measure(WRITE_TEXT[who], data(name))
