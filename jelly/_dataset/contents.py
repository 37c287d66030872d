"""Conversion of patches, message logs and results: Batches from their reader to their writer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from jelly._bytes.source import Progress
from jelly._dataset.output import Conversion, converted, written_bytes
from jelly._formats.registry import REGISTRY
from jelly._formats.sniff import explainer
from jelly._streams.inputs import ItemReader


def convert_items(
    reader: Any, open_writer: Callable[[], Any], progress: Progress | None, counted: str = "statements"
) -> Conversion:
    """Write all Batches of a reader. ``counted`` is the attribute of the writer that has the number of its rows.

    The first Batch is read before the writer is opened: a source that cannot be read leaves the destination alone.
    """
    began = time.perf_counter()
    if isinstance(reader, ItemReader) and reader.source.explain is not None:
        reader.source.explain = explainer(reader.format.name, REGISTRY[reader.format.content], "format")
    with reader:
        batches = reader.watched(progress)
        batch = next(batches, None)
        with open_writer() as writer:
            while batch is not None:
                writer.add_batch(batch)
                batch = None  # before the next one takes memory
                batch = next(batches, None)
    return converted(began, reader, getattr(writer, counted), written_bytes(writer), getattr(writer, "messages", 0))
