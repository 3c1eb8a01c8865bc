"""A campaign file is read strictly and means the same however it is laid out."""

import pytest

from enlist.evals.campaign.file import LARGEST, parse, read_file, upload
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory

GOOD = "name: small\nenvironments: [{name: teaming, seeds: 3}]\nsolvers: [smart, greedy]\n"


def refused(text):
    with pytest.raises(EnlistError) as fault:
        parse(text, "my.yaml")
    assert fault.value.code == "bad_input"
    return fault.value.message


@pytest.mark.parametrize(("line", "said"), [
    ("budgets: {seconds: 3}\n", "unknown key 'budgets'; did you mean 'budget'?"),
    ("budget: {second: 3}\n", "unknown key 'budget.second'; did you mean 'seconds'?"),
    ("limits: {memory: 3}\n", "did you mean 'memory_mb'?"),
    ("retries: -1\n", "retries: "), ("retries: 99\n", "retries: "), ("disposition: ignore\n", "disposition: "),
    ("parallel: 0\n", "parallel: "), ("against: nobody\n", "against names no solver")])
def test_a_wrong_key_or_value_is_named_with_the_nearest_right_one(line, said):
    assert said in refused(GOOD + line)


@pytest.mark.parametrize(("entry", "said"), [
    ("{name: teaming, sed: 3}", "did you mean 'seeds'?"), ("{name: teaming, seeds: []}", "distinct whole numbers"),
    ("{name: teaming, seeds: 0}", "environments.0.seeds"), ("{name: teaming, seeds: [1, 1]}", "distinct"),
    ("{name: teaming, seeds: [-1]}", "distinct"), ("{name: teaming, split: train}", "environments.0.split"),
    ("{name: teaming}, {name: teaming}", "give one a label")])
def test_a_wrong_environment_is_named(entry, said):
    assert said in refused(f"name: x\nenvironments: [{entry}]\nsolvers: [smart]\n")


@pytest.mark.parametrize(("solver", "said"), [
    ("{comand: [ls]}", "did you mean 'command'?"), ("{agent: a, command: [ls]}", "a solver is one of"),
    ("{name: only}", "a solver is one of"), ("{baseline: smart, files: [x]}", "only a command has files"),
    ("{command: []}", "solvers.0.command"), ("smart, smart", "give one a name"), ("{team: {sed: 1}}", "'seed'")])
def test_a_wrong_solver_is_named(solver, said):
    assert said in refused(f"name: x\nenvironments: [{{name: teaming}}]\nsolvers: [{solver}]\n")


@pytest.mark.parametrize("text", ["", "- 1\n", "a: [", "!!python/object:os.system {}", "\x00", "name: &a [*a]\n",
                                  "[" * 2000])
def test_what_is_no_campaign_is_refused_in_words(text):
    assert "Traceback" not in refused(text)


def test_a_number_of_seeds_stands_for_the_first_so_many():
    assert parse(GOOD).environments[0].seeds == (0, 1, 2)
    assert parse(GOOD.replace("seeds: 3", "seeds: [7, 2]")).environments[0].seeds == (7, 2)


def test_layout_budget_and_retries_do_not_change_what_a_campaign_is():
    other = """# a comment
solvers:
  - baseline: smart
  - greedy
environments: [{seeds: [0, 1, 2], name: teaming}]
name: small
budget: {usd: 3}
retries: 5
parallel: 7
"""
    assert parse(other).canonical() == parse(GOOD).canonical()
    assert parse(GOOD + "limits: {seconds: 5}\n").canonical() != parse(GOOD).canonical()
    assert parse(GOOD + "disposition: skip\n").canonical() != parse(GOOD).canonical()


def test_solvers_are_called_by_what_they_are():
    text = "name: x\nenvironments: [{name: e}]\nsolvers: [a, {command: [python, dir/s.py]}, {agent: b}, {team: {}}]\n"
    assert [s.shown for s in parse(text).solvers] == ["a", "s.py", "agent b", "team"]


def test_files_that_are_absent_or_too_large_are_refused(tmp_path):
    with pytest.raises(EnlistError, match="not there"):
        read_file(tmp_path / "absent.yaml")
    (tmp_path / "large.yaml").write_bytes(b"#" * (LARGEST + 1))
    with pytest.raises(EnlistError, match="larger than"):
        read_file(tmp_path / "large.yaml")
    with pytest.raises(EnlistError, match="cannot be read"):
        read_file(tmp_path)


def test_the_files_of_a_command_are_kept_by_content(tmp_path):
    file = parse("name: x\nenvironments: [{name: e}]\nsolvers: [{command: [python, s.py], files: [s.py]}]\n")
    memory = open_memory(f"sqlite://{tmp_path}/store.db")
    with pytest.raises(EnlistError, match="file of the solver"):
        upload(file, tmp_path, memory)
    (tmp_path / "s.py").write_text("1")
    first = upload(file, tmp_path, memory)["s.py"].sha256
    (tmp_path / "s.py").write_text("2")
    assert upload(file, tmp_path, memory)["s.py"].sha256 != first
    memory.close()
