"""A step is told once: the page and Python say the same words of every step, and of no coin that decides nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine import Engine
from example_script import EXAMPLES

from hsd import RULES, Pair, run
from hsd.facts import facts
from hsd.trace import Trace, step_in_words
from hsd.trace.fill import SENTENCES, say
from hsd.trace.words import facts_of

RECORDED = sorted((EXAMPLES / "traces").glob("*.json"))
TOLD = ("lead", "detail", "why", "warning")
TELL = """(trace) => trace.steps.map((_, i) => {
  const view = model.readStep(trace, i);
  const told = sentences.story(view);
  const known = (part) => typeof part === "string" || part.piece !== undefined || part.strong || part.term;
  if (!Object.values(told).flat().every(known)) throw new Error(JSON.stringify(told));
  return [sentences.lines(view).join("\\n"), ...Object.values(told).map(fill.plain)];
})"""


@pytest.fixture(scope="module")
def page() -> Iterator[Engine]:
    engine = Engine({name: f"step/{name}.js" for name in ("model", "sentences", "fill")})
    yield engine
    engine.stop()


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: file.stem)
def test_the_page_and_python_tell_a_recorded_step_in_the_same_words(file: Path, page: Engine):
    assert_same_words(Trace.from_file(file), page)


@pytest.mark.parametrize("temperature", [0, 0.8])
@pytest.mark.parametrize("drafts", [1, 3])
@pytest.mark.parametrize("rule", RULES)
def test_so_they_do_of_a_run_by_any_rule(rule: str, drafts: int, temperature: float, byte_pair: Pair, page: Engine):
    if drafts > 1 and not RULES[rule].drafts:
        pytest.skip("judges one draft")
    options = {"gamma": 4, "seed": 5, "max_new_tokens": 20, "temperature": temperature, "drafts": drafts}
    assert_same_words(run(byte_pair, "Once upon a time", rule=rule, **options), page)


def test_no_fact_has_the_name_of_a_sentence(byte_pair: Pair):
    """Else one that is missing would be told as that sentence; a list of facts has the name of each one's sentence."""
    trace = run(byte_pair, "Once upon a time", rule="hsd", gamma=4, seed=5, max_new_tokens=12, drafts=3)
    values = facts_of(trace, 0, facts())
    scopes = [values, values["own"], values["own"]["tests"][0], *values["own"]["tests"][0]["changes"][:1]]
    for scope in scopes:
        assert {name for name, value in scope.items() if not isinstance(value, list)} & SENTENCES.keys() == set()


def assert_same_words(trace: Trace, page: Engine) -> None:
    known = facts()
    told = page.call(TELL, json.loads(trace.to_json()))
    for step, words in zip(trace.steps, told, strict=True):
        values = facts_of(trace, step.index, known)
        assert [step_in_words(trace, step.index, known), *(say(name, values) for name in TOLD)] == words
