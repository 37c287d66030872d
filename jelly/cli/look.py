"""The commands that look at files: ``cat``, ``head``, ``count``, ``describe``, ``inspect``, ``stats``, ``validate``."""

from __future__ import annotations

import json
import os
from io import BytesIO
from itertools import islice
from typing import Any

import click

import jelly
from jelly._bytes.names import is_web
from jelly._bytes.sink import Sink
from jelly._dataset.output import write_stream
from jelly._dataset.sources import Sources, expand
from jelly._dataset.stream import Stream
from jelly._formats.registry import JELLY, JELLY_PATCH, TABLE_FORMATS, Content
from jelly.cli import contents
from jelly.cli.common import in_options, message, progress_bar, say, show, wanted_form
from jelly.cli.options import COUNT, SIZE, Files, Given, Word, command, forms, option, reads, refuse, streams, writes
from jelly.cli.reading import check_options, content_of, format_of, inputs, names, output_of, refuse_late, wide_advice
from jelly.errors import need

HEAD_ROWS = 4096  # statements decoded at a time if few are needed


@command("FILE...")
@reads("blank_nodes", "skolem_base", "star", logs=True)
@writes(rare=("dialect", "members"))
@streams("jelly", "physical_type", "allow")
def cat(files: Files, reading: Given, writing: Given, stream: Given) -> None:
    """Print files on standard output, one after the other: statements as N-Quads, patches (.jellyp, .rdfp, .trp) as RDF
    Patch, message logs (--messages) as N-Quads with delimiters, and results of queries (.jellys, .srj, .srx, .srt,
    .srp) as TSV.

    Files may also be tables (Parquet, Arrow, CSV), directories, glob patterns in quotation marks, and URLs of fsspec.
    N-Quads without named graphs is N-Triples. Blank nodes of different files stay different nodes: with several files
    the labels get a prefix that depends on the path of the file. Labels that have one from an earlier run stay.

    \b
    Examples:
      jelly cat people.jelly | grep Alice
      jelly cat --to jelly monday.jelly tuesday.jelly > both.jelly
      jelly cat --blank-nodes keep part1.nt part2.nt > whole.nt
      jelly cat people.srt --to json | jq .results

    A Jelly stream declares at its start which kinds of statements it may have. The beginning of each file is examined
    for that, so the order of the files does not matter. Kinds that appear only later in a file of N-Triples or RDF
    Thrift need --physical or --allow.
    """
    content = content_of(reading, *files, to=writing.get("format"))
    if content is not Content.STATEMENTS:
        contents.convert(content, files, "-", reading, writing)
        return
    target, how = output_of("-", writing, stream)
    if stream.keys() - {"jelly"} and target is not JELLY:
        raise click.UsageError("--physical and --allow go with --to jelly")
    found = names(files, reading)
    if target.name in TABLE_FORMATS:
        jelly.scan(found, **reading).write("-", to=target.name)
        return
    source = Stream(Sources(found, **reading), as_is=True)
    with wide_advice():
        write_stream("-", source.watched(), source, target, options=how["options"], examine=True)


@command("FILE...")
@option("-n N", "Number of statements.", 10, COUNT)
@reads("blank_nodes", "skolem_base")
@writes()
def head(files: Files, n: int, reading: Given, writing: Given) -> None:
    """Print the first statements of files: N of all together, as N-Quads or --to. Only the needed parts are read.

    Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in quotation marks.

    \b
    Example:
      jelly head -n 3 people.jelly
    """
    target, _ = output_of("-", writing)
    statements = jelly.read(names(files, reading), batch_rows=min(n or 1, HEAD_ROWS), **reading)
    jelly.write("-", islice(statements, n), format=target.name)
    statements.close()


@command("FILE...")
@forms("json")
@reads(logs=True)
def count(files: Files, reading: Given) -> None:
    """Print the number of statements of each file, and the total of several files.

    Of patches the numbers of patches and operations are printed, of message logs (--messages) those of messages and
    statements, of query results that of rows. Rows of Jelly files are counted without decoding them. Files may also be
    tables (Parquet, Arrow, CSV), directories and glob patterns in quotation marks.

    \b
    Examples:
      jelly count people.jelly
      jelly count *.jelly *.nq.gz
      jelly count changes.jellyp --json
    """
    found: list[tuple[str, dict[str, int]]] = []
    content = content_of(reading, *files)
    for file, settings in inputs(files, reading, content):
        with progress_bar("Counting") as progress:
            found.append((file, contents.count(content, file, settings, progress)))

    def draw() -> None:
        if len(found) > 1:
            found.append(("total", {name: sum(counts[name] for _, counts in found) for name in found[0][1]}))
        for file, counts in found:
            click.echo("\t".join([*map(str, counts.values()), file]))

    show([{"file": file} | counts for file, counts in found], draw, yaml=False)


@command("FILE...")
@option("--per-frame", "Also show each frame.")
@option("--size", "Also show the bytes of each part: terms by place and kind, or columns.")
@option("--patches", "Show each patch: its headers and the numbers of its rows.")
@forms("yaml", "json", "table")
@reads(rare=("max_frames",), logs=True)
def inspect(files: Files, per_frame: bool, size: bool, patches: bool, reading: Given) -> None:
    """Show the options, rows, bytes and frames of each Jelly file without decoding its statements.

    Of files of other formats, message logs (--messages) and query results the rows are counted. With --patches, and of
    RDF Patch (.rdfp, .trp), each patch is shown. Files may also be directories and glob patterns in quotation marks. Of
    several files, JSON and YAML are a list with the name of each.

    \b
    Examples:
      jelly inspect people.jelly
      jelly inspect changes.jellyp --patches
      jelly inspect 'data/*.jelly'
      jelly inspect --size people.jelly
      jelly inspect people.jelly.gz --per-frame --json | jq '.frames[0]'
    """
    from jelly._tools.inspect import format_to_check

    found: list[tuple[str, Any]] = []
    for file in expand(files):
        content = content_of(dict(reading), file)
        known = format_to_check(reading.get("format"), file, content)
        if patches or (content is Content.PATCH and known is not JELLY_PATCH):
            if per_frame or size:
                raise click.UsageError("--per-frame and --size do not go with patches")
            found.append((file, contents.inspect_patches(file, reading)))
            continue
        if not is_web(file):
            if (per_frame or size) and known not in (JELLY, JELLY_PATCH):
                raise click.UsageError(f"--per-frame and --size go with Jelly, not with {known.title}")
            check_options(reading, [known.reading | {"max_frames", "content"}], known.title, content)
        with progress_bar("Inspecting") as progress:
            found.append((file, jelly.inspect(file, per_frame, size=size, progress=progress, **reading)))
        for problem in found[-1][1].problems:
            say(f"{file}: {in_options(problem)}", "yellow")
    plain = [(file, one if isinstance(one, dict) else one.as_dict()) for file, one in found]
    show(plain[0][1] if len(plain) == 1 else [{"file": file} | one for file, one in plain], "show_all", found)


@command("FILE...")
@option("--against FILE", "A file (Jelly, N-Triples, N-Quads) that must contain the same statements.")
@option("--unordered", "Compare as sets, ignoring the order of statements.")
@option("--frame RANGE", "Compare only these frames, from 0: 3, 2..5 (without 5), 2..=4, ..5 or 3..")
@option("--options FILE", "A Jelly file whose stream options must be the same.")
@option("--shapes FILE", "Print instead the report of SHACL for the shapes of FILE (needs jelly-rdf[shacl]).")
@option("--delimited [either|true|false]", "Whether each frame must have its length before it.", "either",
        Word({"either": None, "true": True, "false": False}))
@option("--limit N", "Stop after N problems (default 1000).", 1000)
@forms("json")
@reads("strict", rare=("require_trailer",), logs=True)
def validate(
    files: Files,
    shapes: str | None,
    against: str | None,
    unordered: bool,
    reading: Given,
    limit: int,
    **given: Any,
) -> None:
    """Print every problem of Jelly and Jelly-Patch files with its frame, row and byte. The exit code is 1 if there is
    one.

    If FILE has another format, its syntax errors are printed, and it can be compared. Files may also be patches,
    results of queries, message logs (--messages), tables, directories and glob patterns in quotation marks.

    \b
    Examples:
      jelly validate people.jelly
      jelly validate people.jelly --against people.nt --unordered
      jelly validate 'dump/*.nq.gz' changes.rdfp results.srj
      jelly validate people.jelly --shapes shapes.ttl
    """
    if shapes is not None:
        refuse("--shapes", {"files", "shapes", *reading} - {"content"})
        with need("shacl", "validation by shapes needs pySHACL"):
            from jelly.rdflib import validate as by_shapes

        conforms, _, text = by_shapes(names(files, reading), shapes, **reading)
        click.echo(text, nl=False)
        click.get_current_context().exit(not conforms)
    from jelly._tools.inspect import format_to_check

    each = [(file, content_of(dict(reading), file)) for file in expand(files)]
    reading.pop("content", None)
    given |= {"against": against, "ordered": not unordered}
    if against is not None and len(each) > 1:
        raise click.UsageError("--against goes with one file, not with several")
    kinds = dict.fromkeys(content for _, content in each)
    is_plain = given == {"against": None, "ordered": True, "frame": None, "options": None, "delimited": None}
    if [*kinds] != [Content.STATEMENTS] and not is_plain:
        raise click.UsageError("--against, --unordered, --frame, --options and --delimited go with statements")
    known = [] if against is None else [format_of(None, against, option="a known suffix").reading]
    settings: Given = {}
    for kind in kinds:
        find = format_to_check if kind is Content.STATEMENTS else format_of
        settings |= inputs([file for file, content in each if content is kind], reading, kind, find, known)
    fields = ("message", "frame", "row", "offset", "line")
    found: list[dict[str, Any]] = []
    for file, content in each:
        limits = settings[file] if against is None else reading
        with progress_bar("Validating") as progress:
            problems = jelly.validate(
                file, content=contents.WORDS.get(content), limit=limit, progress=progress, **given, **limits
            )
        name = {"file": file} if len(each) > 1 else {}
        found += [name | {field: getattr(problem, field) for field in fields} for problem in problems]
        if wanted_form() is None:
            for problem in problems:
                click.echo(f"{file}: {message(jelly.JellyError(str(problem)))}")
            if not problems:
                click.echo(f"{file}: no problems")
    if wanted_form() is not None:
        show(found, None)
    click.get_current_context().exit(bool(found))


@command("FILE...")
@forms("yaml", "json", "table")
@option("--top N", "Entries in each list (default: 20; of results 5).", None, COUNT)
@option("--threads N", "Threads, for files with an index (default 1).", 1)
@option("--plot FILE", "Also plot them to FILE (.png, .svg or .pdf).")
@option("-q, --quiet", "With --plot: print nothing.")
@reads("blank_nodes", "skolem_base", logs=True)
def stats_(
    files: Files, plot: str | None, quiet: bool, reading: Given, **given: Any
) -> None:
    """Count predicates, classes, graphs, datatypes and languages, and show how statements are distributed.

    Several files are counted together. Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in
    quotation marks. Of patches the statements that are added or deleted are counted, of query results the values of
    each variable.

    \b
    Examples:
      jelly stats people.jelly --top 5
      jelly stats people.jelly --plot people.png
      jelly stats people.nq.gz --json | jq .predicates.top
    """
    from jelly.stats import stats

    if quiet and plot is None:
        raise click.UsageError("--quiet goes with --plot")
    content = content_of(reading, *files)
    each = inputs(files, reading, content)
    (src, settings), *more = each
    name = os.path.basename(src) if not more else f"{len(each)} files"
    if content is Content.RESULTS:
        if more or plot is not None or given["threads"] != 1:
            raise click.UsageError("query results are counted from one file, without --plot and --threads")
        settings["content"], given["threads"] = "results", None
    if content in (Content.PATCH, Content.MESSAGES):
        if given["threads"] != 1:
            raise click.UsageError(f"{content.value} are counted without --threads")
        reading["content"] = settings["content"] = contents.WORDS[content]
    if plot is not None:
        from jelly.plot import check_suffix, plot_stats

        check_suffix(plot)
        refuse_late(plot)
    with progress_bar("Counting", quiet) as progress:
        known = {name: value for name, value in given.items() if value is not None} | {"progress": progress}
        found = stats([file for file, _ in each] if more else src, **known, **(reading if more else settings))
    if plot is not None:
        plot_stats(found, plot, name)
    if not quiet:
        show(found.as_dict(), "show_stats", name if more else src, found)


@command("FILE...")
@option("-o, --output OUT", "Write to OUT instead of standard output; also .json and .html.", "-")
@forms("html", "json")
@option("--iri IRI", "IRI of the data set (default: the URL of one file, or a UUID that depends on the figures).")
@option("--title TEXT", "Title of the data set (default: the names of the files).")
@option("--linksets", "Also count links between namespaces, by property.")
@option("--memory SIZE", "Memory for statements; the rest goes to temporary files (in TMPDIR; default 1G).", kind=SIZE)
@option("--threads N", "Threads, for files with an index (default 1).")
@option("-q, --quiet", "No progress bar.")
@reads("blank_nodes", "skolem_base", "star", "max_partitions")
@writes()
def describe(
    files: Files, output: str, quiet: bool, reading: Given, writing: Given, **given: Any
) -> None:
    """Describe a data set in VoID and DCAT: classes, properties of classes, datatypes and links, with exact counts.

    Files may also be tables (Parquet, Arrow, CSV), directories and glob patterns in quotation marks: all together are
    one data set. Equal statements count once. The description is written in Turtle or --to, as JSON, or as a page.

    \b
    Examples:
      jelly describe people.jelly
      jelly describe 'dump/*.nq.gz' --iri http://example.org/void#dump -o void.ttl
      jelly describe people.jelly -o people.html
      jelly describe people.jelly --json | jq '.graph.classes | keys'
    """
    names(files, {name: value for name, value in reading.items() if name != "max_partitions"})
    suffix = os.path.splitext(output)[1]
    known_form = {".html": "html", ".json": "json"}.get(suffix)
    form = wanted_form()
    if form and (writing or (suffix and known_form != form)):
        raise click.UsageError(f"--{form} does not go with {'--to' if writing else output}")
    form = form or (None if writing else known_form)
    target = None if form else output_of(output, writing, text="ttl")[0].name
    refuse_late(output)
    if target is not None:  # a format that needs more, or cannot hold the IRI, is told before all is read
        jelly.describe(b"", format="nt", iri=given["iri"]).write(BytesIO(), format=target)
    with progress_bar("Describing", quiet) as progress:
        known = {name: value for name, value in given.items() if value is not None} | {"progress": progress}
        found = jelly.describe(files[0] if len(files) == 1 else [*files], **known, **reading)
    if form is None:
        found.write(output, format=target)
        return
    with Sink(output) as sink:
        text = found.to_html() if form == "html" else json.dumps(found.to_dict(), indent=2) + "\n"
        sink.write(text.encode())
