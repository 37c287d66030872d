"""Terms of a Batch as values of Arrow columns: where the text of each term is, and which terms have the same text."""
