"""The player in a real browser: what it draws equals the trace, and hostile text stays text."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from loops import some
from player_page import Stage, differing, step_where, tree_trace, word_trace

import hsd

RULES = [name for name in hsd.RULES if name != "agreement"]
HOSTILE = [
    "<img src=x onerror=window.hacked=1>",
    "${window.hacked=1}",
    "{{value}}",
    "</script><script>window.hacked=1</script>",
    "\u202eevil\u2066",
    "x" * 400,
    "a" + "\u0301" * 60,
    "\u0301",
    "\x00\x1b[31m\u2028",
    "=HYPERLINK(1)",
    " ",
    "\n",
    "שלום",
    "\ufeff",
]


@pytest.mark.core
@pytest.mark.recorded
def test_a_draft_is_drawn_on_opening(stage: Stage, trace: dict) -> None:
    step = step_where(trace, lambda s: 0 < s["kept"] < s["drafted"])
    stage.load(trace, step)
    assert stage.state() == {
        "ready": True,
        "step": step,
        "steps": len(trace["steps"]),
        "node": trace["steps"][step]["verdict"]["residual"]["node"],
        "kept": trace["steps"][step]["kept"],
        "shadowKept": trace["steps"][step]["shadow"]["kept"],
        "live": False,
    }
    count = stage.page.locator
    drafted = trace["steps"][step]["drafted"]
    assert count(".hp-guess:not(.is-root)").count() == drafted
    assert count(".hp-trial").count() == 2 * drafted
    assert count(".is-masses .hp-level").count() == 2 * len(trace["steps"][step]["branches"])
    assert not count(".hp-treecard").is_visible()


LANES = ("own", "shadow")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.recorded
def test_verdicts_of_both_rules_are_in_every_step(stage: Stage, rule: str) -> None:
    trace = word_trace(rule=rule, max_new_tokens=40)
    stage.load(trace)
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        kept = [
            stage.page.locator(f".is-{lane} .hp-trial:is(.is-pass, .is-carried):visible").count()
            for lane in LANES
        ]
        assert kept[0] == step["kept"] == stage.state()["kept"]
        assert kept[1] == step["shadow"]["kept"] or rule == "tokenwise"


@pytest.mark.core
@pytest.mark.parametrize("rule", some(RULES, 2))
def test_formulas_reproduce_the_recorded_thresholds(stage: Stage, rule: str) -> None:
    trace = word_trace(rule=rule, max_new_tokens=80, gamma=7)
    stage.load(trace)
    pairs = stage.page.evaluate(
        """() => window.player.trace().steps.flatMap((step, i) => {
          const view = hsdPlayer.model.readStep(window.player.trace(), i);
          const pair = (d) => [hsdPlayer.model.numbersOf(view, d).value, d.threshold];
          return [step.verdict, step.shadow].flatMap(({decisions}) => decisions.map(pair));
        })"""
    )
    assert len(pairs) > 30
    assert all(computed == pytest.approx(recorded, abs=1e-3) for computed, recorded in pairs)


@pytest.mark.core
@pytest.mark.parametrize("rule", ["hsd", "hsd-released"])
@pytest.mark.recorded
def test_no_rule_is_credited_for_what_a_coin_did(stage: Stage, rule: str) -> None:
    """Where the two rules part, the sentence follows from what each keeps over all coins."""
    trace = word_trace(rule=rule, max_new_tokens=160, gamma=7)
    stage.load(trace)
    seen = set()
    for i, step in enumerate(trace["steps"]):
        if step["kept"] == step["shadow"]["kept"]:
            continue
        stage.go(i)
        gain = step["expected_kept"][rule] - step["expected_kept"]["tokenwise"]
        luck = abs(gain) < 0.005 or (gain > 0) != (step["kept"] > step["shadow"]["kept"])
        told = stage.text(".hp-story")
        sure = step["expected_kept"][rule] > step["drafted"] - 1e-9
        assert ("Whatever the coins" if sure else "Over all coins") in told
        assert ("luck" in told) == luck
        seen.add(luck)
    assert True in seen


@pytest.mark.core
@pytest.mark.parametrize(
    "options", some([{}, {"rule": "tokenwise", "shadow": "hsd"}, {"drafts": 3}], 2)
)
@pytest.mark.recorded
def test_chances_of_keeping_stand_beside_what_was_kept(
    stage: Stage, options: dict[str, Any]
) -> None:
    """One row for each rule: a column for every number of tokens, as high as its chance, this
    time's marked.
    """
    trace = word_trace(**options)
    stage.load(trace)
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        assert stage.page.locator(".hp-odds-bars:visible").count() == (2 if step["drafted"] else 0)
        for judged in (step["verdict"], step["shadow"]) if step["drafted"] else ():
            chances = step["kept_law"][judged["rule"]]
            row = stage.page.locator(f'.hp-odds-bars[data-rule="{judged["rule"]}"]')
            heights = row.locator("i").evaluate_all(
                "list => list.map((e) => parseFloat(e.style.height))"
            )
            assert heights == pytest.approx([24 * chance for chance in chances], abs=0.1)
            now = row.locator(".hp-odds-column").evaluate_all(
                "l => l.findIndex((e) => e.matches('.is-now'))"
            )
            assert now == judged["kept"]
            mean = sum(t * chance for t, chance in enumerate(chances))
            shown = float(row.locator("xpath=..").locator("b").inner_text())
            assert shown == pytest.approx(mean, abs=6e-3)


FUZZY = {"rule": "fuzzy", "temperature": 0.7, "max_new_tokens": 80, "gamma": 7, "table_seed": 3}


@pytest.mark.parametrize(
    "options",
    [
        {"fuzzy_mode": "divergence-only", "tolerance": 0.5},
        {"divergence": "tv", "tolerance": 0.4},
        {"top_p": 0.6},
    ],
    ids=["divergence-only", "tv", "infinite"],
)
@pytest.mark.recorded
def test_the_fuzzy_rule_is_told_as_it_decided(stage: Stage, options: dict) -> None:
    trace = word_trace(**(FUZZY | options))
    tolerance = trace["setup"]["options"]["fuzzy"]["tolerance"]
    only = options.get("fuzzy_mode") == "divergence-only"
    stage.load(trace)
    seen = set()
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        tests = stage.page.locator(".hp-panel.is-own .hp-test").all()
        spent = 0.0
        overruled = 0
        for test, decision in zip(tests, step["verdict"]["decisions"], strict=True):
            node = step["nodes"][decision["node"] - 1]
            divergence = float(step["divergences"][decision["node"] - 1])
            form = test.locator(".hp-formula").get_attribute("data-form")
            assert form == ("near" if divergence <= tolerance else "far" if only else "beyond")
            seen.add(form)
            overruled += form == "near" and node["coin"] >= min(1, node["p"] / node["q"])
            spent += divergence if form == "near" else 0
        assert stage.page.locator(".hp-warn").count() == 0
        assert ("exact test would have rejected" in stage.text(".hp-story")) == (overruled > 0)
        assert ("spent 0 of drift" in stage.text(".hp-warning")) == (spent == 0)
        if (
            step["drafted"]
            and step["verdict"]["residual"]
            and step["verdict"]["residual"]["origin"] == "correction"
        ):
            assert ("the whole target p" in stage.text(".hp-residual")) == only
            assert ("drawn from the whole target" in stage.text(".hp-story")) == only
    assert seen == {"near", "far" if only else "beyond"}


def test_beside_another_rule_the_fuzzy_one_is_told_without_its_divergences(stage: Stage) -> None:
    trace = word_trace(**(FUZZY | {"rule": "hsd", "shadow": "fuzzy", "tolerance": 0.5}))
    stage.load(trace)
    for i in range(len(trace["steps"])):
        stage.go(i)
        assert stage.page.locator(".hp-warn").count() == 0


@pytest.mark.core
def test_typical_acceptance_is_told_without_a_coin(stage: Stage) -> None:
    """What is compared is the target's p with the bar of its row; the lane has no coin to drag, the
    card no slider.
    """
    trace = word_trace(rule="typical", epsilon=0.2, max_new_tokens=30)
    stage.load(trace)
    seen = set()
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        tests = stage.page.locator(".hp-panel.is-own .hp-test").all()
        for test, decision in zip(tests, step["verdict"]["decisions"], strict=True):
            node = step["nodes"][decision["node"] - 1]
            entropy = decision["grounds"]["entropy"]
            assert entropy == step["branches"][node["parent"]]["entropy"]
            assert decision["accepted"] == (node["p"] > min(0.2, 0.2**0.5 * math.exp(-entropy)))
            line = test.locator(".hp-sides").inner_text()
            assert line.startswith("bar ")
            assert " p " in line
            assert test.locator(".hp-suppose").count() == 0
            seen.add(test.locator(".hp-formula").get_attribute("data-form"))
        assert stage.page.locator(".hp-cell-of.is-own [data-coin]").count() == 0
        assert stage.page.locator(".hp-warn").count() == 0
        assert "No coin is asked" in stage.text(".hp-warning")
    assert seen == {"likely", "unlikely"}


@pytest.mark.core
@pytest.mark.parametrize(
    ("weight", "words"), [(0.5, "Not lossless"), (0, "With w = 0 this rule is exact")]
)
def test_an_ensemble_is_told_with_its_mixture(stage: Stage, weight: float, words: str) -> None:
    trace = word_trace(rule="ensemble", draft_weight=weight, max_new_tokens=40, gamma=7)
    stage.load(trace)
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        assert step["kept"] >= step["shadow"]["kept"]
        assert (step["kept"] == step["shadow"]["kept"]) or weight
        assert (
            stage.page.locator(".hp-panel.is-own .hp-formula:not([data-form=mixed])").count() == 0
        )
        assert stage.page.locator(".hp-warn").count() == 0
    assert words in stage.text(".hp-warning")


def test_a_clause_names_what_a_rule_compared(stage: Stage) -> None:
    """Its threshold against the coin, or p against the bar."""
    wanted = {
        "ensemble": r", for the coin [\d.]+ is not below [\d.]+, and keeps",
        "typical": (
            r", for the target gives it [\d.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+, which is not above [\d.]+, "
            "and keeps"
        ),
    }
    for rule, words in wanted.items():
        stage.load(word_trace(rule=rule, epsilon=0.2, max_new_tokens=80))
        told = stage.page.evaluate(
            """async () => {
              const {plain, say} = await import("./step/sentences.js");
              const {verdictFacts} = await import("./step/explain.js");
              const trace = window.player.trace();
              const views = trace.steps.map((_, i) => hsdPlayer.model.readStep(trace, i));
              return views.map((view) => {
                const facts = verdictFacts(view, view.own);
                return plain(say("course", {drafted: view.step.drafted, ...facts}));
              });
            }"""
        )
        others = {one for one in told if not re.search(words, one)}
        assert all(
            "passes every token by itself and keeps" in one or one == "has nothing to test"
            for one in others
        )
        assert any(re.search(words, one) for one in told)


@pytest.mark.recorded
def test_tests_are_listed_in_the_order_taken(stage: Stage, trace: dict) -> None:
    index = step_where(trace, lambda s: len(s["verdict"]["decisions"]) > 2)
    stage.load(trace, index)
    step = trace["steps"][index]
    nodes = stage.each(".hp-panel.is-own .hp-test", "Number(e.dataset.node)")
    assert nodes == [d["node"] for d in step["verdict"]["decisions"]]
    shadow = stage.each(".hp-panel.is-shadow .hp-test", "Number(e.dataset.node)")
    assert shadow == [d["node"] for d in step["shadow"]["decisions"]]
    assert stage.page.locator(".hp-warn").count() == 0


@pytest.mark.recorded
def test_headline_names_both_counts_and_the_coin(stage: Stage, trace: dict) -> None:
    index = step_where(trace, lambda s: s["shadow"]["kept"] < s["kept"])
    stage.load(trace, index)
    step = trace["steps"][index]
    words = stage.text(".hp-lead")
    assert words.startswith(f"Kept {step['kept']} of {step['drafted']} — ")
    assert f" — vanilla would have kept {step['shadow']['kept']}, because" in words
    failed = step["shadow"]["decisions"][-1]
    assert f"because token {failed['node']} failed, for the coin " in words
    assert words.endswith(".")
    assert stage.page.get_attribute(".hp-story [aria-live]", "aria-live") == "polite"


@pytest.mark.core
@pytest.mark.parametrize(
    ("options", "selector", "words"),
    [
        ({"rule": "tokenwise"}, ".hp-lead", "failed, for the coin"),
        ({"rule": "hsd-released"}, ".hp-warning", "Not lossless"),
        ({"rule": "fuzzy"}, ".hp-warning", "Not lossless"),
        (
            {"rule": "fuzzy", "tolerance": -1},
            ".hp-warning",
            "With T = −1 this rule is exact",
        ),
        (
            {"system": "plain"},
            ".hp-lead",
            "Nothing was drafted: the target wrote one token by itself",
        ),
        ({"system": "plain"}, ".hp-setup", "words: target"),
        ({"proposer": "ngram", "gamma": 3}, ".hp-setup", " · γ 3, copied from the text · "),
        ({"trace": False}, ".hp-treecard", "recorded without detail"),
    ],
)
@pytest.mark.recorded
def test_special_runs_say_what_they_are(
    stage: Stage, options: dict, selector: str, words: str
) -> None:
    stage.load(word_trace(max_new_tokens=12, **options))
    assert words in stage.text(selector)
    assert stage.page.locator(".hp-group").count() == stage.state()["steps"]


@pytest.mark.recorded
def test_a_copied_draft_claims_no_draft_model_and_says_where_there_was_none(stage: Stage) -> None:
    trace = word_trace(proposer="ngram", max_new_tokens=80)
    stage.load(trace, step_where(trace, lambda step: step["drafted"] == 0))
    assert stage.text(".hp-lead").startswith(
        "Nothing was drafted: the last token is new, so nothing followed it before"
    )
    assert ", draft" not in stage.text(".hp-setup")
    stage.go(step_where(trace, lambda step: 0 < step["kept"] < step["drafted"]))
    assert (
        stage.page.locator(".is-own .hp-trial:is(.is-pass, .is-carried)").count()
        == stage.state()["kept"]
    )
    assert "draft model" not in stage.text("#one")


@pytest.mark.recorded
def test_further_target_calls_are_shown(stage: Stage) -> None:
    trace = word_trace(rule="naive-hsd")
    index = step_where(trace, lambda s: s["target_calls"] > 1)
    stage.load(trace, index)
    step = trace["steps"][index]
    assert f"took {step['target_calls']} target calls" in stage.text(".hp-warning")
    assert "at the price of one more target call" in stage.text(".hp-detail")


@pytest.mark.core
@pytest.mark.recorded
def test_table_numbers_equal_the_trace(stage: Stage, trace: dict) -> None:
    stage.load(trace)
    for i, step in enumerate(trace["steps"]):
        stage.go(i)
        cells = "[...e.querySelectorAll('td[data-column]')].map((c) => [c.dataset.column, c.title])"
        rows = stage.each(".hp-numbers-table tbody tr", f"Object.fromEntries({cells})")
        assert len(rows) == step["drafted"]
        branches = {b["node"]: b for b in step["branches"]}
        for node, row in zip(step["nodes"], rows, strict=True):
            assert float(row["p"]) == node["p"]
            assert float(row["q"]) == node["q"]
            assert float(row["ρ"]) == pytest.approx(node["p"] / node["q"])
            if branch := branches.get(node["id"]):
                recorded = [branch[k] for k in ("ratio", "capped", "deficient", "excess")]
                assert [float(row[k]) for k in ("r", "c", "deficient", "excess")] == recorded


@pytest.mark.recorded
def test_ledger_adds_up_to_one(stage: Stage, trace: dict) -> None:
    index = step_where(trace, lambda s: s["kept"] == 2)
    stage.load(trace, index)
    widths = stage.each(
        ".hp-stack-bar", "[...e.children].map((part) => parseFloat(part.style.width))"
    )
    branch = trace["steps"][index]["branches"][2]
    assert [sum(bar) for bar in widths] == [pytest.approx(100, abs=0.01)] * 2
    assert widths[0][1] == pytest.approx(100 * branch["excess"], abs=0.01)
    assert widths[1][1] == pytest.approx(100 * branch["deficient"], abs=0.01)
    assert f"8 of {trace['setup']['vocab_size']} tokens shown" in stage.text(".hp-ledger")
    assert "Drawn from the residual" in stage.text(".hp-ledger")


@pytest.mark.recorded
def test_joint_masses_are_the_relative_ones_times_q(stage: Stage) -> None:
    trace = word_trace(drafts=3)
    stage.load(trace)
    stage.page.click(".hp-toggle")
    branches = {branch["node"]: branch for branch in trace["steps"][0]["branches"]}
    titles = stage.each(".hp-masspair", "[e.dataset.branch, e.title]")
    assert titles
    for node, title in titles:
        branch = branches[int(node)]
        shown = float(re.match(r"excess ([\d.]+|<\.001)", title)[1].replace("<", "0"))
        joint = branch["excess"] * branch["joint_q"]
        assert shown == pytest.approx(joint, rel=0.01) or joint < 0.001
    assert stage.page.evaluate("window.player.state().mass") == "joint"


@pytest.mark.recorded
def test_keys_move_through_the_run(stage: Stage, trace: dict) -> None:
    stage.load(trace)
    stage.page.click(".hp-story")
    last = len(trace["steps"]) - 1
    different = [i for i in differing(trace) if i > 0]
    assert stage.press("Shift+ArrowRight")["step"] == 1
    assert stage.press("Shift+ArrowLeft", "Shift+ArrowLeft")["step"] == 0
    assert stage.press("End")["step"] == last
    assert stage.press("Shift+ArrowRight")["step"] == last
    assert stage.press("Home")["step"] == 0
    assert stage.press("n")["step"] == different[0]
    assert stage.press("n", "n")["step"] == different[2]
    assert stage.press("p")["step"] == different[1]
    assert stage.press("m")["mass"] == "joint"
    assert stage.press("Space")["playing"]
    assert not stage.press("Space")["playing"]
    stage.press("?")
    assert stage.page.is_visible(".hp-dialog")
    stage.press("Escape")
    assert not stage.page.is_visible(".hp-dialog")


@pytest.mark.recorded
def test_keys_move_through_the_tree(stage: Stage) -> None:
    trace = word_trace(drafts=3)
    stage.load(trace, step_where(trace, lambda s: s["kept"] == 2), node=1)
    stage.page.focus('.hp-node[data-node="1"]')
    active = '.hp-node[tabindex="0"]'
    assert stage.press("]")["node"] > 1
    assert stage.press("[")["node"] == 1
    below = stage.press("ArrowDown")["node"]
    assert below != 1
    assert stage.press("ArrowUp")["node"] == 1
    assert stage.press("[")["node"] == 0
    assert stage.page.locator(active).count() == 1
    assert stage.page.evaluate("document.activeElement.classList.contains('hp-node')")


@pytest.mark.recorded
def test_pin_keeps_the_branch_while_stepping(stage: Stage, trace: dict) -> None:
    stage.load(trace, 0, node=1)
    stage.page.focus("#one")
    assert stage.press("Enter")["pinned"]
    assert stage.press("Shift+ArrowRight")["node"] == 1
    assert stage.press("Shift+ArrowRight")["node"] == 1
    state = stage.press("Escape")
    assert not state["pinned"]
    assert state["node"] == trace["steps"][2]["verdict"]["residual"]["node"]


@pytest.mark.recorded
def test_keys_are_left_alone_while_typing(stage: Stage, trace: dict) -> None:
    stage.load(trace)
    stage.page.evaluate("document.getElementById('one').append(document.createElement('input'))")
    stage.page.focus("#one > input")
    stage.page.keyboard.type("nm? p")
    assert stage.page.input_value("#one > input") == "nm? p"
    assert stage.press("End")["step"] == 0
    stage.page.focus(".hp-speed")
    assert stage.press("End")["step"] == 0


def test_clicks_select_nodes_tokens_and_steps(stage: Stage, trace: dict) -> None:
    stage.load(trace)
    stage.page.click('.hp-guess[data-node="3"]')
    assert stage.state()["node"] == 3
    stage.page.click('.is-own[data-node="1"] .hp-trial')
    stage.page.wait_for_function("window.__hsd.node === 1")  # what its fold shows may come first
    stage.page.click('.hp-group[data-step="4"] .hp-out')
    assert stage.state()["step"] == 4
    stage.page.click('.hp-cell[data-step="6"]')
    assert stage.state()["step"] == 6
    stage.page.click('.hp-numbers-table tr[data-node="2"] td')
    assert stage.state()["node"] == 2
    moves = stage.page.evaluate("window.moves.map(m => [m.step, m.node])")
    assert moves[-1] == [6, 2]
    assert len(moves) == len({tuple(m) for m in moves}), "every move is told once"


def test_play_goes_to_the_end_and_stops(chromium, trace: dict) -> None:
    stage = Stage(chromium, locale="en-GB")  # a profile of its own, because the clock stays in it
    stage.page.clock.install()
    stage.load(trace)
    beats = stage.page.evaluate("window.player.state().beat") + 1
    stage.page.click(".hp-play")
    assert stage.page.evaluate("window.player.state().phase") == "draft", (
        "a step that has been seen begins anew"
    )
    stage.page.clock.run_for(4200 * beats)
    assert stage.state()["step"] > 0
    stage.page.clock.run_for(4200 * 24 * len(trace["steps"]))
    assert stage.state()["step"] == len(trace["steps"]) - 1
    assert not stage.page.evaluate("window.player.state().playing")
    stage.close()


def test_nothing_moves_where_motion_is_reduced(chromium, trace: dict) -> None:
    for preference, expected in [("reduce", "none"), ("no-preference", "hp-sweep")]:
        stage = Stage(chromium, reduced_motion=preference)
        stage.load(trace)
        beat = stage.page.locator(".hp-sweep").get_attribute("data-at")
        stage.page.locator(".hp-scrub").fill(beat)
        assert stage.page.evaluate("window.player.state().phase") == "target"
        assert (
            stage.page.eval_on_selector(".hp-sweep-bar", "e => getComputedStyle(e).animationName")
            == expected
        )
        stage.close()


@pytest.mark.core
@pytest.mark.recorded
def test_hostile_tokens_stay_text(stage: Stage) -> None:
    trace = word_trace(HOSTILE, max_new_tokens=60)
    trace["setup"]["pair"] = trace["setup"]["device"] = "<b onclick=window.hacked=1>pair</b>"
    stage.load(trace)
    for i in range(len(trace["steps"])):
        stage.go(i)
        assert stage.page.locator("#one img, #one script, #one b[onclick]").count() == 0
    for key in ("ArrowDown", "ArrowDown", "m", "?"):
        stage.page.focus("#one")
        stage.press(key)
    assert stage.page.evaluate("window.hacked") is None
    shown = stage.text("#one")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x00\x1b]", shown), (
        "control characters are visible"
    )
    assert "⟨202E⟩" in shown
    assert stage.page.evaluate("document.documentElement.scrollWidth") == 1280


@pytest.mark.recorded
def test_long_tokens_are_cut_and_kept_in_the_title(stage: Stage) -> None:
    stage.load(word_trace(["x" * 400, "y" * 300, "z"], max_new_tokens=12))
    piece = stage.page.locator(".hp-guess:not(.is-root) .hp-token").first
    assert len(piece.text_content()) < 20
    titles = stage.each(".hp-token[title]", "e.title")
    assert any("x" * 400 in title for title in titles)


@pytest.mark.parametrize("pieces", [None, HOSTILE])
def test_a_phone_never_scrolls_sideways(chromium, pieces: list[str] | None) -> None:
    stage = Stage(chromium, width=390)
    trace = word_trace(pieces, gamma=10, max_new_tokens=60)
    stage.load(trace)
    for i in range(len(trace["steps"])):
        stage.go(i)
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= 390
    stage.go(0)
    assert stage.page.eval_on_selector(".hp-board-scroll", "e => e.scrollWidth > e.clientWidth")
    assert stage.page.eval_on_selector(".hp-table .hp-scroll", "e => e.scrollWidth > e.clientWidth")
    stage.close()


def test_two_players_share_a_page(stage: Stage, trace: dict) -> None:
    stage.load(trace)
    stage.page.evaluate(
        """trace => {
          const root = document.body.appendChild(document.createElement("div"));
          window.second = window.hsdPlayer.create(root);
          window.second.load(trace, {step: 2});
        }""",
        word_trace(rule="blockwise", seed=5),
    )
    stage.page.click(".hp-story >> nth=1")
    stage.press("ArrowRight")
    assert stage.page.evaluate("[window.player.state().step, window.second.state().step]") == [0, 3]
    ids = stage.each("[id]", "e.id")
    assert len(ids) == len(set(ids))


def test_live_steps_are_followed_by_a_viewer_at_the_end(stage: Stage, trace: dict) -> None:
    steps = trace["steps"]
    empty = trace | {"steps": []}
    stage.load(empty, live=True)
    assert "Waiting for the first step" in stage.text(".hp-story")
    assert stage.state()["live"]
    extend = "([steps, result]) => window.player.extend(steps, result)"
    stage.page.evaluate(extend, [steps[:2], None])
    assert stage.state()["step"] == 1
    stage.page.evaluate(extend, [steps[2:4], None])
    assert stage.state()["step"] == 3
    stage.go(1)
    stage.page.evaluate(extend, [steps[4:], trace["result"]])
    assert stage.state()["step"] == 1, "whoever looks back is not pulled away"
    assert (stage.state()["steps"], stage.state()["live"]) == (len(steps), False)
    assert stage.page.locator(".hp-cell").count() == len(steps)
    assert stage.page.evaluate("window.player.trace().result.text") == trace["result"]["text"]


@pytest.mark.recorded
def test_a_tree_of_drafts_is_laid_out_without_overlap(stage: Stage) -> None:
    trace = tree_trace()
    stage.load(trace)
    edges = "((b) => [b.left, b.top, b.right, b.bottom])(e.getBoundingClientRect())"
    boxes = stage.each(".hp-node", edges)
    assert len(boxes) > len(trace["steps"][0]["nodes"])
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[0] >= b[2] or b[0] >= a[2] or a[1] >= b[3] or b[1] >= a[3]
    extra = trace["steps"][0]["nodes"][-1]["id"]
    stage.page.click(f'.hp-node[data-node="{extra}"] .hp-token')
    assert stage.state()["node"] == extra


def test_a_fold_that_cannot_be_loaded_says_what_to_do(stage: Stage, trace: dict) -> None:
    stage.page.route("**/step/folds.js", lambda route: route.abort())
    stage.load(trace, folded=True)
    stage.page.locator(".hp-fold summary").first.click()
    stage.page.locator(".hp-fold[open] .hp-hint").wait_for()
    assert "could not be loaded" in stage.text(".hp-fold[open]")
    assert "reload the page" in stage.text(".hp-fold[open]")
    stage.problems.clear()  # what the browser says of it


@pytest.mark.recorded
def test_exports_hold_the_run(stage: Stage, trace: dict) -> None:
    stage.load(trace)

    def saved(label: str) -> bytes:
        with stage.page.expect_download() as download:
            stage.page.get_by_role("button", name=label, exact=True).click()
        return Path(download.value.path()).read_bytes()

    assert json.loads(saved("JSON")) == trace
    rows = list(csv.DictReader(io.StringIO(saved("CSV").decode(), newline="")))
    assert [int(row["kept"]) for row in rows] == [s["kept"] for s in trace["steps"]]
    assert [int(row["other_kept"]) for row in rows] == [s["shadow"]["kept"] for s in trace["steps"]]
    assert {row["other_rule"] for row in rows} == {"tokenwise"}
    picture = ET.fromstring(saved("SVG"))
    assert picture.tag.endswith("svg")
    words = " ".join(text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    on_board = stage.each(".hp-board-grid :is(b, .hp-trial-words span)", "e.textContent.trim()")
    assert len(on_board) > 5 * trace["steps"][0]["drafted"]
    assert [word for said in on_board for word in said.split() if word not in words] == []
    assert not re.search(r"var\(|color\(|NaN|undefined", ET.tostring(picture, encoding="unicode"))
    assert saved("PNG").startswith(b"\x89PNG")
    report = saved("Report").decode()
    assert trace["result"]["text"] in report
    assert f"Kept {trace['steps'][2]['kept']} of 5" in report


def test_spreadsheets_do_not_run_tokens(stage: Stage) -> None:
    stage.load(word_trace(["=1+1", "@x", "-2", '"quoted"'], max_new_tokens=20))
    lines = stage.page.evaluate("hsdPlayer.files.make('csv', player.trace(), {}, player)")
    for row in csv.reader(io.StringIO(lines, newline="")):
        assert not any(cell[:1] in "=@" for cell in row if cell)


def test_links_are_copied(chromium, trace: dict) -> None:
    stage = Stage(chromium, permissions=["clipboard-read", "clipboard-write"])
    stage.load(trace)
    stage.page.click(".hp-story")
    stage.press("l")
    stage.page.wait_for_selector(".hp-toast:not(:empty)")
    assert stage.text(".hp-toast") in ("link copied", "https://example.org/?step=1")
    stage.close()


@pytest.mark.recorded
def test_names_are_read_aloud(stage: Stage) -> None:
    trace = word_trace(drafts=3)
    stage.load(trace)
    labels = stage.each(".hp-node.is-draft", "e.title")
    assert all(re.search(r"draft q .*target p .*vanilla: ", label, re.S) for label in labels)
    assert stage.page.get_attribute(".hp-cells", "aria-valuetext").startswith("step ")
    names = stage.each("#one button", "e.getAttribute('aria-label') || e.textContent.trim()")
    assert all(re.search(r"[a-z]", name, re.I) for name in names)
