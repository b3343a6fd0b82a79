"""A step is told once: the page and Python say the same words, by every template and of every step,
and of no coin that decides nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest
from engine import Engine
from loops import for_each
from pydantic_core import to_json
from sentence_facts import scopes

import hsd.facts
from hsd import RULES, Pair, run
from hsd.conform import load_adapter
from hsd.conform.own import OwnRule, OwnVerdict, own_rule
from hsd.facts import facts
from hsd.paths import ROOT, TRACES
from hsd.trace import Trace, sentences, step_in_words
from hsd.trace.explain import step_facts
from hsd.trace.facts import SAID_OF
from hsd.trace.sentences import SENTENCES, check, say

RECORDED = sorted(TRACES.glob("*.json"))
TOLD = ("lead", "detail", "why", "warning")
TELL = """(trace) => trace.steps.map((_, i) => {
  const view = model.readStep(trace, i);
  const told = explain.story(view);
  const known = (part) =>
    typeof part === "string" || part.piece !== undefined || part.strong || part.term;
  if (!Object.values(told).flat().every(known)) throw new Error(JSON.stringify(told));
  return [explain.lines(view).join("\\n"), ...Object.values(told).map(sentences.plain)];
})"""


@cache
def own(file: str, name: str = "", lossless: bool | None = False) -> OwnRule:
    """A rule of one's own, from an adapter of the examples."""
    adapter = replace(load_adapter(ROOT / "examples" / "conform" / file), name=name or file)
    rule = own_rule(adapter)
    return replace(rule, verdict=OwnVerdict(None, "a {reason}")) if lossless is None else rule


OWN = {
    "wrong_block.py": lambda: own("wrong_block.py"),
    "gumbel.py": lambda: own("coupled.py", "gumbel.py"),
    "unjudged.py": lambda: own("block.py", "unjudged.py", None),
}


@pytest.fixture(scope="module")
def page() -> Iterator[Engine]:
    engine = Engine({name: f"step/{name}.js" for name in ("model", "explain", "sentences")})
    yield engine
    engine.stop()


@for_each("file", RECORDED, ids=lambda file: file.stem, every=3)
def test_the_page_and_python_tell_a_recorded_step_in_the_same_words(file: Path, page: Engine):
    assert_same_words(Trace.from_file(file), page)


@for_each(
    "rule, drafts, temperature",
    [
        (name, drafts, temperature)
        for name, rule in RULES.items()
        for drafts, temperature in ((1, 0), (1, 0.8), (3, 0.8))
        if drafts == 1 or rule.drafts
    ],
    every=3,
)
def test_so_they_do_of_a_run_by_any_rule(
    rule: str, drafts: int, temperature: float, byte_pair: Pair, page: Engine
):
    options = {
        "gamma": 4,
        "seed": 5,
        "max_new_tokens": 12,
        "temperature": temperature,
        "drafts": drafts,
    }
    assert_same_words(run(byte_pair, "Once upon a time", rule=rule, **options), page)


@pytest.mark.parametrize("file", ["wrong_block.py", "gumbel.py", "unjudged.py"])
@pytest.mark.parametrize("shadow", ["", "hsd"])
def test_so_they_do_of_a_run_by_a_rule_of_ones_own(
    file: str, shadow: str, byte_pair: Pair, page: Engine
):
    trace = run(byte_pair, "Once upon a time", rule=OWN[file](), shadow=shadow, max_new_tokens=20)
    assert trace.setup.options.own is not None
    assert_same_words(trace, page)


@pytest.mark.parametrize(
    ("options", "said", "never"),
    [
        (
            {"rule": "ensemble", "draft_weight": 0.15, "temperature": 0},
            {", the mixture’s likeliest, replaces", "the mixture gives it", "and another token"},
            ("coin", "drawn from"),
        ),
        (
            {"rule": "typical", "epsilon": 0.02, "after_kept": "likeliest"},
            {
                "the target’s likeliest, replaces",
                "; nothing is drawn.",
                "All were kept, so",
                "free, the target’s",
            },
            ("drawn from",),
        ),
    ],
    ids=lambda value: value.get("rule") if isinstance(value, dict) else None,
)
def test_of_a_rule_that_draws_nothing_no_draw_is_told(
    options: dict[str, object],
    said: set[str],
    never: tuple[str, ...],
    byte_pair: Pair,
    page: Engine,
):
    trace = run(byte_pair, "Once upon a time", gamma=3, seed=5, max_new_tokens=160, **options)
    assert_same_words(trace, page)
    known = facts()
    told = [
        say("detail", step_facts(trace, step.index, known)) for step in trace.steps if step.drafted
    ]
    assert {words for words in said if not any(words in line for line in told)} == set()
    assert not [line for line in told if any(words in line for words in never)]
    warning = say("warning", step_facts(trace, 0, known))
    assert ("at every drafted place" in warning) is (options["rule"] == "ensemble")


def test_what_would_follow_is_ranked_by_what_a_rule_draws_it_from(byte_pair: Pair):
    """In divergence-only mode all of p follows: its likeliest token comes first, also where q gives
    it more than p.
    """
    how = {
        "fuzzy_mode": "divergence-only",
        "divergence": "tv",
        "tolerance": 0.01,
        "gamma": 3,
        "max_new_tokens": 60,
    }
    trace = json.loads(run(byte_pair, "Once upon a time", rule="fuzzy", seed=3, **how).to_json())
    engine = Engine({"model": "step/model.js", "again": "step/rejudge.js"})
    found = engine.call(
        "(trace) => trace.steps.map((_, i) => model.readStep(trace, i)).map((view) => "
        "again.likely(view, view.own))",
        trace,
    )
    engine.stop()
    overtaken = 0
    for step, likely in zip(trace["steps"], found, strict=True):
        if likely:
            top = next(one for one in step["branches"] if one["node"] == step["kept"])["top"]
            assert likely[0]["piece"] == max(top, key=lambda one: one["p"])["piece"]
            best = max(top, key=lambda one: one["p"] - one["q"])
            overtaken += best["piece"] != likely[0]["piece"]
    assert overtaken


SAY = """(name, list) =>
  list.map((scope) => sentences.plain(sentences.say(name, scope)))"""
MARK = re.compile("⟦[^⟧]*⟧")


def test_the_page_and_python_say_every_wording_of_every_sentence_alike(
    monkeypatch: pytest.MonkeyPatch,
):
    """Each wording ends with a mark of its own, so that what is said shows which were taken."""
    marked = {
        name: {conditions: f"{text}⟦{name}: {conditions}⟧" for conditions, text in ways.items()}
        for name, ways in SENTENCES.items()
    }
    for module in (sentences, hsd.facts):
        monkeypatch.setattr(module, "SENTENCES", marked)
    page = Engine({"sentences": "step/sentences.js"})
    for name, records in check(SENTENCES, SAID_OF):
        unsaid = {mark for text in marked[name].values() for mark in MARK.findall(text)}
        cases: list[dict[str, Any]] = []
        texts: list[str] = []
        for i, scope in enumerate(islice(scopes(name, records, Random(name)), 20_000)):
            text = sentences._say(name, scope)
            if i < 15 or unsaid & {*MARK.findall(text)}:
                cases.append(plain_data(scope, without_none=i % 2 == 1))
                texts.append(text)
                unsaid -= {*MARK.findall(text)}
            if i >= 15 and not unsaid:
                break
        assert not unsaid, "never said"
        assert page.call(SAY, name, cases) == texts
    page.stop()


def plain_data(scope: dict[str, Any], without_none: bool) -> dict[str, Any]:
    """Facts as the page has them, where one that is None may also be missing."""
    data: dict[str, Any] = json.loads(
        to_json(scope),
        object_hook=lambda facts: {
            name: fact for name, fact in facts.items() if not (fact is None and without_none)
        },
    )
    return data


def assert_same_words(trace: Trace, page: Engine) -> None:
    known = facts()
    told = page.call(TELL, json.loads(trace.to_json()))
    for step, words in zip(trace.steps, told, strict=True):
        values = step_facts(trace, step.index, known)
        assert [
            step_in_words(trace, step.index, known),
            *(say(name, values) for name in TOLD),
        ] == words
