"""The tokenizer in a GGUF file: byte-level BPE, special tokens, the chat template."""

from typing import Any

from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as Decoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from transformers import PreTrainedTokenizerFast

from hsd.errors import HsdError, first_line

BEGINS, SPECIAL = "tokenizer.", 3


def tokenizer_of(fields: dict[str, Any], size: int | None = None) -> Any:
    """Return a tokenizer of `transformers` by the lists among a GGUF file's fields; it adds nothing to a text.

    size: how many tokens its model has. Raises HsdError for another kind of tokenizer, or a damaged one.
    """
    lists = {name.removeprefix(BEGINS): value for name, value in fields.items() if name.startswith(BEGINS)}
    if lists.get("ggml.model") != "gpt2" or not {"ggml.tokens", "ggml.merges"} <= {*lists}:
        raise HsdError("the GGUF file has no byte-level tokenizer: the portable engine reads SmolLM2's file")
    tokens, merges, kinds = _checked(lists, size)
    plain = Tokenizer(BPE({token: i for i, token in enumerate(tokens)}, merges))
    plain.pre_tokenizer, plain.decoder = ByteLevel(add_prefix_space=False), Decoder()
    special = [token for token, kind in zip(tokens, kinds, strict=False) if kind == SPECIAL]
    plain.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    places = {name: lists.get(f"ggml.{name}_token_id") for name in ("bos", "eos")}
    ends: Any = {f"{name}_token": tokens[place] for name, place in places.items() if place is not None}
    return PreTrainedTokenizerFast(tokenizer_object=plain, chat_template=lists.get("chat_template"), **ends)


def _checked(lists: dict[str, Any], size: int | None) -> tuple[list[str], list[tuple[str, str]], list[int]]:
    """Return tokens, pairs that are joined, and kinds of tokens. Raises HsdError with what does not fit together."""
    tokens, joined, kinds = lists["ggml.tokens"], lists["ggml.merges"], lists.get("ggml.token_type", [])
    _need(_all(str, tokens) and _all(str, joined), "its tokens or merges are no texts")
    _need(len({*tokens}) == len(tokens), "a token is there twice")
    _need(size in (None, len(tokens)), f"it has {len(tokens):,} tokens, and the model {size}")
    merges, known = [(one, other) for one, _, other in (merge.partition(" ") for merge in joined)], {*tokens}
    _need(all({one, other, one + other} <= known for one, other in merges), "a merge joins what is no token")
    _need(_all(int, kinds) and len(kinds) in (0, len(tokens)), f"its kinds are no list of {len(tokens):,} numbers")
    for name in ("bos", "eos"):
        found = lists.get(f"ggml.{name}_token_id", 0)
        _need(type(found) is int and 0 <= found < len(tokens), f"its {name} token is {str(found)[:40]}")
    try:
        ImmutableSandboxedEnvironment().from_string(lists.get("chat_template") or "")
    except Exception as error:  # of any kind: it is no text, or jinja2 does not understand it
        _need(False, f"its chat template cannot be read, {first_line(error)[:80]}")
    return tokens, merges, kinds


def _all(kind: type, values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


def _need(fits: bool, wrong: str) -> None:
    if not fits:
        raise HsdError(f"the GGUF file's tokenizer is damaged ({wrong}): fetch it again, or choose another file")
