"""What people hand in: which front end reads a file, KernelBench problems, SOL-ExecBench definitions with workloads."""
