"""Meaning of the rows of RDF Thrift and RDF Protobuf: terms, prefixes, results. Knows neither encoding."""
