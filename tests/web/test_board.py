"""The board: a step's phases, both rules' lanes, other coins and other rules, judged again in the
page.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import Any

import pytest
from loops import some
from player_page import Stage, differing, step_where, word_trace

from hsd import RULES
from hsd.paths import ASSETS

CHAIN_RULES = ["tokenwise", "blockwise", "hsd", "hsd-released", "naive-hsd", "agreement"]


def beats(stage: Stage) -> list[dict[str, Any]]:
    """Where every beat of the step is, and what is to be seen of the board there."""
    return stage.page.evaluate(
        """() => {
          const rail = document.querySelector(".hp-scrub");
          const shows = (e) => e.checkVisibility({visibilityProperty: true});
          const seen = (css) => [...document.querySelectorAll(css)].filter(shows).length;
          return [...Array(Number(rail.max) + 1).keys()].map((beat) => {
            rail.value = beat;
            rail.dispatchEvent(new Event("input"));
            return {
              phase: window.player.state().phase,
              guesses: seen(".hp-guess:not(.is-root)"),
              passes: seen(".hp-sweep"),
              p: seen(".hp-level .hp-segment.is-p:not(.is-deficient)"),
              masses: seen(".hp-level .hp-segment.is-deficient"),
              classic: seen(".is-shadow .hp-trial"),
              own: seen(".is-own .hp-trial"),
              outcomes: seen(".hp-lane-keeps"),
              written: seen(".hp-group.is-now"),
              said: document.querySelector(".hp-lead").textContent,
            };
          });
        }"""
    )


@pytest.mark.core
@pytest.mark.recorded
def test_a_step_happens_phase_by_phase(stage: Stage, trace: dict) -> None:
    index = step_where(
        trace, lambda s: s["shadow"]["kept"] > 0 and len(s["verdict"]["decisions"]) > 1
    )
    step = trace["steps"][index]
    stage.load(trace, index)
    told = beats(stage)
    drafted = step["drafted"]
    own = step["verdict"]["decisions"]
    other = step["shadow"]["decisions"]
    names = (
        ["draft"] * drafted
        + ["target", "ratio", "masses"]
        + ["shadow"] * len(other)
        + ["own"] * len(own)
    )
    assert [beat["phase"] for beat in told] == [*names, "commit"]
    assert [beat["guesses"] for beat in told[:drafted]] == list(range(1, drafted + 1))
    assert told[drafted - 1]["passes"] == 0
    at = {name: names.index(name) for name in names}
    assert (told[at["target"]]["passes"], told[at["target"]]["p"]) == (1, 0)
    assert (told[at["ratio"]]["p"], told[at["ratio"]]["masses"]) == (drafted, 0)
    assert (told[at["masses"]]["masses"], told[at["masses"]]["classic"]) == (
        len(step["branches"]),
        0,
    )
    assert [told[at["shadow"] + i]["classic"] for i in range(len(other) - 1)] == list(
        range(1, len(other))
    )
    assert (told[at["own"] - 1]["classic"], told[at["own"] - 1]["own"]) == (drafted, 0)
    assert [told[at["own"] + i]["own"] for i in range(len(own) - 1)] == list(range(1, len(own)))
    assert [beat["written"] for beat in told] == [0] * (len(told) - 1) + [1]
    assert told[-1]["outcomes"] == 2
    for decision, beat in zip([*other, *own], told[at["shadow"] :], strict=False):
        assert ("✓ passes" in beat["said"]) == decision["accepted"]


@pytest.mark.recorded
def test_arrows_move_inside_a_step_and_with_shift_from_step_to_step(
    stage: Stage, trace: dict
) -> None:
    stage.load(trace)
    stage.page.click(".hp-story")
    last = stage.page.evaluate("window.player.state().beat")
    assert stage.press("ArrowLeft")["beat"] == last - 1
    assert stage.press("ArrowRight")["phase"] == "commit"
    state = stage.press("ArrowRight")
    assert (state["step"], state["beat"], state["phase"]) == (1, 0, "draft")
    state = stage.press("ArrowLeft")
    assert (state["step"], state["phase"]) == (0, "commit")
    assert stage.press("Shift+ArrowRight")["phase"] == "commit"


@pytest.mark.core
@pytest.mark.parametrize("rule", some(CHAIN_RULES, 3, first=2))
def test_the_page_judges_by_another_rule_as_the_library_does(
    stage: Stage, trace: dict, rule: str
) -> None:
    """The chances to keep 0 … γ, worked out in the page, have the recorded mean of every rule."""
    stage.load(trace)
    means = stage.page.evaluate(
        """async (rule) => {
          const {chances, judges} = await import("./step/rejudge.js");
          return window.player.trace().steps.map((step, i) => {
            const view = hsdPlayer.model.readStep(window.player.trace(), i);
            delete view.step.kept_law;
            if (!judges(view).includes(rule)) return null;
            return chances(view, rule).reduce((sum, x, t) => sum + t * x, 0);
          });
        }""",
        rule,
    )
    recorded = [step["expected_kept"][rule] for step in trace["steps"]]
    known = [(mean, step) for mean, step in zip(means, recorded, strict=True) if mean is not None]
    assert len(known) >= (len(recorded) // 3 if rule == "naive-hsd" else len(recorded))
    assert all(mean == pytest.approx(step, abs=1e-5) for mean, step in known)


@pytest.mark.core
@pytest.mark.parametrize(
    ("rule", "knob"), [("ensemble", {"draft_weight": 0.3}), ("typical", {"epsilon": 0.2})]
)
def test_the_page_judges_by_a_rule_with_a_number_of_its_own(
    stage: Stage, rule: str, knob: dict[str, float]
) -> None:
    """With the run's number, and from the drafted tokens alone: what the trace says of that rule is
    taken away.
    """
    told = word_trace(shadow=rule, **knob)
    stage.load(told)
    means = stage.page.evaluate(
        """async (rule) => {
          const {chances, judges} = await import("./step/rejudge.js");
          return window.player.trace().steps.map((step, i) => {
            const view = hsdPlayer.model.readStep(window.player.trace(), i);
            delete view.step.kept_law;
            view.shadow = null;
            if (!judges(view).includes(rule)) return null;
            return chances(view, rule).reduce((sum, x, t) => sum + t * x, 0);
          });
        }""",
        rule,
    )
    recorded = [step["expected_kept"][rule] for step in told["steps"]]
    assert means == pytest.approx(recorded, abs=1e-5)
    assert len({round(mean, 3) for mean in means}) > 2


@pytest.mark.core
@pytest.mark.recorded
def test_another_rule_judges_the_shown_draft_at_once(stage: Stage, trace: dict) -> None:
    """A run by the other rule on the same seed meets the same first draft: what it kept is what the
    page says.
    """
    for rule in ("tokenwise", "hsd-released", "agreement", "ensemble", "typical"):
        other = word_trace(rule=rule)
        assert [n["token"] for n in other["steps"][0]["nodes"]] == [
            n["token"] for n in trace["steps"][0]["nodes"]
        ]
        stage.load(trace)
        stage.page.focus(".hp-lane-rule")
        stage.page.select_option(".hp-lane-rule", rule)
        kept = other["steps"][0]["kept"]
        assert f"keeps {kept}" in stage.text(".hp-row-name.is-own .hp-lane-keeps")
        assert (
            stage.page.locator(".hp-cell-of.is-own .hp-trial:is(.is-pass, .is-carried)").count()
            == kept
        )
        assert stage.page.locator(".hp-warn").count() == 0
        assert stage.page.evaluate("document.activeElement.matches('.hp-lane-rule')"), (
            "the menu keeps the focus"
        )
        stage.page.click(".hp-back")
        assert stage.page.locator(".is-what-if").count() == 0


@pytest.mark.core
@pytest.mark.recorded
def test_a_coin_can_be_dragged_and_comes_back(stage: Stage, trace: dict) -> None:
    """With its coin at 0 the first token of the classic rule passes; everything recorded stays as
    it was.
    """
    index = step_where(
        trace, lambda s: s["shadow"]["kept"] == 0 and s["shadow"]["decisions"][0]["threshold"] > 0.1
    )
    stage.load(trace, index)
    before = stage.page.evaluate("JSON.stringify(window.player.trace())")
    gauge = stage.page.locator(".is-shadow .hp-gauge").first
    coin = gauge.locator(".hp-gauge-coin").bounding_box()
    line = gauge.bounding_box()
    stage.page.mouse.move(coin["x"] + coin["width"] / 2, coin["y"] + coin["height"] / 2)
    stage.page.mouse.down()
    stage.page.mouse.move(line["x"] + 1, line["y"] + 3, steps=4)
    stage.page.mouse.up()
    assert stage.text(".hp-lead").startswith("What if the coin of token 1: ")
    assert (
        stage.page.locator(".is-shadow .hp-trial").first.get_attribute("class").endswith("is-pass")
    )
    keeps = stage.text(".hp-row-name.is-shadow .hp-lane-keeps")
    kept = int(keeps.split()[1].rstrip(","))
    passed = 0
    for i, node in enumerate(trace["steps"][index]["nodes"]):
        if (0 if i == 0 else node["coin"]) >= min(1, node["p"] / node["q"]):
            break
        passed += 1
    assert kept == passed > 0
    assert stage.page.evaluate("JSON.stringify(window.player.trace())") == before
    stage.page.click(".hp-back")
    assert stage.page.locator(".is-what-if").count() == 0
    assert not stage.text(".hp-lead").startswith("What if")


@pytest.mark.recorded
def test_a_coin_can_be_changed_by_keyboard(stage: Stage, trace: dict) -> None:
    index = step_where(
        trace, lambda s: s["shadow"]["kept"] == 0 and s["shadow"]["decisions"][0]["threshold"] > 0.1
    )
    stage.load(trace, index, folded=True)
    stage.page.locator(".is-shadow .hp-trial").first.focus()
    stage.press("Enter")
    stage.page.wait_for_selector(".hp-decisions")
    assert stage.page.evaluate("document.activeElement.type") == "range"
    stage.press("Home")
    assert (
        stage.page.locator(".is-shadow .hp-trial").first.get_attribute("class").endswith("is-pass")
    )


@pytest.mark.recorded
def test_what_is_clicked_opens_beside_it(stage: Stage, trace: dict) -> None:
    stage.load(trace, differing(trace)[0], folded=True)
    assert stage.page.locator(".hp-ledger, .hp-decisions, .hp-table").count() == 0
    stage.page.click('.hp-guess[data-node="2"]')
    stage.page.wait_for_selector(".hp-ledger")
    assert stage.page.eval_on_selector(
        ".hp-board", "e => e.nextElementSibling.matches(':has(.hp-ledger)')"
    )
    assert stage.state()["node"] == 2
    stage.page.click('.is-own[data-node="1"] .hp-trial')
    assert stage.page.eval_on_selector(
        ".hp-board", "e => e.nextElementSibling.matches(':has(.hp-decisions)')"
    )
    stage.page.focus("#one")
    stage.press("Escape")
    assert stage.page.locator(".hp-ledger:visible").count() == 0


@pytest.mark.recorded
def test_a_token_is_marked_wherever_it_stands(stage: Stage, trace: dict) -> None:
    stage.load(trace, step_where(trace, lambda s: s["kept"] >= 2))
    stage.page.hover('.hp-guess[data-node="2"]')
    for part in ("hp-board", "hp-table", "hp-text"):
        assert stage.page.locator(f".{part} .is-linked").count() > 0, part


@pytest.mark.parametrize(
    ("width", "gamma", "shown"), [(1280, 5, False), (1280, 12, True), (390, 5, True)]
)
def test_a_long_draft_has_an_overview_of_both_rules(
    chromium: Any, width: int, gamma: int, shown: bool
) -> None:
    stage = Stage(chromium, width=width)
    trace = word_trace(gamma=gamma)
    index = differing(trace)[0]
    step = trace["steps"][index]
    stage.load(trace, index)
    assert stage.page.is_visible(".hp-minimap") == shown
    for lane, judged in ((1, step["shadow"]), (2, step["verdict"])):
        assert (
            stage.page.locator(f".hp-map-column > :nth-child({lane}).is-kept").count()
            == judged["kept"]
        )
    stage.close()


@pytest.mark.recorded
def test_a_rule_that_the_step_does_not_tell_enough_for_is_not_offered(
    stage: Stage, trace: dict
) -> None:
    """Naive HSD's threshold follows from what a trace has only where its ratio was not cut."""
    stage.load(trace)
    offered = []
    for i in range(len(trace["steps"])):
        stage.go(i)
        names = stage.each(".hp-lane-rule option", "e.value")
        assert {"tokenwise", "hsd", "blockwise", "hsd-released", "agreement"} <= set(names)
        offered.append("naive-hsd" in names)
        assert stage.page.evaluate("window.player.judgeBy('naive-hsd')") == offered[-1]
        assert stage.page.locator(".is-what-if").count() == offered[-1]
        if offered[-1]:
            stage.page.click(".hp-back")
        assert stage.page.locator(".is-what-if").count() == 0
    assert set(offered) == {True, False}


ORIGINS = """() => [...document.querySelectorAll(".hp-cell-of.is-lane")].flatMap((cell) => {
  const from = cell.querySelector(".hp-origin");
  if (!from) return [];
  const said = cell.querySelector(".hp-trial-words span").textContent;
  const { rule, node } = cell.dataset;
  return [{ rule, node: Number(node), said, from: from.textContent }];
})"""


def value(text: str) -> float:
    """A number as the page writes it."""
    mantissa, _, exponent = text.replace("−", "-").partition("·10")
    exponent = exponent.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-"))
    return float(mantissa) * 10 ** int(exponent or 0)


@pytest.mark.core
@pytest.mark.recorded
def test_a_threshold_stands_beside_what_it_is_made_of(stage: Stage, trace: dict) -> None:
    forms = set()
    for index, step in islice(enumerate(trace["steps"]), 0, None, 3):
        stage.load(trace, index)
        stage.page.keyboard.press("End")
        for cell in stage.page.evaluate(ORIGINS):
            words, result = re.split(r" = | ≈ ?", cell["from"])
            forms.add(next((sign for sign in "÷×" if sign in words), words))
            threshold = cell["said"].split()[-1].removeprefix("≈")
            if result.endswith(", at most 1"):
                assert (value(result.split(",")[0]) >= 1, threshold) == (True, "1"), cell
                continue
            assert result == threshold, cell
            node = step["nodes"][cell["node"] - 1]
            if words == "p/q":
                assert value(result) == pytest.approx(node["p"] / node["q"], rel=0.06, abs=0.006), (
                    cell
                )
            elif "×" in words:
                before, ratio = map(value, words.split(" × "))
                assert ratio == pytest.approx(node["p"] / node["q"], rel=0.06, abs=0.006), cell
                assert value(result) == pytest.approx(before * ratio, rel=0.12, abs=0.006), cell
            elif "÷" in words:
                branch = next(b for b in step["branches"] if b["node"] == cell["node"])
                assert value(result) == pytest.approx(
                    branch["deficient"] / branch["excess"], rel=0.06, abs=0.006
                )
                numbers = [value(text) for text in words.split(" ÷ ")]
                assert numbers == pytest.approx(
                    [branch["deficient"], branch["excess"]], rel=0.06, abs=0.006
                )
    assert {"p/q", "÷", "×"} <= forms


def test_the_threshold_of_a_race_stands_beside_p_and_the_lead(stage: Stage) -> None:
    trace = word_trace(rule="coupled")
    found = 0
    for index, step in enumerate(trace["steps"]):
        stage.load(trace, index)
        stage.page.keyboard.press("End")
        for cell in stage.page.evaluate(ORIGINS):
            if cell["rule"] != "coupled":
                continue
            words, result = re.split(r" = | ≈ ?", cell["from"])
            p, lead = (
                value(text) for text in re.fullmatch(r"(\S+) ÷ \(\1 \+ (\S+)\)", words).groups()
            )
            node = step["nodes"][cell["node"] - 1]
            branch = next(b for b in step["branches"] if b["node"] == node["parent"])
            assert p == pytest.approx(node["p"], rel=0.06, abs=0.006), cell
            assert lead == pytest.approx(branch["lead"], rel=0.06, abs=0.006), cell
            assert result == cell["said"].split()[-1].removeprefix("≈"), cell
            assert value(result) == pytest.approx(
                node["p"] / (node["p"] + branch["lead"]), rel=0.06, abs=0.006
            ), cell
            found += 1
    assert found > 5


def test_what_a_threshold_is_made_of_is_marked_while_its_test_is_pointed_at(
    stage: Stage, trace: dict
) -> None:
    index = step_where(
        trace, lambda s: any(d["test"] == "prefix" for d in s["verdict"]["decisions"])
    )
    made = next(d for d in trace["steps"][index]["verdict"]["decisions"] if d["test"] == "prefix")
    stage.load(trace, index)
    stage.page.locator(f".is-own.is-lane[data-node='{made['node']}'] .hp-trial").focus()
    marked = stage.each(
        ".hp-board .is-joined:not(.is-lane)",
        "[e.closest('[data-node]').dataset.node, e.title.split(' ')[0]]",
    )
    assert marked == [[str(made["node"]), "excess"], [str(made["node"]), "deficient"]], (
        "in its own column"
    )
    stage.page.locator(".is-lane.is-joined .hp-trial").evaluate("e => e.blur()")
    assert stage.page.locator(".is-joined").count() == 0


@pytest.mark.recorded
def test_what_a_number_is_made_of_is_marked_in_tests_table_and_ledger_too(
    stage: Stage, trace: dict
) -> None:
    index = step_where(
        trace, lambda s: any(d["test"] == "prefix" for d in s["verdict"]["decisions"])
    )
    decisions = trace["steps"][index]["verdict"]["decisions"]
    node = str(next(d["node"] for d in decisions if d["test"] == "prefix"))
    stage.load(trace, index, node=int(node))
    stage.page.wait_for_selector(".hp-ledger")
    place = """[
      e.closest("[data-node], [data-branch]").dataset.node ??
        e.closest("[data-branch]").dataset.branch,
      e.dataset.column ?? e.title.split(" ")[0] ?? "",
      e.closest(".hp-board, .hp-table, .hp-ledger").classList[1],
    ]"""
    masses = [
        [node, kind, card]
        for card in ("hp-board", "hp-ledger", "hp-table")
        for kind in ("excess", "deficient")
    ]
    stage.page.locator(f".hp-panel.is-own .hp-test[data-node='{node}'] .hp-sides").hover()
    assert sorted(stage.each(".is-joined:not(.hp-test)", place)) == sorted(masses)
    stage.page.locator(f"tr[data-node='{node}'] [data-column='ρ']").hover()
    own = [[node, name, card] for card in ("hp-board", "hp-table") for name in ("p", "q")]
    assert sorted(stage.each(".is-joined:not([data-from])", place)) == sorted(own)
    stage.page.locator(f"tr[data-node='{node}'] [data-column='r']").hover()
    ratios = stage.each(".hp-table .is-joined[data-column='ρ']", "e.closest('tr').dataset.node")
    assert ratios == [str(i + 1) for i in range(int(node))]


OF_A_LESSON = """async (content) => {
  const { scene } = await import("./learn/scene.js");
  const shows = ({ show }) => show.includes("masses") && show.includes("hsd");
  const lesson = content.lessons.find(shows);
  const drawn = scene(content, lesson, true);
  const cells = (row) => [...drawn.querySelectorAll(`[data-row="${row}"] .hf-cell`)];
  const texts = (cell, css) => [...cell.querySelectorAll(css)].map((one) => one.textContent);
  const masses = cells("masses").map((cell) => texts(cell, "b"));
  return cells("hsd").flatMap((cell, i) =>
    texts(cell, "[data-from='deficient excess']").map((text) => [i + 1, text, masses[i]]));
}"""


def test_in_a_lesson_the_masses_of_a_test_stand_in_its_own_column(stage: Stage) -> None:
    content = json.loads((ASSETS / "lessons" / "learn.json").read_text(encoding="utf-8"))
    made = [d["node"] for d in content["step"]["verdict"]["decisions"] if d["test"] == "prefix"]
    told = stage.page.evaluate(OF_A_LESSON, content)
    assert sorted(node for node, _, _ in told) == sorted(made)
    for _, words, (excess, deficient) in told:
        numbers = [value(number) for number in re.split(r" = | ≈ ?", words)[0].split(" ÷ ")]
        assert numbers == pytest.approx([value(deficient), value(excess)], abs=0.006)


def test_a_whole_draft_is_made_of_every_ratio_and_a_token_of_its_own_p_and_q(
    stage: Stage, trace: dict
) -> None:
    index = step_where(trace, lambda s: s["shadow"]["decisions"] and s["drafted"] == 5)
    stage.load(trace, index)
    place = "[e.closest('[data-node]').dataset.node, e.className.split(' ')[0]]"
    stage.page.locator(".is-own.is-lane[data-node='5'] .hp-trial").hover()
    assert stage.each(".hp-board .is-joined:not(.is-lane)", place) == [
        [str(i + 1), "hp-rho"] for i in range(5)
    ]
    stage.page.locator(".is-shadow.is-lane[data-node='1'] .hp-trial").hover()
    assert stage.each(".hp-board .is-joined:not(.is-lane)", place) == [["1", "hp-level"]] * 2


@pytest.mark.core
def test_the_masses_of_a_test_stand_in_its_own_column(stage: Stage, trace: dict) -> None:
    """On the board; those before the draft stand in the column before it."""
    for index, step in enumerate(trace["steps"][:8]):
        stage.load(trace, index)
        branches = {branch["node"]: branch for branch in step["branches"]}
        cells = stage.each(
            ".is-masses.hp-cell-of",
            "[...e.querySelectorAll('.hp-segment')].map((s) => s.style.width)",
        )
        for node, widths in enumerate(cells):
            known = (
                [branches[node][name] for name in ("excess", "deficient")]
                if node in branches
                else []
            )
            assert [float(width[:-1]) for width in widths] == pytest.approx(
                [100 * x for x in known], abs=0.06
            )
        places = ".is-masses.hp-cell-of, .is-own.is-lane.hp-cell-of"
        lefts = stage.each(places, "Math.round(e.getBoundingClientRect().left)")
        assert lefts[: len(cells)] == lefts[len(cells) :]


@pytest.mark.core
@pytest.mark.recorded
def test_what_is_judged_as_a_prefix_has_a_bracket_over_what_is_kept_and_over_what_is_dropped(
    stage, trace
):
    index = step_where(
        trace,
        lambda s: 0 < s["kept"] < s["drafted"] and not s["verdict"]["decisions"][0]["accepted"],
    )
    step = trace["steps"][index]
    stage.load(trace, index)
    assert stage.each(
        ".hp-bracket", "[e.closest('[data-phase], .is-own, .is-shadow').matches('.is-own')][0]"
    ) == ([True] * step["drafted"]), "vanilla judges tokens"
    kinds = stage.each(".is-own .hp-bracket", "e.matches('.is-kept')")
    assert kinds == [i < step["kept"] for i in range(step["drafted"])]
    ends = stage.each(".is-own .hp-bracket", "[e.matches('.is-first'), e.matches('.is-last')]")
    assert [i + 1 for i, (first, _) in enumerate(ends) if first] == [1, step["kept"] + 1]
    assert [i + 1 for i, (_, last) in enumerate(ends) if last] == [step["kept"], step["drafted"]]
    failed = stage.each(".is-own .hp-trial.is-fail b", "e.textContent")
    assert failed == ["✕ step back"] * sum(not d["accepted"] for d in step["verdict"]["decisions"])


@pytest.mark.core
def test_no_lossy_rule_stands_without_its_mark(stage: Stage, trace: dict) -> None:
    """In the menu, in its lane, in what is told of it, and in the picture; and no lossless one has
    the mark.
    """
    stage.load(trace)
    options = stage.each(".hp-lane-rule option", "[e.value, e.textContent]")
    assert {name for name, _ in options} > {"hsd-released", "ensemble", "typical", "blockwise"}
    for rule, words in options:
        stage.page.select_option(".hp-lane-rule", rule)
        lossy = not RULES[rule].lossless
        assert words.endswith(", not lossless") is lossy
        assert stage.page.locator(".hp-row-name.is-own > .hp-lossy").count() == lossy
        assert stage.text(".hp-warning").startswith("Not lossless: ") is lossy
        picture = stage.page.evaluate(
            "hsdPlayer.picture.svgText(document.querySelector('.hp-board-grid'))"
        )
        assert ("not lossless" in picture) is lossy
        expected = stage.each(".hp-expect > span:first-child", "e.textContent")
        assert any("not lossless" in told for told in expected)


@pytest.mark.core
def test_what_if_is_told_like_any_other_step_and_the_text_shows_what_would_be_kept(
    stage: Stage, trace: dict
) -> None:
    index = step_where(trace, lambda s: s["kept"] > s["shadow"]["kept"])
    step = trace["steps"][index]
    stage.load(trace, index)
    written = stage.text(".hp-group.is-now")
    stage.page.select_option(".hp-lane-rule", "hsd-released")
    released = word_trace(rule="hsd-released", shadow="hsd")
    same = next(
        (s for s in released["steps"] if s["context_length"] == step["context_length"]), None
    )
    told = stage.text(".hp-why")
    assert told.startswith(
        ("Over all coins HSD as released keeps", "Whatever the coins, HSD as released keeps")
    )
    assert same is None or f"{step['expected_kept']['tokenwise']:.3g}" in told
    kept = stage.page.locator(".is-own .hp-trial:is(.is-pass, .is-carried)").count()
    pieces = "".join(node["piece"] for node in step["nodes"][:kept]).replace("\n", "")
    assert stage.text(".hp-group.is-now").replace("␣", " ").strip() == f"{pieces} …".strip()
    stage.page.click(".hp-back")
    assert stage.text(".hp-group.is-now") == written


@pytest.mark.core
def test_a_chat_template_is_folded_until_it_is_asked_for(stage: Stage, trace: dict) -> None:
    pieces = ["<|im_start|>", "user", "\n", "How", " many", "?", "<|im_end|>", "\n"]
    asked = trace | {"prompt": {"text": "How many?", "ids": list(range(8)), "pieces": pieces}}
    stage.load(asked)
    assert stage.text(".hp-prompt").split() == ["How", "many?", "chat", "template"]
    stage.page.click(".hp-prompt button")
    assert "<|im_start|>" in stage.text(".hp-prompt")
    stage.load(trace)
    assert stage.page.locator(".hp-prompt button").count() == 0
