"""Decoding on models whose every probability is known: equality, caches, ends, budgets, options."""

from __future__ import annotations

import gc
import itertools
import math
import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from joint_law import toy_pair
from loops import for_each, some
from spies import spied
from table_models import LetterCodec, TableModel, table_pair
from tree_cases import TREE_CASES, UNFIT

import hsd
from hsd import RULES, HsdError, Pair, Trace
from hsd.decoding.loop import rerun
from hsd.sampling import draw

PAIR = table_pair(vocab=5, order=2, seed=4)


def cycle_pair(
    length: int, end: int | None, draft_breaks: bool = False, context: int = 512
) -> Pair:
    """A target that counts 0, 1, 2 … length-1, 0 …; its draft agrees, or always says one letter too
    few.
    """
    rows = torch.eye(length, dtype=torch.float64).roll(1, dims=1)
    draft = torch.eye(length, dtype=torch.float64) if draft_breaks else rows
    codec = LetterCodec(length, frozenset() if end is None else frozenset({end}))
    return Pair(
        "cycle", TableModel(rows, context=context), TableModel(draft, context=context), codec
    )


# Greedy decoding


# in the ensemble the draft has a share
@for_each("rule", [name for name in RULES if name != "ensemble"], every=2)
@for_each("gamma", [1, 4, 9])
def test_greedy_output_equals_plain_decoding(rule: str, gamma: int):
    pair = table_pair(vocab=6, order=3, seed=gamma)
    options: dict[str, Any] = {"max_new_tokens": 40, "temperature": 0, "trace": False}
    plain = hsd.run(pair, "abc", system="plain", **options)
    assert hsd.run(pair, "abc", rule=rule, gamma=gamma, **options).tokens == plain.tokens


@pytest.mark.long
@for_each(("rule", "tree"), TREE_CASES, every=3)
def test_greedy_output_with_several_drafts_equals_plain_decoding(rule: str, tree: str):
    pair = table_pair(vocab=6, order=3, seed=1)
    options: dict[str, Any] = {"max_new_tokens": 30, "temperature": 0, "trace": False}
    plain = hsd.run(pair, "abc", system="plain", **options)
    assert (
        hsd.run(pair, "abc", rule=rule, drafts=3, tree=tree, gamma=4, **options).tokens
        == plain.tokens
    )


@for_each(("rule", "tree"), UNFIT)
def test_a_rule_that_does_not_fit_the_tree_is_refused(rule: str, tree: str):
    name = rule.removeprefix("recursive-")  # which nobody has to know
    words = (
        f"^drafts 3, tree '{tree}': rule {name} does not fit .*: choose rule .*one-hot.*, "
        "or another tree, .* paths$"
    )
    with pytest.raises(HsdError, match=words):
        hsd.decode(PAIR, "ab", rule=rule, tree=tree, drafts=3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drafts": 0}, "drafts 0: choose a whole number from 1 to 64"),
        ({"drafts": 100}, "drafts 100: choose a whole number from 1 to 64"),
        (
            {"drafts": 2, "tree": "bush"},
            "unknown tree 'bush': choose one of paths, comb, distinct, distinct-comb, top",
        ),
        ({"drafts": 2, "rule": "naive-hsd"}, "rule naive-hsd does not fit several drafts"),
        (
            {"drafts": 1, "rule": "traversal"},
            "rule traversal is for several drafts: choose drafts of 2 or more",
        ),
        ({"drafts": 1, "shadow": "top-down"}, "rule top-down is for several drafts"),
        (
            {"drafts": 64, "gamma": 32},
            "a tree of 2,048 nodes is over the limit of 512: reduce drafts or gamma",
        ),
        ({"shadow": "x"}, "unknown rule 'x'"),
    ],
)
def test_what_cannot_be_drafted_is_refused_at_once(options: dict[str, Any], words: str):
    with pytest.raises(HsdError, match=words):
        hsd.decode(PAIR, "ab", **options)


def test_a_distinct_tree_has_different_first_tokens_and_a_top_tree_the_likeliest():
    for seed in range(2):
        distinct = hsd.run(
            PAIR, "ab", drafts=3, tree="distinct", rule="traversal", seed=seed, max_new_tokens=20
        )
        chosen = hsd.run(
            PAIR, "ab", drafts=3, tree="top", rule="one-hot", seed=seed, max_new_tokens=20
        )
        for step in [s for s in (*distinct.steps, *chosen.steps) if s.drafted]:
            firsts = [node.token for node in step.nodes if node.parent == 0]
            assert len(firsts) == len(set(firsts)) == 3
        for step in [s for s in chosen.steps if s.drafted]:
            firsts = [node.q for node in step.nodes if node.parent == 0]
            assert (
                firsts
                == sorted((candidate.q for candidate in step.branches[0].top), reverse=True)[:3]
            )


@pytest.mark.long
@pytest.mark.parametrize("gamma", [1, 2, 3, 7, 16, 31, 32])
def test_every_draft_length_decodes_and_fills_its_budget(gamma: int):
    trace = hsd.run(PAIR, "ab", gamma=gamma, max_new_tokens=70, seed=gamma)
    assert len(trace.tokens) == 70
    assert max(step.drafted for step in trace.steps) == gamma
    assert trace.replay() == trace.tokens


# Shared random numbers


@pytest.mark.long
@pytest.mark.parametrize("seed", some(range(4), 2))
def test_rules_see_the_same_drafts_and_coins_as_long_as_their_texts_agree(seed: int):
    # a coupled rule has numbers of its own
    names = [name for name, rule in RULES.items() if not rule.recipe.coupled]
    traces = {
        name: hsd.run(PAIR, "ab", rule=name, gamma=4, max_new_tokens=60, seed=seed)
        for name in names
    }
    shared = 0
    for first, second in itertools.combinations(traces.values(), 2):
        texts: tuple[list[int], list[int]] = ([], [])
        for one, other in zip(first.steps, second.steps, strict=False):
            if texts[0] != texts[1]:
                break
            assert [(n.token, n.q, n.draw, n.coin) for n in one.nodes] == [
                (n.token, n.q, n.draw, n.coin) for n in other.nodes
            ]
            shared += 1
            texts[0].extend(one.tokens)
            texts[1].extend(other.tokens)
    assert shared >= 10 + len(RULES)


def test_equal_rules_write_equal_texts():
    one, other = (
        hsd.run(PAIR, "ab", rule=r, max_new_tokens=80, seed=2) for r in ("hsd", "blockwise")
    )
    assert one.tokens == other.tokens


def test_equal_seeds_repeat_a_run_and_other_seeds_do_not():
    runs = [
        hsd.run(PAIR, "ab", seed=seed, max_new_tokens=40, trace=False).tokens for seed in (3, 3, 4)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_two_runs_at_once_do_not_disturb_each_other():
    alone = [hsd.run(PAIR, "ab", seed=seed, max_new_tokens=30).tokens for seed in (1, 2)]
    decodings = [hsd.decode(PAIR, "ab", seed=seed, max_new_tokens=30) for seed in (1, 2)]
    for _ in itertools.zip_longest(*decodings):
        pass
    assert [d.trace().tokens for d in decodings] == alone


# Caches and calls


@pytest.mark.parametrize("rule", [*RULES, "plain"])
def test_cached_logits_equal_a_fresh_forward_pass_at_every_call(rule: str):
    pair, target, draft = spied(table_pair(vocab=4, order=3, seed=1), tolerance=0.0)
    options = {"system": "plain"} if rule == "plain" else {"rule": rule}
    hsd.run(pair, "abab", gamma=4, max_new_tokens=60, seed=1, **options)
    assert target.checked > 10
    assert draft.checked > 10 or rule == "plain"


@pytest.mark.long
@pytest.mark.parametrize("rule", ["tokenwise", "hsd", "naive-hsd"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_cached_logits_of_a_transformer_equal_a_fresh_forward_pass(
    byte_pair: Pair, rule: str, temperature: float
):
    pair, target, draft = spied(byte_pair, tolerance=1e-4)
    trace = hsd.run(
        pair, "Ab c", rule=rule, gamma=4, max_new_tokens=24, temperature=temperature, seed=3
    )
    assert len(trace.tokens) == 24 or trace.result.finish == "end"
    assert min(target.checked, draft.checked) >= len(trace.steps)


def test_after_each_step_both_models_have_read_no_more_than_the_text():
    pair, target, draft = spied(PAIR)
    text = PAIR.encode("ab")
    for step in hsd.decode(pair, "ab", gamma=4, max_new_tokens=50, seed=1):
        text += step.tokens
        assert target.sessions[0].tokens == text[:-1]
        assert draft.sessions[0].tokens == text[: draft.sessions[0].length]
        assert len(text) - 2 <= draft.sessions[0].length < len(text)


def test_one_target_call_a_step_and_no_wider_than_needed():
    pair, target, draft = spied(PAIR)
    trace = hsd.run(pair, "abcab", gamma=4, max_new_tokens=50, seed=1)
    prefill, *calls = target.calls
    assert prefill == len("abcab") - 1
    assert calls == [step.drafted + 1 for step in trace.steps]
    assert len(draft.calls) == sum(step.drafted for step in trace.steps)


def test_plain_decoding_never_starts_the_draft_model():
    pair, target, draft = spied(PAIR)
    trace = hsd.run(pair, "ab", system="plain", max_new_tokens=12)
    assert draft.sessions == []
    assert target.calls == [1] * 13
    assert [step.drafted for step in trace.steps] == [0] * 12
    assert trace.setup.options.draft.gamma == 0
    assert len(trace.setup.models) == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_target_calls_of_naive_hsd_are_counted(seed: int):
    pair, target, _ = spied(table_pair(vocab=5, order=2, seed=4, closeness=0.5))
    trace = hsd.run(pair, "ab", rule="naive-hsd", gamma=5, max_new_tokens=60, seed=seed)
    stats = trace.stats()
    assert stats["target_calls"] == len(target.calls) - 1  # the first one reads the prompt
    for step in trace.steps:
        missing = max(step.drafted - step.kept - 1, 0)
        assert step.target_calls == 1 + missing
        assert len(step.committed) == step.kept + 1 + missing
    assert stats["target_calls"] > stats["steps"]
    assert stats["block_efficiency"] == stats["new_tokens"] / stats["target_calls"]


def test_open_positions_of_naive_hsd_follow_the_residuals_of_what_precedes_them():
    """After a rejection each further token is what its number picks from max(r p - q, 0), r the
    ratio before it.
    """
    p = (0.4, 0.05, 0.35, 0.2)
    q = (0.6, 0.2, 0.15, 0.05)
    checked = 0
    for seed in range(6):
        for step in hsd.run(
            toy_pair(p, q), "a", rule="naive-hsd", gamma=5, max_new_tokens=50, seed=seed
        ).steps:
            drawn = step.verdict.extra_draws if step.verdict else []
            before = step.tokens[: len(step.tokens) - len(drawn)]
            ratio = math.prod(p[x] / q[x] for x in before)
            for token, number in zip(step.tokens[len(before) :], drawn, strict=True):
                residual = [
                    max(ratio * target - draft, 0.0) for target, draft in zip(p, q, strict=True)
                ]
                assert token == int(
                    draw(torch.tensor(residual), torch.tensor([number], dtype=torch.float64))
                )
                ratio *= p[token] / q[token]
                checked += 1
    assert checked > 50


# Sessions are closed


def all_closed(*spies: Any) -> bool:
    sessions = [session for spy in spies for session in spy.sessions]
    return bool(sessions) and all(session.closed for session in sessions)


def test_sessions_are_closed_when_the_run_ends():
    pair, target, draft = spied(PAIR)
    hsd.run(pair, "ab", max_new_tokens=8)
    assert all_closed(target, draft)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_sessions_are_closed_when_the_consumer_stops_early(steps: int):
    pair, target, draft = spied(PAIR)
    decoding = hsd.decode(pair, "ab", max_new_tokens=60)
    seen = [token for _ in range(steps) for token in next(decoding).tokens]
    decoding.close()
    assert all_closed(target, draft)
    assert decoding.trace().result.finish == "cancelled"
    assert decoding.trace().tokens == seen
    assert next(decoding, None) is None


def test_sessions_are_closed_when_the_consumer_forgets_the_run():
    pair, target, draft = spied(PAIR)
    for _ in hsd.decode(pair, "ab", max_new_tokens=60):
        break
    gc.collect()
    assert all_closed(target, draft)


@pytest.mark.parametrize("call", [1, 2, 4])
def test_sessions_are_closed_when_a_model_fails(call: int):
    pair, target, draft = spied(PAIR, fails_at=call)
    decoding = hsd.decode(pair, "abc", max_new_tokens=60)
    with pytest.raises(RuntimeError, match="the model broke"):
        for _ in decoding:
            pass
    assert all_closed(target, draft)
    assert decoding.trace().result.finish == "cancelled"


# End of text


def test_an_end_that_was_drafted_and_kept_ends_the_text_without_a_bonus():
    """The text a b c d e ends at e, in the middle of a draft of eight."""
    trace = hsd.run(cycle_pair(6, end=4), "a", gamma=8, max_new_tokens=30)
    assert trace.text == "bcde"
    assert trace.result.finish == "end"
    assert [(s.drafted, s.kept, s.verdict.residual) for s in trace.steps] == [(4, 4, None)]
    assert {c.origin for c in trace.steps[0].committed} == {"draft"}
    assert trace.replay() == trace.tokens


def test_an_end_that_is_the_correction_ends_the_text():
    trace = hsd.run(cycle_pair(3, end=2, draft_breaks=True), "a", gamma=4, max_new_tokens=30)
    assert trace.text == "bc"
    assert trace.result.finish == "end"
    assert [c.origin for s in trace.steps for c in s.committed] == ["correction", "correction"]


def test_an_end_that_is_the_bonus_ends_the_text():
    trace = hsd.run(cycle_pair(6, end=3), "a", gamma=2, max_new_tokens=30)
    assert trace.text == "bcd"
    assert trace.steps[0].committed[-1].origin == "bonus"
    assert trace.result.finish == "end"


@pytest.mark.parametrize("rule", [*RULES, "plain"])
@for_each("seed", range(6))
def test_nothing_follows_the_end_of_a_text(rule: str, seed: int):
    pair = table_pair(vocab=4, order=2, seed=7, closeness=0.6, end_ids=frozenset({1, 2}))
    options = {"system": "plain"} if rule == "plain" else {"rule": rule}
    trace = hsd.run(pair, "a", gamma=6, max_new_tokens=80, seed=seed, **options)
    ends = [i for i, token in enumerate(trace.tokens) if token in (1, 2)]
    assert ends in ([], [len(trace.tokens) - 1])
    assert (trace.result.finish == "end") == bool(ends)
    assert trace.replay() == trace.tokens


def test_a_draft_is_cut_after_its_first_end():
    pair = table_pair(vocab=4, order=2, seed=7, end_ids=frozenset({2}))
    for seed in range(8):
        for step in hsd.decode(pair, "a", gamma=8, max_new_tokens=60, seed=seed):
            assert 2 not in [node.token for node in step.nodes[:-1]]


# Budgets


@pytest.mark.long
@pytest.mark.parametrize("rule", [*RULES, "plain"])
@for_each("budget", [1, 2, 3, 5, 6, 7, 13], every=4)
def test_a_budget_is_met_exactly(rule: str, budget: int):
    """γ is 5: budgets of one, two, γ and γ + 1 tokens are among these."""
    options = {"system": "plain"} if rule == "plain" else {"rule": rule}
    for seed in range(5):
        trace = hsd.run(PAIR, "ab", gamma=5, max_new_tokens=budget, seed=seed, **options)
        assert len(trace.tokens) == budget
        assert trace.result.finish == "length"
        assert len(trace.text) == budget


@pytest.mark.parametrize("rule", [*RULES, "plain"])
def test_a_full_context_ends_the_run(rule: str):
    pair, target, draft = spied(table_pair(vocab=4, order=2, context=20))
    options = {"system": "plain"} if rule == "plain" else {"rule": rule}
    for seed in range(5):
        trace = hsd.run(pair, "abc", gamma=6, max_new_tokens=100, seed=seed, **options)
        assert trace.result.finish == "context"
        assert len(trace.tokens) == 17
    assert max(len(session.tokens) for spy in (target, draft) for session in spy.sessions) <= 20


def test_a_prompt_of_one_token_and_one_that_just_fits():
    pair = table_pair(vocab=4, order=2, context=12)
    assert len(hsd.run(pair, "a", max_new_tokens=3).tokens) == 3
    assert len(hsd.run(pair, "a" * 11, max_new_tokens=3).tokens) == 1


def test_a_prompt_need_only_fit_the_models_that_read_it():
    long = table_pair(vocab=4, order=2, context=30)
    short = table_pair(vocab=4, order=2, context=8)
    pair = replace(long, draft=short.draft)
    with pytest.raises(
        HsdError, match="the prompt has 12 tokens, the context 8: shorten the prompt"
    ):
        hsd.run(pair, "a" * 12)
    for how in ({"system": "plain"}, {"proposer": "ngram"}):
        assert len(hsd.run(pair, "a" * 12, max_new_tokens=3, **how).tokens) == 3


@pytest.mark.long
def test_a_run_of_many_steps_can_still_be_traced():
    """Every accepted budget must end in a trace: nothing is lost at the end of a long run."""
    pair = table_pair(vocab=3, order=1, context=20_000)
    trace = hsd.run(pair, "a", system="plain", max_new_tokens=5_000, trace=False)
    assert len(trace.tokens) == 5_000
    assert Trace.from_json(trace.to_json()) == trace


# Drafts that the target excludes, and the other way round


@pytest.mark.parametrize("rule", [name for name in RULES if name != "ensemble"])
def test_models_without_a_common_token_still_decode(rule: str):
    pair = toy_pair((0.0, 0.5, 0.5, 0.0), (0.5, 0.0, 0.0, 0.5))
    trace = hsd.run(pair, "a", rule=rule, gamma=4, max_new_tokens=25, seed=1)
    assert set(trace.tokens) <= {1, 2}
    assert trace.stats()["kept"] == 0


@pytest.mark.parametrize("rule", RULES)
def test_a_vocabulary_of_one_token(rule: str):
    trace = hsd.run(toy_pair((1.0,), (1.0,)), "a", rule=rule, gamma=3, max_new_tokens=10)
    assert trace.tokens == [0] * 10
    assert trace.stats()["acceptance_rate"] == 1


# these ask p alone
@pytest.mark.parametrize("rule", [name for name in RULES if name not in ("agreement", "typical")])
def test_equal_models_keep_every_drafted_token(rule: str):
    pair = Pair("twins", PAIR.target, PAIR.target, PAIR.codec)
    for temperature in (0.0, 0.7, 1.0):
        stats = hsd.run(
            pair, "ab", rule=rule, gamma=4, max_new_tokens=40, temperature=temperature
        ).stats()
        assert stats["acceptance_rate"] == 1
        assert stats["block_efficiency"] == 5


# Bad input


@for_each(
    ("options", "word"),
    [
        ({"gamma": 0}, "gamma 0"),
        ({"gamma": 33}, "gamma 33"),
        ({"gamma": "abc"}, "gamma 'abc'"),
        ({"gamma": True}, "gamma True"),
        ({"gamma": 2.5}, "gamma 2.5"),
        ({"gamma": None}, "gamma None"),
        ({"temperature": -1}, "temperature -1"),
        ({"temperature": math.nan}, "temperature nan"),
        ({"temperature": math.inf}, "temperature inf"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": None}, "temperature"),
        ({"top_p": 0}, "top.p 0"),
        ({"top_p": 2}, "top.p 2"),
        ({"top_p": math.nan}, "top.p nan"),
        ({"top_p": "most"}, "top.p"),
        ({"top_k": -1}, "top.k -1"),
        ({"top_k": 1.5}, "top.k 1.5"),
        ({"top_k": 2.0}, "top.k 2.0"),
        ({"top_k": math.nan}, "top.k nan"),
        ({"top_k": "all"}, "top.k"),
        ({"rule": "best"}, "unknown rule 'best'"),
        ({"rule": None}, "unknown rule None"),
        ({"system": "magic"}, "unknown system 'magic'"),
        ({"gama": 5}, "unknown option 'gama'"),
        ({"max_new_tokens": 0}, "max_new_tokens 0"),
        ({"max_new_tokens": -3}, "max_new_tokens -3"),
        ({"max_new_tokens": 1_000_000}, "max_new_tokens 1000000"),
        ({"max_new_tokens": "many"}, "max_new_tokens 'many'"),
        ({"seed": "x"}, "seed 'x'"),
        ({"seed": 1.5}, "seed 1.5"),
    ],
    ids=str,
)
def test_a_bad_option_is_one_clear_line_before_anything_is_computed(
    options: dict[str, Any], word: str
):
    pair, target, draft = spied(PAIR)
    with pytest.raises(HsdError) as error:
        hsd.decode(pair, "ab", **options)
    assert re.search(word, str(error.value))
    assert "\n" not in str(error.value)
    assert target.calls == draft.calls == []


UNUSABLE = {
    "empty": "",
    "blanks": "   ",
    "lines": "\n\t",
    "long": "a" * 513,
    "unknown letters only": "1234",
}


@pytest.mark.parametrize("prompt", UNUSABLE.values(), ids=UNUSABLE)
def test_a_prompt_that_cannot_be_continued_is_one_clear_line(prompt: str):
    with pytest.raises(HsdError, match="prompt") as error:
        hsd.run(PAIR, prompt, max_new_tokens=3)
    assert "\n" not in str(error.value)


# Forced tokens


def test_forced_tokens_begin_the_text_which_goes_on_as_from_a_prompt_that_ends_with_them():
    options: dict[str, Any] = {"gamma": 3, "max_new_tokens": 20, "seed": 3}
    forced = hsd.run(PAIR, "ab", forced=(2, 4, 1), **options)
    assert forced.tokens == hsd.run(PAIR, "abceb", **options).tokens
    assert (forced.prompt.text, forced.prompt.ids[-3:], forced.prompt.forced) == (
        "ab",
        [2, 4, 1],
        3,
    )
    assert any("Forced tokens at the start of the text: 3." in note for note in forced.setup.notes)
    assert rerun(PAIR, Trace.from_json(forced.to_json())).prompt == forced.prompt
    assert '"forced"' not in hsd.run(PAIR, "ab", **options).to_json(), "other traces are as before"
    with pytest.raises(
        HsdError, match="the prompt has token 9: give ids that the target knows, 0 to 4"
    ):
        hsd.decode(PAIR, "ab", forced=(9,))
