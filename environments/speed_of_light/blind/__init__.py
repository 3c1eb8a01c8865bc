"""Modules that were written without sight of any method: data of the benchmark, frozen with `truths.yaml`."""
