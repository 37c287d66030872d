"""Tables with a column for each predicate: their names, types and rows, here and on Spark."""
