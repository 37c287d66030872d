"""Commit protocols: how files of tasks become complete output, with three different guarantees. Independent of Spark.

- `job`: a batch job, ``df.write.format("jelly")``. All part files appear at once when the job commits, or none do.
  Tasks write under ``_temporary/<job>/``; the commit renames the files of successful attempts and writes
  ``_SUCCESS``.
- `batch`: a streaming query. Each batch is a directory ``batch=<number>`` that appears with one rename, so a reader
  never sees half of one, and a batch that runs again after a crash finds its directory.
- `journal`: ``jelly spark ingest``. Tasks are committed one by one as they end and noted in ``_ingest.jsonl``, so that
  the next run continues where this one ended, and removes files made from sources that have changed.
"""
