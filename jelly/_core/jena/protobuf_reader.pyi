"""RDF Protobuf to Batches: rows of graphs, datasets and query results, each with its length before it."""
