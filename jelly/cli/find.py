"""The commands ``jelly find``, with terms that may be abbreviated, such as ``rdf:type``, and ``jelly query``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from io import BytesIO
from itertools import islice
from typing import Any

import click

import jelly
from jelly._bytes.names import is_url, is_web
from jelly._dataset.conditions.pattern import Condition, parse_term
from jelly._formats.registry import TABLE_FORMATS, Content
from jelly._options.namespaces import KNOWN
from jelly.cli.common import exits, progress_bar, report, report_rows, say, show, wanted_form
from jelly.cli.options import SIZE, STATEMENTS, Files, Given, command, forms, option, reads, streams, writes
from jelly.cli.reading import inputs, names, output_of, refuse_late

_ABBREVIATED = re.compile(r"([^\W\d_][\w.-]*|):(?!//)(.*)", re.S)
# Schemes that are no prefixes in practice: about them nobody is told anything.
_SCHEMES = {"data", "did", "file", "info", "mailto", "ni", "tag", "tel", "urn"}
_FIRST = 4096  # rows of a file that may declare prefixes
_PLACES = ("subject", "predicate", "object", "graph")


def _condition(text: str) -> Condition:
    try:
        return Condition(text)
    except jelly.JellyError as error:
        raise click.BadParameter(error.reason) from None


# Literals that Turtle writes without quotes.
_BARE = re.compile(
    r"(?P<integer>[+-]?[0-9]+)|(?P<decimal>[+-]?[0-9]*\.[0-9]+)"
    r"|(?P<double>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)|(?P<boolean>true|false)"
)


def _parsed(text: str) -> Any:
    """A term by its text: as in N-Triples, a bare IRI, or a literal that Turtle writes without quotes."""
    if found := _BARE.fullmatch(text):
        return jelly.Literal(text, datatype=f"{KNOWN['xsd'][0]}{found.lastgroup}")
    return parse_term(text)


def _term(text: str) -> str:
    """A text that `Prefixes` reads; a wrong one is refused before anything is opened."""
    if not text.startswith(":"):
        try:
            _parsed(text)
        except jelly.JellyError as error:
            raise click.BadParameter(error.reason) from None
    return text


@command("FILE...")
@option("-s, --subject TERM...", "The subject. Repeat an option for one of several.", kind=_term)
@option("-p, --predicate TERM...", "The predicate.", kind=_term)
@option("--object TERM...", "The object.", kind=_term)
@option("-g, --graph TERM...", 'The graph; "default" is the default graph, in which triples are.', kind=_term)
@option(
    "-w, --where CONDITION...", "A condition, such as o.language=en|de, o.kind!=literal, o.datatype=xsd:integer, "
    "s.prefix=http://a.example/. All must hold.", kind=_condition,
)  # fmt: skip
@option("-v, --invert", "The statements that do not match.")
@option(
    "--prefix NAME=IRI...", "What a prefix of a TERM stands for, before what the files declare. Repeatable.",
    name="prefixes",
)  # fmt: skip
@option("-c, --count", "Print only the number of matches.", name="counting")
@option("--exit-code", "Exit with 1 if nothing is found, and with 2 on any error.")
@reads("blank_nodes", "skolem_base", "star", "threads")
@writes("seekable", "index")
@streams("jelly")
@option("-o, --output FILE", "Write to FILE instead of standard output.", "-")
@forms("json")
@option("-q, --quiet", "No progress bar, and no line at the end.")
def find(
    files: Files,
    counting: bool,
    exit_code: bool,
    output: str,
    reading: Given,
    writing: Given,
    stream: Given,
    **given: Any,
) -> None:
    """Print the statements that match all options. Files may also be tables (Parquet, Arrow, CSV), directories and
    glob patterns in quotation marks.

    A TERM is an IRI, or in the syntax of N-Triples: <a:b>, _:b, "text", "text"@en, "5"^^<a:number>. Prefixes work as in
    Turtle where --prefix or a file (at its beginning) declares them, and so do dc, dcterms, foaf, owl, prov, rdf, rdfs,
    schema, skos, sosa and xsd. <rdf:type> is always that IRI.

    A CONDITION is a place (s, p, o, g), a dot, a property, = or !=, and values with | between them. Properties: kind
    (iri, blank, literal, quoted, default), language (en is also en-GB, * any), datatype, and prefix of an IRI.

    \b
    Examples:
      jelly find people.jelly -s http://example.org/alice
      jelly find people.jelly -p foaf:name --where o.language=en --count
      jelly find 'data/*.nq.gz' --object '"Alice"' -o found.jelly
      jelly find people.jelly --where s.kind=blank --invert -o named.jelly
    """
    if counting and (output != "-" or writing or stream):
        raise click.UsageError("--count writes no statements: leave out --output and its options")
    how = {} if counting else output_of(output, writing, stream, named=True)[1]
    with exits(exit_code):
        each = names(files, reading)
        prefixes = Prefixes(given["prefixes"], each, reading)
        pattern = _pattern(prefixes, given)
        statements = jelly.scan(each, **reading).filter(**pattern, invert=given["invert"])
        if counting:
            with progress_bar("Counting", given["quiet"]) as progress:
                found = statements.count(progress=progress)
            show({"statements": found}, click.echo, found, yaml=False)
        else:
            with progress_bar("Reading", given["quiet"] or output == "-") as progress:
                found = statements.write(output, progress=progress, **how).statements
            report_rows(output, "statements", found, quiet=True)
    if not found:
        prefixes.note()
    if exit_code and not found:
        click.get_current_context().exit(1)


_MATCHERS: dict[str, Any] = {"prefix": jelly.IRIPrefix, "datatype": jelly.Datatype, "language": jelly.LanguageRange}


def _pattern(prefixes: Prefixes, given: Given) -> dict[str, Any]:
    """The keywords of `Dataset.filter`. Conditions that an index knows of become a part of the pattern."""
    places: dict[str, list[Any]] = {name[0]: prefixes.terms(given[name]) for name in _PLACES}
    rest = []
    for one in given["where"]:
        if one.property in ("datatype", "prefix"):
            one.values = prefixes.iris(one.values)
        known = _MATCHERS.get(one.property) if one.slot == "o" or one.property == "prefix" else None
        if known is None or one.negated or places[one.slot]:
            rest.append(f"{one.slot}.{one.property}{'!' * one.negated}={'|'.join(one.values)}")
        else:
            places[one.slot] = list(map(known, one.values))
    return {slot: terms or None for slot, terms in places.items()} | {"where": rest}


class Prefixes:
    """The IRIs of the prefixes of a command: those of its options, else of its files, else well-known ones.

    Files are opened only if a text is abbreviated: those on disk and URLs of fsspec, and only their first statements
    are read. A prefix that files declare in several ways stands for all of these.
    """

    def __init__(self, given: Iterable[tuple[str, str]], files: Sequence[str], reading: Given) -> None:
        self._given, self._files = dict(given), files
        self._limits = {name: value for name, value in reading.items() if name in ("format", *STATEMENTS)}
        self._unknown: list[str] = []

    def terms(self, texts: Sequence[str]) -> list[Any]:
        """The terms that texts stand for."""
        found: list[Any] = []
        for text in texts:
            if (iris := self._iris(text)) is not None:
                found += map(jelly.IRI, iris)
            elif text.startswith(":"):
                raise click.UsageError(f"{text}: no file declares the empty prefix; --prefix =IRI does")
            else:
                found.append(_parsed(text))
        return found

    def iris(self, texts: Sequence[str]) -> list[str]:
        """The IRIs, or beginnings of IRIs, that texts stand for."""
        return [iri for text in texts for iri in self._iris(text) or [text]]

    def note(self) -> None:
        """Nothing was found: say which terms look abbreviated and were read as they are."""
        for text in self._unknown:
            say(f"note: {text} was read as an IRI: nothing declares its prefix (--prefix NAME=IRI does)", "yellow")

    def _iris(self, text: str) -> list[str] | None:
        """The IRIs that an abbreviated one stands for; None for what is none."""
        found = _ABBREVIATED.fullmatch(text)
        if found is None or text.startswith("_:"):
            return None
        name, rest = found.groups()
        bases = [self._given[name]] if name in self._given else self._declared.get(name) or KNOWN.get(name)
        if bases is None:
            if name and name not in _SCHEMES:
                self._unknown.append(text)
            return None
        return [base + rest for base in bases]

    @cached_property
    def _declared(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for file, settings in inputs(self._files, self._limits):
            # What cannot be read twice, or has no prefixes.
            again = os.path.isfile(file) or (is_url(file) and not is_web(file))
            if not again or settings.get("format") in TABLE_FORMATS:
                continue
            with suppress(jelly.JellyError, OSError), jelly.Reader(file, batch_rows=_FIRST, **settings) as reader:
                for batch in islice(reader.batches(), 1):
                    for _, _, name, iri in batch.namespaces:
                        if iri not in (known := found.setdefault(name, [])):
                            known.append(iri)
        return found


# ---- SPARQL

def _query_text(sparql: str) -> str:
    """The text of a query, which may be that of a file."""
    if not sparql.endswith((".rq", ".sparql")):
        return sparql
    try:
        with open(sparql, encoding="utf-8-sig") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{sparql}: {getattr(error, 'strerror', None) or error}") from None


@command("FILE...", "SPARQL")
@option("-o, --output FILE", "Write to FILE instead of standard output.", "-")
@writes()
@option("--explain", "Print which way is taken and why, and read nothing.")
@option("--memory SIZE", "Memory for terms, values and joins, about (default 1G).", 1 << 30, SIZE)
@reads("blank_nodes", "skolem_base", "star", "threads")
@forms("json")
@option("-q, --quiet", "No line at the end.")
def query(
    files: Files, sparql: str, output: str, explain: bool, memory: int, reading: Given, writing: Given,
    quiet: bool,
) -> None:  # fmt: skip
    """Answer a SPARQL query of files, without loading them into a store.

    SPARQL is the query, or a file of it whose name ends in .rq or .sparql. Solutions are written as TSV, or as the
    suffix of the output says; triples of CONSTRUCT and DESCRIBE as N-Triples. Of ASK the answer is printed, and "false"
    is exit code 1.

    \b
    Examples:
      jelly query people.jelly 'SELECT ?name { ?x <http://xmlns.com/foaf/0.1/name> ?name } LIMIT 5'
      jelly query 'data/*.nt.gz' question.rq -o answer.jellys
      jelly query people.jelly 'CONSTRUCT { ?x a <a:Person> } WHERE { ?x <a:name> ?name }' -o people.nt
    """
    from jelly.results import Results, write_results

    each, text = names(files, reading), _query_text(sparql)
    if explain:
        click.echo(jelly.query(each, text, memory=memory, explain=True, **reading))
        return
    # No statements have an answer of the same form: an output that cannot take it is refused before others are read.
    form = jelly.query(b"", text, format="nt")
    solves = isinstance(form, Results)
    how: Given = {}
    if not solves:
        how = output_of(output, writing, text="nt", named=True)[1]
    elif form.boolean is None or output != "-" or "format" in writing:
        target, _ = output_of(output, writing, text="tsv", content=Content.RESULTS, named=True)
        how = {"format": target.name}
        write_results(BytesIO(), form, **how)
    refuse_late(output)
    found = jelly.query(each, text, memory=memory, **reading)
    if not solves:
        report_rows(output, "statements", found.write(output, **how).statements, quiet)
        return
    rows = write_results(output, found, **how) if how else 0
    if found.boolean is None:
        report_rows(output, "rows", rows, quiet)
        return
    answer = str(found.boolean).lower()
    if not how:
        click.echo(answer)
        click.get_current_context().exit(not found.boolean)
    if output != "-" and (wanted_form() or not quiet):
        report(f"{output}: {answer}", {"file": output, "boolean": found.boolean})
