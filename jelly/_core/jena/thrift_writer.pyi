"""Batches to RDF Thrift, byte for byte as Jena writes it."""
