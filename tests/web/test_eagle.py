"""The panel of EAGLE-3 trees on the Systems screen: what it draws and adds up is what the traces hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from engine import Engine
from web_page import Guest, address, answer, show

import hsd
from hsd import Trace
from hsd.app.systems import recorded
from hsd.trace import Step

TREES = {"grown", "distinct-comb"}
PRESETS = {name: one for name, one in recorded.presets().items() if one.options.get("tree") in TREES}
TRACES = {name: recorded.trace_of(name) for name in PRESETS}
CHOSEN, SAMPLED = "eagle-chosen", "eagle-sampled"
PANEL = "#sy-panel-eagle"
TINY = {"pair": "tiny", "prompt": "Once upon a time", "max_new_tokens": 16, "temperature": 0.7, "seed": 2, "gamma": 3}
GROWN = {**TINY, "tree": "grown", "drafts": 3, "nodes": 8, "rule": "one-hot"}


def is_chosen(trace: Trace) -> bool:
    return trace.setup.options.draft.tree == "grown"


def line(step: Step, node: int) -> list[int]:
    """The nodes from the root's child down to `node`."""
    found: list[int] = []
    while node:
        found.insert(0, node)
        node = step.nodes[node - 1].parent
    return found


def reach(step: Step, node: int) -> float:
    """The target's probability of the whole path to a node."""
    product = 1.0
    for one in line(step, node):
        product *= step.nodes[one - 1].p
    return product


def all_reach(step: Step) -> float:
    return sum(reach(step, node.id) for node in step.nodes)


# ---- the arithmetic, in the engine


@pytest.fixture(scope="module")
def model() -> Iterator[Engine]:
    engine = Engine({"model": "systems/eagle/model.js", "layout": "systems/eagle/layout.js"})
    yield engine
    engine.stop()


def of_steps(model: Engine, trace: Trace, expression: str) -> list:
    """An expression in `tree`, what the page makes of a step, for every step of a run."""
    each = (
        f"(steps, chosen) => steps.map((step) => {{ const tree = model.treeOf(step, chosen); return {expression}; }})"
    )
    return model.call(each, dumped(trace), is_chosen(trace))


def dumped(trace: Trace) -> list[dict]:
    return trace.model_dump(mode="json")["steps"]


@pytest.mark.parametrize("name", PRESETS)
def test_a_node_sees_its_ancestors_and_shares_its_position_with_its_siblings(model: Engine, name: str):
    trace = TRACES[name]
    told = of_steps(model, trace, "tree.nodes.map((n) => [n.sees, n.position])")
    for step, nodes in zip(trace.steps, told, strict=True):
        wanted = [[[0, *line(step, id)], step.context_length - 1 + len(line(step, id))] for id in range(len(nodes))]
        assert nodes == wanted


@pytest.mark.parametrize("name", PRESETS)
def test_the_sum_over_all_paths_is_what_the_rule_for_chosen_trees_keeps_on_average(model: Engine, name: str):
    """That average is worked out from the rule's own tests, over all coins."""
    trace = TRACES[name]
    sums = of_steps(model, trace, "model.worth(tree).sum")
    for step, found in zip(trace.steps, sums, strict=True):
        assert found == pytest.approx(all_reach(step), abs=1e-9)
        if step.nodes:
            assert found == pytest.approx(step.expected_kept["one-hot"], abs=1e-5)


@pytest.mark.parametrize("name", PRESETS)
def test_the_moments_of_a_step_are_its_levels_the_cut_the_pass_and_every_test(model: Engine, name: str):
    trace = TRACES[name]
    told = of_steps(model, trace, "tree.moments.map(({kind}) => kind)")
    for step, kinds in zip(trace.steps, told, strict=True):
        if not step.nodes:
            assert kinds == ["keep"]
            continue
        levels = max(one.level for one in step.growth) if step.growth else step.depth
        growth = [*(["propose", "expand"] * levels)[:-1], "rerank"] if step.growth else ["propose"] * levels
        assert kinds == ["know", *growth, "read", *["test"] * len(step.verdict.decisions), "keep"]


def test_a_tree_recorded_before_growth_was_has_its_kept_nodes_as_candidates(model: Engine):
    step = {**dumped(TRACES[CHOSEN])[0], "growth": []}
    told = model.call("(step) => model.treeOf(step, true)", step)
    assert not told["told"]
    assert [one["node"] for one in told["candidates"]] == [node["id"] for node in step["nodes"]]
    joint = {0: 1.0}
    for one, node in zip(told["candidates"], step["nodes"], strict=True):
        joint[node["id"]] = joint[node["parent"]] * node["q"]
        assert one["joint"] == pytest.approx(joint[node["id"]])


def test_no_two_boxes_lie_on_each_other_and_only_dropped_ones_are_left_out(model: Engine):
    wide = hsd.run(hsd.load_pair("tiny"), "Once", tree="grown", drafts=8, gamma=3, rule="one-hot", max_new_tokens=8)
    for trace in (wide, *TRACES.values()):
        plans = model.call(
            "(steps, chosen) => steps.map((step) => { const plan = layout.layout(model.treeOf(step, chosen));"
            "return {...plan, place: [...plan.place]}; })",
            dumped(trace),
            is_chosen(trace),
        )
        for step, plan in zip(trace.steps, plans, strict=True):
            places = [(place["x"], place["y"]) for _, place in plan["place"]]
            assert len(set(places)) == len(places)
            assert all(abs(a[1] - b[1]) >= 32 for a in places for b in places if a[0] == b[0] and a != b)
            assert all(x < plan["width"] and y + 32 < plan["height"] for x, y in places)
            drawn = {box["node"] for box in plan["boxes"]}
            assert {node.id for node in step.nodes} <= drawn
            hidden = sum(more["count"] for more in plan["more"])
            assert len(plan["boxes"]) + hidden == len(step.growth or step.nodes)
    assert any(more for plan in model.call(
        "(steps) => steps.map((step) => layout.layout(model.treeOf(step, true)).more)", dumped(wide)
    ) for more in plan)  # fmt: skip


# ---- the page


def open_eagle(visitor, **query: str) -> dict:
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "systems", "panel": "eagle", **query}))
    visitor.unfold()
    return shown(visitor, "run.trace")


def shown(visitor, condition: str) -> dict:
    """What the panel shows, once `condition` holds for it, as `run`."""
    visitor.until(f"(({{eagleRun: run}}) => run && ({condition}))(window.__hsdSystems || {{}})")
    return visitor.page.evaluate("window.__hsdSystems.eagleRun")


def trace_of(told: dict) -> Trace:
    return Trace.from_json(json.dumps(told["trace"]))


def boxes(page, css: str = "") -> int:
    return page.locator(f"{PANEL} .eg-box[data-candidate]{css}:not(.is-root)").count()


@pytest.mark.core
@pytest.mark.recorded
def test_the_tree_grows_level_by_level_is_cut_and_judged(visitors):
    visitor = visitors()
    page = visitor.page
    trace = trace_of(open_eagle(visitor, show=CHOSEN, at="0"))
    assert trace == TRACES[CHOSEN]
    step = trace.steps[0]
    levels = max(one.level for one in step.growth)
    assert "layers 4, 16 and 28" in page.inner_text(f"{PANEL} .lv-said")
    assert boxes(page, ".is-on") == 0
    page.locator(f"{PANEL} .sy-eagle").focus()
    at = count(1)

    def forward() -> str:
        page.keyboard.press("ArrowRight")
        shown(visitor, f"run.at === {next(at)}")
        return page.inner_text(f"{PANEL} .lv-said")

    for level in range(1, levels + 1):
        assert forward().startswith(f"Level {level}: ")
        assert boxes(page, ".is-on") == sum(one.level <= level for one in step.growth)
        if level < levels:
            read = sum(one.read for one in step.growth if one.level == level)
            assert forward().startswith(f"The {read} surest of the ")
            assert page.locator(f"{PANEL} .eg-arrow.is-on").count() == sum(
                one.read for one in step.growth if one.level <= level
            )
    assert boxes(page, ".is-dropped") == 0
    assert f"of all {len(step.growth)} candidates the {len(step.nodes)} surest stay" in forward()
    assert boxes(page, ".is-dropped") == len(step.growth) - len(step.nodes)
    assert page.locator(f"{PANEL} .eg-box .eg-reach.is-on").count() == 0
    assert f"all {len(step.nodes)} nodes in one pass" in forward()
    assert page.locator(f"{PANEL} .eg-box .eg-reach.is-on").count() == len(step.nodes)
    for number, decision in enumerate(step.verdict.decisions, start=1):
        assert forward().startswith(f"Test {number}: ")
        css = "is-passed" if decision.accepted else "is-rejected"
        assert boxes(page, f".{css}") == sum(d.accepted == decision.accepted for d in step.verdict.decisions[:number])
    assert page.locator(f"{PANEL} .eg-own.is-on").count() == 0
    assert f"The text grows by {len(step.committed)} token" in forward()
    assert boxes(page, ".is-kept") == step.kept
    assert page.locator(f"{PANEL} .eg-own.is-on").count() == 1
    stays = page.locator(f"{PANEL} .eg-cache g.is-kept").evaluate_all("all => all.map((one) => +one.dataset.column)")
    last = [d.node for d in step.verdict.decisions if d.accepted][-1:] or [0]
    assert stays == [0, *line(step, last[0])]
    assert page.locator(f"{PANEL} .eg-pairs li").count() == len(step.committed)
    page.keyboard.press("ArrowLeft")
    assert page.locator(f"{PANEL} .eg-own.is-on").count() == 0


@pytest.mark.recorded
def test_playing_shows_the_step_from_its_beginning(visitors):
    visitor = visitors()
    opened = open_eagle(visitor, show=CHOSEN)
    moment = opened["at"]
    assert visitor.page.locator(f"{PANEL} .eg-own.is-on").count() == 1, "a run opens at the end of a step"
    visitor.page.select_option(f"{PANEL} .hp-bar .hp-speed", "4")
    visitor.page.click(f"{PANEL} .hp-play")
    assert shown(visitor, f"run.at < {moment}")["at"] < moment
    visitor.until(f"document.querySelectorAll('{PANEL} .eg-box.is-on:not(.is-root)').length > 0")
    visitor.page.click(f"{PANEL} .hp-play")


@pytest.mark.parametrize("name", [CHOSEN, SAMPLED])
@pytest.mark.recorded
def test_a_row_of_the_mask_is_the_nodes_path_and_a_look_at_it_lights_all_of_it(visitors, name):
    visitor = visitors()
    page = visitor.page
    trace = trace_of(open_eagle(visitor, show=name))
    step = telling(page, trace)
    rows = page.locator(f"{PANEL} .eg-row").evaluate_all(
        "all => all.map((one) => [one.dataset.sees, one.querySelectorAll('.eg-cell:not(.is-text)').length, "
        "one.querySelectorAll('text')[2].textContent])"
    )
    for id, (sees, squares, position) in enumerate(rows):
        wanted = [0, *line(step, id)]
        assert sees.split() == [str(one) for one in wanted]
        assert squares == len(wanted)
        assert int(position) == step.context_length - 2 + len(wanted)
    deepest = max(range(len(rows)), key=lambda id: len(line(step, id)))
    page.hover(f"{PANEL} .eg-row[data-node='{deepest}'] .eg-hit")
    ids = "all => all.map((one) => +one.dataset.node)"
    assert page.locator(f"{PANEL} .eg-row.is-lit").evaluate_all(ids) == [deepest]
    assert page.locator(f"{PANEL} .eg-row.is-above").evaluate_all(ids) == [0, *line(step, deepest)[:-1]]
    assert page.locator(f"{PANEL} .eg-box.is-lit").count() == 1 + len(line(step, deepest))
    band, column = (
        page.locator(f"{PANEL} {css}").bounding_box() for css in (".eg-band.is-on", f"[data-column='{deepest}'] rect")
    )
    assert band["x"] <= column["x"]
    assert column["x"] + column["width"] <= band["x"] + band["width"] + 0.5
    assert f"node {deepest}, " in page.inner_text(f"{PANEL} .eg-about")
    page.mouse.move(0, 0)
    assert page.locator(f"{PANEL} .eg-box.is-lit").count() == 0


@pytest.mark.recorded
def test_the_switch_changes_the_tree_and_what_a_rule_can_gain(visitors):
    visitor = visitors()
    page = visitor.page
    trace = trace_of(open_eagle(visitor))
    step = telling(page, trace)
    bars = page.locator(f"{PANEL} [data-depth] .hs-bar-sum").all_inner_texts()
    by_depth = [
        sum(reach(step, n.id) for n in step.nodes if len(line(step, n.id)) == depth)
        for depth in range(1, len(bars) + 1)
    ]
    assert [text for text, sum in zip(bars, by_depth, strict=True) if sum < 0.001] == ["<.001"] * bars.count("<.001")
    seen = [(float(text), sum) for text, sum in zip(bars, by_depth, strict=True) if sum >= 0.001]
    assert [text for text, _ in seen] == pytest.approx([sum for _, sum in seen], rel=6e-3)
    said = page.inner_text(f"{PANEL} .eg-worth-said")
    assert f"= {float(f'{all_reach(step):.3g}'):g} tokens" in said
    assert "this rule reaches it" in said
    page.click(f"{PANEL} .eg-each summary")
    assert page.locator(f"{PANEL} .eg-nodes tbody tr").count() == len(step.nodes)
    page.click(f"{PANEL} [data-choice='tree'] [data-value='distinct-comb']")
    told = shown(visitor, f"run.preset === '{SAMPLED}'")
    step = telling(page, trace_of(told))
    rules = page.locator(f"{PANEL} [data-rule]").evaluate_all(
        "all => all.map((one) => [one.dataset.rule, one.querySelector('.hs-bar-sum').textContent])"
    )
    assert {name for name, _ in rules} == set(step.expected_kept) >= {"top-down", "traversal", "recursive-hsd"}
    for name, text in rules:
        assert float(text) == pytest.approx(step.expected_kept[name], rel=6e-3)
    assert page.locator(f"{PANEL} [data-rule] .is-own").count() == 1
    means = page.inner_text(f"{PANEL} .sy-eg-worth > p:last-child")
    told_of = [step for step in TRACES[SAMPLED].steps if step.expected_kept]
    mean = sum(step.expected_kept["traversal"] for step in told_of) / len(told_of)
    assert f"traversal {float(f'{mean:.3g}'):g}" in means
    page.click(f"{PANEL} [data-choice='tree'] [data-value='grown']")
    shown(visitor, f"run.preset === '{CHOSEN}'")


def telling(page, trace: Trace) -> Step:
    """The step that is shown, by the bar's words."""
    return trace.steps[int(page.inner_text(f"{PANEL} .hp-place").split("target call ")[1].split("/")[0]) - 1]


def test_a_run_of_ones_own_streams_turns_and_comes_back_by_its_link(visitors):
    visitor = visitors()
    page = visitor.page
    open_eagle(visitor, run=urlencode(GROWN))
    told = shown(visitor, "run.state === 'done'")
    wanted = hsd.run(hsd.load_pair("tiny"), TINY["prompt"], tree="grown", drafts=3, gamma=3, nodes=8, rule="one-hot",
                     max_new_tokens=16, temperature=0.7, seed=2)  # fmt: skip
    assert trace_of(told).tokens == wanted.tokens
    assert "names no taps" in page.inner_text(f"{PANEL} .eg-tapsbox")
    page.click(f"{PANEL} [data-choice='tree'] [data-value='distinct-comb']")
    told = shown(visitor, "run.state === 'done' && run.trace.setup.options.draft.tree === 'distinct-comb'")
    assert trace_of(told).setup.options.rule == "traversal"
    assert told["asked"]["prompt"] == TINY["prompt"]
    visitor.until("location.search.includes('distinct-comb')")
    query = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    other = visitors()
    open_eagle(other, run=query["run"], at="3")
    again = shown(other, "run.state === 'done' && run.at === 3")
    assert trace_of(again).tokens == trace_of(told).tokens


def test_bad_input_gets_one_line_and_what_was_shown_stays(visitors):
    visitor = visitors()
    page = visitor.page
    opened = open_eagle(visitor)
    page.select_option(f"{PANEL} [data-field='pair'] select", "tiny")
    for name, typed, words in [
        ("drafts", "0", "Drafts 0: choose"),
        ("gamma", "0", "γ 0: choose"),
        ("nodes", "3", "A tree of 3 nodes has no room for the 4 drafted tokens"),
        ("nodes", "500", "does not fit into the"),
    ]:
        field = page.locator(f"{PANEL} [data-field='{name}'] input.hp-field")
        before = field.input_value()
        field.fill(typed)
        if typed == "500":
            page.fill(f"{PANEL} [data-field='prompt'] textarea", "word " * 60)
        page.click(f"{PANEL} .sy-run")
        line_of = f"document.querySelector('{PANEL} .sy-runs .hp-problem').textContent"
        visitor.until(f"{line_of}.includes({json.dumps(words)})")
        assert "\n" not in page.inner_text(f"{PANEL} .sy-runs .hp-problem")
        field.fill(before)
    after = shown(visitor, "run.state === 'failed'")
    assert (after["trace"], after["at"], after["preset"]) == (opened["trace"], opened["at"], opened["preset"])


@pytest.mark.recorded
def test_with_reduced_motion_nothing_moves_and_on_a_phone_only_boxes_scroll(visitors):
    visitor = visitors(width=390, reduced_motion="reduce")
    open_eagle(visitor, __theme="dark")
    page = visitor.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    live = [] if visitor.files else [".sy-run"]
    for css in (*live, ".eg-taps", ".eg-tree", ".eg-mask", ".eg-worth", ".hp-play"):
        assert page.locator(f"{PANEL} {css}").first.is_visible()
    moves = f"getComputedStyle(document.querySelector('{PANEL} .eg-box')).transitionDuration"
    assert page.evaluate(moves) == "0s"
    other = visitors()
    open_eagle(other)
    assert other.page.evaluate(moves) != "0s"


# ---- traces of another time, in a page of the test's own

FRAME = """<!doctype html><html lang="en" data-answers="files"><head><meta charset="utf-8"><title>trees</title>
<link rel="stylesheet" href="kit/kit.css"><link rel="stylesheet" href="systems/systems.css"></head><body>
<div id="hsd-layout"><div id="one"></div></div><script type="module">
import { opened } from "./kit/page.js";
import { start } from "./systems/systems.js";
opened("systems");
start(document.getElementById("one"));
</script></body></html>"""


def test_an_old_trace_says_what_it_lacks_and_its_tokens_are_text(chromium):
    old = TRACES[CHOSEN].model_dump(mode="json")
    for step in old["steps"]:
        del step["growth"]
        step["expected_kept"] = {}
        for node in step["nodes"][:1]:
            node["piece"] = "<img src=x onerror=window.hacked=1>"
    for one in old["setup"]["models"]:
        del one["taps"], one["layers"]
    guest = Guest(chromium, address(), serious=())
    preset = {"name": "old", "title": "Old", "why": "It is old.", "asked": recorded.listed(PRESETS[CHOSEN])["asked"]}
    known = {"systems": {"keys": ["all"]}, "preset": {"keys": ["old"]}}
    content = {"recorded": [preset], "planner": {"presets": []}}
    answers = {"data/page.json": {"recorded": known}, "data/systems/all.json": content}
    answer(guest.page, {**answers, "data/preset/old.json": {**preset, "trace": old}})
    show(guest.page, FRAME, "?tab=systems&panel=eagle")
    guest.page.locator(".eg-tree .eg-box").first.wait_for()
    assert "older than the recording of growth" in guest.page.inner_text(".eg-untold")
    assert "names no taps" in guest.page.inner_text(".eg-tapsbox")
    assert "Σ p(path) = " in guest.page.text_content(".eg-worth-said")
    assert guest.page.locator(".eg-box:not(.is-root)").count() == len(old["steps"][0]["nodes"])
    assert not guest.page.evaluate("window.hacked")
    guest.close()
