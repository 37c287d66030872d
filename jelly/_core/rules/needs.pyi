from typing import Any

from jelly._core.base.batch import Batch
from jelly._options.options import PatchOptions, StreamOptions

def lacking(options: StreamOptions | PatchOptions, batch: Batch) -> dict[str, Any]: ...

def refuse_quoted(batch: Batch, read: StreamOptions | PatchOptions | None, version: int) -> None: ...

def refuse_version(read: int, version: int) -> None: ...
