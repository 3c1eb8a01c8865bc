"""Stack traces as three families of languages print them, for a record that names a fault."""

from enlist.environments.incident_logs.model import Emission

_METHODS = ("execute", "handle", "invoke", "acquire", "send", "doFilter", "run", "process", "call", "dispatch")


def _frames(one: Emission, most: int) -> list[tuple[str, int]]:
    """Names and line numbers of frames: the same for the same fault, so that traces repeat as real ones do."""
    start = sum(map(ord, one.fault))
    return [(_METHODS[(start + i * 3) % len(_METHODS)], 40 + (start * (i + 7)) % 600) for i in range(most)]


def java_trace(one: Emission, package: str) -> list[str]:
    """Exception, frames, and what caused it."""
    frames = [f"\tat {package}.{name.capitalize()}Step.{name}({name.capitalize()}Step.java:{line})"
              for name, line in _frames(one, 6)]
    return [f"{package}.{one.fault}: {one.text}", *frames[:4], f"Caused by: {package}.io.{one.fault}", *frames[4:],
            "\t... 23 more"]


def python_trace(one: Emission, package: str) -> list[str]:
    """A traceback, the innermost call last."""
    lines = ["Traceback (most recent call last):"]
    for name, line in _frames(one, 3):
        lines += [f'  File "/srv/{package.replace(".", "/")}/{name.lower()}.py", line {line}, in {name.lower()}',
                  f"    return self.{name.lower()}(request)"]
    return [*lines, f"{package.rpartition('.')[2]}.errors.{one.fault}: {one.text}"]


def go_trace(one: Emission, package: str) -> list[str]:
    """A goroutine with its calls."""
    lines = [f"goroutine {sum(map(ord, one.fault)) % 900} [running]:"]
    for name, line in _frames(one, 2):
        lines += [f"{package}.(*{name.capitalize()}).Do(0xc000{line:06x})", f"\t/src/{name.lower()}.go:{line} +0x1d"]
    return lines
