"""The graph in which all front ends meet: operators over tensors with shapes, dtypes and structure, and no code.

A tensor is an allocation or a view into one (`alias_of`). A node is one operator, named by its front end: aten's own
names ("linear"), "lax." for JAX, "loop." for what is lifted from the Affine Loop IR; an operator whose outputs are all
views moves no data. What an operator costs is in `work`. A graph crosses from the sandbox as JSON: whoever reads one
may rely on what its validators check: ids are known, numbers are finite and not negative, aliases form no cycle.
"""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

Role = Literal["input", "parameter", "buffer", "constant", "intermediate", "output"]
Scalar = bool | int | float | str | None
Attribute = Scalar | list[Scalar] | list[list[Scalar]]

Phase = Literal["forward", "backward", "optimizer"]
"""Part of a training step. Phases are separate calls: what a later one uses of an earlier one crosses DRAM between."""

Structure = Literal["dense", "upper", "lower", "diagonal", "zero", "constant", "masked upper", "masked lower"]
"""What is known of a tensor's values: triangular in its last two dimensions, diagonal, all zero, all equal, or minus
infinity outside of a triangle, so that what is added to it has no weight there."""

ITEM_BITS: Mapping[str, int] = {
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "complex32": 32, "complex64": 64, "complex128": 128,
    "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8,
    "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6, "int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "int1": 1,
    "int64": 64, "int32": 32, "int16": 16, "int8": 8, "uint8": 8, "bool": 8, "uint16": 16, "uint32": 32, "uint64": 64,
}
"""Bits of one element by torch's dtype name; below 8 they are packed."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tensor(_Strict):
    """One tensor: `strides` in elements; `alias_of` names the tensor whose storage it shares; an output of the model
    has `is_output`, whatever its role. `structure` is what its values are known to be, `structure_from` says by what
    ("assumed from example", or the operator that makes it so)."""

    id: str
    shape: tuple[NonNegativeInt, ...]
    strides: tuple[NonNegativeInt, ...]
    dtype: str
    role: Role
    name: str = ""
    is_output: bool = False
    alias_of: str | None = None
    structure: Structure = "dense"
    structure_from: str = ""

    @model_validator(mode="after")
    def _fits(self) -> "Tensor":
        if self.dtype not in ITEM_BITS:
            raise ValueError(f"tensor {self.id}: unknown dtype {self.dtype!r}; one of {sorted(ITEM_BITS)}")
        if len(self.shape) != len(self.strides):
            raise ValueError(f"tensor {self.id}: {len(self.shape)} sizes but {len(self.strides)} strides")
        return self

    @property
    def elements(self) -> int:
        """The number of elements, repeated ones of an expanded tensor counted each time."""
        return prod(self.shape)

    def nbytes(self, elements: int) -> int:
        """Bytes that so many of its elements take."""
        return -(-elements * ITEM_BITS[self.dtype] // 8)

    @property
    def distinct(self) -> int:
        """A number of different elements of storage that the tensor addresses: exact where its dimensions do not
        overlap (an expanded dimension counts once), a lower bound where they do (sliding windows)."""
        if 0 in self.shape:
            return 0
        count, span = 1, 1  # span: elements of storage from the first to the last one addressed so far
        for stride, size in sorted((s, n) for s, n in zip(self.strides, self.shape, strict=True) if s and n > 1):
            if stride >= span:
                count *= size
                span += stride * (size - 1)
        return count


class Node(_Strict):
    """One operator: `slots` names the argument that each of `inputs` fills; `attributes` holds the other arguments.

    `repeat` is how often it runs: the body of a loop is in the graph once. Inside, the view operator `loop_slice` gives
    the part of its input that one iteration sees; over all iterations these parts are the whole input. `loop_stack`,
    also a view, is the part of its input, the stacked result, that one iteration writes. What an iteration hands to the
    next (the carry) is an intermediate.
    """

    id: str
    op: str
    where: str = ""
    inputs: tuple[str, ...]
    slots: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Attribute] = Field(default_factory=dict)
    repeat: int = Field(default=1, ge=1)
    phase: Phase = "forward"

    @model_validator(mode="after")
    def _fits(self) -> "Node":
        if len(self.inputs) != len(self.slots):
            raise ValueError(f"node {self.id}: {len(self.inputs)} inputs but {len(self.slots)} slots")
        return self

    def input(self, slot: str) -> str | None:
        """The tensor that fills an argument, if any (the first one of a list)."""
        return next((i for i, s in zip(self.inputs, self.slots, strict=True) if s == slot), None)


class Graph(_Strict):
    """A captured model; `assumed` are the sentences that every number from it rests on."""

    target: str
    tensors: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    assumed: tuple[str, ...]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> "Graph":
        """A changed copy, without what was cached for the old tensors."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("by_id", None)
        return copied

    @cached_property
    def by_id(self) -> dict[str, Tensor]:
        return {tensor.id: tensor for tensor in self.tensors}

    def root(self, tensor: str) -> str:
        """The tensor that owns the storage of `tensor`."""
        while (base := self.by_id[tensor].alias_of) is not None:
            tensor = base
        return tensor

    @model_validator(mode="after")
    def _closed(self) -> "Graph":
        if len(self.by_id) != len(self.tensors):
            raise ValueError("two tensors have the same id")
        seen: set[str] = set()
        for tensor in self.tensors:  # a base comes before its views, so aliases cannot turn in a circle
            if tensor.alias_of is not None and tensor.alias_of not in seen:
                raise ValueError(f"tensor {tensor.id} is an alias of {tensor.alias_of!r}, not of an earlier one")
            seen.add(tensor.id)
        for node in self.nodes:
            unknown = [t for t in (*node.inputs, *node.outputs) if t not in seen]
            if unknown:
                raise ValueError(f"node {node.id} names unknown tensors {unknown[:3]}")
        made = {t for node in self.nodes for t in node.outputs}
        loose = [t.id for t in self.tensors if t.alias_of is not None and t.id not in made]
        if loose:
            raise ValueError(f"no node makes the views {loose[:3]}")
        return self
