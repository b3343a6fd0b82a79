"""What is measured on held-out text: nats per token, and whether a story's names are predicted again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from hsd.train.network import hidden_states, logits_of, row_cross_entropy
from hsd.train.tokenizer import CONTEXT


@torch.no_grad()
def nats_per_token(model: LlamaForCausalLM, rows: Tensor, depth: int | None = None, chunk: int = 8) -> float:
    """Mean cross-entropy over ``rows`` (N, T + 1), read after ``depth`` layers (all of them by default)."""
    layer = (depth or model.config.num_hidden_layers) - 1
    losses = []
    for ids in rows.split(chunk):
        logits = logits_of(model, hidden_states(model, ids[:, :-1])[layer])
        losses.append(row_cross_entropy(logits, ids[:, 1:]))
    return torch.cat(losses).mean().item()


@dataclass(frozen=True)
class NameScore:
    """Occurrences of names that the story had already used, and how many of them were predicted."""

    occurrences: int
    predicted: int  # the name had the highest probability of all tokens
    right_name: int  # it had the highest probability of all names, whatever else might have stood there

    @property
    def top_1(self) -> float:
        """Share predicted outright."""
        return self.predicted / max(1, self.occurrences)

    @property
    def among_names(self) -> float:
        """Share in which no other name was preferred."""
        return self.right_name / max(1, self.occurrences)


@torch.no_grad()
def repeated_names(model: LlamaForCausalLM, tokenizer, stories: Sequence[str], names: Sequence[str]) -> NameScore:
    """Score every later occurrence of each of ``names`` in each story that fits the context.

    ``names`` are words; only those that are one token with their leading space count.
    """
    plain = partial(tokenizer.encode, add_special_tokens=False)
    single = {name: ids[0] for name in names if len(ids := plain(f" {name}")) == 1}
    candidates = torch.tensor(sorted(single.values()))
    total = predicted = right = 0
    for story in stories:
        ids, places = _repeats(tokenizer, story, single)
        if not places or len(ids) > CONTEXT:
            continue
        batch = torch.tensor([ids])
        logits = logits_of(model, hidden_states(model, batch)[-1])[0]  # (T, V)
        before = torch.tensor(places) - 1
        wanted = batch[0, before + 1]
        predicted += int((logits[before].argmax(-1) == wanted).sum())
        right += int((candidates[logits[before][:, candidates].argmax(-1)] == wanted).sum())
        total += len(places)
    return NameScore(total, predicted, right)


def _repeats(tokenizer, story: str, single: dict[str, int]) -> tuple[list[int], list[int]]:
    """Token ids of ``story`` after end-of-text, and the places of names seen earlier in it."""
    ids = tokenizer.encode(story)
    by_id = {token: name for name, token in single.items()}
    places = []
    seen = set(re.findall(r"\A[A-Z][a-z]+", story))  # the first word has no leading space, thus another token
    for place, token in enumerate(ids):
        name = by_id.get(token)
        if name in seen:
            places.append(place)
        if name:
            seen.add(name)
    return ids, places
