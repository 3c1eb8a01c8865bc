"""Other source into the Affine Loop IR: a NumPy subset deterministically, any language by a model and a comparison."""
