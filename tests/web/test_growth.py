"""A tree of drafts on the stage: how it grew and was cut, what the target sees of it, what it is
worth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from engine import Engine
from player_page import Stage, word_trace

import hsd
from hsd import Trace
from hsd.paths import TRACES as FOLDER
from hsd.trace import Step

CHOSEN, GREEDY, SAMPLED = RECORDED = ["eagle-chosen", "eagle-greedy", "eagle-sampled"]
TRACES = {name: Trace.from_file(FOLDER / f"{name}.json") for name in RECORDED}
WIDE = {
    "rule": "one-hot",
    "tree": "grown",
    "drafts": 8,
    "gamma": 6,
    "nodes": 80,
    "max_new_tokens": 24,
}


def dumped(trace: Trace) -> dict:
    return json.loads(trace.to_json())


def line(step: Step, node: int) -> list[int]:
    """The nodes from the root's child down to `node`."""
    return [*line(step, step.nodes[node - 1].parent), node] if node else []


def reach(step: Step, node: int) -> float:
    """The target's probability of the whole path to a node."""
    product = 1.0
    for one in line(step, node):
        product *= step.nodes[one - 1].p
    return product


# ---- the arithmetic, in the engine


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    names = ("model", "growth", "layout", "phases")
    engine = Engine({name: f"step/{name}.js" for name in names})
    yield engine
    engine.stop()


PHASES = "phases.plan(view).phases"
# what is said of each moment in which the tree grows: the sentence's name and its facts
MOMENTS = f"""Array.from(
  {{length: {PHASES}.find(({{name}}) => name === "grow").beats}},
  (_, i) => growth.beats.grow(view, i),
)"""


def of_steps(engine: Engine, trace: dict, expression: str) -> list:
    """An expression in `view`, a step as the page reads it, for every step with a tree; None for
    all others.
    """
    views = "trace.steps.map((_, i) => model.readStep(trace, i))"
    return engine.call(
        f"(trace) => {views}.map((view) => (growth.shows(view) ? {expression} : null))", trace
    )


@pytest.mark.parametrize("name", RECORDED)
def test_the_sum_over_all_paths_is_what_the_rule_for_chosen_trees_keeps_on_average(
    engine: Engine, name: str
):
    """That average is worked out from the rule's own tests, over all coins."""
    told = of_steps(engine, dumped(TRACES[name]), "model.worth(view)")
    for step, sums in zip(TRACES[name].steps, told, strict=True):
        if not step.nodes:
            continue
        for depth, found in enumerate(sums, start=1):
            here = [node.id for node in step.nodes if len(line(step, node.id)) == depth]
            assert found == pytest.approx(sum(reach(step, id) for id in here), abs=1e-9)
        assert sum(sums) == pytest.approx(step.expected_kept["one-hot"], abs=1e-5)


@pytest.mark.parametrize("name", RECORDED)
def test_the_moments_of_a_step_are_its_levels_the_cut_the_pass_and_every_test(
    engine: Engine, name: str
):
    kinds = f"[{MOMENTS}.map(([said]) => said), {PHASES}.map(({{name, beats}}) => [name, beats])]"
    for step, told in zip(
        TRACES[name].steps, of_steps(engine, dumped(TRACES[name]), kinds), strict=True
    ):
        if not step.nodes:
            continue
        moments, phases = told
        levels = max(one.level for one in step.growth) if step.growth else step.depth
        every = ["beat_propose", "beat_expand"] * levels
        assert moments == ["beat_know", *(every[:-1] if step.growth else every[::2])]
        names = [name for name, _ in phases]
        assert names[0] == "grow"
        assert dict(phases)["grow"] == len(moments)
        assert ("rerank" in names) == bool(step.growth)
        assert ("masses" in names) == (name == SAMPLED), "of a chosen tree nothing was drawn"
        assert dict(phases)["own"] == len(step.verdict.decisions)
        assert names[-1] == "commit"


def test_of_a_mixed_tree_masses_count_and_every_level_says_that_one_of_a_group_was_drawn(
    engine: Engine,
):
    options = {
        "rule": "top-down",
        "tree": "mixed",
        "drafts": 2,
        "gamma": 2,
        "nodes": 5,
        "max_new_tokens": 6,
    }
    trace = hsd.run(hsd.load_pair("tiny"), "Once upon", **options)
    facts_of = f"{MOMENTS}.map(([, {{mixed, chosen}}]) => [mixed, chosen])"
    told = of_steps(engine, dumped(trace), f"[{PHASES}.map(({{name}}) => name), {facts_of}]")
    for found in filter(None, told):
        names, facts = found
        assert {"grow", "rerank", "masses"} <= set(names)
        assert all(one == [True, False] for one in facts)


def test_a_tree_recorded_before_growth_was_has_its_tokens_as_candidates(engine: Engine):
    trace = dumped(TRACES[CHOSEN])
    for step in trace["steps"]:
        step["growth"] = []
    told = of_steps(engine, trace, "[growth.isCut(view), growth.candidates(view)]")
    for step, found in zip(trace["steps"], told, strict=True):
        if found is None:
            continue
        cut, candidates = found
        assert not cut
        assert [one["node"] for one in candidates] == [node["id"] for node in step["nodes"]]
        joint = {0: 1.0}
        for one, node in zip(candidates, step["nodes"], strict=True):
            joint[node["id"]] = joint[node["parent"]] * node["q"]
            assert one["joint"] == pytest.approx(joint[node["id"]])


def test_no_two_boxes_lie_on_each_other_and_only_dropped_ones_are_left_out(engine: Engine):
    wide = hsd.run(
        hsd.load_pair("tiny"),
        "Once",
        tree="grown",
        drafts=8,
        gamma=3,
        rule="one-hot",
        max_new_tokens=8,
    )
    left_out = 0
    for trace in (wide, *TRACES.values()):
        told = of_steps(
            engine, dumped(trace), "{...layout.layout(view, 0), view: 0, shown: 0, free: 0}"
        )
        for step, plan in zip(trace.steps, told, strict=True):
            if plan is None:
                continue
            boxes = plan["boxes"]
            assert len({(box["row"], box["column"]) for box in boxes}) == len(boxes)
            assert {node.id for node in step.nodes} == {
                box["id"] for box in boxes if box["kind"] == "draft"
            }
            dropped = [box for box in boxes if box["kind"] == "dropped"]
            if not step.growth:
                assert plan["cut"] is None
                continue
            assert plan["cut"]["dropped"] == len(step.growth) - len(step.nodes)
            assert plan["cut"]["drawn"] == len(dropped)
            assert {box["from"] for box in dropped} <= {box["key"] for box in boxes}
            left_out += plan["cut"]["dropped"] - len(dropped)
    assert left_out


# ---- the stage


def shown(stage: Stage, css: str) -> int:
    return stage.page.locator(f".hp-tree {css}:not(.is-later)").count()


def forward(stage: Stage) -> str:
    stage.page.keyboard.press("ArrowRight")
    return f"{stage.text('.hp-lead')} {stage.text('.hp-detail')}"


def unfold(stage: Stage) -> None:
    stage.page.evaluate("document.querySelector('.hp-maskcard').open = true")
    stage.page.locator(".hp-maskrow").first.wait_for()


@pytest.mark.core
@pytest.mark.recorded
def test_the_tree_grows_level_by_level_is_cut_and_judged(stage: Stage) -> None:
    trace = TRACES[CHOSEN]
    step = trace.steps[0]
    levels = max(one.level for one in step.growth)
    stage.load(dumped(trace))
    unfold(stage)
    stage.page.evaluate("document.querySelector('#one').focus()")
    stage.page.locator(".hp-scrub").fill("0")
    stage.page.evaluate("document.querySelector('#one').focus()")
    assert "layers 4, 16 and 28" in stage.text(".hp-detail")
    assert shown(stage, ".hp-node:is(.is-draft, [data-verdict=dropped])") == 0
    drafted = {
        level: sum(one.level == level and one.node is not None for one in step.growth)
        for level in range(1, 6)
    }
    for level in range(1, levels + 1):
        assert forward(stage).startswith(f"Level {level}: ")
        assert shown(stage, ".hp-node.is-draft") == sum(drafted[one] for one in range(1, level + 1))
        if level < levels:
            read = sum(one.read for one in step.growth if one.level == level)
            many = sum(one.level == level for one in step.growth)
            said = (
                f"All {many} are expanded"
                if read == many
                else f"The {read} surest of the {many} are expanded"
            )
            assert forward(stage).startswith(said)
            assert shown(stage, ".hp-expanded") > 0
    assert stage.page.locator(".hp-node.is-dropped").count() == 0
    assert f"of all {len(step.growth)} candidates the {len(step.nodes)} surest stay" in forward(
        stage
    )
    dropped = stage.page.locator(".hp-node.is-dropped").count()
    assert (
        f"{dropped} of {len(step.growth) - len(step.nodes)} dropped candidates are drawn"
        in stage.text(".hp-left-out")
    )
    assert stage.page.locator(".hp-mask.is-read").count() == 0
    assert f"all {len(step.nodes)} drafted tokens in one pass" in forward(stage)
    assert stage.page.locator(".hp-mask.is-read").count() == 1
    for number, decision in enumerate(step.verdict.decisions, start=1):
        assert ("✓ passes" if decision.accepted else "✕ fails") in forward(stage)
        assert shown(stage, ".hp-badge") == number
        made = step.verdict.decisions[:number]
        assert shown(stage, ".hp-node.is-rejected") == sum(not one.accepted for one in made)
    assert shown(stage, ".hp-node.is-drawn") == 0
    assert f"Kept {step.kept} of at most {trace.setup.options.draft.gamma}" in forward(stage)
    assert shown(stage, ".hp-node.is-draft.is-kept") == step.kept
    assert shown(stage, ".hp-node.is-drawn") == 1
    stays = stage.each(".hp-cache .is-kept", "Number(e.dataset.column)")
    last = [d.node for d in step.verdict.decisions if d.accepted][-1:] or [0]
    assert stays == [0, *line(step, last[0])]
    again = stage.text("[data-says='tree_again']")
    assert f"{len(step.nodes) - step.kept} rows of the target’s cache are dropped" in again
    assert f"reads the {len(step.committed)} new tokens again" in again
    stage.page.keyboard.press("ArrowLeft")
    assert shown(stage, ".hp-node.is-drawn") == 0


@pytest.mark.parametrize("name", RECORDED)
def test_a_row_of_the_mask_is_the_path_of_its_token(stage: Stage, name: str) -> None:
    trace = TRACES[name]
    stage.load(dumped(trace))
    unfold(stage)
    for index, step in enumerate(trace.steps[:4]):
        stage.go(index)
        assert_mask_is(stage, step)
    deepest = max((node.id for node in step.nodes), key=lambda id: len(line(step, id)))
    stage.page.hover(f".hp-maskrow[data-node='{deepest}'] .hp-token")
    assert stage.page.locator(f".hp-node.is-linked[data-node='{deepest}']").count() == 1
    stage.page.click(f".hp-maskrow[data-node='{deepest}'] .hp-token")
    assert stage.state()["node"] == deepest
    assert stage.each(".hp-maskrow[aria-pressed='true']", "Number(e.dataset.node)") == [deepest]


def assert_mask_is(stage: Stage, step: Step) -> None:
    """A token sees its path and shares its position with its siblings."""
    rows = stage.each(
        ".hp-maskrow",
        "[e.dataset.sees, e.querySelectorAll('.hp-sees:not(.is-text)').length, "
        "e.querySelector('.is-position').textContent, e.querySelector('.is-p').textContent]",
    )
    assert len(rows) == len(step.nodes) + 1
    for id, (sees, squares, position, shown_reach) in enumerate(rows):
        wanted = [0, *line(step, id)]
        assert sees.split() == [str(one) for one in wanted]
        assert squares == len(wanted)
        assert int(position) == step.context_length - 2 + len(wanted)
        if id and not shown_reach.startswith(("<", ">")):
            assert float(shown_reach) == pytest.approx(reach(step, id), abs=0.006)


@pytest.mark.recorded
def test_only_of_a_chosen_tree_the_paths_add_up_to_what_a_rule_keeps(stage: Stage) -> None:
    for name in (CHOSEN, SAMPLED):
        trace = TRACES[name]
        step = trace.steps[0]
        stage.load(dumped(trace))
        unfold(stage)
        said = stage.text("[data-says='tree_worth']")
        levels = step.depth if name == CHOSEN else 0
        assert stage.page.locator(".hp-worth .hp-expect").count() == levels
        if name == SAMPLED:
            assert said == ""
            continue
        whole = sum(reach(step, node.id) for node in step.nodes)
        assert f"add up to {float(f'{whole:.3g}'):g} tokens: so many are kept" in said
        assert "one-hot" in step.expected_kept


def test_a_large_tree_scrolls_inside_its_card_on_a_phone(chromium) -> None:
    stage = Stage(chromium, width=390)
    trace = word_trace(**WIDE, seed=3)
    assert len(trace["steps"][0]["nodes"]) > 60
    stage.load(trace)
    unfold(stage)
    for beat in ("0", "3", "8", "20"):
        stage.page.locator(".hp-scrub").fill(beat)
        assert stage.page.evaluate("document.documentElement.scrollWidth") <= 390
    for box in (".hp-treebox", ".hp-maskcard .hp-scroll"):
        height, inner = stage.page.evaluate(
            "css => { const e = document.querySelector(css); return [e.clientHeight, "
            "e.scrollHeight]; }",
            box,
        )
        assert height < 900 < inner
    assert (
        stage.page.locator(".hp-maskrow").count()
        == stage.page.locator(".hp-node.is-draft").count() + 1
    )
    stage.close()


def test_tokens_of_a_tree_are_text_and_an_old_trace_says_what_it_lacks(stage: Stage) -> None:
    old = dumped(TRACES[CHOSEN])
    hostile = "<img src=x onerror=window.hacked=1>"
    for step in old["steps"]:
        step["growth"] = []
        for node in step["nodes"][:1]:
            node["piece"] = hostile
    for model in old["setup"]["models"]:
        model["taps"] = []
    stage.load(old)
    unfold(stage)
    assert "older than the recording of growth" in stage.text("[data-says='tree_worth']")
    stage.page.locator(".hp-scrub").fill("0")
    assert stage.text(".hp-lead").startswith("Level 1: the draft model proposes")
    assert "<img" in stage.text(".hp-detail")
    assert stage.page.evaluate("window.hacked") is None
    assert stage.page.locator("#one img").count() == 0
