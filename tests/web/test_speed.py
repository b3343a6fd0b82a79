"""The tab Speed in a browser: what it shows of races, costs and benchmarks is what is computed."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import numpy as np
import pytest
from engine import Engine

import hsd
from hsd import space
from hsd.app import race, site
from hsd.bench.report import Benchmark, cells_in, columns, read
from hsd.bench.summary import Row
from hsd.bench.view import view
from hsd.estimate import ScoredText, as_json, estimate
from hsd.paths import RESULTS, TRACES
from hsd.trace import Trace

READY = "window.__hsdSpeed && window.__hsdSpeed.ready && !window.__hsdSpeed.playing"
DONE = "window.__hsdSpeed.state === 'done'"
SHARED = {
    "prompt": "Once upon a time, there was a fox",
    "pair": "tiny",
    "max_new_tokens": 24,
    "seed": 7,
}
SHARED |= {"temperature": 0.8}
THREE_LANES = (
    "rule:tokenwise~gamma:4,rule:hsd~gamma:4,rule:traversal~gamma:3~drafts:3~tree:distinct"
)
LONG = {
    "prompt": "Once upon a time",
    "pair": "tiny",
    "max_new_tokens": 250,
    "temperature": 1,
    "rounds": 5,
}
LONG |= {"lanes": "rule:tokenwise~gamma:1,rule:hsd~gamma:1"}
RECORDED, TOY = (RESULTS / name for name in ("bench-smollm2.jsonl", "bench.jsonl"))


def opened(visitor, query: dict | None = None):
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "speed", **(query or {})}))
    visitor.until(READY)
    return visitor


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdSpeed")


def raced_here(visitor, query: dict) -> dict:
    """Open a link that races, and wait for the end."""
    opened(visitor, query)
    visitor.until(DONE)
    return state(visitor)


def address(visitor) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}


@pytest.fixture(scope="module")
def reports():
    """The page's reports, which tests/web/test_race_report.py holds to Python's numbers."""
    engine = Engine({"recorded": "speed/recorded.js"})
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def recorded(reports) -> list[dict]:
    """The races that the page shows, with their reports."""
    words = """(races) => recorded.withAll(races).map((race) => {
      return { ...race, report: recorded.reportOf(race) };
    })"""
    return reports.call(words, race.recordings()["races"])


def verdict(visitor) -> str:
    return visitor.page.inner_text(".hf-verdict")


def rates(visitor) -> list[str]:
    return visitor.page.locator(".hf-race .hf-rate").all_inner_texts()


def in_words(rate: float) -> str:
    return f"{rate:,.0f} tokens/s" if rate >= 20 else f"{rate:.1f} tokens/s"


def fold(visitor, words: str) -> None:
    visitor.page.locator("summary", has_text=words).first.click()


def saved(visitor, button) -> str:
    with visitor.page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_text(encoding="utf-8")


# ---- recorded races


@pytest.mark.core
@pytest.mark.recorded(core=True)
def test_the_recorded_race_is_there_at_a_glance(visitors, recorded):
    visitor = opened(visitors())
    shown = recorded[0]
    rows = shown["report"]["rows"]
    assert verdict(visitor) == shown["report"]["verdict"]
    assert rates(visitor) == [in_words(row["tokens_per_second"]) for row in rows]
    widths = visitor.page.locator(".hf-fill").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().width)"
    )
    fastest = max(row["tokens_per_second"] for row in rows)
    assert widths == pytest.approx(
        [max(widths) * row["tokens_per_second"] / fastest for row in rows], rel=0.01
    )
    source = visitor.page.inner_text(".hf-machine")
    assert f"{shown['header']['machine']['processor']} CPU" in source
    assert f"{shown['header']['prompts']} prompts of this kind" in source
    assert [track["shown"] for track in state(visitor)["tracks"]] == [
        t["steps"] for t in state(visitor)["tracks"]
    ]


@pytest.mark.recorded
def test_the_race_is_in_the_first_window_and_no_number_stands_twice(visitors):
    visitor = opened(visitors())
    inside = "(card) => card.getBoundingClientRect().bottom <= innerHeight"
    assert visitor.page.locator(".hf-part .hp-card").first.evaluate(inside)
    words = visitor.page.inner_text("[aria-label='The race']")
    # of four lanes, and of two sentences
    assert len(re.findall(r"[\d.]+(?= tokens/s| ×(?! slower))", words)) == 6


@pytest.mark.recorded
def test_each_kind_of_prompt_has_a_recorded_race_at_each_temperature(visitors, recorded):
    visitor = opened(visitors())
    card = visitor.page.get_by_role("region", name="The race")
    choices = [
        card.get_by_role("group", name=name, exact=True)
        for name in ("Prompts", "Temperature", "Models")
    ]
    titles = {pair.name: pair.title.partition(" · ")[0] for pair in space.load().pairs}
    assert choices[0].locator(".hp-option").all_inner_texts() == list(
        dict.fromkeys(one["domain"] for one in recorded)
    )
    for one in recorded[::-1]:
        heat = f"{one['header']['sampling']['temperature']:g}"
        pair = one["header"]["pair"]
        choices[2].get_by_role("radio", name=titles[pair]).check()
        choices[1].get_by_role("radio", name=f"T = {heat}", exact=True).check()
        choices[0].get_by_role("radio", name=one["domain"]).check()
        assert verdict(visitor) == one["report"]["verdict"]
        assert visitor.page.inner_text(".hf-rules") == one["report"]["rules"]
        assert rates(visitor) == [
            in_words(row["tokens_per_second"]) for row in one["report"]["rows"]
        ]
        if one["domain"] != "All":
            assert one["header"]["prompt"][:40] in visitor.page.inner_text(".hf-asked")
            assert len({len(track["tokens"]) for track in state(visitor)["tracks"]}) == 1
        place = f"domain={one['domain']}&temperature={heat}&pair={pair}"
        visitor.until(f"location.search.includes('{place}')")
    again = opened(visitors(), {"domain": "Sums", "temperature": "0"})
    assert (state(again)["domain"], state(again)["header"]["sampling"]["temperature"]) == (
        "Sums",
        0,
    )


@pytest.mark.recorded
def test_opening_the_tab_puts_it_into_the_address(visitors):
    visitor = visitors()
    visitor.page.goto(visitor.app.url)
    visitor.page.get_by_role("tab", name="Speed").click()
    visitor.until(READY)
    visitor.until("location.search.includes('domain=Stories')")
    assert address(visitor)["tab"] == "speed"
    visitor.page.reload()
    visitor.until(READY)
    assert visitor.page.get_by_role("tab", name="Speed").get_attribute("aria-selected") == "true"


@pytest.mark.recorded
def test_the_folded_numbers_are_those_of_the_report(visitors, recorded):
    visitor = opened(visitors())
    fold(visitor, "Where the time went")
    found = recorded[0]["report"]
    assert found["calls"] in visitor.page.inner_text(".hf-words")
    for i, row in enumerate(found["rows"]):
        line = visitor.page.locator(f".hf-numbers tr[data-case='{row['case']}']")
        texts = [line.locator("td").nth(n).inner_text() for n in range(line.locator("td").count())]
        low, high = row["speedups"]
        assert texts[:3] == [
            str(row["tokens"]),
            str(row["target_calls"]),
            f"{row['tokens_per_call']:.2f}",
        ]
        assert float(texts[3]) == pytest.approx(row["seconds"], rel=5e-3)
        assert texts[4] == f"{row['speedup']:.2f} ({low:.2f}–{high:.2f})"
        bar = visitor.page.locator(".hf-times li").nth(i)
        assert row["sentence"] in bar.inner_text()
        width = bar.locator(".hf-stack").evaluate(
            "e => e.getBoundingClientRect().width / e.parentElement.clientWidth"
        )
        assert width == pytest.approx(
            row["ms_per_token"] / max(r["ms_per_token"] for r in found["rows"]), abs=0.01
        )
        shares = bar.locator(".hf-share").evaluate_all(
            "all => all.map(e => Number(e.style.flexGrow))"
        )
        assert shares == pytest.approx([max(x, 1e-4) for x in row["shares"].values()], abs=1e-3)


@pytest.mark.recorded
def test_a_race_can_be_saved(visitors, reports, recorded, tmp_path):
    visitor = opened(visitors())
    fold(visitor, "Where the time went")
    buttons = visitor.page.locator(".hf-numbers .hp-row")
    found = recorded[0]["report"]["rows"]
    for line, row in zip(
        csv.DictReader(io.StringIO(saved(visitor, buttons.get_by_text("CSV")))), found, strict=True
    ):
        assert line["lane"] == row["case"]
        assert float(line["speedup"]) == row["speedup"]
        assert float(line["share_target"]) == row["shares"]["target"]
    (tmp_path / "race.json").write_text(
        saved(visitor, buttons.get_by_text("JSON")), encoding="utf-8"
    )
    (again,) = race.recordings(tmp_path / "race.json")["races"]
    assert again["report"]["rows"] == found
    assert reports.call("(race) => recorded.reportOf(race)", again) == again["report"]


@pytest.mark.recorded
def test_the_replay_shows_each_step_when_it_had_ended_and_the_pace_so_far(visitors):
    visitor = opened(visitors())
    told = state(visitor)
    ends = [step for event in told["events"] if event["lane"] == 2 for step in event["steps"]]
    middle = (ends[4]["end"] + ends[5]["end"]) / 2
    visitor.page.locator(".hf-slider").evaluate(
        "(e, time) => { e.value = time; e.dispatchEvent(new Event('input')) }", middle
    )
    track = state(visitor)["tracks"][2]
    assert track["shown"] == 5
    assert track["rate"] == pytest.approx(
        sum(len(step["tokens"]) for step in ends[:5]) / middle, rel=1e-3
    )
    assert visitor.page.locator('.hf-lane[data-lane="2"] .is-later').count() == len(ends) - 5
    visitor.page.select_option(".hf-part [aria-label=pace]", "0.01")
    visitor.page.get_by_role("button", name="play", exact=True).press("Enter")
    visitor.until(f"window.__hsdSpeed.playing && window.__hsdSpeed.time > {middle}")
    visitor.page.get_by_role("button", name="pause", exact=True).click()
    paused = state(visitor)
    assert not paused["playing"]
    assert middle < paused["time"] < paused["length"]


# ---- races here


def test_the_form_says_what_is_recorded_and_a_race_here_repeats_it(visitors):
    visitor = opened(visitors(), {"domain": "Sums"})
    header = race.recordings()["races"][1]["header"]
    setup = state(visitor)["setup"]
    assert setup["prompt"] == header["prompt"]
    sampling = header["sampling"]
    assert (setup["temperature"], setup["max_new_tokens"]) == (
        sampling["temperature"],
        sampling["length"],
    )
    own = [lane["own"] for lane in header["lanes"][1:]]
    assert [
        {name: lane[name] for name in one} for lane, one in zip(setup["lanes"], own, strict=True)
    ] == own
    fold(visitor, "Another prompt")
    names = visitor.page.locator(".hf-lanes summary")
    visitor.until("document.querySelectorAll('.hf-lanes summary').length === 3")
    first = json.dumps(header["lanes"][1]["name"])
    visitor.until(f"document.querySelector('.hf-lanes summary').textContent === {first}")
    assert names.all_inner_texts() == [lane["name"] for lane in header["lanes"][1:]]


def test_a_race_here_writes_what_hsd_run_writes_and_ends_in_the_numbers_of_its_records(
    visitors, reports
):
    visitor = visitors()
    told = raced_here(
        visitor,
        {
            **SHARED,
            "lanes": THREE_LANES,
            "rounds": 3,
        },
    )
    assert told["report"] == reports.call("(race) => recorded.reportOf(race)", told)
    assert verdict(visitor) == told["report"]["verdict"]
    pair = hsd.load_pair("tiny")
    common = {name: value for name, value in SHARED.items() if name not in ("prompt", "pair")}
    own = [{"system": "plain"}, {"rule": "tokenwise", "gamma": 4}, {"rule": "hsd", "gamma": 4}]
    for i, more in enumerate(own):
        run = hsd.run(pair, SHARED["prompt"], **common, **more)
        assert told["tracks"][i]["tokens"] == run.tokens
        written = visitor.page.locator(".hf-text").nth(i).text_content()
        assert written.split() == "".join(c.piece for s in run.steps for c in s.committed).split()
    assert len({len(track["tokens"]) for track in told["tracks"]}) == 1
    assert visitor.page.inner_text(".hf-machine").startswith("Run here just now")
    visitor.page.evaluate("history.pushState(null, '', '?preset=story')")
    visitor.page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    head = visitor.page.locator(
        ".hf-speeds", has_text="measured on one prompt with its luck, drafts of 4"
    )
    head.wait_for()
    for row in told["report"]["rows"][:3]:
        assert f"{row['speedup']:.2f} ×" in head.inner_text()


def test_at_temperature_0_the_page_shows_that_no_lane_changed_a_word(visitors):
    visitor = visitors()
    told = raced_here(
        visitor,
        {
            **SHARED,
            "temperature": 0,
            "lanes": THREE_LANES,
        },
    )
    length = len(told["tracks"][0]["tokens"])
    assert all(track["tokens"] == told["tracks"][0]["tokens"] for track in told["tracks"])
    assert (
        visitor.page.inner_text(".hf-same")
        == f"Not a word changed: 4 lanes, the same {length} tokens."
    )
    raced_here(visitor, {**SHARED, "lanes": "rule:fuzzy~gamma:4~tolerance:0.9~divergence:js"})
    assert visitor.page.inner_text(".hf-same") == "", "nothing is said of a lane that is not exact"


def test_a_recorded_race_begins_by_itself(visitors):
    visitor = visitors()
    visitor.page.goto(visitor.app.url + "?tab=speed")
    visitor.until("window.__hsdSpeed && window.__hsdSpeed.playing && window.__hsdSpeed.time > 0")
    visitor.until(READY)
    assert state(visitor)["time"] == state(visitor)["length"]
    still = visitors(reduced_motion="reduce")
    still.page.goto(still.app.url + "?tab=speed")
    still.until("window.__hsdSpeed")
    assert state(still)["time"] == state(still)["length"]


def test_with_reduced_motion_a_race_ends_on_its_last_picture(visitors):
    told = raced_here(visitors(reduced_motion="reduce"), {**SHARED, "lanes": "rule:hsd~gamma:4"})
    assert not told["playing"]
    assert told["time"] == told["length"]


def test_the_link_of_a_race_runs_it_again(visitors):
    visitor = visitors()
    query = {
        "prompt": "A mole & a <b>hat</b>",
        "seed": "1234567890123456789",
        "max_new_tokens": "12",
        "pair": "tiny",
    }
    told = raced_here(
        visitor,
        {
            **query,
            "temperature": "0.8",
            "lanes": "rule:hsd~gamma:3,rule:traversal~gamma:3~drafts:2~tree:distinct",
            "rounds": "3",
        },
    )
    visitor.until("/rounds=3(&|$)/.test(location.search)")
    asked = address(visitor)
    assert {name: asked[name] for name in query} == query
    assert visitor.page.locator(".hf-part b").count() == 0
    again = raced_here(visitors(), asked)
    assert again["header"]["lanes"] == told["header"]["lanes"]
    assert again["header"]["seed"] == query["seed"]
    assert [track["tokens"] for track in again["tracks"]] == [
        track["tokens"] for track in told["tracks"]
    ]


@pytest.mark.recorded
def test_a_link_that_cannot_be_raced_says_so_and_shows_what_is_recorded(visitors, recorded):
    visitor = opened(visitors(), {"prompt": "x", "lanes": "rule:<img src=x>~gamma:5"})
    assert "lane 2: unknown rule '<img src=x>'" in visitor.alert()
    visitor.until("window.__hsdSpeed.state !== 'running'")
    assert state(visitor)["domain"] == "Stories"
    assert verdict(visitor) == recorded[0]["report"]["verdict"]


def test_lanes_are_added_changed_and_removed_with_every_option_of_a_run(visitors):
    visitor = opened(visitors())
    fold(visitor, "Another prompt")
    visitor.page.get_by_label("pair", exact=True).select_option("tiny")
    visitor.page.get_by_role("button", name="Add a lane").click()
    visitor.page.locator("#hsd-lane-5-rule select").select_option("ensemble")
    weight = visitor.page.locator("#hsd-lane-5-draft-weight input[type=text]")
    weight.fill("0.25")
    visitor.page.locator(".hf-lanes summary", has_text="draft weight 0.25").wait_for()
    visitor.page.get_by_role("button", name="remove lane 2").click()
    visitor.page.locator("#hsd-race-gamma input[type=text]").fill("3")
    visitor.page.locator(".hf-lanes summary", has_text="HSD, γ = 3").wait_for()
    lanes = state(visitor)["setup"]["lanes"]
    assert [lane["gamma"] for lane in lanes] == [3, 3, 3]
    assert [lane.get("proposer", "model") for lane in lanes] == ["model", "ngram", "ngram"]
    visitor.page.get_by_label("prompt of the race").fill(SHARED["prompt"])
    visitor.page.locator("#hsd-race-max-new-tokens input[type=text]").fill("8")
    visitor.page.get_by_role("button", name="Race here").click()
    visitor.until(DONE)
    names = [lane["name"] for lane in state(visitor)["header"]["lanes"]]
    assert names[1:3] == ["HSD, γ = 3", "N-grams, γ = 3"]
    assert "draft weight 0.25" in names[3]
    assert visitor.page.locator('.hf-lane[data-lane="3"] .hp-lossy').is_visible()


def test_a_race_here_takes_a_pair_that_is_here(visitors):
    """No test's app has fetched the model of the recorded races."""
    visitor = opened(visitors())
    assert state(visitor)["header"]["pair"] == "smollm2"
    fold(visitor, "Another prompt")
    visitor.until("document.querySelector('.hf-setup select[aria-label=pair]').value === 'tiny'")
    visitor.page.locator("#hsd-race-max-new-tokens input[type=text]").fill("8")
    visitor.page.get_by_role("button", name="Race here").click()
    visitor.until("window.__hsdSpeed.state === 'done' && window.__hsdSpeed.domain === ''")
    assert state(visitor)["header"]["pair"] == "tiny"


def test_what_cannot_be_raced_is_one_line_in_the_form_and_nothing_shown_is_lost(visitors):
    visitor = opened(visitors())
    before = verdict(visitor)
    fold(visitor, "Another prompt")
    visitor.page.get_by_label("prompt of the race").fill("  ")
    line = "the prompt is empty: type some text to continue"
    visitor.page.locator(".hf-setup .hp-problem").get_by_text(line, exact=True).wait_for()
    visitor.page.get_by_role("button", name="Race here").click()
    assert "the prompt is empty" in visitor.alert()
    visitor.until("window.__hsdSpeed.state === 'failed'")
    assert verdict(visitor) == before
    assert state(visitor)["domain"] == "Stories"


def test_a_cancel_counts_at_once_also_before_the_server_has_answered(visitors):
    visitor = opened(visitors())
    visitor.page.evaluate(
        "() => { const named = (words) => [...document.querySelectorAll('.hf-part "
        "button')].find((one) => "
        "one.textContent === words); named('Race here').click(); named('Cancel').click() }"
    )
    visitor.until("window.__hsdSpeed.state === 'cancelled'")
    assert verdict(visitor) == "The race was cancelled. Nothing was timed yet."
    assert state(visitor)["domain"] == "Stories"  # what was there stays


CANCEL_AT_FIRST_REPORT = """() => {
  const { state, report, domain } = window.__hsdSpeed;
  // a recorded race, which has a domain, stays until then
  if (state !== "running" || domain || !report) return false;
  const buttons = [...document.querySelectorAll("#hsd-tab-speed button")];
  buttons.find((button) => button.textContent === "Cancel").click();
  return true;
}"""


def test_a_race_cancelled_between_lanes_keeps_the_numbers_of_the_lanes_that_were_timed(
    visitors, reports
):
    visitor = opened(visitors(), LONG)
    # from here it could come a lane too late
    visitor.page.wait_for_function(CANCEL_AT_FIRST_REPORT, polling=5)
    visitor.until("window.__hsdSpeed.state === 'cancelled'")
    told = state(visitor)
    assert told["report"] == reports.call("(race) => recorded.reportOf(race)", told)
    assert verdict(visitor).startswith("The race was cancelled. What was timed until then: ")
    named = {row["case"] for row in told["report"]["rows"]}
    untimed = [lane["name"] not in named for lane in told["header"]["lanes"]]
    assert [words == "not timed" for words in rates(visitor)] == untimed
    assert visitor.page.get_by_role("button", name="Race here").is_enabled()


# ---- the calculator


@pytest.fixture(scope="module")
def costs():
    engine = Engine({"costs": "speed/costs.js"})
    yield engine
    engine.stop()


def samples(gamma: int, **tokens: list[float]) -> list[dict]:
    """Of each rule on each text, in ten passes."""
    rules = {"vanilla": "tokenwise", "hsd": "hsd"}
    return [
        {"gamma": gamma, "rule": rules[name], "text": i, "tokens": x, "passes": 10}
        for name, own in tokens.items()
        for i, x in enumerate(own)
    ]


def test_speed_ups_and_their_ratio_are_those_worked_out_by_hand(costs):
    given = samples(1, vanilla=[14, 16], hsd=[14, 16])
    given += samples(4, vanilla=[18, 22, 20], hsd=[20, 24, 22])
    one, four = costs.call(
        "(all) => costs.points(costs.gathered(all), costs.even(0.1, 0.05))", given
    )
    # 1 + 0.1 for the pass over two, 0.05 for the draft
    assert one["speeds"] == pytest.approx([1.5 / 1.15] * 2)
    assert one["ratio"] == pytest.approx([1, 1, 1])
    assert four["speeds"] == pytest.approx([2 / 1.6, 2.2 / 1.6])
    value, low, high = four["ratio"]
    # each text left out in turn; Student's t of two degrees is 4.3027
    without = [46 / 42, 42 / 38, 44 / 40]
    middle = sum(without) / 3
    half = 4.302653 * (2 / 3 * sum((x - middle) ** 2 for x in without)) ** 0.5
    assert (value, low, high) == pytest.approx((1.1, 1.1 - half, 1.1 + half), rel=1e-5)


def test_costs_that_were_moved_there_and_back_are_those_that_were_measured(costs):
    words = """(times) => {
      const own = costs.costsOf(times);
      const moved = costs.scaled(own, 2 * costs.further(own), 3);
      const back = costs.scaled(moved, costs.further(own), own.drafted);
      return [1, 2, 3, 5, 9].map((width) => [own.pass(width), back.pass(width), moved.pass(width)]);
    }"""
    times = {"1": 10.0, "2": 12.0, "4": 20.0, "9": 60.0, "draft": 1.0}
    for own, back, moved in costs.call(words, times):
        assert back == pytest.approx(own)
        assert moved == pytest.approx(1 + 2 * (own - 1))


def test_a_pass_lies_on_the_line_between_those_that_were_timed(costs):
    times = {"1": 10.0, "2": 12.0, "4": 20.0, "draft": 1.0}
    words = """(times) => {
      const { pass, drafted } = costs.costsOf(times);
      return [1, 2, 3, 4, 5].map(pass).concat(drafted);
    }"""
    assert costs.call(words, times) == pytest.approx([1, 1.2, 1.6, 2.0, 2.4, 0.1])


def test_log_probabilities_and_the_output_of_estimate_give_the_same_rows(costs):
    """Rows of a file of texts by the page, and of what `hsd estimate` says of it."""
    random = np.random.default_rng(2)
    logp = -random.exponential(1, (5, 30))
    logq = np.minimum(logp + random.normal(-0.2, 0.7, logp.shape), 0)
    texts = [ScoredText(p, q) for p, q in zip(logp, logq, strict=True)]
    lines = [{"logp": p.tolist(), "logq": q.tolist()} for p, q in zip(logp, logq, strict=True)]
    rows = costs.call("(text) => costs.opened(text)", "\n".join(map(json.dumps, lines)))
    found = estimate(texts, 8)
    whole = costs.call("(text) => costs.opened(text)", json.dumps(as_json(found, per_text=True)))
    assert [row["gamma"] for row in rows] == list(range(1, 9))
    for row, other in zip(rows, whole, strict=True):
        for rule in ("tokenwise", "hsd"):
            passes = found.rules[rule].passes[:, row["gamma"] - 1]
            for given in (row["given"][rule], other["given"][rule]):
                assert np.allclose(given, [[30, count] for count in passes], rtol=1e-12)
    [first, *_] = costs.call("(text) => costs.opened(text)", json.dumps(as_json(found)))
    [[tokens, passes]] = first["given"]["hsd"]
    assert tokens / passes == pytest.approx(found.rules["hsd"].tokens_per_pass.value[0])


@pytest.mark.parametrize(
    "line",
    [
        {"logp": [-1, -2], "logq": [-1]},
        {"logp": [0.5], "logq": [-1]},
        {"logp": ["-inf"], "logq": [-1]},
        {"logp": [None], "logq": [-1]},
        {"logp": [], "logq": []},
    ],
)
def test_log_probabilities_that_are_none_are_refused(costs, line):
    words = "(text) => { try { costs.opened(text) } catch (error) { return error.message } }"
    assert "text 1 has other numbers" in costs.call(words, json.dumps(line))


def test_the_answer_names_the_best_lengths_and_where_the_rules_are_level(costs):
    given = samples(1, vanilla=[15, 15], hsd=[15, 15]) + samples(4, vanilla=[20, 20], hsd=[22, 22])
    say = """(all, more, drafted, share = undefined) => {
      const even = costs.even(more, drafted);
      return costs.answer(costs.points(costs.gathered(all), even, share), "own", share);
    }"""
    assert costs.call(say, given, 0, 0, 0.5).startswith(
        "Switch it on at your costs: HSD is 1.10 × plain decoding at γ = 4, vanilla 1.00 × at "
        "γ = 4, which is 50 % of what the passes alone allow"
    )
    assert costs.call(say, given, 0, 0) == (
        "Switch it on at your costs: HSD is 2.20 × plain decoding at γ = 4, vanilla "
        "2.00 × at γ = 4, if only the passes took time. "
        "At γ = 4 HSD is 1.10 × vanilla (1.10–1.10); at γ = 1 they are level."
    )
    assert costs.call(say, given, 1, 0).startswith(
        "Leave it off at your costs: at their best vanilla is 0.75 ×"
    )


def test_a_trace_and_a_benchmark_give_the_rows_that_python_has(costs):
    trace = Trace.from_file(TRACES / "lighthouse.json")
    steps = [step for step in trace.steps if step.drafted == trace.setup.options.draft.gamma]
    row = costs.call("(text) => costs.opened(text)", (TRACES / "lighthouse.json").read_text())[-1]
    for rule, given in row["given"].items():
        kept = [1 + step.expected_kept[rule] for step in steps]
        assert [tokens for tokens, _ in given] == pytest.approx(kept, abs=1e-6)
    rows = costs.call("(text) => costs.opened(text)", TOY.read_text())
    assert [row["gamma"] for row in rows] == [3, 5, 10]
    named = {row["case"]: row["block_efficiency"][0] for row in read(TOY).rows()}
    for row in rows:
        for rule, given in row["given"].items():
            rate = sum(tokens for tokens, _ in given) / sum(passes for _, passes in given)
            assert rate == pytest.approx(named[f"{rule}, γ={row['gamma']}"])


@pytest.mark.core
@pytest.mark.recorded
def test_the_calculator_answers_for_its_costs_and_for_a_visitors_file(
    visitors, costs, reports, tmp_path
):
    visitor = opened(visitors())
    card = visitor.page.locator(".hf-calculator")
    recorded = [json.loads(file.read_text()) for file in site.LENGTHS]
    shares = reports.call("recorded.sharesOf", race.recordings()["races"])
    shown = "costs.points(costs.gathered(told.samples), costs.costsOf(told.passes[name]), share)"
    say = f"(told, name, share = undefined) => costs.answer({shown}, name, share)"
    verdict = card.locator(".hf-verdict")
    for told in recorded:
        card.get_by_role("radio", name=told["title"]).check()
        for name, words in (("here", "CPU, as recorded"), ("browser", "browser, as recorded")):
            if name in told["passes"]:
                card.get_by_role("radio", name=words).check()
                raced = shares[told["pair"]]
                is_here = name == "here" and raced["processor"] == told["machine"]["processor"]
                share = raced["share"] if is_here else None
                assert verdict.inner_text() == costs.call(say, told, name, *filter(None, [share]))
                known = "of what the passes alone allow" if share else "if only the passes took"
                assert known in verdict.inner_text()
                lengths = {one["gamma"] for one in told["samples"]}
                assert card.locator("tbody tr").count() == len(lengths)
    card.get_by_role("radio", name="CPU, as recorded").check()
    numbers = card.locator("tbody td")
    before = numbers.all_inner_texts()
    for slider in card.locator("input[type=range]").all():
        value = slider.input_value()
        slider.fill("0.5")
        assert numbers.all_inner_texts() != before
        slider.fill(value)
        assert numbers.all_inner_texts() == before
    fits = """(chart) => {
      const { x, width } = chart.getBBox();
      return x >= 0 && x + width <= chart.viewBox.baseVal.width;
    }"""
    for width in (390, 1280):
        visitor.page.set_viewport_size({"width": width, "height": 800})
        chart = card.locator(".hf-curves")
        box = card.bounding_box()
        assert chart.bounding_box()["width"] < box["width"] <= width, "no part of it is cut"
        assert chart.evaluate(fits), "no letter is cut"
        size = chart.evaluate(
            "(chart) => parseFloat(getComputedStyle(chart).fontSize) * chart.getScreenCTM().a"
        )
        assert 11 < size < 15, "letters are as large on a phone"
    card.get_by_label("cost of a drafted token").fill("0.5")
    assert card.get_by_role("radio", name="your own").is_checked()
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"cases": []}')
    box = card.locator("[type=file]")
    box.set_input_files(wrong)
    visitor.page.locator(
        ".hf-alert-words", has_text="wrong.json: it has no drafts by both rules"
    ).wait_for()
    box.set_input_files(TOY)
    card.get_by_role("radio", name="your file").wait_for()
    assert card.locator("tbody th").all_inner_texts() == ["3", "5", "10"]
    assert "at your costs" in verdict.inner_text()
    card.get_by_role("radio", name="all kinds").check()
    card.get_by_role("radio", name="CPU, as recorded").check()
    card.get_by_role("radio", name="your file").check()
    assert "at assumed costs" in verdict.inner_text(), "they are of another pair"
    assert "if only the passes took time" in verdict.inner_text()
    assert not card.get_by_role("radio", name="CPU, as recorded").count()
    card.get_by_role("radio", name="all kinds").check()
    assert "at the costs of the recorded CPU" in verdict.inner_text()
    box.set_input_files(TRACES / "lighthouse.json")
    visitor.until("window.__hsdSpeed.calculator.length === 4")


# ---- benchmarks


def table(visitor) -> list[list[str]]:
    rows = visitor.page.locator("[aria-label=Benchmark] .hf-bench tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def lines(file: Path) -> list[list[str]]:
    return shown(read(file).rows(), read(file))


def shown(rows: list[Row], benchmark: Benchmark) -> list[list[str]]:
    """The cells of these rows as the page draws them."""
    names = columns(benchmark.rows())
    return [[cell or "–" for cell in row] for row in cells_in(rows, names)]


@pytest.mark.core
@pytest.mark.recorded
def test_the_recorded_benchmarks_are_shown_and_can_be_saved(visitors):
    visitor = opened(visitors())
    assert table(visitor) == lines(RECORDED)
    about = read(RECORDED).header
    for words in (
        about["date"][:10],
        "pair smollm2",
        about["machine"]["processor"],
        "torch 2.13.0",
    ):
        assert words in visitor.page.inner_text("[aria-label=Benchmark] > .hp-hint")
    visitor.page.get_by_role("radio", name="toy pair").check()
    visitor.until("window.__hsdSpeed.benchmark.facts[0].startsWith('pair tiny,')")
    assert table(visitor) == lines(TOY)
    buttons = visitor.page.locator("[aria-label=Benchmark] > .hp-row")
    names = [
        line["case"]
        for line in csv.DictReader(io.StringIO(saved(visitor, buttons.get_by_text("CSV"))))
    ]
    assert names == [row["case"] for row in read(TOY).rows()]
    assert {"vanilla, γ=3", "HSD, γ=3"} <= {row[0] for row in table(visitor)}
    kept = json.loads(saved(visitor, buttons.get_by_text("JSON")))["view"]
    assert kept["facts"][0] == "pair tiny, temperature 1.0"


@pytest.mark.recorded
def test_prompts_of_several_kinds_have_tables_of_their_own(visitors):
    visitor = opened(visitors())
    choice = visitor.page.get_by_role("group", name="Kind of text")
    kinds = read(RECORDED).by_kind()
    assert choice.locator("input").count() == 1 + len(kinds) == 5
    for kind, rows in kinds.items():
        choice.get_by_role("radio", name=kind, exact=True).check()
        assert table(visitor) == shown(rows, read(RECORDED))
    choice.get_by_role("radio", name="all kinds").check()
    assert table(visitor) == lines(RECORDED)
    visitor.page.get_by_role("radio", name="toy pair").check()
    visitor.until("window.__hsdSpeed.benchmark.facts[0].startsWith('pair tiny,')")
    assert choice.is_hidden()
    assert table(visitor) == lines(TOY)


@pytest.mark.recorded
def test_charts_are_drawn_when_they_are_seen_and_by_the_pages_policy(visitors):
    visitor = opened(visitors())
    assert not visitor.page.evaluate("Boolean(window.Plotly)")
    fold(visitor, "Charts")
    visitor.page.locator(".hp-chart .main-svg").nth(3).wait_for()
    titles = visitor.page.locator(".hp-chart figcaption").all_inner_texts()
    assert titles == [chart["title"] for chart in site.benchmark("smollm2")["charts"]]
    assert visitor.page.locator(".hp-chart .scatterlayer .trace").count() > 1
    bars = visitor.page.locator(".hp-chart .point path")
    assert max(bars.evaluate_all("all => all.map((e) => e.getBoundingClientRect().width)")) > 50
    fills = bars.evaluate_all(
        "all => all.map((e) => e.style.fill).filter((fill) => fill.startsWith('url'))"
    )
    assert fills, "hatches say the same without colour"
    assert all(fill.startswith('url("#') for fill in fills), (
        "the page's address changes, and hatches stay"
    )


@pytest.mark.recorded
def test_the_command_stands_beside_the_table(visitors):
    visitor = opened(visitors())
    fold(visitor, "The same on your machine")
    assert (
        visitor.page.locator(".hf-code code").first.inner_text()
        == site.benchmark("smollm2")["command"]
    )


@pytest.mark.core
@pytest.mark.recorded
def test_a_file_of_the_command_opens_with_a_server_and_without(visitors, tmp_path):
    visitor = opened(visitors())
    shown = view(read(TOY))
    shown["rows"][1][0] = "<b>mine</b> ${1+1}"
    shown["charts"][0]["data"][0]["name"] = "<b>mine</b>"
    good, bad, old = (tmp_path / name for name in ("good.jsonl", "bad.jsonl", "old.jsonl"))
    good.write_text(TOY.read_text() + json.dumps({"view": shown}) + "\n")
    bad.write_text(json.dumps({"view": {**shown, "rows": [["x"], 3]}}))
    old.write_text(
        "".join(line for line in TOY.read_text().splitlines(True) if not line.startswith('{"view"'))
    )
    box = visitor.page.locator("[aria-label='file of a benchmark']")
    box.set_input_files(good)
    visitor.page.locator(".hp-option", has_text="your file").wait_for()
    assert table(visitor)[1][0] == "<b>mine</b> ${1+1}"
    fold(visitor, "Charts")
    visitor.page.locator(".hp-chart .legendtext", has_text="‹b>mine‹/b>").wait_for()
    before = table(visitor)
    for file in (bad, old):
        box.set_input_files(file)
        visitor.page.locator(
            ".hf-alert-words", has_text=f"{file.name} has no view of a benchmark"
        ).wait_for()
        assert table(visitor) == before
    printed = tmp_path / "printed.json"
    printed.write_text(json.dumps({**read(TOY).header, "view": view(read(TOY))}))
    box.set_input_files(printed)
    visitor.until("window.__hsdSpeed.benchmark.rows[1][0] === 'vanilla, γ=3'")
    assert visitor.page.locator(".hf-alert").is_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.recorded
def test_nothing_sticks_out_on_a_phone(visitors, theme):
    visitor = opened(visitors(width=390), {"__theme": theme})
    for words in ("Where the time went", "Charts", "The same on your machine"):
        fold(visitor, words)
    visitor.page.locator(".hp-chart .main-svg").nth(3).wait_for()
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    for name in (".hf-race", ".hf-slider", ".hf-times", ".hf-verdict", ".hp-chart .main-svg"):
        box = visitor.page.locator(name).first.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
