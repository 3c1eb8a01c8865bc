"""Front end for JAX: any function that `jax.jit` takes, through its jaxpr, on shapes alone."""
