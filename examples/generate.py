"""Speculative decoding with HSD inside `transformers`' own `generate`, offline.

    python examples/generate.py

With SmolLM2 and its head where `python -m hsd fetch smollm2` has fetched it, else with the embedded
pair. For a pair of your own, load any target and draft with the same tokenizer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import hsd
from hsd.paths import ASSETS

OPTIONS = {"rule": "hsd", "seed": 7}
SAMPLING = {"temperature": 0.7, "top_k": 0, "top_p": 1.0}


def main() -> None:
    folder = ASSETS / "tiny" / "target"
    draft_folder = ASSETS / "tiny" / "middle"
    prompt = "Once upon a time, there was a little girl named Lily. She had a red ball. One day,"
    draft = {"assistant_model": read(draft_folder), "gamma": 5}
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(prompt, return_tensors="pt")
    output = read(folder).generate(
        **inputs,
        custom_generate=hsd.custom_generate,
        max_new_tokens=48,
        do_sample=True,
        **draft,
        **SAMPLING,
        **OPTIONS,
    )
    print(tokenizer.decode(output[0], skip_special_tokens=True))

    new = output[0, inputs["input_ids"].shape[1] :].tolist()
    pair = hsd.load_pair(target=folder, draft=draft_folder, device="cpu", chat=False)
    trace = hsd.run(pair, prompt, max_new_tokens=48, gamma=draft["gamma"], **SAMPLING, **OPTIONS)
    print("the same tokens as hsd.run:", new == trace.tokens)
    print(f"{trace.stats()['block_efficiency']:.2f} tokens per target call")


def read(folder: Path) -> Any:
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")  # for consoles that lack a character
    main()
