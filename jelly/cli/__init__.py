"""The command ``jelly``: convert, inspect, validate, cat, head, count. Needs the extra ``cli``."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process, and exit."""
    try:
        from jelly.cli.commands import cli
    except ImportError as error:
        if error.name != "click":
            raise
        sys.exit("error: the command needs the click package: python -m pip install 'jelly-rdf[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    cli(prog_name="jelly")
