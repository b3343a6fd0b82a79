"""The Systems page: recorded runs that open on the stage, a figure for every system, and the
planner.
"""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from hsd.app.presets import SYSTEM_WORDS, definitions, from_json, of_systems, telling_step, trace_of
from hsd.app.site import CHARTS
from hsd.app.systems import planner
from hsd.app.systems.planner import WORKED, alternatives, in_words, presets, way_data
from hsd.planner import Models, latency, plan
from hsd.trace import Trace

PRESETS = {preset["name"]: preset for preset in presets()}


def models_of(name: str) -> Models:
    return planner.PlannerQuestion(**question(PRESETS[name])).models()


def question(preset: dict) -> dict:
    return {
        "costs": preset["costs"],
        "acceptance": preset["acceptance"],
        "per_token": preset.get("per_token", []),
    }


def open_systems(visitor, **query: str):
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "systems", **query}))
    visitor.unfold()
    settled(visitor)
    return visitor


def settled(visitor) -> dict:
    """What the planner shows, once it has heard from the server."""
    visitor.until("window.__hsdPlanner && !window.__hsdPlanner.busy")
    visitor.page.evaluate(
        "for (const fold of document.querySelectorAll('.hf-plan .hf-more')) fold.open = true"
    )
    return visitor.page.evaluate(
        "(({inputs, plan, problem}) => ({inputs, plan, problem}))(window.__hsdPlanner)"
    )


@pytest.fixture
def here(visitors):
    return open_systems(visitors())


def choose(visitor, preset: str) -> dict:
    visitor.page.locator(f".hf-inputs input[value='{preset}']").check(force=True)
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
        ways = alternatives(models)
        found = plan(models)
        rows = here.page.locator(".hf-way").all()
        assert [row.locator(".hf-figure").first.inner_text() for row in rows] == [
            four(way.latency) for way in ways
        ]
        assert here.page.inner_text(".hf-result .hf-lead") == planner.plan_data(models)["verdict"]
        best = here.page.locator(".hf-way.is-best")
        assert best.count() == 1
        assert best.get_attribute("aria-checked") == "true"
        words = in_words(found.best) if found.best.thresholds else "no draft"
        assert words in best.inner_text().replace("\n", " ")
    assert "Stacking does not pay here" in here.page.inner_text(".hf-result .hf-lead")
    assert here.page.inner_text(".hf-note") == PRESETS["measured"]["note"]


def test_a_bar_is_as_long_as_its_latency_and_cut_into_the_models_shares(here):
    models = models_of("skip")
    ways = alternatives(models)
    widths = here.page.locator(".hf-bar").evaluate_all(
        "all => all.map((bar) => [...bar.children].map((part) => "
        "part.getBoundingClientRect().width / bar.getBoundingClientRect().width))"
    )
    for way, parts in zip(ways, widths, strict=True):
        told = [level["share"] * way.latency / 60 for level in way_data(models, way)["levels"]]
        assert parts == pytest.approx(told, abs=2e-3)


def test_acceptances_that_cannot_be_are_named_and_the_last_plan_stays(here):
    page = here.page
    before = page.inner_text(".hf-result .hf-lead"), page.locator(".hf-way").count()
    page.fill("[data-pair='0-3'] .hp-field", "0.2")
    told = settled(here)
    line = page.inner_text(".hf-inputs .hp-problem")
    assert line.startswith(
        "Models 0, 1, 3: acceptances 0.8 (0, 1), 0.75 (1, 3) and 0.2 (0, 3) cannot all be true"
    )
    assert told["problem"]
    assert page.locator(".hf-plan.is-stale").count() == 1
    assert (page.inner_text(".hf-result .hf-lead"), page.locator(".hf-way").count()) == before
    page.fill("[data-pair='0-3'] .hp-field", "")
    settled(here)
    assert page.inner_text(".hf-inputs .hp-problem").startswith("A field is empty")
    page.fill("[data-pair='0-3'] .hp-field", "0,62")  # a decimal comma is a point
    settled(here)
    assert page.is_hidden(".hf-inputs .hp-problem")
    assert page.locator(".hf-plan.is-stale").count() == 0
    assert page.inner_text(".hf-result .hf-lead") == before[0]


def test_a_threshold_badly_chosen_costs_what_the_planner_says(here):
    models = models_of("skip")
    best = plan(models_of("skip")).best
    told = drag(here, "[data-threshold='1'] .hp-slider", 30)
    now = latency(models, best.models, (best.thresholds[0], 30))
    assert told["plan"]["way"]["latency"] == pytest.approx(now)
    said = here.page.inner_text(".hf-trial-said")
    assert four(now) in said
    assert f"{100 * (now / best.latency - 1):.2g} % more" in said
    here.page.click(".hf-back button")
    assert settled(here)["plan"]["way"]["latency"] == pytest.approx(best.latency)


def test_a_way_tells_its_numbers_level_by_level(here):
    here.page.locator("[data-way='2']").click()
    told = settled(here)
    assert told["plan"]["way"]["models"] == [1, 3]
    said = here.page.inner_text(".hf-formula")
    for level in told["plan"]["way"]["levels"]:
        assert four(level["cost"] if level["model"] < 3 else told["plan"]["way"]["latency"]) in said


def test_models_are_added_and_removed_and_the_plan_follows(here):
    page = here.page
    page.click(".hf-add")
    told = settled(here)
    assert len(told["inputs"]["costs"]) == 5
    assert not told["problem"]
    assert page.is_disabled(".hf-add")
    asked = {**told["inputs"], "per_token": told["inputs"]["perToken"]}
    assert (
        told["plan"]["alternatives"][told["plan"]["best"]]["latency"]
        == plan(planner.PlannerQuestion(**asked).models()).best.latency
    )
    for count in (4, 3, 2):
        page.get_by_role("button", name="remove M₀").click()
        told = settled(here)
        assert len(told["inputs"]["costs"]) == count
    assert told["inputs"]["costs"] == ["12", "60"]
    assert told["inputs"]["acceptance"] == [["0.90"]]
    assert page.get_by_role("button", name="remove M₀").is_disabled()
    assert "nothing to stack" in page.inner_text(".hf-result .hf-lead")


def test_everything_can_be_done_from_the_keyboard(here):
    page = here.page
    page.locator(".hf-way[tabindex='0']").focus()
    page.keyboard.press("Home")
    assert settled(here)["plan"]["chosen"] == 0
    assert page.is_hidden(".hf-trial")
    page.keyboard.press("ArrowDown")
    here.until("window.__hsdPlanner.plan.chosen === 1")
    settled(here)
    assert page.evaluate("document.activeElement.dataset.way") == "1"
    page.locator("[data-threshold='0'] .hp-slider").focus()
    page.keyboard.press("End")
    here.until("window.__hsdPlanner.plan.way.thresholds[0] === 32")


def test_a_link_brings_back_the_panel_the_inputs_and_the_thresholds(here, visitors):
    choose(here, "measured")
    here.page.fill("[data-pair='0-1'] .hp-field", "0.7")
    settled(here)
    here.page.locator("[data-way='3']").click()
    settled(here)
    told = drag(here, "[data-threshold='0'] .hp-slider", 4)
    here.until("location.search.includes('_1_2*4_')")
    query = {name: values[0] for name, values in parse_qs(urlsplit(here.page.url).query).items()}
    assert query["tab"] == "systems"
    assert len(query["plan"]) < 100
    again = settled(open_systems(visitors(), **query))
    assert again["plan"]["way"] == told["plan"]["way"]
    assert again["plan"] == told["plan"]
    assert again["plan"]["chosen"] == told["plan"]["chosen"]


def test_a_link_that_cannot_be_is_told_and_a_plan_is_shown_all_the_same(visitors):
    hostile = "1*1_<img src=x onerror=window.hacked=1>*0.8**0_1*4"
    visitor = open_systems(visitors(), panel="stack", plan=hostile)
    assert visitor.page.inner_text(".hf-inputs .hp-problem").startswith(
        "The plan in this link cannot be read"
    )
    assert visitor.page.locator(".hf-way.is-best").count() == 1
    assert not visitor.page.evaluate("window.hacked")
    visitor = open_systems(visitors(), panel="stack", plan="1*1_4_60*0.9_0.3--0.9***")
    assert "cannot all be true" in visitor.page.inner_text(".hf-inputs .hp-problem")
    assert visitor.page.is_hidden(".hf-result")
    choose(visitor, "skip")
    assert visitor.page.is_hidden(".hf-inputs .hp-problem")
    assert visitor.page.is_visible(".hf-result")


def test_on_a_phone_nothing_is_missing_and_the_page_does_not_scroll_sideways(visitors):
    visitor = open_systems(visitors(width=390), __theme="dark")
    visitor.page.click(".hf-add")
    settled(visitor)
    for selector in (
        ".hf-cost .hp-slider",
        ".hf-cell .hp-slider",
        ".hf-way",
        ".hf-trial-row",
        ".hf-lines",
    ):
        assert visitor.page.locator(selector).first.is_visible()
    assert visitor.page.locator(".hf-cell").count() == 10
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390


# ---- the page


def told(trace: Trace) -> str:
    """The line of a recorded run: its tokens per target call, and of several levels the calls below
    the target too.
    """
    stats = trace.stats()
    tokens, *below = (
        f"{n / stats['target_calls']:.3g}"
        for n in (stats["new_tokens"], *stats["calls_below"][::-1])
    )
    levels = f", {below[0]} checks and {below[1]} draft calls" if below[1:] else ""
    return f"{tokens} tokens{levels} per target call"


@pytest.mark.core
@pytest.mark.recorded
def test_every_system_has_words_runs_and_a_figure(visitors):
    visitor = visitors()
    page = visitor.page
    page.goto(visitor.app.url + "?tab=systems")
    for name, system in SYSTEM_WORDS.items():
        card = page.locator(f"#hf-{name}")
        card.locator(".hf-run").first.wait_for()
        assert system["words"].split(".")[0] in card.inner_text()
        runs = card.locator(".hf-run").evaluate_all("all => all.map((run) => run.dataset.run)")
        assert runs == system["shown"]
        said = [told(recorded_run(run)) for run in runs]
        assert card.locator(".hf-runs .hp-note").all_inner_texts() == said
        if name == "stack":
            card.locator("summary", has_text="What the planner promised").click()
        card.locator(".hf-chart").scroll_into_view_if_needed()
        card.locator(".hf-chart .main-svg").first.wait_for()
        card.locator(".hp-hint", has_text=from_json(CHARTS)[name][0]["words"][:40]).wait_for()


@pytest.mark.recorded
def test_another_chart_is_chosen_from_a_menu(visitors):
    visitor = visitors()
    visitor.page.goto(visitor.app.url + "?tab=systems&panel=fsd")
    menu = visitor.page.locator("#hf-fsd select")
    menu.select_option("stories drift")
    visitor.page.locator("#hf-fsd .ytitle", has_text="drift per new token").wait_for()
    said = visitor.page.inner_text("#hf-fsd")
    assert "chosen on 20 other stories" in said
    assert "KL(q‖p) after the exact test" in said


@pytest.mark.core
@pytest.mark.recorded
def test_a_recorded_run_opens_on_watch_at_its_most_telling_step_and_back_leads_here(visitors):
    visitor = visitors()
    page = visitor.page
    page.goto(visitor.app.url + "?tab=systems")
    page.click("[data-run='hispec-trained']")
    visitor.until("window.__hsd && window.__hsd.steps === 11")
    assert visitor.state["step"] == telling_step(recorded_run("hispec-trained"))
    assert page.locator("#hsd-tab-watch-button[aria-selected='true']").count() == 1
    assert page.is_visible(".hf-player")
    assert page.input_value("#hsd-preset") == "hispec-trained"
    visitor.until("location.search.includes('preset=hispec-trained')")
    page.go_back()
    page.locator("#hf-hispec").wait_for()
    page.click("[data-run='fsd-sum']")
    visitor.until("window.__hsd.steps === 7")


@pytest.mark.recorded
def test_a_run_that_is_chosen_before_the_first_one_has_come_is_the_one_that_opens(visitors):
    """The answer for the page's first run comes when the chosen one has been asked for and is still
    on its way.
    """
    visitor = visitors()
    held = []
    page = visitor.page
    page.route("**/data/preset/*.json", lambda route: held.append(route))
    page.goto(visitor.app.url + "?tab=systems")
    wait_for(page, held, 1)
    page.click("[data-run='hispec-trained']")
    wait_for(page, held, 2)
    with page.expect_response("**/data/preset/*.json"):
        held[0].continue_()
    for route in held[1:]:
        route.continue_()
    visitor.until("window.__hsd && window.__hsd.steps === 11")
    assert page.input_value("#hsd-preset") == "hispec-trained"


def wait_for(page, requests: list, count: int):
    while len(requests) < count:
        page.wait_for_timeout(20)


@pytest.mark.recorded
@pytest.mark.parametrize("name", of_systems())
def test_every_recorded_run_of_a_system_opens_on_the_stage(visitors, name: str):
    visitor = visitors()
    visitor.page.goto(visitor.app.url + f"?preset={name}")
    trace = recorded_run(name)
    visitor.until(f"window.__hsd && window.__hsd.steps === {len(trace.steps)}")
    assert visitor.state["step"] == telling_step(trace)
    assert visitor.page.inner_text(".hf-caption").startswith(of_systems()[name].title)


def recorded_run(name: str):
    return trace_of({**of_systems(), **definitions()}[name])
