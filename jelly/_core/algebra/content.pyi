import numpy as np
import numpy.typing as npt

from jelly._core.base.batch import Batch

def row_hash(batch: Batch, seed: bytes) -> npt.NDArray[np.uint64]: ...
