"""Generation settings: each field of the library's is followed, harmless or refused, and a new one
is never dropped.
"""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

import pytest
import torch
from loops import for_each
from small_models import letters_tokenizer, save_pair
from transformers import (
    GenerationConfig,
    LogitsProcessorList,
    MaxLengthCriteria,
    StoppingCriteriaList,
)
from transformers.generation import TemperatureLogitsWarper, TopPLogitsWarper

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.models.loading.settings import (
    FOLLOWED,
    HARMLESS,
    OFF,
    OUTPUTS,
    SAMPLED,
    not_applied,
    unmet,
)
from hsd.sampling import Sampling

PROMPT = "Abc de"
FIELDS = {name for name in vars(GenerationConfig()) if not name.startswith("_")}
REFUSED = {
    "num_beams": 2,
    "num_return_sequences": 2,
    "repetition_penalty": 1.3,
    "no_repeat_ngram_size": 2,
    "min_new_tokens": 3,
    "min_length": 40,
    "suppress_tokens": [3],
    "begin_suppress_tokens": [3],
    "bad_words_ids": [[3]],
    "max_time": 3.0,
    "sequence_bias": {(3,): -1.0},
    "forced_bos_token_id": 0,
    "forced_eos_token_id": 0,
    "stop_strings": ["a"],
    "exponential_decay_length_penalty": (2, 1.1),
    "encoder_repetition_penalty": 1.2,
    "encoder_no_repeat_ngram_size": 2,
    "guidance_scale": 1.5,
    "remove_invalid_values": True,
    "prompt_lookup_num_tokens": 3,
    "num_assistant_tokens": 7,
    "assistant_confidence_threshold": 0.7,
    "penalty_alpha": 0.6,
    "dola_layers": "low",
    "assistant_early_exit": 1,
    "watermarking_config": {"bias": 2.0},
    "constraints": [1],
    "force_words_ids": [[3]],
    "cache_implementation": "quantized",
    "max_matching_ngram_size": 3,
    "assistant_ensemble_weight": 0.5,
    "speculation_type": "x",
    "use_mtp": True,
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    target, draft = save_pair(tmp_path_factory.mktemp("settings"), letters_tokenizer())
    return load_pair(target=target, draft=draft, device="cpu")


def generate(pair: Pair, **options: Any) -> Any:
    ids = None if "inputs_embeds" in options else torch.tensor([pair.encode(PROMPT)])
    made = {
        "max_new_tokens": 12,
        "do_sample": False,
        "custom_generate": hsd.custom_generate,
        **options,
    }
    return pair.target.model.generate(ids, **{"assistant_model": pair.draft.model, **made})


def configured(pair: Pair, **settings: Any) -> Any:
    """A configuration as `generate` hands it on, with these fields set, whatever the library thinks
    of them.
    """
    config = copy.deepcopy(pair.target.model.generation_config)
    config.update(**{name: value for name, value in OFF.items() if name in vars(config)})
    for name, value in settings.items():
        setattr(config, name, value)
    return config


def test_every_field_of_the_library_has_its_place():
    """A field that a later version adds is in none of these: what it is set to is then refused, not
    dropped.
    """
    places = (FOLLOWED, HARMLESS, OUTPUTS, SAMPLED, REFUSED.keys())
    for name in FIELDS & {name for place in places for name in place}:
        assert sum(name in place for place in places) == 1, name
    new = FIELDS - {name for place in places for name in place}
    assert not new - {"cache_implementation"}, f"decide about {', '.join(sorted(new))}"


@for_each("name", sorted(FIELDS | {"a_field_of_tomorrow"}))
def test_no_field_is_dropped_in_silence(pair: Pair, name: str):
    if name in FOLLOWED | HARMLESS | SAMPLED:
        return
    values = dict.fromkeys(OUTPUTS, True) | REFUSED
    config = configured(
        pair, **{name: values.get(name, "something"), "return_dict_in_generate": True}
    )
    with pytest.raises(HsdError, match=f"{name} .*is not supported") as refused:
        hsd.custom_generate(
            pair.target.model,
            torch.tensor([[3, 4]]),
            generation_config=config,
            assistant_model=pair.draft.model,
        )
    assert "\n" not in str(refused.value)


REFUSED_BY_THE_LIBRARY = {"cache_implementation", "stop_strings", "num_return_sequences"}
ADVICE = re.compile(r"pass (\w+)=(.*)$")


@for_each("name", sorted(FIELDS & REFUSED.keys() - REFUSED_BY_THE_LIBRARY), every=3)
def test_advice_about_a_models_own_setting_works_as_it_is_written(pair: Pair, name: str):
    model = copy.deepcopy(pair.target.model)
    setattr(model.generation_config, name, REFUSED[name])
    ids = torch.tensor([pair.encode(PROMPT)])
    how = {
        "max_new_tokens": 12,
        "do_sample": False,
        "custom_generate": hsd.custom_generate,
        "assistant_model": pair.draft.model,
    }
    with pytest.raises(HsdError, match=f"^{name} ") as refused:
        model.generate(ids, **how)
    option, value = ADVICE.search(str(refused.value)).groups()
    followed = model.generate(ids, **how, **{option: ast.literal_eval(value)})
    assert followed.tolist() == generate(pair).tolist()


def test_a_least_length_that_the_prompt_has_asks_for_nothing(pair: Pair):
    length = len(pair.encode(PROMPT))
    assert generate(pair, min_length=length).tolist() == generate(pair).tolist()
    with pytest.raises(HsdError, match="min_length"):
        generate(pair, min_length=length + 1)


CHANGED = {  # harmless settings with a value that the library takes without more
    "pad_token_id": 3,
    "bos_token_id": 3,
    "decoder_start_token_id": 3,
    "return_dict_in_generate": True,
    "use_cache": False,
    "early_stopping": True,
    "length_penalty": 2.0,
    "renormalize_logits": True,
}


@for_each("name", sorted(HARMLESS & FIELDS & CHANGED.keys()))
def test_what_is_called_harmless_changes_no_token(pair: Pair, name: str):
    ids = torch.tensor([pair.encode(PROMPT)])
    plain = {"max_new_tokens": 12, "do_sample": False, name: CHANGED[name]}
    wanted = pair.target.model.generate(ids, **plain)
    made = generate(pair, **{name: CHANGED[name]})
    assert (
        getattr(made, "sequences", made).tolist() == getattr(wanted, "sequences", wanted).tolist()
    )


@pytest.mark.parametrize("name", sorted(SAMPLED))
def test_cuts_of_sampling_are_refused_where_tokens_are_drawn(pair: Pair, name: str):
    if name not in FIELDS:
        pytest.skip("this version of the library has none")
    assert generate(pair, **{name: 0.2}).tolist() == generate(pair).tolist()
    with pytest.raises(HsdError, match=rf"{name} 0\.2 is not supported"):
        generate(pair, do_sample=True, **{name: 0.2})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_beams": 2}, "beam search cannot be combined with drafts"),
        (
            {"do_sample": True, "num_return_sequences": 2, "assistant_model": None},
            "one text is decoded at a time",
        ),
        (
            {"return_dict_in_generate": True, "output_scores": True},
            "rows of one step are those of a whole draft",
        ),
        (
            {"return_dict_in_generate": True, "output_logits": True},
            "rows of one step are those of a whole draft",
        ),
        (
            {"return_dict_in_generate": True, "output_hidden_states": True},
            "states are those of a whole draft",
        ),
        (
            {"return_dict_in_generate": True, "output_attentions": True},
            "states are those of a whole draft",
        ),
        ({"inputs_embeds": torch.zeros(1, 6, 32)}, "inputs_embeds are not supported"),
        (
            {"prefix_allowed_tokens_fn": lambda *_: [3]},
            "the processor PrefixConstrainedLogitsProcessor is not supported",
        ),
        (
            {"repetition_penalty": 1.3},
            "repetition_penalty 1.3 is not supported .*: pass repetition_penalty=1.0",
        ),
    ],
)
def test_the_reason_is_the_true_one(pair: Pair, options: dict[str, Any], words: str):
    with pytest.raises(HsdError, match=words):
        generate(pair, **options)


def test_scores_that_are_not_returned_are_not_missed(pair: Pair):
    assert generate(pair, output_scores=True).tolist() == generate(pair).tolist(), (
        "the library gives none either"
    )


def test_objects_of_a_call_are_followed_or_refused(pair: Pair):
    sampled = {"do_sample": True, "top_k": 0, "seed": 4}
    cold = LogitsProcessorList([TemperatureLogitsWarper(0.5)])
    with pytest.raises(
        HsdError,
        match=r"the processor TemperatureLogitsWarper with temperature 0\.5 is not supported",
    ):
        generate(pair, logits_processor=cold, **sampled)
    several = LogitsProcessorList([TopPLogitsWarper(0.9, min_tokens_to_keep=2)])
    with pytest.raises(
        HsdError, match=r"the processor TopPLogitsWarper with top_p 0\.9 is not supported"
    ):
        generate(pair, logits_processor=several, top_p=0.9, **sampled)
    short = StoppingCriteriaList([MaxLengthCriteria(max_length=len(pair.encode(PROMPT)) + 3)])
    assert (
        generate(pair, stopping_criteria=short).tolist()
        == generate(pair, max_new_tokens=3).tolist()
    )
    with pytest.raises(HsdError, match="the argument position_ids is not supported"):
        generate(pair, position_ids=torch.arange(6)[None] + 3)
    read = pair.target.model(
        torch.tensor([pair.encode(PROMPT)])[:, :3], use_cache=True
    ).past_key_values
    with pytest.raises(HsdError, match="the argument past_key_values is not supported"):
        generate(pair, past_key_values=read)


def test_what_the_models_own_files_set_is_named(pair: Pair, monkeypatch: pytest.MonkeyPatch):
    own = pair.target.model.generation_config
    monkeypatch.setattr(own, "repetition_penalty", 1.1)
    # of its makers, and known to no library
    monkeypatch.setattr(own, "chat_format", "chatml", raising=False)
    with pytest.raises(
        HsdError, match=r"repetition_penalty 1\.1 of the model's own generation settings is not"
    ):
        generate(pair)
    assert generate(pair, repetition_penalty=1.0).tolist()
    trace = hsd.run(pair, PROMPT, max_new_tokens=4)
    asked = "The target's own generation settings differ, and this run does not apply them: "
    assert trace.setup.notes == [f"{asked}repetition_penalty 1.1."]
    assert hsd.Trace.from_json(trace.to_json()) == trace
    monkeypatch.setattr(own, "temperature", 0.6)
    monkeypatch.setattr(own, "top_k", 20)
    assert hsd.run(pair, PROMPT, max_new_tokens=4, temperature=0.6).setup.notes == [
        f"{asked}repetition_penalty 1.1, top_k 20."
    ]
    assert hsd.run(pair, PROMPT, max_new_tokens=4, temperature=0).setup.notes == [
        f"{asked}repetition_penalty 1.1."
    ]


def test_settings_that_are_off_ask_for_nothing():
    assert unmet(OFF, sampled=True) == {}
    assert unmet(vars(GenerationConfig()), sampled=True) == {}
    first = {"suppress_tokens": [], "guidance_scale": 1, "forced_eos_token_id": 0}
    assert unmet(first, sampled=True) == {"forced_eos_token_id": 0}, "0 is a token"
    assert not_applied({"suppress_tokens": [*range(90)]}, Sampling(0.0))[0].startswith(
        "suppress_tokens [0, 1, 2"
    )
