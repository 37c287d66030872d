"""The harnesses, by the part of the package that they test. Importing this package registers them all."""

from fuzz.harness import HARNESSES
from fuzz.readers import jelly_streams, rows

__all__ = ["HARNESSES", "jelly_streams", "rows"]
