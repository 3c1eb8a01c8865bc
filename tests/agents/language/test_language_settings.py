"""Models are read from `enlist.toml`; what cannot be right is refused by name, and a key that strayed in is hidden."""

import pytest

from enlist.agents.language.settings import ModelSettings, check_prices, configured, served, serving
from enlist.tools.runtime import config
from enlist.tools.runtime.errors import EnlistError

GOOD = """
seed = 3
[models.small]
endpoint = "http://localhost:8000/v1/"
model = "served"
key_env = "SMALL_KEY"
usd_per_million_in = 0.1
usd_per_million_out = 0.4
capabilities = ["wording"]
max_tokens = 200
timeout = 20
[models.big]
endpoint = "https://models.example/v1"
model = "big"
capabilities = ["wording", "reading"]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    for option in config.OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.setenv("ENLIST_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def test_tables_become_models_beside_other_options(place):
    (place / "home" / "enlist.toml").write_text(GOOD)
    settings = config.read()
    small, big = configured(settings)
    assert settings["seed"] == 3 and settings.models["small"].origin == f"file {place / 'home' / 'enlist.toml'}"
    assert (small.endpoint, small.max_tokens, small.timeout) == ("http://localhost:8000/v1", 200, 20)
    assert small.priced and not big.priced and served((small, big)) == ("reading", "wording")
    assert serving((small, big), "wording") == small and serving((small, big), "reading") == big
    assert serving((small, big), "other") is None


def test_a_table_of_the_current_folder_stands_for_that_of_home(place):
    (place / "home" / "enlist.toml").write_text(GOOD)
    (place / "work" / "enlist.toml").write_text('[models.small]\nendpoint = "http://near/v1"\nmodel = "near"\n')
    assert [m.model for m in configured(config.read())] == ["near", "big"]


def test_a_flag_beats_the_environment_beats_the_file_in_what_models_are_used(place, monkeypatch):
    (place / "home" / "enlist.toml").write_text('use_models = "small"\n' + GOOD)
    assert [m.name for m in configured(config.read())] == ["small"]
    monkeypatch.setenv("ENLIST_USE_MODELS", "none")
    assert configured(config.read()) == ()
    assert [m.name for m in configured(config.read({"use_models": "big, small"}))] == ["big", "small"]
    with pytest.raises(EnlistError, match="no model of this name") as fault:
        configured(config.read({"use_models": "smal"}))
    assert fault.value.allowed == "small"


@pytest.mark.parametrize(("table", "named"), [
    ('endpoint = "http://x/v1"', "model"), ('endpoint = "x"\nmodel = "m"', "http or https"),
    ('endpoint = "http://x/v1"\nmodel = "m"\nkeyenv = "K"', "key_env"),
    ('endpoint = "http://x/v1"\nmodel = "m"\nusd_per_million_in = -1', "usd_per_million_in"),
    ('endpoint = "http://x/v1"\nmodel = "m"\nusd_per_million_in = inf', "usd_per_million_in"),
    ('endpoint = "http://x/v1"\nmodel = "m"\ntimeout = 0', "timeout"),
    ('endpoint = "http://x/v1?key=sk-12345678"\nmodel = "m"', "query"),
    ('endpoint = "http://me:sk-12345678@x/v1"\nmodel = "m"', "password"),
    ('endpoint = "http://x/v1"\nmodel = "m"\nkey_env = "sk-12345678"', "key_env"),
    ('endpoint = "http://x/v1"\nmodel = "m"\nkey = "sk-12345678"', "key_env")])
def test_a_table_that_cannot_be_right_is_refused_without_its_values(place, table, named):
    (place / "work" / "enlist.toml").write_text(f"[models.m]\n{table}\n")
    with pytest.raises(EnlistError) as fault:
        configured(config.read())
    assert fault.value.code == "bad_input" and named in fault.value.sentence()
    assert "sk-12345678" not in repr(fault.value.to_dict())


@pytest.mark.parametrize("text", ["models = 3", "models = 'small'", "[models]\nsmall = 3"])
def test_models_that_are_no_tables_are_refused(place, text):
    (place / "work" / "enlist.toml").write_text(text)
    with pytest.raises(EnlistError, match="not made of tables"):
        config.read()


def test_a_budget_in_dollars_needs_the_price_of_every_model_that_may_be_asked():
    idle = ModelSettings(name="m", endpoint="http://x/v1", model="m")
    unpriced = idle.model_copy(update={"capabilities": ("wording",)})
    free = unpriced.model_copy(update={"usd_per_million_in": 0.0, "usd_per_million_out": 0.0})
    check_prices((unpriced,), None)
    check_prices((free, idle), 0.0)
    for half in (unpriced, unpriced.model_copy(update={"usd_per_million_in": 1.0})):
        with pytest.raises(EnlistError, match="price is not known") as fault:
            check_prices((free, half), 0.0)
        assert fault.value.exit_code == 2


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_told_without_it(monkeypatch, key):
    monkeypatch.setenv("A_KEY", key)
    with pytest.raises(EnlistError) as fault:
        ModelSettings(name="m", endpoint="http://x/v1", model="m", key_env="A_KEY").key()
    assert "A_KEY" in fault.value.sentence() and not (key.strip() and key in fault.value.sentence())
