"""The byte-level tokenizer of the embedded models: 2,048 tokens, digits alone, common names whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from hsd.errors import HsdError

VOCABULARY = 2_048
END = "<|endoftext|>"
CONTEXT = 512

# A word with its leading space, one digit, a run of signs, or white space (all but its last blank before a word).
_PIECES = r"'(?:s|t|d|m|re|ve|ll)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_TITLES = "Mom Mommy Mum Mama Dad Daddy Papa Grandma Grandpa Mr Mrs Miss"
_OPENERS = "I The She He They It But And So Then One Yes No"
_NOT_NAMES = frozenset(f"{_TITLES} {_OPENERS}".split())
_REPEATS = 3_000  # enough occurrences for " Name" to be merged into one token in some 10 MB of text


def common_names(stories: Iterable[str], count: int = 60) -> list[str]:
    """The ``count`` most frequent capitalised words that follow a lower-case word, without titles and pronouns."""
    seen: Counter[str] = Counter()
    for story in stories:
        seen.update(re.findall(r"(?<=[a-z,] )[A-Z][a-z]+\b", story))
    return [name for name, _ in seen.most_common(count + len(_NOT_NAMES)) if name not in _NOT_NAMES][:count]


def train_tokenizer(texts: Sequence[str], names: Sequence[str]) -> PreTrainedTokenizerFast:
    """Learn byte-pair merges from ``texts``; each of ``names``, with its leading space, becomes one token."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(_with_names(texts, names), trainer)
    core.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, core.token_to_id(END))]
    )  # every text begins with end-of-text, as in training
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token=END,
        eos_token=END,
        pad_token=END,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )


def _with_names(texts: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    yield from texts
    for name in names:
        yield f" {name}" * _REPEATS


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """The tokenizer saved in ``folder``. Raises HsdError if there is none."""
    if not (folder / "tokenizer.json").exists():
        raise HsdError(f"no tokenizer in {folder}: run `python -m hsd train tokenizer --out {folder.parent}` first")
    return PreTrainedTokenizerFast.from_pretrained(folder)
