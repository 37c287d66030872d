"""RDF in values of Kafka: graphs, datasets, statements, messages and patches to bytes and back (extra ``kafka``).

Each value is one Jelly frame that is a stream of its own, without its length before it: a consumer may start anywhere.

>>> import jelly
>>> serializer, deserializer = JellySerializer(), JellyDeserializer()
>>> value = serializer([jelly.Triple(jelly.IRI("a:s"), jelly.IRI("a:p"), jelly.Literal("o"))])
>>> deserializer(value)
[Triple(IRI('a:s'), IRI('a:p'), Literal('o'))]
>>> serializer(None), deserializer(None)  # tombstones
(None, None)

They are called by confluent-kafka (``value.serializer``), aiokafka and kafka-python (``value_serializer``), and work
without any of them. ``docs/kafka.md`` has producers and consumers for each.
"""

from jelly._public import name_public
from jelly.kafka._clients import JellySerializationError
from jelly.kafka._deserializer import JellyDeserializer
from jelly.kafka._serializer import JellySerializer

__all__ = ["JellyDeserializer", "JellySerializationError", "JellySerializer"]

name_public(__name__, __all__, globals())
