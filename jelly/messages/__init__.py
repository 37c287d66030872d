"""RDF Messages: logs of messages, each a dataset of its own, in all formats, live or stored.

Unstable: this follows the draft of the community group.
"""

from jelly._public import name_public
from jelly.messages._media import media_type, negotiate
from jelly.messages._message import Message, group
from jelly.messages._reader import MessageReader, aread_messages, read_messages
from jelly.messages._writer import MessageWriter, aencode_messages, write_messages

__all__ = [
    "Message",
    "MessageReader",
    "MessageWriter",
    "aencode_messages",
    "aread_messages",
    "group",
    "media_type",
    "negotiate",
    "read_messages",
    "write_messages",
]

name_public(__name__, __all__, globals())
