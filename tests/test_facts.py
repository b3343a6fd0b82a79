"""Names are told once: what the registries hold appears everywhere, and the page gets all of it."""

from __future__ import annotations

import json
import re

import pytest
import torch
from new_rule import NEWCOMER
from table_models import table_pair

from hsd import Trace, cli, facts, run
from hsd.audit import audit
from hsd.draft import LAYOUTS
from hsd.rules import RULES, TREE_RULES
from hsd.rules.fuzzy import DIVERGENCES, MODES, ROWS


def named(entries: list[dict]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_facts_are_plain_data_and_hold_every_registry():
    found = json.loads(facts.facts_json())
    assert set(named(found["rules"])) == {*RULES, *TREE_RULES}
    assert named(found["layouts"]) == list(LAYOUTS)
    assert named(found["divergences"]) == list(DIVERGENCES)
    assert named(found["modes"]) == list(MODES)
    assert [name for _, name in facts.menus()["grounds"]] == list(ROWS)
    for entry in found["rules"]:
        assert entry["title"], entry["short"]
        assert facts.find_any_rule(entry["name"]).citation
        assert entry["single"] == (entry["name"] in RULES)
        assert entry["trees"] or entry["single"]


def test_names_differ_and_say_what_a_reader_must_be_warned_of():
    labels = dict(facts.rule_menu())
    assert len(labels) == len(facts.rule_names()) == len(set(labels.values()))
    for label, name in labels.items():
        assert ("not lossless" in label) == (not facts.find_any_rule(name).lossless)
        assert ("several drafts" in label) == (name not in RULES)
    for names in (facts.menus()["trees"], facts.menus()["divergences"]):
        assert len(dict(names)) == len(names)
    assert len({facts.short(name) for name in facts.rule_names()}) == len(facts.rule_names())


def test_the_order_of_tests_is_that_of_the_laws():
    forward = {name for name in {*RULES, *TREE_RULES} if facts.find_any_rule(name).forward}
    assert forward >= {
        "tokenwise",
        "fuzzy",
        "recursive-tokenwise",
        "recursive-agreement",
        "top-down",
        "one-hot",
    }
    assert not forward & {"blockwise", "hsd", "recursive-hsd", "traversal"}


@pytest.fixture
def new_rule(monkeypatch) -> str:
    """A chain rule that only stands in the registry."""
    monkeypatch.setitem(RULES, NEWCOMER.name, NEWCOMER)
    return NEWCOMER.name


def test_a_rule_with_a_new_form_runs_and_is_explained_by_its_record_alone(
    new_rule, tmp_path, capsys
):
    """In the loop, the audit, a trace that is read, and the command line;
    tests/web/test_new_rule.py has the page.
    """
    assert facts.facts()["forms"]["half"]["threshold"] == ["min", 1, ["/", "p", ["*", 2, "q"]]]
    p = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    q = torch.tensor([[0.6, 0.4]])
    tokens = torch.tensor([1])
    assert RULES[new_rule].law(p, q, tokens).threshold.tolist() == [1.0]
    assert RULES[new_rule].law(p, q, tokens * 0).threshold.tolist() == pytest.approx([1 / 6])
    audited = audit(vocab=3, gamma=2)["rules"]
    assert not audited[new_rule]["lossless"]
    assert audited[new_rule]["expected_accepted"] < audited["tokenwise"]["expected_accepted"]

    trace = run(
        table_pair(vocab=8, order=1, seed=3),
        "ab",
        rule=new_rule,
        gamma=3,
        max_new_tokens=12,
        seed=1,
    )
    file = tmp_path / "trace.json"
    file.write_text(trace.to_json(), encoding="utf-8")
    read = Trace.from_json(file.read_text(encoding="utf-8"))
    assert read == trace
    made = [decision for step in read.steps for decision in step.verdict.decisions]
    assert {decision.grounds.form for decision in made} == {"half"}
    for decision in made:
        assert decision.threshold == pytest.approx(
            min(1, decision.grounds.p / (2 * decision.grounds.q))
        )
    assert cli.main(["explain", str(file)]) == 0
    told = capsys.readouterr().out
    assert "The newcomer, which is not lossless, tests token by token" in told
    p, q = re.search(r" = min\(1, p/\(2q\)\) with p = (\S+), q = (\S+\d)", told).groups()  # type: ignore[union-attr]
    assert [float(p), float(q)] == pytest.approx([made[0].grounds.p, made[0].grounds.q], rel=2e-3)


def test_a_new_chain_rule_appears_everywhere_by_its_entry_alone(new_rule, capsys):
    from hsd.app.endpoints import verify_step
    from hsd.app.race import read_plan
    from hsd.app.runs import read
    from hsd.cli.bench import sweep
    from hsd.space import load

    entry = next(rule for rule in facts.facts()["rules"] if rule["name"] == new_rule)
    assert entry["title"] == "Newcomer, a test (not lossless)"
    assert (entry["forward"], entry["lossless"], entry["mark"]) == (True, False, "not lossless")
    assert (entry["title"], new_rule) in list(facts.rule_menu())

    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    assert new_rule in capsys.readouterr().out
    assert cli.main(["run", "x", "--rule", "nobody"]) == 2
    assert new_rule in capsys.readouterr().err
    arguments = cli.build_parser(["bench"]).parse_args(["bench", "--rules", new_rule])
    assert f"{new_rule}, γ=5" in [case.name for case in sweep(arguments).cases()]

    space = load()
    assert (
        read(space, {"prompt": "x", "rule": new_rule, "shadow": new_rule}).options.rule == new_rule
    )
    race = {"lanes": [{"rule": new_rule}], "rounds": 1}
    assert read_plan(space, {**race, "prompt": "x"}).cases[1].options["rule"] == new_rule
    step = {"p": [[0.2, 0.8], [0.5, 0.5]], "q": [[0.6, 0.4]], "tokens": [0]}
    assert verify_step(**step, rule=new_rule)["threshold"] == pytest.approx([1 / 6])
