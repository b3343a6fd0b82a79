"""Systems with levels between draft and target: a stack of models, and the early exits of one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from joint_law import chi_square_p, exact_law, first_tokens
from loops import for_each
from table_models import TableModel, table_pair

import hsd
from hsd import HsdError, Pair, Trace
from hsd.bench import prompt_set
from hsd.models.exits import EarlyExits
from hsd.trace import Event

pytestmark = pytest.mark.long

PROMPT = "Once upon a time, there was a little girl named Lily. She"


def small_stack(seed: int = 0, end_ids: frozenset[int] = frozenset(), context: int = 512) -> Pair:
    """Three table models over four letters; the smallest is the draft with noise."""
    pair = table_pair(seed=seed, end_ids=end_ids, context=context)
    assert isinstance(pair.draft, TableModel)
    generator = torch.Generator().manual_seed(seed + 1)
    noise = torch.randn(pair.draft.table.shape, generator=generator, dtype=torch.float64)
    smallest = TableModel((pair.draft.table.log() + noise).softmax(-1), "table smallest", context)
    return replace(pair, smaller=(smallest,))


STACK = small_stack()


@pytest.fixture(scope="module")
def tiny() -> Pair:
    return hsd.load_pair("tiny", device="cpu")


def greedy(pair: Pair, prompt: str, **options: Any) -> list[int]:
    return hsd.run(pair, prompt, temperature=0.0, trace=False, **options).tokens


# What comes out


@pytest.mark.parametrize("thresholds", [(1, 1), (2, 3), (5, 1), (3, 8)])
@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_a_greedy_stack_writes_what_the_target_writes(rule: str, thresholds: tuple[int, int]):
    for seed in range(3):
        pair = small_stack(seed)
        plain = greedy(pair, "ab", system="plain", max_new_tokens=40)
        assert (
            greedy(pair, "ab", system="stack", rule=rule, thresholds=thresholds, max_new_tokens=40)
            == plain
        )


@pytest.mark.parametrize("count", [3, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("system", ["hispec", "stack"])
def test_greedy_text_is_the_targets_on_fifty_prompts(tiny: Pair, system: str, count: int):
    prompts = prompt_set("shipped").prompts
    starts = [
        *prompts,
        *(" ".join(prompt.split()[: len(prompt.split()) // 2]) for prompt in prompts),
    ][:50]
    assert len(set(starts)) == 50
    for prompt in starts[:: 50 // count]:
        assert greedy(tiny, prompt, system=system, max_new_tokens=20) == greedy(
            tiny, prompt, system="plain", max_new_tokens=20
        )


@pytest.mark.parametrize(
    "rules", [("tokenwise", "tokenwise"), ("hsd", "tokenwise"), ("blockwise", "hsd")]
)
def test_sampled_texts_that_may_end_follow_the_targets_law(rules: tuple[str, str]):
    pair = small_stack(2, end_ids=frozenset({1}))
    options = {"system": "stack", "level_rules": rules[:1], "rule": rules[1], "thresholds": (2, 2)}
    counts = first_tokens(pair, 3, range(300), max_new_tokens=8, **options)
    assert chi_square_p(counts, exact_law(pair, 3)) > 1e-4


def test_two_levels_are_ordinary_speculative_decoding():
    for seed in range(5):
        ordinary = hsd.run(STACK, "abc", gamma=4, seed=seed)
        stacked = hsd.run(STACK, "abc", system="stack", stack=(1, 2), thresholds=(4,), seed=seed)
        assert stacked.tokens == ordinary.tokens
        assert [step.kept for step in stacked.steps] == [step.kept for step in ordinary.steps]


@pytest.mark.parametrize("budget", [1, 2, 3, 17])
def test_a_budget_is_never_overrun(budget: int):
    trace = hsd.run(STACK, "abc", system="stack", thresholds=(3, 5), max_new_tokens=budget)
    assert len(trace.tokens) == budget
    assert trace.result.finish == "length"


def test_the_context_of_the_smallest_model_is_the_limit():
    pair = small_stack(context=16)
    trace = hsd.run(pair, "abc", system="stack", thresholds=(3, 4), max_new_tokens=100)
    assert trace.result.finish == "context"
    assert len(trace.prompt.ids) + len(trace.tokens) == 16


def test_a_prompt_that_fills_the_smallest_models_context_is_refused():
    pair = replace(STACK, smaller=small_stack(context=4).smaller)
    with pytest.raises(
        HsdError, match="the prompt has 5 tokens, the context 4: shorten the prompt"
    ):
        hsd.run(pair, "abcab", system="stack")
    assert len(hsd.run(pair, "abcab", system="stack", stack=(1, 2), max_new_tokens=3).tokens) == 3


def test_nothing_is_settled_after_the_end_of_a_text():
    pair = small_stack(3, end_ids=frozenset({0}))
    ended = 0
    for seed in range(40):
        trace = hsd.run(pair, "b", system="stack", thresholds=(3, 6), max_new_tokens=30, seed=seed)
        assert 0 not in trace.tokens[:-1]
        for event in (event for step in trace.steps for event in step.events):
            assert 0 not in [token.token for token in event.committed][:-1]
        for step in trace.steps:
            assert 0 not in [node.token for node in step.nodes][:-1]
            for earlier, later in pairwise(e for e in step.events if e.level == 1):
                assert earlier.committed[-1].token != 0 or later.held == 0
        ended += trace.result.finish == "end"
    assert ended > 30


TREES = [
    ("paths", ()),
    ("paths", ("traversal",)),
    ("comb", ("hsd",)),
    ("distinct", ("top-down",)),
    ("top", ()),
]


@pytest.mark.parametrize(("tree", "rules"), TREES, ids=str)
def test_a_tree_under_a_stack_follows_the_targets_law(tree: str, rules: tuple[str, ...]):
    """The smallest model drafts a tree, the next one verifies it and hands up a chain."""
    pair = small_stack(2, end_ids=frozenset({1}))
    options = {
        "system": "stack",
        "level_rules": rules,
        "thresholds": (2, 2),
        "drafts": 2,
        "tree": tree,
    }
    counts = first_tokens(pair, 2, range(200), max_new_tokens=8, **options)
    assert chi_square_p(counts, exact_law(pair, 2)) > 1e-4


@pytest.mark.parametrize(("tree", "rules"), TREES, ids=str)
def test_a_tree_under_a_stack_is_recorded_and_decodes_again(tree: str, rules: tuple[str, ...]):
    options = {
        "level_rules": rules,
        "drafts": 3,
        "tree": tree,
        "thresholds": (3, 4),
        "max_new_tokens": 20,
    }
    trace = hsd.run(STACK, "abc", system="stack", **options)
    assert Trace.from_json(trace.to_json()) == trace
    assert trace.replay() == trace.tokens == hsd.rerun(STACK, trace).tokens
    assert greedy(STACK, "abc", system="stack", **options) == greedy(
        STACK, "abc", system="plain", max_new_tokens=20
    )
    checks = [
        event for step in trace.steps for event in step.events if event.level == 1 and event.tested
    ]
    assert max(len(event.tested) for event in checks) > 3
    for event in checks:
        assert [t.token for t in event.tested[: event.kept]] == [
            c.token for c in event.committed[: event.kept]
        ]


# What is kept in between


def test_every_level_has_read_the_text_and_nothing_else():
    decoding = hsd.decode(STACK, "abc", system="stack", thresholds=(3, 4), max_new_tokens=60)
    text = STACK.codec.encode("abc")
    for step in decoding:
        text += step.tokens
        for reader in decoding._rounds.readers:
            read = reader.session.tokens  # type: ignore[attr-defined]
            assert read == text[: len(read)]
            assert len(read) < len(text)
    decoding.close()


def test_levels_count_their_calls():
    trace = hsd.run(STACK, "abc", system="stack", thresholds=(2, 4))
    for step in trace.steps:
        smallest, middle = step.below
        checks = [event for event in step.events if event.level == 1]
        assert middle.calls == len(checks) == sum(event.work.calls for event in checks)
        assert smallest.calls == sum(event.work.calls for event in step.events if event.level == 0)
        assert step.work.calls == 1


# What is recorded


def runs_with_levels(tiny: Pair) -> list[Trace]:
    return [
        hsd.run(STACK, "abc", system="stack", thresholds=(2, 3), seed=1),
        hsd.run(
            STACK, "abc", system="stack", thresholds=(3, 5), level_rules=("tokenwise",), seed=2
        ),
        hsd.run(tiny, PROMPT, system="hispec", max_new_tokens=40),
        hsd.run(tiny, PROMPT, system="stack", max_new_tokens=40, rule="tokenwise"),
    ]


def test_events_tell_where_every_token_of_a_block_comes_from(tiny: Pair):
    for trace in runs_with_levels(tiny):
        thresholds = trace.setup.options.levels.thresholds
        for step in trace.steps:
            handed: dict[int, list[int]] = {0: [], 1: []}
            for event in step.events:
                assert event.asked <= thresholds[event.level]
                assert event.held < max(event.asked, 1)
                tokens = [token.token for token in event.committed]
                if event.kind == "verify":
                    assert [t.token for t in event.tested] == handed[0]
                    assert tokens[: event.kept] == handed[0][: event.kept]
                    assert len(tokens) in (event.kept, event.kept + 1)
                    assert event.position == step.context_length + len(handed[1])
                    assert event.held == len(handed[1])
                    handed[1] += tokens
                    handed[0] = []
                    judged(event, trace.setup.options.levels.rules[0])
                else:
                    handed[0] = tokens
            assert [node.token for node in step.nodes] == handed[1]
            assert step.drafted <= sum(thresholds)


def judged(event: Event, rule: str) -> None:
    """The verdict follows from thresholds and coins, and untested tokens have none."""
    for tested in event.tested:
        if tested.accepted is not None:
            assert tested.accepted == (tested.coin < tested.threshold)
    accepted = [i for i, tested in enumerate(event.tested, start=1) if tested.accepted]
    if rule == "tokenwise":
        assert event.kept == len(accepted)
    else:
        assert event.kept == (accepted[-1] if accepted else 0)


def test_no_random_number_is_used_at_two_levels(tiny: Pair):
    for trace in runs_with_levels(tiny):
        coins = [node.coin for step in trace.steps for node in step.nodes]
        coins += [
            tested.coin for step in trace.steps for event in step.events for tested in event.tested
        ]
        assert len(set(coins)) == len(coins)


def test_a_block_is_as_long_as_its_threshold_unless_something_ends_it(tiny: Pair):
    for trace in runs_with_levels(tiny):
        for step in trace.steps[:-4]:
            assert step.drafted >= trace.setup.options.levels.thresholds[-1]


def test_five_levels_are_recorded_and_too_many_rounds_are_refused():
    pair = replace(
        STACK, smaller=(*STACK.smaller, *small_stack(5).smaller, *small_stack(6).smaller)
    )
    trace = hsd.run(pair, "abc", system="stack", thresholds=(1, 3, 3, 3), max_new_tokens=20)
    assert {event.level for step in trace.steps for event in step.events} == {0, 1, 2, 3}
    assert Trace.from_json(trace.to_json()) == trace
    with pytest.raises(HsdError, match="32,768 rounds of the smallest"):
        hsd.run(pair, "abc", system="stack", thresholds=(1, 32, 32, 32))


def test_a_run_in_which_everything_passes_decodes_again():
    trace = hsd.run(STACK, "abc", rule="fuzzy", tolerance=float("inf"), top_k=1, max_new_tokens=20)
    assert trace.stats()["acceptance_rate"] == 1
    assert Trace.from_json(trace.to_json()) == trace
    assert hsd.rerun(STACK, trace).tokens == trace.tokens


def test_the_divergences_in_a_stack_are_those_of_the_two_highest_levels_raw_rows():
    options = {
        "rule": "fuzzy",
        "divergence_on": "raw",
        "divergence": "tv",
        "tolerance": 0.2,
        "top_k": 2,
    }
    trace = hsd.run(STACK, "abc", system="stack", thresholds=(2, 3), **options)
    text = list(trace.prompt.ids)
    for step in trace.steps:
        for position, divergence in enumerate(step.divergences):
            read = text + [node.token for node in step.nodes[:position]]
            p, q = (model.table[model.row_index(read)] for model in (STACK.target, STACK.draft))
            assert divergence == pytest.approx(float((p - q).abs().sum() / 2), abs=1e-6)
        text += step.tokens


def test_two_runs_on_the_exits_of_one_model_do_not_disturb_each_other(tiny: Pair):
    common = {"system": "hispec", "max_new_tokens": 24}
    options = [{**common, "seed": 1, "exits": (2, 4)}, {**common, "seed": 2, "exits": (1, 6)}]
    alone = [hsd.run(tiny, PROMPT, **one).tokens for one in options]
    both = [hsd.decode(tiny, PROMPT, **one) for one in options]
    for _ in range(24):
        for decoding in both:
            next(decoding, None)
    assert [decoding.trace().tokens for decoding in both] == alone


def test_one_exit_alone_drafts_for_the_whole_model(tiny: Pair):
    plain = greedy(tiny, PROMPT, system="plain", max_new_tokens=30)
    assert (
        greedy(tiny, PROMPT, system="hispec", exits=(2,), thresholds=(5,), max_new_tokens=30)
        == plain
    )
    trace = hsd.run(tiny, PROMPT, system="hispec", exits=(2,), thresholds=(3,), max_new_tokens=12)
    assert [len(step.below) for step in trace.steps] == [1] * len(trace.steps)
    assert trace.steps[0].drafted == 3


def test_a_trace_with_levels_goes_through_json_and_decodes_again(tiny: Pair):
    for trace, pair in zip(runs_with_levels(tiny), (STACK, STACK, tiny, tiny), strict=True):
        assert Trace.from_json(trace.to_json()) == trace
        assert trace.replay() == trace.tokens
        again = hsd.rerun(pair, trace)
        assert again.tokens == trace.tokens
        assert again.setup == trace.setup


def test_with_tracing_off_no_event_is_made():
    steps = hsd.run(STACK, "abc", system="stack", trace=False).steps
    assert not any(step.events for step in steps)
    assert all(step.below[0].calls > 0 for step in steps[:-1])


# HiSpec


def test_checked_at_full_depth_the_target_keeps_everything(tiny: Pair):
    trace = hsd.run(tiny, PROMPT, system="hispec", exits=(2, 8), max_new_tokens=40)
    assert all(step.kept == step.drafted for step in trace.steps)


def test_checked_where_it_was_drafted_everything_is_kept_at_the_check(tiny: Pair):
    trace = hsd.run(tiny, PROMPT, system="hispec", exits=(3, 3), max_new_tokens=40)
    checks = [event for step in trace.steps for event in step.events if event.level == 1]
    assert checks
    assert all(event.kept == len(event.tested) for event in checks)


def test_with_every_exit_at_full_depth_it_is_plain_decoding(tiny: Pair):
    plain = greedy(tiny, PROMPT, system="plain", max_new_tokens=30)
    trace = hsd.run(tiny, PROMPT, system="hispec", exits=(8, 8), temperature=0.0, max_new_tokens=30)
    assert trace.tokens == plain
    assert all(step.kept == step.drafted for step in trace.steps)


def test_one_checked_token_per_target_pass_is_enough(tiny: Pair):
    plain = greedy(tiny, PROMPT, system="plain", max_new_tokens=30)
    for thresholds in ((1, 1), (2, 1), (4, 9)):
        options = {"system": "hispec", "thresholds": thresholds, "max_new_tokens": 30}
        assert greedy(tiny, PROMPT, **options) == plain


def test_a_target_pass_computes_only_the_layers_that_are_missing(tiny: Pair):
    trace = hsd.run(tiny, PROMPT, system="hispec", exits=(2, 4), max_new_tokens=40)
    for step in trace.steps:
        last_only = 4  # the block's last token goes through the layers of both exits as well
        assert step.work.computed == 4 * (step.drafted + 1) + last_only or step.drafted == 0
        assert step.work.heads == step.drafted + 1


# What a reader has to know, and what is refused


def test_exits_that_were_not_trained_are_named(tiny: Pair):
    assert hsd.run(tiny, PROMPT, system="hispec", max_new_tokens=4).setup.notes == []
    (note,) = hsd.run(tiny, PROMPT, system="hispec", exits=(1, 3), max_new_tokens=4).setup.notes
    assert "after layer 1 and 3" in note
    assert "slower" in note


def test_models_in_the_wrong_order_of_size_are_named(tiny: Pair):
    (note,) = hsd.run(tiny, PROMPT, system="stack", stack=(1, 0, 2), max_new_tokens=4).setup.notes
    assert "tiny smallest stands above tiny draft, which is larger" in note


@for_each(
    ("options", "words"),
    [
        ({"stack": (2,)}, "a stack of 1: choose 2 to"),
        ({"stack": (0, 0, 2)}, "model 0 is in the stack twice"),
        ({"stack": (0, 7)}, "there is no model 7 in pair"),
        ({"stack": (0, 1)}, "end it with the target, model 2"),
        ({"stack": (-1, 2)}, "choose a whole number from 0 to 8"),
        ({"stack": "012"}, "stack '012': give a list"),
        ({"thresholds": (0, 2)}, "threshold 0: choose a whole number from 1 to 32"),
        ({"thresholds": (2, 10**6)}, "threshold 1000000: choose a whole number from 1 to 32"),
        ({"thresholds": (2,)}, "1 thresholds for 3 models"),
        ({"level_rules": ("hsd", "hsd")}, "2 level rules for 1 levels"),
        ({"level_rules": ("best",)}, "unknown rule 'best'"),
        ({"drafts": 2, "rule": "traversal"}, "name it in level_rules"),
        (
            {"drafts": 2, "level_rules": ("traversal",), "tree": "top"},
            "drafts 2, tree 'top': rule traversal does not fit",
        ),
        ({"drafts": 20, "thresholds": (30, 2)}, "a tree of 600 nodes is over the limit"),
        (
            {"system": "hispec", "drafts": 2},
            "reads one text at a time and no tree: choose drafts 1",
        ),
        ({"system": "hispec"}, "has no layers to leave early"),
        ({"system": "hispec", "exits": (1, 2, 3)}, "give two, where to draft"),
        ({"system": "hispec", "exits": ("1", "2")}, "exit '1': choose a whole number"),
        ({"system": "hispec", "exits": (True, 2)}, "exit True: choose a whole number"),
        ({"system": "hispec", "thresholds": (2, 2, 2)}, "one for each of 2 exits"),
        ({"system": "hispec", "rule": "naive-hsd"}, "needs drafts of a fixed length"),
        ({"rule": "naive-hsd"}, "needs drafts of a fixed length"),
        ({"level_rules": ([],)}, "give names"),
        (
            {"rule": "fuzzy", "tolerance": float("nan"), "system": "speculative"},
            "tolerance nan: choose a number",
        ),
    ],
)
def test_what_makes_no_system_is_refused_in_one_line(options: dict[str, Any], words: str):
    with pytest.raises(HsdError) as refused:
        hsd.run(STACK, "abc", **{"system": "stack", **options})
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("exits", "words"),
    [((4, 2), "from shallow to deep"), ((2, 9), "1 to 8"), ((0, 2), "from 1 to 1,000")],
)
def test_exits_that_are_not_there_are_refused(tiny: Pair, exits: tuple[int, int], words: str):
    with pytest.raises(HsdError, match=words):
        hsd.run(tiny, PROMPT, system="hispec", exits=exits)


def test_the_same_folder_twice_is_no_stack(byte_folders: tuple[str, str]):
    target, draft = byte_folders
    with pytest.raises(HsdError, match="is named twice"):
        hsd.load_pair(target=target, draft=draft, smaller=[draft], device="cpu")


def test_a_stack_is_loaded_from_folders(
    byte_folders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
):
    from small_models import bytes_tokenizer, save_pair

    target, draft = byte_folders
    _, other = save_pair(tmp_path_factory.mktemp("further"), bytes_tokenizer())
    pair = hsd.load_pair(target=target, draft=draft, smaller=[other], device="cpu", dtype="float32")
    assert len(pair.models) == 3
    assert all(isinstance(model.name, str) for model in pair.models)
    assert greedy(pair, "hello", system="stack", max_new_tokens=12) == greedy(
        pair, "hello", system="plain", max_new_tokens=12
    )


def test_a_model_that_is_its_own_draft_is_loaded_once_and_leaves_early(
    byte_folders: tuple[str, str],
):
    target, _ = byte_folders
    pair = hsd.load_pair(target=target, draft=target, device="cpu", dtype="float32")
    assert pair.draft is pair.target
    layers = EarlyExits(pair.target, ()).depths[-1]
    options = {"system": "hispec", "exits": (1, layers), "max_new_tokens": 12}
    assert greedy(pair, "hello", **options) == greedy(
        pair, "hello", system="plain", max_new_tokens=12
    )
    (note,) = hsd.run(pair, "hello", **options).setup.notes
    assert "does not say that it was trained to predict after layer 1" in note
