"""The table of limits is true: it has the defaults and constants of the code, and none is missing."""

from __future__ import annotations

import re

from support.fixed_limits import FIXED, ROOT, constants
from support.limits import PAGE, page

from jelly._options.limits import SETTABLE, default

# What is called a maximum and is no limit of input: the format itself says so, a Batch or a page is full there and the
# next begins, a search gives up and a slower way is taken, or a setting of a server or job has the name.
BY_THE_FORMAT = {
    "_core/base/protobuf.pxd:MAX_VARINT", "_core/jelly/result_decoder.pyx:MAX_RESULT_VERSION",
    "_core/jelly/stream_options.pxd:MAX_VERSION",
    "_core/jelly/stream_options.pxd:MAX_PATCH_VERSION", "_core/ntriples/term_reader.pyx:MAX_SUBTAG",
    "_core/jena/numeric.pyx:MAX_DIGITS", "_core/jena/numeric.pyx:MAX_DOUBLE", "_core/jena/numeric.pxd:MAX_NUMBER",
    "_core/boundaries/turtle.pyx:MAX_KEYWORD", "_core/boundaries/turtle.pyx:MAX_GAP", "_formats/index.py:_MAX_LENGTH",
    "grpc/_topic_files.py:MAX_LENGTH",
}  # fmt: skip
THEN_THE_NEXT_BEGINS = {
    "_core/arrow/exporter.pyx:MAX_DATA", "_core/jena/reader.pyx:MAX_CELLS", "_core/results/reader.pyx:MAX_CELLS",
    "_core/jelly/result_decoder.pyx:MAX_CELLS",
    "_core/jelly/result_encoder.pyx:MAX_FRAME_ROWS", "_core/jena/row_reader.pyx:MAX_NAMES",
    "_core/terms/batch_builder.pyx:MAX_ROWS", "spark/_parts/__init__.py:_MAX_CUTS", "_streams/spool.py:MAX_FRAME_BYTES",
}  # fmt: skip
THEN_ANOTHER_WAY = {
    "_core/base/batch_concat.pyx:MAX_COMPARED",
    "_core/jelly/decoder.pyx:MAX_CACHED_NAME",
    "_core/ntriples/text.pyx:MAX_SKIPPED", "_streams/text.py:MAX_SKIPPED",
    "_formats/arrow_input.py:MAX_PEEK", "_dataset/output.py:MAX_PEEK",
    "_tools/blank_nodes.py:MAX_ROUNDS_WORK", "_tools/blank_nodes.py:MAX_SEARCH_WORK",
    "_tools/blank_nodes.py:MAX_COMPARE_WORK", "_tools/blank_nodes.py:MAX_VOTES", "_tools/blank_nodes.py:MAX_VOTES_WORK",
    "_dataset/conditions/where.py:MAX_VALUES", "spark/_streams.py:MAX_SEEN",
    "spark/_parts/__init__.py:_MAX_NARROWED",
}  # fmt: skip
DEFAULTS_OF_SERVERS_AND_JOBS = {
    "grpc/_calls.py:MAX_MESSAGE", "grpc/_server.py:MAX_MESSAGE", "grpc/_server.py:MAX_RECEIVED",
    "grpc/_context.py:MAX_DETAIL", "grpc/_topics.py:_MAX_NAME", "spark/_ingest/tasks.py:_MAX_PARTITIONS",
    "spark/_ingest/buckets.py:MAX_BUCKETS", "spark/_tables.py:MAX_SEED",
    "kafka/_deserializer.py:MAX_VALUE_BYTES",
}  # fmt: skip
# Those of the table, or made from it.
SET = {
    "_bytes/source.py:MAX_EXPANSION", "_formats/syntaxes.py:MAX_TEXT",
    "_core/ntriples/canonical.pyx:MAX_STEPS",
}  # fmt: skip


def test_each_constant_is_in_the_table_or_is_no_limit() -> None:
    known = (
        {one.place for one in FIXED} | BY_THE_FORMAT | THEN_THE_NEXT_BEGINS | THEN_ANOTHER_WAY
        | DEFAULTS_OF_SERVERS_AND_JOBS | SET
    )  # fmt: skip
    assert set(constants()) == known


def test_defaults_of_compiled_readers() -> None:
    compared = set()
    for stub, name in (
        ("jelly/decoder", "Decoder"), ("ntriples/text", "TextReader"), ("jena/reader", "BinaryReader"),
        ("results/reader", "TextResultReader"),
    ):  # fmt: skip
        path = ROOT / "jelly" / "_core" / f"{stub}.pyx"
        signature = re.search(r"def __cinit__\((.*?)\):\n|def __cinit__\((.*?)\n    \):", path.read_text("utf-8"), re.S)
        assert signature is not None
        for limit in SETTABLE:
            if found := re.search(rf"\b{limit.name}=([^,)]+)", signature[0]):
                # The one that differs, as the table says.
                wanted = 4096 if (limit.name, name) == ("max_prefixes", "BinaryReader") else limit.default
                assert eval(found[1], {}) == wanted
                compared.add(limit.name)
    assert compared >= {one.name for one in SETTABLE if one.fits} | {"max_names", "max_prefixes", "max_datatypes"}
    canonical = constants()["_core/ntriples/canonical.pyx:MAX_STEPS"]
    assert int(canonical) == default("max_steps")


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m support.limits in the folder tests"
    for limit in SETTABLE:
        assert f"`{limit.name}`" in page()
