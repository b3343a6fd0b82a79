"""Text as tokens: the byte-level tokenizer of the embedded models, the encoded corpus, and batches
drawn from it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from hsd.errors import HsdError
from tiny.corpus import Texts

VOCABULARY = 2_048
END = "<|endoftext|>"
CONTEXT = 512
SHARES = {"stories": 0.5, "sums": 0.25, "functions": 0.25}  # of the rows of a batch

# A word with its leading space, one digit, a run of signs, or white space (all but its last blank
# before a word).
_PIECES = r"'(?:s|t|d|m|re|ve|ll)| ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_TITLES = "Mom Mommy Mum Mama Dad Daddy Papa Grandma Grandpa Mr Mrs Miss"
_OPENERS = "I The She He They It But And So Then One Yes No"
_NOT_NAMES = frozenset(f"{_TITLES} {_OPENERS}".split())
_REPEATS = 3_000  # enough occurrences for " Name" to be merged into one token in some 10 MB of text


def common_names(stories: Iterable[str], count: int = 60) -> list[str]:
    """The ``count`` most frequent capitalised words that follow a lower-case word, without titles
    and pronouns.
    """
    seen: Counter[str] = Counter()
    for story in stories:
        seen.update(re.findall(r"(?<=[a-z,] )[A-Z][a-z]+\b", story))
    return [
        name for name, _ in seen.most_common(count + len(_NOT_NAMES)) if name not in _NOT_NAMES
    ][:count]


def train_tokenizer(texts: Sequence[str], names: Sequence[str]) -> PreTrainedTokenizerFast:
    """Learn byte-pair merges from ``texts``; each of ``names``, with its leading space, becomes one
    token.
    """
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
    # Every text begins with end-of-text, as in training.
    core.post_processor = processors.TemplateProcessing(
        f"{END} $A", special_tokens=[(END, core.token_to_id(END))]
    )
    ends = {"bos_token": END, "eos_token": END, "pad_token": END}
    return PreTrainedTokenizerFast(
        tokenizer_object=core, **ends, model_max_length=CONTEXT, clean_up_tokenization_spaces=False
    )


def _with_names(texts: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    yield from texts
    for name in names:
        yield f" {name}" * _REPEATS


def load_tokenizer(out: Path) -> PreTrainedTokenizerFast:
    """The tokenizer of training folder ``out``. Raises HsdError if there is none."""
    if not (out / "tokenizer").is_dir():
        raise HsdError(f"no tokenizer in {out}: run the stage `text` first")
    return PreTrainedTokenizerFast.from_pretrained(out / "tokenizer")


@dataclass(frozen=True)
class Encoded:
    """Documents as one flat array; document i is ``tokens[starts[i]:starts[i + 1]]`` and begins
    with end-of-text.
    """

    tokens: np.ndarray  # (N,) uint16
    starts: np.ndarray  # (documents + 1,) int64

    def row(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """``length`` tokens of documents drawn at random; a document that is too long may be
        entered midway.
        """
        parts: list[np.ndarray] = []
        missing = length
        while missing > 0:
            which = int(rng.integers(len(self.starts) - 1))
            document = self.tokens[self.starts[which] : self.starts[which + 1]]
            spare = len(document) - length
            if not parts and spare > 0 and rng.random() < 0.5:
                document = document[int(rng.integers(spare + 1)) :]
            parts.append(document[:missing])
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def rows(self, count: int, length: int) -> Tensor:
        """A fixed sample of rows, to measure on: (count, length) int64."""
        rng = np.random.default_rng(0)
        return torch.from_numpy(
            np.stack([self.row(length, rng) for _ in range(count)]).astype(np.int64)
        )


def encode(tokenizer: PreTrainedTokenizerFast, documents: Sequence[str]) -> Encoded:
    """Encode ``documents``, with end-of-text before each, which also ends the document before."""
    end = tokenizer.eos_token_id
    ids = tokenizer(list(documents), add_special_tokens=False, verbose=False)["input_ids"]
    rows = [np.array([end, *row], dtype=np.uint16) for row in ids]
    return Encoded(np.concatenate(rows), np.cumsum([0] + [len(row) for row in rows]))


@dataclass(frozen=True)
class Corpus:
    """Encoded text by domain, for training and held out, and the share of a batch's rows that each
    text gets.
    """

    train: Mapping[str, Encoded]
    held_out: Mapping[str, Encoded]
    shares: Mapping[str, float]

    def batch(self, seed: int, step: int, rows: int, length: int) -> Tensor:
        """``rows`` rows of ``length`` token ids: (rows, length) int64. A function of seed and step
        alone, so that a run that is interrupted and resumed sees the same batches.
        """
        rng = np.random.default_rng((seed, step))
        chosen = rng.choice(list(self.shares), rows, p=list(self.shares.values()))
        return torch.from_numpy(
            np.stack([self.train[name].row(length, rng) for name in chosen]).astype(np.int64)
        )

    def save(self, path: Path) -> None:
        """Write everything into one ``.npz`` file."""
        arrays = {f"share/{name}": np.array(share) for name, share in self.shares.items()}
        for part, texts in (("train", self.train), ("held_out", self.held_out)):
            for name, text in texts.items():
                arrays |= {
                    f"{part}/{name}/tokens": text.tokens,
                    f"{part}/{name}/starts": text.starts,
                }
        np.savez(path, **arrays)

    @classmethod
    def load(cls, path: Path) -> Corpus:
        """Read what ``save`` wrote. Raises HsdError if there is nothing."""
        if not path.exists():
            raise HsdError(f"no corpus {path}: run the stage `text` first")
        with np.load(path) as arrays:
            parts: dict[str, dict[str, Encoded]] = {"train": {}, "held_out": {}}
            for part, name in (
                key.split("/")[:2] for key in arrays.files if key.endswith("/tokens")
            ):
                parts[part][name] = Encoded(
                    arrays[f"{part}/{name}/tokens"], arrays[f"{part}/{name}/starts"]
                )
            shares = {
                key.split("/")[1]: float(arrays[key])
                for key in arrays.files
                if key.startswith("share/")
            }
        return cls(parts["train"], parts["held_out"], shares)


def prepare(out: Path, texts: Mapping[str, Texts]) -> Corpus:
    """Learn the tokenizer from ``texts`` and write it and the encoded corpus into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    names = common_names(texts["stories"].train)
    tokenizer = train_tokenizer(
        [document for found in texts.values() for document in found.train], names
    )
    tokenizer.save_pretrained(out / "tokenizer")
    train = {domain: encode(tokenizer, found.train) for domain, found in texts.items()}
    held_out = {domain: encode(tokenizer, found.held_out) for domain, found in texts.items()}
    corpus = Corpus(train, held_out, SHARES)
    corpus.save(out / "corpus.npz")
    return corpus
