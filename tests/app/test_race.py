"""A race as it is asked for: what is refused, what lanes are called, links, the stream, the
recorded races.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from example_script import example_script
from loops import for_each

import hsd
from hsd import facts, space
from hsd.app import downloads, race
from hsd.app.replies import compact
from hsd.draft import COPIERS
from hsd.errors import HsdError
from hsd.models.loading import fetch
from hsd.rules import RULES

SHARED = {
    "prompt": "Once upon a time, there was a fox",
    "pair": "tiny",
    "max_new_tokens": 24,
    "seed": 7,
}
SHARED |= {"temperature": 0.8}
# what numbers are made of
RAW = {"case", "prompt", "repetition", "new_tokens", "target_calls", "steps", "drafted", "kept"}
RAW |= {"seconds", "time", "kept_histogram", "calls"}
LANES = [{"rule": "tokenwise", "gamma": 4}, {"rule": "hsd", "gamma": 4}]
SYSTEMS = [
    {"system": "stack", "rule": "hsd", "thresholds": "3, 4"},
    {"system": "hispec", "rule": "tokenwise", "exits": "2,4"},
    {"rule": "fuzzy", "gamma": 4, "tolerance": 0.3, "divergence": "js"},
    {"system": "stack", "rule": "hsd"},
]


def plan(lanes: object = LANES, rounds: object = 1, **shared: object) -> race.RacePlan:
    return race.read_plan(space.load(), {**SHARED, "lanes": lanes, "rounds": rounds, **shared})


def messages(asked: dict) -> list[dict]:
    manifest = space.load()
    found = race.pieces(race.read_plan(manifest, asked), manifest.limits.run_seconds)
    return [json.loads(compact(piece)) for piece in found]


def events(found: list[dict]) -> list[dict]:
    return [event for message in found for event in message.get("events", ())]


def test_lanes_are_named_by_what_they_do():
    cases = plan(SYSTEMS).cases
    assert [case.name for case in cases] == [
        "Plain decoding",
        "Model stack, HSD, T = 3/4",
        "HiSpec, Vanilla, exits 2/4",
        "FSD, γ = 4, JS ≤ 0.3",
        "Model stack, HSD, T = 5 each",
    ]
    assert cases[1].options["thresholds"] == [3, 4]
    assert "gamma" not in cases[1].options
    assert cases[4].options["gamma"] == 5
    assert [lane["lossless"] for lane in plan(SYSTEMS).as_data()["lanes"]] == [
        True,
        True,
        True,
        False,
        True,
    ]
    exact = plan([{"rule": "fuzzy", "gamma": 4, "tolerance": -1}]).as_data()["lanes"][1]
    assert exact["lossless"]  # below 0 nothing passes
    # the target alone
    assert race.lossless({"rule": "ensemble", "draft_weight": 0})
    two = [case.name for case in plan([LANES[1], LANES[1]]).cases]
    assert two == ["Plain decoding", "HSD, γ = 4", "HSD, γ = 4 (2)"]


def test_every_option_of_a_run_that_says_how_to_draft_and_check_can_be_a_lanes():
    lanes = [{"rule": "ensemble", "draft_weight": 0.25}, {"rule": "typical", "epsilon": 0.2}]
    ensemble, typical = plan(lanes).cases[1:]
    assert (ensemble.options["draft_weight"], typical.options["epsilon"]) == (0.25, 0.2)
    assert [one.name.split(", ")[-1] for one in (ensemble, typical)] == [
        "draft weight 0.25",
        "epsilon 0.2",
    ]
    assert {"draft_weight", "epsilon", "fuzzy_mode", "level_rules", "nodes"} <= set(race.LANE)


def test_a_pair_that_is_not_here_and_does_not_come_leaves_its_race_to_one_that_is(monkeypatch):
    """As where HSD_DOWNLOAD is 0: the recorded races name a model that has to be fetched."""
    link = {**race.recordings()["races"][0]["header"]["link"], "lanes": LANES}
    monkeypatch.setattr(fetch, "fetched_file", lambda name: None)
    monkeypatch.setattr(downloads, "_news", {})
    asked = race.read_plan(space.load(), link)
    assert (asked.request.pair.name, asked.link()["pair"]) == ("tiny", "tiny")
    assert link["pair"] in ("qwen-coder", "smollm2")
    downloads._news[link["pair"]] = downloads.News("downloading", 0.5)
    with pytest.raises(HsdError, match="is not here yet"):
        race.read_plan(space.load(), link)
    with pytest.raises(HsdError, match="unknown pair 'nobody'"):
        plan(pair="nobody")


@pytest.mark.parametrize("proposer", COPIERS)
def test_whatever_copies_can_draft_in_a_lane(proposer):
    case = plan([{"rule": "tokenwise", "gamma": 5, "proposer": proposer}]).cases[1]
    assert case.options["proposer"] == proposer
    assert case.name.startswith(COPIERS[proposer].short.capitalize())


def test_every_rule_can_be_raced_with_the_trees_that_fit_it():
    for rule in facts.facts()["rules"]:
        if rule["asked"] == rule["name"]:
            single = [{"rule": rule["name"], "gamma": 3}] if rule["single"] else []
            for tree in rule["trees"]:
                single.append({"rule": rule["name"], "gamma": 3, "drafts": 2, "tree": tree})
            assert single
            for lane in single:
                assert plan([lane]).cases[1].options["rule"] == rule["name"]
    assert len(RULES) > 5


def test_all_lanes_draft_equally_many_tokens_unless_one_says_otherwise():
    lanes = [{"rule": "tokenwise"}, {"rule": "hsd"}, {"rule": "hsd", "gamma": 9}]
    assert [case.options["gamma"] for case in plan(lanes, gamma=3).cases[1:]] == [3, 3, 9]
    usual = plan(None).cases[1:]
    assert [(case.options["rule"], case.options["gamma"]) for case in usual] == [
        ("tokenwise", 5),
        ("hsd", 5),
    ]


@for_each(
    ("lanes", "rounds", "shared", "words"),
    [
        (LANES, 1, {"prompt": " "}, "the prompt is empty"),
        (LANES * 3, 1, {}, "7 lanes: a race has 2 to 5"),
        (LANES, 2, {}, "choose 1, 3 or 5"),
        ({"rule": "hsd"}, 1, {}, "lanes: give a list of mappings"),
        (["hsd"], 1, {}, "lanes: give a list of mappings"),
        (
            [*LANES, {"rule": "traversal", "gamma": 4}],
            1,
            {},
            "lane 4: rule traversal is for several drafts",
        ),
        (
            [{"rule": "hsd", "drafts": 2, "proposer": "ngram"}],
            1,
            {},
            "lane 2: proposer ngram has one continuation",
        ),
        ([{"rule": "hsd", "proposer": "<b>"}], 1, {}, "lane 2: unknown proposer"),
        ([{"rule": "hsd", "gamma": 99}], 1, {}, "lane 2: "),
        ([{"rule": "<b>", "gamma": 3}], 1, {}, "lane 2: unknown rule"),
        ([{"system": "plain"}], 1, {}, "lane 2: plain decoding is the first lane of every race"),
        ([{"system": ["stack"]}], 1, {}, "lane 2: unknown system"),
        ([{"rule": "hsd", "max_new_tokens": 9}], 1, {}, "lane 2: unknown option 'max_new_tokens'"),
        ([{"system": "stack", "thresholds": "3, x"}], 1, {}, "lane 2: threshold"),
        ([{"system": "hispec", "exits": "1, 2, 3"}], 1, {}, "lane 2: exits 1, 2, 3: give two"),
        ([{"rule": "fuzzy", "divergence": "<b>"}], 1, {}, "lane 2: unknown divergence"),
        ("rule:<img src=x>~gamma:5", 1, {}, "lane 2: unknown rule"),
        ("hsd~4~3", 1, {}, "lane 2: unknown option 'hsd'"),
        ("rule:hsd~magic:3", 1, {}, "lane 2: unknown option 'magic'"),
        ([{"url": "http://localhost:8000"}], 1, {}, "lane 2: unknown option 'url'"),
        ("", "<b>", {}, "<b> timed runs per lane"),
    ],
)
def test_what_cannot_be_raced_is_refused_in_one_line(lanes, rounds, shared, words):
    with pytest.raises(HsdError) as refused:
        plan(lanes, rounds, **shared)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


# ---- links


def test_a_link_reproduces_the_race():
    asked = plan(SYSTEMS[:3], 3, prompt_as="text", seed="12345678901234567890")
    link = asked.link()
    assert link["seed"] == "12345678901234567890"
    again = race.read_plan(space.load(), json.loads(json.dumps(link)))
    assert again.cases == asked.cases
    assert (again.link(), again.rounds) == (link, 3)
    assert all(case.options["prompt_as"] == "text" for case in again.cases)


def test_former_names_of_options_still_open():
    asked = plan("rule:hsd~gamma:4", length="12", max_new_tokens=None)
    assert asked.request.options.max_new_tokens == 12


# ---- the stream


def test_a_race_is_sent_as_its_header_and_then_events_with_raw_records():
    asked = {**SHARED, "lanes": LANES, "rounds": 1}
    found = messages(asked)
    header = found[0]["header"]
    assert header["link"] == plan().link()
    assert [lane["name"] for lane in header["lanes"]] == [
        "Plain decoding",
        "Vanilla, γ = 4",
        "HSD, γ = 4",
    ]
    assert header["machine"]["load"] >= 0
    assert {name for message in found[1:] for name in message} == {"events"}
    ends = [event["record"] for event in events(found) if "record" in event]
    assert [record["case"] for record in ends] == 2 * [lane["name"] for lane in header["lanes"]]
    assert [record["repetition"] for record in ends] == [0, 0, 0, 1, 1, 1]
    for record in ends:
        assert set(record) >= RAW
        assert record["seconds"] > 0
    options = {name: value for name, value in SHARED.items() if name not in ("prompt", "pair")}
    run = hsd.run(hsd.load_pair("tiny"), SHARED["prompt"], rule="hsd", gamma=4, **options)
    assert {e["text"] for e in events(found) if e["lane"] == 2 and "text" in e} == {run.text}


def test_a_race_that_takes_too_long_is_stopped_and_keeps_what_was_timed():
    long = plan([{"rule": "hsd", "gamma": 1}], 5, max_new_tokens=200, temperature=1.0)
    found = list(race.pieces(long, 0.5))
    assert found[-1] == {"ending": "stopped after 0.5 s, the longest time here: ask for less"}
    assert events(found)


def test_a_lane_that_the_pair_has_no_models_for_is_refused_before_anything_runs():
    with pytest.raises(HsdError, match="lane 4: 3 thresholds for 3 models"):
        messages(
            {
                **SHARED,
                "lanes": [*LANES, {"system": "stack", "rule": "hsd", "thresholds": "3, 4, 5"}],
            }
        )


# ---- recorded


def test_the_recorded_races_say_where_and_how_they_were_made():
    for shown in race.recordings()["races"]:
        header = shown["header"]
        assert header["machine"]["processor"]
        assert header["machine"]["load"] >= 0
        names = [lane["name"] for lane in header["lanes"]]
        for event in (event for event in shown["events"] if "record" in event):
            assert event["record"]["case"] == names[event["lane"]]
            assert event["record"]["repetition"] == event["repetition"]
            assert set(event["record"]) >= RAW


def test_four_domains_are_recorded_of_each_pair_with_all_that_numbers_are_made_of():
    shown = race.recordings()["races"]
    names = ["Stories", "Sums", "Code", "Questions"]
    for file, pair, count, prompts in zip(
        race.FILES, ("qwen-coder", "smollm2"), (1, 2), (4, 8), strict=True
    ):
        own = race.recordings(file)["races"]
        assert {one["header"]["pair"] for one in own} == {pair}
        heats = list(dict.fromkeys(one["header"]["sampling"]["temperature"] for one in own))
        assert [(one["header"]["sampling"]["temperature"], one["domain"]) for one in own] == [
            (heat, name) for heat in heats for name in names
        ]
        assert len(heats) == count
        assert all(one["header"]["prompts"] >= prompts for one in own)
    for one in shown:
        header = one["header"]
        runs = [
            (event["lane"], event["record"]["prompt"], event["repetition"])
            for event in one["events"]
            if "record" in event
        ]
        prompts = range(header["prompts"])
        rounds = range(1, header["rounds"] + 1)
        assert sorted(runs) == list(product(range(len(header["lanes"])), prompts, rounds))
        replayed = [event["lane"] for event in one["events"] if event["steps"]]
        assert replayed == list(range(len(header["lanes"])))
        drafts = [(coins["case"], coins["prompt"]) for coins in one["coins"]]
        both = [lane["name"] for lane in header["lanes"][1:3]]
        heat = header["sampling"]["temperature"]
        assert sorted(drafts) == (sorted(product(both, prompts)) if heat else [])


def test_a_recorded_race_says_what_the_form_would_ask_for():
    for shown in race.recordings()["races"]:
        lanes = [lane["own"] for lane in shown["header"]["lanes"][1:]]
        asked = race.read_plan(
            space.load(), {**shown["header"]["link"], "pair": "tiny", "lanes": lanes}
        )
        assert [case.options for case in asked.cases] == [
            lane["options"] for lane in shown["header"]["lanes"]
        ]


def recording(tmp_path: Path, monkeypatch, flags: str) -> Path:
    """A file that the script wrote of two kinds of prompts."""
    out = tmp_path / "out.json"
    script = example_script("reproduce/record_race")
    prompts = {"One": ["Once upon a time"], "Two": ["The cat"]}
    monkeypatch.setattr(
        script, "PROMPTS", {"Stories": ["Once"], **prompts} if "--lengths" in flags else prompts
    )
    monkeypatch.setattr(script, "EVERY", (1, 3))
    monkeypatch.setattr(script, "WIDTHS", (1, 2))
    monkeypatch.setattr(script, "TIMES", 1)
    monkeypatch.setattr(script, "SOURCE", 8)
    asked = f"--pair tiny --prompts 1 --max-new-tokens 6 {flags} --out"
    monkeypatch.setattr("sys.argv", ["record_race.py", *asked.split(), str(out)])
    assert script.main() == 0
    return out


def test_races_are_recorded_on_many_prompts_and_seeds_and_shown_again(tmp_path: Path, monkeypatch):
    out = recording(tmp_path, monkeypatch, "--seeds 1 --gamma 2,3,2")
    shown = race.recordings(out)["races"]
    places = [(one["domain"], one["header"]["sampling"]["temperature"]) for one in shown]
    assert places == [(name, heat) for heat in (0.7, 0.0) for name in ("One", "Two")]
    for one in shown:
        heat = one["header"]["sampling"]["temperature"]
        gammas = [lane["options"]["gamma"] for lane in one["header"]["lanes"][1:]]
        assert gammas == ([2, 3, 2] if heat else [3, 3, 2])
        assert (one["header"]["prompts"], one["header"]["rounds"]) == (1, 1)
        steps = [event["steps"] for event in one["events"] if event["steps"]]
        lengths = {sum(len(step["tokens"]) for step in own) for own in steps}
        assert (len(steps), len(lengths)) == (4, 1)
        ends = [event["record"] for event in one["events"] if "record" in event]
        assert [end["case"] for end in ends] == [lane["name"] for lane in one["header"]["lanes"]]
        assert all(end["seconds"] > 0 for end in ends)
        assert [coins["case"] for coins in one["coins"]] == (
            [lane["name"] for lane in one["header"]["lanes"][1:3]] if heat else []
        )
    (tmp_path / "old.json").write_text('{"format": "hsd-race-1"}')
    with pytest.raises(HsdError, match="there is no recorded race"):
        race.recordings(tmp_path / "old.json")


def test_the_calculators_rows_are_what_rules_keep_over_all_coins(tmp_path: Path, monkeypatch):
    told = json.loads(recording(tmp_path, monkeypatch, "--lengths").read_text())
    own = [one for one in told["samples"] if (one["kind"], one["gamma"]) == ("Two", 3)]
    runs = [
        hsd.run(
            hsd.load_pair("tiny"),
            "The cat",
            rule=rule,
            gamma=3,
            max_new_tokens=8,
            temperature=0.7,
            seed=seed,
        )
        for seed, rule in enumerate(("tokenwise", "hsd"))
    ]
    steps = [step for run in runs for step in run.steps if step.drafted == 3]
    for one in own:
        kept = sum(step.expected_kept[one["rule"]] for step in steps)
        assert (one["passes"], one["tokens"]) == (
            len(steps),
            pytest.approx(kept + len(steps), abs=1e-5),
        )
    alike = {one["tokens"] for one in told["samples"] if (one["kind"], one["gamma"]) == ("Two", 1)}
    assert len(alike) == 1, "of one token both rules keep the same"
    assert {"1", "draft"} <= set(told["passes"]["here"])
