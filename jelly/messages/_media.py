"""Media types of message logs: parsing, negotiation, and names."""

from __future__ import annotations

import contextlib
import re
import warnings
from typing import Literal, TypeAlias

from jelly._formats.registry import REGISTRY, TAR_LOG, Content, Format, find
from jelly._options.settings import checked
from jelly.errors import JellyArgumentError, JellyError

Dialect: TypeAlias = Literal["comment", "directive"]

LOGS = REGISTRY[Content.MESSAGES]
# The parameters by which the media type of a format that has delimiters announces a log.
_ANNOUNCED = {"comment": "; version=1.2; messages=rdfm", "directive": "; version=1.2-messages"}

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_TYPE = re.compile(rf"\s*({_TOKEN}/{_TOKEN}|\*/\*|{_TOKEN}/\*)\s*")
_PARAMETER = re.compile(rf';\s*(?:({_TOKEN})\s*=\s*(?:({_TOKEN})|"((?:[^"\\]|\\.)*)"))?\s*')

_ESCAPED = re.compile(r"\\(.)")
# A part of a list. A quotation mark without a second one takes the rest with it.
_RANGE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+', re.S)
_WEIGHT = re.compile(r"0(\.\d{0,3})?|1(\.0{0,3})?")


@checked()
def parse_media_type(text: str) -> tuple[str, dict[str, str]]:
    """Split a media type into type and parameters (RFC 9110, section 8.3.1). Names are in lower case, values unquoted.

    >>> parse_media_type('Application/TriG; Version=1.2; messages="rdfm"')
    ('application/trig', {'version': '1.2', 'messages': 'rdfm'})
    """
    found = _TYPE.match(text)
    if found is None:
        raise JellyError(f"{text!r} is no media type: expected type/subtype")
    at = found.end()
    parameters: dict[str, str] = {}
    while at < len(text):
        match = _PARAMETER.match(text, at)
        if match is None:
            raise JellyError(f"the parameters of the media type {text!r} cannot be read from {text[at:]!r} on")
        if match[1]:
            parameters.setdefault(match[1].lower(), match[2] or _ESCAPED.sub(r"\1", match[3]))
        at = match.end()
    return found[1].lower(), parameters


@checked()
def find_log(format: str | None, name: str = "") -> tuple[Format, Dialect | None]:
    """The format of a message log by its name, suffix or media type, or by the suffix of a file; by default Jelly.

    A media type of the Turtle family announces a log with the parameter ``messages=rdfm`` (comments) or
    ``version=1.2-messages`` (directives). The second value is the dialect: None if a media type announces no log,
    ``"comment"`` if no media type is given.

    >>> find_log("text/turtle; version=1.2-messages")[1], find_log("text/turtle")[1], find_log("ttl")[1]
    ('directive', None, 'comment')
    """
    if not format or "/" not in format:
        try:
            return find(format, name, content=Content.MESSAGES), "comment"
        except JellyError as error:
            # Which log can hold the statements of a format that has no messages.
            with contextlib.suppress(JellyError):
                title = find(format, name).title
                advice = f"RDF Messages defines no log of {title}: keep each message in a file of a TAR archive"
                if title == "JSON-LD":
                    advice = "messages in JSON-LD are lines of NDJSON-LD"
                error.reason += f"; {advice}"
            raise
    kind, parameters = parse_media_type(format)
    for known in LOGS.values():
        if kind in known.media_types:
            break
    else:
        raise JellyError(f"{kind} is no media type of message logs: expected one of {', '.join(media_types())}")
    if parameters.get("version", "").endswith("-messages"):
        return known, "directive"
    messages = parameters.get("messages")
    if messages == "rdfm" or not known.delimited:
        return known, "comment"
    if messages is not None:
        warnings.warn(f"messages={messages} is not known: the document is read as one message", stacklevel=3)
    return known, None


def check_members(members: str | None, format: Format) -> None:
    """JellyArgumentError where a log without files in it has ``members=``."""
    if members is not None and format is not TAR_LOG:
        raise JellyArgumentError(f"members= is for TAR archives: {format.title} has no files in it")


@checked()
def media_type(format: str, dialect: Dialect = "comment") -> str:
    """The media type to send with a log (RDF Messages, section 2), with its parameters.

    Parameters
    ----------
    format : str
        Name, suffix or media type of the format.

    Examples
    --------
    >>> media_type("trig"), media_type("trig", "directive")
    ('application/trig; version=1.2; messages=rdfm', 'application/trig; version=1.2-messages')
    """
    known = find_log(format)[0]
    return known.media_type + (_ANNOUNCED[dialect] if known.delimited else "")


def media_types(dialect: Dialect = "comment") -> list[str]:
    """The media types of all logs, Jelly first."""
    return [media_type(name, dialect) for name in LOGS]


@checked()
def negotiate(accept: str, offered: list[str] | None = None, *, dialect: Dialect = "comment") -> str | None:
    """Choose the media type that answers an ``Accept`` header (RFC 9110, section 12.5.1); None if none fits.

    The offer with the highest quality wins, of equals the first one. A range fits if the types agree and the offer has
    its parameters.

    Parameters
    ----------
    accept : str
        Value of the header.
    offered : list of str, optional
        The media types on offer, best first. By default every log format, Jelly first.

    Examples
    --------
    >>> negotiate("text/turtle;q=0.5, application/trig; messages=rdfm")
    'application/trig; version=1.2; messages=rdfm'
    >>> negotiate("image/png") is None
    True
    """
    ranges = []
    for part in _RANGE.findall(accept):
        if part.strip():
            kind, parameters = parse_media_type(part)
            weight = parameters.pop("q", "1")
            if not _WEIGHT.fullmatch(weight):
                raise JellyError(f"q={weight} in the Accept header: expected 0 to 1 with three digits")
            ranges.append((kind, parameters, float(weight)))
    best, chosen = 0.0, None
    for offer in media_types(dialect) if offered is None else offered:
        kind, parameters = parse_media_type(offer)
        # The most specific range that fits decides.
        fitting = ["*/*", kind.partition("/")[0] + "/*", kind]
        *_, quality = max(
            (
                (fitting.index(range_), len(wanted), weight)
                for range_, wanted, weight in ranges
                if range_ in fitting and wanted.items() <= parameters.items()
            ),
            default=(0, 0, 0.0),
        )
        if quality > best:
            best, chosen = quality, offer
    return chosen
