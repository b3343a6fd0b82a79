"""Encoded text and the batches drawn from it.

Every batch is a function of (seed, step) alone, so a run that is interrupted and resumed sees the same batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from hsd.errors import HsdError
from hsd.train.corpus import Source

REAL_SHARE = 0.55
DOMAIN_SHARE = {"stories": 0.5, "sums": 0.25, "functions": 0.25}


@dataclass(frozen=True)
class Encoded:
    """Documents as one flat array; document i is ``tokens[starts[i]:starts[i + 1]]`` and begins with end-of-text."""

    tokens: np.ndarray  # (N,) uint16
    starts: np.ndarray  # (documents + 1,) int64

    def row(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """``length`` tokens of documents drawn at random; a document that is too long may be entered midway."""
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


def encode(tokenizer, documents: Sequence[str]) -> Encoded:
    """Encode ``documents``, each with end-of-text before it, which also ends the document before."""
    end = tokenizer.eos_token_id
    ids = tokenizer(list(documents), add_special_tokens=False)["input_ids"]
    rows = [np.array([end, *row], dtype=np.uint16) for row in ids]
    return Encoded(np.concatenate(rows), np.cumsum([0] + [len(row) for row in rows]))


@dataclass(frozen=True)
class Mixture:
    """Training and held-out text by source name (``stories/real`` …), and the share of rows each source gets."""

    train: Mapping[str, Encoded]
    held_out: Mapping[str, Encoded]
    shares: Mapping[str, float]

    def batch(self, seed: int, step: int, rows: int, length: int) -> tuple[torch.Tensor, list[str]]:
        """``rows`` rows of ``length`` token ids and the source of each: (rows, length) int64."""
        rng = np.random.default_rng((seed, step))
        names = list(self.shares)
        weights = np.array([self.shares[name] for name in names])
        # Stratified: each source gets its share of a batch as nearly as whole rows allow.
        places = (np.arange(rows) + rng.random()) / rows * weights.sum()
        order = rng.permutation(len(names))
        picks = order[np.minimum(np.searchsorted(np.cumsum(weights[order]), places), len(names) - 1)]
        chosen = [names[i] for i in rng.permutation(picks)]
        ids = np.stack([self.train[name].row(length, rng) for name in chosen])
        return torch.from_numpy(ids.astype(np.int64)), chosen

    def validation_rows(self, name: str, rows: int, length: int) -> torch.Tensor:
        """A fixed sample of held-out rows of one source: (rows, length) int64."""
        rng = np.random.default_rng(len(name))
        ids = np.stack([self.held_out[name].row(length, rng) for _ in range(rows)])
        return torch.from_numpy(ids.astype(np.int64))

    def save(self, path: Path) -> None:
        """Write everything into one ``.npz`` file."""
        arrays = {"names": np.array(list(self.shares)), "shares": np.array(list(self.shares.values()))}
        for part, sources in (("train", self.train), ("held_out", self.held_out)):
            for name, encoded in sources.items():
                arrays[f"{part}/{name}/tokens"], arrays[f"{part}/{name}/starts"] = encoded.tokens, encoded.starts
        np.savez(path, **arrays)  # type: ignore[arg-type]  # its stub takes the names for options

    @classmethod
    def load(cls, path: Path) -> Mixture:
        """Read what ``save`` wrote. Raises HsdError if there is nothing."""
        if not path.exists():
            raise HsdError(f"no corpus {path}: run `python -m hsd train tokenizer --out {path.parent}` first")
        with np.load(path) as arrays:
            shares = {str(n): float(s) for n, s in zip(arrays["names"], arrays["shares"], strict=True)}
            parts: dict[str, dict[str, Encoded]] = {"train": {}, "held_out": {}}
            for key in arrays.files:
                if key.endswith("/tokens"):
                    part, name = key.removesuffix("/tokens").split("/", 1)
                    parts[part][name] = Encoded(arrays[key], arrays[f"{part}/{name}/starts"])
        return cls(parts["train"], parts["held_out"], shares)


def shares_of(names: Sequence[str], real_share: float = REAL_SHARE) -> dict[str, float]:
    """Half of all rows are stories; within a domain ``real_share`` is real text where both origins exist."""
    shares: dict[str, float] = {}
    for name in names:
        domain, origin = name.split("/")
        both = {f"{domain}/real", f"{domain}/generated"} <= set(names)
        part = (real_share if origin == "real" else 1 - real_share) if both else 1.0
        shares[name] = DOMAIN_SHARE[domain] * part
    return shares


def build_mixture(tokenizer, sources: Sequence[Source]) -> Mixture:
    """Encode every source that has text."""
    train = {source.name: encode(tokenizer, source.train) for source in sources}
    held_out = {source.name: encode(tokenizer, source.held_out) for source in sources}
    return Mixture(train, held_out, shares_of(list(train)))
