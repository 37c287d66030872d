"""What the package does with whole files: convert, inspect, validate, compare, canonicalize."""
