"""Commit protocols: how files of tasks become complete output. Independent of Spark.

- `store`: where files go: a local directory or any file system of fsspec. Files are staged there unseen.
- `swap`: makes staged files visible and removes others, as one step for readers of this package.
- `job`: a batch job, ``df.write.format("jelly")``: all part files appear at once when it commits, or none do. A
  streaming query: each batch is a directory that appears as a whole, and one that runs again after a crash finds it.

The ingest commits its tasks with a journal of its own: `jelly.spark._ingest.journal`.
"""
