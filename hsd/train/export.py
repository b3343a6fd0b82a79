"""Write trained models as folders that plain ``from_pretrained`` loads."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from transformers import GenerationConfig, LlamaForCausalLM

from hsd.train.checkpoint import model_from
from hsd.train.network import Shape
from hsd.train.tokenizer import load_tokenizer


def export_model(out: Path, name: str, destination: Path, shape: Shape | None = None) -> Path:
    """Write bfloat16 weights, configurations and tokenizer to ``destination/<name>``, replacing it in one move."""
    model = model_from(out, name, shape).bfloat16()
    tokenizer = load_tokenizer(out / "tokenizer")
    end = tokenizer.eos_token_id
    model.generation_config = GenerationConfig(
        bos_token_id=end, eos_token_id=end, pad_token_id=end, do_sample=True, temperature=0.7
    )
    folder = destination / name
    part = destination / f".{name}.part"
    shutil.rmtree(part, ignore_errors=True)
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    for path in part.iterdir():
        path.chmod(0o644)
    _replace(part, folder)
    return folder


def _replace(part: Path, folder: Path) -> None:
    """Put ``part`` in the place of ``folder``, so that a reader sees the old folder or the new one."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    part.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Bytes of all files below ``folder``."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def describe(folder: Path) -> dict[str, int]:
    """Shape and number of parameters of an exported model, as its own files state them."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    model = LlamaForCausalLM.from_pretrained(folder)
    return {
        "layers": config["num_hidden_layers"],
        "width": config["hidden_size"],
        "heads": config["num_attention_heads"],
        "inner": config["intermediate_size"],
        "parameters": model.num_parameters(),
        "exits": config.get("early_exits", []),
    }
