"""The Race screen in a browser: every number on the page is the benchmark's."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pytest
from recorded_server import VLLM
from web_page import Guest, address, show

import hsd
from hsd import space
from hsd.bench import Case
from hsd.ui.race import recorded
from hsd.ui.race.plan import divergence_facts, drafters, rule_facts
from hsd.ui.race.report import report

READY = "window.__hsdRace && window.__hsdRace.ready"
DONE = "window.__hsdRace.state === 'done'"
SHARED = {"prompt": "Once upon a time, there was a fox", "length": 24, "temperature": 0.8, "seed": 7}
LONG = {"prompt": "Once upon a time", "length": 256, "temperature": 1, "lanes": "tokenwise~1,hsd~1", "rounds": 5}


def options(**more: object) -> dict:
    return {"max_new_tokens": SHARED["length"], "temperature": SHARED["temperature"], "seed": SHARED["seed"], **more}


def open_race(visitor, query: dict | None = None):
    visitor.open("?" + urlencode({"tab": "race", **(query or {})}))
    visitor.until(READY)
    return visitor


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdRace")


def raced_here(visitor, query: dict):
    """Open a link that races, and wait for the end."""
    open_race(visitor, query)
    visitor.until(DONE)
    return state(visitor)


def verdict(visitor, card: str) -> dict[str, str]:
    """The two lines of the verdict in a card, without their names."""
    lines = visitor.page.locator(f".hsd-race {card} .rc-lead p").all()
    return {line.get_attribute("data-line"): line.inner_text().partition(": ")[2] for line in lines}


def table(visitor) -> dict[str, dict[str, str]]:
    rows = visitor.page.locator(".rc-results .rc-table tbody tr").all()
    return {
        row.get_attribute("data-case"): {
            cell.get_attribute("data-column"): cell.text_content() for cell in row.locator("td").all()
        }
        for row in rows
    }


def expected(told: dict) -> dict:
    """The report of the records that the page has."""
    cases = [Case(lane["name"], lane["options"]) for lane in told["header"]["lanes"]]
    return report(cases, [event["record"] for event in told["items"] if "record" in event])


@pytest.mark.core
@pytest.mark.recorded(core=True)
def test_the_page_shows_the_recorded_race_before_any_click(visitors):
    visitor = open_race(visitors())
    told = state(visitor)
    shown = recorded.read()["races"][0]
    assert told["recorded"]
    assert told["state"] == "none"
    source = visitor.page.inner_text(".rc-source")
    assert source.startswith("Recorded on ")
    assert "CPU" in source
    assert verdict(visitor, '[aria-label="The race"]') == shown["result"]["lead"]
    for track, row in zip(told["tracks"], shown["result"]["rows"], strict=True):
        assert len(track["tokens"]) == row["tokens"]
        assert track["shown"] == track["steps"]


@pytest.mark.core
@pytest.mark.recorded
def test_each_domain_has_a_recorded_race_and_one_table_has_all(visitors):
    visitor = open_race(visitors())
    shown = recorded.read()
    names = [race["domain"] for race in shown["races"]]
    assert visitor.page.locator(".rc-choice .hp-option").all_inner_texts() == names
    for race in shown["races"][::-1]:
        visitor.page.get_by_role("radio", name=race["domain"]).check()
        told = state(visitor)
        assert told["domain"] == race["domain"]
        assert visitor.page.inner_text(".rc-results .hp-title >> nth=0") == f"Result: {race['domain']}"
        assert race["header"]["prompt"][:40] in visitor.page.inner_text(".rc-prompt")
        assert verdict(visitor, '[aria-label="The race"]') == race["result"]["lead"]
        assert [len(track["tokens"]) for track in told["tracks"]] == [row["tokens"] for row in race["result"]["rows"]]
        for row in race["result"]["rows"]:
            assert row["sentence"] in visitor.page.inner_text(".rc-why")
    assert verdict(visitor, '[aria-label="All domains"]') == shown["all"]["lead"]
    columns = [*((race["domain"], race["result"]) for race in shown["races"]), ("All", shown["all"])]
    for i, row in enumerate(shown["all"]["rows"][1:], start=1):
        line = visitor.page.locator(".rc-domains tbody tr").nth(i - 1)
        assert line.locator("th").inner_text().replace("\u00a0", " ") == row["case"]
        for j, (title, report_) in enumerate(columns):
            cell, own = line.locator("td").nth(j), report_["rows"][i]
            assert cell.get_attribute("data-label") == title
            speeds = f" ({own['speedups'][0]:.2f}–{own['speedups'][1]:.2f})" if own["runs"] > 1 else ""
            assert cell.locator(".rc-speedup").text_content() == f"{own['speedup']:.2f} ×{speeds}"
            assert cell.locator(".rc-tokens").text_content() == f"{own['tokens_per_call']:.2f} per call"


def test_a_live_race_takes_the_place_of_all_recorded_ones(visitors):
    visitor = visitors()
    told = raced_here(visitor, {**SHARED, "lanes": "hsd~4"})
    assert not visitor.page.is_visible(".rc-choice")
    assert not visitor.page.is_visible(".rc-domains")
    assert verdict(visitor, '[aria-label="The race"]') == expected(told)["lead"]


def test_a_lane_can_draft_by_n_grams_of_the_text(visitors):
    visitor = open_race(visitors(), {"lanes": "traversal~4~3~distinct,hsd~4"})
    visitor.page.get_by_label("drafter of lane 2").select_option("ngram")
    assert visitor.page.get_by_label("drafts of lane 2").count() == 0
    assert visitor.page.get_by_label("draft length of lane 2").is_visible()
    for name, value in SHARED.items():
        visitor.set(name, str(value))
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    assert list(table(visitor)) == ["Plain decoding", "N-grams, HSD, γ = 4", "HSD, γ = 4"]
    run = hsd.run(hsd.load_pair("tiny"), SHARED["prompt"], **options(rule="hsd", gamma=4, proposer="ngram"))
    assert state(visitor)["tracks"][1]["tokens"] == run.tokens
    visitor.until("location.search.includes('ngram')")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert asked["lanes"] == "ngram~hsd~4,hsd~4"
    again = raced_here(visitors(), asked)
    assert [lane["name"] for lane in again["header"]["lanes"]] == list(table(visitor))
    visitor.page.get_by_label("drafter of lane 2").select_option("speculative")
    assert visitor.page.get_by_label("drafts of lane 2").input_value() == "1"


def test_the_table_says_what_python_computes_from_the_same_records(visitors):
    visitor = visitors()
    told = raced_here(visitor, {**SHARED, "lanes": "tokenwise~4,hsd~4,traversal~3~3~distinct", "rounds": 3})
    found = expected(told)
    assert told["result"] == json.loads(json.dumps(found))
    shown = table(visitor)
    assert list(shown) == [
        "Plain decoding",
        "Vanilla, γ = 4",
        "HSD, γ = 4",
        "Traversal, γ = 3, 3 drafts, first tokens differ",
    ]
    for i, row in enumerate(found["rows"]):
        cells = shown[row["case"]]
        assert cells["tokens"] == str(row["tokens"])
        assert cells["target_calls"] == str(row["target_calls"])
        assert cells["tokens_per_call"] == f"{row['tokens_per_call']:.2f}"
        assert float(cells["seconds"]) == pytest.approx(row["seconds"], rel=5e-3)
        assert float(cells["tokens_per_second"].replace(",", "")) == pytest.approx(row["tokens_per_second"], rel=0.03)
        speeds = [float(x) for x in re.findall(r"[\d.]+", cells["speedup"])]
        wanted = [row["speedup"], *row["speedups"]] if i else [1.0]
        assert speeds == pytest.approx(wanted, abs=0.0051)
        for name in ("limit", "efficiency"):
            assert cells[name] == "–" if not i else float(cells[name]) == pytest.approx(row[name], abs=0.0051)
        assert row["sentence"] in visitor.page.inner_text(".rc-why")
        assert row["pays"] in visitor.page.inner_text(".rc-steps")
        assert not row["step"] or in_the_picture(visitor, row) is (row["speedup"] > 1)
        bar = visitor.page.locator(".rc-times li").nth(i)
        assert bar.get_attribute("data-case") == row["case"]
        width = bar.locator(".rc-stack").evaluate("e => e.getBoundingClientRect().width / e.parentElement.clientWidth")
        longest = max(r["ms_per_token"] for r in found["rows"])
        assert width == pytest.approx(row["ms_per_token"] / longest, abs=0.01)
        shares = bar.locator(".rc-share").evaluate_all("all => all.map(e => Number(e.style.flexGrow))")
        assert shares == pytest.approx([max(x, 1e-4) for x in row["shares"].values()], abs=1e-3)
    assert "3 timed runs per lane" in visitor.page.inner_text(".rc-basis")


def in_the_picture(visitor, row: dict) -> bool:
    """Whether the mark of what a step brought stands right of the end of what it cost."""
    lane = visitor.page.locator(f".rc-steps [data-case='{row['case']}']")
    mark = lane.locator(".rc-brought").bounding_box()
    end = lane.locator(".rc-share").last.bounding_box()
    return mark["x"] + mark["width"] / 2 > end["x"] + end["width"]


LANES_ALONE = """<body><script type="module">
import { Lanes } from "./race/lanes.js";
const facts = %s;
window.lanes = (chosen, gamma) => {
  const lanes = new Lanes(facts, { lanes: chosen, rounds: 1 }, gamma, { changed: () => {} });
  document.body.replaceChildren(lanes.element);
  return lanes;
};
</script></body>"""


def test_lanes_that_nobody_has_chosen_draft_as_many_tokens_as_the_pair_likes(chromium):
    facts = {
        "rules": rule_facts(),
        "divergences": divergence_facts(),
        "drafters": drafters(space.load()),
        "trees": [],
        "most": 5,
    }
    facts |= {"rounds": [1], "limits": {"gamma": 32, "drafts": 16}, "defaults": {"tolerance": 0.3}}
    guest = Guest(chromium, address())
    show(guest.page, LANES_ALONE % json.dumps(facts))
    guest.page.wait_for_function("window.lanes")
    said = guest.page.evaluate(
        """() => {
          const [usual, chosen] = [lanes(null, 2), lanes([{ rule: "hsd", gamma: 7, drafts: 1, tree: "paths" }], 2)];
          const gammas = () => [usual, chosen].map((one) => one.lanes.map((lane) => lane.gamma).join());
          const first = gammas();
          for (const one of [usual, chosen]) one.follow(5);
          const then = gammas();
          usual.append();
          usual.follow(2);
          return [...first, ...then, ...gammas()];
        }"""
    )
    guest.close()
    assert said == ["2,2", "7", "5,5", "7", "5,5,10", "7"]


def test_the_sidebars_prompt_and_sampling_are_raced_and_lanes_write_what_hsd_run_writes(visitors):
    visitor = open_race(visitors())
    for name, value in SHARED.items():
        visitor.set(name, str(value))
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    told = state(visitor)
    assert told["header"]["prompt"] == SHARED["prompt"]
    pair = hsd.load_pair("tiny")
    own = [{"system": "plain"}, {"rule": "tokenwise", "gamma": 5}, {"rule": "hsd", "gamma": 5}]
    for i, more in enumerate(own):
        run = hsd.run(pair, SHARED["prompt"], **options(**more))
        assert told["tracks"][i]["tokens"] == run.tokens
        assert [e["text"] for e in told["items"] if e["lane"] == i and "text" in e] == [run.text] * (
            1 + told["header"]["rounds"]
        )
        written = visitor.page.locator(".rc-flow").nth(i).text_content()
        assert written.split() == "".join(c.piece for s in run.steps for c in s.committed).split()
    assert visitor.page.inner_text(".rc-source").startswith("Run here just now")


@pytest.mark.recorded
def test_the_replay_shows_each_step_when_it_had_ended(visitors):
    visitor = open_race(visitors())
    told = state(visitor)
    row = told["result"]["rows"][2]
    ends = [s["end"] for e in told["items"] if (e["lane"], e["repetition"]) == (2, row["replay"]) for s in e["steps"]]
    middle = (ends[4] + ends[5]) / 2
    visitor.page.locator(".rc-slider").evaluate(
        "(e, time) => { e.value = time; e.dispatchEvent(new Event('input')) }", middle
    )
    assert state(visitor)["tracks"][2]["shown"] == 5
    hidden = visitor.page.locator('.rc-track[data-lane="2"] .rc-block.is-later').count()
    assert hidden == len(ends) - 5
    visitor.page.select_option(".rc-speed", "4")
    visitor.page.get_by_role("button", name="Again").click()
    visitor.until("window.__hsdRace.playing || window.__hsdRace.time >= window.__hsdRace.length")
    visitor.until("!window.__hsdRace.playing && window.__hsdRace.time >= window.__hsdRace.length")
    assert all(t["shown"] == t["steps"] for t in state(visitor)["tracks"])


@pytest.mark.recorded
def test_playing_can_be_paused_and_goes_on_from_there(visitors):
    visitor = open_race(visitors())
    visitor.page.select_option(".rc-speed", "0.01")
    visitor.page.locator(".rc-replay .hp-play").press("Enter")
    visitor.until("window.__hsdRace.playing && window.__hsdRace.time > 0")
    visitor.page.get_by_role("button", name="pause").click()
    paused = state(visitor)
    assert not paused["playing"]
    assert 0 < paused["time"] < paused["length"]
    visitor.page.get_by_role("button", name="play", exact=True).click()
    visitor.until(f"window.__hsdRace.playing && window.__hsdRace.time > {paused['time']}")


def test_cancelling_keeps_what_there_is(visitors):
    visitor = open_race(visitors(), LONG)
    visitor.until("window.__hsdRace.result === null && window.__hsdRace.tracks[0].shown > 5")
    visitor.page.click(".rc-cancel")
    visitor.until("window.__hsdRace.state === 'cancelled'")
    told = state(visitor)
    assert len(told["tracks"][0]["tokens"]) > 5
    assert "cancelled" in visitor.page.inner_text(".hsd-race .hp-notice")
    assert not visitor.page.is_visible(".rc-cancel")
    assert visitor.page.is_enabled(".rc-go")


def test_a_cancel_that_comes_before_the_server_has_answered_counts(visitors):
    visitor = open_race(visitors())
    visitor.page.evaluate("document.querySelector('.rc-go').click(); document.querySelector('.rc-cancel').click()")
    visitor.until("window.__hsdRace.state === 'cancelled' && !window.__hsdRace.running")
    assert "cancelled before it began" in visitor.page.inner_text(".hsd-race .hp-notice")
    assert state(visitor)["recorded"]  # what was there stays


def test_a_race_cancelled_between_lanes_keeps_the_numbers_of_the_lanes_that_were_timed(visitors):
    visitor = open_race(visitors(), LONG)
    timed = "window.__hsdRace.items.some((event) => event.record && event.repetition === 1)"
    visitor.until(f"!window.__hsdRace.recorded && {timed}")
    visitor.page.click(".rc-cancel")
    visitor.until("window.__hsdRace.state === 'cancelled' && window.__hsdRace.result !== null")
    told = state(visitor)
    assert told["result"] == json.loads(json.dumps(expected(told)))
    shown = table(visitor)
    assert shown["Plain decoding"]["speedup"] == "1.00"
    named = {row["case"] for row in told["result"]["rows"]}
    assert {name for name, cells in shown.items() if cells.get("none") == "not timed"} == set(shown) - named


def test_a_lane_can_be_added_changed_and_removed(visitors):
    visitor = open_race(visitors())
    visitor.page.click(".rc-add")
    lane = visitor.page.locator('.rc-lane[data-lane="3"]')
    lane.get_by_label("drafts of lane 4").fill("4")
    lane.get_by_label("drafts of lane 4").blur()
    lane.get_by_label("rule of lane 4").select_option("traversal")
    lane.get_by_label("tree of lane 4").select_option("top")  # traversal does not fit it
    assert state(visitor)["lanes"][2] == {"rule": "one-hot", "gamma": 10, "drafts": 4, "tree": "top"}
    visitor.page.click(".rc-add")
    assert visitor.page.is_disabled(".rc-add")  # five lanes with plain decoding
    visitor.page.get_by_role("button", name="remove lane 2").click()
    assert [one["rule"] for one in state(visitor)["lanes"]] == ["hsd", "one-hot", "one-hot"]
    visitor.set("length", "8")
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    assert [one["name"] for one in state(visitor)["header"]["lanes"]] == [
        "Plain decoding", "HSD, γ = 5", "One-hot, γ = 10, 4 drafts, likeliest first",
        "One-hot, γ = 20, 4 drafts, likeliest first"]  # fmt: skip


def test_a_stack_early_exits_and_fsd_can_be_chosen_raced_and_linked(visitors):
    visitor = open_race(visitors())
    visitor.page.click(".rc-add")
    for lane, system in ((2, "stack"), (3, "hispec")):
        visitor.page.get_by_label(f"drafter of lane {lane}").select_option(system)
    visitor.page.get_by_label("thresholds of lane 2").fill("3, 4<b>")  # what is no number is taken out
    visitor.page.get_by_label("exits of lane 3").fill("2 4")
    visitor.page.get_by_label("rule of lane 4").select_option("fuzzy")
    visitor.page.get_by_label("tolerance of lane 4").fill("0.5")
    visitor.page.get_by_label("tolerance of lane 4").blur()
    assert visitor.page.locator(".rc-lane .rc-warning").count() == 1
    for name, value in {**SHARED, "length": 8}.items():
        visitor.set(name, str(value))
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    names = ["Model stack, Vanilla, T = 3/4", "HiSpec, HSD, exits 2/4", "FSD, γ = 10, KL ≤ 0.5"]
    assert list(table(visitor)) == ["Plain decoding", *names]
    assert visitor.page.locator('.rc-track[data-lane="3"] .rc-warning').count() == 1
    visitor.until("location.search.includes('hispec')")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert asked["lanes"] == "stack~tokenwise~3_4,hispec~hsd~2_4~,fuzzy~10~0.5~kl"
    again = raced_here(visitors(), asked)
    assert [lane["name"] for lane in again["header"]["lanes"]] == ["Plain decoding", *names]


def test_the_link_of_a_race_runs_it_again(visitors):
    visitor = visitors()
    query = {"prompt": "A mole & a <b>hat</b>", "seed": "12345678901234567890", "length": "12", "temperature": "0.8"}
    told = raced_here(visitor, {**query, "lanes": "hsd~3,traversal~3~2~distinct", "rounds": "3"})
    visitor.until("/rounds=3(&|$)/.test(location.search) && location.search.includes('prompt=')")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert {name: asked[name] for name in query} == query
    assert (asked["tab"], asked["lanes"], asked["rounds"]) == ("race", "hsd~3,traversal~3~2~distinct", "3")
    again = raced_here(visitors(), asked)
    assert again["lanes"] == told["lanes"]
    assert again["header"]["seed"] == query["seed"]
    assert [track["tokens"] for track in again["tracks"]] == [track["tokens"] for track in told["tracks"]]


def test_a_link_with_lanes_that_are_none_shows_the_usual_ones(visitors):
    visitor = open_race(visitors(), {"lanes": "<img src=x>~5,hsd~99", "rounds": "400"})
    told = state(visitor)
    assert [lane["rule"] for lane in told["lanes"]] == ["tokenwise", "hsd"]
    assert told["rounds"] == 3


def test_a_bad_prompt_is_one_line_and_nothing_shown_is_lost(visitors):
    visitor = open_race(visitors())
    before = visitor.page.inner_text(".rc-results")
    visitor.set("prompt", "   ")
    visitor.page.click(".rc-go")
    assert visitor.alert() == "the prompt is empty: type some text to continue"
    visitor.until("!window.__hsdRace.running")
    assert visitor.page.inner_text(".rc-results") == before
    assert state(visitor)["recorded"]
    visitor.set("prompt", "word " * 780)  # more tokens than the models read
    visitor.page.click(".rc-go")
    visitor.until("window.__hsdRace.state === 'failed'")
    assert "shorten the prompt" in visitor.alert()
    assert visitor.page.inner_text(".rc-results") == before


def test_table_and_race_can_be_saved(visitors, tmp_path: Path):
    visitor = visitors()
    told = raced_here(visitor, {**SHARED, "lanes": "tokenwise~4,hsd~4"})
    saved = {}
    for kind in ("csv", "json"):
        with visitor.page.expect_download() as download:
            visitor.page.click(f".rc-{kind}")
        download.value.save_as(tmp_path / f"race.{kind}")
        saved[kind] = (tmp_path / f"race.{kind}").read_text(encoding="utf-8")
    lines = list(csv.DictReader(io.StringIO(saved["csv"])))
    for line, row in zip(lines, told["result"]["rows"], strict=True):
        assert line["lane"] == row["case"]
        assert float(line["speedup"]) == row["speedup"]
        assert float(line["share_target"]) == row["shares"]["target"]
        assert line["limit"] == ("" if row is told["result"]["rows"][0] else str(row["limit"]))
    whole = json.loads(saved["json"])
    (tmp_path / "again.json").write_text(saved["json"], encoding="utf-8")
    (again,) = recorded.read(tmp_path / "again.json")["races"]
    assert again["result"] == whole["races"][0]["report"] == json.loads(json.dumps(expected(told)))
    assert again["header"]["prompt"] == SHARED["prompt"]


def test_hostile_tokens_and_prompts_stay_text(visitors):
    prompt = "<img src=x onerror=alert(1)> ${1+1} {{2}}"
    visitor = visitors()
    raced_here(visitor, {"prompt": prompt, "length": 8, "lanes": "hsd~3"})
    assert prompt in visitor.page.inner_text(".rc-prompt")
    assert visitor.page.locator(".hsd-race img").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.recorded
def test_nothing_sticks_out_on_a_phone(visitors, theme):
    visitor = open_race(visitors(width=390), {"lanes": "tokenwise~5,traversal~4~4~distinct", "__theme": theme})
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    live = [] if visitor.files else [".rc-go"]
    for name in (*live, ".rc-choice", ".rc-slider", ".rc-domains", ".rc-results .rc-table", ".rc-times", ".rc-why"):
        box = visitor.page.locator(name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    cells = visitor.page.locator(".rc-results .rc-table tbody tr").first.locator("td")
    assert cells.count() == 8
    assert all(cell.is_visible() for cell in cells.all())


def test_with_reduced_motion_a_race_ends_on_its_last_picture(visitors):
    visitor = visitors(reduced_motion="reduce")
    told = raced_here(visitor, {**SHARED, "lanes": "hsd~4"})
    assert not told["playing"]
    assert told["time"] == told["length"]
    assert visitor.page.locator(".rc-lead").first.get_attribute("role") == "status"


def test_a_servers_lane_shows_counts_and_seconds_and_stays_out_of_links(visitors, fake):
    fake.told = {"metrics": {"speculative_decoding": VLLM}}
    visitor = open_race(visitors())
    for name, value in SHARED.items():
        visitor.set(name, str(value))
    lane = visitor.page.locator('.rc-lanes [data-lane="2"]')
    lane.locator('[data-field="drafter"]').select_option("server")
    assert "counts and seconds only" in lane.inner_text()
    visitor.page.click(".rc-go")
    assert "no server is named: give its base URL" in visitor.alert()
    for field, value in (("url", f"{fake.url}/v1"), ("model", "one")):
        lane.locator(f'[data-field="{field}"]').fill(value)
        lane.locator(f'[data-field="{field}"]').blur()
    assert "127.0.0.1" not in unquote(visitor.page.evaluate("location.search"))
    visitor.page.click(".rc-go")
    visitor.until(DONE)
    told = state(visitor)
    assert told["result"] == expected(told)
    row = table(visitor)["Server, one"]
    assert (row["tokens"], row["target_calls"], row["speedup"], row["limit"]) == ("11", "–", "–", "–")
    track = visitor.page.locator('.rc-track[data-lane="2"]')
    assert "Model one; counts and seconds only, as the server tells them" in track.inner_text()
    assert "11 tokens" in track.locator(".rc-counts").inner_text()
    assert track.locator(".rc-bar").is_hidden()
    assert "acceptance length AL 2.75" in visitor.page.inner_text(".rc-why")
    link = parse_qs(urlsplit(visitor.page.evaluate("location.href")).query)
    assert link["lanes"] == ["tokenwise~5"]
    with visitor.page.expect_download() as found:
        visitor.page.click(".rc-json")
    assert fake.url not in Path(found.value.path()).read_text(encoding="utf-8")
    fake.trouble, fake.answers = "refused", 0
    visitor.page.click(".rc-go")
    assert "answers with HTTP 400: The prompt is too long" in visitor.alert()
