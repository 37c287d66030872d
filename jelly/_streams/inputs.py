"""Opens inputs of all contents in one way, and the base of the classes that read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from jelly._bytes.source import MAX_EXPANSION, Progress, Source, SourceReader
from jelly._core.base.batch import Batch
from jelly._core.base.push_reader import PushReader
from jelly._formats.registry import REGISTRY, Content, Format, content_of, find
from jelly._formats.sniff import explainer
from jelly._options.settings import fitted, refuse_unknown
from jelly._streams.drain import drain
from jelly.errors import JellyArgumentError

if TYPE_CHECKING:
    from jelly._bytes.workers import Workers

Item = TypeVar("Item")
F = TypeVar("F", bound=Callable[..., Any])

# The modules that have the functions of contents other than statements.
_MODULES = {
    Content.PATCH: "jelly.patch._convert",
    Content.MESSAGES: "jelly.messages._convert",
    Content.RESULTS: "jelly.results",
}


def of_content(content: Content, name: str) -> Any:
    """A function or class of the package of a content, which is imported now."""
    return getattr(import_module(_MODULES[content]), name)


def by_content(function: F) -> F:
    """Decorator: a function of a source, and perhaps a destination, that the package of another content has, too.

    The keyword ``content``, or else the formats, decide which one is called.
    """

    @wraps(function)
    def call(*args: Any, content: str | None = None, **given: Any) -> Any:
        src, dst, *_ = *args, None, None
        src, dst = given.get("src", src), given.get("dst", dst)
        kind = content_of(content, (src, given.get("format")), (dst, given.get("to")))
        if kind is Content.STATEMENTS:
            return function(*args, **given)
        try:
            own = of_content(kind, function.__name__)
        except AttributeError:
            raise JellyArgumentError(f"{function.__name__} does not take {kind.value}") from None
        return own(*args, **given)

    return cast(F, call)


# The media types of each content that a web server is asked for.
ACCEPT = {
    content: ", ".join([format.media_type for format in formats.values()]) + ", */*;q=0.1"
    for content, formats in REGISTRY.items()
}

# Rows of a Batch that is read as Python objects: small enough for the caches, also where terms stand in random order.
READ_ROWS = 4096
# The same where the objects are kept: no cache is large enough, and terms of one Batch are shared.
KEPT_ROWS = 32768


class ItemReader(SourceReader, Generic[Item]):
    """Base of classes that read items of any content. An item is made of rows of Batches."""

    source: Source
    format: Format
    # The threads that read ahead.
    workers: Workers | None = None
    _loop_rows = READ_ROWS
    _taken = False
    _decoder: Any
    _settings: dict[str, Any]

    def _open(
        self,
        src: Any,
        content: Content,
        options: Mapping[str, Any],
        own: Mapping[str, Any] | None = None,
        *,
        format: Format | None = None,
        tables: bool = False,
    ) -> None:
        """Open a source, and make its reader of the keywords, which are checked.

        ``own`` are keywords that all formats of the content have. Errors name the source, and limits follow its size.
        The source is closed after an error.
        """
        limits = dict(options)
        name, expansion = limits.pop("format", None), limits.pop("max_expansion", MAX_EXPANSION)
        self.source = source = src if isinstance(src, Source) else Source(src, expansion, ACCEPT[content])
        try:
            with source.named():
                found = format or find(name or source.media_type, source.name, content=content, tables=tables)
            self.format, title = found, found.title
            if content is Content.RESULTS:
                title = f"{found.name} of query results"
            else:
                source.explain = explainer(found.name, REGISTRY[content], "format")
            refuse_unknown(limits, found.reading, title)
            self._settings = {**(own or {}), **fitted(limits, found.reading, source.size)}
            with source.named():
                self._decoder = found.open_reader(**self._settings)
        except BaseException:
            source.close()
            raise

    @property
    def options(self) -> Any:
        """The stream options, or None for formats without them and before they have been read."""
        return getattr(self._decoder, "options", None)

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the source, before decompression. Divide by ``source.size`` for a progress bar."""
        return self.source.bytes_read

    @property
    def skipped(self) -> list[tuple[int, str]]:
        """Line number and error message of the first 1000 skipped lines."""
        return list(getattr(self._decoder, "skipped", ()))

    @property
    def n_skipped(self) -> int:
        """Number of skipped lines."""
        return int(getattr(self._decoder, "n_skipped", 0))

    def watched(self, progress: Progress | None) -> Iterator[Batch]:
        """Iterate over the Batches, like `batches`, and call ``progress`` after each, see `jelly.convert`."""
        return self.source.watched(self.batches(), progress)

    def __repr__(self) -> str:
        where = f" of {self.source.name}" if self.source.name else ""
        return f"<{type(self).__module__}.{type(self).__name__}{where}: {self.format.title}>"

    def batches(self) -> Iterator[Batch]:
        """Iterate over the Batches of the stream. All rows before an error are yielded before it is raised."""
        if self._taken:
            raise JellyArgumentError(
                f"the {type(self).__name__} was consumed before: make another one to read the source again"
            )
        self._taken = True
        self.source.workers = self.workers
        with closing(self.source), self.source.named():
            yield from self._read()

    def _read(self) -> Iterator[Batch]:
        if hasattr(self._decoder, "batches"):
            found: Iterator[Batch] = self._decoder.batches(self.source)
            return found
        batches = drain(self._decoder, self.source.chunks(), is_live=self.source.is_live)
        return batches if self.workers is None else self.workers.read_ahead(batches, self.source)

    def _fit(self, kept: bool) -> None:
        """Choose the rows of the Batches that follow by whether their objects are kept."""
        if isinstance(self._decoder, PushReader):
            self._decoder._set_rows(KEPT_ROWS if kept else self._loop_rows)

    def _items(self, batches: Iterator[Batch]) -> Iterator[Item]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Item]:
        return self._items(self.batches())
