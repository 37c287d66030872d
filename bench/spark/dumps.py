"""Dumps of a made-up social network in four formats, and patches for some days: the input of `pipeline.py`.

People have a class, a name, an age, a day on which they came, a city, a note that is a blank node, and know each other:
few know many. The same number of people always makes the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import jelly
from jelly.patch import Add, Delete, PatchWriter

BASE = "http://example.org/"
FOAF = "http://xmlns.com/foaf/0.1/"
RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
XSD = "http://www.w3.org/2001/XMLSchema#"
KNOWS = f"<{FOAF}knows>"
STATEMENTS_OF_PERSON = 10
CITIES = 500
FORMATS = (".nt.gz", ".jelly", ".ttl.gz", ".nq.gz")


def person(number: int) -> str:
    return f"<{BASE}person/{number}>"


def city_of(number: int) -> int:
    return int(CITIES * (number * 2654435761 % (1 << 32) / (1 << 32)) ** 2)


def about(number: int, people: int, chance: random.Random) -> Iterator[str]:
    """What is said of a person, as N-Triples without the final dot."""
    who = person(number)
    yield f"{who} {RDF_TYPE} <{FOAF}Person>"
    yield f'{who} <{FOAF}name> "Person number {number}"@en'
    yield f'{who} <{FOAF}age> "{18 + number % 70}"^^<{XSD}integer>'
    yield f'{who} <{BASE}came> "20{number % 25:02}-0{1 + number % 9}-1{number % 10}"^^<{XSD}date>'
    yield f"{who} <{BASE}city> <{BASE}city/{city_of(number)}>"
    yield f"{who} <{BASE}note> _:n{number}"
    yield f'_:n{number} <{BASE}text> "knows {number % 97} recipes"'
    known: set[int] = set()
    while len(known) < STATEMENTS_OF_PERSON - 7:
        known.add(int(people * chance.random() ** 3))
    for other in sorted(known):
        yield f"{who} {KNOWS} {person(other)}"


def make_dumps(folder: Path, statements: int) -> list[Path]:
    """Write about so many statements to four files, a quarter of the people each. Their paths."""
    people = statements // STATEMENTS_OF_PERSON
    paths = []
    for part, suffix in enumerate(FORMATS):
        chance = random.Random(part)
        text = folder / f"part{part}.nt"
        with open(text, "w", encoding="utf-8") as file:
            for number in range(part * people // 4, (part + 1) * people // 4):
                file.writelines(f"{line} .\n" for line in about(number, people, chance))
        path = folder / f"part{part}{suffix}"
        jelly.convert(text, path, **({"seekable": True} if suffix == ".jelly" else {}))
        text.unlink()
        paths.append(path)
    return paths


def make_patches(folder: Path, statements: int, days: int, changes: int) -> list[Path]:
    """Write a file of patches for each day: so many people move to another city, which is one delete and one add."""
    people = statements // STATEMENTS_OF_PERSON
    paths = []
    where: dict[int, int] = {}

    def lives(number: int, city: int) -> jelly.Triple:
        return jelly.Triple(
            jelly.IRI(f"{BASE}person/{number}"), jelly.IRI(f"{BASE}city"), jelly.IRI(f"{BASE}city/{city}")
        )

    for day in range(days):
        chance = random.Random(1000 + day)
        path = folder / f"day{day}.jellyp"
        with PatchWriter(path) as writer:
            for number in sorted(chance.sample(range(people), changes)):
                writer.add(Delete(lives(number, where.get(number, city_of(number)))))
                where[number] = CITIES + chance.randrange(CITIES)
                writer.add(Add(lives(number, where[number])))
        paths.append(path)
    return paths
