"""The page's report of a race: numbers are those that hsd.bench computes from the same records, and
sentences say no more than the intervals allow.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine import Engine

import hsd
from hsd.app import race
from hsd.bench import Case, Measurement
from hsd.bench import race as timing
from hsd.bench.summary import measurements, rows
from hsd.draft.ngram import COPIERS, Copier
from hsd.facts import PROPOSER_NAMES

Record = dict[str, Any]
PROMPT = "Once upon a time, there was a fox"
SHARED = {"max_new_tokens": 24, "temperature": 0.8, "trace": False}
PLAIN = Case("Plain decoding", {"system": "plain", **SHARED})
VANILLA, HSD = ({"rule": rule, "gamma": 4} for rule in ("tokenwise", "hsd"))
# what a row of the page and one of a benchmark both have
SAME = ("tokens_per_second", "shares", "outside_ms_per_step", "target_call_ms", "draft_call_ms")
SAME += ("limit",)


@pytest.fixture(scope="module")
def node() -> Iterator[Engine]:
    names = ("report", "recorded", "intervals")
    engine = Engine({name: f"speed/{name}.js" for name in names})
    yield engine
    engine.stop()


def case(name: str, **options: object) -> Case:
    return Case(name, {**SHARED, **options})


def lanes_of(cases: list[Case]) -> list[Record]:
    return [
        {"name": c.name, "options": c.options, "own": {}, "lossless": race.lossless(c.options)}
        for c in cases
    ]


def report(node: Engine, cases: list[Case], found: list[Record], coins: Any = ()) -> Any:
    said = "(lanes, records, coins) => report.report(lanes, records, coins)"
    return node.call(said, lanes_of(cases), found, list(coins))


def raced_here(cases: list[Case], rounds: int = 1, prompt: str = PROMPT) -> list[Record]:
    """The records of a race."""
    pair = hsd.load_pair("tiny")
    news = timing.rounds(pair, prompt, cases, 7, rounds)
    return [event["record"] for events in news for event in events if "record" in event]


def agrees(found: Any, cases: list[Case], records: list[Record]) -> None:
    """Hold all rows to the statistics of a benchmark."""
    counted = [record for record in records if record["repetition"]]
    timed = [c for c in cases if any(record["case"] == c.name for record in counted)]
    own = measurements(timed, counted)
    assert [row["case"] for row in found["rows"]] == [c.name for c in timed]
    for row, m, known in zip(found["rows"], own, rows(own), strict=True):
        for name in SAME:
            if name in known:
                value = json.loads(json.dumps(known[name]), parse_constant=lambda _: None)
                assert row[name] == pytest.approx(value), (m.case.name, name)
        assert row["tokens_per_call"] == pytest.approx(m.block_efficiency()[0])
        assert row["prompts"] == known["prompts"]
        assert row["runs"] == len(m.by_repetition)
        assert row["lossless"] == race.lossless(m.case.options)
        ratio = row["tokens_per_second"] / found["rows"][0]["tokens_per_second"]
        assert row["speedup"] == pytest.approx(ratio)
        assert row["ms_per_token"] == pytest.approx(1e3 / row["tokens_per_second"])
        if m is own[0]:
            continue
        assert row["rate"] == pytest.approx(m.acceptance_rate()[0])
        if row["limit"]:
            assert row["efficiency"] == pytest.approx(row["speedup"] / row["limit"])
        every = m.speedups(own[0])
        ends = [min(every), max(every)] if row["prompts"] == 1 else m.speedup(own[0])[1:]
        assert row["speedups"] == pytest.approx(ends, abs=1e-4)


@pytest.fixture(scope="module")
def raced() -> tuple[list[Case], list[Record]]:
    """A race of three lanes in three timed rounds."""
    cases = [PLAIN, case("Vanilla", **VANILLA), case("HSD", **HSD)]
    return cases, raced_here(cases, 3)


# ---- numbers


def test_warm_ups_are_no_part_of_the_numbers(node: Engine, raced):
    cases, found = raced
    slow_start = [{**r, "seconds": 1e6} if r["repetition"] == 0 else r for r in found]
    assert report(node, cases, slow_start) == report(node, cases, found)
    assert report(node, cases, [r for r in found if r["repetition"] == 0]) is None
    assert report(node, cases, [r for r in found if r["case"] != PLAIN.name]) is None


def test_one_statistic_stands_behind_each_number(node: Engine, raced):
    cases, found = raced
    counted = [r for r in found if r["repetition"]]
    told = report(node, cases, counted)
    agrees(told, cases, counted)
    measured = [Measurement(c, tuple(r for r in counted if r["case"] == c.name)) for c in cases]
    for row, m in zip(told["rows"], measured, strict=True):
        assert row["seconds"] == sorted(r["seconds"] for r in m.records)[1]
        assert (
            next(r["repetition"] for r in m.records if r["seconds"] == row["seconds"])
            == row["replay"]
        )
        assert row["tokens_per_second"] == pytest.approx(row["tokens"] / row["seconds"])
        assert row["ms_per_token"] == pytest.approx(1e3 * row["seconds"] / row["tokens"])
        assert row["target_calls"] == m.records[0]["target_calls"]
        assert row["calls_per_step"] == pytest.approx(row["target_calls"] / row["steps"])
        assert row["runs"] == 3
    hsd_row = told["rows"][2]
    d, wide = (measured[2].call_seconds(*call) for call in (("draft", 1), ("target", 5)))
    one = measured[0].call_seconds("target", 1)
    assert hsd_row["limit"] == pytest.approx(hsd_row["tokens_per_call"] * one / (4 * d + wide))
    assert hsd_row["efficiency"] == pytest.approx(hsd_row["speedup"] / hsd_row["limit"])


def test_only_rounds_that_all_timed_lanes_have_ended_count(node: Engine, raced):
    cases, found = raced
    for count in (4, 5, 6, 7, 8, 11):
        told = report(node, cases, found[:count])
        agrees(told, cases, found[:count])
        assert {row["runs"] for row in told["rows"]} == {max(1, (count - 3) // 3)}


def test_lanes_of_one_length_are_counted_with_it(node: Engine):
    # as if its text ended there
    short = [PLAIN, case("HSD", rule="hsd", gamma=4, max_new_tokens=9)]
    told = report(node, short, raced_here(short))
    assert [row["tokens"] for row in told["rows"]] == [9, 9]


SYSTEMS = [
    PLAIN,
    case("stack", system="stack", rule="hsd", thresholds=[3, 4]),
    case("exits", system="hispec", rule="tokenwise", exits=[2, 4]),
    case("fuzzy", rule="fuzzy", gamma=4, tolerance=0.3, divergence="js"),
    case("copies", rule="tokenwise", gamma=5, proposer="ngram"),
    case("tree", rule="traversal", gamma=3, drafts=3, tree="distinct"),
    case("auto", rule="hsd", gamma="auto"),
]


@pytest.fixture(scope="module")
def systems() -> list[Record]:
    return raced_here(SYSTEMS, prompt="A cat sat. A cat sat. A cat sat.")


def test_all_models_of_a_lane_count_and_those_below_the_target_draft(node: Engine, systems):
    told = report(node, SYSTEMS, systems)
    agrees(told, SYSTEMS, systems)
    by_name = {row["case"]: row for row in told["rows"]}
    for name in ("stack", "exits"):
        (record,) = [r for r in systems if r["case"] == name and r["repetition"]]
        spent = {
            level: calls["first"] + sum(total for _, total, _ in calls["widths"].values())
            for level, calls in record["calls"].items()
        }
        row = by_name[name]
        assert row["shares"]["draft"] == pytest.approx(
            (spent["draft"] + spent["level 0"]) / record["seconds"]
        )
        assert row["shares"]["target"] == pytest.approx(spent["target"] / record["seconds"])
        times = {
            level: 1e3
            * sum(count * median for count, _, median in own["widths"].values())
            / record["steps"]
            for level, own in record["calls"].items()
        }
        assert row["below_ms"] == pytest.approx(times["draft"] + times["level 0"])
        assert "A step's calls below the target cost" in row["sentence"]
        # what the calls allow: plain decoding's calls for as many tokens, over those of a step
        plain = by_name["Plain decoding"]["target_call_ms"] * record["new_tokens"] / record["steps"]
        assert row["limit"] == pytest.approx(plain / sum(times.values()))
    assert by_name["fuzzy"]["below_ms"] is None


def copies_are_free(node: Engine, records: list[Record]) -> None:
    told = report(node, SYSTEMS, records)["rows"]
    (record,) = [r for r in records if r["case"] == "copies" and r["repetition"]]
    step = (
        sum(count * median for count, _, median in record["calls"]["target"]["widths"].values())
        / record["steps"]
    )
    one = told[0]["target_call_ms"] / 1e3
    assert told[4]["limit"] == pytest.approx(record["new_tokens"] / record["steps"] * one / step)
    assert told[4]["draft_call_ms"] == 0
    assert "A copied draft costs nothing" in told[4]["sentence"]


def test_copies_of_any_length_have_a_limit_and_cost_no_call(node: Engine, systems):
    copies_are_free(node, systems)


def test_so_have_those_of_another_copier(monkeypatch: pytest.MonkeyPatch, systems):
    monkeypatch.setitem(COPIERS, "suffix", Copier("Longest suffix", "suffix", longest=9))
    monkeypatch.setitem(PROPOSER_NAMES, "suffix", "Longest suffix")
    monkeypatch.setattr("hsd.decoding.options.PROPOSERS", ("model", *COPIERS))
    monkeypatch.setattr("hsd.facts.PROPOSERS", ("model", *COPIERS))
    monkeypatch.setitem(SYSTEMS[4].options, "proposer", "suffix")
    engine = Engine({"report": "speed/report.js"})
    try:
        copies_are_free(engine, systems)
    finally:
        engine.stop()


def test_rounds_that_repeat_each_other_do_not_make_a_count_surer(node: Engine, raced):
    cases, found = raced
    once = report(node, cases, [r for r in found if r["repetition"] == 1])
    thrice = report(node, cases, found)
    for one, three in zip(once["rows"], thrice["rows"], strict=True):
        assert three["call_error"] == pytest.approx(one["call_error"])
        assert three["steps"] == one["steps"]
    (record,) = [r for r in found if r["case"] == "HSD" and r["repetition"] == 1]
    kept = [int(n) for n, count in record["kept_histogram"].items() for _ in range(count)]
    assert once["rows"][2]["call_error"] == pytest.approx(statistics.stdev(kept) / len(kept) ** 0.5)


def test_a_run_too_short_for_a_limit_says_so_and_stays_json(node: Engine):
    cases = [PLAIN, case("HSD", **HSD)]
    cases = [Case(one.name, {**one.options, "max_new_tokens": 1}) for one in cases]
    found = raced_here(cases)
    told = report(node, cases, found)
    agrees(told, cases, found)
    assert told["rows"][1]["limit"] is None
    assert "too short to say what its calls alone allow" in told["rows"][1]["sentence"]
    finite = node.call(
        "(lanes, records) => JSON.stringify(report.report(lanes, records))", lanes_of(cases), found
    )
    json.dumps(json.loads(finite), allow_nan=False)


# ---- intervals over prompts


def of_prompts(found: list[Record], count: int) -> tuple[list[Record], list[Record]]:
    """Records of so many prompts with three seeds, made from one race by noise, and their coins."""
    noise = np.random.default_rng(count)
    many = [
        {
            **record,
            "prompt": prompt,
            "seconds": record["seconds"] * noise.uniform(0.5, 2),
            "new_tokens": int(noise.integers(10, 40)),
        }
        for record in found
        if record["repetition"]
        for prompt in range(count)
    ]
    coins = [
        {"case": name, "prompt": i, "kept": noise.uniform(5, 15), "drafts": int(10 + i % 3)}
        for name in ("Vanilla", "HSD")
        for i in range(count)
    ]
    return many, coins


@pytest.mark.parametrize("count", [2, 3, 9, 10, 12, 33])
def test_intervals_over_prompts_are_those_of_a_benchmark(node: Engine, raced, count: int):
    cases, found = raced
    many, coins = of_prompts(found, count)
    told = report(node, cases, many, coins)
    agrees(told, cases, many)
    plain, vanilla, usual = measurements(cases, many)
    printed = re.search(r"in time (level, )?([0-9.]+) × \(([0-9.]+)–([0-9.]+)\)", told["rules"])
    assert printed
    between = usual.speedup(vanilla)
    assert [float(text) for text in printed.groups()[1:]] == pytest.approx(between, abs=0.0051)
    assert bool(printed[1]) == (between[1] <= 1 <= between[2])
    assert f"{count} prompts" in told["basis"]
    slowest, quickest = told["rows"][1]["speedups"]
    assert (slowest > 1) == (vanilla.speedup(plain)[1] > 1)
    assert quickest > slowest >= 0


def test_prompts_are_drawn_as_numpy_draws_them(node: Engine):
    for count in (10, 32, 77):
        given = [[i**2 + 1, 1] for i in range(count)]
        drawn = np.random.default_rng(0).integers(count, size=(1_000, count))
        ours = node.call("(given) => intervals.resampled(given)", given)
        assert ours == pytest.approx((drawn**2 + 1).mean(1))


# ---- sentences

KEPT = {"0": 10, "1": 10, "2": 10, "3": 10}  # steps by how many tokens they kept


@pytest.fixture(scope="module")
def made_up(node: Engine):
    """Reports of made-up races."""

    def told(*seconds: dict[str, float], rule: str = "hsd") -> Any:
        cases, found = known_costs(*seconds, rule=rule)
        return report(node, cases, found)

    return told


def known_costs(*seconds: dict[str, float], rule: str) -> tuple[list[Case], list[Record]]:
    """Cases and records of a race with known costs: 100 tokens; target calls of 10 ms (12 ms for 6
    tokens), drafts of 1 ms.

    seconds: of each lane, round by round.
    """
    found = []
    for repetition, times in enumerate(seconds, start=1):
        for name, total in times.items():
            plain = name == "plain"
            steps = 100 if plain else 40
            target = {
                "first": 0.0,
                "widths": {"1": [100, 1.0, 0.01]} if plain else {"6": [40, 0.48, 0.012]},
            }
            draft = {"first": 0.0, "widths": {} if plain else {"1": [200, 0.2, 0.001]}}
            time = {
                "draft": 0 if plain else 0.2,
                "target": 1.0 if plain else 0.48,
                "verify": 0.0,
                "rest": 0.0,
            }
            found.append(
                {
                    "case": name,
                    "prompt": 0,
                    "repetition": repetition,
                    "new_tokens": 100,
                    "target_calls": steps,
                }
                | {
                    "steps": steps,
                    "drafted": 0 if plain else 200,
                    "kept": 0 if plain else 60,
                    "seconds": total,
                }
                | {"positions": [], "kept_histogram": {"0": 100} if plain else KEPT, "time": time}
                | {"calls": {"target": target, "draft": draft}}
            )
    drafting = {"rule": rule, "gamma": 5, "drafts": 1}
    return [Case(n, {"system": "plain"} if n == "plain" else drafting) for n in seconds[0]], found


def test_a_lanes_sentence_has_the_measured_costs_and_the_limit(made_up):
    sentence = made_up({"plain": 1.0, "HSD": 0.8})["rows"][1]["sentence"]
    # a step: 5 · 1 ms + 12 ms = 17 ms for 2.5 tokens, which plain decoding makes in 25 ms; 0.8 s
    # for 40 steps
    assert sentence == (
        "A draft call costs 0.10 and a check 1.20 of a target call (10.0 ms). A step took as long "
        "as 2.00 tokens of "
        "plain decoding and brought 2.50 (30 % of its drafts kept). The calls alone allow 1.47 ×, "
        "of which 85 % is "
        "reached."
    )


def test_a_lane_above_its_limit_says_what_the_limit_leaves_out(made_up):
    above = made_up({"plain": 1.6, "HSD": 1.05})["rows"][1]
    assert above["speedup"] > above["limit"]
    assert (
        "; more was reached, as calls do not all take their median time, and plain"
        in above["sentence"]
    )


def test_the_fastest_is_named_only_where_it_is_faster_than_plain_and_than_the_next(made_up):
    alone = made_up({"plain": 1.0, "A": 0.5, "B": 0.9}, {"plain": 1.0, "A": 0.6, "B": 0.8})
    assert (
        alone["verdict"]
        == "A is the fastest: 1.83 × the speed of plain decoding (1.67–2.00 in 2 rounds)."
    )
    close = made_up(
        {"plain": 1.0, "A": 0.5, "B": 0.6, "C": 2.0}, {"plain": 1.0, "A": 0.6, "B": 0.5, "C": 2.0}
    )
    assert close["verdict"] == (
        "A and B are faster than plain decoding, 1.83 ×, and level with each other."
    )
    luck = made_up({"plain": 1.0, "A": 0.8, "B": 1.5}, {"plain": 1.0, "A": 1.1, "B": 1.5})
    assert luck["verdict"] == (
        "Level with plain decoding: A has 1.08 × its speed (0.91–1.25 in 2 rounds)."
    )
    slow = made_up({"plain": 1.0, "A": 1.5, "B": 2.0}, {"plain": 1.0, "A": 1.6, "B": 2.0})
    assert slow["verdict"].startswith("Drafting does not pay here: A comes nearest, with 0.65 ×")
    assert made_up({"plain": 1.0})["verdict"] == "Only plain decoding was timed."


def test_of_several_prompts_the_interval_over_them_decides_and_so_between_the_two_rules(
    node: Engine, raced
):
    cases, found = raced
    seconds = {"Plain decoding": [1.0] * 3, "Vanilla": [0.5, 0.51, 0.49], "HSD": [0.3, 0.5, 1.8]}
    counted = [r for r in found if r["repetition"]]
    counted = [{**r, "prompt": r["repetition"], "repetition": 1, "new_tokens": 24} for r in counted]
    counted = [{**r, "seconds": seconds[r["case"]][r["prompt"] - 1]} for r in counted]
    coins = [
        {"case": name, "prompt": prompt, "kept": kept, "drafts": 10}
        for name, own in {"Vanilla": (10, 12, 14), "HSD": (12, 13, 17)}.items()
        for prompt, kept in enumerate(own)
    ]
    told = report(node, cases, counted, coins)
    _, vanilla, usual = told["rows"]
    assert vanilla["speedups"][0] > 1
    assert usual["speedups"][0] < 1 < usual["speedups"][1]
    assert told["verdict"].startswith("Vanilla is the fastest: 2.00 ×")
    assert told["verdict"].endswith("95 % over 3 prompts).")
    # over all coins 42 − 36 tokens of 30 drafts; without each prompt in turn 4, 5 and 3 of 20
    half = 4.302653 * (2 / 3 * sum((x - 0.2) ** 2 for x in (0.2, 0.25, 0.15))) ** 0.5
    words = (
        "HSD − vanilla: +0.200 tokens per call over all coins "
        f"({0.2 - half:+.3f} to {0.2 + half:+.3f}); in time level,"
    )
    assert told["rules"].startswith(words.replace("(-", "(−"))


def test_of_two_lanes_with_a_rule_the_first_is_compared(node: Engine):
    names = {"plain": 1.0, "V": 0.8, "A": 0.4, "B": 0.5}
    cases, found = known_costs(names, rule="hsd")
    cases[1] = Case("V", {**cases[1].options, "rule": "tokenwise"})
    words = "in time 2.00 × (2.00–2.00), −4.00 ms per token"
    assert words in report(node, cases, found)["rules"]


def test_a_limit_that_counts_one_call_of_several_says_so_where_models_have_no_levels(node: Engine):
    cases, found = known_costs({"plain": 1.0, "A": 0.8}, rule="hsd")
    found[1]["target_calls"] *= 2
    words = "if each step made one target call, but this rule makes 2.00"
    assert words in report(node, cases, found)["rows"][1]["sentence"]
    levels = [cases[0], Case("A", {"system": "stack", "rule": "hsd", "gamma": 5})]
    assert words not in report(node, levels, found)["rows"][1]["sentence"]


def test_several_prompts_settle_small_differences_with_one_seed(node: Engine):
    cases, found = known_costs({"plain": 1.0, "A": 0.96}, rule="hsd")
    many = [{**record, "prompt": prompt} for record in found for prompt in range(4)]
    assert report(node, cases, many)["verdict"].startswith("A is the fastest: 1.04 ×")


def test_at_temperature_0_the_rules_are_said_to_decide_alike_where_they_did(node: Engine):
    cases = [case(one, **own, temperature=0) for one, own in (("Vanilla", VANILLA), ("HSD", HSD))]
    found = [Case("Plain decoding", {**PLAIN.options, "temperature": 0}), *cases]
    ends = raced_here(found)
    assert report(node, found, ends)["rules"].startswith("At temperature 0 both rules decide alike")
    ends[-1] = {**ends[-1], "kept_histogram": {"0": 1}}
    assert report(node, found, ends)["rules"].startswith("HSD − vanilla: in time ")


def test_a_single_round_settles_only_large_differences(made_up):
    assert (
        made_up({"plain": 1.0, "A": 0.95})["verdict"]
        == "Level with plain decoding: A has 1.05 × its speed."
    )
    assert made_up({"plain": 1.0, "A": 0.5, "B": 0.52})["verdict"].startswith(
        "A and B are faster than plain decoding"
    )
    assert "differences of 10 % may be noise" in made_up({"plain": 1.0, "A": 0.5})["basis"]


def test_a_lossy_lane_is_named_as_such_wherever_it_is_ahead(made_up):
    lossy = made_up({"plain": 1.0, "A": 0.5}, rule="fuzzy")
    assert lossy["verdict"].startswith("A (not lossless) is the fastest")
    assert lossy["calls"].startswith("A (not lossless) needs")


def in_words(node: Engine, tokens: dict[str, float], error: float = 0.0) -> str:
    """What is said of the calls saved, for lanes with these tokens per call and this standard
    error.
    """
    common = {"call_error": error, "steps": 1_000, "prompts": 1, "lossless": True}
    told = [{"case": name, "tokens_per_call": n, **common} for name, n in tokens.items()]
    return node.call("(rows) => report.calls(rows)", told)


def test_the_calls_saved_are_counted_and_hold_anywhere(node: Engine):
    assert in_words(node, {"plain": 1.0, "A": 1.25, "B": 2.0}) == (
        "B needs 50 % fewer target calls than plain decoding on this prompt and seed. This holds "
        "on any hardware."
    )
    assert (
        in_words(node, {"plain": 1.0, "A": 1.0})
        == "No lane saves target calls on this prompt and seed."
    )


def test_lanes_that_differ_by_chance_share_what_they_save(node: Engine):
    tokens = {"plain": 1.0, "A": 2.0, "B": 1.9, "C": 1.1}
    said = in_words(node, tokens, error=0.1)
    assert said.startswith("A and B need 47 to 50 % fewer target calls than plain decoding")
    assert "how these lanes differ may be chance" in said
    assert "chance" not in in_words(node, tokens, error=0.01)
    # of each by 0.196, and of their difference by 0.277
    assert "A and B need" in in_words(node, {"plain": 1.0, "A": 2.0, "B": 1.75}, error=0.1)
    assert "chance" not in in_words(node, {"plain": 1.0, "A": 2.0, "B": 1.7}, error=0.1)


# ---- recorded races


@pytest.fixture(scope="module")
def shown(node: Engine) -> list[Record]:
    """The races of the page, with their reports."""
    words = """(races) => recorded.withAll(races).map((race) => {
      return { ...race, report: recorded.reportOf(race) };
    })"""
    return node.call(words, race.recordings()["races"])


def records_of(shown: Record) -> list[Record]:
    return [event["record"] for event in shown["events"] if "record" in event]


def test_recorded_races_are_reported_with_the_numbers_of_a_benchmark(shown: list[Record]):
    for one in shown:
        cases = [Case(lane["name"], lane["options"]) for lane in one["header"]["lanes"]]
        agrees(one["report"], cases, records_of(one))
        assert {row["runs"] for row in one["report"]["rows"]} == {one["header"]["rounds"]}


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("number", range(4))
def test_so_are_single_rounds_and_races_that_were_cancelled(node: Engine, number: int, rounds: int):
    one = race.recordings()["races"][number]
    first = [r for r in records_of(one) if r["prompt"] == 0 and r["repetition"] == 1]
    found = [{**record, "repetition": n} for n in range(1, rounds + 1) for record in first]
    cases = [Case(lane["name"], lane["options"]) for lane in one["header"]["lanes"]]
    for count in (len(found), min(len(found), len(cases) + 2), 1):
        told = report(node, cases, found[:count])
        agrees(told, cases, found[:count])
        assert ("differences of 10 % may be noise" in told["basis"]) == (count < 2 * len(cases))


def test_domains_are_counted_together_at_each_temperature(shown: list[Record]):
    names = ["Stories", "Sums", "Code", "Questions", "All"]
    assert [one["domain"] for one in shown] == names * (len(shown) // 5)
    groups = [shown[i : i + 5] for i in range(0, len(shown), 5)]
    made_by = [
        {(one["header"]["pair"], one["header"]["sampling"]["temperature"]) for one in own}
        for own in groups
    ]
    assert all(len(own) == 1 for own in made_by)
    assert len(set.union(*made_by)) == len(groups) == 3
    for *races, whole in groups:
        prompts = races[0]["header"]["prompts"]
        for i, row in enumerate(whole["report"]["rows"]):
            assert {one["report"]["rows"][i]["case"] for one in races} == {row["case"]}
            ends = [
                e["record"]
                for one in races
                for e in one["events"]
                if e["lane"] == i and "record" in e
            ]
            tokens, calls = (sum(r[name] for r in ends) for name in ("new_tokens", "target_calls"))
            assert row["tokens_per_call"] == pytest.approx(tokens / calls)
            assert row["prompts"] == 4 * prompts
        assert f"these {4 * prompts} prompts" in whole["report"]["calls"]
        assert not any(event["steps"] for event in whole["events"])


def test_a_race_alone_at_its_temperature_is_all_there_is(node: Engine):
    races = race.recordings()["races"]
    found = node.call("(races) => recorded.withAll(races).length", [races[0], races[4]])
    assert found == 2


def test_the_difference_of_the_rules_is_that_of_their_sums_over_all_coins(shown: list[Record]):
    with_coins = [one for one in shown if one.get("coins")]
    assert with_coins
    for one in with_coins:
        sums: dict[str, tuple[float, int]] = {}
        for drafts in one["coins"]:
            kept, count = sums.get(drafts["case"], (0, 0))
            sums[drafts["case"]] = (kept + drafts["kept"], count + drafts["drafts"])
        vanilla, usual = (kept / drafts for kept, drafts in sums.values())
        words = f"HSD − vanilla: {usual - vanilla:+.3f}".replace("-", "−")
        assert one["report"]["rules"].startswith(words)


def test_the_speeds_in_the_head_are_those_of_the_race_on_speed(shown: list[Record]):
    """One record of a measurement is behind both."""
    for pair, speeds in race.speeds().items():
        whole = next(
            one
            for one in shown
            if (one["header"]["pair"], one["domain"]) == (pair, "All")
            and one["header"]["sampling"]["temperature"] == speeds["temperature"]
        )
        rows = {row["case"]: row for row in whole["report"]["rows"]}
        assert [lane["rule"] for lane in speeds["lanes"]] == [None, "tokenwise", "hsd"]
        for lane, row in zip(speeds["lanes"], rows.values(), strict=False):
            assert lane["times"] == pytest.approx(row["speedup"])
            assert lane["tokens_per_second"] == pytest.approx(row["tokens_per_second"])
        assert speeds["prompts"] == whole["report"]["rows"][0]["prompts"]


def test_the_share_that_the_calculator_multiplies_by_is_that_of_the_races(
    node: Engine, shown: list[Record]
):
    races = race.recordings()["races"]
    shares = node.call("recorded.sharesOf", races)
    assert set(shares) == {one["header"]["pair"] for one in races}
    for pair, share in shares.items():
        whole = next(
            one
            for one in shown
            if (one["header"]["pair"], one["domain"]) == (pair, "All")
            and one["header"]["sampling"]["temperature"]
        )
        own = [row["efficiency"] for row in whole["report"]["rows"][1:3]]
        assert share["share"] == pytest.approx(min(sum(own) / 2, 1))
        assert share["processor"] == whole["header"]["machine"]["processor"]
        passes = node.call("recorded.passesIn", whole)
        plain, vanilla = whole["report"]["rows"][:2]
        assert passes["times"]["1"] == plain["target_call_ms"]
        assert passes["times"]["draft"] == vanilla["draft_call_ms"]
