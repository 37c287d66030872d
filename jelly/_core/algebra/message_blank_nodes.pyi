"""Frames of a Batch as messages: complete messages only, each with blank nodes of its own."""

from jelly._core.base.batch import Batch

def drop_open_frame(batch: Batch) -> Batch:
    """The Batch without what came after its last frame ended. Only for one that is still being made: it is changed."""
def number_labels(batch: Batch, mark: bytes | None = None) -> Batch:
    r"""The Batch, or a copy in which labels of blank nodes that a parser made up are anon0, anon1 ... in each frame.

    Such are all of 16 to 32 hexadecimal digits but those that hold ``mark``, which is taken out of all texts: the Batch
    must be one that is still being made.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False)
    >>> [batch] = reader.feed(b"_:a123456789abcdef <a:p> _:xXxb123456789abcdef .\n")
    >>> numbered = number_labels(batch, b"xXx")
    >>> [numbered.term(term) for term in (*numbered.s, *numbered.o)]
    ['_:anon0', '_:b123456789abcdef']
    """
def rename_blank_nodes(batch: Batch) -> Batch:
    r"""A copy in which every blank node label begins with the number of its frame, "m7-" in frame 7 of the stream.

    So the frames, of one stream, can be put together and no two of their blank nodes become one.

    >>> from jelly._core.ntriples.text import TextReader
    >>> reader = TextReader(quads=False, messages="comment")
    >>> list(reader.feed(b"_:x <a:p> _:y .\n# @message\n_:x <a:p> _:x .\n"))
    [<jelly.Batch: 1 triples, 3 terms, 1 frame ends>]
    >>> [batch] = reader.close()
    >>> renamed = rename_blank_nodes(batch)
    >>> [renamed.term(term) for term in (*renamed.s, *renamed.o)]
    ['_:m1-x', '_:m1-x']
    """
