"""The command ``jelly wide``."""

from __future__ import annotations

from typing import Any

import click

import jelly
from jelly._dataset.steps.order import MEMORY
from jelly._formats.registry import Content
from jelly.cli.common import progress_bar, report
from jelly.cli.find import Prefixes
from jelly.cli.options import STATEMENTS, Files, Given, Pair, command, forms, option, reads, writes
from jelly.cli.reading import names, output_of

__all__ = ["wide"]


@command("FILE...")
@option("-o, --output OUT", "Write to OUT, a table, instead of CSV to standard output.", "-")
@option("--class IRI...", "Take only subjects of this class, such as foaf:Person. Repeatable.", name="classes")
@option("--prefix NAME=IRI...", "What a prefix of a class stands for, before what the files declare. Repeatable.",
        kind=Pair(), name="prefixes")
@option("--text", "Keep the lexical forms: no columns of numbers, dates and booleans.")
@option("--max-columns N", "Fail if the subjects have more predicates.", 1000)
@option("--memory SIZE", "Memory for sorting; the rest goes to temporary files (in TMPDIR).", MEMORY,
        show_default="256M")
@reads("blank_nodes", "skolem_base", "star")
@writes()
@forms("json")
@option("-q, --quiet", "No progress bar, and no line at the end.")
def wide(
    files: Files, output: str, classes: Files, prefixes: Any, text: bool, reading: Given, writing: Given,
    form: str | None, quiet: bool, **given: Any,
) -> None:  # fmt: skip
    """Make a table with a row for each subject and a column for each predicate, named after it.

    A column has lists where a subject has several values, and numbers, dates or booleans where all values allow;
    NAME_kind, NAME_datatype and NAME_lang tell texts apart. OUT is .parquet or .arrow, or .csv if there are no lists.

    \b
    Examples:
      jelly wide people.jelly -o people.parquet
      jelly wide 'data/*.nt.gz' --class foaf:Person -o people.parquet
    """
    each = names(files, reading)
    target, _ = output_of(output, writing, text="csv", named=True)
    if target.content is not Content.TABLE:
        raise click.UsageError(f"wide tables go to .parquet, .arrow or .csv, not to {target.title}")
    limits = {name: value for name, value in reading.items() if name in ("format", *STATEMENTS)}
    known = Prefixes(dict(prefixes), each, limits)
    wanted = known.terms(classes) if classes else None
    with progress_bar("Reading", quiet or output == "-") as progress:
        table = jelly.scan(each, **reading).wide(wanted, typed=not text, progress=progress, **given)
        rows = jelly.write(output, table, format=target.name)
    if not rows:
        known.note()
    if output != "-" and (form or not quiet):
        report(f"{output}: {rows:,} rows, {len(table.schema):,} columns", form,
               {"file": output, "rows": rows, "columns": len(table.schema)})  # fmt: skip
