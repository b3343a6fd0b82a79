"""The tokenizer of a GGUF file or a folder, without `transformers`.

It does byte-level BPE, special tokens and the chat template.

It has what `hsd.models.loading.text.TokenizerCodec` asks of a tokenizer, under the names of
`transformers`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from hsd.errors import HsdError, first_line
from hsd.models.loading.tensors import reading

BEGINS = "tokenizer."
SPECIAL = 3
TEMPLATES = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)


class FileTokenizer:
    """Text to tokens and back, by the lists of a GGUF file.

    size: how many tokens its model has. Raises HsdError for another kind of tokenizer, or a damaged
    one.
    """

    def __init__(self, fields: dict[str, Any], size: int | None = None) -> None:
        lists = {
            name.removeprefix(BEGINS): value
            for name, value in fields.items()
            if name.startswith(BEGINS)
        }
        if lists.get("ggml.model") != "gpt2" or not {"ggml.tokens", "ggml.merges"} <= {*lists}:
            raise HsdError(
                "the GGUF file has no byte-level tokenizer: the portable engine reads SmolLM2's "
                "file"
            )
        try:
            tokens = dict(enumerate(lists["ggml.tokens"]))
            ids = {token: i for i, token in tokens.items()}
            if len(ids) < len(tokens) or size not in (None, len(tokens)):
                raise ValueError(f"its tokens are no list of {size or 'several'} different texts")
            merges: Any = [tuple(merge.split(" ", 1)) for merge in lists["ggml.merges"]]
            self._tokenizer = Tokenizer(BPE(ids, merges))
            # fails for texts and large numbers
            kinds = bytes([*lists.get("ggml.token_type", [0] * len(tokens))])
            special = [
                AddedToken(token, normalized=False)
                for token, k in zip(ids, kinds, strict=True)
                if k == SPECIAL
            ]
            named = {name: lists.get(f"ggml.{name}_id") for name in ("bos_token", "eos_token")}
            self._named = {
                name: "" if place is None else tokens[place] for name, place in named.items()
            }
            self.chat_template: str | None = lists.get("chat_template")
            TEMPLATES.from_string(self.chat_template or "")
        # of any kind: a merge may join what is no token, a template may be no template
        except Exception as error:
            raise HsdError(
                f"the GGUF file's tokenizer is damaged ({first_line(error)[:120]}): "
                "fetch it again, or choose another file"
            ) from None
        self._tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
        self._tokenizer.decoder = Decoder()
        self._tokenizer.add_special_tokens(special)
        self.eos_token_id: int | None = named["eos_token"]

    @classmethod
    def of(cls, folder: Path) -> "FileTokenizer":
        """Return the tokenizer in a folder, without a chat template.

        Raises HsdError if it cannot be read.
        """
        found = cls.__new__(cls)
        with reading("a tokenizer", folder.name):
            found._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
            end = config["eos_token"]
        found.chat_template = None
        found.eos_token_id = found._tokenizer.token_to_id(end)
        return found

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return the ids of a text, under "input_ids"; nothing is added to it."""
        encoded = self._tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return {"input_ids": list(encoded.ids)}

    def get_vocab(self) -> dict[str, int]:
        return self._tokenizer.get_vocab()

    def convert_ids_to_tokens(self, token: int) -> str | None:
        return self._tokenizer.id_to_token(token)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = False, **_: Any) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=skip_special_tokens))

    def apply_chat_template(
        self, turns: list[dict[str, str]], add_generation_prompt: bool = False, **_: Any
    ) -> str:
        """Return the turns of a conversation as text in the file's chat template."""
        template = TEMPLATES.from_string(self.chat_template or "")
        return template.render(
            messages=turns, add_generation_prompt=add_generation_prompt, **self._named
        )
