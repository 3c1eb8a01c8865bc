"""Paths at the edge: where a tool's input wants an artifact, a person gives a path, which is uploaded here.

No tool and no worker reads a path of the caller: what crosses is content by hash.
"""

import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from enlist.orchestrator.attach import attach
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory


def admit(model: type[BaseModel], data: Any, memory: Memory) -> Any:
    """`data` for `model` with every path that stands for an `ArtifactRef` replaced by the uploaded file's reference.

    A string is a path where the field takes an `ArtifactRef` and no string. What does not fit the model is left
    as it is, for the model to refuse.

    Raises:
        EnlistError: `not_found`, `bad_input` for a path that is no readable file.
    """
    if not isinstance(data, Mapping):
        return data
    fields = model.model_fields
    return {name: _admit(fields[name].annotation, value, memory) if name in fields else value
            for name, value in data.items()}


def _admit(annotation: Any, value: Any, memory: Memory) -> Any:
    options = _options(annotation)
    if isinstance(value, str):
        return _upload(value, memory) if ArtifactRef in options and str not in options else value
    for option in options:
        if isinstance(value, Mapping):
            if isinstance(option, type) and issubclass(option, BaseModel):
                if option is not ArtifactRef:
                    return admit(option, value, memory)
            elif get_origin(option) in (dict, Mapping):
                return {key: _admit(get_args(option)[1], item, memory) for key, item in value.items()}
        elif isinstance(value, list) and get_origin(option) in (list, tuple, set, frozenset, Sequence):
            inner = get_args(option)
            fixed = get_origin(option) is tuple and Ellipsis not in inner
            return [_admit(inner[min(place, len(inner) - 1)] if fixed else inner[0], item, memory)
                    for place, item in enumerate(value)]
    return value


def _options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone; `Annotated` is looked through."""
    while hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    if get_origin(annotation) in (Union, types.UnionType):
        return tuple(option for member in get_args(annotation) for option in _options(member))
    return (annotation,)


def _upload(path: str, memory: Memory) -> dict[str, Any]:
    if Path(path).is_dir():
        raise EnlistError("bad_input", "a folder stands where a tool wants one file", given=path,
                          allowed="the path of a regular file", fix="name one of its files")
    return attach(memory, [Path(path)])[0].ref.model_dump(mode="json")
