"""Models at the command line: shown with where they come from, checked, and refused where no budget can be kept."""

import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[2] / "agents" / "language" / "fault_server.py"
_SPEC = importlib.util.spec_from_file_location("fault_server_of_cli", _PATH)
assert _SPEC and _SPEC.loader
faults = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(faults)

KEY = "sk-a-secret-0123456789"


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Writes `enlist.toml` with one model."""
    monkeypatch.setenv("KEY_OF_TESTS", KEY)
    monkeypatch.delenv("ENLIST_USE_MODELS", raising=False)

    def write(address="http://localhost:1/v1", more=""):
        (tmp_path / "enlist.toml").write_text(
            f'[models.small]\nendpoint = "{address}"\nmodel = "served"\ncapabilities = ["wording"]\n'
            f'key_env = "KEY_OF_TESTS"\n{more}')

    return write


def test_models_are_listed_with_their_origin_and_without_their_key(enlist, model):
    assert enlist("models", "--json").document == {"models": []}
    assert "No model is configured" in enlist("models").out
    model()
    for said in (enlist("models"), enlist("models", "--json"), enlist("config", "show"),
                 enlist("config", "show", "--json")):
        assert said.code == 0 and "small" in said.out and KEY not in said.out + said.err
    (row,) = enlist("models", "--json").document["models"]
    assert (row["key"], row["key_env"], row["origin"]) == ("set", "KEY_OF_TESTS", "file enlist.toml")
    (row,) = enlist("config", "show", "--json").document["models"]
    assert row["endpoint"] == "http://localhost:1/v1" and row["origin"] == "file enlist.toml"


def test_a_check_asks_each_model_and_its_exit_status_is_the_verdict(enlist, model, monkeypatch):
    with faults.FaultServer([faults.says("yes"), faults.status(401, body=f"bad key {KEY}".encode())]) as server:
        model(server.address)
        good = enlist("models", "--check", "--json")
        assert good.code == 0 and good.document["models"][0]["answers"] == "yes"
        assert server.requests[0]["max_tokens"] == 8
        bad = enlist("models", "--check", "--json")
        assert bad.code == 1 and "401" in bad.document["models"][0]["answers"] and KEY not in bad.out + bad.err
        monkeypatch.delenv("KEY_OF_TESTS")
        (row,) = enlist("models", "--check", "--json").document["models"]
        assert row["key"] == "not set" and "KEY_OF_TESTS" in row["answers"] and len(server.requests) == 2


def test_a_budget_with_a_model_without_price_is_refused_before_anything_starts(enlist, model):
    model()
    said = enlist("run", "how far is this from the limit?", "--budget-usd", "1", "--json")
    assert said.code == 2 and said.document["error"]["code"] == "bad_input"
    assert "price is not known" in said.document["error"]["message"]
    assert enlist("runs", "--json").document == {"runs": []}
    model(more="usd_per_million_in = 0\nusd_per_million_out = 0\n")
    said = enlist("run", "please water my plants on tuesdays", "--budget-usd", "1", "--json")
    assert said.document["plan"] is None and not said.document["error"]


@pytest.mark.parametrize("amount", ["-1", "nan", "inf"])
def test_a_budget_that_is_no_amount_is_refused(enlist, amount):
    said = enlist("run", "translate this poem", "--budget-usd", amount, "--json")
    assert said.code == 2 and said.document["error"]["message"] == "the budget in dollars is no amount"


def test_the_team_that_is_shown_is_the_one_that_a_run_would_take(enlist, model, tmp_path):
    (tmp_path / "model.py").write_text((Path(__file__).parents[3] / "examples" / "gpt2.py").read_text())
    ask = ("team", "how far is this model from the limit of an H100?", "--attach", "model.py", "--json")
    plain = {m["role"]: m["agent"] for m in enlist(*ask).document["team"]}
    model()
    asking = {m["role"]: m["agent"] for m in enlist(*ask).document["team"]}
    assert "wording=plain" in plain["writer"] and "wording=model" in asking["writer"]
    assert {r: a for r, a in asking.items() if r != "writer"} == {r: a for r, a in plain.items() if r != "writer"}
