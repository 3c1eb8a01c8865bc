"""Speed of light: modules whose least work is known, as a benchmark of methods that bound run time from source."""
