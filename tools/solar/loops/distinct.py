"""How many different values an expression may have: what has to be evaluated once, whatever the loops around repeat.

Two turns that read the same elements and the same loop variables get the same value, so work is charged by different
elements read, not by turns: `exp(x[i + k])` needs an evaluation for each `i + k`. Operands may change places:
`x[i] * x[j]` is `x[j] * x[i]`, so that a matrix times its own transpose needs half. Where `select` chooses by loop
variables, the branch with most different values counts and constant ones cost nothing, so that a count is never too
high.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import Form, Space
from enlist.tools.solar.loops.footprint import touched
from enlist.tools.solar.loops.placed import any_access
from enlist.tools.solar.loops.polyhedra import Set, feasible, simplified, subtracted
from enlist.tools.solar.loops.program import Access, Expr, Name, Num, Op, parts

_MOST_BRANCHES = 16
_MOST_TURNED = 8
_MOST_JOINED = 12
_EITHER_WAY = ("+", "*", "min", "max")
Variant = tuple[tuple[Set, ...], tuple[Form, ...]]


def values(exprs: Sequence[Expr], space: Space, sets: tuple[Set, ...], ties: Mapping[str, set[str]]) -> int:
    """Different combinations of values of some expressions over the points of `sets`, or fewer.

    Args:
        space: what names mean at these points.
        ties: by loop variable the tensors whose values change from turn to turn.
    """
    variants, inside = _variants(exprs, space, sets, ties)
    pairs, size = _pairs(exprs)
    if pairs and len(variants) == 1 and size == 2 ** len(pairs) <= _MOST_TURNED:
        return _either_way(exprs, pairs, space, sets, ties)
    return max((-(-_held(where, forms, inside) // size) for where, forms in variants if forms), default=0)


def _variants(exprs: Sequence[Expr], space: Space, sets: tuple[Set, ...],
              ties: Mapping[str, set[str]]) -> tuple[list[Variant], Space]:
    inside = space.copy()
    variants: list[Variant] = [(sets, ())]
    for expr in exprs:
        variants = _joined(variants, expr, inside, ties)
    return variants, inside


def _sets(where: tuple[Set, ...], inside: Space, more: Sequence[Form] = ()) -> list[Set]:
    return [s for one in where if (s := simplified([*one, *inside.held, *more])) is not None]


def _held(where: tuple[Set, ...], forms: tuple[Form, ...], inside: Space) -> int:
    return touched([(s, forms) for s in _sets(where, inside)]).elements


def skeleton(expr: Expr, label: Callable[[str], str] = str) -> Expr:
    """An expression without what its indices, loop variables and sizes are; `label` names its tensors."""
    if isinstance(expr, Access):
        return Access(label(expr.tensor), tuple(Name("") for _ in expr.indices))
    if isinstance(expr, Op):
        return Op(expr.name, tuple(skeleton(a, label) for a in expr.args))
    return Name("") if isinstance(expr, Name) else expr


@dataclass(frozen=True)
class Use:
    """Work that some expressions need: `key` tells what could be the same work elsewhere, `amount` is what it takes
    alone, `each` what one combination of values takes; `images` are these, None where they cannot be joined."""

    key: tuple[object, ...]
    amount: int
    each: int
    images: tuple[tuple[Set, tuple[Form, ...]], ...] | None


def use(kind: str, exprs: Sequence[Expr], amount: int, each: int, space: Space, sets: tuple[Set, ...],
        ties: Mapping[str, set[str]], label: Callable[[str], str]) -> Use:
    """Work of a kind on expressions; the order of several does not matter."""
    ordered = sorted((_ordered(e, label) for e in exprs), key=lambda e: repr(skeleton(e, label)))
    variants, inside = _variants(ordered, space, sets, ties)
    images = None
    if len(variants) == 1 and _pairs(ordered)[1] == 1 and variants[0][1]:
        images = tuple((s, variants[0][1]) for s in _sets(variants[0][0], inside))
    return Use((kind, each, *(skeleton(e, label) for e in ordered)), amount, each, images)


def _ordered(expr: Expr, label: Callable[[str], str]) -> Expr:
    """The expression with operands that may change places in one order."""
    if not isinstance(expr, Op):
        return expr
    args = [_ordered(a, label) for a in expr.args]
    if expr.name in _EITHER_WAY:
        args.sort(key=lambda a: repr(skeleton(a, label)))
    return Op(expr.name, tuple(args))


@dataclass
class Shared:
    """What was charged so far in a program: the same work on the same values is charged once."""

    used: dict[tuple[object, ...], list[Use]] = field(default_factory=dict)
    charged: dict[tuple[object, ...], int] = field(default_factory=dict)
    joint: dict[tuple[object, ...], int] = field(default_factory=dict)

    def more(self, one: Use) -> int:
        """What a use adds to those before it: by the union of their values, else what it takes beyond the largest."""
        before = self.used.setdefault(one.key, [])
        if not before:
            before.append(one)
            self.charged[one.key] = one.amount
            return one.amount
        if any(u.images == one.images and one.images is not None and u.amount >= one.amount for u in before):
            return 0
        every = [*before, one]
        if len(every) <= _MOST_JOINED and all(u.images is not None for u in every):
            lengths = {len(forms) for u in every for _, forms in u.images or ()}
            all_images = [i for u in every for i in u.images or ()]
            found = touched(all_images) if len(lengths) == 1 else None
            if found is not None and found.exact:
                had = self.joint.get(one.key) or touched([i for u in before for i in u.images or ()]).elements
                added = min(one.amount, one.each * max(0, found.elements - had))
                self.joint[one.key] = found.elements
                before.append(one)
                self.charged[one.key] += added
                return added
        added = max(0, one.amount - self.charged[one.key])
        before.append(Use(one.key, one.amount, one.each, None))
        self.charged[one.key] += added
        return added


def _pairs(exprs: Sequence[Expr]) -> tuple[list[Op], int]:
    """Operators whose two operands have the same form and may change places, the factors of a product among them, and
    in how many ways all operands may be arranged."""
    found: list[Op] = []
    size = 1
    whole = [Op("*", tuple(exprs))] if len(exprs) == 2 else []
    for one in (*whole, *(e for x in exprs for e in parts(x))):
        if isinstance(one, Op) and one.name in _EITHER_WAY:
            forms = [skeleton(a) for a in one.args if any_access(a)]
            alike = prod(forms[:n + 1].count(form) for n, form in enumerate(forms))
            size *= alike
            found += [one] if alike > 1 and len(one.args) == 2 else []
    return list(dict.fromkeys(found)), size


def _either_way(exprs: Sequence[Expr], pairs: Sequence[Op], space: Space, sets: tuple[Set, ...],
                ties: Mapping[str, set[str]]) -> int:
    """Different values where the operands of `pairs` may change places: with U the combinations of all arrangements,
    at least U over the number of these; of one pair also half of those that changing places leaves as they are."""
    images: list[tuple[Set, Sequence[Form]]] = []
    for chosen in product((False, True), repeat=len(pairs)):
        turned = [p for p, c in zip(pairs, chosen, strict=True) if c]
        ((where, forms),), inside = _variants(_turned(exprs, turned), space, sets, ties)
        images += [(s, forms) for s in _sets(where, inside)]
    every = touched(images)
    size = 2 ** len(pairs)
    if not every.exact:
        ((where, forms),), inside = _variants(exprs, space, sets, ties)
        return -(-_held(where, forms, inside) // size)
    same = 0
    if len(pairs) == 1:
        ((where, forms),), inside = _variants(exprs, space, sets, ties)
        ((_, mirrored),), inside = _variants(_turned(exprs, pairs), inside, sets, ties)
        equal = [f for a, b in zip(forms, mirrored, strict=True) for d in [a.plus(b, -1)] for f in (d, d.times(-1))]
        same = touched([(s, forms) for s in _sets(where, inside, equal)]).elements
    return -(-(every.elements + same) // size)


def _turned(exprs: Sequence[Expr], pairs: Sequence[Op]) -> list[Expr]:
    """The expressions with the operands of some operators the other way round."""
    def turned(one: Expr) -> Expr:
        if not isinstance(one, Op):
            return one
        args = tuple(turned(a) for a in one.args)
        return Op(one.name, args[::-1] if one in pairs else args)
    made = [turned(e) for e in exprs]
    return made[::-1] if len(exprs) == 2 and Op("*", tuple(exprs)) in pairs else made


def _joined(variants: list[Variant], expr: Expr, space: Space, ties: Mapping[str, set[str]]) -> list[Variant]:
    if len(variants) > _MOST_BRANCHES:
        return variants[:_MOST_BRANCHES]
    if isinstance(expr, Num):
        return variants
    if isinstance(expr, Access):
        turns = tuple(Form.var(v) for v, names in ties.items() if expr.tensor in names)
        made = [(sets, (*forms, *turns)) for sets, forms in variants]
        if not expr.indices:
            made = [(sets, (*forms, Form())) for sets, forms in made]
        for index in expr.indices:
            if any_access(index):
                made = _joined(made, index, space, ties)
            else:
                form = space.form(index)  # kept where it is constant, so that the same place means the same dimension
                made = [(sets, (*forms, form)) for sets, forms in made]
        return made
    if not any_access(expr):
        try:
            form = space.form(expr)
        except EnlistError:
            if isinstance(expr, Name):
                raise
        else:
            return [(sets, (*forms, form) if form.terms else forms) for sets, forms in variants]
    assert isinstance(expr, Op)
    if expr.name == "select" and space.is_affine_test(expr.args[0]):
        forms = tuple(space.conditions(expr.args[0]))
        chosen, other = [], []
        for sets, known in variants:
            both = [s for one in sets if (s := simplified([*one, *space.held])) is not None]
            inside = (simplified([*one, *forms]) for one in both)
            chosen.append((tuple(s for s in inside if s is not None and feasible(s)), known))
            other.append((tuple(s for one in both for s in subtracted(one, forms)), known))
        return _joined(chosen, expr.args[1], space, ties) + _joined(other, expr.args[2], space, ties)
    for part in expr.args:
        variants = _joined(variants, part, space, ties)
    return variants
