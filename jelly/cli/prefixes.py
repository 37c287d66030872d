"""Abbreviated IRIs on the command line, such as ``rdf:type``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any

import click

import jelly
from jelly._bytes.names import is_url, is_web
from jelly._dataset.pattern import parse_term
from jelly._formats.registry import TABLE_FORMATS
from jelly._options.namespaces import KNOWN
from jelly.cli.common import Decorator, say
from jelly.cli.reading import settings_of

__all__ = ["Prefixes", "prefix_option", "term_option"]

_ABBREVIATED = re.compile(r"([^\W\d_][\w.-]*|):(?!//)(.*)", re.S)
# Schemes that are no prefixes in practice: about them nobody is told anything.
_SCHEMES = {"data", "did", "file", "info", "mailto", "ni", "tag", "tel", "urn"}
_FIRST = 4096  # rows of a file that may declare prefixes

prefix_option: Decorator = click.option(
    "--prefix", "prefixes", metavar="NAME=IRI", multiple=True,
    help="What a prefix of a TERM stands for, before what the files declare. Repeatable.",
)  # fmt: skip


def _checked(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not value.startswith(":"):
            try:
                parse_term(value)
            except jelly.JellyError as error:
                raise click.BadParameter(error.reason) from None
    return values


def term_option(*names: str, help: str) -> Decorator:
    """An option for terms of a pattern, as texts that `Prefixes` reads."""
    option: Decorator = click.option(*names, metavar="TERM", multiple=True, callback=_checked, help=help)
    return option


class Prefixes:
    """What the prefixes of a command stand for: those of its options, else of its files, else well-known ones.

    Files are opened only if a text is abbreviated: those on disk and URLs of fsspec, and only their first statements
    are read. A prefix that files declare in several ways stands for all of these.
    """

    def __init__(
        self, given: Sequence[str], files: Sequence[str], from_format: str | None, limits: dict[str, Any]
    ) -> None:
        self._given: dict[str, str] = {}
        for text in given:
            name, equals, iri = text.partition("=")
            if not (equals and iri):
                raise click.UsageError(f"--prefix {text}: expected NAME=IRI, such as ex=http://example.org/")
            self._given[name] = iri
        self._files = files
        self._reading = from_format, limits
        self._unknown: list[str] = []

    def terms(self, texts: Sequence[str]) -> list[Any]:
        """The terms that texts stand for."""
        return [term for text in texts for term in self._terms(text)]

    def iris(self, texts: Sequence[str]) -> list[str]:
        """The IRIs, or beginnings of IRIs, that texts stand for."""
        return [iri for text in texts for iri in self._iris(text) or [text]]

    def note(self) -> None:
        """Nothing was found: tell which terms look abbreviated and were read as they are."""
        for text in self._unknown:
            say(f"note: {text} was read as an IRI: nothing declares its prefix (--prefix NAME=IRI does)", "yellow")

    def _terms(self, text: str) -> list[Any]:
        if (found := self._iris(text)) is not None:
            return [jelly.IRI(iri) for iri in found]
        if text.startswith(":"):
            raise click.UsageError(f"{text}: no file declares the empty prefix; --prefix =IRI does")
        return [parse_term(text)]

    def _iris(self, text: str) -> list[str] | None:
        """The IRIs that an abbreviated one stands for; None for what is none."""
        found = _ABBREVIATED.fullmatch(text)
        if found is None or text.startswith("_:"):
            return None
        name, rest = found.groups()
        bases = [self._given[name]] if name in self._given else self._declared.get(name) or KNOWN.get(name)
        if bases is None:
            if name and name not in _SCHEMES:
                self._unknown.append(text)
            return None
        return [base + rest for base in bases]

    @cached_property
    def _declared(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        from_format, limits = self._reading
        for file, settings in zip(self._files, settings_of(self._files, from_format, limits), strict=True):
            # What cannot be read twice, or has no prefixes.
            again = os.path.isfile(file) or (is_url(file) and not is_web(file))
            if not again or settings["format"] in TABLE_FORMATS:
                continue
            with suppress(jelly.JellyError, OSError), jelly.Reader(file, batch_rows=_FIRST, **settings) as reader:
                for batch in islice(reader.batches(), 1):
                    for _, _, name, iri in batch.namespaces:
                        if iri not in (known := found.setdefault(name, [])):
                            known.append(iri)
        return found
