"""The command ``jelly query``."""

from __future__ import annotations

import click

import jelly
from jelly._formats.registry import Content
from jelly.cli.common import report_rows
from jelly.cli.options import SIZE, Files, Given, command, forms, option, reads, writes
from jelly.cli.reading import names, output_of
from jelly.results import Results, write_results


def _text(sparql: str) -> str:
    """The text of a query, which may be that of a file."""
    if not sparql.endswith((".rq", ".sparql")):
        return sparql
    try:
        with open(sparql, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{sparql}: {getattr(error, 'strerror', None) or error}") from None


@command("FILE...", "SPARQL")
@option("-o, --output FILE", "Write to FILE instead of standard output.", "-")
@writes()
@option("--explain", "Print which way is taken and why, and read nothing.")
@option("--memory SIZE", "Memory of the work, see jelly.query.", 1 << 30, SIZE)
@reads("blank_nodes", "skolem_base", "threads")
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
    each = names(files, reading)
    found = jelly.query(each, _text(sparql), memory=memory, explain=explain, **reading)
    if isinstance(found, str):
        click.echo(found)
    elif not isinstance(found, Results):
        _, how = output_of(output, writing, text="nt", named=True)
        report_rows(output, "statements", found.write(output, **how).statements, quiet)
    elif found.boolean is not None and output == "-" and "format" not in writing:
        click.echo(str(found.boolean).lower())
        click.get_current_context().exit(not found.boolean)
    else:
        target, _ = output_of(output, writing, text="tsv", content=Content.RESULTS, named=True)
        report_rows(output, "rows", write_results(output, found, format=target.name), quiet)
