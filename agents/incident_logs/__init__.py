"""Specialists for logs: one says what happened, another reads the cited lines again."""
