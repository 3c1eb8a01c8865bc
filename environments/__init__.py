"""The environments: versioned, seeded benchmarks that make tasks and score submissions."""
