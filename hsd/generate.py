"""Decoding by `generate` of `transformers`.

model.generate(…, custom_generate=hsd.custom_generate, assistant_model=draft, rule="hsd")
"""

import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any, cast

import torch
from torch import Tensor

from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.errors import HsdError
from hsd.models.base import IdCodec, LanguageModel, Pair
from hsd.options import MAX_GAMMA
from hsd.sampling import Sampling
from hsd.values import whole

WARPERS = {f"{name.title().replace('_', '')}LogitsWarper": name for name in vars(Sampling())}
CRITERIA = {"MaxLengthCriteria", "EosTokenCriteria"}
LOWEST = -torch.inf
MOST_SEED = 2**63 - 1
# arguments that are met, or met elsewhere
PASSED = {"use_cache", "logits_to_keep", "cache_position", "attention_mask"}
PASSED |= {"output_attentions", "output_hidden_states"}
WHY = {
    "num_beams": "beam search cannot be combined with drafts",
    "num_return_sequences": "one text is decoded at a time",
    "num_assistant_tokens": "gamma says so here",
    "prompt_lookup_num_tokens": "proposer='ngram' does so here",
    "output_scores": "rows of one step are those of a whole draft",
    "output_logits": "rows of one step are those of a whole draft",
    "output_attentions": "states are those of a whole draft",
    "output_hidden_states": "states are those of a whole draft",
}


def custom_generate(
    model: Any,
    input_ids: Tensor,
    logits_processor: Any = (),
    stopping_criteria: Any = (),
    generation_config: Any = None,
    assistant_model: Any = None,
    draft_model: Any = None,
    streamer: Any = None,
    rule: str = RunOptions.default("rule"),
    gamma: int | None = None,
    drafts: int = 1,
    tree: str = "paths",
    seed: int | None = None,
    proposer: str = "model",
    **further: Any,
) -> Any:
    """Decode with a draft model and a verification rule inside `transformers`' own `generate`.

    Pass it as `custom_generate`; the draft as `assistant_model` (or `draft_model`), and rule,
    gamma, drafts, tree, proposer and seed as for `hsd.run`. `draft_model` may also be the folder of
    a head for this model; proposer "ngram" needs no draft. gamma is by default the draft's own
    `num_assistant_tokens`, else 5. Temperature, top-p, top-k, the length budget and the ends of a
    text come from the generation configuration: note that its top-k is 50 unless it is set. Without
    a seed one is drawn from torch's generator, as `generate` samples by: each call gives another
    text, and `torch.manual_seed` decides which. The new tokens are those of `hsd.run` for the same
    options and seed. input_ids (1, n) → (1, n + new); tokens whose attention_mask (1, n) is 0,
    padding, are not read.

    Warns of what `hsd.run` notes. Raises HsdError for whatever else would change a token or is to
    be returned: several texts at once, beams, penalties, scores, a setting that is not known here
    (see `hsd.models.loading.settings`).
    """
    from hsd.models.loading.settings import sampling_of

    caller = sys._getframe(1)
    draft = assistant_model or draft_model or _kept_back(caller, "assistant_model")
    streamer = streamer or _kept_back(caller, "streamer")
    _check(model, generation_config, input_ids.shape[-1])
    _check_call(input_ids, logits_processor, stopping_criteria, generation_config, further)
    if draft is None and proposer == "model":
        raise HsdError(
            "no draft model: pass assistant_model=…, a smaller model with the same vocabulary"
        )
    limits = (generation_config, *stopping_criteria)
    most = min(getattr(limit, "max_length", sys.maxsize) for limit in limits)
    options = RunOptions(
        rule=rule,
        gamma=_draft_length(draft) if gamma is None else gamma,
        drafts=drafts,
        tree=tree,
        seed=_drawn_seed(generation_config) if seed is None else seed,
        proposer=proposer,
        trace=False,
        max_new_tokens=most - input_ids.shape[1],
        **sampling_of(generation_config),
    )
    pair = _pair(model, draft, [generation_config, *stopping_criteria])
    system = make_system(pair, options)
    decoding = Decoding(system, "", prompt_ids=_read(input_ids, further))
    ids = input_ids[0].tolist()
    for note in decoding.notes:
        warnings.warn(note, stacklevel=3)
    try:
        for step in decoding:
            ids += step.tokens
            if streamer is not None:
                streamer.put(torch.tensor(step.tokens, dtype=torch.int64, device="cpu"))
    finally:
        decoding.close()
    if streamer is not None:
        streamer.end()
    return _output(
        torch.tensor([ids], device=input_ids.device, dtype=torch.int64), generation_config
    )


def _draft_length(draft: Any) -> int:
    """Return how many tokens a draft model says that it should draft, or else 5."""
    own = getattr(getattr(draft, "generation_config", None), "num_assistant_tokens", None)
    number = whole(own)
    return number if number is not None and 1 <= number <= MAX_GAMMA else 5


def _drawn_seed(config: Any) -> int:
    """Return a seed from torch's generator; 0, and draw nothing, where no token is sampled."""
    return int(torch.randint(MOST_SEED, (), device="cpu")) if config.do_sample else 0


def _kept_back(frame: FrameType, name: str) -> Any:
    """Return what `generate` of transformers 5.17 to 5.23 does not pass on.

    That is `name` in its frame, else None.
    """
    return frame.f_locals.get(name) if frame.f_code.co_name == "generate" else None


def _check(model: Any, config: Any, length: int) -> None:
    """Raise HsdError for a model with an encoder, and for settings that are not applied here.

    length: of the prompt.
    """
    from hsd.models.loading.settings import OFF, unmet

    if model.config.is_encoder_decoder:
        raise HsdError(
            f"{type(model).__name__} has an encoder: choose a model that only decodes, like Llama"
        )
    own = vars(model.generation_config)
    known = vars(type(config)())
    settings = {
        name: value
        for name, value in vars(config).items()
        if name in known or own.get(name) != value
    }
    # which `generate` makes of the other, and which asks for nothing where the prompt is as long
    if settings.get("min_new_tokens") or (settings.get("min_length") or 0) <= length:
        settings.pop("min_length", None)
    for name, value in unmet(settings, config.do_sample).items():
        whose = " of the model's own generation settings" if own.get(name) == value else ""
        why = WHY.get(name, "it would change what is decoded, and is not applied here")
        raise HsdError(
            f"{name} {str(value)[:60]}{whose} is not supported ({why}): pass {name}={OFF.get(name)}"
        )


def _check_call(
    input_ids: Tensor, processors: Any, criteria: Any, config: Any, further: dict[str, Any]
) -> None:
    """Raise HsdError for arguments of `generate` that decoding cannot follow.

    They may be tokens, processors, stopping criteria, or among the further ones.
    """
    if further.get("inputs_embeds") is not None:
        raise HsdError(
            "inputs_embeds are not supported (a draft reads tokens, not states): pass input_ids"
        )
    if input_ids.shape[0] != 1:
        raise HsdError(
            f"{input_ids.shape[0]} texts at once: call generate for one text after another"
        )
    for item in processors:
        kind = type(item).__name__
        field = WARPERS.get(kind, "")
        own = (
            getattr(item, field, None),
            getattr(item, "min_tokens_to_keep", 1),
            getattr(item, "filter_value", LOWEST),
        )
        as_configured = field and (
            not config.do_sample or own == (getattr(config, field), 1, LOWEST)
        )
        idle = kind == "MinLengthLogitsProcessor" and item.min_length <= input_ids.shape[1]
        if kind != "LogitNormalization" and not as_configured and not idle:
            what = f"with {field} {own[0]} " if field else ""
            raise HsdError(
                f"the processor {kind} {what}is not supported: leave out the option that asks for "
                "it"
            )
    for kind in {type(item).__name__ for item in criteria} - CRITERIA:
        raise HsdError(
            f"the stopping criterion {kind} is not supported: leave out the option that asks for it"
        )
    for name, value in further.items():
        if name not in PASSED and not _says_nothing(name, value, further.get("attention_mask")):
            raise HsdError(f"the argument {name} is not supported: leave it out")


def _says_nothing(name: str, value: Any, mask: Tensor | None) -> bool:
    """Return whether an argument of the forward pass has the value that decoding uses anyway."""
    if name == "past_key_values":
        return value is None or value.get_seq_length() == 0
    if name == "position_ids" and isinstance(value, Tensor):
        read = (
            value[mask.bool()]
            if mask is not None and mask.shape == value.shape
            else value.flatten()
        )
        return torch.equal(read, torch.arange(len(read), device=read.device))
    return value is None or (name == "token_type_ids" and not value.any())


def _read(input_ids: Tensor, further: dict[str, Any]) -> list[int]:
    """Return the tokens of the prompt without padding.

    Raises HsdError for a mask of another shape.
    """
    mask = further.get("attention_mask")
    if mask is None:
        mask = torch.ones_like(input_ids)
    if mask.shape != input_ids.shape or not bool(mask.any()):
        raise HsdError(
            f"attention_mask {tuple(mask.shape)}: give one number per token, 1 for those to read"
        )
    return cast("list[int]", input_ids[mask.bool()].tolist())


def _pair(model: Any, draft: Any, ending: list[Any]) -> Pair:
    """Return the pair.

    draft: a model, a head's folder, or None to copy. ending: objects with eos_token_id, if any.
    """
    from hsd.models.causal import CausalModel, as_set

    target = CausalModel(model, type(model).__name__)
    target.settings = {}  # those of the call count, and are met
    small = _drafting(draft, target) or target
    ends = frozenset[int]().union(*(as_set(getattr(part, "eos_token_id", None)) for part in ending))
    return Pair("generate", target, small, IdCodec(target.vocab_size, ends))


def _drafting(draft: Any, target: LanguageModel) -> LanguageModel | None:
    from hsd.models.causal import CausalModel
    from hsd.models.loading.heads import is_head, load_head
    from hsd.models.loading.hub import find_source

    if not isinstance(draft, (str, Path)):
        return draft and CausalModel(draft, type(draft).__name__)
    folder = find_source(str(draft))
    if not is_head(folder):
        raise HsdError(
            f"{str(draft)!r} is no head: load a draft model with from_pretrained, and pass that"
        )
    return load_head(folder, target, folder.name)


def _output(sequences: Tensor, config: Any) -> Any:
    if not config.return_dict_in_generate:
        return sequences
    from transformers.generation.utils import GenerateDecoderOnlyOutput

    return GenerateDecoderOnlyOutput(sequences=cast("torch.LongTensor", sequences))
