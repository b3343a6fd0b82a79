"""A step is told once: the page and Python say the same words of every step, and of no coin that
decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine import Engine
from loops import for_each

from hsd import RULES, Pair, run
from hsd.facts import facts
from hsd.paths import TRACES
from hsd.trace import Trace, step_in_words
from hsd.trace.fill import SENTENCES, say
from hsd.trace.words import Reading

RECORDED = sorted(TRACES.glob("*.json"))
TOLD = ("lead", "detail", "why", "warning")
TELL = """(trace) => trace.steps.map((_, i) => {
  const view = model.readStep(trace, i);
  const told = sentences.story(view);
  const known = (part) =>
    typeof part === "string" || part.piece !== undefined || part.strong || part.term;
  if (!Object.values(told).flat().every(known)) throw new Error(JSON.stringify(told));
  return [sentences.lines(view).join("\\n"), ...Object.values(told).map(fill.plain)];
})"""


@pytest.fixture(scope="module")
def page() -> Iterator[Engine]:
    engine = Engine({name: f"step/{name}.js" for name in ("model", "sentences", "fill")})
    yield engine
    engine.stop()


@for_each("file", RECORDED, ids=lambda file: file.stem)
def test_the_page_and_python_tell_a_recorded_step_in_the_same_words(file: Path, page: Engine):
    assert_same_words(Trace.from_file(file), page)


@for_each(
    "rule, drafts, temperature",
    [
        (name, drafts, temperature)
        for name, rule in RULES.items()
        for drafts in (1, 3)
        for temperature in (0, 0.8)
        if drafts == 1 or rule.drafts
    ],
)
def test_so_they_do_of_a_run_by_any_rule(
    rule: str, drafts: int, temperature: float, byte_pair: Pair, page: Engine
):
    options = {
        "gamma": 4,
        "seed": 5,
        "max_new_tokens": 20,
        "temperature": temperature,
        "drafts": drafts,
    }
    assert_same_words(run(byte_pair, "Once upon a time", rule=rule, **options), page)


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
        say("detail", Reading(trace, step.index, known).facts())
        for step in trace.steps
        if step.drafted
    ]
    assert {words for words in said if not any(words in line for line in told)} == set()
    assert not [line for line in told if any(words in line for words in never)]
    warning = say("warning", Reading(trace, 0, known).facts())
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
    engine = Engine({"model": "step/model.js", "again": "step/again.js"})
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


def test_no_fact_has_the_name_of_a_sentence(byte_pair: Pair):
    """Else one that is missing would be told as that sentence; a list of facts has the name of each
    one's sentence.
    """
    trace = run(
        byte_pair, "Once upon a time", rule="hsd", gamma=4, seed=5, max_new_tokens=12, drafts=3
    )
    values = Reading(trace, 0, facts()).facts()
    scopes = [
        values,
        values["own"],
        values["own"]["tests"][0],
        *values["own"]["tests"][0]["changes"][:1],
    ]
    for scope in scopes:
        assert {
            name for name, value in scope.items() if not isinstance(value, list)
        } & SENTENCES.keys() == set()


def assert_same_words(trace: Trace, page: Engine) -> None:
    known = facts()
    told = page.call(TELL, json.loads(trace.to_json()))
    for step, words in zip(trace.steps, told, strict=True):
        values = Reading(trace, step.index, known).facts()
        assert [
            step_in_words(trace, step.index, known),
            *(say(name, values) for name in TOLD),
        ] == words
