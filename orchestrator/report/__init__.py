"""The report of a run: `content`, which equal runs share, and `run`, which tells when, where and at what cost."""
