"""Saves the state of a DecoderState between two frames as bytes, so that reading can start there later."""
