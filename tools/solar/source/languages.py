"""Languages that only a language model can translate: which can run here, and what is said where one cannot be."""

from enlist.tools.runtime.errors import EnlistError

LANGUAGES = ("numpy", "c", "c++", "triton", "cuda", "pseudo-code")
RUNNABLE = ("numpy", "c", "c++")
_WHY_NOT = {
    "cuda": "CUDA needs a GPU and its compiler", "triton": "Triton needs a GPU",
    "pseudo-code": "pseudo-code has no outputs to compare with"}


def without_model(language: str, name: str) -> EnlistError:
    """Why a source is not analysed where no model is configured, and the way by hand."""
    way = f"write its loops by hand as {name.rpartition('.')[0] or name}.loop (docs/loop-ir.md)"
    model = "configure a model with the capability translation (docs/models.md)"
    if language in RUNNABLE:
        way += f" and compare them with the source by `enlist tool loop-equals` (language {language})"
    else:
        model += " and vouch for its translation with --assume-translation, since it cannot be compared here"
    return EnlistError(
        "not_installed", f"{name} is {language}: translating it needs a language model, and none is configured",
        allowed="Python that imports torch, jax or numpy; .loop; SOL-ExecBench definitions",
        fix=f"{way}, or {model}")


def not_comparable(language: str, name: str) -> EnlistError | None:
    """Why a translation of a source cannot be checked here; None where it can."""
    if language in RUNNABLE:
        return None
    return EnlistError(
        "unsupported", f"{name} is {language}, which cannot run here ({_WHY_NOT[language]}): its translation would be "
        "compared with the source on no shape and no input, so none counts",
        given=language, allowed=f"{', '.join(RUNNABLE)}, which are run beside their translation",
        fix=f"write its loops by hand as {name.rpartition('.')[0] or name}.loop, or vouch for a model's translation "
        "with --assume-translation")
