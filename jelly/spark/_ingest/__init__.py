"""``jelly spark ingest``: files of statements to Parquet, Delta or seekable Jelly, decoded and written by executors.

No statement passes through the JVM: a task reads its part of the sources and writes its own files, and only a report
goes to the driver.

- `job`: what the driver does. `tasks`: what the executors do, and the report. `journal`: what is done, and commits to a
  directory; `delta`: to a table of Delta. `compact`: few files out of many.
"""

from jelly.spark._ingest.job import compact_table, ingest
from jelly.spark._ingest.tasks import Ingestion, IngestProblem

__all__ = ["IngestProblem", "Ingestion", "compact_table", "ingest"]
