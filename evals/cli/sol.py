"""`enlist sol`: how fast could this code run on that hardware, and how far is a measured time from it?

The code of the user runs in the sandbox, where it is captured; everything else is arithmetic in this process.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperCommand

from enlist.evals.cli.answer import Answer, Json
from enlist.evals.cli.run import Models

if TYPE_CHECKING:
    from enlist.tools.runtime.config import Config
    from enlist.tools.runtime.errors import EnlistError
    from enlist.tools.solar.formats.front import Training
    from enlist.tools.solar.report.analysis import Analysis, Question

DEFAULT_DEVICE = "H100 SXM"
TRAINING = ("backward", "step")
app = typer.Typer(add_completion=False, rich_markup_mode=None)


class SolCommand(TyperCommand):
    """`--training` may stand alone: it then means a whole step, and does not eat the file that comes after it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spelled = [f"--training={TRAINING[1]}" if word == "--training" and after not in TRAINING else word
                   for word, after in zip(args, [*args[1:], ""], strict=True)]
        return super().parse_args(ctx, spelled)


@app.command(cls=SolCommand, epilog="\b\nExample:\n  enlist sol model.py --device H100-SXM\n"
             "  enlist sol model.py::Block --measured 9.8 --terms\n"
             "  enlist sol definition.json --compare A100,B200 --json\n\n"
             "A file has a class Model and get_inputs(), or name what to take: FILE.py::Target. PyTorch, JAX, NumPy, "
             ".loop files, and SOL-ExecBench definitions (or their folder) are read; C and C++ where a language model "
             "is configured that translates them.")
def sol(
    ctx: typer.Context,
    files: Annotated[list[str], typer.Argument(
        metavar="FILE[::TARGET]", help="What to analyse.", show_default=False)],
    input: Annotated[str | None, typer.Option(
        "--input", metavar="SPEC", help="Shapes, x=float32[16,1024];ids=int64[16], or sizes, batch=8.")] = None,
    device: Annotated[str | None, typer.Option(
        "--device", metavar="NAME", help=f"Hardware; {DEFAULT_DEVICE} where none is named, `local` is this CPU.")
        ] = None,
    compare: Annotated[str | None, typer.Option(
        "--compare", metavar="NAME,...", help="Other hardware beside it; `all` is everything known.")] = None,
    dtype: Annotated[str | None, typer.Option(
        "--dtype", metavar="NAME", help="Price every floating tensor in this dtype.")] = None,
    training: Annotated[str | None, typer.Option(
        "--training", metavar="[backward|step]",
        help="With the backward pass, or a whole step with optimizer (what --training alone means).")] = None,
    measured: Annotated[str | None, typer.Option(
        "--measured", metavar="MS|PROFILE",
        help="A measured time, or an export of torch.profiler, Nsight Systems or Nsight Compute.")] = None,
    sweep: Annotated[list[str] | None, typer.Option(
        "--sweep", metavar="DIM=N,N,...", help="Also at other sizes: batch=1,8,64; given twice, at all of both.")
        ] = None,
    provision: Annotated[str | None, typer.Option(
        "--provision", metavar="MS|TOKENS/s",
        help="The least hardware for a run in so many ms (5), or for a rate (3000tokens/s).")] = None,
    any_algorithm: Annotated[bool, typer.Option(
        "--any-algorithm", help="Allow fewer multiplications than the standard ones (Winograd, Strassen).")] = False,
    warm: Annotated[bool, typer.Option(
        "--warm", help="What fits the last-level cache is there already.")] = False,
    strict_fp32: Annotated[bool, typer.Option("--strict-fp32", help="No TF32 anywhere.")] = False,
    clock: Annotated[float | None, typer.Option("--clock", metavar="MHZ", help="Price at this clock.")] = None,
    no_structure: Annotated[bool, typer.Option(
        "--no-structure", help="Do not look for triangular or zero tensors in the example inputs.")] = False,
    use_models: Models = None,
    assume_translation: Annotated[bool, typer.Option(
        "--assume-translation", help="Take a model's translation of what cannot run here (CUDA, Triton, pseudo-code): "
        "you vouch for it.")] = False,
    terms: Annotated[bool, typer.Option("--terms", help="Open every number into its terms.")] = False,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Also write a page of its own.")] = None,
    as_json: Json = False,
) -> Answer:
    """Lower bounds on the run time of code, an estimate, and the distance of a measured time from both."""
    from enlist.evals.cli import sol_shown
    from enlist.evals.cli.settings import readable, settings
    from enlist.tools.solar.report.analysis import Analysis, entry

    config = settings(use_models=use_models)
    _described(input)
    asked = _question(device, compare, dtype, measured, provision, any_algorithm, warm, strict_fp32, clock,
                      ctx.obj.note)
    made, more = _answers([readable(f) for f in files], input, training, not no_structure,
                          ";".join(sweep) if sweep else None, asked, config,
                          assume_translation, ctx.obj.note)
    entries = [entry(one) | extra if isinstance(one, Analysis) else _fault_entry(name, label, one)
               for (name, label, one), extra in zip(made, more, strict=True)]
    if html is not None:
        _write_page(html, [one for _, _, one in made if isinstance(one, Analysis)])
    failed = any("error" in e or any("error" in point for point in e.get("sweep", ())) for e in entries)

    def show(terminal: Any) -> None:
        sol_shown.show(terminal, made, opened=terms)
        if device is None:
            terminal.note(f"on {DEFAULT_DEVICE}, because no --device was named")

    return Answer(entries[0] if len(entries) == 1 else entries, show, code=1 if failed else 0)


def _described(inputs: str | None) -> None:
    """Raise for a description of inputs that describes nothing."""
    from enlist.tools.runtime.errors import EnlistError

    if inputs is not None and not inputs.strip(" ;"):
        raise EnlistError("bad_input", "a description of the inputs is empty", given=repr(inputs),
                          allowed="x=float32[16,1024] for each argument, or sizes as batch=8", fix="correct --input")


def _question(device: str | None, compare: str | None, dtype: str | None, measured: str | None, provision: str | None,
              any_algorithm: bool, warm: bool, strict_fp32: bool, clock: float | None,
              say: Callable[[str], None]) -> "Question":
    """The options that hold for every file; raises for what is no device, dtype, time or profile."""
    from pathlib import Path

    from enlist.evals.cli import sol_asked
    from enlist.tools.solar import hardware
    from enlist.tools.solar.dtypes import dtype_name
    from enlist.tools.solar.hardware.catalogue import LOCAL
    from enlist.tools.solar.pricing.ruling import Ruling
    from enlist.tools.solar.profiles.reading import read_profile
    from enlist.tools.solar.report.analysis import Question

    ruling = Ruling(any_algorithm=any_algorithm, warm=warm, strict_fp32=strict_fp32,
                    clock_mhz=sol_asked.clock(clock))
    if device is not None and device.strip().lower() in LOCAL:
        say("this CPU is calibrated first, where that was not done before (a minute) ...")
    chosen = hardware.resolve([device or DEFAULT_DEVICE])
    others = [name.strip() for name in (compare or "").split(",") if name.strip()]
    beside = hardware.devices() if others == ["all"] else hardware.resolve(others)
    every = {d.name: d for d in (*chosen, *beside)}
    seconds = sol_asked.seconds(measured) if measured is not None else None
    profile = read_profile(Path(measured)) if measured is not None and seconds is None else None
    return Question(tuple(every.values()), dtype_name(dtype) if dtype else None, ruling, seconds, profile,
                    sol_asked.demand(provision) if provision is not None else None)


def _answers(files: Sequence[str], inputs: str | None, training: str | None, structure: bool, sweep: str | None,
             asked: "Question", config: "Config", vouched: bool, say: Callable[[str], None],
             ) -> tuple[list[tuple[str, str, "Analysis | EnlistError"]], list[dict[str, Any]]]:
    """Of every file and workload its name, its label and its analysis or fault; and what JSON says of each besides."""
    from enlist.evals.cli.sol_asked import sweep as read_sweep
    from enlist.evals.cli.sol_capture import capture_all
    from enlist.evals.cli.sol_translated import Ready, ready
    from enlist.tools.runtime.errors import EnlistError, boundary
    from enlist.tools.solar.formats.opened import Source, opened
    from enlist.tools.solar.report.analysis import analyse

    if training is not None and training not in TRAINING:
        raise EnlistError("bad_input", "no kind of training", given=training, allowed=", ".join(TRAINING),
                          fix="--training alone means a whole step")
    points = read_sweep(sweep) if sweep is not None else ()
    typed: list[Source | tuple[str, EnlistError]] = []
    for file in files:
        try:
            typed += opened(file, inputs)
        except EnlistError as error:
            typed.append((file, error))
    found = ready(typed, config, vouched, say)
    wanted = [each for one in found if isinstance(one, Ready)
              for each in (one.source, *(one.source.at(point) for point in points))]
    graphs = iter(capture_all(wanted, cast("Training | None", training), structure, say) if wanted else [])
    made: list[tuple[str, str, Analysis | EnlistError]] = []
    for one in found:
        if not isinstance(one, Ready):
            made.append((one[0], "", one[1]))
            continue
        base, at_sizes = next(graphs), [next(graphs) for _ in points]
        file, label = one.source.file, one.source.label
        try:
            if isinstance(base, EnlistError):
                raise base
            swept = [(point, g if isinstance(g, EnlistError) else one.marked(g))
                     for point, g in zip(points, at_sizes, strict=True)]
            with boundary(f"pricing {one.source.name}"):
                made.append((file, label, analyse(one.marked(base), asked, file, label, swept)))
        except EnlistError as error:
            made.append((file, label, error))
    return made, [one.entry() if isinstance(one, Ready) else {} for one in found]


def _fault_entry(file: str, label: str, fault: "EnlistError") -> dict[str, Any]:
    from enlist.tools.solar.report.analysis import told

    return {"file": file, "workload": label or None, "error": told(fault)}


def _write_page(path: str, analyses: Sequence["Analysis"]) -> None:
    import os
    import tempfile
    from pathlib import Path

    from enlist.tools.runtime.errors import EnlistError
    from enlist.tools.solar.report.page import page

    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=".sol-", dir=target.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page(analyses))
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise EnlistError("bad_input", f"the page cannot be written: {error.strerror}", given=path,
                          allowed="a path in a folder that can be written to", fix="correct --html") from error
