"""Blank nodes of a source as nodes of its own: labels that begin with its scope, or IRIs made of such labels."""

from jelly._core.base.batch import Batch

def scope_blank_nodes(batch: Batch, scope: bytes, genid: bytes | None = None) -> Batch:
    """The Batch with the label of each blank node behind ``scope``, so that those of other sources are other nodes.

    ``scope`` is "jf", 16 hexadecimal digits and "_". Labels that begin with another scope have got it before, and
    stay as they are. No two labels become one. With ``genid`` blank nodes become IRIs that begin with it, and end with
    such a label, in which bytes other than letters, digits, "-", ".", "_" and "~" are percent-encoded. A Batch without
    blank nodes is given back itself.

    >>> import jelly
    >>> batch = next(jelly.scan(b"_:x <a:p> _:jf0123456789abcdef_y .", format="nt").batches())
    >>> made = scope_blank_nodes(batch, b"jf00000000000000aa_")
    >>> made.term(made.s[0]), made.term(made.o[0])
    ('_:jf00000000000000aa_x', '_:jf0123456789abcdef_y')
    """
