"""Which names a NumPy function assigns again, and which it changes in place: read from the syntax tree."""

import ast


def changed(node: ast.AST) -> set[str]:
    """Names whose elements a statement changes in place."""
    found = set()
    for one in ast.walk(node):
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AugAssign) else []
        for target in targets:
            if isinstance(one, ast.AugAssign) and isinstance(target, ast.Name):
                found.add(target.id)
            while isinstance(target, ast.Subscript):
                target = target.value
                if isinstance(target, ast.Name):
                    found.add(target.id)
    return found


def subscripted_names(function: ast.FunctionDef) -> set[str]:
    """Names whose elements the function assigns."""
    found = set()
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(
            node, ast.AugAssign) else []
        for target in targets:
            while isinstance(target, ast.Subscript):
                target = target.value
                if isinstance(target, ast.Name):
                    found.add(target.id)
    return found


def assigned_again(function: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """Names that are assigned twice or more (an argument once by the call), one of these times in a loop or condition;
    and those of them that are assigned in several loops or conditions."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    places: dict[str, list[tuple[int, ...]]] = {name: [()] for name in names}

    def visit(node: ast.AST, path: tuple[int, ...]) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            places.setdefault(node.id, []).append(path)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            places.setdefault(node.target.id, []).append(path)
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.For) and child is node.target:
                continue
            visit(child, (*path, id(node)) if isinstance(node, ast.For | ast.If) else path)
    for one in function.body:
        visit(one, ())
    kept = {n for n, at in places.items() if len(at) > 1 and any(at)}
    return kept, {n for n in kept if len(set(places[n])) > 1}
