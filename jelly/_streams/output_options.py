"""Which stream options a Jelly output has: those of its first source, as wide as all need.

Name and sizes of tables stay, and the type where frames are kept. Jelly-RDF 1.2 stays Jelly-RDF 1.2. What the caller
gives comes first. Where nothing is Jelly, the options are the default ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jelly._formats.native import default_options
from jelly._options.options import (
    COLUMN_VERSION,
    MIN_NAME_TABLE,
    ROW_VERSION,
    PhysicalType,
    StreamOptions,
    physical_for,
)
from jelly._streams.widening import DATATYPES, changed


def is_columns(options: Any) -> bool:
    """Whether these are options of a stream of Jelly-RDF 1.2."""
    return isinstance(options, StreamOptions) and options.version == COLUMN_VERSION


def output_options(
    source: StreamOptions | None,
    arity: int,
    given: StreamOptions | Mapping[str, Any] | None = None,
    *,
    flat: bool = False,
    grouped: bool = False,
    version: int | None = None,
    star: bool = False,
) -> StreamOptions:
    """The options for what is written of a source with the options ``source``, None if it is no Jelly.

    ``arity`` is that of its statements, ``given`` are options or fields that the caller has chosen. With ``flat`` the
    frames have lost their meaning; a source of quads stays one then, even if no statement names a graph. For what is no
    Jelly, ``grouped`` says that frames have a meaning, ``version`` that namespaces may come late. ``star``: the caller
    has said what becomes of quoted triples, all of which rows can hold.

    >>> source = StreamOptions.small(physical_type=2, logical_type=4, version=3, rdf_version="1.1", stream_name="n")
    >>> made = output_options(source, 3, flat=True)
    >>> made.version, made.stream_name, made.max_prefix_table_size, made.logical_type.name
    (3, 'n', 16, 'FLAT_QUADS')
    >>> output_options(source, 3, {"rdf_star": True}).version
    2
    """
    if isinstance(given, StreamOptions):
        known = version or 0 if source is None else min(source.version, ROW_VERSION)
        return given if given.version or not known else given.replace(version=known)
    given = dict(given or {})
    if source is None:
        if "logical_type" in given and "physical_type" not in given:
            arity = 2 + physical_for(StreamOptions(logical_type=given["logical_type"]), arity)
        default = default_options(arity, grouped)
        return changed(default if version is None else default.replace(version=version), given)
    if star and source.version in (0, COLUMN_VERSION):
        given = {"version": ROW_VERSION, **given}
    changes: dict[str, Any] = {"max_name_table_size": max(source.max_name_table_size, MIN_NAME_TABLE)}
    if source.version == COLUMN_VERSION:
        changes["rdf_version"] = ""  # what the statements need
        wants_rows = given.get("rdf_star") or given.get("generalized_statements")
        if "version" not in given and (wants_rows or given.get("physical_type") == PhysicalType.GRAPHS):
            changes["version"] = ROW_VERSION  # only rows have these
    if flat:
        default = default_options(4 if source.physical_type > PhysicalType.TRIPLES else arity)
        changes |= {"physical_type": default.physical_type, "logical_type": default.logical_type}
    return changed(source.replace(**changes), given)


def first_options(given: Any, source: Any) -> Any:
    """The options that the caller of a writer has given, or Jelly-RDF 1.2 where they leave it open and ``source``, the
    options of the first thing written, are of it."""
    if not is_columns(source) or isinstance(given, StreamOptions) or "version" in (given or ()):
        return given
    fields = dict(given or {})
    return fields | {"version": output_options(source, 3, fields).version}


def join_options(options: Iterable[StreamOptions]) -> StreamOptions:
    """Options for one stream after another: those of the first, as wide as any announces.

    >>> triples, quads = StreamOptions(physical_type=1, logical_type=1), StreamOptions(physical_type=2, rdf_star=True)
    >>> joined = join_options([triples, quads])
    >>> joined.physical_type.name, joined.logical_type.name, joined.rdf_star
    ('QUADS', 'FLAT_QUADS', True)
    """
    first, *others = options
    for other in others:
        changes: dict[str, Any] = {}
        if first.physical_type == PhysicalType.TRIPLES and other.physical_type > PhysicalType.TRIPLES:
            changes["physical_type"] = PhysicalType.QUADS
        if not first.max_datatype_table_size and other.max_datatype_table_size:
            changes["max_datatype_table_size"] = DATATYPES
        if first.version != COLUMN_VERSION:
            for name in ("rdf_star", "generalized_statements"):
                changes[name] = getattr(first, name) or getattr(other, name)
            changes["version"] = max(first.version, min(other.version, ROW_VERSION))
        first = changed(first, changes)
    return first
