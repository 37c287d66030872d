"""Lookup tables: arrays by id for the decoder, LRU tables for the encoder. Only this module interprets an id of 0."""
