"""`model.generate(…, custom_generate=hsd.custom_generate, assistant_model=draft, rule="hsd")` in `transformers`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import Any, cast

import torch
from torch import Tensor

from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.models.base import IdCodec, LanguageModel, Pair

WARPERS = {"TemperatureLogitsWarper", "TopKLogitsWarper", "TopPLogitsWarper"}
CRITERIA = {"MaxLengthCriteria", "EosTokenCriteria"}


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
    gamma: int = 5,
    drafts: int = 1,
    tree: str = "paths",
    seed: int = 0,
    proposer: str = "model",
    **further: Any,
) -> Any:
    """Decode with a draft model and a verification rule inside `transformers`' own `generate`.

    Pass it as `custom_generate`; the draft as `assistant_model` (or `draft_model`), and rule, gamma, drafts, tree,
    proposer and seed as for `hsd.run`. `draft_model` may also be the folder of a head for this model; proposer "ngram"
    needs no draft. Temperature, top-p, top-k, the length budget and the ends of a text come from the generation
    configuration: note that its top-k is 50 unless it is set. The new tokens are those of `hsd.run` for the same
    options and seed. input_ids (1, n) → (1, n + new); tokens whose attention_mask (1, n) is 0, padding, are not read.

    Raises HsdError for what it does not support: several texts at once, beams, other processors that change scores.
    """
    caller = sys._getframe(1)
    draft = assistant_model or draft_model or _kept_back(caller, "assistant_model")
    streamer = streamer or _kept_back(caller, "streamer")
    if draft is None and proposer == "model":
        raise HsdError("no draft model: pass assistant_model=…, a smaller model with the same vocabulary")
    _check(input_ids, logits_processor, stopping_criteria, generation_config)
    options = RunOptions(
        rule=rule,
        gamma=gamma,
        drafts=drafts,
        tree=tree,
        seed=seed,
        proposer=proposer,
        max_new_tokens=generation_config.max_length - input_ids.shape[1],
        trace=False,
        **_sampling(generation_config),
    )
    pair = _pair(model, draft, generation_config)
    ids = input_ids[0].tolist()
    decoding = Decoding(pair, "", options, prompt_ids=_read(input_ids, further.get("attention_mask")))
    try:
        for step in decoding:
            ids += step.tokens
            if streamer is not None:
                streamer.put(torch.tensor(step.tokens))
    finally:
        decoding.close()
    if streamer is not None:
        streamer.end()
    return _output(torch.tensor([ids], device=input_ids.device), generation_config)


def _kept_back(frame: FrameType, name: str) -> Any:
    """An argument that `generate` keeps to itself when `custom_generate` is a function (transformers 5.17 to 5.23)."""
    return frame.f_locals.get(name) if frame.f_code.co_name == "generate" else None


def _check(input_ids: Tensor, processors: Any, criteria: Any, config: Any) -> None:
    if input_ids.shape[0] != 1:
        raise HsdError(f"{input_ids.shape[0]} texts at once: call generate for one text after another")
    if config.num_beams > 1:
        raise HsdError("beam search cannot be combined with drafts: leave num_beams at 1")
    for kind, known, made in (("processor", WARPERS, processors), ("stopping criterion", CRITERIA, criteria)):
        unknown = [type(item).__name__ for item in made if type(item).__name__ not in known]
        if unknown:
            raise HsdError(f"the {kind} {unknown[0]} is not supported: leave out the option that asks for it")


def _read(input_ids: Tensor, mask: Tensor | None) -> list[int]:
    """The tokens of the prompt without padding."""
    if mask is None:
        return cast("list[int]", input_ids[0].tolist())
    if mask.shape != input_ids.shape or not bool(mask.any()):
        raise HsdError(f"attention_mask {tuple(mask.shape)}: give one number per token, 1 for those to read")
    return cast("list[int]", input_ids[mask.bool()].tolist())


def _sampling(config: Any) -> dict[str, Any]:
    if not config.do_sample:
        return {"temperature": 0.0}
    top_p = 1.0 if config.top_p is None else float(config.top_p)
    temperature = 1.0 if config.temperature is None else float(config.temperature)
    return {"temperature": temperature, "top_p": top_p, "top_k": config.top_k or 0}


def _pair(model: Any, draft: Any, config: Any) -> Pair:
    """draft: a model, the folder of a head, or None, where the model's own text drafts."""
    from hsd.models.causal import CausalModel

    target = CausalModel(model, type(model).__name__)
    small = _drafting(draft, target) or target
    ends = config.eos_token_id
    end_ids = frozenset() if ends is None else frozenset(ends if isinstance(ends, list) else [ends])
    return Pair("generate", target, small, IdCodec(min(target.vocab_size, small.vocab_size), end_ids))


def _drafting(draft: Any, target: LanguageModel) -> LanguageModel | None:
    from hsd.models.causal import CausalModel
    from hsd.models.loading.heads import is_head, load_head
    from hsd.models.loading.hub import find

    if not isinstance(draft, (str, Path)):
        return draft and CausalModel(draft, type(draft).__name__)
    folder = find(str(draft))
    if not is_head(folder):
        raise HsdError(f"{str(draft)!r} is no head: load a draft model with from_pretrained, and pass that")
    return load_head(folder, target, folder.name)


def _output(sequences: Tensor, config: Any) -> Any:
    if not config.return_dict_in_generate:
        return sequences
    from transformers.generation.utils import GenerateDecoderOnlyOutput

    return GenerateDecoderOnlyOutput(sequences=cast("torch.LongTensor", sequences))
