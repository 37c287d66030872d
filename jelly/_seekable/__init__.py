"""Seekable files: keyframes, their index, and random access."""
