from typing import Any

from jelly._core.base.batch import Batch
from jelly._options import PatchOptions, StreamOptions

def lacking(options: StreamOptions | PatchOptions, batch: Batch) -> dict[str, Any]: ...
