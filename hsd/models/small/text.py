"""The tokenizer that a GGUF file brings, without `transformers`: byte-level BPE, special tokens, the chat template.

It has what `hsd.models.loading.text.TokenizerCodec` asks of a tokenizer, under the names of `transformers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from hsd.errors import HsdError

BEGINS, SPECIAL = "tokenizer.", 3


class FileTokenizer:
    """Text to tokens and back, by the lists of a GGUF file. Raises HsdError for another kind of tokenizer."""

    def __init__(self, fields: dict[str, Any]) -> None:
        told = {name.removeprefix(BEGINS): value for name, value in fields.items() if name.startswith(BEGINS)}
        if told.get("ggml.model") != "gpt2" or not {"ggml.tokens", "ggml.merges"} <= {*told}:
            raise HsdError("the GGUF file has no byte-level tokenizer: the portable engine reads SmolLM2's file")
        tokens, kinds = told["ggml.tokens"], told.get("ggml.token_type", [])
        merges = [tuple(merge.split(" ", 1)) for merge in told["ggml.merges"]]
        self._tokenizer = Tokenizer(BPE({token: i for i, token in enumerate(tokens)}, merges))
        self._tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        self._tokenizer.decoder = Decoder()
        special = [token for token, kind in zip(tokens, kinds, strict=False) if kind == SPECIAL]
        self._tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
        self.chat_template: str | None = told.get("chat_template")
        self.eos_token_id: int | None = told.get("ggml.eos_token_id")
        self._named = {f"{name}_token": tokens[told[f"ggml.{name}_token_id"]] for name in ("bos", "eos")}

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """The ids of a text, under "input_ids"; nothing is added to it."""
        return {"input_ids": list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)}

    def get_vocab(self) -> dict[str, int]:
        return dict(self._tokenizer.get_vocab())

    def convert_ids_to_tokens(self, token: int) -> str | None:
        return self._tokenizer.id_to_token(token)

    def decode(
        self, ids: Sequence[int], skip_special_tokens: bool = False, clean_up_tokenization_spaces: bool = False
    ) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def apply_chat_template(
        self, conversation: Sequence[dict[str, str]], tokenize: bool = False, add_generation_prompt: bool = False
    ) -> str:
        """The turns as the model wants them, as text."""
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        template = environment.from_string(self.chat_template or "")
        return template.render(messages=conversation, add_generation_prompt=add_generation_prompt, **self._named)
