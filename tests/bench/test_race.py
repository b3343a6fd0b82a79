"""A race: lanes take turns, and every number is the benchmark's."""

from __future__ import annotations

import json
import statistics

import pytest

import hsd
from hsd.bench import Case, Measurement
from hsd.bench import race as timing
from hsd.bench.race_report import calls, report
from hsd.errors import HsdError

PROMPT = "Once upon a time, there was a fox"
SHARED = {"max_new_tokens": 24, "temperature": 0.8, "trace": False}
PLAIN = Case("Plain decoding", {"system": "plain", **SHARED})


VANILLA, HSD = ({"rule": rule, "gamma": 4} for rule in ("tokenwise", "hsd"))


def case(name: str, **options: object) -> Case:
    return Case(name, {**SHARED, **options})


def written(events: list[dict], lane: int, repetition: int) -> list[int]:
    """The tokens of one run."""
    mine = [event for event in events if (event["lane"], event["repetition"]) == (lane, repetition)]
    return [token for event in mine for step in event["steps"] for token in step["tokens"]]


def records(events: list[dict]) -> list[dict]:
    return [event["record"] for event in events if "record" in event]


def raced_here(cases: list[Case], rounds: int = 1, prompt: str = PROMPT) -> list[dict]:
    pair = hsd.load_pair("tiny")
    return [event for news in timing.rounds(pair, prompt, cases, 7, rounds) for event in news]


@pytest.fixture(scope="module")
def raced() -> tuple[list[Case], list[dict]]:
    """A race of three lanes in three timed rounds."""
    cases = [PLAIN, case("Vanilla", rule="tokenwise", gamma=4), case("HSD", rule="hsd", gamma=4)]
    return cases, raced_here(cases, 3)


def test_lanes_take_turns_and_each_runs_once_more_than_it_is_timed(raced):
    _, events = raced
    ends = [(event["repetition"], event["lane"]) for event in events if "record" in event]
    assert ends == [(repetition, lane) for repetition in range(4) for lane in range(3)]


def test_a_lane_writes_what_hsd_run_writes_in_every_round(raced):
    cases, events = raced
    for lane, one in enumerate(cases):
        run = hsd.run(hsd.load_pair("tiny"), PROMPT, seed=7, **one.options)
        for repetition in range(4):
            assert written(events, lane, repetition) == run.tokens
            mine = [e for e in events if (e["lane"], e["repetition"]) == (lane, repetition)]
            assert mine[-1]["text"] == run.text
            assert sum(s["calls"] for e in mine for s in e["steps"]) == run.stats()["target_calls"]


def test_no_lane_is_timed_on_a_longer_text_than_another():
    # as if its text ended there
    short = [PLAIN, case("HSD", rule="hsd", gamma=4, max_new_tokens=9)]
    events = raced_here(short)
    lengths = {
        (e["repetition"], e["lane"]): e["record"]["new_tokens"] for e in events if "record" in e
    }
    assert lengths == {(0, 0): 24, (0, 1): 9, (1, 0): 9, (1, 1): 9}
    assert [row["tokens"] for row in report(short, records(events))["rows"]] == [9, 9]


def test_steps_end_in_order_and_the_last_one_with_its_run(raced):
    _, events = raced
    for end in (event for event in events if "record" in event):
        same = [
            e for e in events if (e["lane"], e["repetition"]) == (end["lane"], end["repetition"])
        ]
        times = [step["end"] for event in same for step in event["steps"]]
        assert times == sorted(times)
        assert times[0] > 0
        assert times[-1] == pytest.approx(end["record"]["seconds"], rel=0.1, abs=0.05)


def test_warm_ups_are_no_part_of_the_numbers(raced):
    cases, events = raced
    slow_start = [{**r, "seconds": 1e6} if r["repetition"] == 0 else r for r in records(events)]
    assert report(cases, slow_start) == report(cases, records(events))
    assert report(cases, [r for r in records(events) if r["repetition"] == 0]) is None


def test_one_statistic_stands_behind_each_number(raced):
    cases, events = raced
    counted = [r for r in records(events) if r["repetition"]]
    found = report(cases, counted)
    measured = [Measurement(c, tuple(r for r in counted if r["case"] == c.name)) for c in cases]
    plain = found["rows"][0]
    for row, m in zip(found["rows"], measured, strict=True):
        assert row["seconds"] == sorted(r["seconds"] for r in m.records)[1]
        assert (
            next(r["repetition"] for r in m.records if r["seconds"] == row["seconds"])
            == row["replay"]
        )
        assert row["tokens_per_second"] == pytest.approx(row["tokens"] / row["seconds"])
        assert row["speedup"] == pytest.approx(
            row["tokens_per_second"] / plain["tokens_per_second"]
        )
        assert row["ms_per_token"] == pytest.approx(1e3 * row["seconds"] / row["tokens"])
        assert row["tokens_per_call"] == pytest.approx(m.block_efficiency()[0])
        assert row["runs"] == 3
    hsd_row = found["rows"][2]
    d, wide = (measured[2].call_seconds(*call) for call in (("draft", 1), ("target", 5)))
    one = measured[0].call_seconds("target", 1)
    assert hsd_row["limit"] == pytest.approx(hsd_row["tokens_per_call"] * one / (4 * d + wide))
    assert hsd_row["efficiency"] == pytest.approx(hsd_row["speedup"] / hsd_row["limit"])


# ---- stacks, exits, copies

SYSTEMS = [
    PLAIN,
    case("stack", system="stack", rule="hsd", thresholds=[3, 4]),
    case("exits", system="hispec", rule="tokenwise", exits=[2, 4]),
    case("fuzzy", rule="fuzzy", gamma=4, tolerance=0.3, divergence="js"),
    case("copies", rule="tokenwise", gamma=5, proposer="ngram"),
]


@pytest.fixture(scope="module")
def systems() -> list[dict]:
    return raced_here(SYSTEMS, prompt="A cat sat. A cat sat. A cat sat.")


def test_all_models_of_a_lane_are_timed_and_those_below_the_target_draft(systems):
    found = {row["case"]: row for row in report(SYSTEMS, records(systems))["rows"]}
    for name in ("stack", "exits"):
        (record,) = [r for r in records(systems) if r["case"] == name and r["repetition"]]
        assert set(record["calls"]) == {"target", "draft", "level 0"}
        spent = {
            level: calls["first"] + sum(total for _, total, _ in calls["widths"].values())
            for level, calls in record["calls"].items()
        }
        row = found[name]
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
        plain = found["Plain decoding"]["target_call_ms"] * record["new_tokens"] / record["steps"]
        assert row["limit"] == pytest.approx(plain / sum(times.values()))
    assert found["fuzzy"]["below_ms"] is None


def test_copies_of_any_length_have_a_limit_and_cost_no_call(systems):
    rows = report(SYSTEMS, records(systems))["rows"]
    (record,) = [r for r in records(systems) if r["case"] == "copies" and r["repetition"]]
    step = (
        sum(count * median for count, _, median in record["calls"]["target"]["widths"].values())
        / record["steps"]
    )
    one = rows[0]["target_call_ms"] / 1e3
    assert rows[4]["limit"] == pytest.approx(record["new_tokens"] / record["steps"] * one / step)
    assert rows[4]["draft_call_ms"] == 0
    assert "A copied draft costs nothing" in rows[4]["sentence"]


def test_what_a_reader_must_know_of_a_lane_is_told_or_refused_before_anything_runs():
    pair = hsd.load_pair("tiny")
    notes = timing.facts(pair, [PLAIN, case("exits", system="hispec", exits=[1, 3])])["notes"]
    assert notes[0] == []
    assert "does not say that it was trained to predict after layer 1 and 3" in notes[1][0]
    with pytest.raises(
        HsdError,
        match="lane 2: 3 thresholds for 3 models: give one for each model below the target",
    ):
        timing.facts(pair, [PLAIN, case("stack", system="stack", rule="hsd", thresholds=[3, 4, 5])])


# ---- sentences

KEPT = {"0": 10, "1": 10, "2": 10, "3": 10}  # steps by how many tokens they kept


def made_up(*seconds: dict[str, float], rule: str = "hsd") -> dict:
    """The report of a race with known costs: 100 tokens; target calls of 10 ms (12 ms for 6
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
    return report(
        [Case(n, {"system": "plain"} if n == "plain" else drafting) for n in seconds[0]], found
    )


def test_a_lanes_sentence_has_the_measured_costs_and_the_limit():
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


def test_a_lane_above_its_limit_says_what_the_limit_leaves_out():
    above = made_up({"plain": 1.6, "HSD": 1.05})["rows"][1]
    assert above["speedup"] > above["limit"]
    assert (
        "; more was reached, as calls do not all take their median time, and plain"
        in above["sentence"]
    )


def test_the_fastest_is_named_only_where_it_is_faster_than_plain_and_than_the_next():
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


def test_of_several_prompts_the_interval_over_them_decides_and_so_between_the_two_rules(raced):
    cases, events = raced
    seconds = {"Plain decoding": [1.0] * 3, "Vanilla": [0.5, 0.51, 0.49], "HSD": [0.3, 0.5, 1.8]}
    counted = [r for r in records(events) if r["repetition"]]
    counted = [{**r, "prompt": r["repetition"], "repetition": 1, "new_tokens": 24} for r in counted]
    counted = [{**r, "seconds": seconds[r["case"]][r["prompt"] - 1]} for r in counted]
    coins = [
        {"case": name, "prompt": prompt, "kept": kept, "drafts": 10}
        for name, own in {"Vanilla": (10, 12, 14), "HSD": (12, 13, 17)}.items()
        for prompt, kept in enumerate(own)
    ]
    told = report(cases, counted, coins)
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


def test_at_temperature_0_the_rules_are_said_to_decide_alike_where_they_did():
    cases = [case(one, **own, temperature=0) for one, own in (("Vanilla", VANILLA), ("HSD", HSD))]
    found = [Case("Plain decoding", {**PLAIN.options, "temperature": 0}), *cases]
    ends = records(raced_here(found))
    assert report(found, ends)["rules"].startswith("At temperature 0 both rules decide alike")
    ends[-1] = {**ends[-1], "kept_histogram": {"0": 1}}
    assert report(found, ends)["rules"].startswith("HSD − vanilla: in time ")


def test_a_single_round_settles_only_large_differences():
    assert (
        made_up({"plain": 1.0, "A": 0.95})["verdict"]
        == "Level with plain decoding: A has 1.05 × its speed."
    )
    assert made_up({"plain": 1.0, "A": 0.5, "B": 0.52})["verdict"].startswith(
        "A and B are faster than plain decoding"
    )
    assert "differences of 10 % may be noise" in made_up({"plain": 1.0, "A": 0.5})["basis"]


def test_a_lossy_lane_is_named_as_such_wherever_it_is_ahead():
    lossy = made_up({"plain": 1.0, "A": 0.5}, rule="fuzzy")
    assert lossy["verdict"].startswith("A (not lossless) is the fastest")
    assert lossy["calls"].startswith("A (not lossless) needs")


def in_words(tokens: dict[str, float], error: float = 0.0) -> str:
    """What is said of the calls saved, for lanes with these tokens per call and this standard
    error.
    """
    common = {"call_error": error, "steps": 1_000, "prompts": 1, "lossless": True}
    return calls([{"case": name, "tokens_per_call": n, **common} for name, n in tokens.items()])


def test_the_calls_saved_are_counted_and_hold_anywhere():
    assert in_words({"plain": 1.0, "A": 1.25, "B": 2.0}) == (
        "B needs 50 % fewer target calls than plain decoding on this prompt and seed. This holds "
        "on any hardware."
    )
    assert (
        in_words({"plain": 1.0, "A": 1.0}) == "No lane saves target calls on this prompt and seed."
    )


def test_lanes_that_differ_by_chance_share_what_they_save():
    tokens = {"plain": 1.0, "A": 2.0, "B": 1.9, "C": 1.1}
    said = in_words(tokens, error=0.1)
    assert said.startswith("A and B need 47 to 50 % fewer target calls than plain decoding")
    assert "how these lanes differ may be chance" in said
    assert "chance" not in in_words(tokens, error=0.01)


def test_rounds_that_repeat_each_other_do_not_make_a_count_surer(raced):
    cases, events = raced
    once = report(cases, [r for r in records(events) if r["repetition"] == 1])
    thrice = report(cases, records(events))
    for one, three in zip(once["rows"], thrice["rows"], strict=True):
        assert three["call_error"] == pytest.approx(one["call_error"])
    kept = [n for n, count in once["rows"][2]["kept_histogram"].items() for _ in range(count)]
    assert once["rows"][2]["call_error"] == pytest.approx(
        statistics.stdev(map(int, kept)) / len(kept) ** 0.5
    )


def test_a_run_too_short_for_a_limit_says_so_and_stays_json():
    cases = [PLAIN, case("HSD", rule="hsd", gamma=4)]
    cases = [Case(one.name, {**one.options, "max_new_tokens": 1}) for one in cases]
    found = report(cases, records(raced_here(cases)))
    assert found["rows"][1]["limit"] is None
    assert "too short to say what its calls alone allow" in found["rows"][1]["sentence"]
    json.dumps(found, allow_nan=False)
