"""Without optional packages, errors name the one extra that brings all that is needed, and how to install it."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
for name in ("duckdb", "fsspec", "grpc", "igraph", "matplotlib", "networkx", "pandas", "polars",
             "prometheus_client", "pyarrow", "pyoxigraph", "pyspark", "rdflib", "scipy", "yaml", "zstandard"):
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
    "messages": lambda: list(module("jelly.messages").read_messages(b"--- {}", format="yamlld")),
    "pandas": lambda: jelly.scan(data, format="nt").to_pandas(),
    "query": lambda: jelly.query(data, "ASK {}", format="nt"),
    "spark-local": lambda: module("jelly.spark").register(None),
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
     "messages", "pandas", "query", "spark-local", "zstd"],
)  # fmt: skip
def test_an_error_names_the_extra(messages, extra):
    assert f"python -m pip install 'jelly-rdf[{extra}]'" in messages[extra]


def run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=240, check=False
    )


def test_help_and_star_need_no_extra():
    """help() and ``from jelly import *`` get every public name, also of a function whose extra is missing."""
    code = (
        "import sys; sys.modules['pyarrow'] = sys.modules['rdflib'] = None; import pydoc, jelly\n"
        "assert 'Not available: Arrow needs pyarrow' in pydoc.render_doc(jelly)\n"
        "from jelly import *\n"
        "print(read_arrow.__module__, write_arrow.__name__, query.__doc__)"
    )
    done = run(code)
    assert done.stdout.startswith("jelly write_arrow Not available: SPARQL queries need"), done.stderr


@pytest.mark.parametrize("missing", ["rdflib", "pyoxigraph", "pyarrow", "duckdb"])
def test_queries_name_the_extra_that_brings_all(missing):
    code = (
        f"import sys; sys.modules[{missing!r}] = None; import jelly\n"
        "try: jelly.query(b'<a:s> <a:p> <a:o> .', 'ASK {}', format='nt')\n"
        "except jelly.MissingExtraError as error: print(error)"
    )
    assert "'jelly-rdf[query]'" in run(code).stdout


def test_queries_of_a_store_name_their_extra(tmp_path):
    pytest.importorskip("rdflib")
    path = tmp_path / "x.nt"
    path.write_text("<a:s> <a:p> <a:o> .")
    code = (
        "import sys; sys.modules['pyoxigraph'] = None; import jelly, jelly.rdflib, rdflib\n"
        "try: rdflib.Graph(jelly.rdflib.JellyStore(sys.argv[1])).query('ASK {}')\n"
        "except jelly.MissingExtraError as error: print(error)"
    )
    assert "'jelly-rdf[query]'" in run(code, str(path)).stdout


def test_web_addresses_name_the_extra():
    """fsspec alone, as the extra spark brings it, opens no web address."""
    pytest.importorskip("fsspec")
    code = (
        "import sys; sys.modules['aiohttp'] = None; import jelly\n"
        "try: jelly.open('http://127.0.0.1:1/x.jelly')\n"
        "except jelly.MissingExtraError as error: print(error)"
    )
    assert run(code).stdout.endswith("needs aiohttp and requests: python -m pip install 'jelly-rdf[fsspec]'\n")


def test_the_report_of_shapes_names_its_extra():
    code = "import sys; sys.modules['rdflib'] = None; from jelly.cli import main; main()"
    done = run(code, "validate", "x.nt", "--shapes", "y.ttl")
    assert (done.returncode, "jelly-rdf[shacl]" in done.stderr) == (1, True)


def test_a_description_in_turtle_names_its_extra_before_files_are_read(tmp_path):
    path = tmp_path / "wrong.nt"
    path.write_text("these are no statements")
    code = "import sys; sys.modules['pyoxigraph'] = None; from jelly.cli import main; main()"
    done = run(code, "describe", str(path))
    assert (done.returncode, "jelly-rdf[oxigraph]" in done.stderr) == (1, True)


def test_tables_of_delta_name_their_extra():
    code = (
        "import sys; sys.modules['deltalake'] = None; import jelly.spark\n"
        "try: jelly.spark.ingest('.', 'out', to='delta', allow_empty=True, glob='no')\n"
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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("from json import nowhere", "cannot import name 'nowhere' from 'json'"),
        ("import pyarrow.nowhere", "No module named 'pyarrow.nowhere'"),
        ("raise ImportError('no libarrow.so')", "no libarrow.so"),
    ],
)
def test_a_package_that_is_there_is_not_told_as_missing(text, told, tmp_path):
    """Such as one of another version, or one that lacks a library of the system."""
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow" / "__init__.py").write_text(text)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import jelly\n"
        "for call in (lambda: jelly.read_arrow(b''), lambda: jelly.query(b'', 'ASK {}')):\n"
        "    try: call()\n"
        "    except jelly.MissingExtraError as error: print(error, isinstance(error.__cause__, ImportError))\n"
    )
    lines = run(code, str(tmp_path)).stdout.splitlines()
    for line, what, extra in zip(lines, ("Arrow needs", "SPARQL queries need"), ("arrow", "query"), strict=True):
        assert line.startswith(what)
        assert f"pyarrow, and what is installed cannot be imported ({told}" in line.replace(" and pyoxigraph", "")
        assert line.endswith(f"): python -m pip install 'jelly-rdf[{extra}]' True")
