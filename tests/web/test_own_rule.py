"""A lane of a rule of one's own: what it kept, how it was judged, and nothing that is not known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine import Engine
from player_page import Stage, word_pair, word_trace

import hsd
from hsd.conform import Adapter, load_adapter
from hsd.conform.own import own_rule
from hsd.paths import ROOT

EXAMPLES = ROOT / "examples" / "conform"


def recorded(rule: Any) -> dict:
    trace = hsd.run(word_pair(), "Once upon a time", rule=rule, max_new_tokens=30, seed=0)
    return json.loads(trace.to_json())


@pytest.fixture(scope="module")
def wrong() -> dict:
    return recorded(own_rule(load_adapter(EXAMPLES / "wrong_block.py")))


@pytest.fixture(scope="module")
def race() -> dict:
    coupled = load_adapter(EXAMPLES / "coupled.py")
    return recorded(own_rule(Adapter("mine.py", coupled.verify, "exponential-race", shared=True)))


LANE = """() => {
  const lane = [...document.querySelectorAll(".is-own.is-lane")];
  const text = (css) => lane.flatMap((e) => [...e.querySelectorAll(css)]).map((e) => e.innerText);
  return {
    name: text(".hp-lane-title"), head: text(".hp-lane-head"), keeps: text(".hp-lane-keeps"),
    mark: text(".hp-lossy"),
    cells: text(".hp-trial-words"), coins: text(".hp-gauge").length,
    moved: document.querySelectorAll("[data-coin]").length,
  };
}"""


@pytest.mark.recorded
def test_the_lane_says_what_was_kept_and_how_the_rule_was_judged(
    stage: Stage, wrong: dict, race: dict
) -> None:
    for trace, name, mark in ((wrong, "Wrong_block", "✕ not lossless"), (race, "Mine", "judged")):
        for index, step in enumerate(trace["steps"]):
            if step["drafted"] < 2:
                continue
            stage.load(trace, index)
            lane = stage.page.evaluate(LANE)
            words = ["✓ kept"] * step["kept"] + ["✕ not kept"] * (step["drafted"] - step["kept"])
            assert [cell.strip() for cell in lane["cells"]] == words
            assert lane["name"] == [name]
            assert "from the" not in lane["head"][0]
            assert mark in lane["mark"][0]
            assert lane["keeps"][0].startswith(f"keeps {step['kept']}")
            assert lane["coins"] == (step["drafted"] if trace is wrong else 0)
            assert lane["moved"] == 0, "what it would keep with another coin is not known"


@pytest.mark.recorded
def test_the_counterexample_is_told(stage: Stage, wrong: dict) -> None:
    stage.load(wrong)
    warning = stage.page.inner_text(".hp-story")
    assert (
        "Not lossless: after b, token c comes with probability 0.3200 where the target" in warning
    )


@pytest.mark.recorded
def test_the_step_plays_with_one_beat_for_the_rule(stage: Stage, wrong: dict) -> None:
    index = next(i for i, step in enumerate(wrong["steps"]) if step["drafted"] > 1)
    stage.load(wrong, index)
    told = stage.page.evaluate(
        """() => {
          const rail = document.querySelector(".hp-scrub");
          return [...Array(Number(rail.max) + 1).keys()].map((beat) => {
            rail.value = beat;
            rail.dispatchEvent(new Event("input"));
            const said = document.querySelector(".hp-lead").textContent;
            return [window.player.state().phase, said];
          });
        }"""
    )
    own = [said for phase, said in told if phase == "own"]
    kept = wrong["steps"][index]["kept"]
    assert own == [f"Wrong_block: keeps {kept} token{'s' * (kept != 1)}."]


@pytest.mark.recorded
def test_no_fold_says_more_than_is_known(stage: Stage, wrong: dict) -> None:
    index = next(i for i, step in enumerate(wrong["steps"]) if step["kept"] < step["drafted"])
    stage.load(wrong, index)
    panel = stage.page.inner_text(".hp-panel.is-own")
    assert "code of one’s own, which says what it keeps, and not why" in panel
    ledger = stage.page.inner_text(".hp-residual")
    assert "followed by code of one’s own, which names a token and no probabilities" in ledger


@pytest.mark.recorded
def test_it_is_not_judged_again(stage: Stage, wrong: dict) -> None:
    stage.load(wrong)
    assert stage.page.evaluate("window.player.judgeBy('wrong_block')") is False
    assert stage.page.evaluate("window.player.judgeBy('hsd')") is True
    assert "what if" in stage.page.inner_text(".hp-story").lower()


def test_the_page_asks_for_the_usual_rule_where_it_runs_the_prompt_again(wrong: dict) -> None:
    engine = Engine({"links": "watch/links.js"})
    asked = engine.call("(trace) => links.optionsOf(trace)", wrong)
    usual = engine.call("(trace) => links.optionsOf(trace)", word_trace())
    engine.stop()
    assert "rule" not in asked
    assert usual["rule"] == "hsd"
