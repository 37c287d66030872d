"""Hashes of what terms and rows say: SipHash-1-3 with 128 bits, as nobody without the key can find two texts that collide.

So equal hashes are taken for equal rows: among a million million rows, the chance that any two others have one hash is
below 1 to 10^14. With a key that others may know, compare the rows.
"""

import numpy as np
import numpy.typing as npt

from jelly._core.base.batch import Batch

def row_hash(batch: Batch, seed: bytes, *, alike: bool = False) -> npt.NDArray[np.uint64]:
    """Hashes of the rows: uint64, shape (rows, 2), 128 bits each. Equal rows have equal hashes in all Batches.

    A hash is that of the terms' content (kind, text, language tag, datatype, quoted terms), whatever their ids, and of
    their places. A triple and a quad of the default graph are equal; operations of a patch and names of variables do not
    count. ``seed`` is 16 bytes. With those of ``os.urandom`` nobody can write rows that are not equal and have one hash.
    With ``alike`` all blank nodes count as equal.

    >>> import jelly
    >>> texts = b"<a:s> <a:p> <a:o> .", b"<a:s> <a:p> <a:o> <a:g> ."
    >>> some, other = (next(jelly.scan(text, format="nq").batches()) for text in texts)
    >>> bool((row_hash(some, bytes(16)) == row_hash(some, bytes(16))).all())
    True
    >>> bool((row_hash(some, bytes(16)) == row_hash(other, bytes(16))).any())
    False
    """
def term_hash(batch: Batch, seed: bytes) -> npt.NDArray[np.uint64]:
    """Hashes of the terms: uint64, shape (terms, 2). Equal terms have equal hashes in all Batches, see `row_hash`.

    >>> import jelly
    >>> some, other = (next(jelly.scan(text, format="nt").batches()) for text in (b"_:x <a:p> _:y .", b"_:y <a:p> _:y ."))
    >>> bool((term_hash(some, bytes(16))[some.o] == term_hash(other, bytes(16))[other.s]).all())
    True
    """
def blank_terms(batch: Batch) -> npt.NDArray[np.bool_]:
    """Of each term whether it is a blank node, or a quoted triple with one somewhere inside: bool.

    >>> import jelly
    >>> batch = next(jelly.scan(b"_:x <a:p> <<( <a:s> <a:p> _:x )>> .", format="nt").batches())
    >>> [batch.term(term) for term in blank_terms(batch).nonzero()[0]]
    ['_:x', '<<( <a:s> <a:p> _:x )>>']
    """
def slot_keys(batch: Batch, ids: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.uint64], int, int, bool]:
    """Keys for filters of the terms ``ids`` (int32): each id once, in no order; equal texts have equal keys everywhere.

    Also the ids of the terms whose texts are lowest and highest, by bytes, or -1; and whether an id is below 0. A key is
    a hash of the text alone (SipHash-1-3 of 128 bits without a secret, the first 8 bytes), or of all that a quoted
    triple says, whose text is empty.

    >>> import jelly
    >>> [batch] = jelly.scan(b'<a:s> <a:p> "a:s" .', format="nt").batches()
    >>> [slot_keys(batch, ids)[0].tolist() for ids in (batch.s, batch.o)] == [[12878814644564597928]] * 2
    True
    """
def fuse_filter(keys: npt.NDArray[np.uint64], width: int) -> tuple[bytes, int, int, int] | None:
    """A binary fuse filter of different keys (uint64): its bytes, the seed, the length and the number of its blocks.

    Each fingerprint has ``width`` bits. None if no seed fits, as where a key is there twice. The layout is told in
    docs/reference/file-formats.md.

    >>> import numpy
    >>> bits, seed, length, blocks = fuse_filter(numpy.arange(1000, dtype=numpy.uint64), 7)
    >>> len(bits), length, blocks
    (1234, 128, 9)
    """
