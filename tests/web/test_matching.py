"""Options that do not go together give way to the one that was set, as little as can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from engine import Engine

from hsd.decoding.options import RunOptions

NAMES = ("rule", "shadow", "drafts", "tree", "proposer")


@pytest.fixture(scope="module")
def fitted() -> Iterator[Callable[..., tuple]]:
    engine = Engine({"matching": "watch/matching.js"})

    def fit(changed: str, values: tuple) -> tuple:
        given = dict(zip(NAMES, values, strict=True))
        return tuple((given | engine.call("(values, name) => matching.fit(values, name)", given, changed)).values())

    yield fit
    engine.stop()


@pytest.mark.parametrize(
    ("changed", "before", "after"),
    [
        # what fits is left alone
        ("drafts", ("hsd", "", 4, "paths", "model"), ("hsd", "", 4, "paths", "model")),
        ("rule", ("naive-hsd", "hsd", 1, "paths", "model"), ("naive-hsd", "hsd", 1, "paths", "model")),
        ("proposer", ("hsd", "blockwise", 1, "paths", "ngram"), ("hsd", "blockwise", 1, "paths", "ngram")),
        ("rule", ("naive-hsd", "", 1, "paths", "ngram"), ("naive-hsd", "", 1, "paths", "ngram")),
        # a rule for trees brings drafts, a tree that it fits, and the draft model
        ("rule", ("traversal", "", 1, "paths", "model"), ("traversal", "", 4, "paths", "model")),
        ("rule", ("hsd", "", 4, "top", "model"), ("hsd", "", 4, "paths", "model")),
        ("rule", ("traversal", "", 1, "paths", "ngram"), ("traversal", "", 4, "paths", "model")),
        ("shadow", ("hsd", "traversal", 1, "paths", "model"), ("hsd", "traversal", 4, "paths", "model")),
        # a rule for single drafts takes them away
        ("rule", ("naive-hsd", "traversal", 4, "comb", "model"), ("naive-hsd", "", 1, "comb", "model")),
        # a tree brings drafts, and a rule that fits it
        ("tree", ("hsd", "", 1, "top", "model"), ("one-hot", "", 4, "top", "model")),
        ("tree", ("hsd", "", 1, "top", "ngram"), ("one-hot", "", 4, "top", "model")),
        ("tree", ("naive-hsd", "top-down", 4, "distinct", "model"), ("hsd", "top-down", 4, "distinct", "model")),
        ("tree", ("one-hot", "traversal", 4, "top", "model"), ("one-hot", "", 4, "top", "model")),
        # one draft needs a rule for one, and several one for several
        ("drafts", ("traversal", "top-down", 1, "distinct", "model"), ("hsd", "", 1, "distinct", "model")),
        ("drafts", ("hsd-released", "hsd", 3, "paths", "model"), ("hsd", "hsd", 3, "paths", "model")),
        ("drafts", ("hsd", "", 3, "paths", "ngram"), ("hsd", "", 3, "paths", "model")),
        # the text has one continuation to copy
        ("proposer", ("hsd", "top-down", 4, "paths", "ngram"), ("hsd", "", 1, "paths", "ngram")),
        ("proposer", ("traversal", "", 4, "distinct", "ngram"), ("hsd", "", 1, "distinct", "ngram")),
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
        for beside in (("hsd", "", 1, "paths", "model"), ("traversal", "top-down", 4, "distinct", "model")):
            before = dict(zip(NAMES, beside, strict=True)) | {changed: value}
            after = dict(zip(NAMES, fitted(changed, tuple(before.values())), strict=True))
            assert after[changed] == value
            assert RunOptions(**after)
