"""Runs with several levels, and of a model that leaves early, on the stage: what is drawn is what
the trace holds.
"""

from __future__ import annotations

import json

import pytest
from player_page import Stage

import hsd
from hsd import Trace
from hsd.models.exits import parts_of
from hsd.paths import ASSETS
from hsd.trace import Event, Step

TRACES = ASSETS / "traces"
HISPEC = sorted(file.stem for file in TRACES.glob("hispec-*.json"))
MARKS = {"draft": "●", "correction": "▲", "bonus": "◆"}
LANES = """all => all.map((lane) => [...lane.querySelectorAll('.hp-tier-token')].map((chip) =>
  chip.querySelector('.hp-sign').textContent + chip.title.split(': ')[0] +
  (chip.querySelector('.hp-tier-verdict') || {textContent: ''}).textContent))"""


def show(stage: Stage, name: str, step: int = 0, beat: int | None = None) -> Trace:
    """A recorded run on the stage, a step of it at its end or at a beat."""
    trace = Trace.from_file(TRACES / f"{name}.json")
    stage.load(json.loads(trace.to_json()), step)
    if beat is not None:
        go(stage, beat)
    return trace


def go(stage: Stage, beat: int) -> None:
    """To a beat of the step that is shown."""
    stage.page.eval_on_selector(
        ".hp-scrub",
        "(rail, beat) => { rail.value = beat; rail.dispatchEvent(new Event('input')); }",
        beat,
    )


def lanes(stage: Stage) -> list[list[str]]:
    """The tokens of every lane, the smallest level first, as "●piece✓"."""
    return stage.page.eval_on_selector_all(".hp-tier", LANES)[::-1]


def visible(piece: str) -> str:
    return piece.replace(" ", "␣").replace("\n", "⏎")


def tokens(event: Event, verdicts: str = "") -> list[str]:
    signs = verdicts.ljust(len(event.committed))
    return [
        MARKS[c.origin] + visible(c.piece) + sign.strip()
        for c, sign in zip(event.committed, signs, strict=True)
    ]


def verdicts(tested: int, kept: int) -> str:
    return "✓" * kept + "✕" * (tested - kept)


def cells(stage: Stage, selector: str) -> list[list[str]]:
    """The rows of a table."""
    return [
        text.split("\t") for text in stage.page.locator(f"{selector} tbody tr").all_inner_texts()
    ]


@pytest.mark.core
@pytest.mark.recorded
def test_the_beats_of_a_stack_are_the_events_below_its_target(stage: Stage) -> None:
    step = show(stage, "stack-three", beat=0).steps[0]
    draft, check = step.events[:2]
    assert lanes(stage) == [tokens(draft), [], []]
    assert (
        stage.text(".hp-tier-link[data-below='0']").split()
        == f"↓ asks for {draft.asked} ↑ hands up 3".split()
    )
    assert stage.text(".hp-lead").startswith("The bottom model drafts 3 tokens: ")
    stage.page.focus("#one")
    assert stage.press("ArrowRight")["phase"] == "levels"
    assert lanes(stage) == [
        tokens(draft, verdicts(len(check.tested), check.kept)),
        tokens(check),
        [],
    ]
    held = len(check.committed)
    assert f"{held} of {check.asked} settled" in stage.text(".hp-tier[data-level='1']")
    assert stage.text(".hp-lead").startswith(
        f"The middle model checks {len(check.tested)} tokens, keeps {check.kept}"
    )
    assert (
        stage.text(".hp-detail")
        == f"It now holds {held} of {check.asked} and asks the bottom model again."
    )
    go(stage, len(step.events))
    assert stage.state()["step"] == 0
    assert "The target model reads" in stage.text(".hp-lead")
    assert lanes(stage)[2] == [], "the target has not judged yet"
    go(stage, 10_000)
    drawn = lanes(stage)
    assert [text.strip("●▲◆✓") for text in drawn[2]] == [visible(c.piece) for c in step.committed]
    assert "".join(text[-1] for text in drawn[1]) == verdicts(step.drafted, step.kept)
    assert stage.text(".hp-lead").startswith(f"Kept {step.kept} of {step.drafted}")


@pytest.mark.recorded
def test_a_token_stands_on_the_board_once_the_level_below_the_target_has_settled_it(
    stage: Stage,
) -> None:
    step = show(stage, "stack-three").steps[0]
    settled = 0
    for beat, event in enumerate(step.events):
        go(stage, beat)
        settled += len(event.committed) if event.level == 1 else 0
        assert len(stage.each(".is-guesses[data-node]:not(.is-later)", "e.dataset.node")) == settled
    assert settled == step.drafted


@pytest.mark.recorded
def test_what_each_level_did_so_far_is_counted_from_the_trace(stage: Stage) -> None:
    trace = show(stage, "stack-large")
    stage.go(len(trace.steps) - 1)
    rows = cells(stage, ".hp-levels-done > div:first-of-type")
    below = [sum(step.below[level].calls for step in trace.steps) for level in (0, 1)]
    checks = [event for step in trace.steps for event in step.events if event.kind == "verify"]
    assert [row[1] for row in rows] == [str(len(trace.steps)), str(below[1]), str(below[0])]
    assert rows[1][2:4] == [
        str(sum(s.drafted for s in trace.steps)),
        str(sum(s.kept for s in trace.steps)),
    ]
    assert rows[2][2:4] == [
        str(sum(len(e.tested) for e in checks)),
        str(sum(e.kept for e in checks)),
    ]
    go(stage, 0)
    events = [
        *(event for step in trace.steps[:-1] for event in step.events),
        trace.steps[-1].events[0],
    ]
    before = sum(event.work.calls for event in events if event.level == 0)
    assert cells(stage, ".hp-levels-done > div:first-of-type")[2][1] == str(before)


def numbers_of(step: Step, index: int) -> tuple[float, float, float | None, float]:
    """p, q, threshold and coin of the target's own test of a token of its block."""
    node = step.nodes[index]
    made = (
        next((d for d in step.verdict.decisions if d.node == node.id), None)
        if step.verdict
        else None
    )
    return node.p, node.q, made.threshold if made else None, node.coin


@pytest.mark.recorded
def test_the_life_of_a_token_has_the_traces_numbers(stage: Stage) -> None:
    step = show(stage, "stack-three").steps[0]
    # a token that the middle model kept and the target judged: its tests at both levels
    check = next(event for event in step.events if event.kind == "verify" and event.kept)
    place = check.position - step.context_length
    token = stage.page.locator(".hp-tier[data-level='1'] .hp-tier-token").nth(place)
    token.click()
    assert token.get_attribute("aria-pressed") == "true"
    first = check.tested[0]
    rows = cells(stage, ".hp-life")
    told = [(first.p, first.q, first.threshold, first.coin), numbers_of(step, place)]
    for row, numbers, who in zip(rows, told, ["The middle model", "The target"], strict=True):
        assert row[0] == who
        for text, number in zip(row[1:5], numbers, strict=True):
            if number is None:
                assert text == "–"
            else:
                assert float(plain(text)) == pytest.approx(number, rel=0.06)
    assert rows[0][5] == "✓ kept"
    assert rows[1][5][0] == ("✓" if place < step.kept else "✕")
    line = f"drafted by the bottom model, as token {check.position + 1} of the text"
    assert line in stage.text(".hp-life")
    go(stage, 1)
    token.click()
    assert len(cells(stage, ".hp-life")) == 1, "what comes later is not told yet"
    assert "Its next test is still to come." in stage.text(".hp-life")


def plain(text: str) -> str:
    """ "3.3·10⁻⁴" and ">.999" as Python reads them."""
    return (
        text.lstrip("<>")
        .replace("·10", "e")
        .translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-"))
    )


@pytest.mark.recorded
def test_another_rule_for_the_target_keeps_other_tokens_in_its_lane(stage: Stage) -> None:
    trace = show(stage, "stack-three")
    index = next(
        i for i, step in enumerate(trace.steps) if step.shadow and step.shadow.kept > step.kept
    )
    stage.go(index)
    stage.page.evaluate("rule => window.player.judgeBy(rule)", trace.steps[index].shadow.rule)
    assert len(lanes(stage)[2]) == trace.steps[index].shadow.kept


@pytest.mark.recorded
def test_the_layers_that_are_lit_are_the_work_of_the_event(stage: Stage) -> None:
    trace = show(stage, "hispec-trained")
    lit = (
        "() => { const all = (css) => document.querySelectorAll(`.hp-depth-rows ${css}`);"
        "return [all('[data-layer] .is-lit').length, all('.is-heads .is-lit').length, "
        "[...all('[data-layer]')].filter((row) => row.querySelector('.is-lit')).length]; }"
    )
    for index, step in enumerate(trace.steps[:2]):
        stage.go(index)
        for beat, work in enumerate([*(event.work for event in step.events), step.work]):
            go(stage, beat if beat < len(step.events) else 10_000)
            computed, heads, layers = stage.page.evaluate(lit)
            assert (computed, heads) == (work.computed, work.heads)
            assert layers <= work.layers
            assert work.layers % layers == 0, "a draft goes through its layers once for every token"
    lengths = stage.page.locator(".hp-depth-kept").all_inner_texts()
    cached = [int(text.split("=")[1].split()[0]) for text in lengths]  # the deepest first
    assert cached == sorted(cached)


# per step, event by event: how many layers and how many heads are lit under all lanes
COMPUTED = """async (trace) => {
  const { under } = await import("./step/exits.js");
  const lit = (levels, css) =>
    levels.reduce((count, level) => count + level.querySelectorAll(css).length, 0);
  return trace.steps.map((step, i) => {
    const view = hsdPlayer.model.readStep(trace, i);
    const places = [step.context_length - 2, step.context_length + 64];
    return [...step.events.keys(), null].map((event) => {
      const levels = trace.setup.models.map((_, level) => under(level, "", view, event, places));
      return [lit(levels, "[data-layer] .is-lit"), lit(levels, ".is-heads .is-lit")];
    });
  });
}"""


def test_the_drawn_work_is_the_traces_for_all_exits_and_at_the_end_of_a_text(stage: Stage) -> None:
    question = (
        "Question: Mia has 4 red balls and 3 blue balls. How many balls does she have in all?\n"
        "Answer:"
    )
    options = {
        "thresholds": (5, 3),
        "exits": (2, 6),
        "temperature": 0.9,
        "seed": 1,
        "rule": "tokenwise",
    }
    ended = hsd.run(hsd.load_pair("tiny"), question, system="hispec", **options)
    drafts = [event for event in ended.steps[-1].events if event.kind == "draft"]
    assert any(event.work.calls > len(event.committed) for event in drafts), (
        "a draft went on after the end of a text"
    )
    for trace in [ended, *(Trace.from_file(TRACES / f"{name}.json") for name in HISPEC)]:
        told = stage.page.evaluate(COMPUTED, json.loads(trace.to_json()))
        work = [[*(event.work for event in step.events), step.work] for step in trace.steps]
        assert told == [[[w.computed, w.heads] for w in step] for step in work]


@pytest.mark.recorded
def test_what_a_run_with_exits_costs_is_counted_from_the_trace(stage: Stage) -> None:
    trace = show(stage, "hispec-trained")
    head = parts_of(hsd.load_pair("tiny").target).head_cost
    stage.go(len(trace.steps) - 1)
    work = [part for step in trace.steps for part in (*step.below, step.work)]
    wanted = {
        "work": sum(w.computed + w.heads * head for w in work),
        "passes": sum(w.layers + w.calls * head for w in work),
        "plain": len(trace.tokens) * (8 + head),
    }
    for name, number in wanted.items():
        assert float(stage.text(f"[data-cost='{name}'] b")) == pytest.approx(number, rel=1e-3)
    costs = stage.text(".hp-costs")
    assert f"{wanted['work'] / wanted['plain']:.3g} times as much as plain" in costs
    assert f"costs {head:.3g} layers" in costs
    show(stage, "hispec-untrained")
    assert "trained to predict after layer 1 and 3" in stage.text(".hp-setup")
    show(stage, "stack-three")
    assert not stage.page.is_visible(".hp-exits")
    assert stage.page.locator(".hp-depth").count() == 0


@pytest.mark.recorded
def test_runs_of_one_draft_show_no_levels_and_keep_the_board_above_the_transport(
    stage: Stage, trace: dict
) -> None:
    below = "document.querySelector('.hp-transport').nextElementSibling.matches('.hp-board')"
    show(stage, "stack-three")
    assert stage.page.evaluate(below)
    stage.load(trace)
    assert not stage.page.is_visible(".hp-levels")
    assert not stage.page.evaluate(below)


def test_the_exported_picture_of_a_stack_has_its_lanes(stage: Stage) -> None:
    show(stage, "stack-three")
    svg = stage.page.evaluate(
        "window.hsdPlayer.picture.svgText(document.querySelector('.hp-tiers'))"
    )
    assert all(words in svg for words in ("The middle model", "handed up", "settled"))


def test_on_a_phone_the_lanes_scroll_and_the_page_does_not(stage: Stage) -> None:
    stage.page.set_viewport_size({"width": 390, "height": 844})
    for name in ("hispec-trained", "stack-large"):
        show(stage, name)
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= 390
        for selector in (".hp-tier", ".hp-tier-token", ".hp-levels-table"):
            assert stage.page.locator(selector).first.is_visible()
    stage.page.set_viewport_size({"width": 1280, "height": 900})
