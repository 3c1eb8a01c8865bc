"""The shared stores of a run: see `protocol`."""

from typing import Any

__all__ = ["open_memory"]


def __getattr__(name: str) -> Any:
    if name == "open_memory":
        from enlist.tools.runtime.memory.opening import open_memory  # not before: a contract loads no backend

        return open_memory
    raise AttributeError(name)
