"""Small random models on disk, with their tokenizers: everything that a real pair has, but a sense of language."""

from __future__ import annotations

import string
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

END = "<end>"
LETTERS = [END, "<unknown>", *string.ascii_letters, " ", ".", ",", "!"]  # 58 tokens, END is 0


def letters_tokenizer(letters: list[str] = LETTERS) -> PreTrainedTokenizerFast:
    """One token per letter."""
    core = Tokenizer(models.WordLevel({letter: i for i, letter in enumerate(letters)}, unk_token=letters[1]))
    core.pre_tokenizer = pre_tokenizers.Split("", behavior="isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=letters[0], unk_token=letters[1])


def bytes_tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte, 257 with the end, which is 256: any text can be read."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({letter: i for i, letter in enumerate([*alphabet, END])}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=core, eos_token=END)


def save_model(
    folder: Path, tokenizer: PreTrainedTokenizerFast, rows: int | None = None, seed: int = 0, context: int = 128
) -> Path:
    """A random Llama with two layers of width 32 and `rows` embeddings (default: one per token), and its tokenizer."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=rows or len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.25,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_pair(folder: Path, tokenizer: PreTrainedTokenizerFast, rows: tuple[int, int] | None = None) -> tuple[str, str]:
    """Folders of a random target and a random draft."""
    target_rows, draft_rows = rows or (None, None)
    target = save_model(folder / "target", tokenizer, target_rows, seed=1)
    draft = save_model(folder / "draft", tokenizer, draft_rows, seed=2)
    return str(target), str(draft)
