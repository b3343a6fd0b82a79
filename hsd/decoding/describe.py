"""Rows of probabilities, cut to their largest entries, as parts of a trace.

The parts are nodes, branches and residuals.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hsd.draft.draft import Growth
from hsd.models.base import Codec
from hsd.rules import branch_masses
from hsd.rules.coupled import leads
from hsd.trace import Committed, Origin, Prompt
from hsd.trace.verdict import Branch, Candidate, Grown, Outcome

TOP = 8
LONG = 8192  # tokens of a row from which on it is searched by parts
PART = 64  # tokens of a part
SCALARS = (
    "ratio",
    "capped",
    "deficient",
    "excess",
    "distance",
    "joint_q",
    "asymmetry",
    "pivot",
    "entropy",
)


class Describer:
    """Turns rows and tokens into parts of a trace, with the text of each token.

    All tensors are on the CPU.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._known = dict[int, dict[str, Any]]()

    def token_fields(self, token: int, before: int | None = None) -> dict[str, Any]:
        """Return the fields of a trace that name a token: id, text, bytes.

        before: the token before it in the text.
        """
        if token not in self._known:
            raw = self._codec.bytes_of(token) if hasattr(self._codec, "bytes_of") else b""
            self._known[token] = {
                "token": token,
                "piece": self._codec.piece(token),
                "bytes": raw.hex().upper() or None,
            }
        fields = self._known[token]
        after = getattr(self._codec, "piece_after", None)
        return (
            fields
            if not after or before is None or fields["bytes"]
            else {**fields, "piece": after(token, before)}
        )

    def prompt(self, text: str, ids: list[int], forced: int = 0) -> Prompt:
        """Return a trace's `Prompt`.

        ids: all tokens before the run's own; forced: how many of the last were forced.
        """
        fields = [self.token_fields(*one) for one in zip(ids, [None, *ids], strict=False)]
        parts = {at: one["bytes"] for at, one in enumerate(fields) if one["bytes"]}
        return Prompt(
            text=text, ids=ids, pieces=[one["piece"] for one in fields], bytes=parts, forced=forced
        )

    def growth(self, tree: Growth) -> list[Grown]:
        """Return all nodes of a grown tree, in the order in which they were added."""
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
        self,
        nodes: Sequence[int],
        p: Tensor,
        q: Tensor,
        wanted: list[list[int]],
        scalars: dict[str, Any],
    ) -> list[Branch]:
        """Return a `Branch` per row of p and q (m, V).

        wanted: tokens to list first; scalars: (m,) values by field.
        """
        score = torch.maximum(p, q)
        count = min(max(TOP, *map(len, wanted)), score.shape[-1])
        top = torch.stack(
            [_top(_lift(row, tokens), count) for row, tokens in zip(score, wanted, strict=True)]
        )
        top_p = p.gather(-1, top)
        top_q = q.gather(-1, top)
        rows = zip(
            nodes,
            top.tolist(),
            top_p.tolist(),
            top_q.tolist(),
            _rest(p, top_p),
            _rest(q, top_q),
            strict=True,
        )
        return [
            Branch(
                node=node,
                top=[
                    Candidate(**self.token_fields(i), p=p, q=q)
                    for i, p, q in zip(ids, ps, qs, strict=True)
                ],
                rest_p=rest_p,
                rest_q=rest_q,
                **{name: values[i] for name, values in scalars.items()},
            )
            for i, (node, ids, ps, qs, rest_p, rest_q) in enumerate(rows)
        ]

    def outcomes(
        self, row: Tensor, p: Tensor, q: Tensor | None, first: Sequence[int], most: int = TOP
    ) -> tuple[list[Outcome], float]:
        """Return the `most` likeliest tokens of `row` (V,) and the mass of the rest.

        The tokens in `first` come first.
        """
        top = _top(_lift(row.clone(), first), min(max(most, len(first)), row.shape[-1]))
        ids = top.tolist()
        chances = row.gather(0, top)
        q_top = [None] * len(ids) if q is None else q.gather(0, top).tolist()
        values = zip(ids, chances.tolist(), p.gather(0, top).tolist(), q_top, strict=True)
        outcomes = [
            Outcome(**self.token_fields(token), probability=mass, p=pt, q=qt)
            for token, mass, pt, qt in values
        ]
        return outcomes, _rest(row[None], chances[None])[0]

    def committed(
        self, tokens: Sequence[int], kept: int, bonus: bool, before: int | None = None
    ) -> list[Committed]:
        """Return a round's committed tokens with their origin.

        These are `kept` drafted ones, then a bonus or a correction.
        """
        after: Origin = "bonus" if bonus else "correction"
        return [
            Committed(**self.token_fields(token, last), origin="draft" if i < kept else after)
            for i, (last, token) in enumerate(zip([before, *tokens], tokens, strict=False))
        ]


def scalars(p: Tensor, q: Tensor, tokens: Tensor) -> dict[str, list[Any]]:
    """Return `branch_masses` and the leads L of one draft as lists of γ numbers.

    p (γ+1, V), q (γ, V), tokens (γ,).
    """
    values = {
        name: row[: len(tokens)].tolist() for name, row in branch_masses(p, q, tokens).items()
    }
    return {**values, "lead": leads(p[: len(tokens)], q, tokens).tolist()}


def _lift(row: Tensor, tokens: Sequence[int]) -> Tensor:
    """Add 2 to the entries of `tokens` in a row of probabilities (V,), in place, and return it.

    So they come first when its entries are sorted.
    """
    for token in {*tokens}:
        row[token] += 2.0
    return row


def _top(row: Tensor, count: int) -> Tensor:
    """Return the `count` likeliest tokens of a row (V,), the likeliest first."""
    # only the parts with the largest entries need to be ranked
    if len(row) > LONG and len(row) % PART == 0:
        parts = row.view(-1, PART)
        best = parts.amax(-1).topk(count + 1).indices
        values, found = parts[best].flatten().topk(count + 1)
        if len(set(values.tolist())) > count:  # the order of equal ones is that of the whole row
            return (best[found // PART] * PART + found % PART)[:count]
    return row.topk(count).indices


def _rest(rows: Tensor, top: Tensor) -> list[float]:
    """Return the mass of each row outside its `top` entries."""
    return (rows.double().sum(-1) - top.double().sum(-1)).clamp_min(0).tolist()
