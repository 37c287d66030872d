"""`python bench/demo.py` (`make demo`) converts real text to Jelly and back, and prints sizes and speeds.

The data are a sample beside this file, a made-up library catalogue, and files of ../shared/data if they
exist. Every file must have the same statements after the round trip.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from jelly._core.terms.model import IRI, BlankNode, DefaultGraph, Literal
from jelly._core.terms.statements import Quad
from jelly._dataset.read import read
from jelly._dataset.scan import convert
from jelly._formats.registry import find
from jelly._streams.writer import Writer

__all__ = ["catalogue", "main"]

SAMPLE = Path(__file__).with_name("demo.nq")
SAMPLE_SIZE = 200
CATALOGUE_SIZE = 20_000
# Maximum seconds to measure one speed; the best run counts.
PATIENCE = 0.2

# Beside the sources: those of this file, or those of a folder where an installed package is run.
SHARED = next(
    (path for path in (Path(__file__).parents[3] / "shared", Path.cwd().parent / "shared") if path.is_dir()), Path()
).resolve() / "data"
FILES = ("iot-weather/assist-iot-weather-100k.nt.gz", "movies/30kmovies.nt.gz", "vocabs-quads/vocabs.nq.gz")

_BASE = "http://library.example/"
_DC = "http://purl.org/dc/terms/"
_FOAF = "http://xmlns.com/foaf/0.1/"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_WORDS = {
    "en": "the history atlas of winter and small rivers light stone garden letters from north",
    "de": "die Geschichte der Bäume über kleine Flüsse Straße und Licht Briefe aus dem Süden",
    "pl": "historia małych rzek światło ogród listy z północy żółty łabędź i zima",
    "ja": "歴史 の 小さな 川 光 庭 手紙 北 冬",
}
_BRANCHES = ("central", "harbour", "hill", "university")


def catalogue(size: int, seed: int = 1) -> Iterator[Quad]:
    """Statements of a made-up library catalogue, always the same: books and people in the default graph, copies
    (blank nodes) in the named graph of a branch.

    >>> len(list(catalogue(100))), next(catalogue(1)).s
    (100, IRI('http://library.example/book/1'))
    """
    chance = random.Random(seed)
    statements = (statement for number in count(1) for statement in _book(number, chance))
    return (statement for statement, _ in zip(statements, range(size), strict=False))


def _book(number: int, chance: random.Random) -> Iterator[Quad]:
    graph: DefaultGraph | IRI = DefaultGraph()
    book = IRI(f"{_BASE}book/{number}")

    def title(language: str) -> str:
        return " ".join(chance.choices(_WORDS[language].split(), k=chance.randint(2, 6))).capitalize()

    yield Quad(book, _TYPE, IRI(_DC + "BibliographicResource"), graph)
    for language in chance.sample(sorted(_WORDS), chance.randint(1, 2)):
        yield Quad(book, IRI(_DC + "title"), Literal(title(language), language=language), graph)
    yield Quad(book, IRI(_DC + "identifier"), Literal(f"978-{chance.randrange(10**9):09}"), graph)
    yield Quad(book, IRI(_DC + "issued"), _typed(chance.randint(1850, 2025), "gYear"), graph)
    yield Quad(book, IRI(_DC + "extent"), _typed(chance.randint(40, 1200), "integer"), graph)
    if chance.random() < 0.3:
        quotation = f'He wrote: "{title("en")}"\n\tand\\or nothing else.'
        yield Quad(book, IRI(_DC + "abstract"), Literal(quotation, language="en"), graph)
    for person in chance.sample(range(1, 3 + number // 3), chance.randint(1, 2)):
        author = IRI(f"{_BASE}person/{person}")
        yield Quad(book, IRI(_DC + "creator"), author, graph)
        yield Quad(author, IRI(_FOAF + "name"), Literal(f"Author {person}"), graph)
    graph = IRI(f"{_BASE}branch/{chance.choice(_BRANCHES)}")
    for i in range(chance.randint(1, 3)):
        copy = BlankNode(f"copy{number}x{i}")
        yield Quad(book, IRI(_BASE + "ns#hasCopy"), copy, graph)
        yield Quad(copy, IRI(_BASE + "ns#shelf"), Literal(f"{chance.choice('ABCDEF')}-{chance.randint(1, 40)}"), graph)
        yield Quad(copy, IRI(_BASE + "ns#price"), _typed(f"{chance.uniform(3, 90):.2f}", "decimal"), graph)
        day = f"{chance.randint(1990, 2025)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        yield Quad(copy, IRI(_BASE + "ns#acquired"), _typed(day, "date"), graph)


def _typed(value: object, datatype: str) -> Literal:
    return Literal(str(value), datatype=IRI(_XSD + datatype))


def as_text(size: int) -> bytes:
    """The catalogue as N-Quads."""
    out = io.BytesIO()
    with Writer(out, format="nq") as writer:
        writer.extend(catalogue(size))
    return out.getvalue()


def _inputs() -> Iterator[tuple[str, str, bytes]]:
    """The inputs: name, format and text."""
    yield "sample", "nq", SAMPLE.read_bytes()
    yield "catalogue", "nq", as_text(CATALOGUE_SIZE)
    for name in FILES:
        path = SHARED / name
        if path.exists():
            yield path.parent.name, find(None, name).name, gzip.decompress(path.read_bytes())


def _speed(statements: int, work: Callable[[], object]) -> float:
    """Million statements per second."""
    best = float("inf")
    deadline = time.perf_counter() + PATIENCE
    while True:
        began = time.perf_counter()
        work()
        ended = time.perf_counter()
        best = min(best, ended - began)
        if ended > deadline:
            return statements / best / 1e6


def _measure(name: str, format: str, text: bytes) -> tuple[bool, list[str]]:
    """Whether the statements are the same after the round trip, and the row of the table."""
    out, back = io.BytesIO(), io.BytesIO()
    statements = convert(text, out, format=format).statements
    data = out.getvalue()
    convert(data, back, to=format)
    pairs = zip(read(text, format=format), read(back.getvalue(), format=format), strict=True)
    try:
        same = sum(x == y for x, y in pairs) == statements
    except ValueError:  # one has more statements
        same = False
    sizes = [len(text), len(gzip.compress(text, 6)), len(data), len(gzip.compress(data, 6))]
    speeds = [
        _speed(statements, lambda: convert(text, io.BytesIO(), format=format)),
        _speed(statements, lambda: convert(data, io.BytesIO(), to=format)),
        _speed(statements, lambda: deque(read(data), maxlen=0)),
    ]
    ratios = [sizes[0] / sizes[2], sizes[1] / sizes[3]]
    shown = [f"{number:.2f}" for number in (*(size / 1e6 for size in sizes), *ratios, *speeds)]
    return same, [name, f"{statements:,}", *shown]


_HEAD = [
    "\nfile", "state-\nments", "text\nMB", "\n.gz", "Jelly\nMB", "\n.gz", "ratio\n", "\n.gz", "to\nJelly", "to\ntext",
    "to\nterms",
]  # fmt: skip


def _show(rows: list[list[str]]) -> None:
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        lines = [[name.partition("\n")[2 * i] for name in _HEAD] for i in range(2)] + rows
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
            print("  ".join([line[0].ljust(widths[0]), *cells]))
    else:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
        for name in _HEAD:
            table.add_column(name, justify="left" if name is _HEAD[0] else "right")
        for row in rows:
            table.add_row(*row)
        Console().print(table)


def bars(sizes: list[tuple[str, float]], width: int = 40) -> list[str]:
    """Lines with a bar for each size in MB.

    >>> for line in bars([("text", 4.0), ("Jelly", 1.0)], width=8):
    ...     print(line)
    text   ████████ 4.00 MB
    Jelly  ██ 1.00 MB
    """
    most = max(size for _, size in sizes)
    longest = max(len(name) for name, _ in sizes)
    return [f"{name:<{longest}}  {'█' * max(1, round(width * size / most))} {size:.2f} MB" for name, size in sizes]


def _finish(row: list[str]) -> None:
    """Show the sizes of one file as bars, and what to try next."""
    text, packed, data, packed_data = map(float, row[2:6])
    print(f"\n{row[0]}, {row[1]} statements:")
    for line in bars([("text", text), ("Jelly", data), ("text.gz", packed), ("Jelly.gz", packed_data)]):
        # A terminal that cannot show blocks gets number signs.
        print("  " + (line if (sys.stdout.encoding or "").lower().startswith("utf") else line.replace("█", "#")))
    command = Path(sys.executable).with_name("jelly")
    here = [os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path) for path in (command, SAMPLE)]
    print("\nTry next:")
    print(f"  {here[0]} convert {here[1]} library.jelly")
    print(f"  {here[0]} stats library.jelly")
    print(f"  {here[0]} cat library.jelly | head")


def main() -> int:
    """Run the demo. Returns 0 if every statement survived the round trip."""
    began = time.perf_counter()
    rows, wrong = [], []
    for name, format, text in _inputs():
        same, row = _measure(name, format, text)
        rows.append(row)
        if not same:
            wrong.append(name)
    print("Converts N-Triples and N-Quads to Jelly, back to text, and to Python terms, in memory.")
    print("ratio: text / Jelly in bytes, plain and compressed. Speeds: million statements per second, one thread.")
    _show(rows)
    if SHARED.is_dir() and not all((SHARED / name).exists() for name in FILES):
        print(f"Some of the data in {SHARED} is missing: only the rest was used.")
    if wrong:
        print(f"DIFFERENT after the round trip: {', '.join(wrong)}")
        return 1
    total = sum(int(row[1].replace(",", "")) for row in rows)
    _finish(max(rows, key=lambda row: float(row[2])))
    print(f"\nAll {total:,} statements are the same after the round trip. {time.perf_counter() - began:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
