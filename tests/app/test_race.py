"""The Race screen in a browser: lanes run on the model in turn, and every number on the page is the benchmark's."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import hsd
from hsd import space
from hsd.bench import Case, Measurement
from hsd.errors import HsdError
from hsd.ui.jobs import Jobs
from hsd.ui.race import recorded
from hsd.ui.race.plan import lossless, read_plan, rule_facts
from hsd.ui.race.report import report
from hsd.ui.race.timing import Race, arguments, race
from hsd.ui.request import read
from hsd.ui.runs import Run

READY = "window.__hsdRace && window.__hsdRace.ready"
DONE = "window.__hsdRace.state === 'done'"
SHARED = {"prompt": "Once upon a time, there was a fox", "length": 24, "temperature": 0.8, "seed": 7}
LANES = [{"rule": "tokenwise", "gamma": 4}, {"rule": "hsd", "gamma": 4}]
SYSTEMS = [
    {"system": "stack", "rule": "hsd", "thresholds": "3, 4"},
    {"system": "hispec", "rule": "tokenwise", "exits": "2,4"},
    {"rule": "fuzzy", "gamma": 4, "tolerance": 0.3, "divergence": "js"},
    {"system": "stack", "rule": "hsd"},
]
LONG = {"prompt": "Once upon a time", "length": 256, "temperature": 1, "lanes": "tokenwise~1,hsd~1", "rounds": 5}


def plan(lanes: list[dict] = LANES, rounds: int = 1, **shared: object):
    return read_plan(space.load(), {"lanes": lanes, "rounds": rounds}, {**SHARED, **shared})


def options(**more: object) -> dict:
    return {"max_new_tokens": SHARED["length"], "temperature": SHARED["temperature"], "seed": SHARED["seed"], **more}


# ---- the race itself, without a page


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
    assert "It is not lossless." in made_up({"plain": 1.0, "A": 0.5}, rule="fuzzy")["lead"]
    assert "lossless" not in made_up({"plain": 1.0, "A": 0.5})["lead"]


def made_up(seconds: dict[str, float], late: float = 0.0, rule: str = "hsd") -> dict:
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
            | {"positions": [], "kept_histogram": {}, "calls": {"target": target, "draft": draft}}
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
    assert found["lead"].startswith("Drafting does not pay here")


def test_a_lane_above_its_limit_says_whether_the_time_outside_the_calls_explains_it():
    explained = made_up({"plain": 1.6, "HSD": 1.05})["rows"][1]
    assert explained["speedup"] > explained["limit"]
    assert "spends more of its time outside its calls (38 % against 35 %)" in explained["sentence"]
    noise = made_up({"plain": 1.6, "HSD": 0.7}, late=0.6)["rows"][1]
    assert "which is noise" in noise["sentence"]


def test_the_lead_names_the_fastest_and_counts_the_slower_ones():
    lead = made_up({"plain": 1.0, "A": 0.5, "B": 2.0})["lead"]
    assert lead.startswith("A is the fastest: 2.00 × plain decoding (200 against 100 tokens a second).")
    assert "1 of the lanes that draft is slower" in lead


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
        ([{"rule": "hsd", "gamma": 99}], 1, {}, "lane 2: draft length γ 99"),
        ([{"rule": "<b>", "gamma": 3}], 1, {}, "lane 2: unknown rule"),
        ([{"system": "plain"}], 1, {}, "lane 2: unknown system 'plain': choose speculative, stack, hispec"),
        ([{"system": ["stack"]}], 1, {}, "lane 2: unknown system"),
        ([{"system": "stack", "thresholds": "3, x"}], 1, {}, "lane 2: thresholds 'x': give whole numbers"),
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
    shown = recorded.read()
    assert shown["header"]["machine"]["processor"]
    assert shown["header"]["machine"]["load"] >= 0
    assert shown["header"]["rounds"] == shown["report"]["rows"][0]["runs"]
    for row in shown["report"]["rows"]:
        lane = next(i for i, one in enumerate(shown["header"]["lanes"]) if one["name"] == row["case"])
        steps = [
            s for e in shown["events"] if (e["lane"], e["repetition"]) == (lane, row["replay"]) for s in e["steps"]
        ]
        assert sum(len(s["tokens"]) for s in steps) == row["tokens"]


def test_a_file_that_is_no_race_is_told_in_one_line(tmp_path: Path):
    (tmp_path / "race.json").write_text('{"format": "other"}')
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


# ---- the page


def open_race(visitor, query: dict | None = None):
    visitor.open("?" + urlencode({"tab": "race", **(query or {})}))
    visitor.until(READY)
    return visitor


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdRace")


def raced_here(visitor, query: dict):
    """Open a link that races, and wait for the end."""
    open_race(visitor, query)
    visitor.until(DONE)
    return state(visitor)


def table(visitor) -> dict[str, dict[str, str]]:
    rows = visitor.page.locator(".rc-table tbody tr").all()
    return {
        row.get_attribute("data-case"): {
            cell.get_attribute("data-column"): cell.text_content() for cell in row.locator("td").all()
        }
        for row in rows
    }


def expected(told: dict) -> dict:
    """The report of the records that the page has."""
    cases = [Case(lane["name"], lane["options"]) for lane in told["header"]["lanes"]]
    return report(cases, [event["record"] for event in told["items"] if "record" in event])


browser = pytest.mark.browser


@browser
def test_the_page_shows_the_recorded_race_before_any_click(visitors):
    visitor = open_race(visitors())
    told = state(visitor)
    shown = recorded.read()
    assert told["recorded"]
    assert told["state"] == "none"
    source = visitor.page.inner_text(".rc-source")
    assert source.startswith("Recorded on ")
    assert "CPU" in source
    assert visitor.page.inner_text(".rc-lead") == shown["report"]["lead"]
    for track, row in zip(told["tracks"], shown["report"]["rows"], strict=True):
        assert len(track["tokens"]) == row["tokens"]
        assert track["shown"] == track["steps"]


@browser
def test_the_table_says_what_python_computes_from_the_same_records(visitors):
    visitor = visitors()
    told = raced_here(visitor, {**SHARED, "lanes": "tokenwise~4,hsd~4,traversal~3~3~distinct", "rounds": 3})
    found = expected(told)
    assert told["report"] == json.loads(json.dumps(found))
    shown = table(visitor)
    assert list(shown) == [
        "Plain decoding",
        "Vanilla, γ = 4",
        "HSD, γ = 4",
        "Traversal, γ = 3, 3 drafts, first tokens differ",
    ]
    for i, row in enumerate(found["rows"]):
        cells = shown[row["case"]]
        assert cells["tokens"] == str(row["tokens"])
        assert cells["target_calls"] == str(row["target_calls"])
        assert cells["tokens_per_call"] == f"{row['tokens_per_call']:.2f}"
        assert float(cells["seconds"]) == pytest.approx(row["seconds"], rel=5e-3)
        assert float(cells["tokens_per_second"].replace(",", "")) == pytest.approx(row["tokens_per_second"], rel=0.03)
        speeds = [float(x) for x in re.findall(r"[\d.]+", cells["speedup"])]
        wanted = [row["speedup"], *row["speedups"]] if i else [1.0]
        assert speeds == pytest.approx(wanted, abs=0.0051)
        for name in ("limit", "efficiency"):
            assert cells[name] == "–" if not i else float(cells[name]) == pytest.approx(row[name], abs=0.0051)
        assert row["sentence"] in visitor.page.inner_text(".rc-why")
        bar = visitor.page.locator(".rc-times li").nth(i)
        assert bar.get_attribute("data-case") == row["case"]
        width = bar.locator(".rc-stack").evaluate("e => e.getBoundingClientRect().width / e.parentElement.clientWidth")
        longest = max(r["ms_per_token"] for r in found["rows"])
        assert width == pytest.approx(row["ms_per_token"] / longest, abs=0.01)
        shares = bar.locator(".rc-share").evaluate_all("all => all.map(e => Number(e.style.flexGrow))")
        assert shares == pytest.approx([max(x, 1e-4) for x in row["shares"].values()], abs=1e-3)
    assert "3 timed runs per lane" in visitor.page.inner_text(".rc-basis")


@browser
def test_the_sidebars_prompt_and_sampling_are_raced_and_lanes_write_what_hsd_run_writes(visitors):
    visitor = open_race(visitors())
    for name, value in SHARED.items():
        visitor.set(name, str(value))
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    told = state(visitor)
    assert told["header"]["prompt"] == SHARED["prompt"]
    pair = hsd.load_pair("tiny")
    own = [{"system": "plain"}, {"rule": "tokenwise", "gamma": 5}, {"rule": "hsd", "gamma": 5}]
    for i, more in enumerate(own):
        run = hsd.run(pair, SHARED["prompt"], **options(**more))
        assert told["tracks"][i]["tokens"] == run.tokens
        assert [e["text"] for e in told["events"] if e["lane"] == i and "text" in e] == [run.text] * 2
        written = visitor.page.locator(".rc-flow").nth(i).text_content()
        assert written.split() == "".join(c.piece for s in run.steps for c in s.committed).split()
    assert visitor.page.inner_text(".rc-source").startswith("Run here just now")


@browser
def test_the_replay_shows_each_step_when_it_had_ended(visitors):
    visitor = open_race(visitors())
    told = state(visitor)
    row = told["report"]["rows"][2]
    ends = [s["end"] for e in told["events"] if (e["lane"], e["repetition"]) == (2, row["replay"]) for s in e["steps"]]
    middle = (ends[4] + ends[5]) / 2
    visitor.page.locator(".rc-slider").evaluate(
        "(e, time) => { e.value = time; e.dispatchEvent(new Event('input')) }", middle
    )
    assert state(visitor)["tracks"][2]["shown"] == 5
    hidden = visitor.page.locator('.rc-track[data-lane="2"] .rc-block.is-later').count()
    assert hidden == len(ends) - 5
    visitor.page.select_option(".rc-speed", "4")
    visitor.page.get_by_role("button", name="Again").click()
    visitor.until("window.__hsdRace.playing || window.__hsdRace.time >= window.__hsdRace.length")
    visitor.until("!window.__hsdRace.playing && window.__hsdRace.time >= window.__hsdRace.length")
    assert all(t["shown"] == t["steps"] for t in state(visitor)["tracks"])


@browser
def test_playing_can_be_paused_and_goes_on_from_there(visitors):
    visitor = open_race(visitors())
    visitor.page.select_option(".rc-speed", "0.01")
    visitor.page.locator(".rc-replay .hp-play").press("Enter")
    visitor.until("window.__hsdRace.playing && window.__hsdRace.time > 0")
    visitor.page.get_by_role("button", name="pause").click()
    paused = state(visitor)
    assert not paused["playing"]
    assert 0 < paused["time"] < paused["length"]
    visitor.page.get_by_role("button", name="play", exact=True).click()
    visitor.until(f"window.__hsdRace.playing && window.__hsdRace.time > {paused['time']}")


@browser
def test_cancelling_keeps_what_there_is(visitors):
    visitor = open_race(visitors(), LONG)
    visitor.until("window.__hsdRace.report === null && window.__hsdRace.tracks[0].shown > 5")
    visitor.page.click(".rc-cancel")
    visitor.until("window.__hsdRace.state === 'cancelled'")
    told = state(visitor)
    assert len(told["tracks"][0]["tokens"]) > 5
    assert "cancelled" in visitor.page.inner_text(".rc-notice")
    assert not visitor.page.is_visible(".rc-cancel")
    assert visitor.page.is_enabled(".rc-go")


@browser
def test_a_race_cancelled_between_lanes_keeps_the_numbers_of_the_lanes_that_were_timed(visitors):
    visitor = open_race(visitors(), LONG)
    timed = "window.__hsdRace.events.some((event) => event.record && event.repetition === 1)"
    visitor.until(timed)
    visitor.page.click(".rc-cancel")
    visitor.until("window.__hsdRace.state === 'cancelled'")
    told = state(visitor)
    assert told["report"] == json.loads(json.dumps(expected(told)))
    shown = table(visitor)
    assert shown["Plain decoding"]["speedup"] == "1.00"
    named = {row["case"] for row in told["report"]["rows"]}
    assert {name for name, cells in shown.items() if cells.get("none") == "not timed"} == set(shown) - named


@browser
def test_a_lane_can_be_added_changed_and_removed(visitors):
    visitor = open_race(visitors())
    visitor.page.click(".rc-add")
    lane = visitor.page.locator('.rc-lane[data-lane="3"]')
    lane.get_by_label("drafts of lane 4").fill("4")
    lane.get_by_label("drafts of lane 4").blur()
    lane.get_by_label("rule of lane 4").select_option("traversal")
    lane.get_by_label("tree of lane 4").select_option("top")  # traversal does not fit it
    assert state(visitor)["lanes"][2] == {"rule": "one-hot", "gamma": 10, "drafts": 4, "tree": "top"}
    visitor.page.click(".rc-add")
    assert visitor.page.is_disabled(".rc-add")  # five lanes with plain decoding
    visitor.page.get_by_role("button", name="remove lane 2").click()
    assert [one["rule"] for one in state(visitor)["lanes"]] == ["hsd", "one-hot", "one-hot"]
    visitor.set("length", "8")
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    assert [one["name"] for one in state(visitor)["header"]["lanes"]] == [
        "Plain decoding", "HSD, γ = 5", "One-hot, γ = 10, 4 drafts, likeliest first",
        "One-hot, γ = 20, 4 drafts, likeliest first"]  # fmt: skip


@browser
def test_a_stack_early_exits_and_fsd_can_be_chosen_raced_and_linked(visitors):
    visitor = open_race(visitors())
    visitor.page.click(".rc-add")
    for lane, system in ((2, "stack"), (3, "hispec")):
        visitor.page.get_by_label(f"system of lane {lane}").select_option(system)
    visitor.page.get_by_label("thresholds of lane 2").fill("3, 4<b>")  # what is no number is taken out
    visitor.page.get_by_label("exits of lane 3").fill("2 4")
    visitor.page.get_by_label("rule of lane 4").select_option("fuzzy")
    visitor.page.get_by_label("tolerance of lane 4").fill("0.5")
    visitor.page.get_by_label("tolerance of lane 4").blur()
    assert visitor.page.locator(".rc-lane .rc-warning").count() == 1
    for name, value in {**SHARED, "length": 8}.items():
        visitor.set(name, str(value))
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    names = ["Model stack, Vanilla, T = 3/4", "HiSpec, HSD, exits 2/4", "FSD, γ = 10, KL ≤ 0.5"]
    assert list(table(visitor)) == ["Plain decoding", *names]
    assert visitor.page.locator('.rc-track[data-lane="3"] .rc-warning').count() == 1
    visitor.until("location.search.includes('hispec')")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert asked["lanes"] == "stack~tokenwise~3_4,hispec~hsd~2_4~,fuzzy~10~0.5~kl"
    again = raced_here(visitors(), asked)
    assert [lane["name"] for lane in again["header"]["lanes"]] == ["Plain decoding", *names]


@browser
def test_the_link_of_a_race_runs_it_again(visitors):
    visitor = visitors()
    query = {"prompt": "A mole & a <b>hat</b>", "seed": "12345678901234567890", "length": "12", "temperature": "0.8"}
    told = raced_here(visitor, {**query, "lanes": "hsd~3,traversal~3~2~distinct", "rounds": "3"})
    visitor.until("location.search.includes('rounds=3&') || location.search.endsWith('rounds=3')")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert {name: asked[name] for name in query} == query
    assert (asked["tab"], asked["lanes"], asked["rounds"]) == ("race", "hsd~3,traversal~3~2~distinct", "3")
    again = raced_here(visitors(), asked)
    assert again["lanes"] == told["lanes"]
    assert again["header"]["seed"] == query["seed"]
    assert [track["tokens"] for track in again["tracks"]] == [track["tokens"] for track in told["tracks"]]


@browser
def test_a_link_with_lanes_that_are_none_shows_the_usual_ones(visitors):
    visitor = open_race(visitors(), {"lanes": "<img src=x>~5,hsd~99", "rounds": "400"})
    told = state(visitor)
    assert [lane["rule"] for lane in told["lanes"]] == ["tokenwise", "hsd"]
    assert told["rounds"] == 1


@browser
def test_a_bad_prompt_is_one_line_and_nothing_shown_is_lost(visitors):
    visitor = open_race(visitors())
    before = visitor.page.inner_text(".rc-results")
    visitor.set("prompt", "   ")
    visitor.page.click(".rc-go")
    assert visitor.alert() == "the prompt is empty: type some text to continue"
    visitor.until("!window.__hsdRace.running")
    assert visitor.page.inner_text(".rc-results") == before
    assert state(visitor)["recorded"]
    visitor.set("prompt", "word " * 780)  # more tokens than the models read
    visitor.page.click(".rc-go")
    visitor.until("window.__hsdRace.state === 'failed'")
    assert "shorten the prompt" in visitor.alert()
    assert visitor.page.inner_text(".rc-results") == before


@browser
def test_table_and_race_can_be_saved(visitors, tmp_path: Path):
    visitor = visitors()
    told = raced_here(visitor, {**SHARED, "lanes": "tokenwise~4,hsd~4"})
    saved = {}
    for kind in ("csv", "json"):
        with visitor.page.expect_download() as download:
            visitor.page.click(f".rc-{kind}")
        download.value.save_as(tmp_path / f"race.{kind}")
        saved[kind] = (tmp_path / f"race.{kind}").read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(saved["csv"])))
    for line, row in zip(lines, told["report"]["rows"], strict=True):
        assert line["lane"] == row["case"]
        assert float(line["speedup"]) == row["speedup"]
        assert float(line["share_target"]) == row["shares"]["target"]
        assert line["limit"] == ("" if row is told["report"]["rows"][0] else str(row["limit"]))
    whole = json.loads(saved["json"])
    (tmp_path / "again.json").write_text(saved["json"], encoding="utf-8")
    assert recorded.read(tmp_path / "again.json")["report"] == json.loads(json.dumps(expected(told)))
    assert whole["header"]["prompt"] == SHARED["prompt"]


@browser
def test_hostile_tokens_and_prompts_stay_text(visitors):
    prompt = "<img src=x onerror=alert(1)> ${1+1} {{2}}"
    visitor = visitors()
    raced_here(visitor, {"prompt": prompt, "length": 8, "lanes": "hsd~3"})
    assert prompt in visitor.page.inner_text(".rc-prompt")
    assert visitor.page.locator(".hsd-race img").count() == 0


@browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_sticks_out_on_a_phone(visitors, theme):
    visitor = open_race(visitors(width=390), {"lanes": "tokenwise~5,traversal~4~4~distinct", "__theme": theme})
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in (".rc-go", ".rc-slider", ".rc-table", ".rc-times", ".rc-why"):
        box = visitor.page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    cells = visitor.page.locator(".rc-table tbody tr").first.locator("td")
    assert cells.count() == 8
    assert all(cell.is_visible() for cell in cells.all())


@browser
def test_with_reduced_motion_a_race_ends_on_its_last_picture(visitors):
    visitor = visitors(reduced_motion="reduce")
    told = raced_here(visitor, {**SHARED, "lanes": "hsd~4"})
    assert not told["playing"]
    assert told["time"] == told["length"]
    assert visitor.page.locator(".rc-lead").get_attribute("role") == "status"
