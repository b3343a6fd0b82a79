"""Rows of probabilities as parts of a trace: nodes, branches, residuals; each row cut to its largest entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hsd.draft.draft import Growth
from hsd.models.base import Codec
from hsd.rules import branch_masses
from hsd.rules.coupled import leads
from hsd.trace import Branch, Candidate, Committed, Grown, Origin, Outcome, Prompt

TOP = 8
SCALARS = ("ratio", "capped", "deficient", "excess", "distance", "joint_q", "asymmetry", "pivot", "entropy")


class Describer:
    """Writes tokens as the pieces of text that they are. All tensors are on the CPU."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def token_fields(self, token: int, before: int | None = None) -> dict[str, Any]:
        """Return the fields of a trace that say which token it is; before: the token before it in a text."""
        parts = self._codec.bytes_of(token) if hasattr(self._codec, "bytes_of") else b""
        after = getattr(self._codec, "piece_after", None) if before is not None and not parts else None
        piece = after(token, before) if after else self._codec.piece(token)
        return {"token": token, "piece": piece, "bytes": parts.hex().upper() or None}

    def prompt(self, text: str, ids: list[int], forced: int = 0) -> Prompt:
        """Return a trace's record of a prompt; forced: how many of its last tokens begin the text."""
        fields = [self.token_fields(*one) for one in zip(ids, [None, *ids], strict=False)]
        parts = {at: one["bytes"] for at, one in enumerate(fields) if one["bytes"]}
        return Prompt(text=text, ids=ids, pieces=[one["piece"] for one in fields], bytes=parts, forced=forced)

    def growth(self, tree: Growth) -> list[Grown]:
        """Return all tokens considered while a tree grew, in the order in which they were added."""
        levels = [0]
        for parent in tree.parents[1:]:
            levels.append(levels[parent] + 1)
        return [
            Grown(
                level=levels[node],
                parent=parent,
                **self.token_fields(tree.tokens[node]),
                q=math.exp(min(tree.sure[node] - tree.sure[parent], 0.0)),
                joint=math.exp(min(tree.sure[node], 0.0)),
                read=node in tree.logits,
                node=tree.kept.get(node),
            )
            for node, parent in enumerate(tree.parents[1:], start=1)
        ]

    def branches(
        self, nodes: Sequence[int], p: Tensor, q: Tensor, wanted: list[list[int]], scalars: dict[str, Any]
    ) -> list[Branch]:
        """Return a branch for each row of p and q, with its likeliest tokens, those in `wanted` first."""
        if not len(nodes):
            return []
        score = torch.maximum(p, q)
        for row, tokens in zip(score, wanted, strict=True):
            row[tokens] += 2.0
        count = min(max(TOP, *map(len, wanted)), score.shape[-1])
        top = score.topk(count).indices
        top_p, top_q = p.gather(-1, top), q.gather(-1, top)
        rows = zip(nodes, top.tolist(), top_p.tolist(), top_q.tolist(), _rest(p, top_p), _rest(q, top_q), strict=True)
        return [
            Branch(
                node=node,
                top=[Candidate(**self.token_fields(i), p=p, q=q) for i, p, q in zip(ids, ps, qs, strict=True)],
                rest_p=rest_p,
                rest_q=rest_q,
                **{name: values[i] for name, values in scalars.items()},
            )
            for i, (node, ids, ps, qs, rest_p, rest_q) in enumerate(rows)
        ]

    def outcomes(
        self, row: Tensor, p: Tensor, q: Tensor | None, first: Sequence[int], most: int = TOP
    ) -> tuple[list[Outcome], float]:
        """The likeliest tokens of `row` (V,), those in `first` before all others, and the mass of what is left out."""
        ranked = row.clone()
        ranked[list(first)] += 2.0
        top = ranked.topk(min(max(most, len(first)), row.shape[-1])).indices
        q_top = [None] * len(top) if q is None else q[top].tolist()
        values = zip(top.tolist(), row[top].tolist(), p[top].tolist(), q_top, strict=True)
        outcomes = [Outcome(**self.token_fields(token), probability=mass, p=pt, q=qt) for token, mass, pt, qt in values]
        return outcomes, _rest(row[None], row[top][None])[0]

    def committed(self, tokens: Sequence[int], kept: int, bonus: bool, before: int | None = None) -> list[Committed]:
        """Return the tokens that a round committed: `kept` from the draft, and what came after them, a bonus or not."""
        after: Origin = "bonus" if bonus else "correction"
        return [
            Committed(**self.token_fields(token, last), origin="draft" if i < kept else after)
            for i, (last, token) in enumerate(zip([before, *tokens], tokens, strict=False))
        ]


def scalars(p: Tensor, q: Tensor, tokens: Tensor) -> dict[str, list[Any]]:
    """Return the explanation quantities of the branches along one draft, by name: p (γ+1, V), q (γ, V)."""
    values = {name: values[: len(tokens)].tolist() for name, values in branch_masses(p, q, tokens).items()}
    return {**values, "lead": leads(p[: len(tokens)], q, tokens).tolist()}


def _rest(rows: Tensor, top: Tensor) -> list[float]:
    """Return the mass of each row outside its `top` entries."""
    return (rows.double().sum(-1) - top.double().sum(-1)).clamp_min(0).tolist()
