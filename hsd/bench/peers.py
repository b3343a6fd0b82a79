"""The generation loop of `transformers` itself, set up fairly, as a case beside ours."""

from __future__ import annotations

import copy
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
from hsd.models.timing import CallTimes


def peer_case(gamma: int, options: dict[str, Any], assisted: bool = True) -> Case:
    """`generate`, with the draft as assistant or without. options: as for `hsd.run`; rule and system do not matter."""
    name = f"transformers, assisted, γ={gamma}" if assisted else "transformers, plain"
    return Case(name, {**options, "gamma": gamma}, partial(_assisted, gamma, options, assisted))


def exit_peer_case(gamma: int, options: dict[str, Any], depth: int) -> Case:
    """`generate` with the target's own first `depth` layers as assistant: `assistant_early_exit`.

    The two share weights, but neither cache nor hidden states: a drafted token goes through the first layers again when
    the target reads it. While it runs, the library keeps changing the depth in the model's configuration: nothing else
    may use the model meanwhile.
    """
    name = f"transformers, exit {depth}, γ={gamma}"
    return Case(name, {**options, "gamma": gamma}, partial(_leaving, gamma, options, depth))


def _assisted(gamma: int, options: dict[str, Any], assisted: bool, pair: Pair, prompt: str, seed: int) -> Record:
    target, draft = _module(pair.target), _module(pair.draft)
    if assisted and target.config.vocab_size != draft.config.vocab_size:
        raise HsdError("transformers needs equal vocabulary sizes for its assistant: leave the peer out")
    calls = {"target": CallTimes(), "draft": CallTimes()}
    with _timed(target, lambda: calls["target"]), _timed(draft, lambda: calls["draft"]), _fair(draft, gamma):
        how = {**_sampling(options), "assistant_model": draft if assisted else None}
        return _generate(pair, prompt, seed, how, calls)


def _leaving(gamma: int, options: dict[str, Any], depth: int, pair: Pair, prompt: str, seed: int) -> Record:
    target = _module(pair.target)
    config = getattr(target, target.base_model_prefix).config
    layers = target.config.get_text_config().num_hidden_layers
    if getattr(config, "num_hidden_layers", None) != layers:
        raise HsdError(f"transformers cannot leave {type(target).__name__} early: leave the peer out")
    if not 1 <= depth < layers:
        raise HsdError(f"exit {depth}: choose one from 1 to {layers - 1}, before the last of the target's layers")
    calls = {"target": CallTimes(), "draft": CallTimes()}

    def whose() -> CallTimes:
        return calls["target" if config.num_hidden_layers == layers else "draft"]

    try:
        with _timed(target, whose), _fair(target, gamma):
            return _generate(pair, prompt, seed, {**_sampling(options), "assistant_early_exit": depth}, calls)
    finally:
        config.num_hidden_layers = layers  # the library does not restore it when a call fails


def _generate(pair: Pair, prompt: str, seed: int, how: dict[str, Any], calls: dict[str, CallTimes]) -> Record:
    """Continue a prompt with the target's `generate`, whose calls are being timed."""
    target = _module(pair.target)
    ids = torch.tensor([pair.encode(prompt)], device=target.device)
    torch.manual_seed(seed)
    with _quiet(), torch.inference_mode():
        begin = time.perf_counter()
        output = target.generate(
            ids,
            attention_mask=torch.ones_like(ids),  # else it is worked out anew, and warned about
            pad_token_id=next(iter(sorted(pair.codec.end_ids)), 0),
            **how,
        )
        seconds = time.perf_counter() - begin
    summary = {name: times.summary() for name, times in calls.items()}
    made = 1 + sum(n for n, _, _ in summary["target"]["widths"].values())
    new = output.shape[1] - ids.shape[1]
    return {"new_tokens": new, "target_calls": made, "seconds": seconds, "calls": summary}


def _module(model: Any) -> Any:
    """The `transformers` module behind a model of a pair."""
    if not hasattr(model, "model"):
        raise HsdError("the peer needs models of transformers: leave it out for this pair")
    return model.model


def _sampling(options: dict[str, Any]) -> dict[str, Any]:
    temperature, length = options.get("temperature", 1.0), {"max_new_tokens": options["max_new_tokens"]}
    if not temperature:
        return {**length, "do_sample": False}
    cut = {"top_p": options.get("top_p", 1.0), "top_k": options.get("top_k", 0)}
    return {**length, "do_sample": True, "temperature": temperature, **cut}


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
    """γ drafted tokens every round: no schedule, and no early stop where the draft is unsure."""
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
def _timed(module: Any, times: Callable[[], CallTimes]) -> Iterator[None]:
    """Time every forward pass of a module. times: where the one that just ended belongs."""
    begun: list[float] = []

    def before(*_: Any) -> None:
        begun.append(time.perf_counter())

    def after(module: Any, positional: Any, named: dict[str, Any], output: Any) -> None:
        if output.logits.device.type == "cuda":
            torch.cuda.synchronize()
        ids = named["input_ids"] if named.get("input_ids") is not None else positional[0]
        times().add(ids.shape[-1], time.perf_counter() - begun.pop())

    with module.register_forward_pre_hook(before), module.register_forward_hook(after, with_kwargs=True):
        yield
