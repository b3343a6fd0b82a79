"""The Systems screen: its frame, and the planner of the model stack."""

from __future__ import annotations

from itertools import pairwise
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from web_page import Guest, address, answer, show

import hsd
from hsd.app.systems import planner
from hsd.app.systems.planner_presets import WORKED, presets
from hsd.app.systems.planner_ways import alternatives, described, graph
from hsd.app.systems.planner_words import in_words
from hsd.planner import Models, latency, plan

PRESETS = {preset["name"]: preset for preset in presets()}


def models_of(name: str) -> Models:
    return planner.read_models(question(PRESETS[name]))


def question(preset: dict) -> dict:
    return {"costs": preset["costs"], "acceptance": preset["acceptance"], "per_token": preset.get("per_token", [])}


def open_systems(visitor, **query: str):
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "systems", **query}))
    visitor.unfold()
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
    visitor.page.click(f"[data-choice='Presets'] [data-value='{preset}']")
    return settled(visitor)


def drag(visitor, selector: str, value: float) -> dict:
    visitor.page.locator(selector).evaluate(
        "(e, value) => { e.value = value; e.dispatchEvent(new Event('input')) }", value
    )
    return settled(visitor)


def four(x: float) -> str:
    return f"{float(f'{x:.4g}'):g}"


@pytest.mark.core
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


def test_acceptances_that_cannot_be_are_named_and_the_last_plan_stays(here):
    page = here.page
    before = page.inner_text(".sy-result .sy-lead"), page.locator(".sy-way").count()
    page.fill("[data-pair='0-3'] .hp-field", "0.2")
    told = settled(here)
    line = page.inner_text(".sy-inputs .hp-problem")
    assert line.startswith("Models 0, 1, 3: acceptances 0.8 (0, 1), 0.75 (1, 3) and 0.2 (0, 3) cannot all be true")
    assert told["message"]
    assert page.locator(".hp-card.is-stale").count() == 4
    assert (page.inner_text(".sy-result .sy-lead"), page.locator(".sy-way").count()) == before
    page.fill("[data-pair='0-3'] .hp-field", "")
    settled(here)
    assert page.inner_text(".sy-inputs .hp-problem").startswith("A field is empty")
    page.fill("[data-pair='0-3'] .hp-field", "0,62")  # a decimal comma is a point
    settled(here)
    assert page.is_hidden(".sy-inputs .hp-problem")
    assert page.locator(".hp-card.is-stale").count() == 0
    assert page.inner_text(".sy-result .sy-lead") == before[0]


def test_a_threshold_badly_chosen_costs_what_the_planner_says(here):
    models, best = models_of("skip"), plan(models_of("skip")).best
    told = drag(here, "[data-threshold='1'] .hp-slider", 30)
    now = latency(models, best.models, (best.thresholds[0], 30))
    assert told["way"]["latency"] == pytest.approx(now)
    said = here.page.inner_text(".sy-trial-said")
    assert four(now) in said
    assert f"{100 * (now / best.latency - 1):.2g} % more" in said
    assert "T = 30" in here.page.locator(".sy-edge.is-path").all_text_contents()[0]
    here.page.click(".sy-back")
    assert settled(here)["way"]["latency"] == pytest.approx(best.latency)


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
    page.locator("[data-threshold='0'] .hp-slider").focus()
    page.keyboard.press("End")
    here.until("window.__hsdSystems.planner.way.thresholds[0] === 32")


def test_a_link_brings_back_the_panel_the_inputs_and_the_thresholds(here, visitors):
    choose(here, "measured")
    here.page.fill("[data-pair='0-1'] .hp-field", "0.7")
    settled(here)
    here.page.locator("[data-way='3']").click()
    settled(here)
    told = drag(here, "[data-threshold='0'] .hp-slider", 4)
    here.until("location.search.includes('_1_2*4_')")
    query = {name: values[0] for name, values in parse_qs(urlsplit(here.page.url).query).items()}
    assert (query["tab"], query["panel"]) == ("systems", "stack")
    assert len(query["plan"]) < 100
    again = settled(open_systems(visitors(), **query))
    assert again["way"] == told["way"]
    assert again["plan"] == told["plan"]
    assert again["chosen"] == told["chosen"]


def test_a_link_that_cannot_be_is_told_and_a_plan_is_shown_all_the_same(visitors):
    hostile = "1*1_<img src=x onerror=window.hacked=1>*0.8**0_1*4"
    visitor = open_systems(visitors(), panel="stack", plan=hostile)
    assert visitor.page.inner_text(".sy-inputs .hp-problem").startswith("The plan in this link cannot be read")
    assert visitor.page.locator(".sy-way.is-best").count() == 1
    assert not visitor.page.evaluate("window.hacked")
    visitor = open_systems(visitors(), panel="stack", plan="1*1_4_60*0.9_0.3--0.9***")
    assert "cannot all be true" in visitor.page.inner_text(".sy-inputs .hp-problem")
    assert visitor.page.is_hidden(".sy-result")
    choose(visitor, "skip")
    assert visitor.page.is_hidden(".sy-inputs .hp-problem")
    assert visitor.page.is_visible(".sy-result")


def test_on_a_phone_nothing_is_missing_and_the_page_does_not_scroll_sideways(visitors):
    visitor = open_systems(visitors(width=390), __theme="dark")
    visitor.page.click(".sy-add")
    settled(visitor)
    for selector in (
        ".sy-cost .hp-slider",
        ".sy-cell .hp-slider",
        ".sy-way",
        ".sy-edge-line",
        ".sy-trial-row",
        ".sy-lines",
    ):
        assert visitor.page.locator(selector).first.is_visible()
    assert visitor.page.locator(".sy-cell").count() == 10
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390


# ---- the frame, with panels of the test's own


RUN = {"pair": "tiny", "prompt": "Once upon a time", "max_new_tokens": 12, "temperature": 0.8, "seed": 5, "gamma": 3}
OWN = """
panels.push({name: "own", title: "Own", sections: [(root, tools) => { window.own = tools; }]});
window.news = [];
const told = {changed: (live) => news.push(live.state), left: () => news.push("left")};
window.begin = (asked) => { window.live = own.run(asked, told); };"""


def with_panel(route) -> None:
    """The module of the panels, with one of the test's own."""
    response = route.fetch()
    route.fulfill(response=response, body=response.text() + OWN)


def test_a_panel_gets_its_run_piece_by_piece_and_a_new_one_ends_it(visitors):
    visitor = visitors()
    visitor.page.route("**/systems/panels.js", with_panel)
    visitor.page.goto(visitor.app.url + "?tab=systems&panel=own")
    visitor.until("window.own")
    visitor.page.evaluate("begin", {**RUN, "max_new_tokens": 256})
    visitor.until("live.steps.length > 2")
    visitor.page.evaluate("() => { window.first = live; }")
    visitor.page.evaluate("begin", RUN)
    visitor.until("live.state === 'done'")
    pair = hsd.load_pair("tiny")
    wanted = hsd.run(pair, RUN["prompt"], max_new_tokens=12, temperature=0.8, seed=5, gamma=3)
    told = visitor.page.evaluate("live.trace")
    assert [c["token"] for step in told["steps"] for c in step["committed"]] == wanted.tokens
    assert told["result"]["text"] == wanted.text
    assert visitor.page.evaluate("news.includes('running') && news.includes('left')")
    visitor.until("first.state === 'cancelled'")
    visitor.page.evaluate("begin", {**RUN, "gamma": 999})
    visitor.until("live.state === 'failed'")
    assert "draft length γ 999: choose a whole number" in visitor.page.evaluate("live.problem")


FRAME = """<!doctype html><html data-answers="server"><head><meta charset="utf-8">
<link rel="stylesheet" href="kit/kit.css"><link rel="stylesheet" href="systems/systems.css"></head><body>
<div id="hsd-layout"><div id="one"></div></div><script type="module">
import { opened } from "./kit/page.js";
import { panels } from "./systems/panels.js";
import { start } from "./systems/systems.js";
window.log = [];
window.openTab = opened;
opened("watch");
panels.push({name: "late", title: "Late", sections: [
  (root, tools) => {
    log.push("draw first"); root.textContent = "above"; window.lateTools = tools;
    return {opened: () => log.push("opened"), closed: () => log.push("closed"), link: () => ({one: "1"})};
  },
  (root) => { log.push("draw second"); root.textContent = "below"; return {link: () => ({two: "2"})}; },
]});
await start(document.getElementById("one"));
window.begun = true;
</script></body></html>"""


@pytest.fixture
def frame(chromium):
    """A page with the frame, the model stack, and one more panel called Late; called with a query, it opens."""
    guest = Guest(chromium, address(), serious=())

    content = {"recorded": [], "planner": planner.props(), "eagle": {}}
    answers = {
        "data/page.json": {"recorded": {"systems": {"keys": ["all"]}}},
        "data/systems/all.json": content,
        "answers/plan_stack": {"error": "no"},
    }
    answer(guest.page, answers)

    def open_page(query: str) -> None:
        show(guest.page, FRAME, query)
        guest.page.wait_for_function("window.begun")

    guest.page.open = open_page
    yield guest.page
    guest.close()


def test_a_panel_is_drawn_when_it_is_first_seen_and_told_when_it_comes_and_goes(frame):
    frame.open("?tab=systems&panel=late&own=7")
    assert frame.evaluate("log") == []
    frame.evaluate("openTab('systems')")
    assert frame.evaluate("log") == ["draw first", "draw second", "opened"]
    assert frame.inner_text("#sy-panel-late").split() == ["above", "below"]
    assert frame.evaluate("lateTools.query.get('own')") == "7"
    frame.get_by_role("tab", name="Model stack").click()
    frame.get_by_role("tab", name="Late").click()
    frame.evaluate("openTab('race')")
    assert frame.evaluate("log.slice(3)") == ["closed", "opened", "closed"]


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


@pytest.mark.core
@pytest.mark.recorded
@pytest.mark.parametrize("panel", ["stack", "hispec", "fsd", "eagle"])
def test_everything_folded_a_system_takes_two_windows_at_most(visitors, panel):
    visitor = visitors(height=800).open(f"?tab=systems&panel={panel}", folded=True)
    visitor.page.locator(f"#sy-panel-{panel} .hp-card").nth(1).wait_for()
    visitor.until("!document.querySelector('.is-opening')")
    assert visitor.page.evaluate("document.documentElement.scrollHeight") <= 1600
    for fold in visitor.page.locator(f"#sy-panel-{panel} > * > .hp-folded > summary").all():
        fold.click()
        assert fold.locator("xpath=..").evaluate("e => e.open")
