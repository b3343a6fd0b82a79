"""A GGUF file to a folder that `from_pretrained` reads: `python -m hsd.models.loading.convert FILE FOLDER`.

`hsd.models.loading.fetch` runs it as a process of its own: `transformers` writes bars to standard error while it reads,
loads nothing else at the same time, and keeps the memory that it took. Prints an empty line after each of `PARTS`.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PARTS = ("libraries", "model", "tokenizer")


def convert(file: Path, folder: Path) -> None:
    """Write the float32 weights, the configuration and the tokenizer of a GGUF file into `folder`.

    Needs the package gguf. Raises what `transformers` does when it cannot read the file, or write the folder.
    """
    _part_done()
    where: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **where)
    saveable(model).save_pretrained(folder)
    _part_done()
    AutoTokenizer.from_pretrained(file.parent, **where).save_pretrained(folder)
    _part_done()


def saveable(model: Any) -> Any:
    """Return the model without the mark "quantized with gguf", with which `save_pretrained` refuses."""
    config = copy.deepcopy(model.config)
    del config.quantization_config
    with torch.device("meta"):
        plain = type(model)(config)  # takes no memory until it gets the weights
    plain.load_state_dict(model.state_dict(), assign=True)
    plain.generation_config = model.generation_config
    return plain


def _part_done() -> None:
    print(flush=True)


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
