"""A client and a server of RdfStreamService by classes that protoc made; commands come as lines of JSON.

It knows nothing of the package under test.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

sys.path.insert(0, sys.argv[1])
import grpc_pb2
import grpc_pb2_grpc
import rdf_pb2

GZIP = grpc.Compression.Gzip


def frames_of(digits):
    return [rdf_pb2.RdfStreamFrame.FromString(bytes.fromhex(one)) for one in digits]


def digits_of(frames):
    return [frame.SerializeToString().hex() for frame in frames]


class Servicer(grpc_pb2_grpc.RdfStreamServiceServicer):
    """Streams what it was given, keeps what it gets."""

    def __init__(self, frames):
        self.frames = frames
        self.asked = []
        self.got = []

    def SubscribeRdf(self, request, context):
        self.asked.append(request.SerializeToString().hex())
        yield from self.frames

    def PublishRdf(self, request_iterator, context):
        self.got += digits_of(request_iterator)
        return grpc_pb2.RdfStreamReceived()


class Peer:
    def __init__(self):
        self.server = self.servicer = None

    def serve(self, frames, gzip):
        self.servicer = Servicer(frames_of(frames))
        self.server = grpc.server(ThreadPoolExecutor(4), compression=GZIP if gzip else None)
        grpc_pb2_grpc.add_RdfStreamServiceServicer_to_server(self.servicer, self.server)
        port = self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()
        return f"127.0.0.1:{port}"

    def stop(self):
        self.server.stop(0).wait()
        return {"asked": self.servicer.asked, "got": self.servicer.got}

    def subscribe(self, address, topic, options=None, gzip=False, follow="0"):
        request = grpc_pb2.RdfStreamSubscribe(topic=topic)
        if options is not None:
            request.requested_options.CopyFrom(rdf_pb2.RdfStreamOptions(**options))
        with grpc.insecure_channel(address, compression=GZIP if gzip else None) as channel:
            stub = grpc_pb2_grpc.RdfStreamServiceStub(channel)
            return digits_of(stub.SubscribeRdf(request, timeout=240, metadata=[("jelly-follow", follow)]))

    def publish(self, address, frames, topic=None, gzip=False):
        metadata = [("jelly-topic", topic)] if topic is not None else []
        with grpc.insecure_channel(address, compression=GZIP if gzip else None) as channel:
            stub = grpc_pb2_grpc.RdfStreamServiceStub(channel)
            done = stub.PublishRdf(iter(frames_of(frames)), timeout=240, metadata=metadata)
            return done.SerializeToString().hex()

    def subscription(self, topic, options):
        """The bytes of an RdfStreamSubscribe."""
        packed = grpc_pb2.RdfStreamSubscribe(topic=topic, requested_options=rdf_pb2.RdfStreamOptions(**options))
        return packed.SerializeToString().hex()


peer = Peer()
for line in sys.stdin:
    command = json.loads(line)
    try:
        result = getattr(peer, command.pop("do"))(**command)
    except grpc.RpcError as error:
        result = {"code": error.code().name, "details": error.details()}
    print(json.dumps(result), flush=True)
