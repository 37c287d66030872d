"""Steps of a `Dataset`, from Batches to Batches."""
