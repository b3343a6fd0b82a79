"""Names are told once: what the registries hold appears everywhere, and the page gets all of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hsd import cli, facts
from hsd.audit import audit
from hsd.draft import LAYOUTS
from hsd.paths import WEB
from hsd.rules import RULES, TREE_RULES
from hsd.rules.fuzzy import DIVERGENCES, MODES, ROWS


def named(entries: list[dict]) -> list[str]:
    return [entry["name"] for entry in entries]


def test_facts_are_plain_data_and_hold_every_registry():
    found = json.loads(facts.facts_json())
    assert set(named(found["rules"])) == {*RULES, *TREE_RULES}
    assert named(found["layouts"]) == list(LAYOUTS)
    assert named(found["divergences"]) == list(DIVERGENCES)
    assert (named(found["modes"]), named(found["grounds"])) == (list(MODES), list(ROWS))
    for entry in found["rules"]:
        assert entry["title"], entry["short"]
        assert facts.find(entry["name"]).citation
        assert entry["single"] == (entry["name"] in RULES)
        assert entry["trees"] or entry["single"]


def test_names_differ_and_say_what_a_reader_must_be_warned_of():
    labels = dict(facts.rule_menu())
    assert len(labels) == len(facts.rule_names()) == len(set(labels.values()))
    for label, name in labels.items():
        assert ("not lossless" in label) == (not facts.find(name).lossless)
        assert ("several drafts" in label) == (name not in RULES)
    for names in (facts.menus()["trees"], facts.menus()["divergences"]):
        assert len(dict(names)) == len(names)
    assert len({facts.short(name) for name in facts.rule_names()}) == len(facts.rule_names())


def test_the_order_of_tests_is_that_of_the_laws():
    forward = {name for name in {*RULES, *TREE_RULES} if facts.find(name).forward}
    assert forward >= {"tokenwise", "fuzzy", "recursive-tokenwise", "recursive-agreement", "top-down", "one-hot"}
    assert not forward & {"blockwise", "hsd", "recursive-hsd", "traversal"}


def unknown_to_the_player() -> list[str]:
    """Rules whose tests the page cannot work out: `UNMADE` in arithmetic.js lacks them, and may not judge by them."""
    text = (WEB / "step" / "arithmetic.js").read_text(encoding="utf-8")
    table = text.split("const UNMADE = {", 1)[1].split("};", 1)[0]
    return [name for name in RULES if f'"{name}":' not in table]


def test_the_page_knows_the_formula_of_every_rule():
    assert unknown_to_the_player() == []


@pytest.fixture
def new_rule(monkeypatch) -> str:
    """A chain rule that only stands in the registry."""
    rule = replace(RULES["tokenwise"], name="newcomer", title="Newcomer, a test", citation="nobody 2026")
    monkeypatch.setitem(RULES, rule.name, rule)
    return rule.name


def test_a_new_chain_rule_appears_everywhere_by_its_entry_alone(new_rule, capsys):
    from hsd.app.lab import exact_numbers

    from hsd.app.endpoints import verify_step
    from hsd.app.race import read_plan
    from hsd.app.request import read
    from hsd.cli.bench import sweep
    from hsd.space import load

    entry = next(rule for rule in facts.facts()["rules"] if rule["name"] == new_rule)
    assert entry["title"] == entry["label"] == "Newcomer, a test"
    assert entry["forward"]
    assert entry["lossless"]
    assert ("Newcomer, a test", new_rule) in list(facts.rule_menu())
    assert audit(vocab=2, gamma=1)["rules"][new_rule]["lossless"]
    assert unknown_to_the_player() == [new_rule]

    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    assert new_rule in capsys.readouterr().out
    assert cli.main(["run", "x", "--rule", "nobody"]) == 2
    assert new_rule in capsys.readouterr().err
    arguments = cli.build_parser(["bench"]).parse_args(["bench", "--rules", new_rule])
    assert f"{new_rule}, γ=5" in [case.name for case in sweep(arguments).cases()]

    space = load()
    assert read(space, {"prompt": "x", "rule": new_rule, "shadow": new_rule}).options.rule == new_rule
    race = {"lanes": [{"rule": new_rule}], "rounds": 1}
    assert read_plan(space, {**race, "prompt": "x"}).cases[1].options["rule"] == new_rule
    step = {"p": [[0.2, 0.8], [0.5, 0.5]], "q": [[0.6, 0.4]], "tokens": [0]}
    assert verify_step(**step, rule=new_rule) == verify_step(**step, rule="tokenwise")
    numbers = {"p": step["p"], "q": step["q"]}
    assert exact_numbers({**numbers, "rule": new_rule}) == exact_numbers({**numbers, "rule": "tokenwise"})
