"""Measured times out of profilers' exports (torch.profiler, Nsight Systems and Compute), joined to a bound's terms."""
