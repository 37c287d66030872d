"""`jelly.convert` for one content, with the number of what was converted."""

from __future__ import annotations

from typing import Any

import jelly


def convert_messages(src: Any, dst: Any, **given: Any) -> tuple[int, int]:
    """The number of messages and of statements."""
    writing = {name[3:]: given.pop(name) for name in ("to_dialect", "to_members") if name in given}
    done = jelly.convert(src, dst, content="messages", writing=writing, **given)
    return done.messages, done.statements


def convert_results(src: Any, dst: Any, **given: Any) -> int:
    """The number of rows."""
    return jelly.convert(src, dst, content="results", **given).statements


def validate_patches(src: Any, **given: Any) -> list[jelly.Problem]:
    """The problems of patches."""
    return jelly.validate(src, content="patches", **given)
