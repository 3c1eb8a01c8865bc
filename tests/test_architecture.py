"""The house rules that a machine can hold: imports go one way, by the one name, and nothing heavy comes early."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("tools", "agents", "orchestrator", "environments", "evals")  # each may import those before it
HEAVY = ("torch", "ray", "vllm", "langgraph", "mcp", "jax")


def modules() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def imports(path: Path, *, top_only: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if top_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_floor_and_below(path: Path) -> None:
    floor = ROOMS.index(path.relative_to(ROOT).parts[0])
    for name in imports(path):
        parts = name.split(".")
        assert parts[0] not in ROOMS, f"{name}: import it as enlist.{name}"
        if parts[0] == "enlist" and len(parts) > 1:
            assert ROOMS.index(parts[1]) <= floor, f"{name} is above {path}"


def test_the_ground_floor_imports_no_other_tool() -> None:
    for path in sorted((ROOT / "tools" / "runtime").rglob("*.py")):
        for name in imports(path):
            assert not name.startswith("enlist.") or name.startswith("enlist.tools.runtime"), f"{path}: {name}"


def test_nothing_heavy_is_imported_at_the_top_of_a_module() -> None:
    # environments/speed_of_light/blind: models as users write them, which nothing imports
    subclasses = ("checkpoints.py", "langgraph_view.py")  # of LangGraph's own classes; imported only by their users
    for path in (p for p in modules() if p.parent.name != "blind"):
        for name in imports(path, top_only=True):
            assert name.split(".")[0] not in HEAVY or path.name in subclasses, f"{path}: {name}"


def test_listing_what_is_installed_imports_nothing_heavy() -> None:
    code = ("import sys; from enlist.tools.runtime import registry\n"
            "for g in registry.GROUPS: assert not registry.faults(g), registry.faults(g)\n"
            f"print([m for m in {HEAVY!r} if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_contract_has_its_conformance_suite() -> None:
    for suite in ("tools/runtime/tool_conformance.py", "agents/conformance.py", "tools/runtime/memory/conformance.py",
                  "tools/runtime/sandbox/conformance.py", "environments/conformance.py"):
        assert "def check" in (ROOT / suite).read_text(encoding="utf-8"), suite
