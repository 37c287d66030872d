"""The operations of a patch, and the order in which its rows may come."""
