"""The public names of the package, and the pages of the reference that describe them."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "jelly"
# Modules without an underscore that have no names to use: the command, and where old pickles find their classes.
NOT_API = {"jelly.cli", "jelly.data", "jelly.docs"}
# pyoxigraph, which jelly.oxigraph hands on.
FOREIGN = {"ox"}


@dataclass(frozen=True)
class Page:
    """A page of the API: some names of a module, or all of them.

    Attributes
    ----------
    path, title : str
        Its place under ``reference/api``, and its heading.
    module : str
        The module.
    names : tuple of str
        The names that it describes, in order; all of the module if there are none.
    text : str
        What stands before them, besides the docstring of the module.
    """

    path: str
    title: str
    module: str
    names: tuple[str, ...] = ()
    text: str = ""


PAGES = (
    Page(
        "reading-and-writing.md", "Read and write", "jelly",
        ("read", "Reader", "loads", "Frame", "count", "read_options", "write", "Writer", "dumps",
         "ReadOptions", "WriteOptions"),
        "Statements as Python objects, from and to any format.",
    ),
    Page(
        "terms.md", "Terms and statements", "jelly",
        ("IRI", "BlankNode", "Literal", "QuotedTriple", "DefaultGraph", "Triple", "Quad", "Variable", "AnyTerm", "ANY",
         "Term"),
        "Small immutable objects. They compare by value, have a hash and can be pickled; `str` is N-Triples. They have "
        "an order: the default graph, blank nodes, IRIs, literals, quoted triples, variables, ANY; each by the code "
        "points of its text, literals then by datatype, language and direction. Statements are ordered by subject, "
        "predicate, object and graph, a triple before the same quad of the default graph.",
    ),
    Page(
        "batches.md", "Batches, Decoder, Encoder", "jelly",
        ("Batch", "Decoder", "Encoder", "StreamOptions", "PhysicalType", "LogicalType"),
        "Columns of term ids as numpy arrays, and the codec of Jelly for a transport of your own.",
    ),
    Page(
        "files.md", "Tools for files", "jelly",
        ("convert", "Conversion", "open", "index", "JellyFile", "inspect", "Inspection", "FrameInspection", "validate",
         "Problem", "canonicalize", "Canonical", "describe", "Description", "GraphDescription", "ClassPartition",
         "PropertyPartition"),
    ),
    Page("tables.md", "Tables of pyarrow", "jelly", ("read_arrow", "write_arrow", "wide")),
    Page("ids.md", "Ids", "jelly", ("GraphIds", "GraphDictionary"),
         "Statements as arrays of numbers, for matrices, graphs and machine learning."),
    Page(
        "finding.md", "Find statements", "jelly",
        ("find", "query", "subset", "Pattern", "IRIPrefix", "Datatype", "LanguageRange"),
        "Search files for subjects, predicates, objects and graphs, without making Python objects of the rest.",
    ),
    Page(
        "dataset.md", "Datasets: filter, sort, split and others", "jelly",
        ("scan", "Dataset", "Part", "append"),
        "From files to files, of any formats and any size: on Batches, in memory that is bounded. An output gets its "
        "name when it is complete.",
    ),
    Page("errors.md", "Errors and warnings", "jelly.errors"),
    Page("arrow.md", "jelly.arrow", "jelly.arrow"),
    Page("polars.md", "jelly.polars", "jelly.polars"),
    Page("rdflib.md", "jelly.rdflib", "jelly.rdflib"),
    Page("oxigraph.md", "jelly.oxigraph", "jelly.oxigraph"),
    Page("messages.md", "jelly.messages", "jelly.messages"),
    Page("patch.md", "jelly.patch", "jelly.patch"),
    Page("results.md", "jelly.results", "jelly.results"),
    Page("stats.md", "jelly.stats", "jelly.stats"),
    Page("plot.md", "jelly.plot", "jelly.plot"),
    Page("kafka.md", "jelly.kafka", "jelly.kafka"),
    Page("grpc.md", "jelly.grpc", "jelly.grpc"),
    Page("spark.md", "jelly.spark", "jelly.spark"),
)  # fmt: skip


def modules() -> list[str]:
    """The modules that people import.

    Returns
    -------
    list of str
        Their names, ``jelly`` first.
    """
    found = ["jelly"]
    for path in sorted(PACKAGE.iterdir()):
        if not path.name.startswith((".", "_")) and (path.suffix == ".py" or (path / "__init__.py").exists()):
            found.append(f"jelly.{path.stem}")
    return [name for name in found if name not in NOT_API]


def exported(module: str) -> list[str]:
    """The public names of a module, from its source, so that optional packages need not be there.

    Parameters
    ----------
    module : str
        The module.

    Returns
    -------
    list of str
        Its ``__all__``, without modules of other packages that it only hands on.
    """
    place = ROOT.joinpath(*module.split("."))
    tree = ast.parse((place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text("utf-8"))
    foreign = set(FOREIGN)
    for node in ast.walk(tree):
        is_other = isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("jelly")
        if isinstance(node, ast.Import) or is_other:
            foreign |= {alias.asname or alias.name for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return [name for name in ast.literal_eval(node.value) if name not in foreign]
    raise ValueError(f"{module} has no __all__")


def described() -> dict[str, Page]:
    """Where each public name is described.

    Returns
    -------
    dict of str to Page
        The page of each full name, such as ``jelly.Reader``.
    """
    return {f"{page.module}.{name}": page for page in PAGES for name in page.names or exported(page.module)}


def missing() -> list[str]:
    """Public names without a page.

    Returns
    -------
    list of str
        Full names. A name that is only handed on, such as ``jelly.JellyError``, is described where it is from.
    """
    pages = described()
    at_home = {name.rpartition(".")[2] for name in pages}
    gone = [module for module in modules() if module not in {page.module for page in PAGES}]
    for module in modules():
        for name in exported(module):
            is_elsewhere = module == "jelly" and name in {*at_home, "__version__"}
            if f"{module}.{name}" not in pages and not is_elsewhere:
                gone.append(f"{module}.{name}")
    return gone


def targets() -> dict[str, str]:
    """What a name in a docstring refers to.

    Returns
    -------
    dict of str to str
        The full name for each public name: with its module, and alone where it is from ``jelly``.
    """
    found = {module: module for module in modules() if module != "jelly"}
    for name in described():
        found[name] = name
        module, _, last = name.rpartition(".")
        if module in ("jelly", "jelly.errors"):
            found[last] = name
    for name in exported("jelly"):
        if name not in found and f"jelly.arrow.{name}" in found:
            found[name] = f"jelly.arrow.{name}"
        elif name not in found and f"jelly.results.{name}" in found:
            found[name] = f"jelly.results.{name}"
    return found
