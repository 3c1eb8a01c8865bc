"""The rules that a bound is made by, and how a bound says by which it was made."""

from pydantic import Field

from enlist.tools.runtime.tool import ToolModel


class Ruling(ToolModel):
    """What implementations a lower bound speaks of.

    Attributes:
        any_algorithm: also those that multiply less than standard arithmetic (Winograd, Strassen, FFT): matrix
            products, convolutions and attention then have no compute roof.
        warm: caches may hold what fits the last level when the run starts, and keep what fits when it ends.
        strict_fp32: float32 is multiplied in float32; else at the widest rate that the framework's defaults allow.
        clock_mhz: all clocks of the device at this value.
    """

    any_algorithm: bool = False
    warm: bool = False
    strict_fp32: bool = False
    clock_mhz: float | None = Field(default=None, gt=0)

    def said(self, jax: bool = False) -> dict[str, str]:
        """The class in words: `arithmetic`, `cache`, `precision`; of a JAX graph with JAX's defaults."""
        return {
            "arithmetic": "any algorithm (no compute roof of products and convolutions)" if self.any_algorithm
            else "standard arithmetic (no Winograd, Strassen or FFT)",
            "cache": "warm (what fits the last-level cache is exempt)" if self.warm
            else "cold (inputs start and outputs end in DRAM)",
            "precision": "strict float32" if self.strict_fp32
            else "JAX's defaults (TF32 for products and convolutions, unless a higher precision is asked for)" if jax
            else "PyTorch's defaults (TF32 for convolutions and attention, not for matrix products)"}
