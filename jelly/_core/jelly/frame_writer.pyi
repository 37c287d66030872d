"""Puts rows into frames and frames into bytes: options row, metadata, keyframes. Knows no term."""
