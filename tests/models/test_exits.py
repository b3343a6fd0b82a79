"""Early exits: the same numbers as the whole model gives, each layer run once for a token, all work
counted.
"""

from __future__ import annotations

import copy
import gc
import random
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from exit_programs import counts, reads
from loops import some
from small_models import (
    ALL_ARCHITECTURES,
    ARCHITECTURES,
    LESS_COMMON,
    WINDOW,
    bytes_tokenizer,
    save_deep,
)
from table_models import table_pair
from torch import Tensor, nn

import hsd
from hsd import HsdError, load_pair
from hsd.models.base import View
from hsd.models.causal import CausalModel
from hsd.models.exits import EarlyExits, ExitSession, default_exits, parts_of
from hsd.models.loading.hub import find_source
from hsd.models.loading.model import load_model
from hsd.paths import ASSETS

# for one text read in the same pieces, and in others; random logits are as large as 30
EXACT = 1e-5
CLOSE = 2e-4
TINY = pytest.param(
    "tiny",
    marks=pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="not trained yet"),
)
EACH = [TINY, *ARCHITECTURES, *(pytest.param(kind, marks=pytest.mark.slow) for kind in LESS_COMMON)]
SPLITS = [(1, 3), (2, 4), (2, 2), (3, 6), (6, 6), (1,), ()]

ModelOf = Callable[[str], CausalModel]


@pytest.fixture(scope="module")
def model_of(tmp_path_factory: pytest.TempPathFactory) -> ModelOf:
    """The tiny target, or a random model with six layers, loaded from its folder when first asked
    for.
    """
    made: dict[str, CausalModel] = {}

    def of(kind: str) -> CausalModel:
        if kind not in made:
            folder: str | Path = ASSETS / "tiny/target"
            if kind in ALL_ARCHITECTURES:
                folder = save_deep(tmp_path_factory.mktemp(kind), kind, bytes_tokenizer())
            made[kind] = load_model(
                find_source(str(folder), None), f"a {kind}", "cpu", torch.float32
            )
        return made[kind]

    return of


def layers_of(model: CausalModel) -> nn.ModuleList:
    layers: nn.ModuleList = model.model.get_decoder().layers
    return layers


def some_text(length: int, seed: int = 0) -> Tensor:
    return torch.randint(0, 250, (length,), generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
def fresh(model: CausalModel, text: Tensor, depth: int) -> Tensor:
    """Logits after every token at a depth, (n, vocab), from the library's own states of one
    ordinary pass.
    """
    output = model.model(input_ids=text[None], output_hidden_states=True)
    if depth == len(layers_of(model)):
        return output.logits[0]
    state = model.model.get_decoder().norm(output.hidden_states[depth])
    return model.model.get_output_embeddings()(state)[0]


@contextmanager
def counted(model: CausalModel) -> Iterator[dict[str, Any]]:
    """Calls of layers, and how often each layer has read each position."""
    seen: dict[str, Any] = {"calls": 0, "reads": Counter()}

    def hook(number: int) -> Callable[..., None]:
        def count(_: Any, positional: Any, named: dict[str, Any]) -> None:
            seen["calls"] += 1
            seen["reads"].update(
                (number, position) for position in named["position_ids"][0].tolist()
            )

        return count

    hooks = [
        each.register_forward_pre_hook(hook(i), with_kwargs=True)
        for i, each in enumerate(layers_of(model))
    ]
    try:
        yield seen
    finally:
        for each in hooks:
            each.remove()


def total(sessions: list[ExitSession]) -> Counter[str]:
    return sum((session.work for session in sessions), Counter[str]())


# Numbers


@pytest.mark.parametrize("kind", EACH)
def test_the_last_exit_is_the_model(model_of: ModelOf, kind: str):
    model = model_of(kind)
    plain = model.start()
    text = some_text(5 * WINDOW)
    for split in ((2, 4), (), (1, 1)):
        plain.crop(0)
        deepest = EarlyExits(model, split).open()[-1]
        for begin, end in (
            (0, 3 * WINDOW),
            (3 * WINDOW, 3 * WINDOW + 1),
            (3 * WINDOW + 1, 4 * WINDOW),
            (-1, 5 * WINDOW),
        ):
            piece = text[begin if begin >= 0 else plain.length : end]
            keep = min(3, len(piece))
            expected = plain.forward(piece, keep)
            torch.testing.assert_close(deepest.forward(piece, keep), expected, atol=EXACT, rtol=0)
        assert deepest.length == plain.length == 5 * WINDOW


@pytest.mark.parametrize("kind", EACH)
def test_every_exit_gives_what_the_library_computes_at_its_depth(model_of: ModelOf, kind: str):
    model = model_of(kind)
    text = some_text(4 * WINDOW)
    for depth in range(1, len(layers_of(model)) + 1):
        session = EarlyExits(model, (depth,)).models[0].start()
        logits = torch.cat(
            [
                session.forward(text[: 2 * WINDOW], 2 * WINDOW),
                session.forward(text[2 * WINDOW :], 2 * WINDOW),
            ]
        )
        torch.testing.assert_close(logits, fresh(model, text, depth), atol=CLOSE, rtol=0)


@pytest.mark.parametrize("kind", some(EACH, 2))
def test_a_text_that_exits_take_further_and_roll_back_stays_true(model_of: ModelOf, kind: str):
    """Random programs: any level reads on or forgets. Every answer equals that of a fresh start."""
    model = model_of(kind)
    for seed, split in enumerate(SPLITS):
        exits = EarlyExits(model, split)
        answers = []
        sessions = exits.open()
        with counted(model) as seen:
            for level, text, before, lengths in reads(sessions, random.Random(seed), 14, 7, 250):
                tokens = torch.tensor(text[before[level] :])
                logits = sessions[level].forward(tokens, len(tokens))
                assert total(sessions)["layers"] == seen["calls"]
                assert total(sessions)["computed"] == seen["reads"].total()
                assert [session.length for session in sessions] == lengths
                answers.append((logits, text, exits.depths[level]))
        assert answers
        for logits, read, depth in answers:
            expected = fresh(model, torch.tensor(read), depth)[-len(logits) :]
            torch.testing.assert_close(logits, expected, atol=CLOSE, rtol=0)


# Work


@pytest.mark.parametrize("kind", EACH)
def test_no_layer_reads_a_token_twice(model_of: ModelOf, kind: str):
    """As HiSpec goes: drafts, checks of what was drafted, a target pass, with a token in front that
    nobody has read.
    """
    model = model_of(kind)
    text = some_text(24)
    layers = len(layers_of(model))
    exits = EarlyExits(model_of(kind), (2, 4))
    low, middle, top = sessions = exits.open()
    with counted(model) as seen:
        top.forward(text[:9], 1)
        assert total(sessions) == counts(layers, 9 * layers, 1)
        for position in (9, 10):
            low.forward(text[position : position + 1], 1)
        assert low.work == counts(4, 4, 2)
        middle.forward(text[9:12], 3)  # of which the last is new to all
        assert middle.work == counts(2 + 2, 2 * 1 + 2 * 3, 3)
        low.forward(text[12:14], 2)
        middle.forward(text[12:13], 1)
        before = top.work.copy()
        top.forward(text[9:15], 6)
        assert top.work - before == counts(2 + 2 + layers - 4, 2 * 1 + 2 * 2 + (layers - 4) * 6, 6)
        assert set(seen["reads"].values()) == {1}
        assert len(seen["reads"]) == 15 * layers
        assert (total(sessions)["layers"], total(sessions)["computed"]) == (
            seen["calls"],
            seen["reads"].total(),
        )
    assert [session.length for session in sessions] == [15, 15, 15]


def test_a_deeper_exit_can_forget_what_a_shallower_one_keeps(model_of: ModelOf):
    model = model_of("llama")
    text = some_text(12)
    exits = EarlyExits(model, (2, 4))
    low, middle, top = sessions = exits.open()
    top.forward(text, 1)
    middle.crop(5)
    assert [session.length for session in sessions] == [12, 5, 5]
    before = total(sessions)
    logits = top.forward(text[5:], 7)
    assert total(sessions) - before == counts(2 + 2, 2 * 7 + 2 * 7, 7)
    torch.testing.assert_close(logits, fresh(model, text, 6)[5:], atol=CLOSE, rtol=0)
    low.crop(3)
    assert [session.length for session in sessions] == [3, 3, 3]


def test_states_are_kept_when_their_room_grows(model_of: ModelOf):
    model = model_of("llama")
    text = some_text(120)
    low, top = EarlyExits(model, (2,)).open()
    for begin in range(0, 120, 20):
        low.forward(text[begin : begin + 20], 1)
    torch.testing.assert_close(top.forward(text, 120), fresh(model, text, 6), atol=CLOSE, rtol=0)
    assert top.work == counts(4, 4 * 120, 120)


def test_an_exit_alone_forgets_in_all_its_layers(model_of: ModelOf):
    model = model_of("qwen2")
    alone = EarlyExits(model, (2, 4)).models[1].start()
    text = some_text(12, 1)
    other = some_text(12, 2)
    alone.forward(text, 1)
    alone.crop(5)
    logits = alone.forward(other[5:], 7)
    torch.testing.assert_close(
        logits, fresh(model, torch.cat([text[:5], other[5:]]), 4)[5:], atol=CLOSE, rtol=0
    )
    assert alone.work == counts(8, 12 * 4 + 7 * 4, 8)


def test_a_group_without_layers_costs_its_head_only(model_of: ModelOf):
    model = model_of("qwen3")
    text = some_text(8)
    low, middle, top = EarlyExits(model, (3, 3)).open()
    first = low.forward(text, 8)
    assert torch.equal(middle.forward(text, 8), first)
    assert (low.work, middle.work) == (counts(3, 24, 8), counts(0, 0, 8))
    assert low.length == middle.length == 8
    assert top.length == 0
    low, middle, top = EarlyExits(model, (3, 6)).open()
    assert torch.equal(middle.forward(text, 8), top.forward(text, 8))
    assert top.work == counts(0, 0, 8)


def test_without_logits_the_head_is_not_run(model_of: ModelOf):
    model = model_of("llama")
    text = some_text(8)
    deepest = EarlyExits(model, (2,)).open()[-1]
    assert deepest.forward(text[:7], 0).shape == (0, model.vocab_size)
    assert deepest.work == counts(6, 42, 0)
    torch.testing.assert_close(
        deepest.forward(text[7:], 1), fresh(model, text, 6)[-1:], atol=CLOSE, rtol=0
    )


# One model, several users


def test_texts_and_ordinary_sessions_do_not_disturb_each_other(model_of: ModelOf):
    model = model_of("gemma3")
    exits = EarlyExits(model, (2, 4))
    ours = some_text(20, 1)
    theirs = some_text(20, 2)
    one = exits.open()
    two = exits.open()
    plain = model.start()
    for begin in range(0, 20, 5):
        piece = slice(begin, begin + 5)
        for level in range(3):
            one[level].forward(ours[piece], 1)
            last = two[level].forward(theirs[piece], 1)
        plain.forward(ours[piece], 1)
    torch.testing.assert_close(last, fresh(model, theirs, 6)[-1:], atol=CLOSE, rtol=0)
    assert model.model.config.get_text_config().num_hidden_layers == len(layers_of(model)) == 6
    assert sum(p.numel() for p in model.model.parameters()) == model.parameters


def test_a_model_whose_inputs_are_moved_for_it_works_too(model_of: ModelOf):
    """On several devices, each module of a model gets a hook that moves its inputs."""
    from accelerate import dispatch_model

    model = copy.copy(model_of("llama"))
    model.model = dispatch_model(copy.deepcopy(model.model), {"": "cpu"}, force_hooks=True)
    text = some_text(10)
    low, top = EarlyExits(model, (2,)).open()
    torch.testing.assert_close(low.forward(text, 10), fresh(model, text, 2), atol=CLOSE, rtol=0)
    torch.testing.assert_close(top.forward(text, 10), fresh(model, text, 6), atol=CLOSE, rtol=0)
    assert top.work["layers"] == 4


@pytest.mark.parametrize("kind", ["tiny", "gemma3"])
def test_bfloat16(model_of: ModelOf, kind: str):
    ours = model_of(kind)
    model = CausalModel(copy.deepcopy(ours.model).to(torch.bfloat16), ours.name)
    text = some_text(20)
    plain = model.start()
    low, _, top = EarlyExits(model, (2, 4)).open()
    for begin, end in ((0, 12), (12, 13), (13, 20)):
        low.forward(text[begin:end], 1)
        logits = top.forward(text[begin:end], end - begin)
        assert logits.dtype == torch.bfloat16
        torch.testing.assert_close(
            logits, plain.forward(text[begin:end], end - begin), atol=EXACT, rtol=0
        )


@pytest.mark.parametrize("split", [(2, 4), (1, 1)])
def test_an_exit_drafts_for_its_own_model(split: tuple[int, ...]):
    pair = load_pair("tiny", device="cpu")
    exits = EarlyExits(pair.target, split)
    own = replace(pair, draft=exits.models[0], target=exits.models[-1])
    how: dict[str, Any] = {"temperature": 0.0, "max_new_tokens": 40}
    expected = hsd.run(pair, "Once upon a time", system="plain", **how)
    trace = hsd.run(own, "Once upon a time", gamma=3, **how)
    assert trace.tokens == expected.tokens
    assert trace.setup.models[0].name == f"tiny target, exit after {split[0]} of 8 layers"


# What is refused, what is freed


@pytest.mark.parametrize("exits", [(4, 2), (0, 2), (2, 7), (-1,)])
def test_exits_that_are_not_there_are_refused(model_of: ModelOf, exits: tuple[int, ...]):
    asked = ", ".join(map(str, exits))
    with pytest.raises(
        HsdError, match=f"^exits {asked}: choose them from shallow to deep, 1 to 6$"
    ):
        EarlyExits(model_of("llama"), exits)


def test_models_that_cannot_be_run_in_parts_are_refused():
    from transformers import AutoModelForCausalLM, GPT2Config, GraniteConfig

    small = {"vocab_size": 300, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    scaled = GraniteConfig(
        **small, num_key_value_heads=1, intermediate_size=16, embedding_multiplier=12.0
    )
    for config in (scaled, GPT2Config(vocab_size=300, n_embd=16, n_layer=2, n_head=2)):
        model = CausalModel(AutoModelForCausalLM.from_config(config), "odd")
        with pytest.raises(
            HsdError,
            match=r"^early exits cannot be taken from .*LM.*, wh(ose|ich) .*: choose a Llama",
        ):
            EarlyExits(model, (1,))
    with pytest.raises(
        HsdError, match="table target has no layers to leave early: choose a model of transformers"
    ):
        EarlyExits(table_pair().target, (1,))


def test_trees_are_refused_and_a_beginning_can_be_kept(model_of: ModelOf):
    low, top = EarlyExits(model_of("llama"), (2,)).open()
    top.forward(some_text(6), 1)
    with pytest.raises(HsdError, match="choose a single draft"):
        top.forward(some_text(1), 1, View(torch.ones(1, 7, dtype=torch.bool), torch.tensor([6])))
    with pytest.raises(HsdError, match="choose a single draft"):
        top.select([0, 1, 3])
    top.select([0, 1, 2])
    assert (low.length, top.length) == (6, 3)


def test_exits_of_one_text_must_read_the_same_tokens(model_of: ModelOf):
    low, top = EarlyExits(model_of("llama"), (2,)).open()
    low.forward(torch.tensor([1, 2, 3]), 1)
    with pytest.raises(AssertionError, match="other tokens"):
        top.forward(torch.tensor([1, 2, 4]), 1)


def test_closing_frees_what_all_of_them_hold(model_of: ModelOf):
    sessions = EarlyExits(model_of("llama"), (2, 4)).open()
    sessions[-1].forward(some_text(30), 1)
    text = sessions[0]._text
    held = [
        weakref.ref(layer.keys)
        for layer in {layer for cache in text.caches for layer in cache.layers}
    ]
    held += [weakref.ref(rows) for rows in (text.tokens, *text.states)]
    assert len(held) == 6 + 4
    assert all(each() is not None for each in held)
    sessions[0].close()
    gc.collect()
    assert all(each() is None for each in held)
    assert [session.length for session in sessions] == [0, 0, 0]


# Facts


def test_an_exit_describes_itself(model_of: ModelOf):
    model = model_of("smollm2")  # one matrix is both embedding and head
    low, same, whole = EarlyExits(model, (2, 2)).models
    assert (low.name, whole.name) == ("a smollm2, exit after 2 of 6 layers", "a smollm2")
    assert (low.layers, same.layers, whole.layers) == (2, 2, 6)
    per_layer = sum(p.numel() for p in layers_of(model)[0].parameters())
    assert whole.parameters == model.parameters
    assert low.parameters == same.parameters == model.vocab_size * 32 + 32 + 2 * per_layer
    for name in ("vocab_size", "context", "dtype", "device", "revision"):
        assert getattr(low, name) == getattr(model, name)


def test_the_head_is_priced_in_layers(model_of: ModelOf):
    attention = 32 * (32 + 16 + 16) + 32 * 32
    mlp = 3 * 32 * 48
    for kind in ("llama", "smollm2", "gemma3"):
        assert parts_of(model_of(kind)).head_cost == pytest.approx(257 * 32 / (attention + mlp))


def _with(model: CausalModel, name: str = "some", layers: int = 6, **entries: Any) -> CausalModel:
    """A model that looks as if it had so many layers, and these entries in its configuration."""
    twin = copy.copy(model)
    twin.name = name
    twin.model = copy.copy(model.model)
    twin.model.config = copy.deepcopy(model.model.config)
    decoder = copy.copy(twin.model.model)
    decoder._modules = {
        **decoder._modules,
        "layers": nn.ModuleList([nn.Identity() for _ in range(layers)]),
    }
    twin.model._modules = {**twin.model._modules, "model": decoder}
    for entry, value in entries.items():
        setattr(twin.model.config, entry, value)
    return twin


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        (1, (1, 1)),
        (2, (1, 1)),
        (3, (1, 2)),
        (8, (1, 2)),
        (16, (2, 4)),
        (32, (4, 8)),
        (80, (10, 20)),
    ],
)
def test_untrained_exits_are_about_an_eighth_and_a_quarter(
    model_of: ModelOf, layers: int, expected: tuple[int, int]
):
    assert parts_of(_with(model_of("llama"), layers=layers)).trained == ()
    assert default_exits(_with(model_of("llama"), layers=layers)) == expected


@pytest.mark.parametrize(
    ("listed", "trained", "default"),
    [
        ([2, 4], (2, 4), (2, 4)),
        ([5, 1, 3], (1, 3, 5), (1, 3)),
        ([3], (3,), (3,)),
        ([0, "2", 99, None, True], (), (1, 2)),
        ("2,4", (), (1, 2)),
    ],
)
def test_trained_exits_are_read_from_the_configuration(
    model_of: ModelOf, listed: Any, trained: tuple[int, ...], default: tuple[int, int]
):
    model = _with(model_of("llama"), early_exits=listed)
    assert (parts_of(model).trained, default_exits(model)) == (trained, default)


def test_models_of_layerskip_are_trained_everywhere(model_of: ModelOf):
    for model in (
        _with(model_of("llama"), "facebook/layerskip-llama3.2-1B", layers=16),
        _with(model_of("llama"), layers=16, _name_or_path="somewhere/LayerSkip-mine"),
    ):
        assert parts_of(model).trained == tuple(range(1, 17))
        assert default_exits(model) == (2, 4)
