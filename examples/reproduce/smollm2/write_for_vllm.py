"""Write this project's head for SmolLM2 as vLLM loads it, with the plugin of this package installed
there.

    python examples/reproduce/smollm2/write_for_vllm.py FOLDER [HEAD]

Then: --speculative-config '{"method": "eagle3", "model": "FOLDER", "num_speculative_tokens": 4}'.
The numbers are the head's own: only names differ, `fc_norm` for `taps_norm`, and the key of the
layers that it reads. A head with `token_proj` has an architecture of the plugin's, since vLLM's own
has no place for it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from safetensors.torch import load_file, save_file

from hsd.models.loading.tensors import in_full
from hsd.paths import ASSETS

LAYER = "midlayer."


def write(folder: Path, head: Path = ASSETS / "smollm2" / "draft") -> None:
    config = json.loads((head / "config.json").read_text("utf-8"))
    stored = in_full(load_file(head / "model.safetensors"))
    weights = {
        name: held.half() if held.is_floating_point() else held for name, held in stored.items()
    }
    norms = weights.pop("taps_norm.weight", None)
    if norms is not None:
        weights |= {f"fc_norm.{tap}.weight": norm.contiguous() for tap, norm in enumerate(norms)}
    own = f"{LAYER}token_proj.weight" in weights
    config |= {
        "architectures": ["HsdLlamaForCausalLMEagle3" if own else "LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "eagle_aux_hidden_state_layer_ids": config.pop("target_layers"),
        "fc_norm": norms is not None,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": False,
    }
    config.pop("stopping", None)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(*map(Path, sys.argv[1:]))
