"""Pricing: from a graph and a data sheet to every number, by arithmetic alone."""
