"""RDF Patch text to Batches and back: the rows H TX TC TA PA PD A D of RDF Delta, with terms as in N-Quads."""
