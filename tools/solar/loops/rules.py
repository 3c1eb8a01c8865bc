"""Rules of the "loop." operators: what `lift` counted, as `Work`."""

from enlist.tools.solar.work import Call, Nest, Rule, Work

_KINDS = {"contract": "matmul", "convolve": "convolution", "scatter": "vector", "scan": "vector", "reduce": "vector",
          "map": "vector", "copy": "move"}


def _counted(call: Call) -> Work | None:
    """The counts of a node's attributes; None where they are not those that `lift` writes."""
    values = call.node.attributes

    def number(name: str) -> int:
        value = values.get(name)
        return value if isinstance(value, int) and value >= 0 else 0

    likely, sure = values.get("reads"), values.get("surely")
    if not isinstance(likely, list) or not isinstance(sure, list) or {len(likely), len(sure)} != {
            len(call.node.inputs)}:
        return None
    nests = values.get("nests")
    return Work(
        _KINDS[call.node.op.removeprefix("loop.")], matrix_flop=number("matrix_flop"),  # type: ignore[arg-type]
        vector_flop=number("vector_flop"), special=number("special"), reads=_by_tensor(call, likely),
        surely=_by_tensor(call, sure), writes=number("writes"), equation=str(values.get("equation") or ""),
        nests=tuple(Nest(*n) for n in nests if isinstance(n, list) and len(n) == 4)  # type: ignore[arg-type]
        if isinstance(nests, list) else (), less=str(values.get("less") or ""),
        launches=max(1, number("launches")))


def _by_tensor(call: Call, counts: list) -> dict[str, int]:  # type: ignore[type-arg]
    made: dict[str, int] = {}
    for tensor, n in zip(call.node.inputs, counts, strict=True):
        made[tensor] = max(made.get(tensor, 0), int(n))
    return made


RULES: dict[str, Rule] = {f"loop.{kind}": _counted for kind in _KINDS}
