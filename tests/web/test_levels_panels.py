"""The players of the model stack and of HiSpec on the Systems screen: what they draw is what the trace holds."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

import hsd
from hsd import Trace
from hsd.app.systems import recorded
from hsd.models.exits import head_cost
from hsd.trace import Event, Step

PRESETS = recorded.presets()
MARKS = {"draft": "●", "correction": "▲", "bonus": "◆"}


def open_panel(visitor, panel: str, **query: str):
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "systems", "panel": panel, **query}))
    visitor.unfold()
    return shown(visitor, panel, "run.trace")


def shown(visitor, panel: str, condition: str) -> dict:
    """What the panel shows, once `condition` holds for it, as `run`."""
    visitor.until(f"(({{{panel}Run: run}}) => run && ({condition}))(window.__hsdSystems || {{}})")
    return visitor.page.evaluate(f"window.__hsdSystems.{panel}Run")


def trace_of(told: dict) -> Trace:
    return Trace.from_json(json.dumps(told["trace"]))


def go(visitor, panel: str, at: int) -> None:
    """To a moment, by the keyboard."""
    page = visitor.page
    page.locator(f"#sy-panel-{panel} .sy-levels").focus()
    page.keyboard.press("Home")
    for _ in range(at):
        page.keyboard.press("ArrowRight")
    shown(visitor, panel, f"run.at === {at}")


def lanes(visitor, panel: str) -> list[list[str]]:
    """The chips of every lane, the smallest level first, as "● piece ✓"."""
    found = visitor.page.locator(f"#sy-panel-{panel} .hp-tier").evaluate_all(
        "all => all.map((lane) => [...lane.querySelectorAll('.hp-tier-token')].map((chip) => "
        "chip.querySelector('.hp-sign').textContent + chip.title.split(': ')[0] + "
        "(chip.querySelector('.hp-tier-verdict') || {textContent: ''}).textContent))"
    )
    return found[::-1]


def visible(piece: str) -> str:
    return piece.replace(" ", "␣").replace("\n", "⏎")


def chips(event: Event, verdicts: str = "") -> list[str]:
    signs = verdicts.ljust(len(event.committed))
    return [MARKS[c.origin] + visible(c.piece) + sign.strip() for c, sign in zip(event.committed, signs, strict=True)]


def verdicts(tested: int, kept: int) -> str:
    return "✓" * kept + "✕" * (tested - kept)


def test_of(step: Step, index: int) -> tuple[float, float, float | None, float]:
    """p, q, threshold and coin of the target's own test of a token of its block."""
    node = step.nodes[index]
    made = next((d for d in step.verdict.decisions if d.node == node.id), None)
    return node.p, node.q, made.threshold if made else None, node.coin


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.core
@pytest.mark.recorded
def test_the_moments_of_a_stack_are_the_events_of_its_trace(visitors):
    visitor = visitors()
    told = open_panel(visitor, "stack", show="stack-three", at="0")
    trace = trace_of(told)
    assert told["moments"] == sum(len(step.events) + 1 for step in trace.steps)
    first = trace.steps[0]
    draft, check = first.events[:2]
    assert lanes(visitor, "stack") == [chips(draft), [], []]
    page = visitor.page
    assert page.inner_text(".hp-tier-link[data-below='0']").split() == f"↓ asks for {draft.asked} ↑ hands up 3".split()
    page.keyboard.press("Tab")
    go(visitor, "stack", 1)
    judged = verdicts(len(check.tested), check.kept)
    assert lanes(visitor, "stack") == [chips(draft, judged), chips(check), []]
    held = len(check.committed)
    assert f"{held} of {check.asked} settled" in page.inner_text(".hp-tier[data-level='1'] .hp-tier-meter")
    said = page.inner_text("#sy-panel-stack .lv-said")
    assert said.startswith(f"The middle model checks {len(check.tested)} tokens, keeps {check.kept} and puts")
    assert said.endswith(f"it now holds {held} of {check.asked} and asks again.")
    page.keyboard.press("n")
    shown(visitor, "stack", f"run.at === {len(first.events)}")
    drawn = lanes(visitor, "stack")
    assert [text.strip("●▲◆✓") for text in drawn[2]] == [visible(c.piece) for c in first.committed]
    assert "".join(text[-1] for text in drawn[1]) == verdicts(first.drafted, first.kept)
    totals = page.locator(".lv-totals tbody tr").all_inner_texts()
    assert totals[0].split()[2] == "1"
    calls = sum(event.work.calls for event in first.events if event.level == 0)
    assert totals[2].split("\t")[1] == str(calls)
    page.select_option("#sy-panel-stack .hp-bar .hp-speed", "4")
    page.click("#sy-panel-stack .hp-play")
    shown(visitor, "stack", f"run.at > {len(first.events)}")
    page.click("#sy-panel-stack .hp-play")
    assert page.get_attribute("#sy-panel-stack .hp-play", "aria-pressed") == "false"


@pytest.mark.recorded
def test_the_totals_of_a_stack_are_the_traces_and_stand_beside_the_vanilla_run(visitors):
    visitor = visitors()
    told = open_panel(visitor, "stack", show="stack-large", at="0")
    trace = trace_of(told)
    visitor.page.locator("#sy-panel-stack .sy-levels").focus()
    visitor.page.keyboard.press("End")
    shown(visitor, "stack", f"run.at === {told['moments'] - 1}")
    rows = [text.split("\t") for text in visitor.page.locator(".lv-totals tbody tr").all_inner_texts()]
    below = [sum(step.below[level].calls for step in trace.steps) for level in (0, 1)]
    checks = [event for step in trace.steps for event in step.events if event.kind == "verify"]
    assert [row[1] for row in rows] == [str(len(trace.steps)), str(below[1]), str(below[0])]
    assert rows[1][2:4] == [str(sum(s.drafted for s in trace.steps)), str(sum(s.kept for s in trace.steps))]
    assert rows[2][2:4] == [str(sum(len(e.tested) for e in checks)), str(sum(e.kept for e in checks))]
    efficiency = recorded.trace_of("systems-vanilla").stats()["block_efficiency"]
    visitor.page.locator(".lv-beside", has_text=f"{efficiency:.3g} (recorded)").wait_for()


@pytest.mark.recorded
def test_a_tokens_life_has_the_traces_numbers(visitors):
    visitor = visitors()
    trace = trace_of(open_panel(visitor, "stack", show="stack-three", at="0"))
    # a token that the middle model kept and the target judged: its tests at both levels
    step = trace.steps[0]
    check = next(event for event in step.events if event.kind == "verify" and event.kept)
    place = check.position - step.context_length
    go(visitor, "stack", len(step.events))
    page = visitor.page
    page.locator(".hp-tier[data-level='1'] .hp-tier-token").nth(place).click()
    rows = [text.split("\t") for text in page.locator(".sy-life tbody tr").all_inner_texts()]
    first = check.tested[0]
    told = [(first.p, first.q, first.threshold, first.coin), test_of(step, place)]
    for row, numbers, who in zip(rows, told, ["The middle model", "The target"], strict=True):
        assert row[0] == who
        for text, number in zip(row[1:5], numbers, strict=True):
            assert text == "–" if number is None else float(plain(text)) == pytest.approx(number, rel=0.06)
    assert rows[0][5] == "✓ kept"
    assert rows[1][5] == ("✓ kept" if place < step.kept else "✕ rejected")
    born = page.inner_text(".sy-life .lv-born")
    assert "drafted by the bottom model" in born
    assert f"token {check.position + 1} of the text" in born
    go(visitor, "stack", 1)
    page.locator(".hp-tier[data-level='1'] .hp-tier-token").nth(place).click()
    assert page.locator(".sy-life tbody tr").count() == 1, "what comes later is not told yet"
    assert page.inner_text(".sy-life .lv-end") == "Its next test is still to come."


def plain(text: str) -> str:
    """ "3.3·10⁻⁴" as Python reads it."""
    return text.replace("·10", "e").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹−", "-0123456789-"))


@pytest.mark.recorded
def test_the_layers_that_are_lit_are_the_work_of_the_event(visitors):
    visitor = visitors()
    trace = trace_of(open_panel(visitor, "hispec", show="hispec-trained", at="0"))
    moments = [(step, work) for step in trace.steps[:2] for work in [*(e.work for e in step.events), step.work]]
    go(visitor, "hispec", 0)
    lit = (
        "() => { const all = (css) => document.querySelectorAll(`#sy-panel-hispec .hp-tiers ${css}`);"
        "return [all('.hs-cell.is-lit').length, all('.hs-head.is-lit').length, "
        "[...all('.hs-row[data-layer]')].filter((row) => row.querySelector('.is-lit')).length]; }"
    )
    for at, (_, work) in enumerate(moments):
        shown(visitor, "hispec", f"run.at === {at}")
        computed, heads, layers = visitor.page.evaluate(lit)
        assert (computed, heads) == (work.computed, work.heads)
        assert layers <= work.layers
        assert work.layers % layers == 0, "a draft goes through its layers once for every token"
        visitor.page.keyboard.press("ArrowRight")
    lengths = visitor.page.locator("#sy-panel-hispec .hs-cached").all_inner_texts()
    cached = [int(text.split("=")[1].split()[0]) for text in lengths]  # the deepest first
    assert cached == sorted(cached)


COMPUTED = """async (trace) => {
  const { workOf, groupsOf } = await import(
    new URL("systems/hispec/work.js", document.querySelector("script[type=module]").src)
  );
  const groups = groupsOf(trace.setup.options.levels.exits, 8);
  const size = ([from, to], i) => (to - from) * (groups[i][1] - groups[i][0] + 1);
  const layers = (read) => read.map(size).reduce((sum, x) => sum + x, 0);
  const work = (step) => workOf(step, groups.length).map(({read, heads}) => [layers(read), heads[1] - heads[0]]);
  return trace.steps.map(work);
}"""


@pytest.mark.recorded
def test_the_drawn_work_is_the_traces_for_all_exits_and_at_the_end_of_a_text(visitors):
    visitor = visitors()
    open_panel(visitor, "hispec")
    question = "Question: Mia has 4 red balls and 3 blue balls. How many balls does she have in all?\nAnswer:"
    options = {"thresholds": (5, 3), "exits": (2, 6), "temperature": 0.9, "seed": 1, "rule": "tokenwise"}
    ended = hsd.run(hsd.load_pair("tiny"), question, system="hispec", **options)
    drafts = [event for event in ended.steps[-1].events if event.kind == "draft"]
    assert any(event.work.calls > len(event.committed) for event in drafts), "a draft went on after the end of a text"
    names = [name for name, preset in PRESETS.items() if preset.options.get("system") == "hispec"]
    for trace in [ended, *map(recorded.trace_of, names)]:
        told = visitor.page.evaluate(COMPUTED, trace.model_dump(mode="json"))
        work = [[*(event.work for event in step.events), step.work] for step in trace.steps]
        assert told == [[[w.computed, w.heads] for w in step] for step in work]


@pytest.mark.recorded
def test_what_hispec_costs_is_counted_from_the_trace(visitors):
    visitor = visitors()
    told = open_panel(visitor, "hispec", show="hispec-trained", at="0")
    trace, head = trace_of(told), head_cost(hsd.load_pair("tiny").target)
    visitor.page.locator("#sy-panel-hispec .sy-levels").focus()
    visitor.page.keyboard.press("End")
    shown(visitor, "hispec", f"run.at === {told['moments'] - 1}")
    work = [part for step in trace.steps for part in (*step.below, step.work)]
    wanted = {
        "work": sum(w.computed + w.heads * head for w in work),
        "passes": sum(w.layers + w.calls * head for w in work),
        "plain": len(trace.tokens) * (8 + head),
    }
    page = visitor.page
    for name, number in wanted.items():
        assert float(page.inner_text(f"[data-cost='{name}'] .hs-bar-sum")) == pytest.approx(number, rel=1e-3)
    assert f"{wanted['work'] / wanted['plain']:.3g} times as much as plain" in page.inner_text(".hs-cost-said")
    assert f"costs {head:.3g} layers" in page.inner_text(".hs-head-said")
    checks = [event for step in trace.steps for event in step.events if event.kind == "verify"]
    kept, tested = sum(e.kept for e in checks), sum(len(e.tested) for e in checks)
    assert f"{kept} of {tested}" in page.inner_text("[data-agreement='0']")
    page.click("[data-value='hispec-untrained']")
    shown(visitor, "hispec", "run.preset === 'hispec-untrained'")
    assert "trained to predict after layer 1 and 3" in page.inner_text("#sy-panel-hispec .lv-notes")


def test_a_run_of_ones_own_streams_and_its_link_brings_it_back(visitors):
    visitor = visitors()
    open_panel(visitor, "stack")
    page = visitor.page
    page.fill("#sy-panel-stack [data-field='thresholds1'] .hp-field", "4")
    page.fill("#sy-panel-stack [data-field='max_new_tokens'] .hp-field", "96")
    page.evaluate(
        "() => { window.seen = new Set(); let told = window.__hsdSystems; "
        "Object.defineProperty(window, '__hsdSystems', { get: () => told, set: (now) => { "
        "told = now; const run = told.stackRun;"
        "if (run.state === 'running' && run.preset === null) seen.add(run.trace.steps.length); } }); }"
    )
    page.click("#sy-panel-stack .sy-run")
    told = shown(visitor, "stack", "run.state === 'done'")
    assert page.evaluate("[...seen]"), "it is drawn while it goes on"
    trace = trace_of(told)
    assert (trace.setup.options.levels.thresholds, told["preset"]) == ([3, 4], None)
    pair = hsd.load_pair("tiny")
    options = {"stack": (0, 1, 2), "thresholds": (3, 4), "temperature": 0.7, "seed": 3, "max_new_tokens": 96}
    assert hsd.run(pair, trace.prompt.text, system="stack", **options).tokens == trace.tokens
    go(visitor, "stack", 2)
    visitor.until("location.search.includes('at=2')")
    query = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    other = visitors()
    query.pop("plan", None)
    open_panel(other, **{key: value for key, value in query.items() if key != "tab"})
    again = shown(other, "stack", "run.state === 'done' && run.at === 2")
    assert trace_of(again).tokens == trace.tokens


def test_a_run_that_another_panel_ends_says_so(visitors):
    visitor = visitors()
    open_panel(visitor, "hispec")
    page = visitor.page
    page.fill("#sy-panel-hispec [data-field='exits0'] .hp-field", "4")
    page.fill("#sy-panel-hispec [data-field='exits1'] .hp-field", "2")
    page.get_by_role("tab", name="Model stack").click()
    shown(visitor, "stack", "run.trace")
    page.fill("#sy-panel-stack [data-field='max_new_tokens'] .hp-field", "256")
    page.click("#sy-panel-stack .sy-run")
    shown(visitor, "stack", "run.state === 'running' && run.trace.steps.length")
    page.evaluate("document.querySelector('#sy-panel-hispec .sy-run').click()")  # at once, before the first run ends
    page.get_by_role("tab", name="HiSpec").click()
    told = shown(visitor, "hispec", "run.state === 'failed'")
    assert told["problem"] == "exits 4, 2: choose them from shallow to deep, 1 to 8"
    assert told["preset"] == "hispec-trained"
    page.get_by_role("tab", name="Model stack").click()
    page.locator("#sy-panel-stack .sy-status", has_text="ended, because another run was begun").wait_for()
    assert shown(visitor, "stack", "run.trace")["preset"] is None, "what was decoded stays"


def test_bad_thresholds_get_one_line_and_nothing_is_lost(visitors):
    visitor = visitors()
    told = open_panel(visitor, "stack")
    page = visitor.page
    field = page.locator("#sy-panel-stack [data-field='thresholds1'] .hp-field")
    for typed, words in [("many", "Threshold many: choose"), ("", "Threshold is empty"), ("99", "Threshold 99")]:
        field.fill(typed)
        page.click("#sy-panel-stack .sy-run")
        visitor.until(
            f"document.querySelector('#sy-panel-stack .sy-runs .hp-problem').textContent.includes({json.dumps(words)})"
        )
        assert page.locator("#sy-panel-stack .sy-runs .hp-problem").inner_text().count("\n") == 0
    after = shown(visitor, "stack", "run.state === 'failed'")
    assert (after["trace"], after["at"], after["preset"]) == (told["trace"], told["at"], told["preset"])
    hostile = {"run": urlencode({"prompt": "<img src=x onerror=window.hacked=1>", "thresholds": "<b>"}), "at": "1"}
    visitor = visitors()
    told = open_panel(visitor, "stack", **hostile)
    assert told["preset"] == "stack-three", "a recorded run is shown where the link's cannot be"
    assert "Threshold <b>" in visitor.page.inner_text("#sy-panel-stack .sy-runs .hp-problem")
    assert not visitor.page.evaluate("window.hacked")


@pytest.mark.recorded
def test_on_a_phone_the_lanes_scroll_and_the_page_does_not(visitors):
    visitor = visitors(width=390)
    open_panel(visitor, "hispec", __theme="dark")
    for selector in (
        ".hp-tier",
        ".hp-tier-token",
        ".hs-cell",
        ".hs-head",
        *([] if visitor.files else [".sy-run"]),
        ".hp-play",
        "[data-cost]",
        ".sy-life table",
    ):
        assert visitor.page.locator(f"#sy-panel-hispec {selector}").first.is_visible()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.page.get_by_role("tab", name="Model stack").click()
    shown(visitor, "stack", "run.trace")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.page.locator(".lv-totals tbody tr").count() == 3
