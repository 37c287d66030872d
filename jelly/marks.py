"""What a document says is marked on the way through software that would lose it: the capitals of language tags, and
which labels of blank nodes the document writes itself."""

from __future__ import annotations

import re
import secrets

__all__ = ["Marks", "Spellings", "Written"]

# RFC 5646, section 2.1: these are whole tags, nothing may follow them.
_GRANDFATHERED = frozenset(
    b"en-gb-oed i-ami i-bnn i-default i-enochian i-hak i-klingon i-lux i-mingo i-navajo i-pwn i-tao i-tay i-tsu "
    b"sgn-be-fr sgn-be-nl sgn-ch-de art-lojban cel-gaulish no-bok no-nyn zh-guoyu zh-hakka zh-min zh-min-nan "
    b"zh-xiang".split()
)
_TAG = rb"(?=[a-z0-9-]*[A-Z])([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?![A-Za-z0-9])"
# In the Turtle family, N-Quads among them; in RDF/XML.
_AT = re.compile(b"@" + _TAG)
_XML_LANG = re.compile(rb"xml:lang\s*=\s*[\"']" + _TAG + rb"(?=[\"'])")
# Any tag as a string of JSON.
_STRING = re.compile(rb'"([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})+|[A-Za-z]{2,3})"')
# Where a piece must not end: within a tag.
_OPEN_STRING = re.compile(rb'"[A-Za-z0-9-]{0,64}"?\Z')
_OPEN_AT = re.compile(rb"@[A-Za-z0-9-]{0,64}\Z")
_OPEN_ELEMENT = re.compile(rb"<[^<]*\Z")

_DIGITS = re.compile(rb"[0-9a-f]{8}")
# The letters of a longer tag cannot be told by the digits of one subtag.
_LONGEST = 31
# Strings that look like tags; a document that has more is no longer looked at.
_MANY = 10_000

# Before labels that pyoxigraph could have made up, in the Turtle family and JSON-LD, and in RDF/XML: a mark goes behind
# it. Then where a piece must not end.
_LABEL = re.compile(rb"_:(?=[a-f][0-9a-f]{15})")
_NODE_ID = re.compile(rb"nodeID\s{0,100}=\s{0,100}[\"'](?=[a-f][0-9a-f]{15})")
_OPEN_LABEL = re.compile(rb"_(?::(?:[a-f][0-9a-f]{0,14})?)?\Z")


class Written:
    """Tells labels of blank nodes that a document writes from those that a parser makes up for nodes without one.

    ``put`` marks those of the document that could be either. What looks like a label and is none gets a mark too:
    `take` takes out all of them, wherever they are.

    >>> written = Written()
    >>> written.take(written.put(b"_:a123456789abcdef"))
    b'_:a123456789abcdef'
    """

    def __init__(self, *, xml: bool = False, word: str = "") -> None:
        self.used = False
        self.mark = f"z{word}{secrets.token_hex(8)}z".encode()
        self._label, self._open = (_NODE_ID, _OPEN_ELEMENT) if xml else (_LABEL, _OPEN_LABEL)

    def put(self, data: bytes) -> bytes:
        """The text with marks."""
        data, n = self._label.subn(rb"\g<0>" + self.mark, data)
        self.used = self.used or n > 0
        return data

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """The text up to a label that goes on in the next piece, and the rest."""
        return _split(self._open, data)

    def take(self, data: bytes) -> bytes:
        """The text without marks."""
        return data.replace(self.mark, b"") if self.used else data

    def take_str(self, text: str) -> str:
        """The same of a str."""
        return text.replace(self.mark.decode(), "") if self.used else text


class Marks:
    """Carries the capitals of language tags through software that makes them small.

    ``put`` adds to each tag that has capitals a private subtag (RFC 5646, section 2.2.7) with a random word and a
    bit for each of its letters: ``@en-GB`` becomes ``@en-GB-x-1f0c9a52-00000038``. What looks like a tag and is none,
    within an IRI, a string or a comment, gets one too: `take`, which restores the letters and removes the mark, does
    so wherever it finds one, so that all other text is again what it was.

    >>> marks = Marks()
    >>> marks.take(marks.put(b'"colour"@en-GB').lower())
    b'"colour"@en-GB'
    """

    def __init__(self, *, xml: bool = False) -> None:
        self.used = False
        self.word = secrets.token_hex(4)  # that every mark holds
        self._word = f"-x-{self.word}-".encode()
        self._tag, self._open = (_XML_LANG, _OPEN_ELEMENT) if xml else (_AT, _OPEN_AT)

    def put(self, data: bytes) -> bytes:
        """The text with marks."""
        return self._tag.sub(self._put, data)

    def _put(self, match: re.Match[bytes]) -> bytes:
        tag = match[1]
        if len(tag) > _LONGEST or tag.lower() in _GRANDFATHERED:
            return match[0]
        self.used = True
        bits = 1 << len(tag)  # the topmost tells the length
        for i, letter in enumerate(tag):
            bits |= (b"A"[0] <= letter <= b"Z"[0]) << i
        return b"%b%b%08x" % (match[0], self._word, bits)

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """The text up to a tag that goes on in the next piece, and the rest."""
        return _split(self._open, data)

    def take(self, data: bytes) -> bytes:
        """The text as it was without marks."""
        if not self.used or self._word not in data:
            return data
        first, *parts = data.split(self._word)
        found = [first]
        for part in parts:
            digits = _DIGITS.match(part)
            if digits is None:
                raise ValueError(f"a mark without its letters, after {found[-1][-80:]!r}")
            bits = int(digits[0], 16)
            n = bits.bit_length() - 1
            tag = bytearray(found[-1][-n:])
            for i in range(len(tag)):
                if bits >> i & 1:
                    tag[i] &= 0xDF
            found[-1] = found[-1][:-n]
            found += [bytes(tag), part[digits.end() :]]
        return b"".join(found)

    def take_str(self, text: str) -> str:
        """The same of a str."""
        return self.take(text.encode()).decode()

    # What becomes of a tag: nothing more.
    of_tag = None


class Spellings:
    """Gives language tags that lost their capitals those that the document has, as far as that is certain.

    It has the methods of `Marks`, and marks nothing: it notes every string of JSON that looks like a tag.

    >>> tags = Spellings()
    >>> tags.put(b'{"@language": "en-GB"}')
    b'{"@language": "en-GB"}'
    >>> tags.of_tag("en-gb")
    'en-GB'
    """

    word = ""
    used = False

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def put(self, data: bytes) -> bytes:
        """The text as it is."""
        if len(self._known) < _MANY:
            for found in set(_STRING.findall(data)):
                tag = found.decode()
                if self._known.setdefault(tag.lower(), tag) != tag:
                    self._known[tag.lower()] = tag.lower()
        return data

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """The text up to a tag that goes on in the next piece, and the rest."""
        return _split(_OPEN_STRING, data)

    def take_str(self, text: str) -> str:
        """The text as it is."""
        return text

    def of_tag(self, tag: str) -> str:
        """The tag as the document spells it; in lower case where it has several spellings."""
        return self._known.get(tag, tag) if len(self._known) < _MANY else tag


def _split(open: re.Pattern[bytes], data: bytes) -> tuple[bytes, bytes]:
    last = open.search(data, max(0, len(data) - (1 << 16)))
    return (data, b"") if last is None else (data[: last.start()], data[last.start() :])
