"""SMART: assembles a team by Monte Carlo Tree Search over agents' metadata, with no language model.

A library over NumPy arrays: describe the pool (`PoolColumns`) and the job (`TeamProblem`), call `search`.
"""

from enlist.tools.smart.problem import PoolColumns, TeamProblem
from enlist.tools.smart.result import SearchResult
from enlist.tools.smart.search import search
from enlist.tools.smart.topology import chain, complete, topology

__all__ = ["PoolColumns", "SearchResult", "TeamProblem", "chain", "complete", "search", "topology"]
