"""Rare parts of decoding: fields that writers do not make, features that are not announced, terms of earlier Batches."""
