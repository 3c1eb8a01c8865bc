"""Loops, branches and code on a mesh of devices: bodies are recorded once, with how often they run.

The trip count of a `while` is that of the loop's own scalars, where these follow from numbers in the program: they are
run, alone, on the CPU. Where it depends on data, no turn is sure, and a lower bound counts none, unless the user says
how many. Of the branches of a `cond` whose index is not known, a lower bound counts the cheaper one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.jaxpr.recorder import Counter, Number, Scope, Value, contiguous, dtype_of, shape_of

if TYPE_CHECKING:
    from enlist.tools.solar.jaxpr.lower import Lowering

MOST_TURNS = 10_000_000
"""A loop of scalars is followed so far."""
_FEW = 4096
_OUTSIDE = ("input", "parameter", "buffer", "constant")


def scan(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> list[Value]:
    """A loop over stacked inputs: each turn sees its slice of them, and writes its part of the stacked results."""
    params = eqn.params
    body, turns = params["jaxpr"], int(params["length"])
    consts, carries = params["num_consts"], params["num_carry"]
    if turns == 0:
        return [*inputs[consts:consts + carries], *(low.result(v) for v in eqn.outvars[carries:])]
    inner, where = scope.inside(turns), low.where(eqn)
    variables = body.jaxpr.invars
    held = inputs[:consts]
    carried = _carried(low, body.jaxpr, body.jaxpr.outvars, consts, inputs[consts:consts + carries],
                       variables[consts:consts + carries], inner)
    slices = [_turn(low, value, var, inner, where) for value, var in zip(
        inputs[consts + carries:], variables[consts + carries:], strict=True)]
    made = low.closed(body, [*held, *carried, *slices], inner)
    return [*(low.held(m, v) for m, v in zip(made[:carries], eqn.outvars, strict=False)),
            *(_in_place(low, m, slices, inputs[consts + carries:], var, scope)
              or _stacked(low, m, body_var, var, inner, where) for m, body_var, var in zip(
                made[carries:], body.jaxpr.outvars[carries:], eqn.outvars[carries:], strict=True))]


def _turn(low: Lowering, value: Value, var: Any, inner: Scope, where: str) -> Value:
    """What one turn sees of a stacked input."""
    if isinstance(value, Number):
        return value
    base = low.recorder.tensors[value]
    shape = shape_of(var.aval)
    return low.recorder.view("loop_slice", value, shape, base.strides[len(base.shape) - len(shape):], inner, where)


def _in_place(low: Lowering, made: Value, slices: Sequence[Value], stacks: Sequence[Value], var: Any,
              scope: Scope) -> str | None:
    """The stack that a turn's result is its own slice of, written in part: then nothing else is copied."""
    at: str | None = made if isinstance(made, str) else None
    while at is not None and at not in slices:
        base = low.recorder.tensors[at].alias_of
        at = base if base is not None and low.recorder.tensors[base].shape == low.recorder.tensors[at].shape else None
    if at is None or at == made:
        return None
    stack = stacks[slices.index(at)]
    if not isinstance(stack, str) or low.recorder.tensors[stack].shape != shape_of(var.aval):
        return None
    base_of = low.recorder.tensors[stack]
    return low.recorder.view("lax.written", stack, base_of.shape, base_of.strides, scope)


def _stacked(low: Lowering, made: Value, body_var: Any, var: Any, inner: Scope, where: str) -> str:
    """The stacked result. Its parts are where the body's operators write them; only a part that is a view of something
    must be copied."""
    out = low.result(var)
    if type(var).__name__ == "DropVar":
        return out
    part = low.held(made, body_var)
    fresh = low.recorder.tensors[part].alias_of is None
    low.recorder.node("lax.stack", (part,), (out,), inner, where, fresh=fresh)
    return out


def _carried(low: Lowering, body: Any, results: Sequence[Any], first: int, inits: Sequence[Value],
             variables: Sequence[Any], inner: Scope) -> list[str]:
    """What the body sees of the carry: what came from outside at first, hence a view of it; else a tensor on chip."""
    out = []
    for place, (init, var) in enumerate(zip(inits, variables, strict=True)):
        shape, dtype = shape_of(var.aval), dtype_of(var.aval)
        if isinstance(init, str) and low.recorder.root(init).role in _OUTSIDE and shape:
            base = low.recorder.tensors[init]
            at = low.recorder.view("lax.carry", init, shape, base.strides, inner)
        else:
            at = low.recorder.tensor(shape, dtype)
        counter = _counts(low, body, results, first + place, place, init)
        if counter is not None:
            low.recorder.counters[at] = counter
        out.append(at)
    return out


def _counts(low: Lowering, body: Any, results: Sequence[Any], argument: int, place: int, init: Value) -> Counter | None:
    """Whether a carried scalar is a counter: `i + c` in every turn."""
    var, out = body.invars[argument], results[place]
    start = low.values.integer(init.value if isinstance(init, Number) else init)
    if start is None or getattr(var.aval, "shape", None) != () or "int" not in str(var.aval.dtype):
        return None
    for eqn in body.eqns:
        if out in eqn.outvars and eqn.primitive.name == "add" and len(eqn.invars) == 2:
            steps = [a for a in eqn.invars if a is not var]
            if len(steps) == 1 and hasattr(steps[0], "val"):
                return Counter(start, int(steps[0].val))
    return None


def while_(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> list[Value]:
    """A loop until a condition fails."""
    params = eqn.params
    tests, works = params["cond_nconsts"], params["body_nconsts"]
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    asked, held, inits = inputs[:tests], inputs[tests:tests + works], inputs[tests + works:]
    turns = trip_count(low, eqn, inputs)
    if turns is None:
        turns = low.trips
        told = f"{turns} turns, as given" if turns is not None else (
            "its trip count depends on data: no turn is sure, so a lower bound counts none; give it as trips=N in the "
            "inputs")
        low.recorder.choices.append(f"while loop at {low.where(eqn) or 'an unknown line'}: {told}")
    if turns < 1 if turns is not None else True:
        low.closed(test, [*asked, *inits], scope)
        return [low.held(i, v) for i, v in zip(inits, eqn.outvars, strict=True)]
    assert turns is not None
    inner = scope.inside(turns)
    carried = _carried(low, body.jaxpr, body.jaxpr.outvars, works, inits, body.jaxpr.invars[works:], inner)
    low.closed(test, [*asked, *carried], inner)
    made = low.closed(body, [*held, *carried], inner)
    return [low.held(m, v) for m, v in zip(made, eqn.outvars, strict=True)]


def trip_count(low: Lowering, eqn: Any, inputs: list[Value]) -> int | None:
    """How often a `while` turns, None where that follows from data or exceeds `MOST_TURNS`."""
    import jax
    import numpy as np
    from jax.interpreters import partial_eval

    params = eqn.params
    tests, works = params["cond_nconsts"], params["body_nconsts"]
    test, body = params["cond_jaxpr"], params["body_jaxpr"]
    inits = range(tests + works, len(inputs))
    needed = sorted(_needed_carries(test, body, tests, works, partial_eval))
    if test.consts or body.consts or not needed:
        return None
    thin_test, of_test = partial_eval.dce_jaxpr(test.jaxpr, [True])
    thin_body, of_body = partial_eval.dce_jaxpr(body.jaxpr, [p in needed for p in range(len(inits))])
    places = [i for i in range(tests) if of_test[i]] + [tests + i for i in range(works) if of_body[i]] + [
        inits[p] for p in needed]
    found: dict[int, Any] = {}
    for place in places:
        value, aval = inputs[place], eqn.invars[place].aval
        known = value.value if isinstance(value, Number) else low.values.array(value)
        if known is None or np.size(known) > _FEW:
            return None
        found[place] = np.asarray(known, aval.dtype)

    def arguments(carry: Any, used: list[bool], consts: range) -> list[Any]:
        every = [*(found.get(i) for i in consts), *(carry[needed.index(p)] if p in needed else None
                                                    for p in range(len(inits)))]
        return [v for v, kept in zip(every, used, strict=True) if kept]

    def goes_on(state: Any) -> Any:
        given = arguments(state[1], of_test, range(tests))
        return (state[0] < MOST_TURNS) & jax.core.eval_jaxpr(thin_test, (), *given)[0]

    def turn(state: Any) -> Any:
        given = arguments(state[1], of_body, range(tests, tests + works))
        return state[0] + 1, tuple(jax.core.eval_jaxpr(thin_body, (), *given))

    count = int(jax.lax.while_loop(goes_on, turn, (0, tuple(found[inits[p]] for p in needed)))[0])
    return count if count < MOST_TURNS else None


def _needed_carries(test: Any, body: Any, tests: int, works: int, partial_eval: Any) -> set[int]:
    """Places of the carry on which the condition depends, through any number of turns."""
    _, used = partial_eval.dce_jaxpr(test.jaxpr, [True])
    count = len(test.jaxpr.invars) - tests
    needed = {p for p in range(count) if used[tests + p]}
    while True:
        _, used = partial_eval.dce_jaxpr(body.jaxpr, [p in needed for p in range(count)])
        more = needed | {p for p in range(count) if used[works + p]}
        if more == needed:
            return needed
        needed = more


def cond(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> list[Value]:
    """One of several branches: the one that the index names; else one that needs no more than the others of anything;
    else only what every branch writes."""
    branches = eqn.params["branches"]
    index = low.values.integer(inputs[0].value if isinstance(inputs[0], Number) else inputs[0])
    if index is not None:
        return _branch(low, eqn, branches[min(max(index, 0), len(branches) - 1)], inputs[1:], scope)
    before = low.recorder.snapshot()
    costs = []
    for branch in branches:
        outputs = _branch(low, eqn, branch, inputs[1:], scope)
        costs.append(_cost(low, len(before[1]), [v for v in outputs if isinstance(v, str)]))
        low.recorder.restore(before)
    place = f"branch at {low.where(eqn) or 'an unknown line'}: which of {len(branches)} runs depends on data"
    for number, cost in enumerate(costs):
        if all(mine <= n for other in costs for mine, n in zip(cost, other, strict=True)):
            low.recorder.choices.append(f"{place}; the cheapest, number {number}, is counted")
            return _branch(low, eqn, branches[number], inputs[1:], scope)
    low.recorder.choices.append(f"{place}; each is cheaper in something, so only what all of them write is counted")
    made = [low.recorder.tensor(shape_of(v.aval), dtype_of(v.aval)) for v in eqn.outvars]
    low.recorder.node("lax.empty", [], made, scope, low.where(eqn))
    return [low.held(m, v) for m, v in zip(made, eqn.outvars, strict=True)]


def _branch(low: Lowering, eqn: Any, branch: Any, inputs: list[Value], scope: Scope) -> list[Value]:
    made = low.closed(branch, inputs, scope)
    return [low.held(m, v) for m, v in zip(made, eqn.outvars, strict=True)]


def _cost(low: Lowering, since: int, outputs: list[str]) -> tuple[int, int, int, int]:
    """FLOP of matrix and of vector units, special functions, and elements moved, of what was recorded since."""
    from enlist.tools.solar.rules.table import work

    graph = Graph(target="branch", tensors=tuple(low.recorder.tensors.values()), nodes=tuple(low.recorder.nodes),
                  assumed=())
    matrix = vector = special = moved = 0
    for node in graph.nodes[since:]:
        if all(graph.by_id[t].alias_of for t in node.outputs):
            continue
        cost = work(graph, node)
        if cost is not None:
            matrix += cost.matrix_flop * node.repeat
            vector += cost.vector_flop * node.repeat
            special += cost.special * node.repeat
        moved += sum(graph.by_id[t].elements for t in (*node.inputs, *node.outputs)) * node.repeat
    return matrix, vector, special, moved


def shard_map(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> list[Value]:
    """Code of one device of a mesh: it sees its shards, and so does everything after it."""
    params = eqn.params
    axes = dict(scope.axes) | {str(k): int(v) for k, v in dict(params["mesh"].shape).items()}
    body = params["jaxpr"]
    variables = getattr(body, "jaxpr", body).invars
    inner = Scope(scope.repeat, scope.turns, axes)
    shards: list[Value] = []
    for value, var in zip(inputs, variables, strict=True):
        shape = shape_of(var.aval)
        if isinstance(value, str) and low.recorder.tensors[value].shape != shape:
            value = low.recorder.view("lax.shard", value, shape, contiguous(shape), scope, low.where(eqn))
        shards.append(value)
    sizes = ", ".join(f"{k}={v}" for k, v in axes.items())
    low.recorder.choices.append(f"shard_map: one device of the mesh {sizes} is priced, with its shards")
    made = low.closed(body, shards, inner)
    return [low.held(m, v) for m, v in zip(made, eqn.outvars, strict=True)]


def linear_solve(low: Lowering, eqn: Any, inputs: list[Value], scope: Scope) -> list[Value]:
    """A solver with its own derivative: what runs is its `solve`."""
    lengths, solve = eqn.params["const_lengths"], eqn.params["jaxprs"].solve
    first = lengths.matvec + lengths.vecmat
    every = lengths.matvec + lengths.vecmat + lengths.solve + lengths.transpose_solve
    made = low.closed(solve, [*inputs[first:first + lengths.solve], *inputs[every:]], scope)
    return [low.held(m, v) for m, v in zip(made, eqn.outvars, strict=False)]


LOOPS: Mapping[str, Callable[..., list[Value]]] = {"scan": scan, "while": while_, "cond": cond,
                                                   "shard_map": shard_map, "custom_linear_solve": linear_solve}
