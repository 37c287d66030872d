"""The very first import: a command that is asked to end while it is importing does so at once, without a traceback,
and the version is printed at once.

Only where Python was started for the command: `jelly ...` or `python -m jelly ...`. There is nothing to clean up yet.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


def _end(number: int, frame: Any) -> None:
    import os

    os._exit(128 + number)  # as in shells


def watch() -> None:
    """From now on signals end this process at once, but for those for which somebody has decided, as nohup does."""
    import signal

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _end)


def goes_on(handler: Any) -> None:
    """From now on the command cleans up: Ctrl-C raises KeyboardInterrupt, other signals call ``handler``."""
    import signal

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is _end:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else handler)


def _is_command() -> bool:
    name = getattr(sys, "argv", [""])[0]
    if name == "-m":  # while Python looks for the module
        return sys.orig_argv[-len(sys.argv)] == "jelly"
    return bool(name.replace("\\", "/").rpartition("/")[2].removesuffix(".exe") == "jelly")


def _say_version() -> None:
    """Print the version at once, and exit: importing numpy takes longer than all else."""
    from jelly._version import __version__

    if sys.stdout is None:
        sys.exit("error: standard output: Bad file descriptor")
    try:
        print("jelly", __version__, flush=True)
    except OSError as error:
        sys.stdout = None  # else Python tries again when it ends
        sys.exit(141 if isinstance(error, BrokenPipeError) else f"error: standard output: {error.strerror}")
    sys.exit()


if _is_command():
    with suppress(ValueError):  # not the main thread
        watch()
    if sys.argv[1:] == ["--version"]:
        _say_version()
