"""How what tasks write becomes complete output: three protocols, each for another promise. None of them needs Spark.

- `job`: a batch job, ``df.write.format("jelly")``. All part files appear at once when the job commits, or none do.
  Tasks write under ``_temporary/<job>/``; the commit renames the files of the attempts that counted and writes
  ``_SUCCESS``.
- `batch`: a streaming query. Each batch is a directory ``batch=<number>`` that appears with one rename, so a reader
  never sees half of one, and a batch that runs again after a crash is found to be there.
- `journal`: ``jelly spark ingest``. Tasks are committed one by one as they end and noted in ``_ingest.jsonl``, so that
  the next run goes on where this one ended, and takes away what came from sources that have changed.
"""
