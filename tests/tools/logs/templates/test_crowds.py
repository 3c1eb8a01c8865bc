"""One shape for many, against the comparison of all shapes."""

import random

import pytest

from enlist.tools.logs.templates import Miner, crowds


def lines(count: int) -> list[str]:
    chance = random.Random(4)

    def word() -> str:
        return "".join(chance.choices("ghijklmnopqrst", k=7))

    statements = (
        lambda: f"user {word()} from [{word()}.example] logged into service number {chance.randrange(99)}",
        lambda: f"job owner={word()} took {chance.randrange(99)} ms and wrote /{word()}/{word()} before it stopped",
        lambda: f"job owner={word()} took {chance.randrange(99)} ms and wrote /{word()}/{word()} before it started",
        lambda: f"upload of\t{word()} ({word()}) rejected\u00a0{word()}",
        lambda: "nothing to do",
    )
    return [chance.choice(statements)() for _ in range(count)]


def test_a_crowd_gives_the_templates_that_comparing_all_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    written = lines(1600)
    miner, slowly = Miner(), Miner()
    shapes = miner.add(written)
    monkeypatch.setattr(crowds, "_MANY", 10**9)
    slowly.add(written)
    slowly.fit()
    monkeypatch.undo()
    assert miner.counts() == slowly.counts()
    for message, shape in zip(written, shapes, strict=True):
        id, parameters = miner.parameters(message)
        assert id == miner.template_of(shape)
        assert miner.render(id, parameters) == message


def test_a_crowd_is_a_small_part_of_what_it_stands_for() -> None:
    miner = Miner()
    miner.add(lines(1600))
    found = crowds.stand_ins(miner._numbers, 20)
    assert len(found) < 0.3 * len(miner._numbers)
    assert sorted(shape for members in found.values() for shape in members) == sorted(miner._numbers)


def test_few_shapes_stand_for_themselves() -> None:
    assert crowds.stand_ins({"a b": 0, "a c": 1}, 20) == {"a b": ["a b"], "a c": ["a c"]}
