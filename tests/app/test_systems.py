"""The Systems screen: its frame, and the planner of the model stack, whose every number is that of `hsd.planner`."""

from __future__ import annotations

import json
from itertools import pairwise, product
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from web_page import show

import hsd
from hsd import space
from hsd.errors import HsdError
from hsd.planner import LONGEST, Models, fluid_latency, latency, mean_yield, plan, shortest_path
from hsd.ui import systems
from hsd.ui.jobs import Jobs
from hsd.ui.systems import planner
from hsd.ui.systems.planner_presets import FILE, WORKED, measured, presets
from hsd.ui.systems.planner_ways import alternatives, best_of, described, graph, path_edges
from hsd.ui.systems.planner_words import in_words

PRESETS = {preset["name"]: preset for preset in presets()}
WRONG = {"costs": ["1", "4", "60"], "acceptance": [["0.9", "0.3"], ["0.9"]], "per_token": []}


def models_of(name: str) -> Models:
    return planner.read_models(question(PRESETS[name]))


def question(preset: dict) -> dict:
    return {"costs": preset["costs"], "acceptance": preset["acceptance"], "per_token": preset.get("per_token", [])}


def random_models(seed: int, count: int, further: bool = False) -> Models:
    """Models that ignore the context: their acceptances can all be true."""
    draw = np.random.default_rng(seed)
    laws = draw.dirichlet(np.ones(6), size=count) * 0.3 + draw.dirichlet(np.ones(6)) * 0.7
    rows = tuple(
        tuple(float(np.minimum(laws[i], laws[j]).sum()) for j in range(i + 1, count)) for i in range(count - 1)
    )
    costs = tuple(float(x) for x in np.sort(draw.uniform(0.1, 60, count)))
    return Models(costs, rows, tuple(x / 20 for x in costs) if further else ())


RANDOM = [random_models(seed, 2 + seed % 4, further=seed % 3 == 0) for seed in range(12)]


# ---- what the page is told, without a page


@pytest.mark.parametrize("models", [*map(models_of, PRESETS), *RANDOM])
def test_the_best_of_the_ways_compared_is_the_planners(models: Models):
    told, found = planner.planned(models), plan(models)
    best = told["alternatives"][told["best"]]
    assert (tuple(best["models"]), tuple(best["thresholds"])) == (found.best.models, found.best.thresholds)
    assert best["latency"] == pytest.approx(found.best.latency, rel=1e-12)
    singles = [way["latency"] for way in told["alternatives"] if len(way["models"]) == 2]
    assert min(singles) == told["single"] == pytest.approx(found.single.latency, rel=1e-12)
    assert told["plain"] == told["alternatives"][0]["latency"] == models.costs[-1]
    assert told["speedup"] == pytest.approx(models.costs[-1] / found.best.latency)


def test_a_stacks_thresholds_are_the_best_of_all():
    models, longest = models_of("skip"), 7
    for stack in [(0, 3), (0, 2, 3), (0, 1, 2, 3)]:
        all_ways = product(range(1, longest + 1), repeat=len(stack) - 1)
        brute = min(latency(models, stack, thresholds) for thresholds in all_ways)
        found = best_of(models, stack, longest)
        assert found.latency == pytest.approx(brute, rel=1e-12)
        assert latency(models, stack, found.thresholds) == pytest.approx(brute, rel=1e-12)


@pytest.mark.parametrize("models", RANDOM)
def test_the_levels_of_a_way_add_up_to_its_latency(models: Models):
    for way in alternatives(models):
        told = described(models, way)
        levels = told["levels"]
        assert sum(level["share"] for level in levels) == pytest.approx(1)
        for below, level in zip([None, *levels], levels, strict=False):
            assert level["cost"] == pytest.approx(level["passes"] * (level["pass"] + level["below"]))
            assert level["below"] == (below["cost"] if below else 0)
        assert levels[-1]["cost"] / levels[-1]["tokens"] == pytest.approx(way.latency)


@pytest.mark.parametrize("models", RANDOM)
def test_the_graphs_edges_give_the_shortest_path(models: Models):
    drawn, distance = graph(models), shortest_path(models).latency
    assert drawn["distance"] == list(distance)
    for model, d in enumerate(distance):
        mine = [edge for edge in drawn["edges"] if edge["from"] == model]
        assert {edge["to"] for edge in mine} == {None, *range(model)}
        assert min(edge["value"] for edge in mine) == pytest.approx(d)
        for edge in (one for one in mine if one["to"] is not None):
            tokens = mean_yield(models.kept(edge["to"], model), edge["threshold"])
            assert edge["cost"] == pytest.approx(models.pass_cost(model, edge["threshold"]) / tokens)
            assert edge["gain"] == pytest.approx(edge["threshold"] / tokens)
            assert edge["value"] == pytest.approx(edge["cost"] + edge["gain"] * distance[edge["to"]])
    for way in alternatives(models):
        assert path_edges(models, way)[0]["value"] == pytest.approx(
            fluid_latency(models, way.models, way.thresholds), rel=1e-12
        )


def test_a_curve_is_the_exact_latency_at_every_threshold():
    models = models_of("skip")
    told = planner.tried(models, (0, 2, 3), (7, 30))
    assert told["way"]["latency"] == latency(models, (0, 2, 3), (7, 30))
    assert told["curves"][0] == [latency(models, (0, 2, 3), (t, 30)) for t in range(1, LONGEST + 1)]
    assert told["curves"][1] == [latency(models, (0, 2, 3), (7, t)) for t in range(1, LONGEST + 1)]
    least = plan(models).best.latency
    assert f"{100 * (told['way']['latency'] / least - 1):.2g} % more" in told["sentence"]


def test_the_verdict_says_when_stacking_does_not_pay():
    def said(models: Models) -> str:
        return planner.planned(models)["verdict"]

    assert said(models_of("skip")).startswith("Best: M₀ (T = 5) → M₂ (T = 9) → target: 16.91 per token")
    assert "24.23" in said(models_of("skip"))
    assert said(models_of("single")).startswith(
        "Stacking does not pay here: a single draft is the fastest, M₀ (T = 11)"
    )
    assert said(models_of("all")).startswith("Best: M₀ (T = 3) → M₁ (T = 6) → M₂ (T = 12) → target")
    poor = Models((40.0, 50.0, 60.0), ((0.3, 0.3), (0.3,)))
    assert said(poor).startswith(
        "Stacking does not pay here: plain decoding, without any draft, is the fastest, 60 per"
    )
    assert said(Models((1.0, 60.0), ((0.8,),))).startswith("With one draft there is nothing to stack")


def test_the_bound_is_never_above_the_plan():
    for models in RANDOM:
        told = planner.planned(models)
        assert told["bound"] <= told["alternatives"][told["best"]]["latency"] * (1 + 1e-12)
        assert ("reaches that" in told["bound_sentence"]) or ("% above" in told["bound_sentence"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (WRONG, r"models 0, 1, 2: acceptances 0.9 \(0, 1\), 0.9 \(1, 2\) and 0.3 \(0, 2\) cannot all be true"),
        ({**WRONG, "costs": ["1", "", "60"]}, "a field is empty"),
        ({**WRONG, "costs": ["1", "much", "60"]}, "'much' is not a number"),
        ({**WRONG, "costs": ["1", "nan", "60"]}, "cost nan of model 1"),
        ({**WRONG, "costs": ["1", "-4", "60"]}, "cost -4 of model 1"),
        ({**WRONG, "acceptance": [["0.9", "1.3"], ["0.9"]]}, "acceptance 1.3 of models 0 and 2"),
        (
            {"costs": ["1", "1e300"], "acceptance": [["0.9"]], "per_token": []},
            r"cost 1e\+300 of model 1: choose at most",
        ),
        ({"costs": ["1"] * 6, "acceptance": [["0.9"]], "per_token": []}, "6 models: the page plans for at most 5"),
        ({"costs": ["1"] * 9999, "acceptance": [], "per_token": []}, "not understood: reload"),
        ({"costs": [1, 2], "acceptance": [["0.9"]], "per_token": []}, "not understood: reload"),
        ({"costs": ["1", "2"], "acceptance": "0.9"}, "not understood: reload"),
        (["1"], "not understood: reload"),
        (None, "not understood: reload"),
    ],
)
def test_bad_inputs_get_one_line(asked: object, words: str):
    with pytest.raises(HsdError, match=words) as told:
        planner.read_models(asked)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ({"stack": [0, 3], "thresholds": [0]}, "threshold 0: choose 1"),
        ({"stack": [0, 3], "thresholds": [41]}, "threshold 41: choose 1 to 40"),
        ({"stack": [3, 0], "thresholds": [4]}, "give model numbers from small to large"),
        ({"stack": [0, 3], "thresholds": ["4"]}, "not understood: reload"),
        ({"stack": [0, 3], "thresholds": [True]}, "not understood: reload"),
        ({"stack": None}, "not understood: reload"),
    ],
)
def test_bad_thresholds_get_one_line(way: dict, words: str):
    ask = {function.__name__: function for function in planner.functions()}["try_thresholds"]
    assert words in ask({**question(PRESETS["skip"]), **way})["error"]


def test_the_measured_preset_is_the_recorded_measurement():
    facts = json.loads(FILE.read_text())["measured"]
    shown = measured()
    for texts, numbers in [
        (shown["costs"], facts["costs"]),
        (shown["per_token"], facts["per_token"]),
        *zip(shown["acceptance"], facts["acceptance"], strict=True),
    ]:
        assert [float(text) for text in texts] == pytest.approx(numbers, rel=5e-3)
    assert facts["machine"]["processor"] in shown["note"]
    assert f"load {facts['machine']['load']:g}" in shown["note"]


def test_without_a_measurement_the_worked_inputs_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(HsdError, match="there is no measured plan: run `python -m hsd plan"):
        measured(tmp_path / "plan.json")
    (tmp_path / "plan.json").write_text('{"measured": 3}')
    with pytest.raises(HsdError, match="there is no measured plan"):
        measured(tmp_path / "plan.json")
    monkeypatch.setattr("hsd.ui.systems.planner_presets.measured", lambda: measured(tmp_path / "plan.json"))
    assert [preset["name"] for preset in presets()] == list(WORKED)


# ---- the page

browser = pytest.mark.browser


def open_systems(visitor, **query: str):
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "systems", **query}))
    settled(visitor)
    return visitor


def settled(visitor) -> dict:
    """What the planner shows, once it has heard from the server."""
    visitor.until("window.__hsdSystems && window.__hsdSystems.planner && !window.__hsdSystems.planner.busy")
    return visitor.page.evaluate("window.__hsdSystems.planner")


@pytest.fixture
def here(visitors):
    return open_systems(visitors())


def choose(visitor, preset: str) -> dict:
    visitor.page.click(f"[data-preset={preset}]")
    return settled(visitor)


def drag(visitor, selector: str, value: float) -> dict:
    visitor.page.locator(selector).evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')) }", value
    )
    return settled(visitor)


def four(x: float) -> str:
    return f"{float(f'{x:.4g}'):g}"


@browser
def test_the_page_shows_the_numbers_of_the_planner_for_the_worked_inputs(here):
    for name in [*WORKED, "measured"]:
        choose(here, name)
        models = models_of(name)
        ways, found = alternatives(models), plan(models)
        rows = here.page.locator(".sy-way").all()
        assert [row.locator(".sy-figure").first.inner_text() for row in rows] == [four(way.latency) for way in ways]
        assert here.page.inner_text(".sy-result .sy-lead") == planner.planned(models)["verdict"]
        best = here.page.locator(".sy-way.is-best")
        assert best.count() == 1
        assert best.get_attribute("aria-checked") == "true"
        assert in_words(found.best) in best.inner_text().replace("\n", " ")
        edges = here.page.locator(".sy-edge.is-path").evaluate_all("all => all.map((e) => e.dataset.edge)")
        stack = found.best.models
        assert set(edges) == {f"{stack[0]}-sink", *(f"{b}-{a}" for a, b in pairwise(stack))}
        count = len(models.costs)
        assert here.page.locator(".sy-edge").count() == count * (count - 1) // 2 + count
    assert "Stacking does not pay here" in here.page.inner_text(".sy-result .sy-lead")
    assert here.page.inner_text(".sy-note") == PRESETS["measured"]["note"]


@browser
def test_a_bar_is_as_long_as_its_latency_and_cut_into_the_models_shares(here):
    models = models_of("skip")
    ways = alternatives(models)
    widths = here.page.locator(".sy-bar").evaluate_all(
        "all => all.map((svg) => [...svg.querySelectorAll('g')].map((g) => "
        "g.querySelector('rect').getBoundingClientRect().width / svg.getBoundingClientRect().width))"
    )
    for way, parts in zip(ways, widths, strict=True):
        told = [level["share"] * way.latency / 60 for level in described(models, way)["levels"]]
        assert parts == pytest.approx(told, abs=2e-3)


@browser
def test_acceptances_that_cannot_be_are_named_and_the_last_plan_stays(here):
    page = here.page
    before = page.inner_text(".sy-result .sy-lead"), page.locator(".sy-way").count()
    page.fill("[data-pair='0-3'] .sy-field", "0.2")
    told = settled(here)
    line = page.inner_text(".sy-problem")
    assert line.startswith("Models 0, 1, 3: acceptances 0.8 (0, 1), 0.75 (1, 3) and 0.2 (0, 3) cannot all be true")
    assert told["message"]
    assert page.locator(".sy-card.is-stale").count() == 4
    assert (page.inner_text(".sy-result .sy-lead"), page.locator(".sy-way").count()) == before
    page.fill("[data-pair='0-3'] .sy-field", "")
    settled(here)
    assert page.inner_text(".sy-problem").startswith("A field is empty")
    page.fill("[data-pair='0-3'] .sy-field", "0,62")  # a decimal comma is a point
    settled(here)
    assert page.is_hidden(".sy-problem")
    assert page.locator(".sy-card.is-stale").count() == 0
    assert page.inner_text(".sy-result .sy-lead") == before[0]


@browser
def test_a_threshold_badly_chosen_costs_what_the_planner_says(here):
    models, best = models_of("skip"), plan(models_of("skip")).best
    told = drag(here, "[data-threshold='1'] .sy-slider", 30)
    now = latency(models, best.models, (best.thresholds[0], 30))
    assert told["way"]["latency"] == pytest.approx(now)
    said = here.page.inner_text(".sy-trial-said")
    assert four(now) in said
    assert f"{100 * (now / best.latency - 1):.2g} % more" in said
    assert "T = 30" in here.page.locator(".sy-edge.is-path").all_text_contents()[0]
    here.page.click(".sy-back")
    assert settled(here)["way"]["latency"] == pytest.approx(best.latency)


@browser
def test_an_edge_and_a_way_tell_their_formula_with_numbers(here):
    models = models_of("skip")
    here.page.locator("[data-edge='3-1'] text").first.click()
    edge = next(e for e in graph(models)["edges"] if (e["from"], e["to"]) == (3, 1))
    said = here.page.inner_text(".sy-formula")
    for name in ("yield", "cost", "gain", "price", "value"):
        assert four(edge[name]) in said
    here.page.locator("[data-way='2']").click()
    told = settled(here)
    assert told["way"]["models"] == [1, 3]
    said = here.page.inner_text(".sy-formula")
    for level in told["way"]["levels"]:
        assert four(level["cost"] if level["model"] < 3 else told["way"]["latency"]) in said


@browser
def test_models_are_added_and_removed_and_the_plan_follows(here):
    page = here.page
    page.click(".sy-add")
    told = settled(here)
    assert len(told["state"]["costs"]) == 5
    assert not told["message"]
    assert page.is_disabled(".sy-add")
    asked = {**told["state"], "per_token": told["state"]["perToken"]}
    assert (
        told["plan"]["alternatives"][told["plan"]["best"]]["latency"] == plan(planner.read_models(asked)).best.latency
    )
    for count in (4, 3, 2):
        page.get_by_role("button", name="remove M₀").click()
        told = settled(here)
        assert len(told["state"]["costs"]) == count
    assert told["state"]["costs"] == ["12", "60"]
    assert told["state"]["acceptance"] == [["0.90"]]
    assert page.get_by_role("button", name="remove M₀").is_disabled()
    assert "nothing to stack" in page.inner_text(".sy-result .sy-lead")


@browser
def test_everything_can_be_done_from_the_keyboard(here):
    page = here.page
    page.locator(".sy-way[tabindex='0']").focus()
    page.keyboard.press("Home")
    assert settled(here)["chosen"] == 0
    assert page.is_hidden(".sy-trial")
    page.keyboard.press("ArrowDown")
    here.until("window.__hsdSystems.planner.chosen === 1")
    settled(here)
    assert page.evaluate("document.activeElement.dataset.way") == "1"
    page.locator(".sy-edge[tabindex='0']").focus()
    page.keyboard.press("Home")
    first = page.evaluate("document.activeElement.dataset.edge")
    page.keyboard.press("Enter")
    assert settled(here)["edge"] == first
    assert page.evaluate("document.activeElement.dataset.edge") == first
    page.locator("[data-threshold='0'] .sy-slider").focus()
    page.keyboard.press("End")
    here.until("window.__hsdSystems.planner.way.thresholds[0] === 40")


@browser
def test_a_link_brings_back_the_panel_the_inputs_and_the_thresholds(here, visitors):
    choose(here, "measured")
    here.page.fill("[data-pair='0-1'] .sy-field", "0.7")
    settled(here)
    here.page.locator("[data-way='3']").click()
    settled(here)
    told = drag(here, "[data-threshold='0'] .sy-slider", 4)
    here.until("location.search.includes('_1_2*4_')")
    query = {name: values[0] for name, values in parse_qs(urlsplit(here.page.url).query).items()}
    assert (query["tab"], query["panel"]) == ("systems", "stack")
    assert len(query["plan"]) < 100
    again = settled(open_systems(visitors(), **query))
    assert again["way"] == told["way"]
    assert again["plan"] == told["plan"]
    assert again["chosen"] == told["chosen"]


@browser
def test_a_link_that_cannot_be_is_told_and_a_plan_is_shown_all_the_same(visitors):
    hostile = "1*1_<img src=x onerror=window.hacked=1>*0.8**0_1*4"
    visitor = open_systems(visitors(), panel="stack", plan=hostile)
    assert visitor.page.inner_text(".sy-problem").startswith("The plan in this link cannot be read")
    assert visitor.page.locator(".sy-way.is-best").count() == 1
    assert not visitor.page.evaluate("window.hacked")
    visitor = open_systems(visitors(), panel="stack", plan="1*1_4_60*0.9_0.3--0.9***")
    assert "cannot all be true" in visitor.page.inner_text(".sy-problem")
    assert visitor.page.is_hidden(".sy-result")
    choose(visitor, "skip")
    assert visitor.page.is_hidden(".sy-problem")
    assert visitor.page.is_visible(".sy-result")


@browser
def test_on_a_phone_nothing_is_missing_and_the_page_does_not_scroll_sideways(visitors):
    visitor = open_systems(visitors(width=390), __theme="dark")
    visitor.page.click(".sy-add")
    settled(visitor)
    for selector in (
        ".sy-cost .sy-slider",
        ".sy-cell .sy-slider",
        ".sy-way",
        ".sy-edge-line",
        ".sy-trial-row",
        ".sy-lines",
    ):
        assert visitor.page.locator(selector).first.is_visible()
    assert visitor.page.locator(".sy-cell").count() == 10
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390


# ---- the frame, with panels of the test's own

RUN = {"prompt": "Once upon a time", "length": 12, "temperature": 0.8, "seed": 5, "gamma": 3}
OWN = """
panel("own", {title: "Own", order: 9, draw: (root, tools) => { window.own = tools; }});
window.news = [];
window.begin = (asked) => { window.live = own.run(asked, (live) => news.push(live.state)); };"""


def with_panel(route) -> None:
    """The module of the panels, with one of the test's own."""
    response = route.fetch()
    route.fulfill(response=response, body=response.text() + OWN)


@browser
def test_a_panel_gets_its_run_piece_by_piece_and_a_new_one_ends_it(visitors):
    visitor = visitors()
    visitor.page.route("**/systems/panels.js", with_panel)
    visitor.page.goto(visitor.app.url + "?tab=systems&panel=own")
    visitor.until("window.own")
    visitor.page.evaluate("begin", {**RUN, "length": 256})
    visitor.until("live.steps.length > 2")
    visitor.page.evaluate("() => { window.first = live; }")
    visitor.page.evaluate("begin", RUN)
    visitor.until("live.state === 'done'")
    pair = hsd.load_pair("tiny")
    wanted = hsd.run(pair, RUN["prompt"], max_new_tokens=12, temperature=0.8, seed=5, gamma=3)
    told = visitor.page.evaluate("live.trace")
    assert [c["token"] for step in told["steps"] for c in step["committed"]] == wanted.tokens
    assert told["result"]["text"] == wanted.text
    assert visitor.page.evaluate("news.includes('running')")
    ended = visitor.page.evaluate("own.ask('read_run', {key: first.key, start: 0})")
    assert ended["state"] == "cancelled"
    visitor.page.evaluate("begin", {**RUN, "gamma": 999})
    visitor.until("live.state === 'failed'")
    assert "draft length γ 999: choose a whole number" in visitor.page.evaluate("live.message")


FRAME = """<!doctype html><html><head><meta charset="utf-8">
<link rel="stylesheet" href="systems/systems.css"></head><body>
<div id="hsd-layout"><div id="one"><div class="hsd-systems"></div></div></div><script type="module">
import {{ opened }} from "./frame.js";
import {{ panel, section }} from "./systems/panels.js";
import {{ start }} from "./systems/systems.js";
window.log = [];
window.openTab = opened;
opened("watch");
section("late", {{order: 5, draw: (root, tools) => {{
  log.push("draw late 5"); root.textContent = "below"; return {{link: () => ({{two: "2"}})}}; }}}});
panel("late", {{title: "Late", order: 9, sidebar: true, draw: (root, tools) => {{
  log.push("draw late 0"); root.textContent = "above"; window.lateTools = tools;
  return {{opened: () => log.push("opened"), closed: () => log.push("closed"), link: () => ({{one: "1"}})}}; }}}});
const server = {{plan_stack: async () => ({{error: "no"}}), fails: async () => {{ throw Error("gone"); }}}};
start(document.getElementById("one"), {props}, server, () => {{}}, () => {{}});
</script></body></html>"""


@pytest.fixture
def frame(chromium):
    """A page with the frame, the model stack, and one more panel called Late; called with a query, it opens."""
    page = chromium.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.open = lambda query: show(page, FRAME.format(props=json.dumps(planner.props())), query)
    yield page
    page.close()
    assert problems == []


@browser
def test_a_panel_is_drawn_when_it_is_first_seen_and_told_when_it_comes_and_goes(frame):
    frame.open("?tab=systems&panel=late&own=7")
    assert frame.evaluate("log") == []
    frame.evaluate("openTab('systems')")
    assert frame.evaluate("log") == ["draw late 0", "draw late 5", "opened"]
    assert frame.inner_text("#sy-panel-late").split() == ["above", "below"]
    assert frame.evaluate("lateTools.query.get('own')") == "7"
    assert frame.get_attribute("#hsd-layout", "data-sidebar") == "open"
    frame.get_by_role("tab", name="Model stack").click()
    frame.get_by_role("tab", name="Late").click()
    frame.evaluate("openTab('race')")
    assert frame.evaluate("log.slice(3)") == ["closed", "opened", "closed"]
    assert frame.evaluate("lateTools.ask('fails')") == {
        "error": "the server does not answer: check the connection, or reload the page"
    }


@browser
def test_the_row_of_panels_is_a_tab_list(frame):
    frame.open("?tab=systems")
    frame.evaluate("openTab('systems')")
    selected = "[...document.querySelectorAll('[role=tab]')].map((t) => [t.ariaSelected, t.tabIndex])"
    first, *others = frame.evaluate(selected)
    assert first == ["true", 0]
    assert all(other == ["false", -1] for other in others)
    frame.get_by_role("tab", name="Model stack").focus()
    frame.keyboard.press("End")
    *others, last = frame.evaluate(selected)
    assert last == ["true", 0]
    assert all(other == ["false", -1] for other in others)
    assert frame.evaluate("document.activeElement.dataset.panel") == "late"
    assert frame.get_by_role("tabpanel").count() == 1
    assert frame.is_hidden("#sy-panel-stack")
    frame.wait_for_function("location.search === '?tab=systems&panel=late&one=1&two=2'")
    frame.keyboard.press("Home")
    frame.wait_for_function("location.search.startsWith('?tab=systems&panel=stack&plan=1')")


def test_the_functions_of_all_panels_have_names_of_their_own():
    manifest = space.load()
    screen = systems.Systems(manifest, Jobs(manifest.limits))
    names = [function.__name__ for function in screen.functions()]
    assert len(names) == len(set(names))
