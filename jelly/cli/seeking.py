"""``jelly index`` and ``jelly slice``: random access to Jelly files."""

from __future__ import annotations

import os
from itertools import chain
from typing import Any

import click

import jelly
from jelly._bytes.names import split_suffix
from jelly._core.algebra.select import select
from jelly._dataset.sidecar import make_sidecar
from jelly._formats.index import SUFFIX
from jelly._formats.registry import JELLY, JELLY_PATCH, SEEKING, Content
from jelly._streams.output_options import output_options
from jelly.cli.common import (
    STATEMENTS,
    RangeCommand,
    can_have_index,
    command,
    parse_range,
    progress_bar,
    reading_options,
    say,
)
from jelly.cli.contents import patch_target
from jelly.cli.reading import content_of, format_of, from_option, refuse_terminal, to_option

__all__ = ["index", "slice_"]

_SEEKING_LIMITS = tuple(name for name in STATEMENTS if name in SEEKING)


@command()
@click.argument("file")
@click.option("--terms", is_flag=True, help='Also write which terms each part of the file holds, for "jelly find".')
@reading_options(*_SEEKING_LIMITS)
def index(file: str, terms: bool, reading: dict[str, Any]) -> None:
    """Scan a Jelly file and write its index to FILE.idx, for jelly.open in Python.

    Files written by "jelly convert" contain an index already, unless they are .gz, .bz2 or .xz, or not delimited. With
    --terms FILE.idx also tells which terms each part of the file holds, so that "jelly find" reads only what can match;
    of a file that has an index it holds nothing else. A file compressed with zstd needs a table of its frames, as this
    command and t2sz write it.

    \b
    Examples:
      jelly index people.jelly
      jelly index --terms people.jelly
      jelly index people.jelly.zst
    """
    with progress_bar("Indexing") as progress:
        show = None if progress is None else lambda done, total: progress(done, total, None)
        patch = split_suffix(file)[0] in JELLY_PATCH.suffixes
        make_sidecar(file, progress=show, patch=patch, terms=terms, **reading)
    if terms:
        size, whole = (os.path.getsize(path) for path in (file + SUFFIX, file))
        say(f"{file}{SUFFIX}: {size:,} bytes, {size / max(whole, 1):.1%} of the file")


@command("slice", cls=RangeCommand)
@click.argument("file")
@click.argument("wanted", metavar="A:B", callback=parse_range)
@click.option("--frames", is_flag=True, help="Print frames A to B instead of statements.")
@from_option
@to_option
@click.option("-o", "--output", metavar="FILE", default="-", help="Write to FILE instead of standard output.")
@reading_options(*_SEEKING_LIMITS)
def slice_(
    file: str,
    wanted: tuple[int, int | None],
    frames: bool,
    from_format: str | None,
    to_format: str | None,
    output: str,
    reading: dict[str, Any],
) -> None:
    """Print statements, or of Jelly-Patch patches, A up to, but not including, B (counting from 0; -10 is the tenth
    from the end).

    Only the needed part of the file is read.

    \b
    Examples:
      jelly slice people.jelly 1000000:1000100
      jelly slice people.jelly -10:
      jelly slice people.jelly --frames :3 -o begin.jelly
      jelly slice log.jellyp 1000:1010
    """
    if content_of(from_format, file) is Content.PATCH:
        if frames:
            raise click.UsageError("--frames does not go with patches")
        _slice_patches(file, wanted, to_format, output, reading)
        return
    target = format_of(to_format or ("nq" if output == "-" else None), output, "--to")
    if output == "-":
        refuse_terminal(target)
    with jelly.open(file, **reading) as source:
        begin, end, _ = slice(*wanted).indices(source.n_frames if frames else len(source))
        seekable = target is JELLY and can_have_index(output)
        # Statements A to B are no groups any more.
        options = output_options(source.options, 3, flat=not frames)
        with jelly.Writer(output, options, format=target.name, seekable=seekable) as writer:
            if not frames:
                declared: dict[str, str] = {}
                # Namespaces stand at the beginning of most files, wherever the statements are.
                first = [(batch, 0, 0) for batch, *_ in source.rows(0, 1)]
                for batch, low, high in chain(first, source.rows(begin, end)):
                    for _, _, name, iri in batch.namespaces:
                        if declared.get(name) != iri:
                            declared[name] = iri
                            writer.namespace(name, iri)
                    if low < high:
                        writer.add_batch(select(batch, slice(low, high)))
                return
            for frame in source.frames(begin, end):
                for name, iri in frame.namespaces:
                    writer.namespace(name, iri)
                writer.extend(frame)
                writer.end_frame(frame.metadata)


def _slice_patches(
    file: str, wanted: tuple[int, int | None], to_format: str | None, output: str, reading: dict[str, Any]
) -> None:
    from jelly import patch

    with jelly.open(file, content="patches", **reading) as source:
        begin, end, _ = slice(*wanted).indices(len(source))
        with patch.PatchWriter(output, source.options, **patch_target(output, to_format)) as writer:
            for one in source.patches(begin, end):
                writer.write(one)
