"""A stream that cannot be read says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from jelly.errors import need

with need("spark-local", "Spark needs pyspark 4.1"):
    from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
    from pyspark.sql.types import StructType

__all__ = ["RefusedStream", "refusing"]


class RefusedStream(DataSourceStreamReader):
    """The reader of a stream that cannot be read: each call raises the reason."""

    def __init__(self, reason: Exception) -> None:
        self._reason = reason

    def _refuse(self) -> NoReturn:
        raise self._reason

    def initialOffset(self) -> dict[str, Any]:
        self._refuse()

    def latestOffset(self, *given: Any) -> dict[str, Any]:
        self._refuse()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self._refuse()

    def read(self, partition: InputPartition) -> Iterator[Any]:
        self._refuse()


def refusing(make: Callable[[StructType], DataSourceStreamReader], schema: StructType) -> DataSourceStreamReader:
    """The reader that ``make`` makes, or one that raises its error later.

    Where `DataSource.streamReader` raises an error, Spark shows an UnboundLocalError of its own instead.
    """
    try:
        return make(schema)
    except Exception as error:
        return RefusedStream(error)
