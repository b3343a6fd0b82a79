"""Loading one model of `transformers`, from a folder or the Hub.

It goes onto one device or several, quantised or not.
"""

import json
import logging
import re
from importlib.util import find_spec
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    BitsAndBytesConfig,
    GenerationConfig,
)
from transformers.distributed.configuration_utils import DistributedConfig
from transformers.utils.logging import disable_progress_bar

from hsd.errors import HsdError, first_line
from hsd.models.causal import CausalModel
from hsd.models.loading.hub import Source, file_of, loading
from hsd.models.loading.memory import SHARDED

# Bars that are over before they can be read, and every retry of a download, only clutter standard
# error: what goes wrong is told once, by the error that is raised.
disable_progress_bar()
GENERATION = "generation_config.json"
logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def load_config(source: Source) -> Any:
    """Return the configuration of a model. Raises HsdError, one line, when that is impossible."""
    with loading("a model", source):
        return AutoConfig.from_pretrained(source.name, **source.options)


def load_tokenizer(source: Source) -> Any:
    """Return the tokenizer of a model. Raises HsdError, one line, when that is impossible."""
    with loading("a tokenizer", source):
        tokenizer: Any = AutoTokenizer.from_pretrained(source.name, **source.options)
        # where processors had it
        if not tokenizer.chat_template and (beside := file_of(source, "chat_template.json")):
            content = json.loads(beside.read_text(encoding="utf-8"))
            tokenizer.chat_template = content["chat_template"]
        if isinstance(tokenizer.chat_template, dict) and len(tokenizer.chat_template) == 1:
            (tokenizer.chat_template,) = tokenizer.chat_template.values()
        return tokenizer


def load_model(
    source: Source,
    name: str,
    device: str,
    dtype: torch.dtype,
    device_map: str | dict[str, str] | None = None,
    quantize: str | None = None,
) -> CausalModel:
    """Load a model, which messages call `name`.

    device: "cuda:0", "mps", "cpu". device_map: how to spread it over several GPUs, None for
    `device` alone. quantize: "4bit", "8bit" or None. Raises HsdError when it cannot be loaded, and
    where its files lack weights, or have some that it would not use.
    """
    placed = _placement(device, dtype, device_map, quantize)
    with loading("a model", source):
        library: Any = AutoModelForCausalLM
        model, report = library.from_pretrained(
            source.name,
            dtype=dtype,
            output_loading_info=True,
            ignore_mismatched_sizes=True,
            **source.options,
            **placed,
        )
        model = model if placed else model.to(torch.device(device))
        _check_settings(source, model)
    if find_spec("peft") is None and file_of(source, "adapter_config.json"):
        raise HsdError(
            f"{source.name!r} has an adapter, which would be left out: merge it into the weights "
            "first"
        )
    unused = _unused(source.name, model, report)
    causal = CausalModel(model, name, source.revision, quantize)
    causal.notes = tuple(
        f"{name}: the file's {key} is no part of the model, and unused." for key in unused[:1]
    )
    return causal


def _check_settings(source: Source, model: Any) -> None:
    """Raise HsdError where the library passed over generation settings that it could not read."""
    config = model.generation_config
    if config is None or not getattr(config, "_from_model_config", False):
        return
    if file := file_of(source, GENERATION):
        try:
            GenerationConfig.from_dict(dict(json.loads(file.read_bytes())))
        except (OSError, TypeError, ValueError) as error:
            raise HsdError(
                f"{GENERATION} cannot be read ({first_line(error)}): fetch it again, or delete it"
            ) from None


def _unused(name: str, model: Any, report: dict[str, Any]) -> list[str]:
    """Return the names of weights in files that are no part of `model`.

    report: what `from_pretrained` says about its loading.

    Raises HsdError if files lack weights of it, have one of another shape, or one of a layer that
    would leave it out.
    """
    for key, theirs, ours in sorted(report["mismatched_keys"]):
        why = f"{key} has shape {tuple(theirs)}, where its config.json wants {tuple(ours)}"
        raise HsdError(f"the files of {name!r} do not belong together: {why}")
    unused = sorted(key for key in report["unexpected_keys"] if not key.endswith("inv_freq"))
    if missing := sorted(report["missing_keys"]):
        other = f", and have {unused[0]} instead" if unused else ""
        raise HsdError(
            f"the files of {name!r} lack {len(missing):,} of the model's weights, which would be "
            f"random: there is no {missing[0]}{other}"
        )
    parts = dict(model.named_modules())
    for key in unused:
        names = [
            re.sub(r"\d+", "0", key, count=1)[: dot.start()] for dot in re.finditer(r"\.", key)
        ]
        if any(part in parts and not [*parts[part].children()] for part in names):
            raise HsdError(
                f"{name!r} has the weight {key}, which this model would leave out: merge "
                "adapters, or give a folder whose config.json fits its weights"
            )
    return unused


def _placement(
    device: str, dtype: torch.dtype, device_map: Any, quantize: str | None
) -> dict[str, Any]:
    """Return arguments that put a model straight onto its devices.

    They avoid a copy in the computer's own memory.
    """
    placed: dict[str, Any] = {}
    if device_map == SHARDED:
        placed["distributed_config"] = DistributedConfig(tp_plan="auto")
    elif where := device_map or ({"": device} if device.startswith("cuda") or quantize else None):
        placed["device_map"] = where
    if quantize:
        placed["quantization_config"] = BitsAndBytesConfig(
            **{f"load_in_{quantize}": True},
            bnb_4bit_quant_type="nf4",
            bnb_4bit_compute_dtype=dtype,
        )
    return placed
