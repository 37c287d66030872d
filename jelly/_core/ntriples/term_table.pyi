"""The different terms of whole datasets, numbered: equal terms have equal numbers, in all Batches."""
