"""Jelly to RDFLib's terms and graphs, and back."""

import pytest
from graphs import PARSE, READ, SERIALIZE, WRITE
from work import SOURCES


@pytest.mark.parametrize("who", READ)
@pytest.mark.parametrize("name", SOURCES)
def bench_rdflib_read(data, measure, name, who):
    measure(READ[who], data(name))


@pytest.mark.parametrize("who", WRITE)
@pytest.mark.parametrize("name", SOURCES)
def bench_rdflib_write(data, measure, name, who):
    measure(WRITE[who], data(name))


@pytest.mark.parametrize("who", PARSE)
@pytest.mark.parametrize("name", SOURCES)
def bench_rdflib_parse(data, measure, name, who):
    measure(PARSE[who], data(name))


@pytest.mark.parametrize("who", SERIALIZE)
@pytest.mark.parametrize("name", SOURCES)
def bench_rdflib_serialize(data, measure, name, who):
    measure(SERIALIZE[who], data(name))
