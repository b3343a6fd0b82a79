"""A race: lanes run on the model in turn, and every number is the benchmark's."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import gradio as gr
import pytest
from recorded_server import VLLM, Fake

import hsd
from hsd import space
from hsd.bench import Case, Measurement
from hsd.errors import HsdError
from hsd.models.loading.registry import draft_length
from hsd.ui import controls
from hsd.ui.jobs import Jobs
from hsd.ui.presets import definitions
from hsd.ui.race import Race as RaceScreen
from hsd.ui.race import recorded, words
from hsd.ui.race.plan import described, drafters, lossless, read_plan, rule_facts
from hsd.ui.race.report import report
from hsd.ui.race.timing import Race, arguments, race
from hsd.ui.request import read
from hsd.ui.runs import Run

SHARED = {"prompt": "Once upon a time, there was a fox", "length": 24, "temperature": 0.8, "seed": 7}
LANES = [{"rule": "tokenwise", "gamma": 4}, {"rule": "hsd", "gamma": 4}]
SYSTEMS = [
    {"system": "stack", "rule": "hsd", "thresholds": "3, 4"},
    {"system": "hispec", "rule": "tokenwise", "exits": "2,4"},
    {"rule": "fuzzy", "gamma": 4, "tolerance": 0.3, "divergence": "js"},
    {"system": "stack", "rule": "hsd"},
]


def plan(lanes: list[dict] = LANES, rounds: int = 1, **shared: object):
    return read_plan(space.load(), {"lanes": lanes, "rounds": rounds}, {**SHARED, **shared})


def options(**more: object) -> dict:
    return {"max_new_tokens": SHARED["length"], "temperature": SHARED["temperature"], "seed": SHARED["seed"], **more}


@pytest.fixture(scope="module")
def raced() -> tuple:
    """A race of three lanes in two timed rounds: its plan, its events."""
    asked = plan(rounds=3)
    pieces = list(race(*arguments(asked)))
    return asked, [event for piece in pieces for event in piece.get("items", ())]


def test_lanes_take_turns_and_each_runs_once_more_than_it_is_timed(raced):
    _, events = raced
    ends = [(event["repetition"], event["lane"]) for event in events if "record" in event]
    assert ends == [(repetition, lane) for repetition in range(4) for lane in range(3)]


def test_a_lane_writes_what_hsd_run_writes_in_every_round(raced):
    _, events = raced
    pair = hsd.load_pair("tiny")
    own = [{"system": "plain"}, {"rule": "tokenwise", "gamma": 4}, {"rule": "hsd", "gamma": 4}]
    for lane, more in enumerate(own):
        run = hsd.run(pair, SHARED["prompt"], **options(**more))
        for repetition in range(4):
            mine = [e for e in events if (e["lane"], e["repetition"]) == (lane, repetition)]
            assert [t for e in mine for s in e["steps"] for t in s["tokens"]] == run.tokens
            assert mine[-1]["text"] == run.text
            assert sum(s["calls"] for e in mine for s in e["steps"]) == run.stats()["target_calls"]


def test_steps_end_in_order_and_the_last_one_with_its_run(raced):
    _, events = raced
    for end in (event for event in events if "record" in event):
        same = [e for e in events if (e["lane"], e["repetition"]) == (end["lane"], end["repetition"])]
        times = [step["end"] for event in same for step in event["steps"]]
        assert times == sorted(times)
        assert times[0] > 0
        assert times[-1] == pytest.approx(end["record"]["seconds"], rel=0.1, abs=0.05)


def test_warm_ups_are_no_part_of_the_numbers(raced):
    asked, events = raced
    records = [event["record"] for event in events if "record" in event]
    slow_start = [{**r, "seconds": 1e6} if r["repetition"] == 0 else r for r in records]
    assert report(asked.cases, slow_start) == report(asked.cases, records)
    assert report(asked.cases, [r for r in records if r["repetition"] == 0]) is None


def test_the_report_is_the_benchmarks_and_its_medians_are_those_of_the_records(raced):
    asked, events = raced
    records = [event["record"] for event in events if "record" in event and event["repetition"]]
    found = report(asked.cases, records)
    measured = [Measurement(c, tuple(r for r in records if r["case"] == c.name)) for c in asked.cases]
    for row, m in zip(found["rows"], measured, strict=True):
        seconds = sorted(r["seconds"] for r in m.records)
        assert row["seconds"] == seconds[1]
        assert next(r["repetition"] for r in m.records if r["seconds"] == seconds[1]) == row["replay"]
        assert row["speedup"] == pytest.approx(m.speedup(measured[0]))
        assert row["tokens_per_call"] == pytest.approx(m.block_efficiency()[0])
        assert sum(row["parts_ms"].values()) == pytest.approx(row["ms_per_token"], rel=0.02)
        assert row["runs"] == 3
    hsd_row, plain = found["rows"][2], measured[0]
    d, wide, one = (m.call_seconds(*c) for m, c in
                    ((measured[2], ("draft", 1)), (measured[2], ("target", 5)), (plain, ("target", 1))))  # fmt: skip
    assert hsd_row["limit"] == pytest.approx(hsd_row["tokens_per_call"] * one / (4 * d + wide))
    assert hsd_row["efficiency"] == pytest.approx(hsd_row["speedup"] / hsd_row["limit"])


@pytest.fixture(scope="module")
def systems() -> tuple:
    """A race of a stack, early exits, the fuzzy rule and a stack with the usual thresholds: its plan, its pieces."""
    asked = plan(SYSTEMS)
    return asked, list(race(*arguments(asked)))


def test_all_lanes_read_the_prompt_alike_and_the_link_says_how():
    asked = plan(prompt_as="text")
    assert [case.options["prompt_as"] for case in asked.cases] == ["text"] * 3
    assert asked.link()["prompt_as"] == "text"
    assert all("prompt_as" not in case.options for case in plan().cases)


def test_lanes_of_other_systems_are_named_by_what_they_do():
    cases = plan(SYSTEMS).cases
    assert [case.name for case in cases] == [
        "Plain decoding",
        "Model stack, HSD, T = 3/4",
        "HiSpec, Vanilla, exits 2/4",
        "FSD, γ = 4, JS ≤ 0.3",
        "Model stack, HSD, T = 5 each",
    ]
    assert cases[1].options["thresholds"] == [3, 4]
    assert cases[2].options["exits"] == [2, 4]
    assert "gamma" not in cases[1].options
    assert cases[4].options["gamma"] == 5
    assert [lossless(case) for case in cases] == [True, True, True, False, True]
    assert lossless(plan([{"rule": "fuzzy", "gamma": 4, "tolerance": -1}]).cases[1])  # below 0 nothing passes


def test_lanes_of_other_systems_write_what_hsd_run_writes(systems):
    _, pieces = systems
    events = [event for piece in pieces for event in piece.get("items", ())]
    pair = hsd.load_pair("tiny")
    own = [
        {"system": "stack", "rule": "hsd", "thresholds": (3, 4)},
        {"system": "hispec", "rule": "tokenwise", "exits": (2, 4)},
        {"rule": "fuzzy", "gamma": 4, "tolerance": 0.3, "divergence": "js"},
        {"system": "stack", "rule": "hsd", "thresholds": (5, 5)},
    ]
    for lane, more in enumerate(own, start=1):
        run = hsd.run(pair, SHARED["prompt"], **options(**more))
        written = [
            t for e in events if (e["lane"], e["repetition"]) == (lane, 1) for s in e["steps"] for t in s["tokens"]
        ]
        assert written == run.tokens
        for event in (e for e in events if e["lane"] == lane and "text" in e):
            assert event["text"] == run.text
            assert event["record"]["target_calls"] == run.stats()["target_calls"]


def test_a_lane_can_draft_by_n_grams_of_the_text():
    asked = plan([{"rule": "tokenwise", "gamma": 5, "proposer": "ngram"}], prompt="A cat sat. A cat sat. A cat sat.")
    case = asked.cases[1]
    assert case.name == "N-grams, Vanilla, γ = 5"
    assert case.options["proposer"] == "ngram"
    events = [event for piece in race(*arguments(asked)) for event in piece.get("items", ())]
    run = hsd.run(hsd.load_pair("tiny"), asked.request.prompt, **options(rule="tokenwise", gamma=5, proposer="ngram"))
    (record,) = [e["record"] for e in events if e["lane"] == 1 and "record" in e and e["repetition"]]
    assert record["target_calls"] == run.stats()["target_calls"]
    assert {e["text"] for e in events if e["lane"] == 1 and "text" in e} == {run.text}
    found = report(asked.cases, [event["record"] for event in events if "record" in event])
    row = found["rows"][1]
    # copies are of any length: the limit has the mean over the calls that were made
    widths = record["calls"]["target"]["widths"].values()
    step = sum(count * median for count, _, median in widths) / record["steps"]
    one = found["rows"][0]["target_call_ms"] / 1e3
    assert row["limit"] == pytest.approx(record["new_tokens"] / record["steps"] * one / step)
    assert row["draft_call_ms"] == 0
    assert "of one token takes" in row["sentence"]


def test_a_new_lane_drafts_as_many_tokens_as_its_pair_likes():
    asked = plan([{"rule": "hsd"}])
    assert asked.cases[1].name == "HSD, γ = 5"
    screen = RaceScreen(space.load(), Jobs(space.load().limits))
    with gr.Blocks():
        strip = controls.strip(space.load(), definitions(), {})
        props = screen.build(controls.build(space.load(), definitions(), {}, strip)).props
    assert props["gammas"] == {pair.name: draft_length(pair.name) for pair in space.load().pairs}
    assert props["gammas"]["smollm2"] == 2
    assert props["pair"] in props["gammas"]


def test_all_models_of_a_lane_are_timed_and_those_below_the_target_draft(systems):
    asked, pieces = systems
    records = [event["record"] for piece in pieces for event in piece.get("items", ()) if "record" in event]
    found = {row["case"]: row for row in report(asked.cases, records)["rows"]}
    for case in (asked.cases[1], asked.cases[2], asked.cases[4]):
        (record,) = [r for r in records if r["case"] == case.name and r["repetition"]]
        assert set(record["calls"]) == {"target", "draft", "level 0"}
        spent = {
            name: calls["first"] + sum(total for _, total, _ in calls["widths"].values())
            for name, calls in record["calls"].items()
        }
        row = found[case.name]
        assert row["shares"]["draft"] == pytest.approx((spent["draft"] + spent["level 0"]) / record["seconds"])
        assert row["shares"]["target"] == pytest.approx(spent["target"] / record["seconds"])
        assert sum(row["parts_ms"].values()) == pytest.approx(row["ms_per_token"], rel=0.02)
        step = sum(
            count * median
            for calls in record["calls"].values()
            for count, _, median in calls["widths"].values()
        ) / record["steps"]  # fmt: skip
        assert sum(row["levels_ms"].values()) == pytest.approx(1e3 * step)
        assert "ms of them below the target" in row["sentence"]
        # what the calls allow: plain decoding's calls for as many tokens, over those of a step
        plain = found["Plain decoding"]["target_call_ms"] * record["new_tokens"] / record["steps"]
        assert row["limit"] == pytest.approx(plain / (1e3 * step))
    assert found["FSD, γ = 4, JS ≤ 0.3"]["levels_ms"] is None


def test_a_lane_that_the_pair_has_no_models_for_is_refused_before_anything_runs():
    asked = plan([*LANES, {"system": "stack", "rule": "hsd", "thresholds": "3, 4, 5"}])
    with pytest.raises(HsdError, match="lane 4: 3 thresholds for 3 models: give one for each model below the target"):
        next(race(*arguments(asked)))


def test_exits_that_were_not_trained_are_told_with_the_lane():
    asked = plan([{"system": "hispec", "rule": "hsd", "exits": "1, 3"}])
    header = next(race(*arguments(asked)))["header"]
    assert header["notes"][0] == []
    assert "does not say that it was trained to predict after layer 1 and 3" in header["notes"][1][0]


def test_the_lead_says_so_when_the_fastest_lane_is_not_lossless():
    assert "It is not lossless." in made_up({"plain": 1.0, "A": 0.5}, rule="fuzzy")["lead"]["seconds"]
    assert "lossless" not in made_up({"plain": 1.0, "A": 0.5})["lead"]["seconds"]


KEPT = {"0": 10, "1": 10, "2": 10, "3": 10}  # steps by how many tokens they kept


def made_up(seconds: dict[str, float], late: float = 0.0, rule: str = "hsd", histogram: dict = KEPT) -> dict:
    """The report of a race with known costs: 100 tokens; target calls of 10 ms (12 ms for 6 tokens), drafts of 1 ms.

    late: seconds that some of plain decoding's calls took beyond the median.
    """
    records = []
    for name, total in seconds.items():
        plain = name == "plain"
        calls = 100 if plain else 40
        target = {"first": 0.0, "widths": {"1": [100, 1.0 + late, 0.01]} if plain else {"6": [40, 0.48, 0.012]}}
        draft = {"first": 0.0, "widths": {} if plain else {"1": [200, 0.2, 0.001]}}
        time = {"draft": 0 if plain else 0.2, "target": 1.0 + late if plain else 0.48, "verify": 0.0, "rest": 0.0}
        records.append(
            {"case": name, "prompt": 0, "repetition": 1, "new_tokens": 100, "target_calls": calls, "steps": calls}
            | {"drafted": 0 if plain else 200, "kept": 0 if plain else 60, "seconds": total, "time": time}
            | {"positions": [], "kept_histogram": {"0": 100} if plain else histogram}
            | {"calls": {"target": target, "draft": draft}}
        )
    cases = [Case(n, {"system": "plain"} if n == "plain" else {"rule": rule, "gamma": 5, "drafts": 1}) for n in seconds]
    return report(cases, records)


def test_the_sentence_names_the_measured_costs_and_the_limit():
    row = made_up({"plain": 1.0, "HSD": 0.8})["rows"][1]
    # a step: 5 · 1 ms + 12 ms = 17 ms for 2.5 tokens, which plain decoding makes in 25 ms
    assert row["limit"] == pytest.approx(25 / 17)
    assert "1.25 × plain decoding, faster" in row["sentence"]
    assert "a draft call takes 1.0 ms, 0.10 of a target call's 10.0 ms" in row["sentence"]
    assert "17.0 ms for 2.50 tokens, plain decoding's 25.0 ms" in row["sentence"]
    assert "alone allow 1.47 ×, of which 85 % is reached" in row["sentence"]


def test_a_lane_that_could_be_faster_but_is_slower_says_where_the_time_goes():
    found = made_up({"plain": 1.0, "HSD": 1.24})
    sentence = found["rows"][1]["sentence"]
    assert "0.81 × plain decoding, slower" in sentence
    assert "14.0 ms a step go by outside the calls" in sentence
    assert found["lead"]["seconds"].startswith("Drafting does not pay here")


def test_a_lane_above_its_limit_says_whether_the_time_outside_the_calls_explains_it():
    explained = made_up({"plain": 1.6, "HSD": 1.05})["rows"][1]
    assert explained["speedup"] > explained["limit"]
    assert "spends more of its time outside its calls (38 % against 35 %)" in explained["sentence"]
    noise = made_up({"plain": 1.6, "HSD": 0.7}, late=0.6)["rows"][1]
    assert "which is noise" in noise["sentence"]


def test_the_lead_names_the_fastest_and_counts_the_slower_ones():
    lead = made_up({"plain": 1.0, "A": 0.5, "B": 2.0})["lead"]["seconds"]
    assert lead.startswith("A is the fastest: 2.00 × plain decoding (200 against 100 tokens a second).")
    assert "1 of the lanes that draft is slower" in lead
    # a draft call of 1 ms, a check of 12 ms, a target call of 10 ms; 100 tokens in 40 steps
    assert "Why: a draft call costs 0.10 and a check 1.20 of a target call; a step brings 2.50 tokens" in lead
    assert "so the calls alone allow 1.47 ×, and more is reached because" in lead
    slow = made_up({"plain": 1.0, "A": 0.8})["lead"]["seconds"]
    assert slow.endswith("so the calls alone allow 1.47 ×.")


@pytest.mark.parametrize(("total", "paid"), [(0.8, True), (1.6, False)])
def test_a_step_is_told_by_what_it_cost_and_brought_and_what_would_turn_it_round(total, paid):
    row = made_up({"plain": 1.0, "A": total})["rows"][1]
    step = row["step"]
    # 40 steps bring 100 tokens, which plain decoding writes in a second;
    # 5 drafts of 1 ms and a check of 12 ms are timed
    assert step["tokens"] == pytest.approx(2.5)
    assert (step["draft"], step["target"]) == (pytest.approx(0.5), pytest.approx(1.2))
    cost = step["draft"] + step["target"] + step["rest"]
    assert cost == pytest.approx(2.5 / row["speedup"]) == pytest.approx(total * 100 / 40)
    assert f"as long as {cost:.2f} tokens of plain decoding and brought 2.50 (30 % of its drafts kept)" in row["pays"]
    assert ("it paid" in row["pays"]) is paid is (row["speedup"] > 1)
    if paid:
        assert f"drafting that takes {0.5 + 2.5 - cost:.2f} instead of 0.50" in row["pays"]
    else:
        assert f"{cost - 2.5:.2f} too few. Break-even: {cost:.2f} tokens a step, or a cheaper check" in row["pays"]


def test_plain_decoding_has_no_step_to_pay_for():
    plain = made_up({"plain": 1.0, "A": 0.8})["rows"][0]
    assert (plain["step"], plain["pays"]) == (None, "")


def test_lanes_whose_times_lie_close_are_the_fastest_together():
    lead = made_up({"plain": 1.0, "A": 0.5, "B": 0.52, "C": 0.9})["lead"]["seconds"]
    assert lead.startswith(
        "A and B are the fastest: 1.92 to 2.00 × plain decoding; which of them is faster may be chance"
    )
    assert "A is the fastest" in made_up({"plain": 1.0, "A": 0.5, "B": 0.9})["lead"]["seconds"]


def in_words(tokens: dict[str, float], error: float = 0.0) -> str:
    """What is said of the calls saved, for lanes with these tokens per call and this standard error."""
    rows = [{"case": name, "tokens_per_call": n, "call_error": error, "prompts": 1} for name, n in tokens.items()]
    return words.calls(rows)


def test_the_calls_saved_are_counted_and_hold_anywhere():
    said = in_words({"plain": 1.0, "A": 1.25, "B": 2.0})
    assert said.startswith("B needs 50 % fewer than plain decoding, 2.00 tokens per call, on this prompt and seed.")
    assert said.endswith("This holds on any hardware.")


def test_lanes_that_differ_by_chance_share_what_they_save():
    tokens = {"plain": 1.0, "A": 2.0, "B": 1.9, "C": 1.1}
    said = in_words(tokens, error=0.1)
    assert said.startswith("A and B need 47 to 50 % fewer than plain decoding, 1.90 to 2.00 tokens per call")
    assert "how these lanes differ may be chance" in said
    assert "chance" not in in_words(tokens, error=0.01)


def test_a_race_in_which_no_lane_saves_calls_says_so():
    assert in_words({"plain": 1.0, "A": 1.0}).startswith("No lane saves any on this prompt and seed:")


def test_rounds_that_repeat_each_other_do_not_make_a_count_surer(raced):
    asked, events = raced
    records = [event["record"] for event in events if "record" in event]
    once = report(asked.cases, [r for r in records if r["repetition"] == 1])
    thrice = report(asked.cases, records)
    for one, three in zip(once["rows"], thrice["rows"], strict=True):
        assert three["call_error"] == pytest.approx(one["call_error"])
    kept = [n for n, count in once["rows"][2]["kept_histogram"].items() for _ in range(count)]
    assert once["rows"][2]["call_error"] == pytest.approx(statistics.pstdev(map(int, kept)) / len(kept) ** 0.5)


def test_a_run_too_short_for_a_limit_says_so_and_stays_json():
    asked = plan(length=1)
    records = [e["record"] for p in race(*arguments(asked)) for e in p.get("items", ()) if "record" in e]
    found = report(asked.cases, records)
    assert found["rows"][1]["limit"] is None
    assert "too short for a limit" in found["rows"][1]["sentence"]
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(
    ("lanes", "rounds", "shared", "words"),
    [
        (LANES, 1, {"prompt": " "}, "the prompt is empty"),
        ([], 1, {}, "a race has 2 to 5"),
        (LANES * 3, 1, {}, "7 lanes: a race has 2 to 5"),
        (LANES, 2, {}, "choose 1, 3 or 5"),
        ([*LANES, {"rule": "traversal", "gamma": 4}], 1, {}, "lane 4: rule traversal is for several drafts"),
        ([{"rule": "hsd", "drafts": 2, "proposer": "ngram"}], 1, {}, "lane 2: proposer ngram has one continuation"),
        ([{"rule": "hsd", "proposer": "<b>"}], 1, {}, "lane 2: unknown proposer"),
        ([{"rule": "hsd", "gamma": 99}], 1, {}, "lane 2: draft length γ 99"),
        ([{"rule": "<b>", "gamma": 3}], 1, {}, "lane 2: unknown rule"),
        ([{"system": "plain"}], 1, {}, "lane 2: unknown system 'plain': choose speculative, stack, hispec"),
        ([{"system": ["stack"]}], 1, {}, "lane 2: unknown system"),
        ([{"system": "stack", "thresholds": "3, x"}], 1, {}, "lane 2: threshold x: choose a whole number"),
        ([{"system": "stack", "thresholds": "99"}], 1, {}, "lane 2: threshold 99"),
        ([{"system": "stack", "rule": "traversal"}], 1, {}, "lane 2: rule traversal is for several drafts"),
        ([{"system": "hispec", "exits": "1, 2, 3"}], 1, {}, "lane 2: exits 1, 2, 3: give two"),
        ([{"rule": "fuzzy", "tolerance": ""}], 1, {}, "lane 2: tolerance is empty"),
        ([{"rule": "fuzzy", "divergence": "<b>"}], 1, {}, "lane 2: unknown divergence"),
    ],
)
def test_what_cannot_be_raced_is_refused_in_one_line(lanes, rounds, shared, words):
    with pytest.raises(HsdError) as refused:
        plan(lanes, rounds, **shared)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_equal_lanes_are_told_apart():
    names = [case.name for case in plan([LANES[1], LANES[1]]).cases]
    assert names == ["Plain decoding", "HSD, γ = 4", "HSD, γ = 4 (2)"]


def test_every_rule_that_the_menu_offers_for_a_tree_can_be_raced():
    for rule in rule_facts():
        for tree in rule["trees"]:
            assert plan([{"rule": rule["name"], "gamma": 3, "drafts": 2, "tree": tree}])
        assert rule["trees"] or rule["single"]


def test_the_recorded_race_says_where_and_how_it_was_made():
    for shown in recorded.read()["races"]:
        assert shown["header"]["machine"]["processor"]
        assert shown["header"]["machine"]["load"] >= 0
        assert shown["header"]["rounds"] == shown["result"]["rows"][0]["runs"]
        for lane, row in enumerate(shown["result"]["rows"]):
            assert shown["header"]["lanes"][lane]["name"] == row["case"]
            steps = [
                s for e in shown["items"] if (e["lane"], e["repetition"]) == (lane, row["replay"]) for s in e["steps"]
            ]
            assert sum(len(s["tokens"]) for s in steps) == row["tokens"]


def test_four_domains_are_recorded_with_the_same_lanes_and_counted_together():
    shown = recorded.read()
    races = shown["races"]
    assert [race["domain"] for race in races] == ["Stories", "Sums", "Code", "Questions"]
    assert len({race["header"]["prompt"] for race in races}) == 4
    for i, row in enumerate(shown["all"]["rows"]):
        assert {race["result"]["rows"][i]["case"] for race in races} == {row["case"]}
        ends = [e["record"] for race in races for e in race["items"] if e["lane"] == i]
        tokens, calls = (sum(r[name] for r in ends) for name in ("new_tokens", "target_calls"))
        assert row["tokens_per_call"] == pytest.approx(tokens / calls)
        assert (row["prompts"], row["runs"]) == (4, races[0]["header"]["rounds"])
    assert "these 4 prompts" in shown["all"]["lead"]["calls"]
    assert shown["all"]["basis"].startswith("4 prompts, one seed")


def test_a_file_that_is_no_race_is_told_in_one_line(tmp_path: Path):
    (tmp_path / "race.json").write_text('{"format": "hsd-race-1"}')
    with pytest.raises(HsdError, match="there is no recorded race"):
        recorded.read(tmp_path / "race.json")


def test_a_race_that_takes_too_long_is_stopped_and_keeps_what_was_timed():
    manifest = space.load()
    short = manifest.model_copy(update={"limits": manifest.limits.model_copy(update={"run_seconds": 1})})
    races = Jobs(short.limits)
    run = races.submit(Race(plan([{"rule": "hsd", "gamma": 1}] * 4, 5, length=256, temperature=1.0)))
    for _ in races.follow(run):
        pass
    told = run.since(0)
    assert told["state"] == "cancelled"
    assert told["message"].startswith("stopped after 1 s, the longest time here")
    assert told["items"]


def test_a_race_waits_in_the_same_line_as_every_other_run():
    races = Jobs(space.load().limits)
    other = races.submit(Run(read(space.load(), SHARED)))
    run = races.submit(Race(plan()))
    assert races.line.place(run.key) == 2
    races.cancel(run.key)
    assert run.since(0)["state"] == "cancelled"
    assert races.line.place(run.key) == 0
    assert list(races.follow(run)) == []
    races.cancel(other.key)


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdRace")


# A server's lane


def served(fake: Fake, **more: str) -> dict:
    return {"system": "server", "url": fake.url, **more}


def test_a_servers_lane_has_counts_and_seconds_and_is_compared_with_nothing(fake: Fake):
    fake.told = {"metrics": {"speculative_decoding": VLLM}}
    asked = plan([LANES[1], served(fake)], rounds=3, top_p=0.9, prompt_as="text")
    pieces = list(race(*arguments(asked)))
    assert [note[:1] for note in pieces[0]["header"]["notes"][:2]] == [[], []]
    assert pieces[0]["header"]["notes"][2][0].startswith("Model one; counts and seconds only, as the server tells them")
    events = [event for piece in pieces for event in piece.get("items", ())]
    assert [event["steps"] for event in events if event["lane"] == 2] == [[]] * 4
    found = report(asked.cases, [event["record"] for event in events if "record" in event])
    assert [row["case"] for row in found["rows"]] == ["Plain decoding", "HSD, γ = 4"]
    (row,) = found["served"]
    assert (row["case"], row["tokens"], row["drafts"], row["drafted"], row["kept"]) == ("Server", 11, 12, 36, 21)
    assert not {"speedup", "tokens_per_call", "lossless"} & set(row)
    assert "21 of 36 drafted tokens were kept, it says (58 %), in 12 drafts" in row["sentence"]
    assert row["sentence"].endswith("acceptance length AL 2.75.")
    path, body = fake.asked[0]
    assert (path, body["temperature"], body["top_p"]) == ("/v1/completions", SHARED["temperature"], 0.9)
    assert [body["seed"] for _, body in fake.asked] == [SHARED["seed"]] * 4


def test_what_a_server_does_not_tell_is_said(fake: Fake):
    row = {"tokens_per_second": 30.0}
    nothing = {"drafts": 0, "drafted": 0, "kept": 0}
    assert "tells nothing of its drafts" in words.served(row, nothing, 1.0)
    assert "of how many drafts, it does not say" in words.served(row, nothing | {"drafted": 20, "kept": 5}, 1.0)


def test_no_link_and_no_saved_race_has_the_servers_url(fake: Fake):
    asked = plan([LANES[0], served(fake, model="one")])
    header = {**described(asked), **next(race(*arguments(asked)))["header"]}
    assert fake.url not in json.dumps([asked.link(), header])
    assert header["lanes"][2]["name"] == "Server, one"
    assert header["lanes"][2]["served"]
    assert "lossless" not in header["lanes"][2]


@pytest.mark.parametrize(
    ("lane", "said"),
    [
        ({"url": ""}, "lane 2: no server is named: give its base URL"),
        ({"url": "file:///etc/passwd"}, "lane 2: server 'file:///etc/passwd': give a base URL"),
        ({"url": "http://" + "x" * 300}, "lane 2: a server's URL .* at most 200 characters"),
    ],
)
def test_a_lane_of_no_server_is_one_line(lane: dict, said: str):
    with pytest.raises(HsdError, match=said):
        plan([{"system": "server", **lane}])


def test_a_server_that_is_not_there_ends_the_race_before_anything_runs(fake: Fake):
    with pytest.raises(HsdError, match=r"lane 2: server .* has no model 'two': choose one"):
        next(race(*arguments(plan([served(fake, model="two")]))))
    with pytest.raises(HsdError, match=r"lane 3: cannot reach http://127.0.0.1:9/v1/models"):
        next(race(*arguments(plan([LANES[0], {"system": "server", "url": "http://127.0.0.1:9"}]))))


@pytest.mark.parametrize(("own_pair", "on_space"), [("never", False), ("local", True), ("always", True)])
def test_no_server_is_asked_on_a_space(fake: Fake, monkeypatch, own_pair: str, on_space: bool):
    before = arguments(plan([served(fake)]))
    manifest = space.load().model_copy(update={"own_pair": own_pair})
    if on_space:
        monkeypatch.setenv("SPACE_ID", "someone/somewhere")
    assert "server" not in [one["name"] for one in drafters(manifest)]
    with pytest.raises(HsdError, match="no server is asked from here"):
        read_plan(manifest, {"lanes": [served(fake)], "rounds": 1}, SHARED)
    if on_space:
        with pytest.raises(HsdError, match="no server is asked from here"):
            next(race(*before))
    assert not fake.asked
