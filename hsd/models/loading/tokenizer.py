"""The tokenizer of a GGUF file or a folder, without `transformers`.

It does byte-level BPE, SentencePiece's BPE, special tokens and the chat template.

It has what `hsd.models.loading.text.TokenizerCodec` asks of a tokenizer, under the names of
`transformers`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from hsd.errors import HsdError, first_line
from hsd.models.loading.tensors import reading

BEGINS = "tokenizer."
SPECIAL = 3
OWN = 4  # a token that somebody added, which is found in texts as a whole
UNUSED = 5
TEMPLATES = ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
)
# names of tokens that end a turn or a text
ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "</s>")

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
# how texts are cut into words before tokens are merged, by the file's name of it; {} are digits
WORDS = (
    CONTRACTIONS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|{}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN = WORDS.replace("{}", r"\p{N}")
LLAMA = WORDS.replace("{}", r"\p{N}{1,3}")
CUTS = {
    "": None,
    "default": None,
    "gpt-2": None,
    "smollm": None,
    "qwen2": QWEN,
    "llama-bpe": LLAMA,
    "llama3": LLAMA,
    "llama-v3": LLAMA,
}


def known_tokens(fields: dict[str, Any]) -> int:
    """Return how many tokens a GGUF file's model may draw: those before the last unused ones.

    0 where the file has no list of tokens. Raises HsdError where it has something else instead.
    """
    tokens = fields.get(f"{BEGINS}ggml.tokens", [])
    kinds = fields.get(f"{BEGINS}ggml.token_type", tokens)
    if not isinstance(tokens, list) or not isinstance(kinds, list):
        raise HsdError(
            "the GGUF file's tokenizer is damaged (its tokens or their types are no list): fetch "
            "it again, or choose another file"
        )
    return next((len(kinds) - i for i, kind in enumerate(reversed(kinds)) if kind != UNUSED), 0)


def _refuse_turns(reason: str) -> None:
    """Refuse a conversation: what a template calls for turns that it does not know."""
    raise TemplateError(reason)


TEMPLATES.globals["raise_exception"] = _refuse_turns


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
        kind = str(lists.get("ggml.model"))[:40]
        cut = str(lists.get("ggml.pre", ""))[:40]
        if kind not in MAKERS or "ggml.tokens" not in lists:
            raise HsdError(
                f"the GGUF file's tokenizer is of the kind {kind!r}, and {', '.join(MAKERS)} can "
                "be read: choose another file"
            )
        if kind == BYTE_LEVEL and cut not in CUTS:
            raise HsdError(
                f"the GGUF file cuts texts as {cut!r}, and {', '.join(filter(None, CUTS))} can be "
                "read: choose another file"
            )
        try:
            tokens = dict(enumerate(lists["ggml.tokens"]))
            ids = {token: i for i, token in tokens.items()}
            if len(ids) < len(tokens) or size not in (None, len(tokens)):
                raise ValueError(f"its tokens are no list of {size or 'several'} different texts")
            self._tokenizer = MAKERS[kind](ids, lists)
            # fails for texts and large numbers
            kinds = bytes([*lists.get("ggml.token_type", [0] * len(tokens))])
            special, own = (
                [
                    AddedToken(token, normalized=False)
                    for token, of_token in zip(ids, kinds, strict=True)
                    if of_token == wanted
                ]
                for wanted in (SPECIAL, OWN)
            )
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
        self._tokenizer.add_special_tokens(special)
        self._tokenizer.add_tokens(own)
        self.eos_token_id: int | None = named["eos_token"]
        begins = lists.get("ggml.add_bos_token", kind == SENTENCEPIECE or CUTS.get(cut) == LLAMA)
        self._before = [named["bos_token"]] if begins and named["bos_token"] is not None else []
        self.all_special_ids = [ids[token.content] for token in special]
        self.added_tokens_decoder = {ids[token.content]: token for token in (*special, *own)}

    @property
    def end_ids(self) -> frozenset[int]:
        """The special tokens that end a turn or a text, known by their names."""
        ends = (self._tokenizer.token_to_id(name) for name in ENDS)
        return frozenset(i for i in ends if i in self.all_special_ids)

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
        found._before = []
        found.eos_token_id = found._tokenizer.token_to_id(end)
        return found

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        """Return the ids of a text, under "input_ids".

        The token that begins a text is added if `add_special_tokens` and the file says so.
        """
        encoded = self._tokenizer.encode(text, add_special_tokens=add_special_tokens)
        before = self._before if add_special_tokens else []
        return {"input_ids": [*before, *encoded.ids]}

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


def _byte_level(ids: dict[str, int], lists: dict[str, Any]) -> Tokenizer:
    """Return a tokenizer of bytes, whose merges are listed."""
    merges: Any = [tuple(merge.split(" ", 1)) for merge in lists["ggml.merges"]]
    cut = CUTS[str(lists.get("ggml.pre", ""))]
    tokenizer = Tokenizer(BPE(ids, merges, ignore_merges=cut == LLAMA))
    first: Any = ByteLevel(add_prefix_space=False)
    if cut:
        bytes_of_words = ByteLevel(add_prefix_space=False, use_regex=False)
        words = pre_tokenizers.Split(Regex(cut), "isolated")
        first = pre_tokenizers.Sequence([words, bytes_of_words])
    if cut == QWEN:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = first
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(ids: dict[str, int], lists: dict[str, Any]) -> Tokenizer:
    """Return a tokenizer whose tokens have scores: the pair with the best one is merged first."""
    scores = dict(zip(ids, lists["ggml.scores"], strict=True))
    merges = [
        (score, token[:i], token[i:])
        for token, score in scores.items()
        for i in range(1, len(token))
        if token[:i] in ids and token[i:] in ids
    ]
    merges.sort(key=lambda merge: (-merge[0], ids[merge[1]], ids[merge[2]]))
    pairs: Any = [(left, right) for _, left, right in merges]
    unknown = next(iter(ids))
    tokenizer = Tokenizer(
        BPE(ids, pairs, unk_token=unknown, fuse_unk=True, byte_fallback="<0x00>" in ids)
    )
    space = "▁"
    begins: list[Any] = [normalizers.Prepend(space)] if lists.get(PREFIX, True) else []
    tokenizer.normalizer = normalizers.Sequence([*begins, normalizers.Replace(" ", space)])
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace(space, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return tokenizer


BYTE_LEVEL = "gpt2"
SENTENCEPIECE = "llama"
PREFIX = "ggml.add_space_prefix"
MAKERS = {BYTE_LEVEL: _byte_level, SENTENCEPIECE: _sentencepiece}
