"""The benchmark: its numbers follow from its records, its file gives them again, several processes
share the work.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from table_models import table_pair

import hsd
from hsd import RULES, HsdError, figures
from hsd.bench import Case, Record, measure, measurements, prompt_set, rows
from hsd.bench.measure import Sweep
from hsd.bench.report import (
    COLUMNS,
    FORMAT,
    Benchmark,
    cells,
    markdown,
    parse,
    read,
    setting,
)
from hsd.bench.score import passes_of, scored_texts
from hsd.bench.summary import Measurement, ratio_interval, student
from hsd.cli import main
from hsd.decoding.options import RunOptions
from hsd.estimate import estimate
from hsd.paths import ASSETS, RESULTS, ROOT

PAIR = table_pair(vocab=5, order=2, seed=4)
PLAIN = Case("plain", {"system": "plain", "max_new_tokens": 20, "trace": False})
HSD = Case("hsd", {"rule": "hsd", "gamma": 3, "max_new_tokens": 20, "trace": False})
PROMPTS = [(0, "ab"), (1, "ba"), (2, "cab")]
needs_pair = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)


def record(
    case: str, prompt: int, repetition: int, tokens: int, calls: int, seconds: float, **more: Any
) -> Record:
    """A record with round numbers: a target call takes 4 ms, one of width 4 5 ms, a draft call 1
    ms.
    """
    widths = (
        {"1": [calls, 0.004 * calls, 0.004]}
        if case == "plain"
        else {"4": [calls, 0.005 * calls, 0.005]}
    )
    draft = {} if case == "plain" else {"1": [3 * calls, 0.003 * calls, 0.001]}
    laps = {
        "draft": 0.003 * calls if draft else 0.0,
        "target": sum(w[1] for w in widths.values()),
        "verify": 0.001 * calls,
    }
    made = {
        "new_tokens": tokens,
        "target_calls": calls,
        "steps": calls,
        "drafted": 3 * calls,
        "kept": tokens - calls,
    }
    models = {"target": {"first": 0.0, "widths": widths}, "draft": {"first": 0.0, "widths": draft}}
    timed = {"seconds": seconds, "time": {**laps, "rest": 0.0}, "calls": models}
    place = {"case": case, "prompt": prompt, "repetition": repetition, "seed": 0}
    return {
        **place,
        **made,
        **timed,
        "positions": [[calls // 2, calls]] if draft else [],
        "kept_histogram": {"1": calls},
        **more,
    }


def two_cases() -> list[Record]:
    """Plain: 20 tokens in 0.1 s; HSD: 20 tokens in 10 calls and 0.08 s, 30 in 10 and 0.1 s."""
    made = []
    for repetition in (1, 2):
        for prompt, tokens, seconds in ((0, 20, 0.08), (1, 30, 0.1)):
            made.append(record("plain", prompt, repetition, 20, 20, 0.1))
            made.append(record("hsd", prompt, repetition, tokens, 10, seconds))
    return made


def test_the_numbers_of_a_case_follow_from_its_records():
    plain, other = measurements([PLAIN, HSD], two_cases())
    assert other.block_efficiency()[0] == pytest.approx(50 / 20)
    assert plain.tokens_per_second() == pytest.approx([200.0, 200.0])
    assert other.tokens_per_second() == pytest.approx([50 / 0.18] * 2)
    assert other.speedup(plain)[0] == pytest.approx(50 / 0.18 / 200)
    assert other.limit(plain) == pytest.approx(2.5 * 0.004 / (3 * 0.001 + 0.005))
    assert other.acceptance_rate()[0] == pytest.approx(30 / 60)
    assert other.acceptance_length()[0] == pytest.approx(1 + 60 / 40)
    assert other.acceptance_rate_per_position() == pytest.approx([0.5])
    assert other.kept_histogram() == {1: 40}
    assert other.step_times()["outside_ms_per_step"] == pytest.approx(
        1e3 * (0.18 - 20 * 0.008) / 20
    )
    shares = other.shares()
    assert shares["draft"] == pytest.approx(0.06 / 0.18)
    assert shares["target"] == pytest.approx(0.1 / 0.18)
    assert shares["verify"] == pytest.approx(0.02 / 0.18)
    assert sum(shares.values()) == pytest.approx(1)


def test_al_counts_drafts_and_its_rates_add_up_to_it():
    """One run: 4 drafts of up to 2 tokens, of which 3 keep one and 1 keeps two, in 6 steps, 2 of
    them without a draft.

    The other: 1 draft of one token, which ends the text: no token follows it.
    """
    long = record("hsd", 0, 1, 10, 6, 0.1, kept=4, drafted=7, positions=[[3, 4], [1, 3]])
    ended = record("hsd", 1, 1, 1, 1, 0.1, kept=1, drafted=1, positions=[[1, 1]])
    (found,) = measurements([HSD], [long, ended])
    assert found.acceptance_length()[0] == pytest.approx(1 + 5 / 5)
    assert found.acceptance_rate_per_position() == pytest.approx([4 / 5, 1 / 5])
    assert found.block_efficiency()[0] == pytest.approx(11 / 7)
    _, _, high = found.acceptance_length()
    assert high == pytest.approx(2)


def test_a_case_that_never_drafted_has_no_al_and_can_be_drawn():
    copying = Case("n-grams", {"rule": "hsd", "gamma": 3, "proposer": "ngram", "temperature": 1.0})
    none = {"drafted": 0, "kept": 0, "positions": [], "kept_histogram": {"0": 10}}
    made = [record("plain", 0, 1, 20, 20, 0.1), record("n-grams", 0, 1, 10, 10, 0.06, **none)]
    found = rows(measurements([PLAIN, copying], made))
    assert "acceptance_length" not in found[1]
    assert found[1]["acceptance_rate_per_position"] == []
    assert len(figures.acceptance_rate_per_position(found)["data"]) == 1


def test_al_is_one_plus_the_rates_in_every_recorded_benchmark():
    for name in ("bench", "bench-smollm2", "peer"):
        found = read(RESULTS / f"{name}.jsonl").rows()
        drafting = [row for row in found if "acceptance_length" in row]
        assert len(drafting) == sum("acceptance_rate" in row for row in found) >= 2
        for row in drafting:
            value, low, high = row["acceptance_length"]
            assert value == pytest.approx(1 + sum(row["acceptance_rate_per_position"]))
            assert low <= value <= high
            # steps without a draft, and texts that end inside one
            assert value >= row["block_efficiency"][0]


def test_the_limit_of_copied_drafts_counts_no_draft_call():
    """Ten steps: six read 4 tokens in 5 ms, four found nothing to copy and read 1 in 4 ms; 25
    tokens in 60 ms.
    """
    copying = Case("n-grams", {"rule": "hsd", "gamma": 3, "proposer": "ngram"})
    widths = {"1": [4, 0.016, 0.004], "4": [6, 0.03, 0.005]}
    calls = {"target": {"first": 0.0, "widths": widths}, "draft": {"first": 0.0, "widths": {}}}
    made = [
        record("plain", 0, 1, 20, 20, 0.1),
        record("n-grams", 0, 1, 25, 10, 0.06) | {"calls": calls},
    ]
    _, row = rows(measurements([PLAIN, copying], made))
    limit = 2.5 * 0.004 / (0.6 * 0.005 + 0.4 * 0.004)
    assert row["limit"] == pytest.approx(limit)
    assert row["efficiency"] == pytest.approx(25 / 0.06 / 200 / limit)
    assert row["target_call_ms"] == pytest.approx(4.6)
    assert row["draft_call_ms"] == 0


def test_cheap_passes_give_more_than_the_limit_on_a_steady_machine_and_the_column_says_so():
    """Every pass takes its usual time, and every step of both 6 ms more."""
    made = [
        record("plain", 0, 1, 20, 20, 20 * (0.004 + 0.006)),
        record("hsd", 0, 1, 20, 10, 10 * (0.008 + 0.006)),
    ]
    _, row = rows(measurements([PLAIN, HSD], made))
    assert row["limit"] == pytest.approx(2 * 4 / 8)
    assert row["efficiency"] == pytest.approx(2 * 10 / 14)
    assert "beside its passes" in COLUMNS["share of the limit"]


@needs_pair
def test_how_much_more_hsd_gives_is_exact_and_paired():
    tiny = hsd.load_pair("tiny")
    prompts = [(0, "Once upon a time"), (1, "The river"), (2, "2 + 2 =")]
    cases = Sweep({"rule": ("tokenwise", "hsd"), "gamma": (2, 4), "max_new_tokens": (24,)}).cases()
    made = [*measure(tiny, cases, prompts, 2)]
    found = {row["case"]: row for row in rows(measurements(cases, made))}
    assert [name for name, row in found.items() if row.get("more_than_vanilla")] == [
        "hsd, γ=2",
        "hsd, γ=4",
    ]
    texts = []
    for record in made:
        if record["case"] == "plain":
            options = {"temperature": RunOptions.default("temperature"), "max_new_tokens": 24}
            prompt = [(prompts[record["prompt"]][1], "")]
            texts += scored_texts(tiny, prompt, options, [record["seed"]])
    difference = estimate(texts, 4).difference.value
    for gamma in (2, 4):
        value, low, high = found[f"hsd, γ={gamma}"]["more_than_vanilla"]
        assert value == pytest.approx(difference[gamma - 1], abs=1e-9)
        assert low < value < high
    report = markdown(Benchmark(json.loads(lines([])[0]) | {"cases": as_cases(cases)}, made))
    assert "| HSD − vanilla |" in report


@needs_pair
def test_a_draft_that_is_no_language_model_has_no_such_column():
    tiny = hsd.load_pair("tiny")
    text = hsd.run(tiny, "Once", system="plain", max_new_tokens=6)
    alone = replace(tiny, draft=tiny.target)
    assert passes_of(tiny, text, 3).keys() == {"tokenwise", "hsd"}
    assert passes_of(alone, text, 3) == {}
    assert "HSD − vanilla" not in markdown(parse(lines(two_cases()), "x"))


def test_copied_drafts_are_measured_by_one_rule_at_every_length():
    asked = Sweep(
        {"rule": ("naive-hsd", "hsd"), "gamma": (2, 3), "system": ("speculative", "ngram")}
    )
    copied = [case for case in asked.cases() if case.options.get("proposer") == "ngram"]
    assert [case.name for case in copied] == ["n-grams, γ=2", "n-grams, γ=3"]
    assert {case.options["rule"] for case in copied} == {"naive-hsd"}
    lossy = Sweep({"rule": ("hsd-released",), "gamma": (5,), "system": ("ngram",)}).cases()
    assert lossy[1].options["rule"] == "tokenwise"
    with pytest.raises(
        HsdError, match="unknown system magic: choose from speculative, ngram, stack, hispec"
    ):
        Sweep({"rule": ("hsd",), "system": ("magic",)}).cases()


def test_trees_are_measured_by_the_rules_that_are_named():
    rules = ("top-down", "hsd", "traversal")
    trees = Sweep(
        {"rule": rules, "gamma": (3,), "drafts": (2,), "tree": ("distinct-comb",)}
    ).cases()
    assert [case.name for case in trees[1:]] == [
        f"{rule}, γ=3, distinct-comb K=2" for rule in rules
    ]
    grown = Sweep(
        {"rule": ("one-hot",), "gamma": (3,), "drafts": (3,), "tree": ("grown",), "nodes": (10,)}
    ).cases()[1]
    assert grown.name == "one-hot, γ=3, grown K=3, nodes=10"
    assert (grown.options["tree"], grown.options["nodes"]) == ("grown", 10)


def test_of_a_certain_draft_all_lossless_rules_keep_equally_many():
    generator = torch.Generator().manual_seed(3)
    p = torch.rand(4, 6, generator=generator, dtype=torch.float64).softmax(-1)
    tokens = torch.tensor([2, 0, 5])
    q = torch.nn.functional.one_hot(tokens, 6).double()
    kept = {
        name: float(rule.law(p, q, tokens).expected_kept)
        for name, rule in RULES.items()
        if rule.lossless
    }
    assert kept == pytest.approx(dict.fromkeys(kept, kept["tokenwise"]))
    assert len(kept) >= 4


def test_an_interval_holds_the_value_and_shrinks_with_more_prompts():
    def width(prompts: int) -> float:
        made = [record("hsd", i, 1, 20 + 5 * (i % 3), 10, 0.1) for i in range(prompts)]
        value, low, high = ratio_interval(
            made, itemgetter("new_tokens"), itemgetter("target_calls")
        )
        assert low <= value <= high
        return high - low

    assert 0 < width(48) < width(6)


def test_the_interval_of_a_loss_goes_below_zero_and_that_of_a_count_does_not():
    losses = [
        {"prompt": i, "more": more, "drafts": 10} for i, more in enumerate([-4.0, -3.0, -5.0, 1.0])
    ]
    value, low, high = ratio_interval(losses, itemgetter("more"), itemgetter("drafts"), -math.inf)
    assert value == pytest.approx(-0.275)
    assert low < value < high
    counts = [{"prompt": i, "more": more, "drafts": 10} for i, more in enumerate([0.0, 0.0, 9.0])]
    assert ratio_interval(counts, itemgetter("more"), itemgetter("drafts"))[1] == 0


def test_each_temperature_is_compared_with_plain_decoding_at_that_temperature():
    cold_plain = Case("plain, cold", {**PLAIN.options, "temperature": 0.5})
    cold = Case("hsd, cold", {**HSD.options, "temperature": 0.5})
    made = two_cases()
    made += [
        {
            **r,
            "case": f"{r['case']}, cold",
            "seconds": r["seconds"] * (2 if r["case"] == "plain" else 1),
        }
        for r in made
    ]
    found = rows(measurements([PLAIN, HSD, cold_plain, cold], made))
    assert [row["speedup"] for row in found] == pytest.approx(
        [1, 50 / 0.18 / 200, 1, 50 / 0.18 / 100]
    )


def test_runs_that_not_all_cases_have_made_are_left_out():
    made = two_cases()[:-1]  # stopped before the last run of the second repetition
    plain, other = measurements([PLAIN, HSD], made)
    assert len(plain.records) == len(other.records) == 3


def test_every_case_runs_on_every_prompt_with_the_same_seeds():
    made = list(measure(PAIR, [PLAIN, HSD], PROMPTS, repetitions=2))
    assert [(r["repetition"], r["prompt"], r["case"]) for r in made] == [
        (repetition, prompt, case)
        for repetition in (1, 2)
        for prompt, _ in PROMPTS
        for case in ("plain", "hsd")
    ]
    seeds = {(r["repetition"], r["prompt"]): r["seed"] for r in made}
    assert all(r["seed"] == seeds[r["repetition"], r["prompt"]] for r in made)
    assert len(set(seeds.values())) == 6
    own = hsd.run(PAIR, "cab", seed=seeds[2, 2], **HSD.options)
    every: list[str] = []
    counting = Case("counting", {}, lambda _, prompt, seed: {"seen": every.append(prompt)})
    assert len(list(measure(PAIR, [counting], [*PROMPTS, *PROMPTS], 1))) == 6
    texts = [text for _, text in PROMPTS]
    assert every == [*texts, texts[0], *texts, *texts], "a few prompts warm up"
    last = [r for r in made if r["case"] == "hsd"][-1]
    assert last["new_tokens"] == len(own.tokens)
    assert last["target_calls"] == own.stats()["target_calls"]


@needs_pair
def test_systems_with_levels_are_timed_at_every_level():
    pair = hsd.load_pair("tiny", device="cpu")
    common = {"max_new_tokens": 12, "trace": False}
    cases = [
        Case("plain", {**common, "system": "plain"}),
        Case("stack", {**common, "system": "stack", "thresholds": (2, 3)}),
        Case("hispec", {**common, "system": "hispec"}),
    ]
    found = measurements(cases, list(measure(pair, cases, [(0, "Once upon a time")], 1)))
    for levelled in found[1:]:
        (kept,) = levelled.records
        assert set(kept["calls"]) == {"target", "draft", "level 0"}
        for level, count in zip(("level 0", "draft"), kept["calls_below"], strict=True):
            calls = sum(entry[0] for entry in kept["calls"][level]["widths"].values())
            assert calls == count - 1  # the first one, which may read the prompt, is kept apart
        assert levelled.model_seconds("draft", "level 0") > 0
        assert sum(levelled.shares().values()) == pytest.approx(1, abs=0.02)
        assert math.isfinite(levelled.limit(found[0]))
    assert len(rows(found)) == 3


def test_a_part_of_the_prompts_is_measured_as_it_would_be_with_all():
    everything = {(r["prompt"], r["repetition"]): r for r in measure(PAIR, [HSD], PROMPTS, 2)}
    part = list(measure(PAIR, [HSD], PROMPTS[1:2], 2))
    for r in part:
        same = everything[r["prompt"], r["repetition"]]
        assert (r["seed"], r["new_tokens"], r["target_calls"]) == (
            same["seed"],
            same["new_tokens"],
            same["target_calls"],
        )


MACHINE = (
    "device",
    "processor",
    "cores",
    "threads",
    "load",
    "dtype",
    "python",
    "torch",
    "transformers",
)


def as_cases(cases: list[Case]) -> list[dict[str, Any]]:
    """Cases as a file's first line has them."""
    return [{"name": c.name, "options": c.options, "peer": False} for c in cases]


def lines(made: list[Record]) -> list[str]:
    facts: dict[str, Any] = {
        "version": "0",
        "date": "2026-01-01",
        "pair": "table",
        "max_new_tokens": 20,
        "repetitions": 2,
    }
    facts |= {"prompts": {"name": "x", "source": "y"}, "machine": dict.fromkeys(MACHINE, "?")}
    head = {"format": FORMAT, **facts, "cases": as_cases([PLAIN, HSD])}
    return [json.dumps(line) for line in (head, *made)]


def test_a_file_gives_every_number_again():
    made = two_cases()
    benchmark = parse(lines(made), "x.jsonl")
    assert benchmark.rows() == rows(measurements([PLAIN, HSD], made))
    table = markdown(benchmark)
    assert "| HSD | 278 | 1.39 (0.00–2.98) | 2.50 (" in table
    assert "| acceptance rate per position, % | 1 |\n| --- | --- |\n| hsd | 50.0 |" in table
    assert "2 prompts (x, y), 4 runs per case, 20 new tokens" in table


def test_prompts_of_several_kinds_are_told_apart_too():
    made = two_cases()
    head = json.loads(lines([])[0])
    head["prompts"]["kinds"] = ["<b>long</b>", "short", "never measured"]
    benchmark = parse([json.dumps(head), *map(json.dumps, made)], "x")
    speeds = {
        kind: [row["speedup"] for row in found] for kind, found in benchmark.by_kind().items()
    }
    assert speeds == {"<b>long</b>": [1, pytest.approx(1.25)], "short": [1, pytest.approx(1.5)]}
    assert "short:\n\n| case |" in markdown(benchmark)
    assert [cells(found[1])[2] for found in benchmark.by_kind().values()] == [
        "1.25",
        "1.50",
    ]  # one prompt has no interval
    head["prompts"]["name"] = "long,short"
    for hostile in (None, "ab", [], [1], ["one", "one"]):
        head["prompts"]["kinds"] = hostile
        strange = parse([json.dumps(head), *map(json.dumps, made)], "x").by_kind()
        assert set(strange) <= {"1", "?"}
    head["prompts"]["kinds"] = []  # one file whose name has a comma
    one = parse([json.dumps(head), *map(json.dumps, made)], "x")
    assert "2 prompts (long,short, y)" in setting(one.header, one.rows())[1]


def test_the_interval_of_a_speed_up_is_over_prompts():
    plain, other = measurements([PLAIN, HSD], two_cases())
    half = (
        12.7062 * abs(1.5 - 1.25) / 2
    )  # Student's t with one degree of freedom; without a prompt the other's speed-up
    value, *ends = other.speedup(plain)
    assert ends == pytest.approx([0, value + half])
    assert plain.speedup(plain) == (1, 1, 1)


def test_a_file_that_was_cut_off_can_be_read_up_to_there():
    whole = lines(two_cases())
    assert len(parse([*whole[:-1], whole[-1][:30]], "x").records) == len(whole) - 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a benchmark"),
        ("{}", "is not a benchmark"),
        ("[1]", "is not a benchmark"),
        ("nonsense\n{}", "line 1 of 'x' is not JSON"),
        (lines([])[0] + '\n{"case": 1}\n', "line 2 of 'x' is not a record of a run"),
    ],
)
def test_a_file_that_is_no_benchmark_is_refused_in_one_line(text: str, words: str):
    with pytest.raises(HsdError, match=words) as error:
        parse(text.splitlines(), "x")
    assert "\n" not in str(error.value)


HEAD = json.dumps(
    {"format": "hsd-bench-1", "prompts": 7, "cases": [{"name": "a", "options": 3, "peer": None}]}
)


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "hsd-bench-1"}',
        '{"format": "hsd-bench-1", "cases": 7}',
        f'{HEAD}\n{{"case": "a", "prompt": [], "repetition": 1, "seconds": 1, "calls": 1}}',
        f'{HEAD}\n{{"case": "a", "prompt": 1, "repetition": 1, "seconds": 0, "calls": {{}}}}',
        "[" * 100_000,
        "\x00\x01",
    ],
)
def test_a_damaged_benchmark_is_told_in_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "b.jsonl").write_text(text)
    assert main(["bench", "--report", str(tmp_path / "b.jsonl")]) == 2
    told = capsys.readouterr().err
    assert told.startswith("hsd: ")
    assert told.count("\n") == 1


# Prompt sets


def test_shipped_prompts_are_sets_of_their_own():
    assert len(prompt_set("stories").prompts) == 12
    assert len(prompt_set("shipped").prompts) == 36
    assert prompt_set("sums", limit=3).prompts == prompt_set("sums").prompts[:3]
    assert len(set(prompt_set("chat").prompts)) == 8


def test_several_sets_take_turns_and_each_prompt_knows_its_own(tmp_path: Path):
    mine = tmp_path / "mine,too.txt"
    mine.write_text("only one\n")
    assert prompt_set(str(mine)).prompts == ["only one"]
    (tmp_path / "mine.txt").write_text("only one\n")
    found = prompt_set(f"stories,{tmp_path / 'mine.txt'}, sums", limit=2)
    stories, sums = (prompt_set(name).prompts for name in ("stories", "sums"))
    assert found.prompts == [stories[0], "only one", sums[0], stories[1], sums[1]]
    assert found.kinds == ["stories", "mine.txt", "sums", "stories", "sums"]
    read = "mine.txt: a file, read as plain text, a prompt per line"
    assert (
        found.source == f"stories: written for this project; {read}; sums: written for this project"
    )
    assert prompt_set("chat", limit=6).kinds == [
        "stories",
        "sums",
        "code",
        "questions",
        "stories",
        "sums",
    ]
    with pytest.raises(HsdError, match="unknown prompt set ''"):
        prompt_set("stories,")


def test_public_sets_are_read_as_they_are_published(tmp_path: Path):
    (tmp_path / "gsm8k").mkdir()
    (tmp_path / "gsm8k" / "test.jsonl").write_text('{"question": "How many?", "answer": "4"}\n')
    (tmp_path / "spec_bench").mkdir()
    questions = [
        {"category": "qa", "turns": ["Why?", "And?"]},
        {"category": "math", "turns": ["1+1"]},
    ]
    (tmp_path / "spec_bench" / "question.jsonl").write_text("\n".join(map(json.dumps, questions)))
    assert prompt_set("gsm8k", tmp_path).prompts == ["Question: How many?\nAnswer:"]
    assert prompt_set("spec_bench", tmp_path).prompts == ["Why?", "1+1"]
    assert prompt_set("spec_bench:math", tmp_path).prompts == ["1+1"]
    with pytest.raises(HsdError, match=r"question.jsonl' has no category 'poems': choose math, qa"):
        prompt_set("spec_bench:poems", tmp_path)
    with pytest.raises(HsdError, match=r"no file .*HumanEval"):
        prompt_set("humaneval", tmp_path)


SPEED = [  # rows of ours, with the fields of the published ones
    {
        "question_id": "a",
        "category": "coding",
        "sub_category": "c",
        "turns": ["Sort a list.", "Now backwards."],
    },
    {
        "question_id": "b",
        "category": "math",
        "sub_category": "",
        "turns": ["Two and two?"],
        "multiturn": False,
    },
    {
        "question_id": "c",
        "category": "coding",
        "turns": ["Reverse a word."],
        "source": "ours",
        "difficulty": "easy",
    },
]


def test_speed_bench_is_read_from_a_folder_or_a_file_by_category(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "speed_bench" / "qualitative.jsonl"
    file.parent.mkdir()
    file.write_text("\n".join(map(json.dumps, SPEED)))
    first = ["Sort a list.", "Two and two?", "Reverse a word."]
    assert prompt_set("speed_bench", tmp_path).prompts == prompt_set(str(file)).prompts == first
    for name in ("speed_bench:coding", f"{file}:coding"):
        found = prompt_set(name, tmp_path)
        assert found.prompts == [first[0], first[2]]
        assert found.name.endswith(":coding")
    for name in ("speed_bench:poems", f"{file}:poems"):
        with pytest.raises(HsdError, match="has no category 'poems': choose coding, math"):
            prompt_set(name, tmp_path)
    with pytest.raises(HsdError, match=r"no file .*speed_bench"):
        prompt_set("speed_bench", tmp_path / "elsewhere")
    (tmp_path / "plain.txt").write_text("one\ntwo")
    with pytest.raises(HsdError, match="has plain lines, which have no category 'coding'"):
        prompt_set(f"{tmp_path / 'plain.txt'}:coding")
    for category in ("", None, " "):
        rows = [{"prompt": "one"}, {"prompt": "two", "category": category}]
        (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
        with pytest.raises(HsdError, match="no category 'coding': leave it out, as no row has"):
            prompt_set(f"{tmp_path / 'rows.jsonl'}:coding")


def test_a_prompt_that_the_sets_own_script_has_not_fetched_is_refused(tmp_path: Path):
    """As the set stands on the Hub: some of its texts belong to others, and are fetched by its own
    script.
    """
    missing = {
        "turns": ["FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING SPECDEC_BENCH"],
        "category": "qa",
    }
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, [*SPEED, missing])))
    with pytest.raises(HsdError, match=r"line 4 of .* is a placeholder: prepare the file"):
        prompt_set(str(tmp_path / "s.jsonl"))


def test_without_folder_and_network_the_shipped_prompts_of_that_style_are_used_and_named(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delenv("HSD_DATA", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = prompt_set("gsm8k")
    assert found.prompts == prompt_set("sums").prompts
    assert found.name == "sums, in the style of gsm8k"
    assert "written for this project" in found.source


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ('{"prompt": "a"}\n{"prompt": }', "line 2 of .* is not JSON"),
        ('{"prompt": "a"}\n{"text": "b"}', 'line 2 of .* has no field "prompt"'),
        ('{"prompt": "a"}\n[1]', 'line 2 of .* has no field "prompt"'),
        ('{"turns": ["a"]}\n{"turns": []}', 'line 2 of .* has no field "prompt"'),
        ('{"turns": ["a"]}\n{"turns": [7]}', 'line 2 of .* has no field "prompt"'),
    ],
)
def test_a_malformed_file_of_prompts_is_refused_with_its_line(
    text: str, words: str, tmp_path: Path
):
    (tmp_path / "mine.jsonl").write_text(text)
    with pytest.raises(HsdError, match=words):
        prompt_set(str(tmp_path / "mine.jsonl"))


def test_a_file_of_ones_own_is_read_line_by_line(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("first\n\nsecond \n")
    assert prompt_set(str(tmp_path / "mine.txt")).prompts == ["first", "second"]


# The command


def bench(*words: str) -> int:
    return main(["bench", *words])


@needs_pair
def test_the_command_prints_what_its_file_gives_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "b.jsonl"
    toys = ASSETS / "tiny"
    short = ["--limit", "2", "--repetitions", "1", "--max-new-tokens", "12", "--gamma", "2,3"]
    short += ["--target", str(toys / "target"), "--draft", str(toys / "middle"), "--device", "cpu"]
    assert bench(*short, "--rules", "hsd", "--peer", "transformers", "--out", str(out)) == 0
    printed = capsys.readouterr().out
    assert bench("--report", str(out)) == 0
    assert capsys.readouterr().out == printed
    assert bench("--report", str(out), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    ours = ["plain", "hsd, γ=2", "hsd, γ=3"]
    peers = ["assisted, γ=2", "assisted, γ=3", "plain"]
    assert [row["case"] for row in told["rows"]] == ours + [
        f"transformers, {peer}" for peer in peers
    ]
    plain = told["rows"][0]
    assisted = told["rows"][3]
    assert plain["block_efficiency"][0] == 1
    assert 1 <= assisted["block_efficiency"][0] <= 3
    assert all(math.isfinite(row["limit"]) for row in told["rows"][1:3])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gamma", "5,x"], "--gamma: value x: choose a whole number from 1 to 32 or auto"),
        (["--temperature", "hot"], "--temperature: value hot: choose a number"),
        (["--gamma", "99"], "gamma 99: choose a whole number from 1 to 32"),
        (["--rules", "best"], "unknown rule 'best'"),
        (["--prompts", "nothing-like-it"], "unknown prompt set"),
        (["--prompts", "/nowhere/prompts.txt"], "unknown prompt set"),
        (["--repetitions", "0"], "--repetitions: 0: choose at least 1"),
        (["--device", "cuda"], "there is no device 'cuda'"),
        (["--out", "/nowhere/at/all.jsonl"], "cannot write"),
        (["--report", "/nowhere.jsonl"], "cannot read 'nowhere.jsonl'"),
        (["--max-new-tokens", "100000"], "choose a whole number"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
):
    try:
        status = bench(*words)
    except SystemExit as stop:
        status = int(stop.code or 0)
    told = capsys.readouterr()
    assert status == 2
    assert message in told.err
    assert len(told.err.strip().splitlines()) == 1
    assert told.out == ""


@needs_pair
def test_what_was_measured_before_ctrl_c_is_kept_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import hsd.cli.bench as command

    def interrupted(*arguments: Any) -> Any:
        for count, made in enumerate(measure(*arguments), start=1):
            yield made
            if count == 3:  # one complete round of two cases, and half of the next
                raise KeyboardInterrupt

    monkeypatch.setattr(command, "measure", interrupted)
    out = tmp_path / "b.jsonl"
    assert (
        bench(
            "--limit",
            "3",
            "--repetitions",
            "2",
            "--max-new-tokens",
            "8",
            "--rules",
            "hsd",
            "--out",
            str(out),
        )
        == 0
    )
    told = capsys.readouterr()
    assert "stopped early; 3 runs are kept" in told.err
    assert "| hsd, γ=5 |" in told.out
    assert len(read(out).records) == 3


@needs_pair
def test_an_older_benchmark_is_replaced_by_a_whole_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    import hsd.cli.bench as command

    out = tmp_path / "b.jsonl"
    words = ["--limit", "2", "--repetitions", "1", "--max-new-tokens", "4", "--rules", "hsd"]
    words.append("--out")
    assert bench(*words, str(out)) == 0
    old = out.read_bytes()

    def stopped(trouble: BaseException, runs: int) -> None:
        def records(*arguments: Any) -> Any:
            yield from islice(measure(*arguments), runs)
            raise trouble

        monkeypatch.setattr(command, "measure", records)

    full = OSError(28, "No space left on device")
    part = tmp_path / "b-part1.jsonl"
    for trouble, runs, status in ((full, 0, 2), (full, 3, 1), (KeyboardInterrupt(), 3, 0)):
        stopped(trouble, runs)
        assert bench(*words, str(out)) == status
        assert out.read_bytes() == old
        assert part.exists() is bool(runs)
        if runs:
            assert f"kept in {part}" in capsys.readouterr().err
            assert len(read(part).records) == runs
            part.unlink()
    monkeypatch.setattr(command, "measure", measure)
    assert bench(*words, str(out)) == 0
    assert out.read_bytes() != old
    assert [*tmp_path.iterdir()] == [out]


@needs_pair
@pytest.mark.slow
def test_two_processes_measure_what_one_measures(tmp_path: Path):
    options = [
        "--limit",
        "4",
        "--repetitions",
        "1",
        "--max-new-tokens",
        "16",
        "--rules",
        "tokenwise,hsd",
    ]
    launch = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--multi_gpu",  # which is how accelerate starts several processes, on CPUs as well
        "--num_processes",
        "2",
        "--num_machines",
        "1",
    ]
    launch += ["--mixed_precision", "no", "--dynamo_backend", "no"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    for command, name in (([sys.executable], "one"), (launch, "two")):
        words = [*command, "-m", "hsd", "bench", *options, "--out", str(tmp_path / name)]
        subprocess.run(
            words, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=900
        )
    one = read(tmp_path / "one")
    two = read(tmp_path / "two")
    assert two.header["processes"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]

    def seen(benchmark: Any) -> list[tuple[Any, ...]]:
        names = ("case", "prompt", "repetition", "seed", "new_tokens", "target_calls", "kept")
        return sorted(tuple(r[name] for name in names) for r in benchmark.records)

    assert seen(two) == seen(one)
    assert [row["block_efficiency"] for row in two.rows()] == [
        row["block_efficiency"] for row in one.rows()
    ]


def test_an_interval_of_few_prompts_covers_the_truth_as_often_as_it_says():
    """Of 300 sets of five prompts, whose tokens per call vary, about 95 in 100 intervals hold the
    true ratio.
    """
    noise = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        made = [record("hsd", i, 1, float(noise.normal(20, 4)), 10, 0.1) for i in range(5)]
        _, low, high = Measurement(HSD, tuple(made)).block_efficiency()
        held += low <= 2 <= high
    assert 0.9 < held / 300 < 0.99  # a bootstrap over five prompts: about 0.8


@pytest.mark.parametrize("freedom", [1, 4, 8, 9, 15, 40, 1000])
def test_students_factor_is_that_of_scipy(freedom: int):
    stats = pytest.importorskip("scipy.stats")
    assert student(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-4)
