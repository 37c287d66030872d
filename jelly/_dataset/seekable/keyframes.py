"""The statements from one keyframe of a file with an index to the next."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from jelly._core.base.batch import Batch
from jelly._core.jelly.decoder import Decoder
from jelly._formats.index import Chunks, Index, Keyframe
from jelly._options.options import PatchOptions
from jelly._streams.drain import drain
from jelly.errors import JellyFormatError


def read_segment(
    chunks: Chunks, index: Index, segment: tuple[Keyframe, Keyframe], **limits: Any
) -> Iterator[Batch]:
    """The Batches from one keyframe to the next. JellyFormatError if the index does not match the file.

    At the end it is compared with the index what the decoder knows, so whoever reads all segments to their ends, in
    whatever order, has the statements of the file or an error: only the first one begins with nothing.
    """
    start, end = segment
    number = bisect_right(index.keyframes, start.offset, key=attrgetter("offset"))
    known: dict[str, Any] = {} if start.offset == 0 else {
        "options": index.options, "first_row": start.statement, "first_frame": start.frame, "offset": start.offset,
        "place": start.place,
    }
    if known and index.state is not None:
        known["state"] = index.state(number - 1)
    patch = isinstance(index.options, PatchOptions)
    decoder = Decoder(delimited=True, patch=patch, **known, **limits)
    # Before the end of the file a transaction may continue.
    yield from drain(decoder, chunks(start.offset, end.offset), finish=end.offset == index.size)
    found = Keyframe(decoder.offset, decoder.statements, decoder.frames, decoder.place)
    if found != end:
        what = "" if found.place == end.place else f", and {_place(found)}, not {_place(end)}"
        raise JellyFormatError(
            f"the index does not fit the file: {decoder.statements} statements and {decoder.frames} frames up to here, "
            f"expected {end.statement} and {end.frame}{what}",
            offset=found.offset,
        )
    if end.offset == index.size:
        return
    state = None if index.state is None else index.state(number)
    if state is None:
        fits = not decoder.in_message
    elif not (fits := state == decoder.save()):
        # One that another version saved may be other bytes.
        limits |= {"delimited": True, "patch": patch, "options": index.options}
        fits = Decoder(**limits, state=state).save() == decoder.save()
    if not fits:
        raise JellyFormatError(
            "the index does not fit the file: what it says of the decoder here is not what the frames up to here say",
            offset=end.offset,
        )


def _place(key: Keyframe) -> str:
    where = ("before", "inside", "inside a transaction of", "in an unknown part of")[key.place % 4]
    return f"{where} patch {key.place // 4}"
