"""Front end for PyTorch: user code in, a graph out; all of it runs in the child that may run user code."""
