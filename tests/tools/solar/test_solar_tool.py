"""The declared tools and their section, from a file to findings and checks."""

import json
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

from enlist.tools.runtime.artifacts import ArtifactFolder, ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import ToolEvidence
from enlist.tools.runtime.tool import input_hash
from enlist.tools.solar.confirm import checks
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.report.section import markdown, section
from enlist.tools.solar.tool import BOUNDS, CAPTURE, CHECK


class Context(ArtifactFolder):
    """A tool context over a folder of artifacts."""

    def put_artifact(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        return self.put_bytes(data, media_type=media_type, name=name)

    def open_artifact(self, ref: ArtifactRef) -> Path:
        return self.path(ref.sha256)

    def progress(self, share: float, text: str) -> None: ...

    def cancelled(self) -> bool:
        return False


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    monkeypatch.chdir(tmp_path)
    return Context(tmp_path / "artifacts")


def test_a_file_becomes_bounds_with_checked_findings(ctx: Context) -> None:
    layer = ctx.put_bytes(b"WIDTH = 64\n", media_type="text/x-python", name="sizes_of_it.py")
    text = (b"import torch\nfrom sizes_of_it import WIDTH\nclass Model(torch.nn.Linear):\n    def __init__(self):\n"
            b"        super().__init__(WIDTH, WIDTH)\ndef get_inputs():\n    return [torch.rand(4096, WIDTH)]\n")
    file = ctx.put_bytes(text, media_type="text/x-python", name="linear.py")
    given = CAPTURE.parse({"model": file.model_dump(), "extra_files": [layer.model_dump()]})
    captured = CAPTURE.function()(given, ctx)
    asked = BOUNDS.parse({"graph": captured.graph.model_dump(), "devices": ["H100", "A100 SXM 80GB"],
                          "measured_s": 0.001})
    made = BOUNDS.function()(asked, ctx)
    assert made.target == "linear.py:Model" and len(made.devices) == 3
    assert BOUNDS.parse_output(json.loads(made.model_dump_json())) == made

    def evidence(pointer: str) -> ToolEvidence:
        return ToolEvidence(tool=BOUNDS.name, version=BOUNDS.version, input_sha256=input_hash(asked), pointer=pointer)

    found = BOUNDS.make_findings("speed_of_light", asked, made, evidence)
    for finding in found:
        pointed = made.model_dump(mode="json")
        for step in finding.evidence[0].pointer.split("/")[1:]:  # type: ignore[union-attr]
            pointed = pointed[int(step) if step.isdigit() else step]
        assert pointed == finding.value
    verdicts = checks(found, made, CHECK.function()(given, ctx))
    assert [c.finding for c in verdicts] == [f.id for f in found]
    assert {c.status for c, f in zip(verdicts, found, strict=True) if f.tier == "analytic"} == {"confirmed"}
    assert {c.status for c, f in zip(verdicts, found, strict=True) if f.tier == "stated"} == {"not_checked"}
    assert all(s.findings for s in section(made, found).lead)


def test_a_forged_graph_is_refused_where_it_is_read(ctx: Context) -> None:
    text = (b'{"target": "x", "tensors": [], "nodes": [{"id": "n", "op": "mm", "inputs": ["a"], "slots": ["self"], '
            b'"outputs": []}], "assumed": []}')
    forged = ctx.put_bytes(text, media_type="application/json", name="g")
    with pytest.raises(EnlistError) as caught:
        BOUNDS.function()(BOUNDS.parse({"graph": forged.model_dump(), "devices": ["A100 SXM 80GB"]}), ctx)
    assert caught.value.code == "invalid_output"


def test_examples_are_valid_inputs() -> None:
    for tool in (CAPTURE, BOUNDS, CHECK):
        tool.parse(tool.example)


def test_declaring_the_tools_does_not_import_torch() -> None:
    code = "import sys, enlist.tools.solar.tool, enlist.tools.solar.report.section; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_section_says_that_nothing_was_measured(gpt2: Graph) -> None:
    made = section(bounds(gpt2, resolve(["A100 SXM 80GB"])))
    assert any("nothing was measured" in s.text for s in made.lead)
    assert any("1024 (taken as sequence length)" in s.text for s in made.assumptions)
    assert all(len(r) == len(t.columns) for t in made.tables for r in t.rows)
    assert [len(t.columns) for t in made.tables] == [6, 7]


def test_a_time_below_the_bound_is_a_verdict_and_says_what_would_tell(gpt2: Graph) -> None:
    made = section(bounds(gpt2, resolve(["A100 SXM 80GB"]), measured_s=1e-3))
    assert any("below the bound: the measurement or the bound is wrong" in s.text for s in made.lead)
    assert made.next is not None and "solar-check" in made.next


def test_what_the_user_named_is_text_in_the_plot_and_the_tables(gpt2: Graph) -> None:
    hostile = gpt2.model_copy(update={"target": "<script>x|y</script>", "nodes": tuple(
        n.model_copy(update={"where": "</title><script>|"}) for n in gpt2.nodes)})
    made = bounds(hostile, resolve(["A100 SXM 80GB", "H100"]))
    svg = section(made).figures[0].svg
    names = {element.tag.rpartition("}")[2] for element in xml.fromstring(svg).iter()}
    assert names <= {"svg", "title", "rect", "path", "text", "circle"}
    assert "href" not in svg
    rows = [line for line in markdown(made).splitlines() if line.startswith("|")]
    assert {row.count("|") - row.count("\\|") for row in rows} == {7, 8}
