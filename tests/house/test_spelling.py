"""Messages name keywords as the command line and Spark spell them, by the table of keywords."""

from __future__ import annotations

import pytest

from jelly._options.keywords import NAMED, READ, WRITE
from jelly._options.limits import SETTABLE
from jelly._options.spelling import spelled


@pytest.mark.parametrize(
    ("python", "command", "spark"),
    [
        ("raise max_line_bytes to read it", "raise --max-line-bytes to read it", "raise maxLineBytes to read it"),
        ('unknown_rows="skip" skips such rows', "--skip-unknown-rows skips such rows", None),
        ("is Jelly: read it with format='jelly'", "is Jelly: use --from jelly",
         'is Jelly: read it with option("format", "jelly")'),
        ("one of nt, nq; pass format=...", "one of nt, nq; use --from or --to",
         'one of nt, nq; set option("format", ...)'),
        ("give it with contexts=", "give it with --context URL=FILE", None),
        ("a variable as subject needs generalized_statements=True in the stream options",
         "a variable as subject needs --allow generalized", None),
        ("max_datatype_table_size above 0 in the stream options", "--table-datatypes above 0", None),
        ("write Jelly-RDF 1.2 (version 3), or pass star=\"quoted\"",
         "write Jelly-RDF 1.2 (--jelly 1.2), or use --star quoted", None),
        ("skip_unknown=True leaves them out", "--skip-unknown leaves them out",
         'option("skipUnknown", "true") leaves them out'),
        ('blank_nodes="skolemize" needs skolem_base', "--blank-nodes skolemize needs --skolem-base",
         'option("blankNodes", "skolemize") needs skolemBase'),
        ("the format of a message, its base and index", "the format of a message, its base and index",
         "the format of a message, its base and index"),
        ("the option generalized_statements is false", "the option generalized_statements is false", None),
    ],
)  # fmt: skip
def test_a_message_in_three_spellings(python: str, command: str, spark: str | None) -> None:
    assert spelled(python, "command line") == command
    assert spelled(python, "Spark") == (spark or python)


def test_each_limit_has_three_spellings() -> None:
    for limit in SETTABLE:
        option = "--" + limit.name.replace("_", "-")
        assert spelled(f"raise {limit.name}.", "command line") == f"raise {option}."
        assert spelled(f"raise {limit.name}.", "Spark") == f"raise {limit.camel}."


def test_each_keyword_with_a_value_is_spelled_as_its_option() -> None:
    for table in (READ, WRITE, NAMED):
        for name, row in table.items():
            if row.switch and name.isidentifier():
                found = spelled(f"pass {name}=...", "command line")
                assert found.startswith("use --"), found
                assert row.switch in found
