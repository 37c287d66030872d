"""The stream options row of Jelly-RDF and of Jelly-Patch."""
