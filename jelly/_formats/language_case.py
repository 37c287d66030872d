"""Marks that keep information which pyoxigraph drops: the letter case of language tags, and which blank node
labels are written in the document.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from jelly._core.rules.language_tag import is_language_tag

_TAG = rb"(?=[a-z0-9-]*[A-Z])([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?![A-Za-z0-9])"
# In the Turtle family with N-Quads; in RDF/XML.
_AT = re.compile(b"@" + _TAG)
_XML_LANG = re.compile(rb"xml:lang\s*=\s*[\"']" + _TAG + rb"(?=[\"'])")
_JSON_LANGUAGE = re.compile(rb'"@language"\s{0,64}:\s{0,64}"' + _TAG + rb'(?=")')
# A tag as a JSON string.
JSON_TAG = re.compile(rb'"([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})+|[A-Za-z]{2,3})"')
# A piece must not end within a tag.
_OPEN_STRING = re.compile(
    rb'(?:"@language"\s{0,64}(?::\s{0,64}(?:"[A-Za-z0-9-]{0,1024}"?)?)?|"@?[A-Za-z0-9-]{0,1024}"?)\Z'
)
_OPEN_AT = re.compile(rb"@[A-Za-z0-9-]{0,1024}\Z")
_OPEN_ELEMENT = re.compile(rb"<[^<]*\Z")

# Maximum number of strings that look like tags; a document with more is not examined further.
_MANY = 10_000

# Before labels that pyoxigraph could have made up, in the Turtle family and JSON-LD, and in RDF/XML: a mark follows
# it. Then where a piece must not end.
_LABEL = re.compile(rb"_:(?=[a-f][0-9a-f]{15})")
_NODE_ID = re.compile(rb"nodeID\s{0,100}=\s{0,100}[\"'](?=[a-f][0-9a-f]{15})")
_OPEN_LABEL = re.compile(rb"_(?::(?:[a-f][0-9a-f]{0,14})?)?\Z")


class _Marking:
    """Marks that are put into a text piece by piece, and taken out of another text."""

    used = False
    _open: re.Pattern[bytes]

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """The text up to a tag or label that continues in the next piece, and the rest."""
        last = self._open.search(data, max(0, len(data) - (1 << 16)))
        return (data, b"") if last is None else (data[: last.start()], data[last.start() :])

    def take(self, data: bytes) -> bytes:
        """The text without marks."""
        raise NotImplementedError

    def take_str(self, text: str) -> str:
        """`take` for a str."""
        return self.take(text.encode()).decode() if self.used else text


class Written(_Marking):
    """Distinguishes labels of blank nodes in a document from labels that a parser makes up for other nodes.

    ``put`` marks labels of the document that could be either. Other text that looks like a label is marked too:
    `take` removes all marks.

    >>> written = Written()
    >>> written.take(written.put(b"_:a123456789abcdef"))
    b'_:a123456789abcdef'
    """

    def __init__(self, *, xml: bool = False, word: str = "") -> None:
        self.mark = f"z{word}{secrets.token_hex(8)}z".encode()
        self._label, self._open = (_NODE_ID, _OPEN_ELEMENT) if xml else (_LABEL, _OPEN_LABEL)

    def put(self, data: bytes) -> bytes:
        """The text with marks."""
        data, n = self._label.subn(rb"\g<0>" + self.mark, data)
        self.used = self.used or n > 0
        return data

    def take(self, data: bytes) -> bytes:
        """The text without marks."""
        return data.replace(self.mark, b"") if self.used else data


class Marks(_Marking):
    """Carries the capitals of language tags through software that writes tags in lower case.

    ``put`` makes of each tag that has capitals a private one (RFC 5646, section 2.2.7) of a random word, its length
    and its bytes: ``@en-GB`` becomes ``@x-1f0c9a52-00000005-656e2d47-42``. One that is not well-formed stays as it is,
    unless ``lenient``: the parser refuses it. Text that looks like a tag, in an IRI, a string or a comment, is marked
    too: `take` restores tags everywhere, so that other text is unchanged afterwards.

    >>> marks = Marks()
    >>> marks.take(marks.put(b'"colour"@en-GB').lower())
    b'"colour"@en-GB'
    """

    def __init__(self, *, xml: bool = False, lenient: bool = False) -> None:
        self._lenient = lenient
        self.word = secrets.token_hex(4)  # part of every mark
        self._word = f"x-{self.word}-".encode()
        self._tag, self._open = (_XML_LANG, _OPEN_ELEMENT) if xml else (_AT, _OPEN_AT)

    def put(self, data: bytes) -> bytes:
        """The text with marks."""
        return self._tag.sub(self._put, data)

    def _put(self, match: re.Match[bytes]) -> bytes:
        tag = match[1]
        if not (self._lenient or is_language_tag(tag)):
            return match[0]
        self.used = True
        return b"%b%b%08x-%b" % (match[0][: -len(tag)], self._word, len(tag), tag.hex("-", -4).encode())

    def take(self, data: bytes) -> bytes:
        """The text as it was without marks."""
        if not self.used or self._word not in data:
            return data
        first, *parts = data.split(self._word)
        found = [first]
        for part in parts:
            n = int(part[:8], 16)
            end = 8 + 2 * n + (n + 3) // 4  # a hyphen stands before each group of four bytes
            found += [bytes.fromhex(part[8:end].replace(b"-", b"").decode()), part[end:]]
        return b"".join(found)

    # A tag without a mark stays.
    of_tag: Callable[[str], str] | None = None


class JsonMarks(Marks):
    """The same for JSON-LD: the tags that ``@language`` gives are marked.

    Tags in language maps, and under names that a context gives to ``@language``, look like other strings. They
    get the capitals of the document, if all of its strings with these letters have the same.

    >>> tags = JsonMarks()
    >>> tags.take(tags.put(b'[{"@language": "en-GB"}, {"@language": "EN-gb"}, {"lang": "de-DE"}]').lower())
    b'[{"@language": "en-GB"}, {"@language": "EN-gb"}, {"lang": "de-de"}]'
    >>> tags.of_tag("de-de")
    'de-DE'
    """

    def __init__(self, *, lenient: bool = False) -> None:
        super().__init__(lenient=lenient)
        self._tag, self._open = _JSON_LANGUAGE, _OPEN_STRING
        self._known: dict[str, str] = {}

    def put(self, data: bytes) -> bytes:
        """The text with marks."""
        if len(self._known) < _MANY:
            for found in set(JSON_TAG.findall(data)):
                tag = found.decode()
                if self._known.setdefault(tag.lower(), tag) != tag:
                    self._known[tag.lower()] = tag.lower()
        return super().put(data)

    def of_tag(self, tag: str) -> str:
        """The tag as the document spells it, or in lower case if it has several spellings."""
        return self._known.get(tag, tag) if len(self._known) < _MANY else tag
