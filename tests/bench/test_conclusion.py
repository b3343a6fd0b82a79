"""The sentence that a benchmark ends in says which way pays, and no more than its numbers hold."""

from __future__ import annotations

import random
import re

import pytest

from hsd.bench import Case
from hsd.bench.conclusion import conclusions, would_tell
from hsd.bench.report import Benchmark, read
from hsd.cli import main
from hsd.paths import RESULTS

PLAIN = Case("plain", {"system": "plain"})
HSD = Case("hsd", {"rule": "hsd", "gamma": 3})
LONGER = Case("hsd, longer", {**HSD.options, "gamma": 5})


def benchmark(prompts: int, spread: float = 0.0, **speeds: float) -> Benchmark:
    """Cases so many times as fast as plain decoding; a prompt's own factor is up to 1 ± spread."""
    chance = random.Random(0)
    cases = {"plain": PLAIN, "hsd": HSD, "longer": LONGER}
    made = []
    for prompt in range(prompts):
        for name, speed in {"plain": 1.0, **speeds}.items():
            own = 1 + (0 if name == "plain" else spread * chance.uniform(-1, 1))
            for repetition in (1, 2):
                place = {"case": cases[name].name, "prompt": prompt, "repetition": repetition}
                counts = {"new_tokens": 20, "steps": 10, "seconds": 0.1 / (speed * own)}
                made.append({**place, **counts})
    listed = [{"name": cases[n].name, "options": cases[n].options} for n in ("plain", *speeds)]
    return Benchmark({"cases": listed}, made)


def said(found: Benchmark) -> str:
    (words,) = conclusions(found)
    return words


def test_the_fastest_way_is_named_beside_plain_and_beside_the_next():
    words = said(benchmark(20, 0.05, hsd=1.2, longer=1.5))
    assert words.startswith("HSD, longer pays here: 1.5")
    assert "over 20 prompts. It is faster than the next, HSD: 1.2" in words
    assert words.endswith(
        "`python -m hsd estimate` answers for every draft length, without drafting."
    )


def test_ways_that_are_too_close_are_not_told_apart():
    words = said(benchmark(12, 0.2, hsd=1.5, longer=1.51))
    assert "pays here" in words
    assert re.search(r"It cannot be told from the next, .*; about [\d,]+ such prompts would", words)


def test_a_loss_is_called_a_loss():
    assert said(benchmark(12, 0.05, hsd=0.7, longer=0.6)).startswith(
        "No draft that was timed pays here: the best, HSD, is 0.7"
    )


def test_one_prompt_tells_nothing_of_others():
    assert said(benchmark(1, hsd=1.5)).startswith(
        "HSD is the fastest, 1.50 × plain decoding on one prompt, which tells nothing of others"
    )


def test_what_cannot_be_told_says_how_many_prompts_would_tell():
    words = said(benchmark(16, 0.9, hsd=1.05))
    assert words.startswith("Whether a draft pays here cannot be told: the best, HSD, is ")
    assert re.search(r"; about [\d,]+ such prompts would tell\.", words)
    # twice as wide as it may be takes four times as many; of few prompts it is wider than of many
    assert would_tell((1.1, 0.9, 1.3), 40) == "about 160 such prompts would tell"
    assert would_tell((1.1, 0.9, 1.3), 4) == "about 7 such prompts would tell"
    assert would_tell((0.9, 0.9, 0.9), 40) == "about 41 such prompts would tell"
    assert would_tell((1.0, 0.9, 1.1), 40) == "no number of prompts is likely to tell"


def test_each_temperature_has_its_own():
    cold = [Case(f"{one.name}, cold", {**one.options, "temperature": 0.5}) for one in (PLAIN, HSD)]
    found = benchmark(10, hsd=1.2)
    found.header["cases"] += [{"name": one.name, "options": one.options} for one in cold]
    more = [{**r, "case": f"{r['case']}, cold"} for r in found.records]
    both = conclusions(Benchmark(found.header, [*found.records, *more]))
    assert [words.partition(":")[0] for words in both] == ["Temperature 1", "Temperature 0.5"]


def test_the_command_ends_in_it(capsys: pytest.CaptureFixture[str]):
    file = RESULTS / "bench-smollm2.jsonl"
    assert main(["bench", "--report", str(file)]) == 0
    assert capsys.readouterr().out.rstrip().endswith(said(read(file)))
