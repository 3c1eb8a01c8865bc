"""Incident logs: streams of logs with a known story, as a benchmark of methods that tell what happened."""
