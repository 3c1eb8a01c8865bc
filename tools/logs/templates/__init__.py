"""Templates: the statement of a program behind a message, the values that it filled in, and how it turned out."""

from enlist.tools.logs.templates.miner import Limits, Miner
from enlist.tools.logs.templates.outcomes import outcome

__all__ = ["Limits", "Miner", "outcome"]
