"""SPARQL queries of statements, run by DuckDB on ids, or by pyoxigraph."""
