"""Commit protocols: how files of tasks become complete output. Independent of Spark.

- `store`: where files go: a local directory or any file system of fsspec. Files are staged there unseen.
- `swap`: makes staged files visible and removes others, as one step for readers of this package.
- `job`: a batch job, ``df.write.format("jelly")``. All part files appear at once when the job commits, or none do.
- `batch`: a streaming query. Each batch is a directory ``batch=<number>`` that appears as a whole, and a batch that
  runs again after a crash finds its directory.

The ingest commits its tasks with a journal of its own: `jelly.spark._ingest.journal`.
"""
