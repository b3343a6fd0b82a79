"""The generation loop of `transformers` itself, set up fairly, as a case beside ours."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from transformers.utils import logging

from hsd.bench.measure import Case, Record
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.machine import computing
from hsd.models.reading import Passes, summary
from hsd.sampling import Sampling


def peer_case(gamma: int, options: dict[str, Any], assisted: bool = True) -> Case:
    """Return a case that runs `generate` of transformers.

    It is assisted by the draft model, γ tokens a step, or plain.

    options: as for `hsd.run`; rule and system are ignored.
    """
    name = f"transformers, assisted, γ={gamma}" if assisted else "transformers, plain"
    return Case(name, {**options, "gamma": gamma}, partial(_assisted, gamma, options, assisted))


def _assisted(
    gamma: int, options: dict[str, Any], assisted: bool, pair: Pair, prompt: str, seed: int
) -> Record:
    target = module_of(pair.target)
    draft = module_of(pair.draft)
    if assisted and target.config.vocab_size != draft.config.vocab_size:
        raise HsdError(
            "transformers needs equal vocabulary sizes for its assistant: leave the peer out"
        )
    draft_always(draft, gamma)
    calls: dict[str, Passes] = {"target": [], "draft": []}
    with timed(target, lambda: calls["target"]), timed(draft, lambda: calls["draft"]):
        how = {**sampling(options), "assistant_model": draft if assisted else None}
        return continue_prompt(pair, prompt, seed, how, calls)


def continue_prompt(
    pair: Pair, prompt: str, seed: int, how: dict[str, Any], calls: dict[str, Passes]
) -> Record:
    """Return the record of one `generate(…, **how)`.

    calls: by model, the passes that `timed` adds while it runs.
    """
    target = module_of(pair.target)
    ids = torch.tensor([pair.encode(prompt)], device=target.device, dtype=torch.int64)
    torch.manual_seed(seed)
    logging.set_verbosity_error()  # else it warns about its own arguments
    with torch.inference_mode(), computing(pair):
        mask = torch.ones_like(ids)
        end = next(iter(sorted(pair.codec.end_ids)), 0)  # else it warns
        begin = time.perf_counter()
        output = target.generate(ids, attention_mask=mask, pad_token_id=end, **how)
        seconds = time.perf_counter() - begin
    new = output.shape[1] - ids.shape[1]
    times = {name: summary(passes) for name, passes in calls.items()}
    return {
        "new_tokens": new,
        "target_calls": len(calls["target"]),
        "seconds": seconds,
        "calls": times,
    }


def module_of(model: Any) -> Any:
    """Return the `transformers` module behind a model of a pair."""
    if not hasattr(model, "model"):
        raise HsdError(
            "the peer needs models of transformers: leave it out for this pair, or give its folders"
        )
    return model.model


def sampling(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `generate` that sample as `hsd.run` does with these options.

    They ask for as many tokens, too.
    """
    drawn = Sampling.of(options)
    length = {"max_new_tokens": options["max_new_tokens"]}
    if drawn.greedy:
        return {**length, "do_sample": False}
    return {**length, "do_sample": True, **vars(drawn)}


def draft_always(draft: Any, gamma: int) -> None:
    """Have `generate` draft γ tokens every round from now on.

    There is no schedule, and no stop where the draft is unsure.
    """
    schedule = {"num_assistant_tokens": gamma, "num_assistant_tokens_schedule": "constant"}
    draft.generation_config.update(**schedule, assistant_confidence_threshold=0.0)


@contextmanager
def timed(module: Any, times: Callable[[], Passes]) -> Iterator[None]:
    """Time every forward pass of a module.

    times: returns the list that each ended pass is added to.
    """
    begun: list[float] = []

    def after(module: Any, positional: Any, named: dict[str, Any], output: Any) -> None:
        if output.logits.device.type == "cuda":
            torch.cuda.synchronize()
        ids = named["input_ids"] if named.get("input_ids") is not None else positional[0]
        times().append((ids.shape[-1], time.perf_counter() - begun.pop()))

    begin = module.register_forward_pre_hook(lambda *_: begun.append(time.perf_counter()))
    with begin, module.register_forward_hook(after, with_kwargs=True):
        yield
