"""Where Spark finds the data source "jelly-patch": in modules with such names it looks for a ``DefaultSource``.

The module imports nothing of jelly, because an error would hide all data sources of Python from Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import DataSource

__all__ = ["DefaultSource"]


class DefaultSource(DataSource):
    """The data source of `jelly.spark`, imported when it is used."""

    def __new__(cls, options: Mapping[str, str]) -> Any:
        from jelly.spark._patches import PatchDataSource

        return PatchDataSource(options)  # type: ignore[arg-type]

    @classmethod
    def name(cls) -> str:
        return "jelly-patch"
