"""RDF Thrift to Batches: rows of graphs, datasets and query results."""
