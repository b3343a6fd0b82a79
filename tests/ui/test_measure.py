"""What Measure is told by the server: small batches made here, files, claims, programs."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import pickle
import shlex
from dataclasses import replace

import gradio as gr
import pytest
from recorded_server import VLLM, Fake

from hsd import figures, space
from hsd.bench.prompts import offered
from hsd.bench.report import Benchmark, cells, parse
from hsd.cli.bench import add_arguments
from hsd.cli.bench import sweep as asked_for
from hsd.errors import HsdError
from hsd.paths import EXAMPLES
from hsd.ui import form
from hsd.ui.jobs import Job, Jobs
from hsd.ui.measure import controls
from hsd.ui.measure.batch import MAX_CASES, Batch, read
from hsd.ui.measure.job import Measuring, benchmark, measured, progress
from hsd.ui.measure.opened import opened
from hsd.ui.measure.published import PUBLISHED, all_systems, best_single, measured_here, systems_here
from hsd.ui.measure.results import CHARTS, Results
from hsd.ui.measure.screen import usual_lengths
from hsd.ui.measure.view import as_csv, as_lines
from hsd.ui.request import read as read_request

RECORDED = EXAMPLES / "results" / "bench.jsonl"
SMALL = {"rules": "hsd", "gammas": "4", "prompts": "2", "repetitions": "1", "tokens": "16"}


def batch(**values):
    return read(space.load(), values)


def test_the_command_line_measures_the_same_cases_as_the_batch():
    asked = batch(set="sums", rules="tokenwise,hsd", gammas="3, 5", temperatures="0.5,1", several="1,2", prompts="7")
    words = shlex.split(asked.command())
    assert words[:4] == ["python", "-m", "hsd", "bench"]
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    arguments = parser.parse_args(words[4:])
    assert asked_for(arguments).cases() == asked.cases()
    assert len(asked.cases()) == 2 * (1 + 2 * 2 * 2)
    assert (arguments.pair, arguments.prompts, arguments.limit) == ("tiny", "sums", 7)
    assert (arguments.repetitions, arguments.max_new_tokens) == (2, 48)


def test_the_command_line_measures_the_same_cases_of_other_systems():
    values = {"rules": "hsd,fuzzy", "gammas": "3", "systems": "hispec,stack", "exits": "2, 4", "tolerance": "-0.5"}
    asked = batch(**values, thresholds="3,3")
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert asked_for(parser.parse_args(shlex.split(asked.command())[4:])).cases() == asked.cases()
    assert len(asked.cases()) == 1 + 2 * (1 + 2)
    assert "7 ways to decode" in asked.estimate(120)
    by_system = {
        case.options.get("system"): case.options for case in asked.cases() if case.options.get("rule") == "hsd"
    }
    assert list(by_system["stack"]["thresholds"]) == [3, 3]
    assert list(by_system["hispec"]["exits"]) == [2, 4]
    assert [c.options["tolerance"] for c in asked.cases() if c.options.get("rule") == "fuzzy"] == [-0.5] * 3
    assert batch(**asked.query()) == asked
    assert Batch.from_dict(pickle.loads(pickle.dumps(asked.as_dict()))) == asked


def test_settings_that_stay_as_they_are_make_no_link_longer():
    assert not {"systems", "thresholds", "exits", "tolerance"} & set(batch().query())
    assert "--systems" not in batch(thresholds="3,5").command()


def test_draft_lengths_are_those_of_the_pair_where_none_are_given(monkeypatch):
    monkeypatch.setattr(form, "lengths", lambda pair: {"gammas": {"tiny": (2, 4), None: (7,)}[pair]})
    assert batch().gammas == (2, 4)
    assert batch(target="a", draft="b").gammas == (7,)
    assert batch(gammas="9").gammas == (9,)
    assert batch().query()["gammas"] == "2_4", "another version may have other defaults"


def test_draft_lengths_follow_the_pair_until_they_are_set():
    skipped = gr.skip()
    assert usual_lengths("smollm2", "tiny", "3, 5, 10") == ("1, 2, 3, 5", "smollm2")
    assert usual_lengths("tiny", "smollm2", "1, 2, 3, 5") == ("3, 5, 10", "tiny")
    assert usual_lengths("smollm2", "tiny", "3, 5") == (skipped, "smollm2")
    assert usual_lengths("smollm2", "smollm2", "3, 5, 10") == (skipped, "smollm2")  # a link has set both


def test_a_link_carries_the_settings():
    asked = batch(set="functions", rules="hsd", gammas="2", temperatures="0", several="4", arranged="comb", tokens="9")
    asked = replace(asked, trees=("grown:3:3:7", "distinct-comb:2:2"))
    assert "--trees grown:3:3:7,distinct-comb:2:2" in asked.command()
    assert batch(**asked.query()) == asked


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"gammas": ""}, "draft lengths γ is empty: give one number, or several with commas"),
        ({"gammas": "3, x"}, "draft length γ x: choose a whole number from 1 to 32"),
        ({"gammas": "33"}, "draft length γ 33: choose a whole number from 1 to 32"),
        ({"gammas": "2.5"}, "draft length γ 2.5: choose a whole number"),
        ({"temperatures": "nan"}, "temperature nan: choose a number from 0 to 2"),
        ({"temperatures": "-1"}, "temperature -1: choose a number from 0 to 2"),
        ({"rules": ""}, "no rule is chosen"),
        ({"rules": "magic"}, "magic"),
        ({"rules": "traversal"}, "rule traversal is for several drafts"),
        ({"set": "/etc/passwd"}, "unknown prompt set '/etc/passwd': choose shipped, stories, sums, functions"),
        ({"arranged": "heap"}, "unknown tree 'heap'"),
        ({"trees": "grown:3"}, "tree 'grown:3': give layout:drafts:gamma"),
        ({"trees": ",".join(f"comb:2:{n}" for n in range(1, 12))}, f"ways to decode are more than {MAX_CASES}"),
        ({"tokens": 10_000}, "new tokens 10000: choose a whole number from 1 to 256"),
        ({"prompts": None}, "prompts is empty: choose a whole number from 1 to 36"),
        ({"repetitions": "1e9"}, "repetitions 1e9: choose a whole number from 1 to 10"),
        ({"gammas": ",".join(map(str, range(1, 33)))}, f"ways to decode are more than {MAX_CASES}"),
        ({"systems": "stack,magic"}, "unknown system 'magic': choose ngram"),
        ({"systems": "stack", "thresholds": "3, x"}, "threshold x: choose a whole number from 1 to 32"),
        ({"systems": "stack", "thresholds": "3,33"}, "threshold 33: choose a whole number from 1 to 32"),
        ({"thresholds": "3," * 9}, "9 thresholds: give at most 8, one for each level"),
        ({"systems": "hispec", "exits": "1, 2, 3"}, "exits 1, 2, 3: give two"),
        ({"systems": "hispec", "thresholds": "2,3,4"}, "thresholds 2, 3, 4: give one for each of 2 exits"),
        ({"systems": "hispec", "exits": "0, 2"}, "exit 0: choose a whole number"),
        ({"tolerance": "much"}, "tolerance much: give a number, such as 0.3"),
        ({"tolerance": ""}, "tolerance is empty: give a number"),
        ({"tolerance": "inf"}, "tolerance inf: give a number"),
        (
            {"gammas": "1,2,3,4,5,6,7,8,9,10,11", "systems": "stack"},
            f"25 ways to decode are more than {MAX_CASES}: choose fewer",
        ),
        ({"pair": "gpt"}, "unknown pair 'gpt'"),
        ({"target": "somewhere"}, "an own pair needs both"),
    ],
)
def test_a_wrong_setting_is_one_line(values, words):
    with pytest.raises(HsdError) as error:
        batch(**values)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_public_sets_are_offered_only_where_a_folder_is_named(monkeypatch):
    monkeypatch.delenv("HSD_DATA", raising=False)
    assert offered() == ["shipped", "stories", "sums", "functions", "chat"]
    monkeypatch.setenv("HSD_DATA", "/somewhere")
    assert "gsm8k" in offered()


def test_own_models_are_in_the_command_and_the_link(tmp_path):
    asked = batch(target=str(tmp_path / "my target"), draft="owner/draft")
    assert f"--target '{tmp_path}/my target' --draft owner/draft" in asked.command()
    assert batch(**asked.query()) == asked


# ---- measuring


def jobs(seconds: int = 120) -> Jobs:
    return Jobs(space.load().limits.model_copy(update={"run_seconds": seconds}))


def work(**values: object) -> Measuring:
    return Measuring(batch(**values), 120)


def told(job: Job) -> tuple[str, int, int, int]:
    found = progress(job)
    return (job.state, found["begun"], found["total"], found["counted"])


def test_a_batch_gives_the_file_that_the_command_would_write():
    made = jobs()
    job = made.submit(work(**{**SMALL, "tokens": "6"}))
    assert len(list(made.follow(job))) == 1 + 8
    assert told(job) == ("done", 8, 8, 4)
    found, recorded = benchmark(job), parse(RECORDED.read_text().splitlines(), "recorded")
    assert set(found.header) == set(recorded.header)
    assert set(found.header["machine"]) == set(recorded.header["machine"])
    assert set(found.records[0]) >= set(recorded.records[0])  # files of earlier versions open too
    again = parse(as_lines(found).splitlines(), "again")
    assert (again.header, again.records) == (found.header, found.records)


def test_a_batch_is_plain_data_and_can_be_measured_in_another_process():
    asked = pickle.loads(pickle.dumps(batch(**{**SMALL, "tokens": "3", "prompts": "1"}).as_dict()))
    found = [json.loads(json.dumps(pickle.loads(pickle.dumps(piece)))) for piece in measured(asked, 120)]
    records = [piece["items"][0] for piece in found[1:]]
    assert [record["repetition"] for record in records] == [0, 0, 1, 1]
    assert Benchmark(found[0]["header"]["file"], records[2:]).rows()


def test_several_drafts_count_as_one_run_each():
    made = jobs()
    job = made.submit(work(rules="traversal", gammas="2", several="3", prompts="1", repetitions="1", tokens="5"))
    list(made.follow(job))
    assert told(job) == ("done", 4, 4, 2)


def test_a_cancelled_batch_keeps_its_runs_and_begins_no_other():
    made = jobs()
    job = made.submit(work(**{**SMALL, "tokens": "4", "repetitions": "5"}))
    runs = made.follow(job)
    while progress(job)["counted"] < 3:
        next(runs)
    made.cancel(job.key)
    list(runs)
    assert (job.state, progress(job)["counted"]) == ("cancelled", 3)
    assert len(benchmark(job).rows()) == 2


def test_the_clock_stops_a_batch_and_what_is_there_stays():
    made = jobs(seconds=0)
    job = made.submit(work(**SMALL))
    assert len(list(made.follow(job))) == 2, "the header and one run"
    assert (job.state, job.message) == ("cancelled", "stopped after 0 s, the longest time here: ask for less")
    assert benchmark(job) is None


def test_a_batch_that_is_cancelled_in_the_line_never_starts():
    made = jobs()
    job = made.submit(work(**SMALL))
    made.cancel(job.key)
    assert list(made.follow(job)) == []
    assert told(job) == ("cancelled", 0, 0, 0)


def test_a_failure_is_told_and_frees_the_line():
    made = jobs()
    job = made.submit(work(target="no/such-model", draft="no/such-draft"))
    list(made.follow(job))
    assert job.state == "failed"
    assert "no/such" in job.message
    assert "\n" not in job.message
    assert made.line.place(job.key) == 0


def test_speedups_are_against_plain_decoding_at_the_same_temperature():
    made = jobs()
    job = made.submit(work(rules="hsd", gammas="3", temperatures="1, 0.5", prompts="1", repetitions="1", tokens="5"))
    list(made.follow(job))
    rows = benchmark(job).rows()
    speeds = [row["tokens_per_second"] for row in rows]
    assert [row["case"] for row in rows] == ["plain, T=1", "hsd, γ=3, T=1", "plain, T=0.5", "hsd, γ=3, T=0.5"]
    assert [row["speedup"] for row in rows] == pytest.approx([1, speeds[1] / speeds[0], 1, speeds[3] / speeds[2]])


# ---- other systems


FURTHER = {"rules": "hsd,fuzzy", "gammas": "3", "systems": "stack,hispec", "prompts": "1", "repetitions": "1"}


@pytest.fixture(scope="module")
def further() -> Benchmark:
    """A small benchmark of a stack, early exits and the fuzzy rule, beside plain decoding and HSD."""
    made = jobs()
    job = made.submit(work(**FURTHER, tokens="12"))
    list(made.follow(job))
    assert told(job) == ("done", 14, 14, 7)  # every run is counted once, whatever its system
    return benchmark(job)


def test_other_systems_have_their_lines_charts_and_files(further, tmp_path):
    shown = Results().show(further, "live", "key")
    names = [case["name"] for case in further.header["cases"]]
    assert [line[0] for line in shown.view["rows"]] == names
    visible = {chart.title: state["visible"] for chart, state in zip(CHARTS, shown.charts, strict=True)}
    assert not visible.pop("Tokens per target call by temperature, 95 % intervals")
    assert all(visible.values())
    positions = next(state for chart, state in zip(CHARTS, shown.charts, strict=True) if "position" in chart.title)
    assert [line.name for line in positions["value"].data] == names[1:]
    (tmp_path / "mine.jsonl").write_text(as_lines(further))
    again = opened(tmp_path / "mine.jsonl")
    assert [cells(row) for row in again.rows()] == [cells(row) for row in further.rows()]
    saved = list(csv.DictReader(io.StringIO(as_csv(again.rows()))))
    assert [line["case"] for line in saved] == names
    assert {line["system"] for line in saved if line["case"].startswith("hispec")} == {"hispec"}
    assert {line["tolerance"] for line in saved if line["rule"] == "fuzzy"} == {"0.3"}


def test_n_grams_are_measured_and_shown_beside_the_draft_model(tmp_path):
    asked = batch(rules="tokenwise,hsd", gammas="2,4", systems="ngram", prompts="1", repetitions="1", tokens="12")
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert asked_for(parser.parse_args(shlex.split(asked.command())[4:])).cases() == asked.cases()
    assert batch(**asked.query()) == asked
    with pytest.raises(HsdError, match="27 ways to decode"):
        batch(rules="tokenwise,hsd", gammas=",".join(map(str, range(1, 9))), systems="ngram,stack")
    made = jobs()
    job = made.submit(Measuring(asked, 120))
    list(made.follow(job))
    (tmp_path / "mine.jsonl").write_text(as_lines(benchmark(job)))
    rows = opened(tmp_path / "mine.jsonl").rows()
    copied = [row for row in rows if row["case"].startswith("n-grams")]
    assert [row["case"] for row in copied] == ["n-grams, γ=2", "n-grams, γ=4"]
    assert all(math.isfinite(row["efficiency"]) for row in copied)
    assert {line["proposer"] for line in csv.DictReader(io.StringIO(as_csv(copied)))} == {"ngram"}
    lines = figures.block_efficiency(rows)["data"]
    assert sorted(line["name"] for line in lines) == ["HSD", "n-grams", "vanilla"]
    assert all(line["x"] == [2, 4] for line in lines)
    models = {row["case"]: row["block_efficiency"][0] for row in rows}
    here = measured_here(rows)
    assert [line["tokenwise"][:4] for line in here] == [f"{models[f'tokenwise, γ={g}']:.2f}" for g in (2, 4)]
    assert best_single([*copied, rows[1]], 1.0) is rows[1]


def test_what_the_pair_has_no_models_for_is_told_before_anything_is_measured():
    asked = batch(**{**FURTHER, "systems": "hispec", "exits": "2,99"}, tokens="4")
    with pytest.raises(HsdError, match=r"hispec, hsd, exits 2/99.*: exits 2, 99: choose them from shallow to deep"):
        next(measured(asked.as_dict(), 120))


def made_up(case: str, speed: float, **options) -> dict:
    """A row with that speed; plain decoding makes 100 tokens a second."""
    options = {"temperature": 1.0, "rule": "hsd", **({} if "system" in options else {"gamma": 5}), **options}
    interval = (2.0, 1.9, 2.1)
    more = {"tokens_per_second": speed, "speedup": speed / 100, "block_efficiency": interval}
    return {"case": case, "options": options, "acceptance_rate": interval, **more}


def test_claims_stand_beside_the_fastest_case_of_each_system():
    rows = [
        made_up("slow", 110.0, rule="tokenwise"),
        made_up("single", 120.0),
        made_up("tree", 190.0, rule="traversal", drafts=4),
        made_up("other temperature", 300.0, temperature=0.5),
        made_up("fuzzy", 150.0, rule="fuzzy"),
        made_up("stack 1", 90.0, system="stack"),
        made_up("stack 2", 126.0, system="stack"),
        made_up("stack, not exact", 200.0, system="stack", rule="fuzzy"),
        made_up("exits", 60.0, system="hispec"),
    ]
    stack, hispec, fsd = (line["here"] for line in systems_here(rows))
    single = "“single”, the fastest exact case with one draft"
    assert stack.startswith(
        f"The fastest such case here: “stack 2”, 1.26× plain decoding; 1.05× the speed of {single}."
    )
    assert stack.endswith("That is within the published range.")
    assert hispec.startswith(f"Here: “exits”, 0.60× plain decoding; 0.50× the speed of {single}.")
    assert hispec.endswith("The draft model is the faster of the two here.")
    assert f"“fuzzy”, 1.50× plain decoding; 1.25× the speed of {single}. That is 30.0 tokens/s more." in fsd
    slower = systems_here([*rows[:2], made_up("stack", 60.0, system="stack")])[0]["here"]
    assert "So it does not pay here." in slower
    alone = systems_here([made_up("stack", 60.0, system="stack")])[0]["here"]
    assert "no exact rule with one draft was measured beside it" in alone


def test_claims_without_a_case_say_how_to_measure_one(recorded):
    claims = systems_here([row for row in recorded.rows() if row["options"].get("system") in (None, "plain")])
    assert [claim["source"] for claim in claims] == ["arXiv 2510.19705", "arXiv 2510.01336", "arXiv 2502.20704"]
    assert all(claim["here"].startswith("Not in the benchmark above: choose ") for claim in claims)


# ---- files


@pytest.fixture(scope="module")
def recorded() -> Benchmark:
    return parse(RECORDED.read_text().splitlines(), "recorded")


def test_the_recorded_benchmark_opens_as_a_file_too(recorded):
    assert opened(RECORDED).rows() == recorded.rows()


def test_the_csv_has_all_digits_of_the_rows(recorded):
    lines = list(csv.DictReader(io.StringIO(as_csv(recorded.rows()))))
    for line, row in zip(lines, recorded.rows(), strict=True):
        assert line["case"] == row["case"]
        assert float(line["tokens_per_second"]) == row["tokens_per_second"]
        names = ("block_efficiency", "block_efficiency_low", "block_efficiency_high")
        assert [float(line[name]) for name in names] == list(row["block_efficiency"])
        rates = row.get("acceptance_rate_per_position", [])
        assert [float(word) for word in line["acceptance_rate_per_position"].split()] == rates
        assert line["acceptance_length"] == (str(row["acceptance_length"][0]) if rates else "")
        assert float(line["share_target"]) == row["shares"]["target"]


def test_a_case_that_looks_like_a_formula_is_text_in_the_csv(recorded):
    row = {**recorded.rows()[0], "case": "=HYPERLINK(1)"}
    assert list(csv.reader(io.StringIO(as_csv([row]))))[1][0] == "'=HYPERLINK(1)"


def changed(change) -> str:
    """The recorded file after `change(header, records)`."""
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    change(lines[0], lines[1:])
    return "\n".join(json.dumps(line) for line in lines)


BROKEN = {
    "text": "hello",
    "empty": "",
    "deep": "[" * 100_000,
    "trace": '{"trace_version": 2}',
    "no cases": changed(lambda head, _: head.pop("cases")),
    "cases are numbers": changed(lambda head, _: head.update(cases=[1, 2])),
    "no plain": changed(lambda head, _: head["cases"].pop(0)),
    "one case twice": changed(lambda head, _: head["cases"].append(head["cases"][1])),
    "too many cases": changed(lambda head, _: head.update(cases=head["cases"] * 50)),
    "gamma is text": changed(lambda head, _: head["cases"][1]["options"].update(gamma="5")),
    "gamma is huge": changed(lambda head, _: head["cases"][1]["options"].update(gamma=10**9)),
    "long name": changed(lambda head, _: head["cases"][1].update(name="x" * 10_000)),
    "unknown case": changed(lambda _, records: records[3].update(case="other")),
    "case is a list": changed(lambda _, records: records[3].update(case=["hsd"])),
    "seconds are 0": changed(lambda _, records: records[3].update(seconds=0)),
    "seconds are text": changed(lambda _, records: records[3].update(seconds="1")),
    "not a number": changed(lambda _, records: records[3].update(seconds=math.nan)),
    "system is unknown": changed(lambda head, _: head["cases"][1]["options"].update(system=["stack"])),
    "thresholds are text": changed(lambda head, _: head["cases"][1]["options"].update(thresholds="3,5")),
    "exits are huge": changed(lambda head, _: head["cases"][1]["options"].update(exits=[2, 10**400])),
    "tolerance is text": changed(lambda head, _: head["cases"][1]["options"].update(tolerance="0.3")),
    "a level's calls": changed(lambda _, records: records[3]["calls"].update({"level 0": {"first": 0}})),
    "no steps": changed(lambda _, records: records[3].update(steps=0)),
    "no time": changed(lambda _, records: records[3].pop("time")),
    "positions": changed(lambda _, records: records[3].update(positions=[[1, 2]] * 1000)),
    "histogram": changed(lambda _, records: records[3].update(kept_histogram={"x": 1})),
    "calls": changed(lambda _, records: records[3].update(calls={"target": 1, "draft": 2})),
    "widths": changed(lambda _, records: records[3]["calls"]["target"].update(widths={"5": [1, 2]})),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_line(tmp_path, name):
    file = tmp_path / "mine.jsonl"
    file.write_text(BROKEN[name])
    with pytest.raises(HsdError) as error:
        Results().show(opened(file), "file", "key")
    assert "mine.jsonl" in str(error.value)
    assert "\n" not in str(error.value)


def test_hostile_names_in_a_file_are_no_error(tmp_path):
    file = tmp_path / "mine.jsonl"
    name = "<img src=x onerror=alert(1)>"

    def rename(head, records):
        old = head["cases"][1]["name"]
        head["cases"][1]["name"] = name
        head.update(pair=["x"], machine="none", prompts=3, date={})
        for record in records:
            record["case"] = name if record["case"] == old else record["case"]

    file.write_text(changed(rename))
    shown = Results().show(opened(file), "file", "key")
    assert shown.view["rows"][1][0] == name
    assert len(shown.charts) == len(CHARTS)


def test_the_recorded_benchmark_can_be_saved_however_many_others_were_shown(recorded, monkeypatch):
    monkeypatch.setattr("hsd.ui.measure.results.KEPT", 2)
    results = Results()
    for key in ("recorded tiny", "0", "1", "2"):
        results.show(recorded, "recorded", key)
    assert results.download({"key": "recorded tiny", "kind": "jsonl"})["text"] == as_lines(recorded)
    for asked in ({"key": "0", "kind": "csv"}, {}, None, "recorded", {"key": []}):
        with pytest.raises(HsdError, match="no longer kept"):
            results.download(asked)


def test_all_systems_are_shown_in_three_domains_beside_the_claims():
    shown = all_systems()
    assert shown.startswith("### What it is worth")
    assert "\n## " not in shown
    for domain in ("Stories", "Sums", "Functions"):
        table = shown[shown.index(f"**{domain}**") :].split("\n\n")[1]
        for system in ("plain decoding", "vanilla", "HSD", "stack of three", "HiSpec", "FSD"):
            assert f"| {system}" in table
    assert "2.01× at most" in shown


def test_published_numbers_have_the_same_rules_beside_them(recorded):
    here = measured_here(recorded.rows())
    assert here
    values = {row["case"]: row["block_efficiency"] for row in recorded.rows()}
    for line in here:
        gamma = line["setting"].split(",")[0].removeprefix("γ = ")
        for rule in ("tokenwise", "hsd"):
            value, low, high = values[f"{rule}, γ={gamma}"]
            assert line[rule] == f"{value:.2f} ({low:.2f}–{high:.2f})"
    assert all(float(line["hsd"]) > float(line["tokenwise"]) for line in PUBLISHED)


def state(visitor) -> dict:
    return visitor.page.evaluate("window.__hsdMeasure")


def table(visitor) -> list[list[str]]:
    """What the results table shows."""
    rows = visitor.page.locator("#hsd-measure-results .hm-table tbody tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def test_programs_carry_the_sidebar_settings():
    from hsd.ui.measure.snippets import snippets

    asked = read_request(space.load(), {"prompt": "Say \"hi\"\n'there'", "gamma": 7, "rule": "blockwise", "top_p": 0.9})
    run = next(s for s in snippets(asked) if s["name"] == "/run")
    for words in ("gamma=7", "rule='blockwise'", "top_p=0.9", repr(asked.prompt)):
        assert words in run["python"]
    body = shlex.split(run["curl"].split("-d ", 1)[1].split(" | cut")[0])[0]
    assert json.loads(body)["prompt"] == asked.prompt


def test_programs_say_where_drafts_come_from_if_it_is_not_a_model():
    from hsd.ui.measure.snippets import snippets

    for proposer, said in (("model", False), ("ngram", True)):
        asked = read_request(space.load(), {"prompt": "Once", "proposer": proposer})
        for name in ("/run", "/compare"):
            program = next(s for s in snippets(asked) if s["name"] == name)["python"]
            assert ("proposer='ngram'" in program) == said
            assert "gamma=5" in program, "what the sidebar shows, whatever the pair's own is"


def test_programs_carry_the_settings_of_fsd_where_they_are_taken():
    from hsd.ui.measure.snippets import USUAL, note, snippets

    values = {"prompt": "Once", "rule": "fuzzy", "tolerance": 0.5, "divergence": "js"}
    asked = read_request(space.load(), values)
    run, compared = (next(s for s in snippets(asked) if s["name"] == name)["python"] for name in ("/run", "/compare"))
    assert "tolerance=0.5" in run
    assert "divergence='js'" in run
    assert "fuzzy_mode" not in run
    assert "tolerance" not in compared
    assert note(asked) == USUAL
    assert note(read_request(space.load(), {"prompt": "Once", "rule": "fuzzy"})) == ""


@pytest.mark.parametrize(("rule", "setting"), [("ensemble", {"draft_weight": 0.25}), ("typical", {"epsilon": 0.2})])
def test_the_program_for_a_run_has_the_number_of_its_rule(rule, setting):
    from hsd.ui.measure.snippets import USUAL, note, snippets

    asked = read_request(space.load(), {"prompt": "a", "pair": "tiny", "rule": rule, **setting})
    program = next(s for s in snippets(asked) if s["name"] == "/run")["python"]
    ((name, value),) = setting.items()
    assert f"{name}={value}" in program
    assert note(asked) == USUAL


# A server beside


def test_a_server_is_measured_beside_and_told_as_what_it_is(fake: Fake):
    fake.told = {"metrics": {"speculative_decoding": VLLM}}
    asked = batch(**SMALL, server=f" {fake.url}/v1/ ", server_model="one")
    assert (asked.server, asked.server_model) == (fake.url, "one")
    assert Batch.from_dict(pickle.loads(pickle.dumps(asked.as_dict()))) == asked
    assert "3 ways to decode × 2 prompts × 2 rounds" in asked.estimate(120)
    work = Measuring(asked, 60)
    job = Job("key", work, 1)
    for piece in work.pieces(False):
        job.add(piece)
    page = Results().show(benchmark(job), "live", "k").view
    assert any(fact.startswith(f"server one at {fake.url}: ") for fact in page["facts"])
    row = dict(zip(page["columns"], page["rows"][-1], strict=True))
    assert row["case"] == "server, one"
    assert row["AL"].startswith("2.75")
    assert not any(row[name] for name in ("speed-up", "tokens per target call"))


def test_the_url_of_a_server_is_in_the_command_and_in_no_link(fake: Fake):
    asked = batch(**SMALL, server=fake.url, server_model="one")
    assert shlex.split(asked.command())[-4:] == ["--server", fake.url, "--server-model", "one"]
    assert asked.query() == batch(**SMALL).query()
    assert "--server" not in batch(**SMALL).command()
    assert not fake.asked


@pytest.mark.parametrize(("own_pair", "on_space"), [("never", False), ("local", True), ("always", True)])
def test_no_server_is_measured_on_a_space(fake: Fake, monkeypatch, own_pair: str, on_space: bool):
    before = batch(**SMALL, server=fake.url)
    manifest = space.load().model_copy(update={"own_pair": own_pair})
    if on_space:
        monkeypatch.setenv("SPACE_ID", "someone/somewhere")
        with pytest.raises(HsdError, match="no server is asked from here"):
            next(measured(before.as_dict(), 60))
    with pytest.raises(HsdError, match="no server is asked from here"):
        read(manifest, {**SMALL, "server": fake.url})
    with gr.Blocks() as demo:
        controls.build(manifest, "tiny")
    (box,) = [block for block in demo.blocks.values() if block.elem_id == "hsd-measure-served"]
    assert not box.visible
    assert not fake.asked


def test_a_server_that_fails_is_one_line_and_what_was_measured_stays(fake: Fake):
    with pytest.raises(HsdError, match=r"give a base URL"):
        batch(**SMALL, server="localhost:8000")
    with pytest.raises(HsdError, match=r"has no model 'two'"):
        next(measured(batch(**SMALL, server=fake.url, server_model="two").as_dict(), 60))
    fake.answers, fake.trouble = 3, "cut"
    job = Job("key", Measuring(batch(**SMALL, server=fake.url), 60), 1)
    with pytest.raises(HsdError, match=r"stopped in the middle of its answer"):
        list(map(job.add, job.work.pieces(False)))
    assert len(job.items) == 3 * 4 - 1
    assert len(benchmark(job).rows()) == 3
