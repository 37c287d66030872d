"""Helpers of the tests: data, generators, oracles, other implementations, memory."""
