"""The fetched model as a folder that `transformers` reads: what other libraries, and torch, are
measured by.

    python examples/reproduce/converted.py

Writes float32 weights, the configuration and the tokenizer beside the published file, once, and
prints the folder; the logits are then those of the file's reader to the last bit. Needs the package
gguf, and 540 MB.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd.models.loading import fetch

NAME = "smollm2"


def converted() -> Path | None:
    """Return the folder, None if it has not been made."""
    folder = fetch.home() / fetch.MODELS[NAME].title
    return folder if (folder / "tokenizer_config.json").is_file() else None


def convert(file: Path, folder: Path) -> None:
    """Write the weights, the configuration and the tokenizer of a GGUF file into `folder`."""
    where: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **where)
    saveable(model).save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, **where).save_pretrained(folder)


def saveable(model: Any) -> Any:
    """Return the model without the mark "quantized with gguf", with which `save_pretrained`
    refuses.
    """
    config = copy.deepcopy(model.config)
    del config.quantization_config
    with torch.device("meta"):
        plain = type(model)(config)  # takes no memory until it gets the weights
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.generation_config = model.generation_config
    return plain


def main() -> None:
    file = fetch.fetched_file(NAME)
    if file is None:
        raise SystemExit(f"{NAME} is not on this machine: run python -m hsd fetch {NAME}")
    if not converted():
        convert(file, fetch.home() / fetch.MODELS[NAME].title)
    print(converted())


if __name__ == "__main__":
    main()
