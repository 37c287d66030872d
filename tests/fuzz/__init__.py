"""Coverage-guided fuzzing of all readers; see docs/fuzzing.md."""
