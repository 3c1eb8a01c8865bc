"""Pools come back from their files as they went, and what is no pool is refused by name."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import yaml

from enlist.agents.pool import Pool, shipped
from enlist.agents.pool_files import read_pool, write_pool
from enlist.orchestrator.plan import Plan, Role
from enlist.orchestrator.team import enlist_team
from enlist.tools.runtime.errors import EnlistError

ARRAYS = ("ids", "duty", "capability", "specialist", "route", "model", "quality", "quality_n", "seconds", "usd",
          "synthetic")
ENDINGS = ("npz", "parquet")


def many(agents: int) -> Pool:
    """A pool of made-up cards, over a few words and settings."""
    random = np.random.default_rng(0)
    word = {name: random.choice([f"{name}-{n}" for n in range(5)], size=agents) for name in
            ("capability", "specialist", "route")}
    settings = [{"rounds": n, "precision": "fp8"} for n in range(8)]
    return Pool(ids=np.array([f"synthetic-{n:07d}" for n in range(agents)]), duty=np.full(agents, "analyst"),
                model=np.full(agents, ""), quality=random.random(agents), quality_n=np.full(agents, 4.0),
                seconds=random.random(agents), usd=random.random(agents), synthetic=np.ones(agents, dtype=bool),
                knobs=tuple(settings[n] for n in random.integers(8, size=agents)), declared={}, **word)


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_shipped_pool_comes_back_and_enlists_the_same_team(ending, tmp_path):
    pool, path = shipped(), tmp_path / f"pool.{ending}"
    write_pool(pool, path)
    again = read_pool(path)
    for name in ARRAYS:
        assert getattr(again, name).tolist() == getattr(pool, name).tolist(), name
    assert [dict(k) for k in again.knobs] == [dict(k) for k in pool.knobs]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    plan = Plan(roles=(Role(id="a", duty="analyst", capability="speed_of_light"),), edges=())
    assert enlist_team(plan, again, seed=0) == enlist_team(plan, pool, seed=0)


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_in_any_order_become_the_same_pool(ending, tmp_path):
    pool, order = many(500), np.random.default_rng(1).permutation(500)
    shuffled = replace(pool, knobs=tuple(pool.knobs[i] for i in order),
                       **{name: getattr(pool, name)[order] for name in ARRAYS})
    write_pool(shuffled, tmp_path / f"p.{ending}")
    again = read_pool(tmp_path / f"p.{ending}")
    assert again.ids.tolist() == pool.ids.tolist() and again.quality.tolist() == pool.quality.tolist()
    assert again.knobs == pool.knobs


def test_cards_share_their_words_and_settings_in_memory(tmp_path):
    write_pool(many(20_000), tmp_path / "p.npz")
    tracemalloc.start()
    pool = read_pool(tmp_path / "p.npz")
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept / len(pool) < 250  # bytes: an id of 17 letters takes 66, a dict of its own 184
    assert len({id(k) for k in pool.knobs}) == 8


def test_cards_of_a_list_are_read_from_yaml_and_json_alike(tmp_path):
    cards = [shipped().card(n).model_dump(mode="json") for n in range(3)]
    (tmp_path / "c.json").write_text(json.dumps(cards))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(cards))
    first, second = read_pool(tmp_path / "c.json"), read_pool(tmp_path / "c.yaml")
    assert first.ids.tolist() == second.ids.tolist() and len(first) == 3


def broken(tmp_path, **changes):
    """A column file with some arrays replaced (None: left out)."""
    write_pool(many(6), tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        arrays = {**dict(file), **changes}
    np.savez(tmp_path / "bad.npz", **{k: v for k, v in arrays.items() if v is not None})
    return tmp_path / "bad.npz"


@pytest.mark.parametrize(("changes", "said"), [
    ({"quality": None}, "a column is missing"), ({"format": np.array("other")}, "no pool file"),
    ({"quality": np.array([0.1, np.nan, 0, 0, 0, 0])}, "column quality is wrong"),
    ({"quality": np.full(6, 1.5)}, "column quality is wrong"), ({"usd": np.full(6, -1.0)}, "column usd is wrong"),
    ({"quality_n": np.zeros(6)}, "column quality_n is wrong"), ({"seconds": np.zeros(5)}, "column seconds is wrong"),
    ({"synthetic": np.zeros(6)}, "column synthetic is wrong"), ({"duty_names": np.array(["boss"])}, "unknown duties"),
    ({"duty_code": np.array([0, 0, 0, 0, 0, 7])}, "column duty is damaged"),
    ({"duty_code": np.array([0, 0, 0, 0, 0, -1])}, "column duty is damaged"),
    ({"model_code": np.array([0, 0])}, "column model has 2 rows"),
    ({"ids_end": np.array([5, 3, 9, 12, 15, 102])}, "column ids is damaged"),
    ({"ids": np.frombuffer(b"\xff" * 102, dtype=np.uint8)}, "cannot read"),
    ({"ids": np.frombuffer(b"a" * 102, dtype=np.uint8)}, "share an id"),
    ({"knobs_names": np.array(["[1]"] * 8)}, "knobs are no settings"),
    ({"quality": np.array([object()] * 6, dtype=object)}, "cannot read")])
def test_a_damaged_column_is_named(tmp_path, changes, said):
    with pytest.raises(EnlistError, match=said) as fault:
        read_pool(broken(tmp_path, **changes))
    assert fault.value.code == "bad_input"


@pytest.mark.parametrize("name", ["p.npz", "p.parquet", "p.yaml", "p.json"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 half", b"\x80\x04\x95", b"{", b"\xff\xfe\x00", b"PAR1"])
def test_what_is_no_pool_is_refused(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(EnlistError) as fault:
        read_pool(tmp_path / name)
    assert fault.value.code == "bad_input"


def test_a_file_cut_anywhere_is_refused(tmp_path):
    for ending in ENDINGS:
        path = tmp_path / f"p.{ending}"
        write_pool(many(50), path)
        whole = path.read_bytes()
        for end in range(0, len(whole) - 1, max(1, len(whole) // 40)):
            path.write_bytes(whole[:end])
            with pytest.raises(EnlistError) as fault:
                read_pool(path)
            assert fault.value.code == "bad_input"


def test_an_ending_that_is_no_column_file_is_refused(tmp_path):
    with pytest.raises(EnlistError, match="written as columns"):
        write_pool(many(3), tmp_path / "pool.csv")
    assert list(tmp_path.iterdir()) == []
