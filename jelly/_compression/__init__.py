"""Compressed files from which any part can be read: frames of zstd or members of gzip, and tables of their sizes."""
