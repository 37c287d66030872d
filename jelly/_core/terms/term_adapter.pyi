from collections.abc import Callable
from typing import Any

from typing_extensions import Self, disjoint_base

@disjoint_base
class ObjectTemplate:
    def __new__(cls, example: Any) -> Self: ...
    def __call__(self, text: str) -> Any: ...

@disjoint_base
class TermAdapter:
    name: str
    quads: bool
    def __new__(
        cls,
        name: str,
        *,
        classes: tuple[type, type, type, type | None],
        iri: Callable[[str], Any],
        bnode: Callable[[str], Any],
        plain: Callable[[str], Any],
        lang: Callable[[str, str], Any] | None,
        typed: Callable[[str, Any], Any] | None,
        quoted: Callable[[Any, Any, Any], Any] | None = None,
        variable: type | None = None,
        triple: Callable[[Any, Any, Any], Any] | None = None,
        quad: Callable[[Any, Any, Any, Any], Any] | None = None,
        default: Any = None,
        quads: bool = False,
        place: Callable[[Any], Any] | None = None,
        graph_name: Callable[[Any], Any] | None = None,
        directed: Callable[[str, str, str], Any] | None = None,
        memo: int = 0,
        memo_all: bool = False,
    ) -> Self: ...
