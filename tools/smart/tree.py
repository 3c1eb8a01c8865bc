"""The tree of Monte Carlo Tree Search: roles are filled one after another, and bounds prune and guide.

A node is a prefix of the team. Its children carry an admissible bound (`Completion`), which gives the prior (optimistic
children first) and prunes: a child whose bound does not pass the best team found is closed.
Selection is PUCT (Silver et al., Nature 550, 2017) over values scaled to [0, 1] between the worst value backed up and
the best team. When two roles are open the bound is exact, so the best completion is read off and the node is closed.
When the root is closed, no better team exists among the candidates.
"""

import numpy as np
from numpy.typing import NDArray

from enlist.tools.smart.bounds import Completion
from enlist.tools.smart.grid import FloatArray, half_up

EXPLORATION = 1.25  # the PUCT constant of AlphaGo Zero's successors
PRIOR_SHARPNESS = 3.0  # prior ~ (1 + sharpness * (best bound - bound) / (best bound - best team found)) ** -4


class Node:
    """Statistics of one prefix: bounds, visits and summed values of its children, [K] each."""

    def __init__(self, prefix: tuple[int, ...], bounds: FloatArray) -> None:
        self.prefix, self.bounds = prefix, bounds
        self.visits = np.zeros(len(bounds))
        self.total = np.zeros(len(bounds))
        self.children: dict[int, Node] = {}

    @property
    def bound(self) -> float:
        return float(np.max(self.bounds))


class Tree:
    """Search tree over the candidates behind `completion`; `floor` is the utility of the best team found so far."""

    def __init__(self, completion: Completion, random: np.random.Generator) -> None:
        self.completion, self.random = completion, random
        self.roles = len(completion.order)
        self.root = Node((), completion.children(()))
        self.lowest = np.inf

    def bound(self, floor: float) -> float:
        """No team among the candidates is better than this."""
        return max(floor, self.root.bound)

    def iterate(self, floor: float) -> NDArray[np.intp] | None:
        """Select, expand, roll out, back up. Returns the roll-out's unclimbed team, [1, R] by role number ([0, R] where
        it met a dead end), or None when the whole tree is closed: no team is better than `floor`."""
        path: list[tuple[Node, int]] = []
        node = self.root
        while True:
            if node.bound <= floor:  # closed since its parent looked
                if not path:
                    return None
                parent, child = path.pop()
                parent.bounds[child] = node.bound
                node = parent
                continue
            if len(node.prefix) >= self.roles - 2:
                break
            child = self._select(node, floor)
            path.append((node, child))
            if child not in node.children:
                prefix = (*node.prefix, child)
                node.children[child] = Node(prefix, self.completion.children(prefix))
                node = node.children[child]
                break
            node = node.children[child]
        value, chosen = self._roll_out(node, floor)
        for parent, child in reversed(path):
            parent.visits[child] += 1
            parent.total[child] += value
            if child in parent.children:
                parent.bounds[child] = min(parent.bounds[child], parent.children[child].bound)
        self.lowest = min(self.lowest, value)
        teams = np.empty((0 if chosen is None else 1, self.roles), dtype=np.intp)
        teams[:, self.completion.order] = chosen if chosen is not None else 0
        return teams

    def _weights(self, bounds: FloatArray, floor: float) -> FloatArray:
        """Weights of the children, on the grid (their sums are exact); only + - * / and sqrt are used in the tree,
        which every machine rounds alike."""
        best = np.max(bounds)
        alive = bounds > floor
        behind = np.divide(best - bounds, best - floor, out=np.zeros_like(bounds), where=alive)
        square = np.square(1.0 + PRIOR_SHARPNESS * behind)
        return np.where(alive, half_up(2.0 / np.square(square)), 0.0)

    def _select(self, node: Node, floor: float) -> int:
        span = floor - self.lowest
        mean = np.divide(node.total, node.visits, out=np.full_like(node.total, self.lowest), where=node.visits > 0)
        quality = (mean - self.lowest) / span if np.isfinite(span) and span > 0 else np.zeros_like(mean)
        weights = self._weights(node.bounds, floor)
        trials = np.sum(node.visits) + 1
        score = quality + EXPLORATION * weights / np.sum(weights) * np.sqrt(trials) / (1 + node.visits)
        return int(np.argmax(np.where(node.bounds > floor, score, -np.inf)))

    def _roll_out(self, node: Node, floor: float) -> tuple[float, tuple[int, ...] | None]:
        """Fill the open roles: children drawn by their prior until two roles are open, which are solved exactly.

        A node with two open roles is closed by it. Returns the value and the candidates in search order; a roll-out
        that runs into a dead end is worth the floor's lowest and yields no team."""
        prefix, bounds = node.prefix, node.bounds
        while len(prefix) < self.roles - 2:
            if np.max(bounds) == -np.inf:
                return (self.lowest if np.isfinite(self.lowest) else floor), None
            below = np.max(bounds) <= floor
            upto = np.cumsum(self._weights(bounds, np.nextafter(np.max(bounds), -np.inf) if below else floor))
            prefix = (*prefix, int(np.searchsorted(upto, self.random.random() * upto[-1], side="right")))
            bounds = self.completion.children(prefix)
        child = int(np.argmax(bounds))
        value = float(bounds[child])
        if prefix == node.prefix:
            node.bounds = np.full_like(bounds, -np.inf)
        if value == -np.inf:
            return (self.lowest if np.isfinite(self.lowest) else floor), None
        return value, self.completion.best_last(prefix, child)
