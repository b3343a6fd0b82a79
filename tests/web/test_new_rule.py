"""A rule with a new form that is a record in Python and nothing else, wherever the page judges and
speaks of rules.
"""

from __future__ import annotations

import itertools
import json
import operator
from collections.abc import Iterator

import pytest
import torch
from engine import Engine
from new_rule import NEWCOMER, TEMPERED
from table_models import table_pair

from hsd import run
from hsd.audit import context_free_models, output_law
from hsd.facts import facts
from hsd.rules import RULES, Rule
from hsd.trace import step_in_words

NODES = """
  globalThis.Node = class {
    children = [];
    setAttribute() {}
    append(child) { this.children.push(child); }
    get textContent() { return this.children.map((one) => one.textContent ?? one).join(""); }
  };
  document.createElement = () => new Node();
"""  # enough of a page to read what a formula says
FILES = (
    "step/model.js",
    "step/rejudge.js",
    "step/formula.js",
    "step/explain.js",
    "rules/law.js",
    "rules/audit.js",
)


@pytest.fixture
def page(monkeypatch) -> Iterator[Engine]:
    """The page's modules with facts in which the rules stand."""
    for rule in (NEWCOMER, TEMPERED):
        monkeypatch.setitem(RULES, rule.name, rule)
    engine = Engine({file.split("/")[1].removesuffix(".js"): file for file in FILES})
    yield engine
    engine.stop()


def trace_by(rule: str) -> dict:
    pair = table_pair(vocab=8, order=1, seed=3)
    return run(pair, "ab", rule=rule, gamma=3, max_new_tokens=12, seed=1)


def test_a_draft_of_another_rule_can_be_judged_by_it(page: Engine):
    """The board: its chances, and the whole verdict with other coins."""
    trace = trace_by("hsd")
    told = page.call(
        """(trace, rule) => trace.steps.map((_, i) => {
          const view = model.readStep(trace, i);
          const judged = rejudge.rejudge(view, {rule, coins: new Map()}).own;
          return [rejudge.judges(view).includes(rule), rejudge.chances(view, rule), judged.kept];
        })""",
        json.loads(trace.to_json()),
        NEWCOMER.name,
    )
    for step, (offered, chances, kept) in zip(trace.steps, told, strict=True):
        if not step.nodes:
            continue
        thresholds = [min(1, node.p / (2 * node.q)) for node in step.nodes]
        passed = [node.coin < h for node, h in zip(step.nodes, thresholds, strict=True)]
        reached = [1, *itertools.accumulate(thresholds, operator.mul)]
        assert offered
        assert chances == pytest.approx(
            [one * (1 - h) for one, h in zip(reached, [*thresholds, 0], strict=True)]
        )
        assert kept == [*passed, False].index(False)


def test_its_tests_have_formulas_and_sentences(page: Engine):
    trace = trace_by(NEWCOMER.name)
    told = page.call(
        f"(trace) => {{ {NODES}"
        """return trace.steps.map((_, i) => {
          const view = model.readStep(trace, i);
          const heard = (made) => {
            const numbers = rejudge.numbersOf(view, made);
            return formula.formula(view.depth.get(made.node), numbers, made.threshold).ariaLabel;
          };
          return [view.own.decisions.map(heard), explain.lines(view).join("\\n")];
        })}""",
        json.loads(trace.to_json()),
    )
    for step, (formulas, words) in zip(trace.steps, told, strict=True):
        assert len(formulas) == len(step.verdict.decisions)
        assert all(
            one.startswith(f"a{'₁₂₃'[i]} = min(1, (p)/(2 · q)) = min(1, (")
            for i, one in enumerate(formulas)
        )
        assert ("= min(1, p/(2q)) with p = " in words) == bool(formulas)
        assert words == step_in_words(trace, step.index, facts())


@pytest.mark.parametrize("rule", [NEWCOMER, TEMPERED], ids=lambda rule: rule.name)
def test_the_lab_works_out_its_law(page: Engine, rule: Rule):
    p = [0.5, 0.3, 0.2]
    q = [0.2, 0.3, 0.5]
    gamma = 3
    told = page.call(
        "(m) => audit.enumerate(m).rules", {"vocab": 3, "gamma": gamma, "p": [p] * 4, "q": [q] * 3}
    )
    output, kept = output_law(context_free_models(p, q, gamma), rule.law)
    assert told[rule.name]["kept"] == pytest.approx(float(kept))
    assert told[rule.name]["output"] == pytest.approx(output.flatten().tolist())
    assert not told[rule.name]["exact"]


def test_a_power_is_written_with_a_raised_exponent(page: Engine):
    law = TEMPERED.law(*map(torch.tensor, ([[0.2, 0.8], [0.5, 0.5]], [[0.8, 0.2]], [0])))
    grounds = law.grounds(torch.tensor([0]))[0].as_data()
    made = {"form": "tempered", "numbers": grounds, "changed": None, "value": 0.5}
    heard = page.call(
        f"(made) => {{ {NODES} return formula.formula(1, made, 0.5).ariaLabel; }}", made
    )
    assert (
        heard
        == "a₁ = min(1, ((p)/(q)) to the power of a) = min(1, ((0.2)/(0.8)) to the power of 0.5) = "
        "0.5"
    )
