"""Under Spark Connect all works as in a session of the JVM."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from cluster import RESULT, environment
from jars import need_jars


def test_the_api_and_merges_of_batches_and_of_streams(tmp_path: Path) -> None:
    """In a process of its own: one that has a session of the JVM can have none of Spark Connect."""
    jars = need_jars()
    env = environment() | {"SPARK_TESTING": "1"}  # the server takes a free port
    del env["SPARK_HOME"]
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("over_connect.py")), str(tmp_path), jars]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads(re.findall(f"^{RESULT}(.*)$", done.stdout, re.MULTILINE)[-1])
    assert found.pop("nothing").startswith("cannot open the table default.nothing")
    assert found.pop("api") == {
        "compacted": [2, 1], "frames": [2, 4, 2], "ingest": [2, 2, 4], "read": 2, "written": 1,
        "sql": [["1", "en", True], ["1", "en", True]], "stats": [2, [], []],
    }  # fmt: skip
    assert found == {format: [True, False, ["<a:2>", "<a:4>"]] for format in ("delta", "iceberg")}
