"""RDFLib plug-ins for Jelly, and functions that read and write RDFLib terms without a graph.

RDFLib finds the plug-ins of the installed package by itself, as ``jelly`` and ``application/x-jelly-rdf``. If pyjelly,
which uses the same names, is also installed, it is undefined which one RDFLib takes; call `register` to choose these.

>>> from jelly.rdflib import register
>>> register()

>>> import rdflib
>>> graph = rdflib.Graph().parse(data="<a:s> <a:p> <a:o> .", format="nt")
>>> data = graph.serialize(format="jelly", encoding="utf-8")
>>> len(rdflib.Graph().parse(data=data, format="jelly"))
1

``Graph.parse("x.jelly")`` without a format works once this module has been imported or a plug-in has been used. RDFLib
maps suffixes by a table (``rdflib.util.SUFFIX_FORMAT_MAP``) that plug-ins cannot reach, and reads unknown suffixes as
Turtle. With ``format=``, or with a media type from a web server, no import is needed.

Terms that RDFLib cannot hold are errors: quoted triples, literals as subjects, and some language tags. Lexical forms
(``"01"^^xsd:integer``) and labels of blank nodes are kept, even where RDFLib would normalise them.
"""

from jelly._public import name_public
from jelly.errors import need

with need("rdflib", "jelly.rdflib needs RDFLib"):
    import rdflib
    import rdflib.util

from jelly.rdflib._reading import JellyParser, library, read, read_graphs
from jelly.rdflib._shapes import validate
from jelly.rdflib._store import JellyStore
from jelly.rdflib._writing import JellySerializer, write, write_graphs

__all__ = [
    "JellyParser",
    "JellySerializer",
    "JellyStore",
    "library",
    "read",
    "read_graphs",
    "register",
    "validate",
    "write",
    "write_graphs",
]

rdflib.util.SUFFIX_FORMAT_MAP.setdefault("jelly", "jelly")


def register() -> None:
    """Register the RDFLib plug-ins of this package for Jelly.

    They then replace plug-ins of other packages with the same names, such as pyjelly.

    Examples
    --------
    >>> import rdflib
    >>> register()
    >>> rdflib.plugin.get("jelly", rdflib.parser.Parser).__name__
    'JellyParser'
    """
    for name in ("jelly", "application/x-jelly-rdf"):
        rdflib.plugin.register(name, rdflib.parser.Parser, __name__, "JellyParser")
        rdflib.plugin.register(name, rdflib.serializer.Serializer, __name__, "JellySerializer")
    rdflib.plugin.register("jelly", rdflib.store.Store, __name__, "JellyStore")


name_public(__name__, __all__, globals())
