"""Blank nodes of several sources: each source has nodes of its own, whatever their labels."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from jelly._bytes.names import is_url
from jelly._core.algebra.blank_node_scope import scope_blank_nodes
from jelly._core.base.batch import Batch
from jelly.errors import JellyOptionsError

Mode: TypeAlias = Literal["scope", "keep", "skolemize"]
MODES: tuple[Mode, ...] = get_args(Mode)

_BASE = re.compile(r"https?://[^\s/?#<>\"{}|\\^`]+/?")
# A part file of Spark, with the id of the job that wrote it; and one without, of a sink, an ingest or Hadoop.
_OF_JOB = re.compile(r"part-\d+-([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9a-f])")
_OF_FOLDER = re.compile(r"(.*?)(?:/batch=\d+)?/part-(?:\d{5}|[0-9a-f]{16}(?:-[0-9a-f]{8})?)(?:-[a-z-]+)?(?:\.[^/]*)?")


def scope_of(source: str, into: str = "") -> bytes:
    """The start of the labels of a source: "jf", 16 hexadecimal digits and "_".

    It depends on the path or URL alone, made absolute: so it is the same at every reading, for every part of a file, in
    every process, and whatever is read beside it. The part files of one job are one source, because a node may be in
    several of them: those that Spark or Hadoop wrote, the batches of a sink, the files of an ingest. Who moves files
    gets other labels, and who replaces a file gets the same, unless ``into`` tells what it is put into.

    >>> scope_of("s3://bucket/x.nt"), scope_of("s3a://bucket/x.nt"), scope_of("s3://bucket/y.nt")
    (b'jf4d1296c9a0d1b9eb_', b'jf4d1296c9a0d1b9eb_', b'jf794511a73ba2c30a_')
    """
    if is_url(source):
        identity = re.sub(r"^s3[an]://", "s3://", source)
    else:
        identity = os.path.normcase(os.path.abspath(source)).replace(os.sep, "/")
    if found := _OF_JOB.match(identity.rpartition("/")[2]):
        identity = f"job {found[1].replace('-', '')}"
    elif found := _OF_FOLDER.fullmatch(identity):
        identity = f"folder {found[1]}"
    told = f"{identity}{into}".encode("utf-8", "surrogateescape")
    return b"jf%s_" % hashlib.blake2b(told, digest_size=8).hexdigest().encode()


@dataclass(frozen=True, slots=True)
class BlankNodes:
    """The treatment of the blank nodes of a source.

    With "scope" their labels begin with `scope_of` the source, with "keep" they are kept, and with "skolemize" the
    nodes become IRIs: ``base``, ``/.well-known/genid/`` and the label that "scope" gives. ``into`` is for "scope"
    alone, see `scope_of`: an IRI of a node stays what it is.
    """

    mode: Mode = "scope"
    base: str | None = None
    into: str = ""

    def __post_init__(self) -> None:
        if (self.base is not None) != (self.mode == "skolemize"):
            raise JellyOptionsError(
                "skolemized blank nodes need a base for their IRIs: set skolem_base to one, such as https://example.org"
                if self.base is None else f"skolem_base is {self.base!r}: it is only of use to skolemize blank nodes"
            )  # fmt: skip
        if self.base is not None and not _BASE.fullmatch(self.base):
            raise JellyOptionsError(
                f"skolem_base is {self.base!r}: expected http:// or https:// and the name of a host, such as "
                "https://example.org"
            )

    def batches(self, source: str, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The Batches of a source with its blank nodes as they should be.

        >>> import jelly
        >>> read = jelly.scan(b"_:x <a:p> <a:o> .", format="nt").batches()
        >>> [batch] = BlankNodes("skolemize", "https://example.org").batches("s3://bucket/x.nt", read)
        >>> batch.term(batch.s[0])
        '<https://example.org/.well-known/genid/jf4d1296c9a0d1b9eb_x>'
        """
        if self.mode == "keep":
            yield from batches
            return
        scope = scope_of(source, self.into if self.mode == "scope" else "")
        genid = None if self.base is None else f"{self.base.rstrip('/')}/.well-known/genid/".encode()
        for batch in batches:
            yield scope_blank_nodes(batch, scope, genid)
            del batch  # before the next one takes memory


KEEP = BlankNodes("keep")
