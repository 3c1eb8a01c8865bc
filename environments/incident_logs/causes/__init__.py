"""Causes: one module each, with `incident(system, rng, start, span)`, which places a story on a system."""
