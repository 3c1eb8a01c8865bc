"""What is unusual in a log, by counting alone: how often, since when, in whose records, at which lines."""
