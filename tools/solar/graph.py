"""The graph that crosses from the sandbox: operators over tensors with shapes, strides and dtypes, and no code.

A tensor is an allocation or a view into one (`alias_of`). A node is one aten operator; an operator whose outputs are
all views moves no data. Whoever reads a `Graph` may rely on what its validators check: ids are known, numbers are
finite and not negative, aliases form no cycle.
"""

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

Role = Literal["input", "parameter", "buffer", "constant", "intermediate", "output"]
Scalar = bool | int | float | str | None
Attribute = Scalar | list[Scalar] | list[list[Scalar]]

ITEM_BYTES: Mapping[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "complex64": 8, "complex128": 16, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
    "uint16": 2, "uint32": 4, "uint64": 8,
}
"""Bytes of one element by torch's dtype name."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tensor(_Strict):
    """One tensor: `strides` in elements; `alias_of` names the tensor whose storage it shares; an output of the model
    has `is_output`, whatever its role."""

    id: str
    shape: tuple[NonNegativeInt, ...]
    strides: tuple[NonNegativeInt, ...]
    dtype: str
    role: Role
    name: str = ""
    is_output: bool = False
    alias_of: str | None = None

    @model_validator(mode="after")
    def _fits(self) -> "Tensor":
        if self.dtype not in ITEM_BYTES:
            raise ValueError(f"tensor {self.id}: unknown dtype {self.dtype!r}; one of {sorted(ITEM_BYTES)}")
        if len(self.shape) != len(self.strides):
            raise ValueError(f"tensor {self.id}: {len(self.shape)} sizes but {len(self.strides)} strides")
        return self

    @property
    def elements(self) -> int:
        """The number of elements, repeated ones of an expanded tensor counted each time."""
        return prod(self.shape)

    @property
    def item_bytes(self) -> int:
        return ITEM_BYTES[self.dtype]

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
    """One operator: `slots` names the argument that each of `inputs` fills; `attributes` holds the other arguments."""

    id: str
    op: str
    where: str = ""
    inputs: tuple[str, ...]
    slots: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Attribute] = Field(default_factory=dict)

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
