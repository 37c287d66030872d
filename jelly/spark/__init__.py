"""`jelly` on Spark: needs the extra ``spark`` and Java 17 or later."""
