"""The Measure screen: a recorded benchmark before any click, small batches made here, files, links, programs."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from recorded_server import VLLM

from hsd.bench.report import Benchmark, cells, parse
from hsd.paths import EXAMPLES
from hsd.ui.measure.published import PUBLISHED, systems_here

RECORDED, TOY = (EXAMPLES / "results" / name for name in ("bench-smollm2.jsonl", "bench.jsonl"))
SMALL = {"rules": "hsd", "gammas": "4", "prompts": "2", "repetitions": "1", "tokens": "16"}
LONG = {"rules": "tokenwise,hsd", "gammas": "5,10", "prompts": "12", "repetitions": "5", "tokens": "48"}
SOME = {"rules": "hsd", "gammas": "5", "prompts": "4", "repetitions": "10", "tokens": "200"}
READY = "window.__hsdMeasure && window.__hsdMeasure.ready"


@pytest.fixture(scope="module")
def recorded() -> Benchmark:
    return parse(RECORDED.read_text().splitlines(), "recorded")


def measure(visitor, query: dict | None = None):
    """Open the Measure tab by a link and wait until it is drawn."""
    visitor.page.goto(visitor.app.url + "?" + urlencode({"tab": "measure", **(query or {})}))
    visitor.until(READY)
    visitor.page.locator("#hsd-measure-results .hm-table").wait_for()
    if query:
        command = visitor.page.locator(".hm-programs .hm-code pre").first
        command.get_by_text(f"--max-new-tokens {query['tokens']}").wait_for()
    return visitor


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdMeasure")


def table(visitor) -> list[list[str]]:
    """What the results table shows."""
    rows = visitor.page.locator("#hsd-measure-results .hm-table tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def expected(benchmark: Benchmark) -> list[list[str]]:
    return [[cell or "–" for cell in cells(row)] for row in benchmark.rows()]


def download(visitor, kind: str) -> str:
    with visitor.page.expect_download() as found:
        visitor.page.click(f'#hsd-measure-results [data-kind="{kind}"]')
    return Path(found.value.path()).read_text(encoding="utf-8")


def ended(visitor) -> str:
    """Wait until the batch is over and the buttons are back; returns how it ended, in words."""
    visitor.until("window.__hsdMeasure.job && window.__hsdMeasure.job.finished")
    visitor.page.locator("#hsd-measure-start:enabled").wait_for()
    return visitor.page.inner_text(".hm-progress")


@pytest.mark.core
@pytest.mark.recorded(core=True)
def test_the_recorded_benchmark_is_shown_on_opening_the_tab(visitor, recorded):
    visitor.page.get_by_role("tab", name="Measure").click()
    visitor.until(READY)
    visitor.page.locator("#hsd-measure-results .hm-table").wait_for()
    assert table(visitor) == expected(recorded)
    head = visitor.page.inner_text("#hsd-measure-results .hm-head")
    assert "Recorded benchmark" in head
    assert recorded.header["date"][:4] in head
    facts = visitor.page.inner_text(".hm-facts")
    for words in (
        recorded.header["machine"]["processor"],
        recorded.header["machine"]["torch"],
        recorded.header["pair"],
    ):
        assert words in facts
    if not visitor.files:
        visitor.until("document.querySelectorAll('#hsd-measure-charts .js-plotly-plot').length === 5")
    assert visitor.page.locator(".hm-published .hm-table tbody tr").count() >= len(PUBLISHED)
    claims = visitor.page.locator(".hm-claim .hm-here").all_text_contents()
    assert claims == [claim["here"] for claim in systems_here(recorded.rows())]


@pytest.mark.recorded
def test_the_toy_pairs_benchmark_is_one_click_away(visitors, recorded):
    visitor = measure(visitors())
    visitor.page.get_by_role("button", name="Recorded: toy pair").click()
    visitor.page.locator(".hm-facts", has_text="pair tiny").wait_for()
    assert table(visitor) == expected(parse(TOY.read_text().splitlines(), "toy"))
    assert json.loads(download(visitor, "jsonl").splitlines()[0])["pair"] == "tiny"
    visitor.page.get_by_role("button", name="Recorded: SmolLM2").click()
    visitor.page.locator(".hm-facts", has_text="pair smollm2").wait_for()
    assert table(visitor) == expected(recorded)


def test_a_small_batch_ends_and_its_table_is_that_of_its_file(visitors):
    visitor = measure(visitors(), SMALL)
    assert "8 runs of up to 16 tokens" in visitor.page.inner_text(".hm-words")
    visitor.page.click("#hsd-measure-start")
    visitor.page.locator("#hsd-measure-cancel:enabled").wait_for()
    assert ended(visitor) == "Done: 4 of 4 runs counted."
    visitor.until("window.__hsdMeasure.view.kind === 'live'")
    found = parse(download(visitor, "jsonl").splitlines(), "downloaded")
    assert [case["name"] for case in found.header["cases"]] == ["plain", "hsd, γ=4"]
    assert len(found.records) == 4
    assert table(visitor) == expected(found)
    assert [line["case"] for line in csv.DictReader(io.StringIO(download(visitor, "csv")))] == ["plain", "hsd, γ=4"]
    assert "Measured just now" in visitor.page.inner_text("#hsd-measure-results .hm-head")
    visitor.page.click("#hsd-measure-recorded-smollm2")
    visitor.until("window.__hsdMeasure.view.kind === 'recorded'")


def test_cancel_keeps_what_was_measured(visitors):
    visitor = measure(visitors(), SOME)
    visitor.page.click("#hsd-measure-start")
    visitor.until("window.__hsdMeasure.view.kind === 'live'")
    visitor.page.click("#hsd-measure-cancel")
    words = ended(visitor)
    assert words.startswith("Cancelled; ")
    assert "Shown is what was measured until then." in words
    found = parse(download(visitor, "jsonl").splitlines(), "downloaded")
    assert 0 < len(found.records) < 2 * 4 * 10
    assert table(visitor) == expected(found)


def test_cancel_before_the_first_round_leaves_what_was_shown(visitors, recorded):
    visitor = measure(visitors(), LONG)
    visitor.page.click("#hsd-measure-start")
    visitor.until("window.__hsdMeasure.job && window.__hsdMeasure.job.begun > 1")
    visitor.page.click("#hsd-measure-cancel")
    assert ended(visitor).startswith("Cancelled")
    assert table(visitor) == expected(recorded)


@pytest.mark.core
def test_a_file_is_opened_and_a_broken_one_is_one_line_and_loses_nothing(visitors, tmp_path):
    visitor = measure(visitors())
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    head, first, *others = map(json.loads, RECORDED.read_text().splitlines())
    head["pair"] = "<b>mine</b> ${1+1}"
    good.write_text("\n".join(map(json.dumps, [head, first, *others])))
    first["calls"] = {"target": 1, "draft": 2}
    bad.write_text("\n".join(map(json.dumps, [head, first, *others])))
    visitor.page.set_input_files("#hsd-measure-open input[type=file], input[type=file][accept*=jsonl]", good)
    visitor.until("window.__hsdMeasure.view.kind === 'file'")
    assert "pair <b>mine</b> ${1+1}" in visitor.page.inner_text(".hm-facts")
    before = table(visitor)
    visitor.page.set_input_files("#hsd-measure-open input[type=file], input[type=file][accept*=jsonl]", bad)
    visitor.page.locator(".hm-problem:not([hidden])", has_text="is not a run of this benchmark").wait_for()
    assert len(visitor.page.locator(".hm-problem").all_inner_texts()[0].splitlines()) == 1
    assert table(visitor) == before
    assert state(visitor)["view"]["kind"] == "file"


def test_a_pair_that_cannot_be_loaded_is_one_line_and_nothing_is_lost(visitors, recorded):
    visitor = measure(visitors(), {**SMALL, "target": "/no/target", "draft": "/no/draft"})
    assert "--target /no/target --draft /no/draft" in visitor.page.locator(".hm-programs pre").first.text_content()
    visitor.page.click("#hsd-measure-start")
    assert ended(visitor).startswith("Failed")
    problem = visitor.page.inner_text(".hm-problem")
    assert "/no/target" in problem
    assert len(problem.splitlines()) == 1
    assert table(visitor) == expected(recorded)


def test_a_wrong_setting_is_told_and_nothing_is_lost(visitors, recorded):
    visitor = measure(visitors())
    visitor.page.fill("#hsd-measure-gammas textarea, #hsd-measure-gammas input", "3, nine")
    visitor.page.locator(".hm-problem:not([hidden])", has_text="Draft length γ nine: choose a whole number").wait_for()
    visitor.page.click("#hsd-measure-start")
    assert table(visitor) == expected(recorded)
    visitor.page.fill("#hsd-measure-gammas textarea, #hsd-measure-gammas input", "3")
    visitor.page.locator(".hm-words", has_text="3 ways to decode").wait_for()
    assert visitor.page.locator(".hm-problem:not([hidden])").count() == 0


def test_further_systems_are_chosen_on_the_page_and_in_a_link(visitors):
    visitor = measure(visitors(), SMALL)
    visitor.page.get_by_role("button", name="Further systems").click()
    visitor.page.get_by_label("Model stack").check()
    visitor.page.fill("#hsd-measure-thresholds textarea, #hsd-measure-thresholds input", "3, many")
    visitor.page.locator(".hm-problem:not([hidden])", has_text="Threshold many: choose a whole number").wait_for()
    visitor.page.fill("#hsd-measure-thresholds textarea, #hsd-measure-thresholds input", "3, 4")
    visitor.page.locator(".hm-words", has_text="3 ways to decode").wait_for()
    visitor.until("location.search.includes('thresholds=3')")
    found = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert (found["systems"], found["thresholds"]) == ("stack", "3_4")
    again = measure(visitors(), found)
    assert again.page.inner_text(".hm-words") == visitor.page.inner_text(".hm-words")


def test_bars_keep_their_hatches_when_the_address_changes(visitors):
    visitor = measure(visitors(), SMALL)
    visitor.until("document.querySelectorAll('#hsd-measure-charts .js-plotly-plot').length === 5")
    visitor.page.fill("#hsd-measure-gammas textarea, #hsd-measure-gammas input", "3")
    visitor.until("location.search.includes('gammas=3')")
    visitor.page.locator("#hsd-measure-charts .legendtoggle").last.click()  # Plotly draws again
    hatches = "[...document.querySelectorAll('#hsd-measure-charts .point path')].map((bar) => bar.style.fill)"
    visitor.until(f"{hatches}.every((fill) => !fill.includes('http'))")
    assert any(fill.startswith('url("#') for fill in visitor.page.evaluate(hatches))


def test_the_address_repeats_the_settings(visitors):
    visitor = measure(visitors(), SMALL)
    visitor.until("location.search.includes('gammas=4')")
    found = {name: values[0] for name, values in parse_qs(urlsplit(visitor.page.url).query).items()}
    assert found["tab"] == "measure"
    assert {name: found[name] for name in SMALL} == SMALL
    again = measure(visitors(), {**found, "tokens": found["tokens"]})
    assert again.page.inner_text(".hm-words") == visitor.page.inner_text(".hm-words")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_scrolls_sideways_on_a_phone_and_all_parts_are_there(visitors, theme):
    visitor = measure(visitors(width=390), {**SMALL, "__theme": theme})
    visitor.until("document.querySelectorAll('#hsd-measure-charts .main-svg').length > 5")
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    for part in ("#hsd-measure-start", "#hsd-measure-rules", ".hm-published", ".hm-programs"):
        assert visitor.page.locator(part).is_visible()


@pytest.mark.parametrize(
    "endpoint", ["/run", "/verify_step", *(pytest.param(e, marks=pytest.mark.slow) for e in ("/compare", "/audit"))]
)
def test_the_programs_on_the_page_work_as_they_stand(visitors, endpoint):
    pytest.importorskip("gradio_client")
    visitor = measure(visitors())
    visitor.page.click(f'.hm-names [data-name="{endpoint}"]')
    visitor.page.locator(f'.hm-names [data-name="{endpoint}"][aria-pressed=true]').wait_for()
    code, shell = visitor.page.locator(".hm-programs .hm-code pre").all_text_contents()[-2:]
    environment = os.environ | {"HF_HUB_OFFLINE": "1"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip().splitlines()[-1]
    curl = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120)
    assert "event: complete" in curl.stdout, curl.stdout + curl.stderr


def test_a_server_is_measured_beside_and_no_link_brings_or_carries_its_url(visitors, fake):
    fake.told = {"metrics": {"speculative_decoding": VLLM}}
    visitor = measure(visitors(), {**SMALL, "server": fake.url, "server_model": "one"})
    visitor.page.get_by_role("button", name="A server beside").click()
    url = visitor.page.locator("#hsd-measure-server").get_by_role("textbox")
    url.wait_for()
    assert url.input_value() == ""
    url.press_sequentially("localhost:8000")
    visitor.page.locator(".hm-problem", has_text="give a base URL without a password").wait_for()
    url.fill(fake.url)
    visitor.page.locator(".hm-words", has_text="3 ways to decode").wait_for()
    assert "counts and seconds only" in visitor.page.inner_text("#hsd-measure-served")
    visitor.page.locator(".hm-programs .hm-code pre", has_text=f"--server {fake.url}").first.wait_for()
    assert "server" not in visitor.page.evaluate("location.search")
    visitor.page.click("#hsd-measure-start")
    visitor.until("window.__hsdMeasure.job && window.__hsdMeasure.job.finished")
    visitor.page.locator(".hm-facts", has_text=f"server one at {fake.url}").wait_for()
    row = table(visitor)[-1]
    assert (row[0], row[2], row[3]) == ("server, one", "–", "–")
    assert row[4].startswith("2.75")
    fake.trouble, fake.answers = "html", 0
    visitor.page.locator("#hsd-measure-start:enabled").click()
    visitor.page.locator(".hm-problem", has_text="does not answer with a JSON object").wait_for()
