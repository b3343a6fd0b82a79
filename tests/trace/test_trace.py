"""The trace: it says what happened, can be replayed and run again, and takes nothing hostile."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from joint_law import toy_pair
from loops import for_each
from pydantic import ValidationError
from table_models import TableModel, table_pair
from tree_cases import TREE_CASES

import hsd
from hsd import RULES, HsdError, Trace
from hsd.rules import branch_masses
from hsd.sampling import draw
from hsd.trace import (
    Committed,
    Decision,
    GroundsRecord,
    Node,
    PathRecord,
    Residual,
    Result,
    Step,
    Times,
    Verdict,
    replay_step,
    statistics,
)

pytestmark = pytest.mark.long

PAIR = table_pair(vocab=12, order=2, seed=4)
ALL_RUNS = [*RULES, "plain"]
NO_GROUNDS = GroundsRecord(form="token")
NO_TIME = Times(draft=0, target=0, verify=0, rest=0)


def run(rule: str = "hsd", **options: Any) -> Trace:
    """A run of the table pair; nobody changes it, so that one of several tests is decoded once."""
    return decoded(rule, tuple(sorted(options.items())))


@cache
def decoded(rule: str, given: tuple[tuple[str, Any], ...]) -> Trace:
    options = dict(given)
    made: dict[str, Any] = {"gamma": 4, "max_new_tokens": 40, "seed": 5, **options}
    return hsd.run(
        PAIR, "abc", **({"system": "plain"} if rule == "plain" else {"rule": rule}), **made
    )


def rows(model: Any, text: list[int], count: int) -> torch.Tensor:
    """(count, V) float32: a table model's rows after the first len(text) - count + 1 … len(text)
    tokens.
    """
    assert isinstance(model, TableModel)
    index = [model.row_index(text[:end]) for end in range(len(text) - count + 1, len(text) + 1)]
    return model.table[index].float()


def texts_of(trace: Trace) -> list[tuple[Step, list[int]]]:
    """Every step with the text it started from."""
    text = list(trace.prompt.ids)
    found = []
    for step in trace.steps:
        found.append((step, list(text)))
        text += step.tokens
    return found


# Round trip, replay, running again


@for_each("rule", ALL_RUNS, every=2)
@for_each("detail", [True, False])
def test_a_trace_survives_json(rule: str, detail: bool):
    trace = run(rule, trace=detail)
    assert Trace.from_json(trace.to_json()) == trace
    assert Trace.from_json(trace.to_json(indent=2).encode()) == trace
    assert Trace.from_json(trace.to_json()).stats() == trace.stats()


def test_text_that_looks_like_markup_or_odd_unicode_survives_json():
    trace = run()
    prompt = trace.prompt.model_copy(
        update={"text": "<script>alert(1)</script> \u202e אבג 🙂 \x00\x07"}
    )
    odd = trace.model_copy(update={"prompt": prompt})
    assert Trace.from_json(odd.to_json()) == odd


@for_each("rule", ALL_RUNS, every=2)
@for_each("seed", range(2))
def test_replaying_reproduces_the_tokens(rule: str, seed: int):
    trace = run(rule, seed=seed)
    assert trace.replay() == trace.tokens
    assert Trace.from_json(trace.to_json()).replay() == trace.tokens


@for_each("rule", ALL_RUNS, every=2)
@for_each(
    "warping", [{}, {"temperature": 0.7, "top_k": 4, "top_p": 0.9}, {"temperature": 0}], ids=str
)
def test_running_again_with_the_recorded_numbers_reproduces_the_run(
    rule: str, warping: dict[str, Any]
):
    trace = run(rule, max_new_tokens=20, **warping)
    again = hsd.rerun(PAIR, Trace.from_json(trace.to_json()))
    assert again.tokens == trace.tokens
    assert again.text == trace.text
    assert [s.verdict for s in again.steps] == [s.verdict for s in trace.steps]
    assert [s.nodes for s in again.steps] == [s.nodes for s in trace.steps]


@for_each("rule", ALL_RUNS, every=2)
@for_each("seed", range(2))
def test_running_again_works_when_drafts_were_cut_at_an_end(rule: str, seed: int):
    pair = table_pair(vocab=4, order=2, seed=7, closeness=0.6, end_ids=frozenset({1}))
    options = {"system": "plain"} if rule == "plain" else {"rule": rule}
    trace = hsd.run(pair, "a", gamma=6, max_new_tokens=60, seed=seed, **options)
    assert hsd.rerun(pair, trace).tokens == trace.tokens


@for_each(("rule", "tree"), TREE_CASES, every=6)
def test_running_again_works_with_several_drafts(rule: str, tree: str):
    trace = run(rule, drafts=3, tree=tree, gamma=2, max_new_tokens=8)
    assert trace.replay() == trace.tokens
    assert hsd.rerun(PAIR, Trace.from_json(trace.to_json())).tokens == trace.tokens


@for_each(("rule", "tree"), TREE_CASES, every=3)
def test_every_threshold_of_a_tree_follows_from_its_recorded_numbers(rule: str, tree: str):
    for step in run(rule, drafts=3, tree=tree, gamma=2, max_new_tokens=8).steps:
        for decision in [*step.verdict.decisions, *step.shadow.decisions]:
            assert recomputed(decision.grounds) == pytest.approx(decision.threshold, abs=1e-6)


def recomputed(grounds: GroundsRecord) -> float:
    """A threshold by hand."""
    if grounds.form == "share":
        whole = grounds.mass + 1 - grounds.before
        return grounds.mass / whole if whole else 1.0
    if grounds.form == "naive":
        whole = max(grounds.mass, grounds.mass + 1 - grounds.before)
        return grounds.mass / whole if whole else 1.0
    if grounds.form in ("near", "far", "chosen"):
        return {"near": 1.0, "far": 0.0, "chosen": grounds.p}[grounds.form]
    before = 1.0 if grounds.form in ("token", "beyond") else grounds.before
    return min(1.0, before * grounds.p / grounds.q)


@pytest.mark.parametrize("rule", ["top-down", "traversal"])
def test_distinct_siblings_are_tested_with_what_the_draft_had_left(rule: str):
    """Without replacement, the draft's row for a sibling lacks the tokens of its elder ones."""
    p = (0.1, 0.2, 0.3, 0.4)
    q = (0.4, 0.3, 0.2, 0.1)
    later = 0
    options = {"drafts": 3, "tree": "distinct", "gamma": 1, "max_new_tokens": 60}
    for step in hsd.run(toy_pair(p, q), "a", rule=rule, **options).steps:
        taken = 0.0
        for decision in step.verdict.decisions if step.verdict else []:
            token = step.nodes[decision.node - 1].token
            assert decision.grounds.q == pytest.approx(q[token] / (1 - taken), abs=1e-6)
            later += taken > 0
            taken += q[token]
    assert later > 5


@for_each(("rule", "tree"), TREE_CASES, every=6)
def test_what_a_rejection_changed_is_what_later_tests_read(rule: str, tree: str):
    """The changed probability of a token is the one that its next test is computed from."""
    seen = 0
    for gamma in (1, 2):
        for step in run(rule, drafts=3, tree=tree, gamma=gamma, max_new_tokens=8).steps:
            for change in step.verdict.changes:
                left = {o.token: o.probability for o in change.top}
                assert sum(left.values()) + change.rest == pytest.approx(1, abs=1e-5)
                if change.after >= len(step.verdict.decisions):
                    continue
                following = step.verdict.decisions[change.after]
                node = step.nodes[following.node - 1]
                if node.parent == change.node and following.grounds.form != "share":
                    assert following.grounds.p == pytest.approx(left[node.token], abs=1e-6)
                    seen += 1
    assert seen


def test_the_last_change_is_the_residual_that_the_next_token_was_drawn_from():
    for step in run("traversal", drafts=3).steps:
        residual = step.verdict.residual
        if residual and residual.origin == "correction":
            last = [c for c in step.verdict.changes if c.node == residual.node][-1]
            left = {o.token: o.probability for o in last.top}
            drawn = {o.token: o.probability for o in residual.top}
            shared = left.keys() & drawn.keys()
            assert shared
            assert {t: left[t] for t in shared} == pytest.approx({t: drawn[t] for t in shared})


# the coupled rule drafts by a race
@pytest.mark.parametrize("shadow", [*(name for name in RULES if name != "coupled"), ""])
def test_any_rule_can_be_compared_with(shadow: str):
    """The shadow is what that rule decides in a run of its own, as long as it sees the same
    context: the first step.
    """
    compared = run("hsd", shadow=shadow).steps[0]
    own = run(shadow or "tokenwise").steps[0]
    assert compared.shadow.rule == (shadow or "tokenwise")
    assert compared.shadow == own.verdict.model_copy(update={"extra_draws": []})
    assert compared.shadow.next == own.committed[own.kept]


@for_each(("shadow", "tree"), TREE_CASES, every=6)
def test_any_tree_rule_can_be_compared_with(shadow: str, tree: str):
    rule = {"distinct": "top-down", "top": "one-hot", "grown": "one-hot"}.get(tree, "hsd")
    compared = run(rule, shadow=shadow, drafts=3, tree=tree, max_new_tokens=5).steps[0]
    own = run(shadow, drafts=3, tree=tree, max_new_tokens=5).steps[0]
    assert compared.shadow == own.verdict


def test_a_step_with_several_drafts_counts_positions_along_the_longest():
    trace = run("hsd", drafts=4, gamma=3)
    assert max(step.depth for step in trace.steps) == 3
    assert len(trace.stats()["acceptance_by_position"]) == 3
    assert max(step.drafted for step in trace.steps) > 3


def test_running_again_works_for_a_run_that_was_stopped_early():
    decoding = hsd.decode(PAIR, "abc", gamma=4, max_new_tokens=60)
    for _ in range(3):
        next(decoding)
    decoding.close()
    trace = decoding.trace()
    assert trace.result.finish == "cancelled"
    assert hsd.rerun(PAIR, trace).tokens == trace.tokens


@pytest.mark.parametrize(
    "options", [{}, {"drafts": 3}, {"system": "plain"}, {"proposer": "ngram"}], ids=str
)
def test_a_run_without_its_numbers_runs_again_from_its_seed(options: dict[str, Any]):
    trace = hsd.run(PAIR, "abcabc", trace=False, max_new_tokens=30, seed=3, **options)
    assert hsd.rerun(PAIR, Trace.from_json(trace.to_json())).tokens == trace.tokens


def test_running_again_on_other_models_does_not_go_unnoticed():
    trace = run()
    other = table_pair(vocab=12, order=2, seed=5)
    try:
        again = hsd.rerun(other, trace)
    except HsdError:
        return
    assert again.tokens != trace.tokens


# What is recorded


@pytest.mark.parametrize("rule", ALL_RUNS)
def test_tracing_changes_no_token(rule: str):
    for seed in range(3):
        on = run(rule, seed=seed)
        off = run(rule, seed=seed, trace=False)
        assert on.tokens == off.tokens
        assert [(s.drafted, s.kept, s.committed) for s in on.steps] == [
            (s.drafted, s.kept, s.committed) for s in off.steps
        ]


def test_with_tracing_off_nothing_of_the_detail_is_computed(monkeypatch: pytest.MonkeyPatch):
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError("a detail was computed although tracing is off")

    monkeypatch.setattr("hsd.decoding.loop.Recorder", forbidden)
    monkeypatch.setattr("hsd.decoding.describe.branch_masses", forbidden)
    for step in [*run(trace=False).steps, *run(trace=False, drafts=3).steps]:
        details = (step.nodes, step.paths, step.branches, step.expected_kept, step.events)
        assert not any(details)
        assert step.verdict is None
        assert step.shadow is None
    for drafts in (1, 3):
        with pytest.raises(AssertionError, match="although tracing is off"):
            run(trace=True, drafts=drafts)


@pytest.mark.parametrize("rule", RULES)
def test_nodes_are_the_draft_with_the_probabilities_it_was_drawn_from(rule: str):
    for step, text in texts_of(run(rule)):
        tokens = [node.token for node in step.nodes]
        assert len(tokens) == step.drafted
        p, q = (rows(model, text + tokens, len(tokens) + 1) for model in (PAIR.target, PAIR.draft))
        for t, node in enumerate(step.nodes):
            assert (node.id, node.parent) == (t + 1, t)
            assert node.piece == PAIR.codec.piece(node.token)
            assert node.p == pytest.approx(float(p[t, node.token]), abs=1e-6)
            assert node.q == pytest.approx(float(q[t, node.token]), abs=1e-6)
            assert node.token == int(draw(q[t], torch.tensor([node.draw], dtype=torch.float64)))


@pytest.mark.parametrize("rule", RULES)
def test_decisions_and_the_drawn_token_follow_from_law_and_numbers(rule: str):
    for step, text in texts_of(run(rule)):
        tokens = [node.token for node in step.nodes]
        p, q = (rows(m, text + tokens, step.drafted + 1) for m in (PAIR.target, PAIR.draft))
        law = RULES[rule].law(p, q[: step.drafted], torch.tensor(tokens, dtype=torch.int64))
        for decision in step.verdict.decisions:
            assert decision.coin == step.nodes[decision.node - 1].coin
            assert decision.threshold == pytest.approx(
                float(law.threshold[decision.node - 1]), abs=1e-5
            )
        assert step.kept == int(
            law.kept(torch.tensor([node.coin for node in step.nodes], dtype=torch.float64))
        )
        residual = step.verdict.residual
        assert residual is not None
        assert residual.node == step.kept
        assert residual.origin == ("bonus" if step.kept == step.drafted else "correction")
        drawn = int(draw(law.next(step.kept), torch.tensor([residual.draw], dtype=torch.float64)))
        assert step.committed[step.kept].token == drawn


def test_branch_scalars_are_those_of_the_whole_vocabulary():
    """The table has 12 tokens, a branch shows fewer: masses and remainders are exact anyway."""
    for step, text in texts_of(run()):
        tokens = [node.token for node in step.nodes]
        p, q = (rows(m, text + tokens, step.drafted + 1) for m in (PAIR.target, PAIR.draft))
        if not tokens:
            continue
        masses = branch_masses(p, q[:-1], torch.tensor(tokens))
        assert [b.node for b in step.branches] == list(range(step.drafted))
        for t, branch in enumerate(step.branches):
            assert len(branch.top) < 12
            assert tokens[t] in [candidate.token for candidate in branch.top]
            assert sum(c.p for c in branch.top) + branch.rest_p == pytest.approx(1, abs=1e-5)
            assert sum(c.q for c in branch.top) + branch.rest_q == pytest.approx(1, abs=1e-5)
            assert branch.excess == pytest.approx(branch.deficient + 1 - branch.capped, abs=1e-6)
            for name in (
                "ratio",
                "capped",
                "deficient",
                "excess",
                "distance",
                "joint_q",
                "asymmetry",
            ):
                assert getattr(branch, name) == pytest.approx(
                    float(masses[name][t]), abs=1e-4, rel=1e-4
                )


@pytest.mark.parametrize("rule", RULES)
def test_expected_kept_is_that_of_each_rules_law(rule: str):
    for step, text in texts_of(run(rule)):
        tokens = [node.token for node in step.nodes]
        p, q = (rows(m, text + tokens, step.drafted + 1) for m in (PAIR.target, PAIR.draft))
        assert set(step.expected_kept) == {name for name in RULES if not RULES[name].knob} | {rule}
        for name, value in step.expected_kept.items():
            law = RULES[name].law(p, q[: step.drafted], torch.tensor(tokens, dtype=torch.int64))
            assert value == pytest.approx(float(law.expected_kept), abs=1e-4)
        assert step.expected_kept["hsd"] == pytest.approx(step.expected_kept["blockwise"], abs=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rule": "tokenwise", "shadow": "hsd"},
        {"rule": "hsd", "drafts": 3},
        {"rule": "traversal", "drafts": 2},
    ],
)
def test_how_many_tokens_are_kept_is_told_with_its_chances(options: dict[str, Any]):
    """They sum to one, have the recorded mean, and what was kept this time is possible."""
    for step in run(**{"rule": "hsd", **options}).steps:
        for judged in (step.verdict, step.shadow):
            chances = step.kept_law[judged.rule]
            assert len(chances) == step.depth + 1
            assert sum(chances) == pytest.approx(1, abs=1e-9)
            mean = sum(t * chance for t, chance in enumerate(chances))
            assert mean == pytest.approx(step.expected_kept[judged.rule], abs=1e-9)
            assert chances[judged.kept] > 0


def test_chances_of_keeping_are_those_of_many_coins():
    """A step all of whose tests were made, judged again with two thousand sets of coins, from the
    whole draft down.
    """
    steps = (step for seed in range(20) for step in run("hsd", seed=seed).steps)
    step = next(step for step in steps if len(step.verdict.decisions) == step.drafted > 2)
    thresholds = {decision.node: decision.threshold for decision in step.verdict.decisions}
    noise = random.Random(0)
    counts = [0] * (step.drafted + 1)
    for _ in range(2000):
        places = range(step.drafted, 0, -1)
        kept = next((n for n in places if noise.random() < thresholds[n]), 0)
        counts[kept] += 1
    for count, chance in zip(counts, step.kept_law["hsd"], strict=True):
        assert count / 2000 == pytest.approx(chance, abs=0.05)


@pytest.mark.parametrize("rule", RULES)
@for_each("seed", range(3))
def test_the_shadow_is_what_vanilla_decides_on_the_same_draft_and_coins(rule: str, seed: int):
    """Worked out here from the recorded tokens and numbers, without any law."""
    for step, text in texts_of(run(rule, seed=seed)):
        shadow = step.shadow
        assert shadow is not None
        tokens = [node.token for node in step.nodes]
        p, q = (
            rows(m, text + tokens, step.drafted + 1).double() for m in (PAIR.target, PAIR.draft)
        )
        kept = 0
        for token, node in zip(tokens, step.nodes, strict=True):
            if node.coin >= float(p[kept, token] / q[kept, token]):
                break
            kept += 1
        row = p[kept] if kept == step.drafted else (p[kept] - q[kept]).clamp_min(0)
        assert shadow.residual is not None
        follows = int(
            draw(row / row.sum(), torch.tensor([shadow.residual.draw], dtype=torch.float64))
        )
        assert shadow.rule == "tokenwise"
        assert shadow.kept == kept
        assert [d.accepted for d in shadow.decisions] == [True] * kept + [False] * (
            kept < step.drafted
        )
        assert shadow.next is not None
        assert (shadow.next.token, shadow.next.origin) == (
            follows,
            "bonus" if kept == step.drafted else "correction",
        )


def test_the_shadow_of_vanilla_is_vanilla_itself():
    for step in run("tokenwise").steps:
        assert step.shadow is not None
        assert step.shadow.decisions == step.verdict.decisions
        assert [c.token for c in step.committed] == [
            *[n.token for n in step.nodes[: step.kept]],
            step.shadow.next.token,
        ]


def test_the_shadow_of_an_ended_text_has_nothing_after_the_end():
    pair = toy_pair((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), end_ids=frozenset({2}))
    step = hsd.run(pair, "a", gamma=3, max_new_tokens=10).steps[0]
    assert step.shadow is not None
    assert step.shadow.next is None
    assert (step.drafted, step.kept, step.shadow.kept) == (1, 1, 1)


def test_the_setup_says_what_made_the_run():
    trace = run("blockwise", temperature=0.8, top_k=5, top_p=0.9, seed=17)
    setup = trace.setup
    o = trace.setup.options
    assert (o.system, o.rule, o.draft.gamma, o.seed) == ("speculative", "blockwise", 4, 17)
    assert (o.sampling.temperature, o.sampling.top_k, o.sampling.top_p, o.max_new_tokens) == (
        0.8,
        5,
        0.9,
        40,
    )
    assert setup.vocab_size == 12
    assert setup.target.parameters == 12**3
    assert trace.prompt.text == "abc"
    assert trace.prompt.ids == [0, 1, 2]
    assert trace.text == "".join(c.piece for s in trace.steps for c in s.committed)
    assert trace.app_version == hsd.__version__


def test_context_lengths_and_times_add_up():
    trace = run()
    length = len(trace.prompt.ids)
    for i, step in enumerate(trace.steps):
        assert (step.index, step.context_length) == (i, length)
        length += len(step.committed)
        assert sum(step.times.model_dump().values()) > 0
    starts = [step.start for step in trace.steps]
    assert starts == sorted(starts)
    assert sum(trace.stats()["time"].values()) <= trace.result.seconds + 1e-3


# Statistics


def bare_step(kept: int, drafted: int, calls: int = 1, after: int = 1) -> Step:
    origins = ["draft"] * kept + ["bonus" if kept == drafted else "correction"] * after
    committed = [Committed(token=i, piece="x", origin=origin) for i, origin in enumerate(origins)]
    times = Times(draft=0.1, target=0.2, verify=0.3, rest=0.4)
    return Step(
        index=0,
        context_length=1,
        drafted=drafted,
        depth=drafted,
        kept=kept,
        target_calls=calls,
        committed=committed,
        times=times,
        start=0,
    )


def test_statistics_have_their_definitions():
    steps = [
        bare_step(3, 3),
        bare_step(0, 3),
        bare_step(1, 3, calls=2, after=2),
        bare_step(1, 1, after=0),
    ]
    stats = statistics(steps, seconds=2.0)
    assert stats["new_tokens"] == 4 + 1 + 3 + 1
    assert stats["target_calls"] == 5
    assert stats["block_efficiency"] == 9 / 5
    assert (stats["drafted"], stats["kept"]) == (10, 5)
    assert stats["acceptance_rate"] == 0.5
    # only three steps drafted a second token
    assert stats["acceptance_by_position"] == [3 / 4, 1 / 3, 1 / 3]
    assert stats["kept_histogram"] == {0: 1, 1: 2, 3: 1}
    assert stats["origins"] == {"draft": 5, "bonus": 1, "correction": 3}
    assert stats["tokens_per_second"] == 4.5
    assert stats["time"] == pytest.approx({"draft": 0.4, "target": 0.8, "verify": 1.2, "rest": 1.6})


def test_statistics_of_nothing_are_zeros():
    stats = statistics([], seconds=0.0)
    assert (
        stats["block_efficiency"] == stats["acceptance_rate"] == stats["tokens_per_second"] == 0.0
    )
    assert stats["acceptance_by_position"] == []


@pytest.mark.parametrize("rule", ALL_RUNS)
def test_statistics_agree_with_the_run(rule: str):
    trace = run(rule)
    stats = trace.stats()
    assert stats["new_tokens"] == len(trace.tokens) == 40
    assert stats["steps"] == len(trace.steps)
    assert sum(stats["origins"].values()) == 40
    assert stats["origins"].get("draft", 0) == stats["kept"]
    if rule == "plain":
        assert stats["block_efficiency"] == 1
        assert stats["drafted"] == 0


def test_statistics_are_plain_json():
    assert json.loads(json.dumps(run().stats()))["new_tokens"] == 40


# Replaying what contradicts itself


def one_step(**changes: Any) -> Step:
    """A step that drafts two tokens, keeps one and corrects the other; `changes` spoil it."""
    nodes = [
        Node(id=i, parent=i - 1, token=10 + i, piece="x", p=0.5, q=0.5, order=0, draw=0.1, coin=0.9)
        for i in (1, 2)
    ]
    fields: dict[str, Any] = {
        "index": 0,
        "context_length": 3,
        "drafted": 2,
        "depth": 2,
        "kept": 1,
        "committed": [
            Committed(token=11, piece="x", origin="draft"),
            Committed(token=7, piece="x", origin="correction"),
        ],
        "times": NO_TIME,
        "start": 0.0,
        "nodes": nodes,
        "paths": [PathRecord(nodes=[1, 2])],
        "verdict": verdict(
            Decision(
                node=2, test="draft", threshold=0.2, coin=0.9, accepted=False, grounds=NO_GROUNDS
            ),
            Decision(
                node=1, test="prefix", threshold=0.95, coin=0.9, accepted=True, grounds=NO_GROUNDS
            ),
        ),
    }
    return Step(**(fields | changes))


def verdict(*decisions: Decision) -> Verdict:
    residual = Residual(node=1, origin="correction", top=[], rest=1.0, draw=0.5)
    return Verdict(rule="hsd", kept=1, decisions=list(decisions), residual=residual)


def test_replay_of_a_sound_step():
    assert replay_step(one_step()) == [11, 7]


@pytest.mark.parametrize(
    "changes",
    [
        {"kept": 2},
        {"kept": 0},
        {"verdict": verdict()},
        {
            "committed": [
                Committed(token=12, piece="x", origin="draft"),
                Committed(token=7, piece="x", origin="bonus"),
            ]
        },
        {"nodes": [], "paths": [], "verdict": None},
    ],
    ids=["keeps more", "keeps less", "no decision", "other token", "no nodes"],
)
def test_replay_refuses_a_step_that_contradicts_itself(changes: dict[str, Any]):
    # some are refused as steps, the others when they are replayed
    with pytest.raises((HsdError, ValidationError)):
        replay_step(one_step(**changes))


# Hostile files


Spoil = Callable[[dict[str, Any]], None]


def first_decision(data: dict[str, Any]) -> dict[str, Any]:
    return data["steps"][0]["verdict"]["decisions"][0]


def flip_outcome(data: dict[str, Any]) -> None:
    first_decision(data)["accepted"] = not first_decision(data)["accepted"]


def lose_a_kept_token(data: dict[str, Any]) -> None:
    step = max(data["steps"], key=lambda step: step["kept"])
    assert step["kept"] >= 2
    del step["committed"][1:]


def put(path: str, value: Any) -> Spoil:
    """Set the entry at `path`, given with dots."""

    def spoil(data: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for key in parents:
            data = data[int(key)] if isinstance(data, list) else data[key]
        data[int(last) if isinstance(data, list) else last] = value

    return spoil


TAMPERED: dict[str, Spoil] = {
    "outcome contradicts coin": flip_outcome,
    "unknown field at the top": put("extra", 1),
    "unknown field inside": put("steps.0.extra", 1),
    "unknown field in a node": put("steps.0.nodes.0.onclick", "alert(1)"),
    "another version": put("trace_version", 3),
    "version as text": put("trace_version", "2"),
    "no version": lambda data: data.pop("trace_version"),
    "no steps": lambda data: data.pop("steps"),
    "steps of another type": put("steps", {"0": {}}),
    "token as text": put("steps.0.nodes.0.token", "<img src=x onerror=alert(1)>"),
    "negative token": put("steps.0.nodes.0.token", -1),
    "token beyond all vocabularies": put("steps.0.nodes.0.token", 2**40),
    "NaN probability": put("steps.0.nodes.0.p", math.nan),
    "infinite ratio that is no JSON": put("steps.0.branches.0.ratio", math.inf),
    "infinite asymmetry": put("steps.0.branches.0.asymmetry", "Infinity"),
    "ratio below zero": put("steps.0.branches.0.ratio", "-Infinity"),
    "ratio that is no number": put("steps.0.branches.0.ratio", "NaN"),
    "draft that is not there": put("steps.0.verdict.decisions.0.draft", 1),
    "draft beside the tree": put("steps.0.paths.0.nodes", [2]),
    "decision without grounds": lambda data: first_decision(data).pop("grounds"),
    "NaN time": put("steps.0.times.draft", math.nan),
    "NaN expectation": put("steps.0.expected_kept.hsd", math.nan),
    "probability above one": put("steps.0.nodes.0.q", 1.5),
    "negative probability": put("steps.0.nodes.0.q", -0.1),
    "coin of one": put("steps.0.nodes.0.coin", 1.0),
    "more kept than drafted": put("steps.0.kept", 30),
    "step without a token": put("steps.0.committed", []),
    "kept beyond what is committed": lose_a_kept_token,
    "node that is its own parent": put("steps.0.nodes.0.parent", 1),
    "node with a parent to come": put("steps.0.nodes.0.parent", 3),
    "node ids that do not count": put("steps.0.nodes.0.id", 2),
    "fewer nodes than drafted": lambda data: data["steps"][0]["nodes"].pop(),
    "decision about no node": put("steps.0.verdict.decisions.0.node", 900),
    "branch of no node": put("steps.0.branches.0.node", 900),
    "residual of no node": put("steps.0.verdict.residual.node", 900),
    "endless piece": put("steps.0.nodes.0.piece", "x" * 100_000),
    "unknown origin": put("steps.0.committed.0.origin", "magic"),
    "unknown finish": put("result.finish", "exploded"),
    "gamma of a million": put("setup.options.draft.gamma", 10**6),
    "name as a list": put("setup.options.rule", ["hsd"]),
    "prompt missing": put("prompt", None),
    "a million nodes": put("steps.0.nodes", [{}] * 10**6),
    "a million steps": put("steps", [None] * 10**6),
}


@pytest.fixture(scope="module")
def sound() -> str:
    return run(max_new_tokens=12).to_json()


@for_each("spoil", TAMPERED.values(), ids=TAMPERED)
def test_a_tampered_trace_is_refused_in_one_line(spoil: Spoil, sound: str):
    data = json.loads(sound)
    spoil(data)
    assert_refused(json.dumps(data))


NOT_TRACES: dict[str, str | bytes] = {
    "empty": "",
    "text": "hello",
    "half a file": '{"trace_version": 2, "steps": [',
    "array": "[]",
    "number": "1",
    "null": "null",
    "object": "{}",
    "deep nesting": "[" * 200_000,
    "deep nesting inside": '{"trace_version": 2, "steps": ' + "[" * 500 + "]" * 500 + "}",
    "not UTF-8": b"\xff\xfe\x00{",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "an endless number": '{"trace_version": ' + "1" * 10_000 + "}",
    "too large": " " * 40_000_000,
}


@pytest.mark.parametrize("text", NOT_TRACES.values(), ids=NOT_TRACES)
def test_what_is_not_a_trace_is_refused_in_one_line(text: str | bytes):
    assert_refused(text)


def test_half_a_character_is_refused(sound: str):
    """JSON can spell it; such a text can be neither shown nor saved."""
    for part, name in (("result", "text"), ("setup", "pair"), ("prompt", "text")):
        data = json.loads(sound)
        data[part][name] = "\ud800"
        assert_refused(json.dumps(data))
    data = json.loads(sound)
    data["steps"][0]["committed"][0]["piece"] = "\ud800"
    assert_refused(json.dumps(data))


def test_a_version_is_a_number_equal_to_the_formats(sound: str):
    data = json.loads(sound)
    for version in (True, "2", 3, None):
        assert_refused(json.dumps(data | {"trace_version": version}))
    read = json.loads(Trace.from_json(json.dumps(data | {"trace_version": 2.0})).to_json())
    assert (read["trace_version"], type(read["trace_version"])) == (2, int)


def assert_refused(text: str | bytes) -> None:
    with pytest.raises(HsdError) as error:
        Trace.from_json(text)
    message = str(error.value)
    assert "\n" not in message
    assert 10 < len(message) < 400


def test_the_sound_trace_is_not_refused(sound: str):
    assert Trace.from_json(sound).result == Result.model_validate(json.loads(sound)["result"])


def test_a_trace_that_does_not_tell_how_many_tokens_a_model_drafts_is_read(sound: str):
    data = json.loads(sound)
    for model in data["setup"]["models"]:
        assert model.pop("drafted") is None  # all of them
    assert Trace.from_json(json.dumps(data)) == Trace.from_json(sound)
