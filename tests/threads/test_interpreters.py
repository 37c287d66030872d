"""One interpreter of a process: a second one gets a clear error at import. A forked process goes on by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.libraries import module_names

import jelly

# What a subinterpreter says of an import that the main interpreter has done before.
SUBINTERPRETER = """
import jelly
script = '''
try:
    import jelly
    print("imported")
except ImportError as error:
    print(error)
'''
if sys.version_info >= (3, 14):
    from concurrent import interpreters
    interpreters.create().exec(script)
elif sys.version_info >= (3, 13):
    import _interpreters
    found = _interpreters.exec(_interpreters.create(), script)
    assert found is None, found
else:
    import _xxsubinterpreters
    _xxsubinterpreters.run_string(_xxsubinterpreters.create(), script)
"""

FORKED = """
import os
import jelly
data = jelly.dumps([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.IRI(f"a:{i}")) for i in range(500)])
decoder = jelly.Decoder(delimited=True, batch_rows=100)
decoder.push(data)
batch = decoder.pull()
child = os.fork()
rest = [len(found) for found in iter(lambda: decoder.pull(True), None)]
assert sum(rest) == 400, rest
assert batch.term(batch.o[99]) == "<a:99>"
assert len(list(jelly.read(data))) == 500
if child:
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status))
"""

# The GIL is off when Python is built for it and no module asks for it.
GIL = """
import importlib
for name in {names}:
    importlib.import_module(name)
print(sys._is_gil_enabled())
"""


def run(script: str, tmp_path: Path) -> str:
    script = "import sys\n" + script
    env = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    # The package of this test in every interpreter, whatever the current directory has.
    env["PYTHONPATH"] = os.pathsep.join([str(Path(jelly.__file__).parents[1]), env.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_subinterpreter_is_refused(tmp_path: Path) -> None:
    said = run(SUBINTERPRETER, tmp_path)
    assert "does not support loading in subinterpreters" in said or "one interpreter per process" in said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_both_processes_go_on_after_a_fork(tmp_path: Path) -> None:
    assert run(FORKED, tmp_path) == "0"


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has the GIL")
def test_no_module_turns_the_gil_on(tmp_path: Path) -> None:
    assert run(GIL.format(names=module_names()), tmp_path) == "False"
