"""Where pickles of earlier versions look for the terms. Nothing else is here: see `jelly`."""
