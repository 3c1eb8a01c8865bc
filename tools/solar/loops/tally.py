"""What one statement costs: as written, and at the least.

At the least, an expression is evaluated once for each combination of the loop variables that it depends on, not once
for each turn; equal expressions of a statement once; a sum of products in its cheapest order.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from enlist.tools.solar.loops.affine import Form, Space, all_vars
from enlist.tools.solar.loops.contraction import factors, least, spine
from enlist.tools.solar.loops.counting import components, count
from enlist.tools.solar.loops.distinct import Shared, use, values
from enlist.tools.solar.loops.footprint import touched
from enlist.tools.solar.loops.placed import Placed, any_access, domain, events, index_forms, used_names
from enlist.tools.solar.loops.polyhedra import Set
from enlist.tools.solar.loops.program import Access, Expr, Op, accesses
from enlist.tools.solar.loops.types import FLOATS, cost, divides_by_variable, dtype_of, promoted
from enlist.tools.solar.work import Nest


@dataclass(frozen=True)
class Tally:
    """FLOP and special evaluations `as written` (every turn) and at the least; `nest` where it is a matrix product."""

    points: int
    written_flop: int = 0
    written_special: int = 0
    matrix: int = 0
    vector: int = 0
    special: int = 0
    nest: Nest | None = None
    equation: str = ""
    window: bool = False
    less: tuple[str, ...] = ()


def tally(one: Placed, dtypes: Mapping[str, str], ties: Mapping[str, set[str]], shared: Shared,
          label: Callable[[str], str] = str) -> Tally:
    """Count a statement; `ties` are the tensors that each loop around it carries, by its variable. What `shared` has
    been charged with already is left out; `label` names the tensors there."""
    where = domain(one)
    points = count(where)
    if where is None or not points:
        return Tally(0)
    statement = one.statement
    product = _product(one, ties)
    joins = spine(statement.value) if product else []
    written_flop = written_special = vector = special = saved = 0
    tied = _tied(one, ties)

    def charge(kind: str, exprs: list[Expr], amount: int, each: int, space: Space, sets: tuple[Set, ...]) -> int:
        return shared.more(use(kind, exprs, amount, each, space, sets, tied, label)) if amount else 0

    for event in (e for e in events(one) if isinstance(e.expr, Op) and e.sure):
        expr = event.expr
        assert isinstance(expr, Op)
        flop, functions = cost(expr, dtypes)
        divides = divides_by_variable(expr, dtypes)
        if not flop and not functions and not divides:
            continue
        turns = sum(count(s) for s in event.sets)
        written_flop += flop * turns
        written_special += (functions + divides) * turns
        once = values([expr], event.space, event.sets, tied)
        alone = charge("vector", [expr], flop * once, flop, event.space, event.sets)
        if not any(expr is node for node in joins):
            vector += alone
        else:  # its products are among the work of the sum; what other statements multiply too is saved there
            saved += flop * once - alone
        special += charge("special", [expr], functions * once, functions, event.space, event.sets)
        if divides:
            apart = values([expr.args[1]], event.space, event.sets, tied)
            special += charge("reciprocal", [expr.args[1]], apart, 1, event.space, event.sets)
    floating = promoted([dtypes[statement.target.tensor], dtype_of(statement.value, dtypes)]) in (*FLOATS, "float")
    if statement.update != "=":
        written_flop += points if floating else 0
    less: list[str] = []
    if not product:
        if statement.update != "=" and floating:  # sums may share terms, as those of a window that slides do
            terms = values([statement.value], one.space, (where,), tied)
            vector += charge(statement.update, [statement.value], terms, 1, one.space, (where,))
        if vector + special < written_flop + written_special and floating:
            less.append("what loops do not change is computed once")
        return Tally(points, written_flop, written_special, 0, vector, special, less=tuple(less))
    cheapest, nest = _cheapest(one, product, where, ties)
    if cheapest is None:
        whole, why = _coupled(one, product, where, ties)
    else:
        whole, why = cheapest[0], "products in their cheapest order" if sum(cheapest) < 2 * points else ""
        vector += charge("first sums", product, cheapest[1], 1, one.space, (where,))
    less += [why] if why else []
    again = max(0, charge("matrix", product, whole, 2, one.space, (where,)) - saved)
    if again < whole:
        whole = again
        less.append("what another statement computes too is computed once")
        nest = None
    return Tally(points, written_flop, written_special, whole, vector, special, nest, _equation(one, product),
                 _window(one, product, where), tuple(less))


def _variables(expr: Expr, one: Placed, ties: Mapping[str, set[str]]) -> set[str]:
    """The loop counters on which an expression's value depends."""
    named = all_vars(one.space.names[n] for n in used_names(expr) if n in one.space.names)
    read = {a.tensor for a in accesses(expr)}
    return (named | {v for v in one.vars if ties.get(v, set()) & read}) & one.vars


def _product(one: Placed, ties: Mapping[str, set[str]]) -> list[Expr]:
    """The factors of a sum of products over at least one loop, else nothing."""
    statement = one.statement
    if statement.update != "+=":
        return []
    found = factors(statement.value)
    reading = [f for f in found if any_access(f)]
    outer = _variables(statement.target, one, {})
    reduced = set().union(*(_variables(f, one, ties) for f in found)) - outer
    return reading if len(reading) >= 2 and reduced else []


def _coupled(one: Placed, product: list[Expr], where: Set, ties: Mapping[str, set[str]]) -> tuple[int, str]:
    """In loops that depend on each other: FLOP that no order of products and sums avoids, and why these are fewer than
    a product and a sum for each point. Factors that the sum does not change can wait for it."""
    out = _variables(one.statement.target, one, {})
    live = [f for f in product if not _variables(f, one, ties) <= out]
    parts = [_variables(f, one, ties) for f in live]
    together = set().union(*parts)
    different = values(live, one.space, (where,), _tied(one, ties))
    if len(live) == 1:
        return different, "sums of one factor come first"
    if len(live) > 2:
        return 2 * _combinations(where, out & together), "the order of products is not known"
    lone = (parts[0] ^ parts[1]) - out
    least_points = min(different, _combinations(where, together - lone))
    why = "sums of one factor come first" if lone else "" if out <= together else "sums may share terms"
    return 2 * least_points, why


def _combinations(where: Set, variables: set[str]) -> int:
    return touched([(where, [Form.var(v) for v in sorted(variables)])]).elements


def _tied(one: Placed, ties: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {v: ties[v] for v in one.vars if ties.get(v)}


def _sizes(where: Set, variables: set[str]) -> dict[str, int]:
    """How many values each loop counter has, where they are independent; else nothing."""
    groups = components(where)
    if any(len(all_vars(g) & variables) > 1 for g in groups):
        return {}
    sizes = {v: count(g) for g in groups for v in all_vars(g) & variables}
    return sizes if set(sizes) == variables else {}


def _cheapest(one: Placed, product: list[Expr], where: Set,
              ties: Mapping[str, set[str]]) -> tuple[tuple[int, int] | None, Nest | None]:
    """The cheapest order of a product in independent loops, and the matrix product that it is."""
    sizes = _sizes(where, one.vars)
    if not sizes:
        return None, None
    out = frozenset(_variables(one.statement.target, one, {}))
    parts = [frozenset(_variables(f, one, ties)) for f in product]
    best = least(parts, out, sizes)
    if best is None:
        return None, None

    def size(group: frozenset[str]) -> int:
        return prod(sizes[v] for v in group)

    tied = _tied(one, ties)
    plain = [values([f], one.space, (where,), tied) == size(p) for f, p in zip(product, parts, strict=True)]
    if len(parts) != 2 or (all(plain) and _window(one, product, where)):
        return (best.matrix, best.vector), None
    shared = 2 * values(product, one.space, (where,), tied)
    if not all(plain) or shared < best.matrix:  # different turns multiply the same elements
        return (min(best.matrix, shared), best.vector if shared >= best.matrix else 0), None
    left, right = parts
    return (best.matrix, best.vector), Nest(size(left & right & out), size((left - right) & out),
                                            size((right - left) & out), size((left & right) - out))


def _window(one: Placed, product: list[Expr], where: Set) -> bool:
    """Whether a factor is read through a window that slides: an index of two loops, one of them summed over, that is
    the same for several pairs (a flat index i*n + j is not)."""
    out = _variables(one.statement.target, one, {})
    for access in (a for f in product for a in accesses(f)):
        forms, _ = index_forms(access, one.space, ())
        for form in (f for f in forms if f is not None and len(f.vars & one.vars) > 1 and f.vars & one.vars - out):
            pairs = touched([(where, [Form.var(v) for v in sorted(form.vars & one.vars)])])
            if touched([(where, [form])]).elements < pairs.elements:
                return True
    return False


def _equation(one: Placed, product: list[Expr]) -> str:
    """The product as an einsum; an index of several loops is written in brackets."""
    letters: dict[str, str] = {}

    def spelled(access: Access) -> str:
        forms, _ = index_forms(access, one.space, ())
        return "".join(index(f) for f in forms)

    def index(form: Form | None) -> str:
        if form is None:
            return "(*)"
        if not form.terms:
            return "(0)"
        names = [("" if c == 1 else str(c)) + letters.setdefault(v, chr(ord("a") + len(letters) % 26))
                 for v, c in form.terms]
        return names[0] if len(names) == 1 and len(names[0]) == 1 else f"({'+'.join(names)})"

    inputs = ",".join("".join(spelled(a) for a in accesses(f)[:1]) for f in product)
    return f"{inputs}->{spelled(one.statement.target)}"
