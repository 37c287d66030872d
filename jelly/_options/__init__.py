"""Stream options, limits, layouts and names: plain values that every room may use."""
