"""Without optional packages, errors name the one extra that brings all that is needed, and how to install it."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
for name in ("fsspec", "grpc", "igraph", "matplotlib", "networkx", "polars", "prometheus_client", "pyarrow",
             "pyoxigraph", "pyspark", "rdflib", "scipy", "yaml", "zstandard"):
    sys.modules[name] = None
import importlib, io, jelly
data = b"<a:s> <a:p> <a:o> ."
module = importlib.import_module
CASES = {
    "arrow": lambda: jelly.read_arrow(data, format="nt"),
    "fsspec": lambda: list(jelly.read("s3://bucket/x.jelly")),
    "grpc": lambda: module("jelly.grpc"),
    "igraph": lambda: jelly.scan(data, format="nt").to_ids().to_igraph(),
    "networkx": lambda: jelly.scan(data, format="nt").to_ids().to_networkx(),
    "oxigraph": lambda: list(jelly.read(data, format="ttl")),
    "plot": lambda: module("jelly.plot"),
    "polars": lambda: module("jelly.polars"),
    "rdflib": lambda: module("jelly.rdflib"),
    "scipy": lambda: jelly.scan(data, format="nt").to_ids().to_scipy(),
    "spark": lambda: module("jelly.spark").ingest,
    "zstd": lambda: list(jelly.read(b"(\\xb5/\\xfd" + data, format="nt")),
}
for extra, case in CASES.items():
    try:
        case()
    except jelly.MissingExtraError as error:
        print(extra, error)
"""


@pytest.fixture(scope="module")
def messages():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240, check=True)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    "extra",
    ["arrow", "fsspec", "grpc", "igraph", "networkx", "oxigraph", "plot", "polars", "rdflib", "scipy",
     "spark", "zstd"],
)  # fmt: skip
def test_an_error_names_the_extra(messages, extra):
    assert f"python -m pip install 'jelly-rdf[{extra}]'" in messages[extra]


def test_tables_of_delta_name_their_extra():
    code = (
        "import sys; sys.modules['deltalake'] = None; import jelly.spark\n"
        "try: jelly.spark.ingest('.', 'out', to='delta', allow_empty=True, pattern='no')\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    assert done.stdout == "tables of Delta need deltalake: python -m pip install 'jelly-rdf[delta]'\n"


def test_commands_of_spark_name_their_extra():
    code = "import sys; sys.modules['pyarrow'] = None; from jelly.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "spark", "stats", "x.nt"], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 1
    assert "jelly-rdf[spark]" in done.stderr
