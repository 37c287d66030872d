"""All keywords that functions share, in one table: default, help, and their names on the command line and in Spark.

The types are in `ReadOptions` and `WriteOptions`. From both come the checks of arguments, the options of the command
and of Spark, the words of error messages, and the page "Options and defaults" of the site. The package imports this
module when it first needs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from jelly._options.limits import SETTABLE

if TYPE_CHECKING:
    from jelly._core.terms.term_adapter import TermAdapter


@dataclass(frozen=True)
class Keyword:
    """A keyword of reading or writing.

    Attributes
    ----------
    name : str
        The keyword.
    help : str
        A sentence or two: its effect.
    default : Any
        The default; None where it depends on the input.
    formats : str
        The formats that have it; "" for all.
    option : str, optional
        The option of the command line, by default the name with dashes; "" if there is none.
    flag : Any
        The value that the option stands for, if it takes none: a word, or the opposite of a default that is True or
        False.
    metavar : str
        The name of the value in ``--help``.
    spark : str
        The option of the data sources of Spark; "" if there is none.
    """

    name: str
    help: str
    default: Any = None
    formats: str = ""
    option: str | None = None
    flag: Any = None
    metavar: str = ""
    spark: str = ""

    @property
    def switch(self) -> str:
        """The option of the command line; "" if there is none. Of one that can be given as --no-... the plain form."""
        return "--" + self.name.replace("_", "-") if self.option is None else self.option.partition("/")[0]


_BINARY = "RDF Thrift, RDF Protobuf"
_LINES = "N-Triples, N-Quads"
_SYNTAXES = "Turtle, TriG, RDF/XML, JSON-LD, N3"
_LOGS = "message logs"
_IN = "    "
_NO_OPTION: dict[str, Any] = {"option": ""}


def _table(*rows: Keyword) -> dict[str, Keyword]:
    return {row.name: replace(row, flag=not row.default) if isinstance(row.default, bool) else row for row in rows}


_BASE = Keyword("base", "Base IRI for resolving relative IRIs.", None, f"{_SYNTAXES}, {_LOGS}", metavar="IRI")
_DIALECT = Keyword("dialect", "Whether comments (# @message) or directives delimit messages in text.", None, _LOGS)
_THREADS = Keyword("threads", "Number of threads. The result is the same for any number.", 1, metavar="N")

READ = _table(
    Keyword(
        "format", "Format of the input. A name, suffix or media type; by default the suffix decides, or the "
        "Content-Type of an address, and a source without a name is Jelly.", option="--from", spark="format",
    ),
    Keyword(
        "delimited", "Whether each frame has its length before it. By default the first bytes decide.", None,
        "Jelly, Jelly-Patch, Jelly-SPARQL", **_NO_OPTION,
    ),
    Keyword("strict", "Reject text that RDF 1.1 does not allow; in Jelly, what its specification advises against.",
            False),
    Keyword("rdf", "Reject terms that this version of RDF does not have. 1.2-basic has base directions, but no triple "
            "terms."),
    Keyword(
        "star", "Make RDF 1.2 of RDF-star, or the reverse. With reifies quoted triples become nodes with rdf:reifies, "
        "with quoted such nodes become quoted triples, with triple-terms quoted triples are taken as triple terms.",
    ),
    Keyword("on_error", "Skip lines with errors, and count them.", "raise", f"{_LINES}, RDF Patch",
            "--skip-errors", "skip", spark="mode"),
    Keyword(
        "blank_nodes", "Labels of blank nodes: scope puts a prefix for the source before them, keep leaves them, "
        "skolemize makes IRIs of the nodes. By default several sources have scopes, and one keeps its labels.",
        spark="blankNodes",
    ),
    Keyword("skolem_base", "The start of the IRIs of skolemized blank nodes, such as https://example.org.",
            metavar="URL", spark="skolemBase"),
    _THREADS,
    Keyword("require_trailer", "Refuse results that end without a trailer: they may be cut off.", False,
            "Jelly-SPARQL"),
    Keyword("batch_rows", "Maximum statements of a Batch.", 32768, **_NO_OPTION),
    Keyword("batch_bytes", "Bytes of text after which a Batch ends.", 1 << 24, **_NO_OPTION),
    Keyword("joined", "Read Jelly files joined with cat as several streams.", False, "Jelly, Jelly-Patch"),
    Keyword("unknown_rows", "Skip rows of unknown kinds.", "error", "Jelly, Jelly-Patch", "--skip-unknown-rows",
            "skip"),
    Keyword("quads", "Read all statements as quads.", False, _BINARY, **_NO_OPTION),
    Keyword("message", "The message that the whole input is. By default the first bytes decide.", None, "RDF Protobuf",
            **_NO_OPTION),
    _BASE,
    Keyword("lenient", "Skip most validation, mainly of IRIs (faster).", False, _SYNTAXES),
    _DIALECT,
    Keyword("members", "Format of the files of a TAR archive. By default the suffix of each decides.", None,
            "TAR archives"),
    Keyword("trailing", "Whether a comment at the very end opens an empty message. Directives never do.", "open",
            _LOGS),
    Keyword("rename_blank_nodes", "Put the number of the message before each label.", False, _LOGS),
    Keyword("contexts", "JSON-LD contexts by URL: the path of a file, JSON text, or a dict. None is ever fetched.",
            None, "NDJSON-LD, YAML-LD, TAR archives", "--context", metavar="URL=FILE"),
    Keyword("force", "Read the frames of a flat Jelly stream as messages.", False, _LOGS),
    *(Keyword(one.name, one.help, one.default, one.formats, metavar="SIZE", spark=one.camel) for one in SETTABLE),
)  # fmt: skip

WRITE = _table(
    Keyword("format", "Format of the output. A name, suffix or media type; by default the suffix decides, and on the "
            "standard output of a command it is text.", None, "", "--to"),
    Keyword("frame_rows", "Maximum rows of a frame (0: unlimited). By default 256, in Jelly 1.2 16384 statements.",
            None, "Jelly, Jelly-Patch", metavar="N"),
    Keyword("frame_bytes", "Maximum bytes of a frame (0: unlimited); a larger statement has a frame of its own.",
            1_000_000, "Jelly, Jelly-Patch", metavar="N"),
    Keyword("delimited", "Write the length of each frame before it. Without it the output is one frame.", True,
            "Jelly, Jelly-Patch", "--no-delimited"),
    Keyword("seekable", "Write an index for random access and several threads. By default files have one, but not "
            ".gz, .bz2 and .xz. Other readers see it as metadata of the last frame, jelly.index.",
            None, "Jelly, Jelly-Patch", "--seekable/--no-seekable", True),
    Keyword("keyframe_rows", "Statements between keyframes; with index 32768.", 131072, "Jelly, Jelly-Patch",
            **_NO_OPTION),
    Keyword("index", "Also write the terms that each part of the file holds, so that a search reads little of it.",
            None, "Jelly"),
    _THREADS,
    Keyword("keep_labels", "Reject blank node labels that the format cannot hold. By default such nodes get others.",
            False),
    Keyword("library", "Also accept the terms of this library.", **_NO_OPTION),
    Keyword("quoted", "How quoted triples are written: <<( )>> of RDF 1.2 or << >> of RDF-star.", "rdf-1.2",
            f"{_LINES}, RDF Patch"),
    Keyword("prefixes", "Namespaces by name.", None, _BINARY, "--prefix", metavar="NAME=IRI"),
    Keyword("shorten", "Write prefixed names. By default only RDF Thrift has them.", None, _BINARY, **_NO_OPTION),
    Keyword("values", "Write numbers as values; their lexical forms are lost.", False, _BINARY),
    Keyword("default_quads", "Write triples as quads of the default graph.", False, "RDF Protobuf", **_NO_OPTION),
    Keyword("base", "Base IRI to declare. Nothing is resolved with it.", None, "RDF Protobuf", **_NO_OPTION),
    Keyword("lenient", "Write IRIs and language tags that only readers with lenient=True take.", False, _SYNTAXES,
            **_NO_OPTION),
    replace(_DIALECT, option="--to-dialect"),
    Keyword("members", "Format of the files of a TAR archive. By default N-Quads.", None, "TAR archives",
            "--to-members"),
    Keyword("marked_blank_nodes", "Write blank nodes as <_:label>, which Apache Jena reads as the same nodes; of "
            "_:label it drops the first letter.", True, "RDF Patch",
            "--marked-blank-nodes/--no-marked-blank-nodes"),
)  # fmt: skip


# Keywords for reading many files on Spark.
MANY = _table(
    Keyword("glob", "Read only files with such names, for example `*.nt.gz` or `*.{nt,nq}`.", metavar="PATTERN",
            spark="pathGlobFilter"),
    Keyword("storage", "Options for the file systems of fsspec.", metavar="NAME=VALUE", spark="storage"),
    Keyword("skip_unknown", "Leave out files with the suffix of no format, such as README.md.", False,
            spark="skipUnknown"),
    Keyword("allow_empty", "Accept that there are no files to read.", False),
    Keyword("partitions", "Directories such as `graph=...` give their value to statements that have none.", True,
            option="--partitions/--no-partitions", spark="partitions"),
    Keyword(
        "split_bytes", "Bytes per task. By default 4 to 32 MiB, so that there are about 16 tasks. Compressed files "
        "count eight times their size, and so do formats other than Jelly, N-Triples, N-Quads and RDF Binary.",
        option="", spark="splitBytes",
    ),
)  # fmt: skip

# Keywords of single functions, and stream options, that error messages name.
NAMED = _table(
    Keyword("layout", "Columns of a table.", "flat", spark="layout"),
    Keyword("max_columns", "Maximum predicates, each of which is a column.", 1000),
    Keyword("drop_graphs", "Write all statements as triples, for a format without named graphs.", False),
    Keyword("generalized_statements", "Allow generalized statements in the Jelly output.", False, "",
            "--allow generalized"),
    Keyword("max_name_table_size", "Size of the name table, in entries.", option="--table-names"),
    Keyword("max_prefix_table_size", "Size of the prefix table, in entries (0: none).", option="--table-prefixes"),
    Keyword("max_datatype_table_size", "Size of the datatype table, in entries (0: none).", option="--table-datatypes"),
    Keyword("(version 3)", "Jelly-RDF 1.2, which stores statements in columns.", option="(--jelly 1.2)"),
    Keyword("insecure", "Use no TLS.", False),
    Keyword("tls", "Use TLS.", False),
)  # fmt: skip


class ReadOptions(TypedDict, total=False):
    """The keywords that functions which read share. A keyword that the format does not have is a JellyArgumentError.

    Annotate ``**options: Unpack[ReadOptions]`` in a function of yours that passes keywords on, so that type checkers
    know them.

    Examples
    --------
    >>> import jelly
    >>> options: jelly.ReadOptions = {"format": "nt", "on_error": "skip"}
    >>> [str(statement) for statement in jelly.read(b"<a:s> <a:p> <a:o> .", **options)]
    ['<a:s> <a:p> <a:o> .']
    """

    format: str | None
    delimited: bool | None
    strict: bool
    rdf: Literal["1.1", "1.2-basic", "1.2"] | None
    star: Literal["reifies", "triple-terms", "quoted"] | None
    on_error: Literal["raise", "skip"]
    blank_nodes: Literal["scope", "keep", "skolemize"] | None
    skolem_base: str | None
    threads: int
    require_trailer: bool
    batch_rows: int
    batch_bytes: int
    joined: bool
    unknown_rows: Literal["error", "skip"]
    quads: bool
    message: Literal["rows", "RDF_Stream", "RDF_Graph"] | None
    base: str | None
    lenient: bool
    dialect: Literal["comment", "directive"] | None
    members: str | None
    trailing: Literal["open", "close"]
    rename_blank_nodes: bool
    contexts: Mapping[str, Any] | None
    force: bool
    max_frame_bytes: int
    max_line_bytes: int
    max_row_bytes: int
    max_message_bytes: int
    max_names: int
    max_prefixes: int
    max_datatypes: int
    max_frame_rows: int
    max_text_bytes: int
    max_document_bytes: int
    max_expansion: int
    max_frames: int
    max_steps: int
    max_partitions: int


class WriteOptions(TypedDict, total=False):
    """The keywords that functions which write share. A keyword that the format does not have is a JellyArgumentError.

    The options of a stream, such as its type, have a keyword of their own: ``options``, see `StreamOptions`.

    Annotate ``**options: Unpack[WriteOptions]`` in a function of yours that passes keywords on.

    Examples
    --------
    >>> import io, jelly
    >>> options: jelly.WriteOptions = {"seekable": True, "frame_rows": 1000}
    >>> jelly.write(io.BytesIO(), [], **options)
    0
    """

    format: str | None
    frame_rows: int | None
    frame_bytes: int
    delimited: bool
    seekable: bool | None
    keyframe_rows: int
    index: Literal["terms"] | None
    threads: int
    keep_labels: bool
    library: TermAdapter | None
    quoted: Literal["rdf-1.2", "rdf-star"]
    prefixes: Mapping[str, str] | None
    shorten: bool | None
    values: bool
    default_quads: bool
    base: str | None
    lenient: bool
    dialect: Literal["comment", "directive"] | None
    members: str | None
    marked_blank_nodes: bool


class SourceOptions(ReadOptions, total=False):
    """The keywords of functions that read many files on Spark: of `jelly.ReadOptions` those that any format may have.

    These are ``format``, ``on_error``, ``blank_nodes``, which is ``"scope"`` here also for one file, ``skolem_base``
    and the limits. ``on_error="skip"`` skips broken input of any format and reports it.

    Examples
    --------
    >>> import jelly.spark
    >>> options: jelly.spark.SourceOptions = {"glob": "*.nt.gz", "storage": {"anon": True}}
    """

    glob: str | None
    storage: Mapping[str, Any] | None
    skip_unknown: bool
    allow_empty: bool
    partitions: bool
    split_bytes: int | None


def type_of(name: str) -> Any:
    """The type of a keyword that a function passes on, by the classes above; else Any.

    >>> type_of("max_names"), type_of("seekabel")
    (<class 'int'>, typing.Any)
    """
    kinds = (SourceOptions.__annotations__, WriteOptions.__annotations__)
    told = {each[name].__forward_arg__ for each in kinds if name in each}
    return eval(" | ".join(sorted(told)), globals()) if told else Any  # noqa: S307 - our own text


def described(rows: Iterable[Keyword], types: Any) -> str:
    """The section of a docstring that explains keywords, whose types are the annotations of a class.

    >>> described([READ["skolem_base"]], {"skolem_base": "str | None"}).splitlines()[2]
    'skolem_base : str, optional'
    """
    lines = ["Attributes", "----------"]
    for row in rows:
        default = "optional" if row.default is None else f"default {row.default!r}"
        of = f" Only {row.formats}." if row.formats else ""
        told = str(getattr(types[row.name], "__forward_arg__", types[row.name])).removesuffix(" | None")
        lines += [
            f"{row.name} : {told}, {default}",
            *wrap(row.help + of, 116, initial_indent=_IN, subsequent_indent=_IN),
        ]
    return "\n".join(lines)


def _explain(kind: Any, rows: Iterable[Keyword]) -> None:
    """Add the section of the keywords to a docstring, before its example."""
    start, title, example = (kind.__doc__ or "").partition("    Examples\n")
    kind.__doc__ = start + indent(described(rows, kind.__annotations__), _IN) + "\n\n" + title + example


_explain(ReadOptions, READ.values())
_explain(WriteOptions, WRITE.values())
_explain(SourceOptions, MANY.values())
