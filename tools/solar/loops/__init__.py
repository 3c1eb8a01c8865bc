"""Affine Loop IR: loop nests over typed tensors, executable, and lifted to the graph that bounds are computed from."""
