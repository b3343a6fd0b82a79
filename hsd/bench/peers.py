"""The generation loop of `transformers` itself, set up fairly, as a case beside ours."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from transformers.utils import logging

from hsd.bench.measure import CallTimes, Case, Record
from hsd.errors import HsdError
from hsd.models import Pair


def peer_case(gamma: int, options: dict[str, Any], assisted: bool = True) -> Case:
    """`generate`, with the draft as assistant or without. options: as for `hsd.run`; rule and system do not matter."""
    name = f"transformers, assisted, γ={gamma}" if assisted else "transformers, plain"
    return Case(name, {**options, "gamma": gamma}, _runner(gamma, options, assisted))


def _runner(gamma: int, options: dict[str, Any], assisted: bool) -> Callable[[Pair, str, int], Record]:
    def runner(pair: Pair, prompt: str, seed: int) -> Record:
        target, draft = _module(pair.target), _module(pair.draft)
        if assisted and target.config.vocab_size != draft.config.vocab_size:
            raise HsdError("transformers needs equal vocabulary sizes for its assistant: leave the peer out")
        ids = torch.tensor([pair.encode(prompt)], device=target.device)
        calls = {"target": CallTimes(), "draft": CallTimes()}
        torch.manual_seed(seed)
        with _quiet(), _timed(target, calls["target"]), _timed(draft, calls["draft"]), _fair(draft, gamma):
            begin = time.perf_counter()
            with torch.inference_mode():
                output = target.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),  # else it is worked out anew, and warned about
                    assistant_model=draft if assisted else None,
                    pad_token_id=next(iter(sorted(pair.codec.end_ids)), 0),
                    **_sampling(options),
                )
            seconds = time.perf_counter() - begin
        summary = {name: times.summary() for name, times in calls.items()}
        made = 1 + sum(n for n, _, _ in summary["target"]["widths"].values())
        return {
            "new_tokens": output.shape[1] - ids.shape[1],
            "target_calls": made,
            "seconds": seconds,
            "calls": summary,
        }

    return runner


def _module(model: Any) -> Any:
    """The `transformers` module behind a model of a pair."""
    if not hasattr(model, "model"):
        raise HsdError("the peer needs models of transformers: leave it out for this pair")
    return model.model


def _sampling(options: dict[str, Any]) -> dict[str, Any]:
    temperature = options.get("temperature", 1.0)
    sampled = {"temperature": temperature, "top_p": options.get("top_p", 1.0), "top_k": options.get("top_k", 0)}
    return {
        "max_new_tokens": options["max_new_tokens"],
        "do_sample": temperature > 0,
        **(sampled if temperature else {}),
    }


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's advice about how it calls itself."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def _fair(draft: Any, gamma: int) -> Iterator[None]:
    """γ drafted tokens every round: no schedule, and no stopping at a draft that is unsure of itself."""
    before = draft.generation_config
    draft.generation_config = copy.deepcopy(before)
    draft.generation_config.num_assistant_tokens = gamma
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0.0
    try:
        yield
    finally:
        draft.generation_config = before


@contextmanager
def _timed(module: Any, times: CallTimes) -> Iterator[None]:
    """Time every forward pass of a module."""
    begun: list[float] = []

    def before(*_: Any) -> None:
        begun.append(time.perf_counter())

    def after(module: Any, positional: Any, named: dict[str, Any], output: Any) -> None:
        if output.logits.device.type == "cuda":
            torch.cuda.synchronize()
        ids = named["input_ids"] if named.get("input_ids") is not None else positional[0]
        times.add(ids.shape[-1], time.perf_counter() - begun.pop())

    hooks = [
        module.register_forward_pre_hook(before),
        module.register_forward_hook(after, with_kwargs=True),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
