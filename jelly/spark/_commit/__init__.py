"""Commit protocols: how files of tasks become complete output, with three different guarantees. Independent of Spark.

- `store`: where files go: a local directory, S3, or any other file system of fsspec. Files are staged there unseen.
- `swap`: makes staged files visible and removes others, as one step for readers of this package.
- `job`: a batch job, ``df.write.format("jelly")``. All part files appear at once when the job commits, or none do.
- `batch`: a streaming query. Each batch is a directory ``batch=<number>`` that appears as a whole, and a batch that
  runs again after a crash finds its directory.
- `journal`: ``jelly spark ingest``. Tasks are committed one by one as they end and noted in ``_ingest.jsonl``, so that
  the next run continues where this one ended, and removes files made from sources that have changed.
"""
