"""Options that do not go together give way to the one that was set, as little as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from engine import Engine
from loops import for_each

from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.models.loading import load_pair

NAMES = ("rule", "shadow", "drafts", "tree", "proposer")
USUAL = {name: RunOptions.default(name) for name in RunOptions.options()}
PAIR = {"models": ["small", "middle", "target"], "layers": 8, "exits": [2, 4], "thresholds": [2, 4]}


@pytest.fixture(scope="module")
def fitted() -> Iterator[Callable[..., tuple]]:
    engine = Engine({"matching": "watch/matching.js"})

    def fit(changed: str, values: tuple) -> tuple:
        given = dict(zip(NAMES, values, strict=True))
        change = engine.call("(values, name) => matching.fit(values, name)", USUAL | given, changed)
        return tuple((given | change).values())

    yield fit
    engine.stop()


@pytest.fixture(scope="module")
def form() -> Iterator[Callable[[dict, str], dict]]:
    """What becomes of options after one of them was set, lists of levels included, with the toy
    pair.
    """
    engine = Engine({"matching": "watch/matching.js"})
    fit = """(values, name, pair) => {
      const fitting = { ...values, ...matching.fit(values, name, pair) };
      const stacked = { ...fitting, ...matching.levelled(fitting, pair) };
      const lists = Object.entries(matching.lists(stacked, pair));
      const entries = lists.filter(([name]) => name !== "stack");
      const filled = ([name, list]) => {
        const items = list.map(({ usual }, i) => stacked[name][i] ?? usual);
        return [name, items.filter(Boolean)];
      };
      return { ...stacked, ...Object.fromEntries(entries.map(filled)) };
    }"""
    yield lambda values, name: engine.call(fit, USUAL | values, name, PAIR)
    engine.stop()


@for_each(
    ("changed", "before", "after"),
    [
        # what fits is left alone
        ("drafts", ("hsd", "", 4, "paths", "model"), ("hsd", "", 4, "paths", "model")),
        (
            "rule",
            ("naive-hsd", "hsd", 1, "paths", "model"),
            ("naive-hsd", "hsd", 1, "paths", "model"),
        ),
        (
            "proposer",
            ("hsd", "blockwise", 1, "paths", "ngram"),
            ("hsd", "blockwise", 1, "paths", "ngram"),
        ),
        ("rule", ("naive-hsd", "", 1, "paths", "ngram"), ("naive-hsd", "", 1, "paths", "ngram")),
        # a rule for trees brings drafts, a tree that it fits, and the draft model
        ("rule", ("traversal", "", 1, "paths", "model"), ("traversal", "", 4, "paths", "model")),
        ("rule", ("hsd", "", 4, "top", "model"), ("hsd", "", 4, "paths", "model")),
        ("rule", ("traversal", "", 1, "paths", "ngram"), ("traversal", "", 4, "paths", "model")),
        (
            "shadow",
            ("hsd", "traversal", 1, "paths", "model"),
            ("hsd", "traversal", 4, "paths", "model"),
        ),
        # a rule for single drafts takes them away
        (
            "rule",
            ("naive-hsd", "traversal", 4, "comb", "model"),
            ("naive-hsd", "", 1, "comb", "model"),
        ),
        # a tree brings drafts, and a rule that fits it
        ("tree", ("hsd", "", 1, "top", "model"), ("one-hot", "", 4, "top", "model")),
        ("tree", ("hsd", "", 1, "top", "ngram"), ("one-hot", "", 4, "top", "model")),
        (
            "tree",
            ("naive-hsd", "top-down", 4, "distinct", "model"),
            ("hsd", "top-down", 4, "distinct", "model"),
        ),
        ("tree", ("one-hot", "traversal", 4, "top", "model"), ("one-hot", "", 4, "top", "model")),
        # one draft needs a rule for one, and several one for several
        (
            "drafts",
            ("traversal", "top-down", 1, "distinct", "model"),
            ("hsd", "", 1, "distinct", "model"),
        ),
        (
            "drafts",
            ("hsd-released", "hsd", 3, "paths", "model"),
            ("hsd", "hsd", 3, "paths", "model"),
        ),
        ("drafts", ("hsd", "", 3, "paths", "ngram"), ("hsd", "", 3, "paths", "model")),
        # the text has one continuation to copy
        ("proposer", ("hsd", "top-down", 4, "paths", "ngram"), ("hsd", "", 1, "paths", "ngram")),
        (
            "proposer",
            ("traversal", "", 4, "distinct", "ngram"),
            ("hsd", "", 1, "distinct", "ngram"),
        ),
    ],
)
def test_what_does_not_fit_gives_way_to_what_was_set(fitted, changed, before, after) -> None:
    assert fitted(changed, before) == after
    assert RunOptions(**dict(zip(NAMES, after, strict=True)))


@pytest.mark.parametrize("changed", NAMES)
def test_whatever_is_set_is_a_run_that_can_be_made(fitted, changed) -> None:
    """Each rule and tree in turn, beside a run of one draft and one of several."""
    choices = {
        "rule": ["tokenwise", "hsd-released", "fuzzy", "traversal", "one-hot"],
        "shadow": ["", "naive-hsd", "top-down"],
        "drafts": [1, 3],
        "tree": ["paths", "distinct", "top", "grown"],
        "proposer": ["model", "ngram"],
    }
    for value in choices[changed]:
        for beside in (
            ("hsd", "", 1, "paths", "model"),
            ("traversal", "top-down", 4, "distinct", "model"),
        ):
            before = dict(zip(NAMES, beside, strict=True)) | {changed: value}
            after = dict(zip(NAMES, fitted(changed, tuple(before.values())), strict=True))
            assert after[changed] == value
            assert RunOptions(**after)


@pytest.mark.parametrize(
    ("before", "changed", "after"),
    [
        (
            {"system": "stack"},
            "system",
            {"stack": [0, 1, 2], "thresholds": [5, 5], "level_rules": []},
        ),
        (
            {"system": "stack", "stack": [1, 2], "thresholds": [3, 5]},
            "stack",
            {"thresholds": [3], "level_rules": []},
        ),
        ({"system": "stack", "stack": [0, 3]}, "pair", {"stack": [0, 1, 2]}),
        ({"system": "hispec"}, "system", {"exits": [2, 4], "thresholds": [2, 4]}),
        (
            {"system": "hispec", "exits": [5, 4], "thresholds": [3, 3]},
            "exits",
            {"exits": [4, 5], "thresholds": [3, 3]},
        ),
        ({"system": "hispec", "exits": [2, 30]}, "pair", {"exits": [2, 4]}),
        ({"system": "stack", "rule": "coupled"}, "system", {"rule": "hsd"}),
        ({"system": "hispec", "rule": "naive-hsd"}, "rule", {"system": "speculative"}),
        ({"system": "hispec", "drafts": 4, "gamma": "auto"}, "system", {"drafts": 1, "gamma": 5}),
        (
            {"system": "stack", "drafts": 4, "rule": "one-hot", "tree": "grown"},
            "system",
            {"rule": "hsd"},
        ),
        ({"gamma": "auto", "drafts": 3}, "drafts", {"gamma": 5}),
        ({"gamma": "auto", "rule": "naive-hsd"}, "gamma", {"rule": "hsd"}),
        ({"drafts": 4, "tree": "grown", "nodes": 3, "rule": "one-hot"}, "drafts", {"nodes": 0}),
    ],
)
def test_levels_and_trees_fit_whatever_is_set(
    form, before: dict, changed: str, after: dict
) -> None:
    assert {name: value for name, value in form(before, changed).items() if name in after} == after


@pytest.mark.parametrize("system", ["speculative", "plain", "stack", "hispec"])
def test_every_rule_and_tree_in_every_system_is_a_run_that_the_toy_pair_makes(
    form, system: str
) -> None:
    """Whatever is set in whatever order, no error is left to the visitor."""
    pair = load_pair("tiny")
    for rule in RunOptions.menus()["rules"]:
        for tree in ("paths", "grown"):
            begun = form({"rule": rule, "tree": tree, "drafts": 4, "nodes": 9}, "rule")
            values = form(begun | {"system": system}, "system")
            assert values["system"] == system
            shown = {
                name: value for name, value in values.items() if RunOptions.applies(name, values)
            }
            make_system(pair, RunOptions.read(shown))
