"""Copies of this file are modules of their own beside the package: by them Spark finds the data sources.

Spark imports all modules on the path whose names begin with ``pyspark_``, and registers the `DefaultSource` of each. If
one cannot be imported, Spark finds none at all: so nothing is imported here but what Spark has.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from importlib import import_module
from typing import Any

from pyspark.sql.datasource import DataSource

# By the name of the copy: the name of the data source and its class. `setup.py` makes the copies.
COPIES = {
    "pyspark_jelly": ("jelly", "JellyDataSource"),
    "pyspark_jelly_patch": ("jelly-patch", "PatchDataSource"),
    "pyspark_jelly_results": ("jelly-results", "ResultDataSource"),
}
_NAME, _CLASS = COPIES.get(__name__, COPIES["pyspark_jelly"])


class DefaultSource(DataSource):
    """Makes the data source when it is used."""

    def __new__(cls, options: MutableMapping[str, str]) -> Any:
        return getattr(import_module("jelly.spark._source"), _CLASS)(options)

    @classmethod
    def name(cls) -> str:
        return _NAME
