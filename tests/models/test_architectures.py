"""The architectures of real pairs, in miniature: every rule, every tree, padded vocabularies,
moving windows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from joint_law import two_token_p_value
from loops import some
from small_models import (
    ALL_ARCHITECTURES,
    ARCHITECTURES,
    LESS_COMMON,
    WINDOW,
    bytes_tokenizer,
    save_architecture,
)
from spies import spied
from tree_cases import TREE_CASES

import hsd
from hsd import RULES, HsdError, Pair, Trace, load_pair
from hsd.models.base import View
from hsd.models.causal import attention_windows
from hsd.models.reading import RowReader
from hsd.sampling import Sampling

ROWS = (270, 264)  # of target and draft, for some 257 tokens
PROMPT = "Abc, de"
LONG = 24  # new tokens: four windows
TOLERANCE = 2e-4
EACH = [*ARCHITECTURES, *(pytest.param(kind, marks=pytest.mark.slow) for kind in LESS_COMMON)]
SLIDING = [kind for kind in ALL_ARCHITECTURES if kind.startswith(("gemma", "mistral"))]

GREEDY = [name for name in RULES if name != "ensemble"]  # of it the draft has a share even then

# Every architecture with these; one architecture with all: rules read rows and no model.
FEW_RULES = ["hsd", "naive-hsd"]
FEW_TREES = [("recursive-hsd", "comb"), ("one-hot", "top")]

Folders = Callable[[str], tuple[str, str]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Folders of a target and a draft of an architecture, made when first asked for."""
    made: dict[str, tuple[str, str]] = {}

    def of(kind: str) -> tuple[str, str]:
        if kind not in made:
            made[kind] = save_architecture(
                tmp_path_factory.mktemp(kind), kind, bytes_tokenizer(), ROWS
            )
        return made[kind]

    return of


@pytest.fixture(scope="module")
def pair_of(folders: Folders) -> Callable[[str], Pair]:
    def of(kind: str) -> Pair:
        target, draft = folders(kind)
        return load_pair(target=target, draft=draft, device="cpu", dtype="float32")

    return of


PairOf = Callable[[str], Pair]


# Text


@pytest.mark.parametrize("kind", EACH)
def test_greedy_text_equals_that_of_the_library(pair_of: PairOf, kind: str):
    """`generate`, whose sliding layers forget, and whose rows of padding are left out here."""
    pair = pair_of(kind)
    ids = pair.encode(PROMPT)
    wanted = pair.target.model.generate(
        torch.tensor([ids]),
        max_new_tokens=LONG,
        do_sample=False,
        suppress_tokens=list(range(pair.vocab_size, ROWS[0])),
    )
    trace = hsd.run(pair, PROMPT, system="plain", max_new_tokens=LONG, temperature=0.0)
    assert trace.tokens == wanted[0, len(ids) :].tolist()
    assert len(trace.tokens) > WINDOW


@pytest.mark.parametrize("kind", some(ARCHITECTURES, 2))
def test_greedy_text_equals_plain_greedy_text(pair_of: PairOf, kind: str):
    assert_plain_greedy_texts(pair_of(kind), GREEDY if kind == "llama" else FEW_RULES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_ARCHITECTURES)
def test_every_greedy_text_equals_plain_greedy_text(pair_of: PairOf, kind: str):
    assert_plain_greedy_texts(pair_of(kind), GREEDY)


def assert_plain_greedy_texts(pair: Pair, rules: list[str]) -> None:
    options = {"max_new_tokens": LONG, "temperature": 0.0}
    plain = hsd.run(pair, PROMPT, system="plain", **options)
    traces = {rule: hsd.run(pair, PROMPT, rule=rule, gamma=4, **options) for rule in rules}
    assert [rule for rule, trace in traces.items() if trace.tokens != plain.tokens] == []
    useless = [rule for rule, trace in traces.items() if not trace.stats()["acceptance_rate"]]
    assert useless in ([], ["naive-hsd"]), "resampling may leave no draft worth keeping"


@pytest.mark.parametrize("kind", some(ARCHITECTURES, 2))
def test_greedy_trees_equal_plain_greedy_text(pair_of: PairOf, kind: str):
    assert_plain_greedy_trees(pair_of(kind), TREE_CASES[::4] if kind == "llama" else FEW_TREES)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_ARCHITECTURES)
def test_every_greedy_tree_equals_plain_greedy_text(pair_of: PairOf, kind: str):
    assert_plain_greedy_trees(pair_of(kind), TREE_CASES)


def assert_plain_greedy_trees(pair: Pair, cases: list[tuple[str, str]]) -> None:
    options = {"max_new_tokens": LONG, "temperature": 0.0, "trace": False}
    plain = hsd.run(pair, PROMPT, system="plain", **options)
    texts = {
        (rule, tree): hsd.run(pair, PROMPT, rule=rule, tree=tree, drafts=3, gamma=4, **options)
        for rule, tree in cases
    }
    assert [case for case, text in texts.items() if text.tokens != plain.tokens] == []


@pytest.mark.parametrize("kind", some(EACH, 2))
@pytest.mark.parametrize("options", [{}, {"drafts": 3, "rule": "traversal"}], ids=["chain", "tree"])
def test_a_trace_replays_and_runs_again(pair_of: PairOf, kind: str, options: dict):
    pair = pair_of(kind)
    trace = hsd.run(pair, PROMPT, gamma=4, max_new_tokens=LONG, seed=3, **options)
    assert max(trace.tokens) < pair.vocab_size < min(ROWS), "no padding"
    assert trace.replay() == trace.tokens
    assert hsd.rerun(pair, trace).tokens == trace.tokens
    assert Trace.from_json(trace.to_json()) == trace


@pytest.mark.parametrize("kind", EACH)
def test_half_precision_decodes(folders: Folders, kind: str):
    target, draft = folders(kind)
    pair = load_pair(target=target, draft=draft, device="cpu", dtype="bfloat16")
    for options in ({}, {"drafts": 3, "rule": "traversal"}):
        trace = hsd.run(pair, PROMPT, gamma=4, max_new_tokens=12, seed=1, **options)
        assert len(trace.tokens) == 12 or trace.result.finish == "end"
        assert trace.replay() == trace.tokens
        assert trace.setup.target.dtype == "bfloat16"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL_ARCHITECTURES)
def test_two_tokens_follow_the_target(pair_of: PairOf, kind: str):
    assert (
        two_token_p_value(pair_of(kind), PROMPT, "hsd", seeds=500, temperature=0.8, top_k=3) > 1e-4
    )


# Caches


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("rule", some(["hsd", "naive-hsd"], 2))
def test_cached_logits_equal_fresh_ones(pair_of: PairOf, kind: str, rule: str):
    pair, target, draft = spied(pair_of(kind), tolerance=TOLERANCE)
    trace = hsd.run(pair, PROMPT, rule=rule, gamma=4, max_new_tokens=LONG, temperature=0.6, seed=2)
    assert trace.stats()["acceptance_rate"] < 1, "something must be rolled back"
    assert min(target.checked, draft.checked) > 5


@pytest.mark.parametrize("kind", EACH)
def test_logits_after_crop_and_select_equal_fresh_ones_past_the_window(pair_of: PairOf, kind: str):
    model = pair_of(kind).target
    text = torch.arange(2, 2 + 5 * WINDOW)
    session = model.start()
    session.forward(text, keep=1)
    session.crop(2 * WINDOW)
    again = session.forward(text[2 * WINDOW :] + 20, keep=3)
    read = torch.cat([text[: 2 * WINDOW], text[2 * WINDOW :] + 20])
    torch.testing.assert_close(again, model.start().forward(read, keep=3), atol=TOLERANCE, rtol=0)
    session.crop(4 * WINDOW)
    n = 3
    view = View(
        torch.ones(n, 4 * WINDOW + n, dtype=torch.bool).tril(4 * WINDOW),
        torch.arange(n) + 4 * WINDOW,
    )
    masked = session.forward(text[:n], keep=n, view=view)
    fresh = model.start().forward(torch.cat([read[: 4 * WINDOW], text[:n]]), keep=n)
    torch.testing.assert_close(masked, fresh, atol=TOLERANCE, rtol=0)
    session.select(list(range(4 * WINDOW)))
    last = session.forward(text[:n], keep=n)
    torch.testing.assert_close(last, fresh, atol=TOLERANCE, rtol=0)


@pytest.mark.parametrize("kind", EACH)
@pytest.mark.parametrize("at_once", [True, False], ids=["whole", "level by level"])
def test_every_node_of_a_tree_reads_its_own_text(pair_of: PairOf, kind: str, at_once: bool):
    """Three rounds past the window: a bushy tree, of which one path becomes text."""
    model = pair_of(kind).target
    reader = RowReader(model.start(), model.device, Sampling(), model.vocab_size)
    text = [2 + i % 50 for i in range(2 * WINDOW)]
    for first in (3, 17, 30):
        # a binary tree of depth 3
        nodes = [(node, (node - 1) // 2, first + node) for node in range(1, 15)]
        levels = [nodes] if at_once else [nodes[:2], nodes[2:6], nodes[6:]]
        rows: list[torch.Tensor] = []
        for number, level in enumerate(levels):
            got = reader.grow(text, level, keep=len(level) + (number == 0))
            rows += got[1:] if number == 0 else got
        for node, _, _ in nodes:
            lineage = [first + n for n in _way_to(node)]
            fresh = model.start().forward(torch.tensor(text + lineage), keep=1)[0]
            torch.testing.assert_close(rows[node - 1], fresh, atol=TOLERANCE, rtol=0)
        reader.settle(len(text) + 3, _way_to(11))
        text += [first + n for n in _way_to(11)] + [first]  # the next token is not read yet
    assert len(text) == 4 * WINDOW


def _way_to(node: int) -> list[int]:
    return [] if node == 0 else [*_way_to((node - 1) // 2), node]


@pytest.mark.parametrize("kind", SLIDING)
def test_the_window_matters(pair_of: PairOf, kind: str):
    """Else the tests above would pass with any mask: without the window the logits are others."""
    model = pair_of(kind).target
    assert WINDOW in attention_windows(model.model).values()
    session = model.start()
    text = torch.arange(2, 2 + 3 * WINDOW)
    n = len(text)
    everything = View(torch.ones(n, n, dtype=torch.bool).tril(), torch.arange(n))
    windowed = session.forward(text, 1, everything)
    torch.testing.assert_close(windowed, model.start().forward(text, 1), atol=TOLERANCE, rtol=0)
    session = model.start()
    session._model = copy.copy(model)
    session._model.windows = dict.fromkeys(model.windows)
    assert (session.forward(text, 1, everything) - windowed).abs().max() > 0.01


def test_layers_that_cannot_be_rolled_back_are_refused(tmp_path: Path):
    from transformers import AutoModelForCausalLM, MambaConfig

    tokenizer = bytes_tokenizer()
    config = MambaConfig(
        vocab_size=len(tokenizer), hidden_size=16, state_size=4, num_hidden_layers=1
    )
    for name in ("target", "draft"):
        AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
    with pytest.raises(HsdError, match="cannot be rolled back: choose a model") as error:
        load_pair(target=str(tmp_path / "target"), draft=str(tmp_path / "draft"), device="cpu")
    assert "\n" not in str(error.value)
