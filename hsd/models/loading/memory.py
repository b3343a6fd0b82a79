"""What a pair needs of memory before it is loaded, and what is free where it can be loaded.

Sizes are those of the configuration; of published models, what the Hub counts. 1 GB is 10^9 bytes
here, as in the sizes that makers of GPUs print.
"""

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from hsd.errors import HsdError
from hsd.paths import read_yaml

PUBLISHED: dict[str, dict[str, Any]] = read_yaml(Path(__file__).with_name("published.yaml"))
# room for the caches of a text this long, or of the whole context where that is shorter
TOKENS = 4_096
QUANTISED = {"8bit": 1.05, "4bit": 0.57}  # bytes a parameter, scales included
# of device maps: every layer of the target is shared by the processes of torchrun
SHARDED = "sharded"
MARGIN = 1.05  # activations, and what an allocator cannot use
GPU_BASE = 0.7e9  # what a GPU's own libraries take before the first number is stored
CPU_BASE = 0.1e9


@dataclass(frozen=True)
class Sizes:
    """The sizes of one model, from which the bytes of its weights and of its cache follow.

    parameters: shared ones once. layers, hidden: depth and width; kv_heads, head_dim: of the keys
    and values; rows: of the embeddings, padding included; tied: whether the last layer shares them;
    context: tokens it can read.
    """

    parameters: int
    layers: int
    hidden: int
    kv_heads: int
    head_dim: int
    rows: int
    tied: bool
    context: int

    @property
    def cache_per_token(self) -> int:
        """Numbers that the key/value cache keeps of each token it has read."""
        return 2 * self.layers * self.kv_heads * self.head_dim

    def weights(self, dtype: torch.dtype, quantize: str | None = None) -> float:
        """Return the bytes of the weights, in this precision or quantised."""
        # of the first and the last layer, left as they are
        kept = self.rows * self.hidden * (1 if self.tied else 2)
        each = QUANTISED.get(quantize or "", dtype.itemsize)
        return (self.parameters - kept) * each + kept * dtype.itemsize

    def cache(self, dtype: torch.dtype) -> float:
        """Return the bytes of the key/value cache of a text of `TOKENS` tokens."""
        return float(self.cache_per_token * dtype.itemsize * min(TOKENS, self.context))


def of_config(config: Any) -> Sizes | None:
    """Return the sizes of a model by its configuration, whatever its files are.

    The configuration is as `transformers` reads it.

    The model is made without numbers, in some tenths of a second. None where the configuration does
    not determine it, and for weights that are quantised already.
    """
    from transformers import AutoModelForCausalLM  # takes seconds, and names need none

    if getattr(config, "quantization_config", None):
        return None
    with suppress(Exception):  # a configuration may be wrong in any way, which loading will explain
        with torch.device("meta"):
            parameters: int = AutoModelForCausalLM.from_config(config).num_parameters()
        text = config.get_text_config()
        hidden = text.hidden_size
        heads = text.num_attention_heads
        head_dim = getattr(text, "head_dim", None) or hidden // heads
        kv_heads = getattr(text, "num_key_value_heads", None) or heads
        context = max(getattr(text, "max_position_embeddings", None) or 0, 0) or TOKENS
        return Sizes(
            parameters,
            text.num_hidden_layers,
            hidden,
            kv_heads,
            head_dim,
            text.vocab_size,
            text.tie_word_embeddings,
            context,
        )
    return None


SIZES = {
    name: Sizes(*sizes) for kind in ("models", "heads") for name, sizes in PUBLISHED[kind].items()
}


def rooms(device: str, device_map: str | None) -> dict[str | None, float]:
    """Return {device map: free bytes} for each way to place a target, the best first.

    The map None stands for `device` alone.

    device_map: the user's; None if not given. Bytes are infinite if unknown.
    """
    gpus = torch.cuda.device_count() if device.startswith("cuda") else 0
    if gpus < 2 or (device_map is None and device != "cuda"):
        return {device_map: free_on(device)}
    together = sum(free_on(f"cuda:{i}") for i in range(gpus))
    return {device_map: together} if device_map else {None: free_on(device), "auto": together}


def share(key_heads: int, device: str) -> None:
    """Prepare this process for its share of a target.

    Raises HsdError unless the number of torchrun's processes divides key_heads.
    """
    if not (count := int(os.environ.get("WORLD_SIZE", "0"))):
        raise HsdError(
            "device map sharded is for several processes: start them by torchrun --nproc-per-node "
            "2 -m hsd"
        )
    if key_heads % count:
        raise HsdError(
            f"{count} processes cannot share {key_heads} groups of keys: start a number that "
            "divides these"
        )
    if device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))


def free_on(device: str) -> float:
    """Return free bytes on one device ("cuda:1", "mps", "cpu").

    Those that torch holds but does not use count as free.

    Infinite if unknown, as where a GPU is lent only later (ZeroGPU).
    """
    if device == "mps":
        return float(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory())
    if device == "cpu":
        return free_ram()
    with suppress(RuntimeError, AssertionError):
        free, _ = torch.cuda.mem_get_info(device)
        return float(
            free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        )
    return math.inf


def free_ram(group: Path = Path("/sys/fs/cgroup")) -> float:
    """Return free bytes of this machine's memory, or of the container's share of it.

    The container's control group gives that share.
    """
    bounds = [float(psutil.virtual_memory().available)]
    with suppress(OSError, ValueError):  # no limit: "max"
        used, limit = (int((group / f"memory.{name}").read_bytes()) for name in ("current", "max"))
        # cached files do not count as used
        lines = (group / "memory.stat").read_text(encoding="utf-8").splitlines()
        bounds.append(
            limit
            - used
            + sum(float(line.split()[1]) for line in lines if line.startswith("inactive_file "))
        )
    return min(bounds)


def needed(
    models: Sequence[Sizes], dtype: torch.dtype, on_gpu: bool, quantize: str | None = None
) -> float:
    """Return the bytes that models take on a device: weights, caches, and the device's libraries.

    models: the target, then those that draft, which are never quantised, as they must be fast.
    """
    target, *drafting = models
    weights = target.weights(dtype, quantize) + sum(model.weights(dtype) for model in drafting)
    caches = sum(model.cache(dtype) for model in models)
    base = GPU_BASE if on_gpu else CPU_BASE
    return (weights + caches) * MARGIN + base
