"""The sentences that every number from a captured PyTorch model rests on."""

from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.pytorch.load import Loaded
from enlist.tools.solar.pytorch.recorder import Recorder


def sentences(recorder: Recorder, loaded: Loaded, mode: str) -> list[str]:
    """Inputs, sizes that are taken as batch and length, dtype, mode, where the model was constructed, and choices that
    were made on the way (`recorder.choices`)."""
    inputs = [t for t in recorder.tensors.values() if t.role == "input"]
    listed = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in inputs)
    lines = [f"inputs: {listed}" if inputs else "inputs: none"]
    if inputs and inputs[0].shape:
        first = inputs[0]
        lines.append(f"first dimension of {first.name}: {first.shape[0]} (taken as batch)")
        if len(first.shape) == (2 if first.dtype in ("int64", "int32") else 3 if first.dtype in FLOATS else 0):
            lines.append(f"second dimension of {first.name}: {first.shape[1]} (taken as sequence length)")
    lines.append(f"dtype: {_floats(list(recorder.tensors.values()))}")
    lines.append(f"mode: {mode}")
    lines.append(f"constructed on the {loaded.constructed_on} device" + (
        "" if loaded.constructed_on == "meta" else ", because it could not be made on the meta device"))
    return lines + list(dict.fromkeys(recorder.choices))


def _floats(tensors: list[Tensor]) -> str:
    """The floating dtypes of parameters and inputs, apart where they differ."""
    of = {role: " and ".join(sorted({t.dtype for t in tensors if t.role == role and t.dtype in FLOATS}))
          for role in ("parameter", "input")}
    if of["parameter"] and of["input"] and of["parameter"] != of["input"]:
        return f"parameters {of['parameter']}, inputs {of['input']}"
    return of["parameter"] or of["input"] or "no floating tensors"
