"""A branch on data as one operator: the lesser of what its two sides need, as capture has counted it. Float32 work of
either side may run at the rate of TF32, which some of it might."""

from enlist.tools.solar.work import Call, Rule, Work


def _cond(call: Call) -> Work:
    counts = call.attribute("least", [])
    read = dict(zip(call.node.inputs, (int(n) for n in counts), strict=False))
    matrix, vector, special = (int(call.attribute(kind, 0)) for kind in ("matrix", "vector", "special"))
    return Work("convolution" if matrix else "vector", matrix_flop=matrix, vector_flop=vector, special=special,
                reads=read, surely=read, multiply=call.attribute("dtype", None),
                less="the lesser of both branches in FLOP and in bytes")


RULES: dict[str, Rule] = {"cond": _cond}
