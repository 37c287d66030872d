"""RDF streams over gRPC: clients, servers and a broker for the Jelly service ``RdfStreamService`` (extra ``grpc``).

Frames are sent as they are, without protobuf classes. A client:

>>> import jelly
>>> def listen(address):
...     with Client(address) as client:
...         for frame in client.subscribe("news", start="latest"):
...             print(frame.metadata, frame.statements)

A broker that stores published streams in a directory, one Jelly file per topic:

>>> async def serve(directory):
...     await Server(Broker(Topics(directory)), "127.0.0.1:50051").serve_forever()

`Server` calls handlers of your own, too. They are asynchronous; a program that is not runs the server in a thread, with
``with Server(handler)``. `AsyncClient` is the client for asyncio.

The protocol leaves two things open, for which this package uses
call metadata. ``jelly-topic`` names the topic of a publication (by default the stream name in its options).
``jelly-start`` (the number of a message, ``earliest`` or ``latest``) and ``jelly-follow`` (``0``: end with the last
existing message) choose the messages of a subscription; the broker answers with ``jelly-first``, the number of the
first message it sends.

Topics of Jelly-Patch are an extension. A message is a whole patch, and a broker stores none of which a part is missing:

>>> def replicate(address):
...     with Client(address) as client:
...         for patch in client.subscribe("changes", kind="patches"):
...             print(patch.id, len(patch))

Labels of blank nodes pass through clients, servers and brokers as they are. Their scope is what the publisher says it
is: the frame in a grouped stream, the publication in a flat one. A topic does not tell apart the labels of several
publications; publishers of a flat topic choose labels that no other one uses.

A topic in a store is a Jelly file, ``DIRECTORY/NAME.jelly`` (of patches ``NAME.jellyp``), that only grows. Any reader
of Jelly can read it. Spark can follow it (``spark.readStream.format("jelly").option("follow", "true")``, from the start
and then by offset), and ``jelly spark ingest`` can archive it. `Broker.collect` gives its figures to Prometheus.
"""

from jelly._public import name_public
from jelly._streams.frames import FrameDecoder, FrameEncoder
from jelly.grpc._async_client import AsyncClient, AsyncFeed
from jelly.grpc._broker import Broker
from jelly.grpc._client import Client, Feed
from jelly.grpc._context import Call, Publication, Refusal, Subscription, Tls, tokens
from jelly.grpc._protocol import TopicInfo
from jelly.grpc._server import Handler, Server
from jelly.grpc._topics import Topics

__all__ = [
    "AsyncClient",
    "AsyncFeed",
    "Broker",
    "Call",
    "Client",
    "Feed",
    "FrameDecoder",
    "FrameEncoder",
    "Handler",
    "Publication",
    "Refusal",
    "Server",
    "Subscription",
    "Tls",
    "TopicInfo",
    "Topics",
    "tokens",
]

name_public(__name__, __all__, globals())
