"""The values of a column of Jelly-RDF 1.2, and the cells that its layout makes of them. The layout is not final."""
