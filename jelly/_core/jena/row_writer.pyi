"""Shared by the writers of RDF Thrift and RDF Protobuf: each term of a Batch is encoded once, then rows are assembled."""
