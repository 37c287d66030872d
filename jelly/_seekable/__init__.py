"""Seekable files: keyframes, the index of them, and random access."""
