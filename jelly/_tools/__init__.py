"""Operations on whole files: convert, inspect, validate, compare, canonicalize."""
