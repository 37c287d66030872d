"""Detects files joined with `cat`: whether another stream begins where the options row is repeated."""
