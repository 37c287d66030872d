from typing import Any

from jelly._core.base.batch import Batch

def select(batch: Batch, rows: Any, *, op: Any = None, quads: bool = False) -> Batch: ...
