"""A head that drafts from the target's own hidden states, one layer deep (Li et al., EAGLE-3, arXiv 2503.01840).

What the target knew after each token, at three depths, is joined by `fc`; with the embedding of the token that followed
it enters one transformer layer, whose output tells the next token. From the second drafted token on the target knows
nothing yet, and the layer's own output takes that place. What was read that way is forgotten once the target has read
it, and read again with what the target knows.

Two additions to the published form, taken where a file has them: the hidden states are normed (`taps_norm`), and the
embedding also enters the layer's sum (`token_proj`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, cast

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from hsd.errors import HsdError
from hsd.models.base import LanguageModel, Session, View
from hsd.models.hub import Source
from hsd.models.lean import bias_of, rope_rates, rotated, turns
from hsd.models.packed import Product, packed

ARCHITECTURE = "LlamaForCausalLMEagle3"
LAYER = "midlayer."


class Knowing(Session, Protocol):
    """A session that keeps what its model knew: hidden states after some layers, (length, taps, hidden)."""

    @property
    def states(self) -> Tensor: ...
    def keep_states(self, taps: tuple[int, ...]) -> None: ...


class Embedded(LanguageModel, Protocol):
    """A target that a head can be put on. packed: as `hsd.models.packed` does its weights, and then the head's too."""

    @property
    def packed(self) -> bool: ...
    @property
    def embedding(self) -> Tensor:
        """(vocab, hidden): the rows that stand for the tokens."""
        ...


@dataclass(frozen=True)
class Shape:
    """Heads of attention, their groups, the width of each; hidden size; taps: after how many layers of the target."""

    heads: int
    groups: int
    width: int
    hidden: int
    taps: tuple[int, ...]
    theta: float
    eps: float


class HeadModel:
    """A head and the target that it belongs to. vocab: the target's ids of the tokens that it can draft, in order."""

    def __init__(
        self, shape: Shape, weights: dict[str, Tensor], target: Embedded, name: str, revision: str | None = None
    ) -> None:
        self.name, self.shape, self.target = name, shape, target
        self.revision: str | None = revision
        self.device, self.context, self.vocab_size = target.device, target.context, target.vocab_size
        self.embedding = target.embedding
        kind, place = self.embedding.dtype, self.embedding.device
        self.dtype = target.dtype
        draft_ids = torch.arange(len(weights["d2t"]), device=place)
        self.vocab = draft_ids + weights["d2t"].to(place)

        def product(*names: str) -> Product:
            rows = torch.cat([weights[name] for name in names]).to(place, kind)
            return packed(rows) if target.packed else lambda x: F.linear(x, rows)

        def norm(name: str) -> Tensor:
            return weights[name].to(place, kind)

        own = "lm_head.weight" in weights
        rows = weights["lm_head.weight"] if own else self.embedding[self.vocab]
        weights = {**weights, "lm_head.weight": rows}
        self.parameters = sum(w.numel() for name, w in weights.items() if name not in ("d2t", "t2d"))
        attention, mlp = LAYER + "self_attn.{}_proj.weight", LAYER + "mlp.{}_proj.weight"
        self.join, self.head = product("fc.weight"), product("lm_head.weight")
        self.qkv = product(*(attention.format(part) for part in "qkv"))
        self.out, self.down = product(attention.format("o")), product(mlp.format("down"))
        self.gate_up = product(mlp.format("gate"), mlp.format("up"))
        straight = LAYER + "token_proj.weight"
        self.token = product(straight) if straight in weights else None
        self.taps_norm = norm("taps_norm.weight") if "taps_norm.weight" in weights else None
        self.of_hidden, self.of_token = norm(LAYER + "hidden_norm.weight"), norm(LAYER + "input_layernorm.weight")
        self.after, self.last = norm(LAYER + "post_attention_layernorm.weight"), norm("norm.weight")
        self.rates = rope_rates(shape.theta, shape.width).to(place)

    @property
    def taps(self) -> tuple[int, ...]:
        """After how many of the target's layers it reads the hidden states."""
        return self.shape.taps

    @property
    def drafted(self) -> int | None:
        """How many tokens it can draft; None for all."""
        return len(self.vocab) if len(self.vocab) < self.vocab_size else None

    def start(self) -> HeadSession:
        return HeadSession(self)

    def normed(self, x: Tensor, weight: Tensor | None) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.shape.eps)

    def joined(self, states: Tensor) -> Tensor:
        """What the target knew, (n, taps, hidden), as one row each, (n, hidden)."""
        if self.taps_norm is not None:
            states = self.normed(states, None) * self.taps_norm
        return self.join(states.flatten(1))

    def logits(self, rows: Tensor) -> Tensor:
        """(n, hidden) to (n, vocab): tokens that cannot be drafted get -inf."""
        known = self.head(self.normed(rows, self.last))
        logits = known.new_full((len(rows), self.vocab_size), -torch.inf)
        logits[:, self.vocab] = known
        return logits


class HeadSession:
    """A text read by a head, one step behind a session of its target. See `hsd.models.base.Session`.

    Columns read with what the target knew come first; those after them stand on the head's own output.
    """

    def __init__(self, model: HeadModel) -> None:
        self._model, self._target = model, cast(Knowing, None)
        self.length = self._sure = 0
        shape = model.shape
        self._keys = self._values = model.embedding.new_empty(shape.groups, 0, shape.width)
        self._rows = model.embedding.new_empty(0, shape.hidden)  # what came out at each column

    def follow(self, target: Session) -> None:
        """Draft from what this session of the target knows. Raises HsdError where it does not tell."""
        if not hasattr(target, "keep_states"):
            raise HsdError(
                f"{self._model.name} drafts from its target's hidden states, which this system does not give"
            )
        self._target = cast(Knowing, target)
        self._target.keep_states(self._model.shape.taps)

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,); logits after the last `keep` of them, (keep, vocab)."""
        states, n, begin = self._target.states, len(tokens), self.length
        known = len(states) if self._sure == begin else 0  # after a guess, everything is one
        before = _before(n, begin, view)
        done = 0
        while done < n:  # in one pass: all that rests on nothing from the same pass
            sure = [column < known for column in before[done:]]
            many = next((i for i, is_sure in enumerate(sure) if not is_sure), len(sure))
            if not many:
                many = next((i for i, column in enumerate(before[done:]) if column >= begin + done), n - done)
                hidden = self._rows[torch.tensor(before[done : done + many])]
            else:
                hidden = self._joined(states, before[done : done + many])
                self._sure = begin + done + many
            part = slice(done, done + many)
            seen = View(view.visible[part], view.positions[part]) if view else None
            self._read(tokens[part], hidden, seen)
            done += many
        return self._model.logits(self._rows[self.length - keep : self.length])

    def _joined(self, states: Tensor, columns: list[int]) -> Tensor:
        """What the target knew at these columns; before the first there is nothing to know."""
        first = [column for column in columns if column < 0]
        known = states[columns[len(first)] : columns[-1] + 1] if len(first) < len(columns) else states[:0]
        nothing = self._model.embedding.new_zeros(len(first), len(self._model.shape.taps), self._model.shape.hidden)
        return self._model.joined(torch.cat([nothing, known.to(nothing.dtype).view(-1, *nothing.shape[1:])]))

    def _read(self, tokens: Tensor, hidden: Tensor, view: View | None) -> None:
        """One pass over n tokens with what is known or guessed of the token before each, (n, hidden)."""
        model, shape = self._model, self._model.shape
        n, begin, end = len(tokens), self.length, self.length + len(tokens)
        self._make_room(end)
        positions = view.positions if view else torch.arange(begin, end)
        cos, sin = turns(positions.to(model.rates.device), model.rates)
        embedded = model.normed(model.embedding[tokens.to(model.embedding.device)], model.of_token)
        if model.token is not None:
            hidden = hidden + model.token(embedded)
        rows = model.qkv(torch.cat([embedded, model.normed(hidden, model.of_hidden)], -1)).view(n, -1, shape.width)
        turned = rotated(rows[:, : shape.heads + shape.groups], cos.to(rows.dtype), sin.to(rows.dtype))
        self._keys[:, begin:end] = turned[:, shape.heads :].transpose(0, 1)
        self._values[:, begin:end] = rows[:, shape.heads + shape.groups :].transpose(0, 1)
        repeat = shape.heads // shape.groups
        q = turned[:, : shape.heads].view(n, shape.groups, repeat, -1).permute(1, 2, 0, 3)
        scores = q.reshape(shape.groups, repeat * n, -1) @ self._keys[:, :end].transpose(1, 2) * shape.width**-0.5
        bias = bias_of(n, end, view)
        if bias is not None:
            scores = scores + bias.repeat(repeat, 1).to(scores)
        mixed = (scores.softmax(-1) @ self._values[:, :end]).view(shape.groups, repeat, n, -1)
        x = hidden + model.out(mixed.permute(2, 0, 1, 3).reshape(n, -1))
        gate, up = model.gate_up(model.normed(x, model.after)).chunk(2, -1)
        self._rows[begin:end] = x + model.down(F.silu(gate) * up)
        self.length = end

    def crop(self, length: int) -> None:
        """Forget tokens from `length` on, and all that was read without the target's knowledge."""
        self.length = self._sure = min(length, self._sure)

    def select(self, columns: list[int]) -> None:
        """Keep these columns as far as the target knew them; those of a tree are read again."""
        same = next((i for i, column in enumerate(columns) if i != column), len(columns))
        self.crop(same)

    def close(self) -> None:
        self.length = self._sure = 0
        self._keys, self._values, self._rows = self._keys[:, :0], self._values[:, :0], self._rows[:0]

    def _make_room(self, needed: int) -> None:
        have = len(self._rows)
        if needed > have:
            more = max(have, needed - have, 256)
            self._keys, self._values = (F.pad(kept, (0, 0, 0, more)) for kept in (self._keys, self._values))
            self._rows = F.pad(self._rows, (0, 0, 0, more))


def _before(n: int, begin: int, view: View | None) -> list[int]:
    """The column of the token before each of n new ones that start at column `begin`; -1 before the first."""
    if view is None:
        return list(range(begin - 1, begin + n - 1))
    found = []
    for row, sees in enumerate(view.visible):
        earlier = sees[: begin + row].nonzero()
        found.append(int(earlier[-1]) if len(earlier) else -1)
    return found


def is_head(source: Source) -> bool:
    """Whether a folder holds a head, by its configuration."""
    if source.folder is None:
        return False
    try:
        config = json.loads((source.folder / "config.json").read_text())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and ARCHITECTURE in (config.get("architectures") or [])


def load_head(source: Source, target: Any, name: str) -> HeadModel:
    """The head in a folder, for this target. Raises HsdError, one line, if it cannot be read or is for another one."""
    assert source.folder is not None
    config = json.loads((source.folder / "config.json").read_text())
    try:
        content = (source.folder / "model.safetensors").read_bytes()
        weights = load(content)
        heads, hidden = int(config["num_attention_heads"]), int(config["hidden_size"])
        shape = Shape(
            heads=heads,
            groups=int(config["num_key_value_heads"]),
            width=int(config.get("head_dim") or hidden // heads),
            hidden=hidden,
            taps=tuple(int(tap) for tap in config["target_layers"]),
            theta=float(config["rope_theta"]),
            eps=float(config["rms_norm_eps"]),
        )
        _check(shape, target, config)
        return HeadModel(shape, weights, target, name, source.revision or sha256(content).hexdigest()[:12])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
        raise HsdError(f"the head in {source.name!r} cannot be read ({type(error).__name__}: {error})") from None


def _check(shape: Shape, target: Any, config: dict[str, Any]) -> None:
    """Raise HsdError, naming what differs, for a head of another target."""
    if not hasattr(target, "embedding"):
        raise HsdError(f"{target.name} is no model that a head can be put on")
    theirs = target.model.config.get_text_config()
    pairs = [("hidden size", shape.hidden, theirs.hidden_size), ("vocabulary", config["vocab_size"], theirs.vocab_size)]
    for what, mine, wanted in pairs:
        if mine != wanted:
            raise HsdError(f"the head is for another target: {what} {mine:,}, and {target.name} has {wanted:,}")
    if max(shape.taps) >= theirs.num_hidden_layers:  # what the last layer gives is normed, and no tap
        deepest, layers = max(shape.taps), theirs.num_hidden_layers
        reads = f"what layer {deepest} gives to the next, and {target.name} has {layers} layers"
        raise HsdError(f"the head is for another target: it reads {reads}")
