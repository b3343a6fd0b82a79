"""Generation settings of `transformers`: those that decoding follows, those that change no token, and all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import GenerationConfig

from hsd.sampling import Sampling

FOLLOWED = {"do_sample", *vars(Sampling()), "max_length", "max_new_tokens", "eos_token_id"}
SAMPLED = {"min_p", "typical_p", "epsilon_cutoff", "eta_cutoff", "top_h"}  # nothing where nothing is drawn
OUTPUTS = {"output_scores", "output_logits", "output_attentions", "output_hidden_states"}  # of a returned dictionary
HARMLESS = {
    *("bos_token_id", "pad_token_id", "decoder_start_token_id", "transformers_version", "return_dict_in_generate"),
    *("use_cache", "cache_config", "max_cache_len", "prefill_chunk_size", "compile_config", "disable_compile"),
    *("early_stopping", "length_penalty", "diversity_penalty", "num_beam_groups", "low_memory"),  # of beams alone
    *("num_assistant_tokens_schedule", "assistant_lookbehind", "target_lookbehind", "is_assistant"),
    *("renormalize_logits", "token_healing", "continuous_batching_config"),
}
CACHES = ("dynamic", "static", "offloaded", "offloaded_static", "hybrid", "sliding_window")  # all but quantised ones
OFF = {  # the values at which what is not followed changes nothing, where that is no None, False or empty list
    **dict.fromkeys(("typical_p", "repetition_penalty", "encoder_repetition_penalty"), 1.0),
    **dict.fromkeys(("num_beams", "num_return_sequences", "guidance_scale"), 1),
    **dict.fromkeys(("min_length", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size"), 0),
    **dict.fromkeys(("epsilon_cutoff", "eta_cutoff"), 0.0),
    "num_assistant_tokens": 20,
    "assistant_confidence_threshold": 0.4,
}


def unmet(settings: Mapping[str, Any], sampled: bool) -> dict[str, Any]:
    """Return the settings that decoding does not follow, unknown ones too. sampled: whether tokens are drawn."""
    met = FOLLOWED | HARMLESS | (set() if sampled else SAMPLED)
    met |= set() if settings.get("return_dict_in_generate") else OUTPUTS
    asked = {name: value for name, value in sorted(settings.items()) if name not in met and not name.startswith("_")}
    return {name: value for name, value in asked.items() if not _off(name, value)}


def not_applied(settings: Mapping[str, Any], sampling: Sampling) -> list[str]:
    """Those of a model's own settings that a run with this sampling does not apply, each with its value, as words."""
    known = {name: value for name, value in settings.items() if name in vars(GenerationConfig())}
    found = unmet(known | {"return_dict_in_generate": False}, not sampling.greedy)
    drawn = {} if sampling.greedy else vars(sampling)
    found |= {name: known[name] for name, used in drawn.items() if known.get(name) not in (None, used)}
    return [f"{name} {str(value)[:40]}" for name, value in found.items()]


def sampling_of(config: Any) -> dict[str, Any]:
    """Return the options of a run for how a configuration of `generate`, defaults filled in, draws tokens."""
    defaults = vars(Sampling())
    given = {name: value for name in defaults if (value := getattr(config, name, None)) is not None}
    return defaults | given if config.do_sample else {"temperature": 0.0}


def _off(name: str, value: Any) -> bool:
    empty = value is None or value is False or (isinstance(value, (list, tuple, dict)) and not value)
    usual = isinstance(value, (int, float, str)) and value == OFF.get(name)
    return empty or usual or (name == "cache_implementation" and value in CACHES)
