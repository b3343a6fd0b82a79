"""Models whose rows depend on more than the text before a token: exact where they can be, else
refused.
"""

from __future__ import annotations

import copy
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from loops import some
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BloomConfig,
    FalconConfig,
    GPT2Config,
    GPTNeoConfig,
    LlamaConfig,
    MptConfig,
    OpenAIGPTConfig,
    OPTConfig,
    Phi3Config,
    PretrainedConfig,
    Qwen2Config,
    T5Config,
    T5ForConditionalGeneration,
    XLNetConfig,
)

import hsd
from hsd import HsdError, Pair
from hsd.models.base import IdCodec
from hsd.models.causal import CausalModel, context_of
from hsd.models.reading import fitted

ROWS = 160
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": ROWS,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}
GPT = {
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 128,
    "vocab_size": ROWS,
    "initializer_range": 0.3,
}
BEGUN = {"original_max_position_embeddings": 32}
NO_ENDS = {"bos_token_id": None, "eos_token_id": None}
PROMPT = [*range(5, 14)]
TREES = (
    {"drafts": 3, "tree": "top", "rule": "one-hot"},
    {"drafts": 3, "tree": "grown", "rule": "one-hot"},
)


def rope(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10000.0, **more}}


def phi3(most: int = 64, begun: int = 16) -> Phi3Config:
    factors = {"short_factor": [1.0] * 4, "long_factor": [4.0] * 4}
    return Phi3Config(
        **SHAPE,
        max_position_embeddings=most,
        original_max_position_embeddings=begun,
        **rope("longrope", **factors),
    )


def gpt_neo(window: int = 5, context: int = 128) -> GPTNeoConfig:
    kinds = [[["global", "local"], 1]]
    return GPTNeoConfig(
        hidden_size=32,
        num_layers=2,
        attention_types=kinds,
        num_heads=4,
        vocab_size=ROWS,
        window_size=window,
        max_position_embeddings=context,
        initializer_range=0.3,
        **NO_ENDS,
    )


COUNTING: dict[str, PretrainedConfig] = {
    "mpt": MptConfig(d_model=32, n_heads=4, n_layers=4, vocab_size=ROWS, max_seq_len=128),
    "bloom": BloomConfig(
        hidden_size=32, n_layer=1, n_head=4, vocab_size=ROWS, initializer_range=0.3, **NO_ENDS
    ),
    "falcon": FalconConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        vocab_size=ROWS,
        alibi=True,
        initializer_range=0.3,
        **NO_ENDS,
    ),
    "gpt-neo": gpt_neo(),
}
PLACING: dict[str, PretrainedConfig] = {
    "gpt2": GPT2Config(**GPT, **NO_ENDS),
    "opt": OPTConfig(
        hidden_size=32,
        num_hidden_layers=2,
        ffn_dim=48,
        num_attention_heads=4,
        vocab_size=ROWS,
        init_std=0.3,
        max_position_embeddings=128,
        word_embed_proj_dim=32,
        pad_token_id=1,
        **NO_ENDS,
    ),
    "yarn": Qwen2Config(
        **SHAPE,
        max_position_embeddings=32,
        **rope("yarn", factor=4.0, original_max_position_embeddings=32),
    ),
}


def model_of(config: PretrainedConfig, seed: int = 3) -> Any:
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0, 0.3)
    return model


def draft_of(model: Any) -> Any:
    draft = copy.deepcopy(model)
    with torch.no_grad():
        for weight in draft.parameters():
            weight.add_(0.02 * torch.randn_like(weight))
    return draft


def pair_of(target: Any, draft: Any) -> Pair:
    return Pair(
        "by hand", CausalModel(target, "target"), CausalModel(draft, "draft"), IdCodec(ROWS)
    )


def plain(model: Any, prompt: list[int], new: int) -> list[int]:
    ids = torch.tensor([prompt])
    made = model.generate(
        ids, max_new_tokens=new, do_sample=False, top_k=None, pad_token_id=0, eos_token_id=None
    )
    return made[0, len(prompt) :].tolist()


def decoded(pair: Pair, prompt: list[int], new: int, **options: Any) -> hsd.Trace:
    return hsd.run(pair, " ".join(map(str, prompt)), max_new_tokens=new, temperature=0.0, **options)


# Trees


@pytest.mark.parametrize("kind", COUNTING)
def test_chains_are_exact_and_trees_refused_where_columns_of_the_cache_are_counted(kind: str):
    model = model_of(COUNTING[kind])
    pair = pair_of(model, draft_of(model))
    wanted = plain(model, PROMPT, 40)
    assert decoded(pair, PROMPT, 40, gamma=4).tokens == wanted
    why = (
        "positions, such as ALiBi, count columns of the cache, and not places of a text: "
        "choose draft"
    )
    for tree in TREES:
        with pytest.raises(HsdError, match=why) as refused:
            hsd.decode(pair, "5 6 7", gamma=4, **tree)
        assert "\n" not in str(refused.value)
    with pytest.raises(HsdError, match="choose engine 'eager'"):
        hsd.run(pair, "5 6 7", engine="captured", trace=False)


@pytest.mark.parametrize("kind", PLACING)
@pytest.mark.parametrize("options", [{}, *TREES], ids=["chain", "top", "grown"])
def test_models_that_place_tokens_read_trees(kind: str, options: dict[str, Any]):
    model = model_of(PLACING[kind])
    pair = pair_of(model, draft_of(model))
    prompt = PROMPT if kind != "yarn" else [*range(5, 45)]
    assert decoded(pair, prompt, 30, gamma=4, **options).tokens == plain(model, prompt, 30)


def test_only_models_that_read_the_tree_are_asked():
    """A model that cannot read siblings may draft by itself, or stand under others in a stack that
    drafts chains.
    """
    model = model_of(COUNTING["mpt"])
    pair = pair_of(model, draft_of(model))
    for options in ({"proposer": "ngram"}, {"system": "plain"}):
        assert decoded(pair, PROMPT, 20, **options).tokens == plain(model, PROMPT, 20)


# Chains


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            XLNetConfig(d_model=32, n_layer=1, n_head=4, d_inner=48, vocab_size=ROWS),
            "depends on the tokens that follow",
        ),
        (BertConfig(**{**SHAPE, "pad_token_id": 0}), "depends on the tokens that follow"),
        (OpenAIGPTConfig(**GPT), "it keeps no cache of what it has read"),
    ],
    ids=["xlnet", "bert", "openai-gpt"],
)
def test_a_model_that_cannot_be_cached_is_refused_with_the_reason(
    config: PretrainedConfig, words: str
):
    model = model_of(config)
    for made in (lambda: CausalModel(model, "target"), lambda: hsd.custom_generate(**call(model))):
        with pytest.raises(
            HsdError, match=f"cannot be decoded exactly: .*{words}.*; choose another model"
        ) as refused:
            made()
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("number", [torch.nan, torch.inf])
def test_a_model_with_damaged_weights_is_refused_for_these(number: float):
    model = model_of(LlamaConfig(**SHAPE))
    with torch.no_grad():
        model.get_output_embeddings().weight[3] = number
    with pytest.raises(HsdError, match="its logits are not finite; fetch its files again"):
        CausalModel(model, "target")


def test_a_window_may_be_wider_than_the_context():
    model = model_of(gpt_neo(window=256, context=64))
    target = CausalModel(model, "target")
    assert target.context == 64
    own = model.generate(torch.tensor([PROMPT]), do_sample=False, max_new_tokens=9)
    by_copies = model.generate(**generating(model, max_new_tokens=9))
    assert by_copies.tolist() == own.tolist()


def test_a_context_too_short_to_decode_in_is_named():
    with pytest.raises(HsdError, match="reads 4 tokens at most: choose another model"):
        CausalModel(model_of(gpt_neo(window=256, context=4)), "target")


def generating(model: Any, **further: Any) -> dict[str, Any]:
    ids = torch.tensor([PROMPT])
    how = {"do_sample": False, "custom_generate": hsd.custom_generate, "proposer": "ngram"}
    return {"inputs": ids, **how, **further}


def call(model: Any) -> dict[str, Any]:
    config = copy.deepcopy(model.generation_config)
    config.update(max_length=20, do_sample=False, num_beams=1)
    return {
        "model": model,
        "input_ids": torch.tensor([PROMPT]),
        "generation_config": config,
        "proposer": "ngram",
    }


def test_an_encoder_is_named():
    model = T5ForConditionalGeneration(
        T5Config(
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=1,
            num_heads=4,
            vocab_size=ROWS,
            decoder_start_token_id=0,
        )
    )
    for made in (
        lambda: CausalModel(model, "target"),
        lambda: model.generate(
            torch.tensor([PROMPT]), custom_generate=hsd.custom_generate, proposer="ngram"
        ),
    ):
        with pytest.raises(
            HsdError,
            match="T5ForConditionalGeneration has an encoder: choose a model that only decodes",
        ):
            made()


def test_a_model_is_asked_once(monkeypatch: pytest.MonkeyPatch):
    model = model_of(LlamaConfig(**SHAPE))
    calls = []
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda **given: calls.append(1) or forward(**given))
    CausalModel(model, "target")
    assert 0 < len(calls) <= 12, "a handful of passes"
    CausalModel(model, "target")
    assert len(calls) <= 12


# Contexts


def test_text_ends_where_longrope_would_turn_the_keys_anew():
    """Beyond the original context the library reads all of the text again, with other angles: no
    cache holds.
    """
    model = model_of(phi3())
    pair = pair_of(model, draft_of(model))
    wanted = plain(model, PROMPT, 40)
    for options in ({"gamma": 2}, {"gamma": 5}, {"system": "plain"}, *TREES):
        trace = decoded(pair, PROMPT, 40, **options)
        assert trace.tokens == wanted[: 16 - len(PROMPT)]
        assert trace.result.finish == "context"
        assert (
            "The text ends at 16 tokens, as the longrope rope turns all keys anew beyond that."
            in trace.setup.notes
        )
    assert not decoded(pair, PROMPT, 7).setup.notes, "a text that stays below has nothing to say"
    with pytest.raises(
        HsdError,
        match="the context 16, as the longrope rope turns all keys anew beyond that: shorten",
    ):
        decoded(pair, [*range(5, 45)], 4)
    with pytest.warns(UserWarning, match="The text ends at 16 tokens"):
        made = model.generate(
            torch.tensor([PROMPT]),
            custom_generate=hsd.custom_generate,
            proposer="ngram",
            max_new_tokens=40,
        )
    assert made[0].tolist() == [*PROMPT, *wanted[: 16 - len(PROMPT)]]


def test_a_text_that_the_drafts_context_ends_says_so():
    config = LlamaConfig(**SHAPE, max_position_embeddings=128)
    short = LlamaConfig(**SHAPE, max_position_embeddings=24)
    pair = pair_of(model_of(config), model_of(short))
    trace = decoded(pair, PROMPT, 40)
    note = "The text ends at 24 tokens, as draft reads no more; target alone reads 128."
    assert trace.result.finish == "context"
    assert note in trace.setup.notes
    assert not decoded(pair, PROMPT, 24 - len(PROMPT)).setup.notes
    assert not decoded(pair, PROMPT, 40, system="plain").setup.notes


def test_a_draft_says_how_many_tokens_it_drafts_or_the_reader_is_told():
    model = model_of(LlamaConfig(**SHAPE))
    draft = draft_of(model)
    draft.generation_config.num_assistant_tokens = 3
    pair = pair_of(model, draft)
    (note,) = decoded(pair, PROMPT, 8).setup.notes
    assert note.endswith("are not applied to its drafts: num_assistant_tokens 3.")
    wanted = decoded(pair, PROMPT, 8, gamma=3)
    assert not wanted.setup.notes
    steps = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.generate(
            torch.tensor([PROMPT]),
            custom_generate=hsd.custom_generate,
            assistant_model=draft,
            do_sample=False,
            max_new_tokens=8,
            streamer=SimpleNamespace(put=lambda new: steps.append(new.tolist()), end=list),
        )
    assert steps[1:] == [step.tokens for step in wanted.steps]
    draft.generation_config.num_assistant_tokens_schedule = "heuristic"
    assert "schedule heuristic" in decoded(pair, PROMPT, 8, gamma=3).setup.notes[0]


def test_text_ends_where_a_dynamic_rope_would_change():
    model = model_of(
        LlamaConfig(**SHAPE, max_position_embeddings=24, **rope("dynamic", factor=4.0))
    )
    pair = pair_of(model, draft_of(model))
    trace = decoded(pair, PROMPT, 40, gamma=4)
    assert trace.tokens == plain(model, PROMPT, 40)[: 24 - len(PROMPT)]
    assert trace.result.finish == "context"
    assert any("dynamic rope" in note for note in trace.setup.notes)


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (Qwen2Config(**SHAPE, max_position_embeddings=32, **rope("yarn", factor=4.0)), 128),
        (
            Qwen2Config(**SHAPE, max_position_embeddings=128, **rope("yarn", factor=4.0, **BEGUN)),
            128,
        ),
        (LlamaConfig(**SHAPE, max_position_embeddings=32, **rope("linear", factor=2.0)), 64),
        (
            LlamaConfig(
                **SHAPE,
                max_position_embeddings=512,
                **rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, **BEGUN),
            ),
            512,
        ),
        (LlamaConfig(**SHAPE, max_position_embeddings=64), 64),
        (LlamaConfig(**SHAPE, max_position_embeddings=64, **rope("dynamic", factor=2.0)), 64),
        (phi3(), 16),
        (XLNetConfig(), 1 << 20),
        (BloomConfig(), 1 << 20),
    ],
)
def test_a_context_reaches_as_far_as_its_positions_were_stretched(
    config: PretrainedConfig, context: int
):
    assert context_of(config)[0] == context


# Rows


@pytest.mark.parametrize(
    "options",
    some([{}, {"rule": "naive-hsd"}, {"rule": "blockwise"}, *TREES, {"system": "stack"}], 2),
)
@pytest.mark.parametrize("rows", [100, 200])
def test_the_drafts_rows_decide_nothing_about_the_text(rows: int, options: dict[str, Any]):
    """The draft's first rows are the target's: fewer draft less, more are cut off, and the text is
    the target's.
    """
    config = LlamaConfig(**SHAPE, max_position_embeddings=128)
    target = model_of(config)
    draft = draft_of(target)
    draft.resize_token_embeddings(rows)
    prompt = [*PROMPT, 140]
    wanted = plain(target, prompt, 30)
    assert max(wanted) >= 100
    trace = decoded(pair_of(target, draft), prompt, 30, gamma=4, **options)
    assert trace.tokens == wanted
    assert trace.setup.vocab_size == ROWS
    fewer = (
        "draft has rows for 100 of 160 tokens: it drafts none of the others, "
        "and reads them as its last one."
    )
    assert (fewer in trace.setup.notes) == (rows == 100)
    assert hsd.rerun(pair_of(target, draft), trace).tokens == trace.tokens
    assert hsd.Trace.from_json(trace.to_json()) == trace


def test_rows_may_differ_in_the_captured_engine_too():
    target = model_of(LlamaConfig(**SHAPE, max_position_embeddings=128))
    draft = draft_of(target)
    draft.resize_token_embeddings(100)
    trace = decoded(
        pair_of(target, draft), [*PROMPT, 140], 60, gamma=4, engine="captured", trace=False
    )
    assert trace.tokens == plain(target, [*PROMPT, 140], 60)


def test_inside_generate_rows_ends_and_prompts_are_the_targets():
    target = model_of(LlamaConfig(**SHAPE, max_position_embeddings=128))
    draft = draft_of(target)
    draft.resize_token_embeddings(100)
    ids = torch.tensor([[*PROMPT, 140]])
    wanted = plain(target, ids[0].tolist(), 60)
    end = next(token for token in wanted if token >= 100)
    given = {
        "max_new_tokens": 60,
        "do_sample": False,
        "custom_generate": hsd.custom_generate,
        "assistant_model": draft,
    }
    with pytest.warns(UserWarning, match="rows for 100 of 160 tokens"):
        assert target.generate(ids, **given)[0].tolist()[10:] == wanted
    for ends in (end, [end, 3], torch.tensor([3, end]), torch.tensor(end)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = target.generate(ids, eos_token_id=ends, **given)[0].tolist()[10:]
            own = target.generate(ids, eos_token_id=ends, max_new_tokens=60, do_sample=False)
            assert made == own[0].tolist()[10:]
        assert made[-1] in (end, 3)
    with pytest.raises(
        HsdError, match="the prompt has token 160: give ids that the target knows, 0 to 159"
    ):
        decoded(pair_of(target, draft), [5, 160], 4)


def test_rows_are_fitted():
    rows = torch.tensor([[1.0, 2.0, 3.0]])
    assert fitted(rows, 2).tolist() == [[1.0, 2.0]]
    assert fitted(rows, 4).tolist() == [[1.0, 2.0, 3.0, -torch.inf]]


# Rounding


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_at_temperature_0_says_that_rounding_may_decide(dtype: torch.dtype):
    model = model_of(LlamaConfig(**SHAPE, max_position_embeddings=128)).to(dtype)
    pair = pair_of(model, draft_of(model))
    named = str(dtype).removeprefix("torch.")
    assert any(
        f"In {named} a pass over several tokens rounds" in note
        for note in decoded(pair, PROMPT, 4).setup.notes
    )
    assert not hsd.run(pair, "5 6", max_new_tokens=4).setup.notes
    assert not decoded(pair, PROMPT, 4, system="plain").setup.notes
