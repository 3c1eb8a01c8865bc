"""The tools: one folder per method, each first a library, then a declared tool; `runtime` is the ground floor."""
