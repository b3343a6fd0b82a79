"""Speculative decoding with HSD inside `transformers`' own `generate`. Runs offline, on the embedded pair.

    python examples/generate.py

For a pair of your own, replace the two folders by any target and draft with the same tokenizer.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this runs without installing the package

import hsd
from hsd.paths import ASSETS

PROMPT = "Once upon a time, there was a little girl named Lily. She had a red ball. One day,"
OPTIONS = {"rule": "hsd", "gamma": 5, "seed": 7}
SAMPLING = {"temperature": 0.7, "top_k": 0, "top_p": 1.0}


def main() -> None:
    folder = ASSETS / "tiny"
    target = AutoModelForCausalLM.from_pretrained(folder / "target", dtype=torch.float32)
    draft = AutoModelForCausalLM.from_pretrained(folder / "middle", dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder / "target")

    inputs = tokenizer(PROMPT, return_tensors="pt")
    output = target.generate(
        **inputs,
        custom_generate=hsd.custom_generate,
        assistant_model=draft,
        max_new_tokens=48,
        do_sample=True,
        **SAMPLING,
        **OPTIONS,
    )
    print(tokenizer.decode(output[0], skip_special_tokens=True))

    new = output[0, inputs["input_ids"].shape[1] :].tolist()
    trace = hsd.run(hsd.load_pair("tiny"), PROMPT, max_new_tokens=48, **SAMPLING, **OPTIONS)
    print("the same tokens as hsd.run:", new == trace.tokens)
    print(f"{trace.stats()['block_efficiency']:.2f} tokens per target call")


if __name__ == "__main__":
    main()
