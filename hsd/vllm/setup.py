"""What a trace says of the server that made it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from hsd.decoding.options import RunOptions
from hsd.draft import COPIERS
from hsd.models.loading.memory import numbers_in_folder
from hsd.rules import USUAL, VANILLA
from hsd.trace import ModelInfo, Setup, SetupOptions

TIMES = "Times are of whole steps, other requests in them: vLLM does not tell the parts apart."
METHODS = {
    "block": "The server asks for block verification, which this runner of vLLM ignores.",
    "synthetic": "The server accepts drafts at a set rate, whatever they are: its text is not the model's.",
}


def setup_of(config: Any, runner: Any, asked: Any, rule: str) -> Setup:
    """Return the setup of a request's trace.

    config: vLLM's. runner: of a worker. asked: the request's sampling parameters. rule: by which drafts are verified.
    """
    from vllm import __version__

    plan, vocab = config.speculative_config, config.model_config.get_vocab_size()
    models, drafter = [_model(config.model_config, runner.get_model())], getattr(runner, "drafter", None)
    if getattr(drafter, "model", None) is not None:
        models.insert(0, _model(plan.draft_model_config, drafter.model))  # type: ignore[union-attr]
    options = RunOptions(
        rule=rule,
        shadow=USUAL if rule == VANILLA["single"] else VANILLA["single"],
        max_new_tokens=asked.max_tokens or runner.max_model_len,
        temperature=asked.temperature,
        top_p=asked.top_p,
        top_k=asked.top_k if 0 < asked.top_k < vocab else 0,
        seed=asked.seed or 0,
    )
    proposer = "model" if len(models) > 1 else next(iter(COPIERS)) if plan and "ngram" in plan.method else "none"
    drafting = {"proposer": proposer, "gamma": plan.num_speculative_tokens if plan else 0, "engine": "vllm"}
    noted = METHODS.get(plan.rejection_sample_method if plan else "")
    return Setup(
        options=SetupOptions.of({**dict(options), **drafting}),
        pair=models[-1].name,
        models=models,
        device=str(runner.device),
        vocab_size=vocab,
        versions={"vllm": __version__, "torch": torch.__version__},
        notes=[TIMES, noted] if noted else [TIMES],
    )


def _model(config: Any, model: Any) -> ModelInfo:
    """Return a trace's description of a model: numbers in its files, as a worker may hold a part, or pack them."""
    parameters = numbers_in_folder(Path(config.model)) or sum(weight.numel() for weight in model.parameters())
    name, layers = str(config.model).rstrip("/").rpartition("/")[2], config.get_total_num_hidden_layers()
    return ModelInfo(name=name[:200], parameters=parameters, dtype=str(config.dtype), layers=layers)
