"""Streams: their size, their order, their gold lines, their variants and controls."""

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from enlist.environments.incident_logs import make
from enlist.environments.incident_logs.catalog import Plot, healthy, plots
from enlist.environments.incident_logs.decoding import decode
from enlist.environments.incident_logs.model import Emission, Event, Flood, Incident
from enlist.environments.incident_logs.reference import Reference
from enlist.environments.incident_logs.systems import SHAPES, build
from enlist.environments.incident_logs.write import records, scale, write
from enlist.tools.runtime.errors import EnlistError


def test_the_files_hold_as_many_lines_as_the_reference_says_and_about_as_many_as_were_asked_for(told) -> None:
    assert {name: text.count("\n") for name, text in told.text().items()} == told.reference.lines
    assert sorted(p.name for p in told.folder.iterdir()) == sorted(told.reference.lines)
    assert 0.8 * told.plot.lines < sum(told.reference.lines.values()) < 2 * told.plot.lines


def test_each_must_fact_has_lines_and_no_line_speaks_of_two(told) -> None:
    seen: Counter[tuple[str, int]] = Counter()
    for fact in told.reference.facts:
        assert fact.lines or fact.weight != "must"
        seen.update((name, n) for name, numbers in fact.lines.items() for n in numbers)
    assert set(seen.values()) == {1}


def test_gold_lines_say_the_text_of_their_event(told) -> None:
    trigger = next(e for e in told.incident.events if e.kind == "trigger")
    lines = told.said(trigger.id)
    assert len(lines) == len(trigger.emits) == 2
    assert all(any(one.text in line for line in lines) for one in trigger.emits)


def test_lines_of_a_file_are_in_order_of_time(told) -> None:
    near = told.plot.window()[0]
    for service in told.incident.system.services:
        for name in (n for n in told.reference.lines if n.startswith(f"{service.name}.")):
            times = [at for line in told.text()[name].split("\n")[:-1]
                     if (at := decode(line, service.style, near)) is not None]
            assert times == sorted(times)


def test_the_same_plot_gives_the_same_bytes_and_another_seed_gives_others(told, written, tmp_path: Path) -> None:
    assert written(told.plot, tmp_path / "again").text() == told.text()
    assert told.incident == told.plot.incident() != replace(told.plot, seed=12).incident()


def test_other_names_give_the_same_stream_under_other_names(told, written, tmp_path: Path) -> None:
    other = written(replace(told.plot, names=99), tmp_path)
    pairs = list(zip(told.incident.system.services, other.incident.system.services, strict=True))
    renamed = {old.name: new.name for old, new in pairs} | {
        old: new for a, b in pairs for old, new in zip(a.hosts, b.hosts, strict=True)}
    pattern = re.compile("|".join(map(re.escape, sorted(renamed, key=len, reverse=True))))
    assert all(old.name != new.name and old.style == new.style for old, new in pairs)

    def mapped(text: str) -> str:
        return pattern.sub(lambda m: renamed[m[0]], text)

    size = {mapped(name): count for name, count in told.reference.lines.items()}
    assert size == other.reference.lines
    trigger = told.incident.event("trigger")
    assert trigger and [mapped(line) for line in told.said(trigger.id)] == other.said(trigger.id)
    assert mapped(told.reference.component) == other.reference.component


def test_the_other_wording_tells_the_same_story_in_other_words(told) -> None:
    other = replace(told.plot, wording=1).incident()
    assert [(e.kind, e.service, e.at) for e in other.events] == [
        (e.kind, e.service, e.at) for e in told.incident.events]
    said = {one.text for one in told.incident.lines() if one.tag.startswith(("trigger", "mitig", "detec"))}
    assert said and not said & {one.text for one in other.lines()}


def test_the_decisive_lines_are_taken_out_and_nothing_else(told, written, tmp_path: Path) -> None:
    removed = written(replace(told.plot, control="removed"), tmp_path)
    decisive = {e.id for e in told.incident.events if e.decisive}
    assert not decisive & {f.id for f in removed.reference.facts} and decisive
    assert {f.id for f in removed.reference.facts} | decisive == {f.id for f in told.reference.facts}
    gone = sum(len(n) for f in told.reference.facts if f.decisive for n in f.lines.values())
    assert sum(removed.reference.lines.values()) == sum(told.reference.lines.values()) - gone
    for line in told.said(next(e.id for e in told.incident.events if e.kind == "trigger")):
        assert not any(line in text.split("\n") for text in removed.text().values())


def test_shuffled_files_hold_the_same_lines_and_the_gold_lines_move_with_them(told, written, tmp_path: Path) -> None:
    shuffled = written(replace(told.plot, control="shuffled"), tmp_path)
    whole = Counter(line for text in told.text().values() for line in text.split("\n"))
    mixed = Counter(line for text in shuffled.text().values() for line in text.split("\n"))
    assert +(whole - mixed) - Counter({"": 99}) == Counter()
    for fact in told.reference.facts:
        assert Counter(shuffled.said(fact.id)) == Counter(told.said(fact.id))


def test_a_healthy_stream_has_no_facts_and_no_component(written, tmp_path: Path) -> None:
    calm = written(healthy(0, 1, 600)[0], tmp_path).reference
    assert (calm.incident, calm.facts, calm.component, calm.control) == (False, (), "", "no_incident")


def test_records_come_in_order_of_true_time_and_the_silent_service_writes_none() -> None:
    plot = Plot("dependency_outage", "web_shop", 5, 600)
    start, span = plot.window()
    every = list(records(plot.incident(), start=start, span=span, lines=600))
    times, services = [one.at for one in every], {one.service for one in every}
    assert times == sorted(times) and times[0] >= start
    assert not any(plot.incident().system[s].role == "external" for s in services)


def test_a_flood_begins_with_a_record_at_its_start_and_scales_with_the_stream(tmp_path: Path) -> None:
    system = build("batch", 1)
    name = system.of("db")[0].name
    flood = Flood(name, 1000.0, 1600.0, "error", ("boom {num}",), per_s=0.5, most=10_000)
    event = Event("e", "trigger", name, 1000.0, "It began.", floods=(flood,))
    story = Incident("x", "disk_full", name, system, (event,))
    counts = {}
    for lines in (600, 6000):
        times = [one.at for one in records(story, start=0.0, span=3600.0, lines=lines) if one.tag == "e"]
        assert min(times) == 1000.0 and max(times) < 1600.0
        counts[lines] = len(times)
    assert (scale(6000), scale(600)) == (0.5, 0.2)  # half of the usual length, and the least
    assert counts[6000] == pytest.approx(150, rel=0.3) and counts[600] == pytest.approx(60, rel=0.4)


def test_a_record_that_cannot_be_written_leaves_no_file_behind(tmp_path: Path) -> None:
    system = build("batch", 1)
    stranger = Emission("nobody", 1800.0, "info", "hello")
    story = Incident("x", "", "", system, (Event("e", "trigger", "nobody", 1800.0, "", emits=(stranger,)),))
    with pytest.raises(KeyError):
        write(story, tmp_path, start=0.0, span=3600.0, lines=600)
    assert list(tmp_path.iterdir()) == []


def test_every_cause_is_told_on_several_shapes_and_no_plot_comes_twice() -> None:
    found = plots(0, 6, 1000)
    assert len({(p.cause, p.seed) for p in found}) == len(found) >= 60
    for cause in {p.cause for p in found}:
        assert len({p.shape for p in found if p.cause == cause}) == len(SHAPES)


def test_a_shape_that_there_is_none_of_is_told_so() -> None:
    with pytest.raises(EnlistError, match="web_shop"):
        build("webshop", 0)


_MEMORY = """
import resource, sys, tempfile
from pathlib import Path
from enlist.environments.incident_logs.catalog import Plot
from enlist.environments.incident_logs.write import write
plot = Plot("disk_full", "mesh", 7, int(sys.argv[1]))
start, span = plot.window()
with tempfile.TemporaryDirectory() as folder:
    write(plot.incident(), Path(folder), start=start, span=span, lines=plot.lines)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow  # half a million lines
def test_memory_does_not_grow_with_the_stream() -> None:
    used = [int(subprocess.run([sys.executable, "-c", _MEMORY, str(lines)], capture_output=True, text=True,
                               check=True).stdout) for lines in (20_000, 500_000)]
    assert used[1] < used[0] + 30_000  # kB; the numbers of gold lines are all that grows


def test_a_stream_is_made_into_a_folder_with_its_truth_beside_it(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "logs"
    assert make.main([str(folder), "--cause", "disk_full", "--lines", "600", "--control", "removed"]) == 0
    truth = Reference.model_validate_json((tmp_path / "logs.reference.json").read_text())
    assert (truth.cause, truth.control) == ("disk_full", "removed")
    assert sorted(p.name for p in folder.iterdir()) == sorted(truth.lines)
    assert capsys.readouterr().out == f"{sum(truth.lines.values())} lines in {len(truth.lines)} files\n"
