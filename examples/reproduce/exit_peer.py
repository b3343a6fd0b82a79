"""The early exit of `transformers` itself, set up fairly, as a case of a benchmark: for
`measure_systems.py`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hsd.bench.measure import Case, Record
from hsd.bench.peers import continue_prompt, draft_always, module_of, sampling, timed
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.reading import Passes


def exit_peer_case(gamma: int, options: dict[str, Any], depth: int) -> Case:
    """`generate` with the target's own first `depth` layers as assistant: `assistant_early_exit`.

    The two share weights, but neither cache nor hidden states: a drafted token goes through the
    first layers again when the target reads it. While it runs, the library keeps changing the depth
    in the model's configuration: nothing else may use the model meanwhile.
    """
    name = f"transformers, exit {depth}, γ={gamma}"
    return Case(name, {**options, "gamma": gamma}, partial(_leaving, gamma, options, depth))


def _leaving(
    gamma: int, options: dict[str, Any], depth: int, pair: Pair, prompt: str, seed: int
) -> Record:
    target = module_of(pair.target)
    config = getattr(target, target.base_model_prefix).config
    layers = target.config.get_text_config().num_hidden_layers
    if getattr(config, "num_hidden_layers", None) != layers:
        raise HsdError(
            f"transformers cannot leave {type(target).__name__} early: leave the peer out"
        )
    if not 1 <= depth < layers:
        raise HsdError(
            f"exit {depth}: choose one from 1 to {layers - 1}, before the last of the target's "
            "layers"
        )
    calls: dict[str, Passes] = {"target": [], "draft": []}

    def whose() -> Passes:
        return calls["target" if config.num_hidden_layers == layers else "draft"]

    draft_always(target, gamma)
    try:
        with timed(target, whose):
            return continue_prompt(
                pair, prompt, seed, {**sampling(options), "assistant_early_exit": depth}, calls
            )
    finally:
        config.num_hidden_layers = layers  # the library does not restore it when a call fails
