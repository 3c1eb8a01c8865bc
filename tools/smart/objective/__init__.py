"""The global terms of a team's utility: what depends on the team as a whole, not on one member or one pair.

    U(a) = fits and synergies - latency(a) + coverage(a) - risk(a) - load(a)   where cost(a) <= cap, else -inf

Each term has a module with its formula and units; `GlobalTerms` puts those that a problem uses together.
"""

from enlist.tools.smart.objective.budget import Budget
from enlist.tools.smart.objective.coverage import Coverage
from enlist.tools.smart.objective.latency import Latency
from enlist.tools.smart.objective.load import Load
from enlist.tools.smart.objective.risk import Risk
from enlist.tools.smart.objective.terms import GlobalTerms

__all__ = ["Budget", "Coverage", "GlobalTerms", "Latency", "Load", "Risk"]
