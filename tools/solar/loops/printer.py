"""A program as text: `parse(show(program)) == program`."""

from collections.abc import Iterator

from enlist.tools.solar.loops.program import Access, Assign, Expr, For, Name, Num, Program, Statement

_RANK = {"or": 1, "and": 2, "not": 3, **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), 4), "+": 5, "-": 5,
         "*": 6, "/": 6, "//": 6, "%": 6, "neg": 7}


def show(program: Program) -> str:
    """The text of a program."""
    lines = [f"program {program.name}"]
    lines += [f"size {s.name} = {show_expr(s.value)}" for s in program.sizes]
    lines += [f"{t.role} {t.name}: {t.dtype}[{', '.join(map(show_expr, t.shape))}]" for t in program.tensors]
    return "\n".join([*lines, *_body(program.body, "")]) + "\n"


def _body(body: tuple[Statement, ...], indent: str) -> Iterator[str]:
    for one in body:
        if isinstance(one, Assign):
            yield indent + show_assign(one)
            continue
        if isinstance(one, For):
            step = f" step {one.step}" if one.step != 1 else ""
            head = f"for {one.var} in {show_expr(one.lower, 5)}..{show_expr(one.upper, 5)}{step}"
        else:
            head = f"if {show_expr(one.test)}"
        yield f"{indent}{head} {{"
        yield from _body(one.body, indent + "  ")
        yield indent + "}"


def show_assign(one: Assign) -> str:
    """One statement as text."""
    return f"{show_expr(one.target)} {one.update} {show_expr(one.value)}"


def show_expr(expr: Expr, least: int = 0) -> str:
    """An expression, in brackets where what stands around binds tighter than `least`."""
    if isinstance(expr, Num):
        return repr(expr.value)
    if isinstance(expr, Name):
        return expr.id
    if isinstance(expr, Access):
        return f"{expr.tensor}[{', '.join(map(show_expr, expr.indices))}]"
    rank = _RANK.get(expr.name)
    if rank is None:
        return f"{expr.name}({', '.join(map(show_expr, expr.args))})"
    if expr.name == "neg":
        text = f"-{show_expr(expr.args[0], rank)}"
    elif expr.name == "not":
        text = f"not {show_expr(expr.args[0], rank)}"
    else:
        left, right = expr.args
        loose = rank + 1 if rank == 4 else rank  # comparisons do not chain
        text = f"{show_expr(left, loose)} {expr.name} {show_expr(right, rank + 1)}"
    return f"({text})" if rank < least else text
