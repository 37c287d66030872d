"""The part of polars that this package needs."""

from __future__ import annotations

from jelly.errors import need

with need("polars", "jelly.polars needs polars"):
    import polars as pl
    from polars.io.plugins import register_io_source

__all__ = ["pl", "register_io_source"]
