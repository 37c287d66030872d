"""Names of tables and columns, made from IRIs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from jelly._bytes.part_file import RESERVED

_MAX = 60  # characters of a name
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SAFE = _LETTERS | frozenset("0123456789_")


def safe_names(iris: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A name for each IRI: the text after its last ``/``, ``#`` or ``:``, in letters of ASCII, digits and ``_``.

    Names differ by more than case, from each other and from those ``taken``: later ones of the same name, in the order
    of the IRIs, get 8 digits of a hash of the IRI. Names of devices of Windows get an ``x``, too.

    >>> safe_names(["http://a/Name", "http://b/name", "http://c/2nd-name", "http://d/"])
    {'http://a/Name': 'Name', 'http://b/name': 'name_11358bc7', 'http://c/2nd-name': 'x2nd_name', 'http://d/': 'd'}
    >>> safe_names(["http://a/con", "http://a/Con2"])
    {'http://a/Con2': 'Con2', 'http://a/con': 'xcon'}
    """
    names: dict[str, str] = {}
    used = {name.lower() for name in taken}
    for iri in sorted(set(iris)):
        name = _plain(iri)
        if name.lower() in used:
            name = f"{name}_{hashlib.blake2b(iri.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"
        while name.lower() in used:
            name += "x"
        names[iri] = name
        used.add(name.lower())
    return names


def _plain(iri: str) -> str:
    tail = iri.rstrip("/#:")
    tail = tail[max(tail.rfind(mark) for mark in "/#:") + 1 :][:_MAX]
    name = "".join(letter if letter in _SAFE else "_" for letter in tail)
    return name if name and name[0] in _LETTERS and name.lower() not in RESERVED else f"x{name}"
