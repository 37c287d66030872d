"""Writers that nobody closes, part files whose writers are dead, and the modes of files that are replaced."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import signal
import stat
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import jelly
from jelly import IRI, Literal, Triple
from jelly._bytes.part_file import SLOTS, PartFile, PartFolder, hold
from jelly._bytes.sink import Sink
from jelly._bytes.source import Source
from jelly.messages import MessageWriter, aencode_messages
from jelly.patch import Add, PatchWriter

STATEMENT = Triple(IRI("a:s"), IRI("a:p"), Literal("o"))
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(jelly.__file__).parent.parent), *sys.path])}
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX only")
locks = pytest.mark.skipif(os.name != "posix", reason="without locks nobody knows the owner of a file")


def run(code: str, *args: Any, expect: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)], env=ENVIRONMENT, capture_output=True, text=True
    )
    assert done.returncode == expect, done.stderr
    return done.stdout + done.stderr


def writer_of(path: Any) -> jelly.Writer:
    writer = jelly.Writer(path)
    writer.add(STATEMENT)
    return writer


def patch_writer_of(path: Any) -> PatchWriter:
    writer = PatchWriter(path)
    writer.add(Add(STATEMENT))
    return writer


def message_writer_of(path: Any) -> MessageWriter:
    writer = MessageWriter(path)
    writer.write([STATEMENT])
    return writer


MAKERS = [writer_of, patch_writer_of, message_writer_of]


# ---- nobody closes them


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz"])
def test_a_forgotten_writer_tells(make: Callable[[Any], Any], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / ("u.jellyp" if make is patch_writer_of else "u.jelly")
    path = Path(f"{path}{suffix}")
    writer = make(path)
    assert len(os.listdir(tmp_path)) == 1
    kind = type(writer).__name__
    with pytest.warns(ResourceWarning, match=f"{kind} of .*{path.name} was never closed.*was not written"):
        del writer
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("make", MAKERS)
def test_a_forgotten_writer_of_a_file_object(make: Callable[[Any], Any]) -> None:
    writer = make(io.BytesIO())
    with pytest.warns(ResourceWarning, match="was never closed: what it had not written yet is lost"):
        del writer


def forget_in_a_circle(path: Path) -> None:
    circle: list[Any] = [writer_of(path)]
    circle.append(circle)
    del circle  # Python may collect it at once
    gc.collect()


# Python finalizes the objects of a circle in any order: the file of a writer may come first.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
def test_a_forgotten_writer_in_a_circle(tmp_path: Path) -> None:
    with pytest.warns(ResourceWarning, match=r"u\.jelly was never closed"):
        forget_in_a_circle(tmp_path / "u.jelly")
    assert os.listdir(tmp_path) == []


def test_a_forgotten_writer_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    path.write_bytes(b"as it was")
    with pytest.warns(ResourceWarning):
        writer_of(path)
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"as it was"


def test_at_the_end_of_a_process(tmp_path: Path) -> None:
    code = """
import sys, jelly
writer = jelly.Writer(sys.argv[1])
writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
"""
    assert run(code, tmp_path / "u.jelly") == ""
    assert os.listdir(tmp_path) == []
    told = run("import warnings; warnings.simplefilter('always')\n" + code, tmp_path / "u.jelly")
    assert "ResourceWarning: Writer of" in told
    assert "u.jelly was never closed" in told
    assert "unclosed file" not in told
    assert os.listdir(tmp_path) == []


def test_no_warning_where_it_was_closed_aborted_or_never_made(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in MAKERS:
            make(tmp_path / "a").close()
            make(tmp_path / "b").abort()
            with make(io.BytesIO()):
                pass
        for wrong in ({"format": "none"}, {"seekabl": True}, {"options": 5}):
            with pytest.raises(jelly.JellyError):
                jelly.Writer(tmp_path / "c", **wrong)
        with pytest.raises(FileNotFoundError):
            jelly.Writer(tmp_path / "none" / "d")
        with pytest.raises(jelly.JellyError):
            PatchWriter(tmp_path / "c", format="none")
        with pytest.raises(jelly.JellyError):
            MessageWriter(tmp_path / "c", format="none")
        gc.collect()
    assert sorted(os.listdir(tmp_path)) == ["a"]


def test_a_live_log_that_is_given_up_warns_nobody() -> None:
    import asyncio

    async def messages() -> Any:
        while True:
            yield [STATEMENT]

    async def main() -> None:
        live = aencode_messages(messages(), format="nt")
        await anext(live)
        await live.aclose()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(main())
        gc.collect()


@posix
def test_a_forked_process_leaves_the_file_alone(tmp_path: Path) -> None:
    code = """
import os, sys, jelly
writer = jelly.Writer(sys.argv[1])
writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
writer.flush()
child = os.fork()
if child == 0:
    del writer
    sys.exit(0)
os.waitpid(child, 0)
writer.close()
assert len(jelly.loads(open(sys.argv[1], "rb").read())) == 1
"""
    run(code, tmp_path / "u.jelly")
    assert os.listdir(tmp_path) == ["u.jelly"]


# ---- part files of the dead

KILLED = """
import os, signal, sys, jelly
writers = []
for name in sys.argv[1:]:
    writer = jelly.Writer(name)
    writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o")))
    writers.append(writer)
os.kill(os.getpid(), signal.SIGKILL)
"""


@locks
def test_part_files_of_the_dead_are_swept_by_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    for _ in range(3):
        run(KILLED, path, path, expect=-signal.SIGKILL)
        assert len(os.listdir(tmp_path)) == 2
    run(KILLED, tmp_path / "other.jelly", expect=-signal.SIGKILL)
    jelly.write(path, [STATEMENT])
    # Nothing of other targets is touched.
    assert sorted(os.listdir(tmp_path)) == [".other.jelly.0.part", "u.jelly"]
    run(KILLED, path, expect=-signal.SIGKILL)
    with pytest.warns(ResourceWarning):
        writer_of(path)
    assert sorted(os.listdir(tmp_path)) == [".other.jelly.0.part", "u.jelly"]


@locks
def test_part_files_of_the_living_are_not(tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    code = """
import sys, jelly
writer = jelly.Writer(sys.argv[1])
writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("child")))
writer.flush()
print("ready", flush=True)
sys.stdin.readline()
writer.close()
print("done", flush=True)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        assert child.stdout.readline() == b"ready\n"
        writers = [writer_of(path) for _ in range(SLOTS + 2)]  # of this process, too
        assert len(os.listdir(tmp_path)) == SLOTS + 3
        for writer in writers:
            writer.close()
        assert sorted(os.listdir(tmp_path)) == [".u.jelly.0.part", "u.jelly"]
        child.stdin.write(b"\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"done\n"
    assert os.listdir(tmp_path) == ["u.jelly"]
    assert jelly.loads(path.read_bytes())[0][2] == Literal("child")


@locks
def test_many_writers_of_one_target_in_processes_and_threads(tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    code = """
import sys, threading, jelly
def work():
    for i in range(60):
        with jelly.Writer(sys.argv[1]) as writer:
            writer.add((jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o" * 1000)))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], env=ENVIRONMENT, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for child in children:
        _, told = child.communicate(timeout=120)
        assert (child.returncode, told) == (0, b"")
    assert os.listdir(tmp_path) == ["u.jelly"]
    assert len(jelly.loads(path.read_bytes())) == 1


@locks
def test_what_has_the_name_of_a_part_file(tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    victim = tmp_path / "victim"
    victim.write_bytes(b"as it was")
    os.mkdir(tmp_path / ".u.jelly.0.part")
    os.symlink(victim, tmp_path / ".u.jelly.1.part")
    os.mkfifo(tmp_path / ".u.jelly.2.part")
    before = set(os.listdir(tmp_path))
    jelly.write(path, [STATEMENT])
    assert set(os.listdir(tmp_path)) == {*before, path.name}
    assert victim.read_bytes() == b"as it was"


@locks
def test_a_file_that_was_swept_before_it_was_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The race between a writer that has just created its file and another that takes it for one of the dead."""
    from jelly._bytes import part_file as partfile

    calls = []

    def swept(handle: int) -> bool | None:
        if not calls:
            calls.append(handle)
            partfile._sweep(path := str(tmp_path / ".u.jelly.0.part"), lambda: os.unlink(path))
            assert os.listdir(tmp_path) == []
        return hold(handle)

    monkeypatch.setattr(partfile, "hold", swept)
    part = PartFile(str(tmp_path / "u.jelly"))
    assert os.listdir(tmp_path) == [os.path.basename(part.path)]
    os.close(part.handle)
    part.commit()
    assert os.listdir(tmp_path) == ["u.jelly"]


def test_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from jelly._bytes import part_file as partfile

    monkeypatch.setattr(partfile, "hold", lambda file: None)
    (tmp_path / ".u.jelly.0.part").write_bytes(b"whose?")
    jelly.write(tmp_path / "u.jelly", [STATEMENT])
    assert sorted(os.listdir(tmp_path)) == [".u.jelly.0.part", "u.jelly"]
    jelly.Writer(tmp_path / "v.jelly").abort()
    assert sorted(os.listdir(tmp_path)) == [".u.jelly.0.part", "u.jelly"]


# ---- modes


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o400, 0o755])
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_the_mode_of_a_replaced_file_is_kept(mode: int, umask: int, tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    path.write_bytes(b"as it was")
    path.chmod(mode)
    link = tmp_path / "link.jelly"
    link.symlink_to(path)
    before = os.umask(umask)
    try:
        for name in (path, link):
            with jelly.Writer(name) as writer:
                writer.add(STATEMENT)
                writer.flush()
                (part,) = (tmp_path / found for found in os.listdir(tmp_path) if found.endswith(".part"))
                assert mode_of(part) & ~(mode | 0o600) == 0  # never wider
            assert mode_of(path) == mode
            assert link.is_symlink()
            assert len(jelly.loads(path.read_bytes())) == 1
    finally:
        os.umask(before)


@posix
def test_the_umask_of_the_process_is_never_touched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def umask(mask: int) -> int:
        raise AssertionError("another thread would create files with this mask")

    monkeypatch.setattr(os, "umask", umask)
    for _ in range(2):
        jelly.write(tmp_path / "u.jelly", [STATEMENT])


@posix
@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives files away")
def test_the_owner_of_a_replaced_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "u.jelly"
    path.write_bytes(b"as it was")
    os.chown(path, 12345, 12346)
    path.chmod(0o640)
    jelly.write(path, [STATEMENT])
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12345, 12346, 0o640)


@posix
def test_a_group_that_cannot_be_kept_sees_no_more_than_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "u.jelly"
    path.write_bytes(b"as it was")
    path.chmod(0o664)
    part = PartFile(str(path))
    os.close(part.handle)

    class Replaced:
        st_mode, st_uid, st_gid = path.stat().st_mode, path.stat().st_uid, path.stat().st_gid + 1

    def chown(*args: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", chown)
    part._replaced = Replaced  # type: ignore[assignment]
    part.commit()
    assert mode_of(path) == 0o644


def test_threads_write_files_of_their_own(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(50):
                sink = Sink(tmp_path / f"{number}.{i}")
                sink.write(b"x")
                sink.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(os.listdir(tmp_path)) == 200


# ---- interrupts


class Interrupts:
    """Raises KeyboardInterrupt before one of the steps of the interpreter in some modules: the one of this number."""

    def __init__(self, *modules: str) -> None:
        self.modules = tuple(f"{name}.py" for name in modules)
        self.steps = 0

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.endswith(self.modules):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.steps -= 1
            if not self.steps:
                raise KeyboardInterrupt
        return self

    def during(self, work: Callable[[], Any]) -> Iterator[bool]:
        """Do some work again and again, with an interrupt at each of its steps; whether it came to its end."""
        for step in count(1):
            self.steps = step
            before = sys.gettrace()
            sys.settrace(self)
            try:
                _done = work()
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(before)
            yield self.steps > 0
            if self.steps > 0:
                return


@posix
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what a finalizer raises
@pytest.mark.parametrize(("name", "locked"), [("u.nt", True), ("u.nt", False), ("u.nt.gz", True)])
def test_an_interrupt_at_any_step_leaves_no_part_file(
    name: str, locked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between the creation of the file and the note of its descriptor."""
    if not locked:
        monkeypatch.setattr("jelly._bytes.part_file.hold", lambda file: None)
    path = tmp_path / name

    def work() -> Sink:
        sink = Sink(path)
        sink.write(b"whole")
        sink.close()
        return sink

    ends = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        for is_done in Interrupts("part_file", "sink").during(work):
            found = os.listdir(tmp_path)
            assert found == [name] or (found == [] and not is_done)
            if found:
                ends += 1
                with contextlib.closing(Source(path)) as source:
                    assert b"".join(map(bytes, source.chunks())) == b"whole"
                path.unlink()
    assert ends > 1, "an interrupt after the end"


@posix
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_at_any_step_leaves_no_part_folder(tmp_path: Path) -> None:
    def work() -> PartFolder:
        with PartFolder(str(tmp_path)) as part:
            Path(part.of("x")).write_bytes(b"x")
        return part

    for _ in Interrupts("part_file").during(work):
        assert os.listdir(tmp_path) == []
