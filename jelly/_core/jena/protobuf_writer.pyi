"""Batches to RDF Protobuf, byte for byte as Jena writes it: each row with its length before it."""
