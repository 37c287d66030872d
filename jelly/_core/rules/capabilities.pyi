from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from jelly._core.base.batch import Batch

REPLACED_LABEL: str
CAPABILITIES: dict[str, Capabilities]

def element_name(iri: str) -> str: ...
def capabilities_of(name: str, keep_labels: bool = False) -> Capabilities: ...

@disjoint_base
class Capabilities:
    title: str
    settings: dict[str, Any]
    results: bool
    def __init__(
        self,
        title: str,
        *,
        named_graphs: bool = True,
        generalized: bool = False,
        literal_subjects: bool = True,
        quoted: Literal["none", "object", "any"] = "any",
        directions: bool = True,
        labels: Literal["any", "ntriples", "turtle", "xml"] = "any",
        tags: Literal["any", "plain", "bcp47"] = "any",
        iris: Literal["any", "not-bnode", "bare", "plain", "absolute"] = "any",
        texts: Literal["any", "xml"] = "any",
        names: bool = False,
        tagged: bool = False,
        patterns: bool = False,
        keep_labels: bool = False,
        instead: str = "",
        results: bool = False,
        inner_labels: bool = False,
        quoted_graphs: bool = True,
    ) -> None: ...
    def replace(self, **settings: Any) -> Capabilities: ...
    def fit(self, batch: Batch, rows: npt.NDArray[np.int64] | None = None, slots: int = 15) -> Batch: ...
    def __reduce__(self) -> Any: ...
