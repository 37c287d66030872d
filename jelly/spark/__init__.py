"""RDF in Spark."""
