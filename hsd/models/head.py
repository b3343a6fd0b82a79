"""A head that drafts from the target's own hidden states, one layer deep.

It is of the kind of EAGLE-3 (Li et al., arXiv 2503.01840).

What the target knew after each token, at three depths, is joined by `fc`; with the embedding of the
token that followed it enters one transformer layer, whose output predicts the next token. From the
second drafted token on the target's states are missing, and the layer's own output takes their
place. What was read that way is forgotten once the target has read it, and read again with what the
target knows.

Taken where a file has them: the hidden states are normed (`taps_norm`; `fc_norm` in EAGLE-3.1,
arXiv 2605.09992), what comes out is normed before it is fed back (`norm_output`, there too), the
embedding also enters the layer's sum (`token_proj`), and the first token has a column (both our
own). Files: `hsd.models.loading.heads`.
"""

from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import DynamicCache
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from hsd.errors import HsdError
from hsd.models.base import Session, View
from hsd.models.causal import CausalModel, CausalSession
from hsd.models.following import LAYER, Following, spread


class HeadModel:
    """A head and the target that it belongs to.

    llama: the `LlamaConfig` of its layer. taps: after how many layers of the target each hidden
    state is read. config: that of its file. alone: whether no later token sees the first one, as no
    state precedes it. stopping: how often its tokens are kept, see `hsd.draft.stopping`. vocab: the
    target's ids of the tokens that it can draft, in order. drafted: how many they are; None for
    all. products: rows times each of its matrices, by its name, plus its bias.
    """

    def __init__(
        self,
        llama: Any,
        taps: tuple[int, ...],
        config: dict[str, Any],
        weights: dict[str, Tensor],
        target: CausalModel,
        name: str,
        revision: str | None,
    ) -> None:
        self.name = name
        self.revision = revision
        self.target = target
        self.taps = taps
        self.device = target.device
        self.context = target.context
        self.vocab_size = target.vocab_size
        self.dtype = target.dtype
        self.stopping = config.get("stopping")
        self.alone = "target_layers" not in config
        self.norm_output = bool(config.get("norm_output"))
        self._eps = llama.rms_norm_eps
        theirs = target.embedding
        offsets = weights["d2t"].to(theirs.device)
        self.vocab = torch.arange(len(offsets), device=theirs.device) + offsets
        self.drafted = len(self.vocab) if len(self.vocab) < self.vocab_size else None
        if "lm_head.weight" not in weights:
            weights = {**weights, "lm_head.weight": theirs[self.vocab]}
        self.parameters = sum(
            w.numel() for name, w in weights.items() if name not in ("d2t", "t2d")
        )
        held = {name: w.to(theirs) for name, w in weights.items() if w.is_floating_point()}
        self.embedding = held.get("embed_tokens.weight", theirs)
        self.taps_norm = held.get("taps_norm.weight")
        self._weights = held
        parts = [name.removesuffix(".weight") for name in held if name.endswith(".weight")]
        self.products = {
            x: partial(F.linear, weight=held[f"{x}.weight"], bias=held.get(f"{x}.bias"))
            for x in parts
        }
        self.rotary = LlamaRotaryEmbedding(llama).to(theirs.device)
        with torch.device("meta"):
            self.attention = LlamaAttention(llama, 0)
        # in place of its own products: those read the token and the state side by side
        self.attention._modules.clear()
        vars(self.attention).update(
            {f"{x}_proj": self.products[f"{LAYER}self_attn.{x}_proj"] for x in "qkvo"}
        )

    def start(self) -> "HeadSession":
        return HeadSession(self)

    def normed(self, x: Tensor, part: str = "") -> Tensor:
        """Return the rows of x divided by their root mean square.

        They are multiplied by the weights of the norm `part` if it is given.
        """
        weight = self._weights[f"{part}.weight"] if part else None
        return F.rms_norm(x, (x.shape[-1],), weight, self._eps)


class HeadSession(Following):
    """A text read by a head, see `hsd.models.base.Session`."""

    _target: CausalSession

    def __init__(self, model: HeadModel) -> None:
        self._model = model
        self.alone = model.alone
        self.close()

    def close(self) -> None:
        self.sure = 0
        self.guessing = False
        self._cache = DynamicCache()
        self._rows = self._model.embedding[:0]  # what came out at each column, (length, hidden)

    @property
    def length(self) -> int:
        return len(self._rows)

    def follow(self, target: Session) -> None:
        """Draft from the hidden states of this session of the target.

        Raises HsdError if it does not keep them.
        """
        if not isinstance(target, CausalSession):
            raise HsdError(
                f"{self._model.name} drafts from its target's hidden states, which this system "
                "lacks"
            )
        self._target = target
        target.taps = self._model.taps

    @torch.inference_mode()
    def forward(self, tokens: Tensor, keep: int, view: View | None = None) -> Tensor:
        """Read `tokens` (n,); return logits after the last `keep`, (keep, vocab).

        They are -inf for tokens that the head cannot draft.
        """
        model = self._model
        states = self._target.states
        for before, part, sure in self.cut(len(tokens), self.length, len(states), view):
            hidden = (
                self._joined(states, before)
                if sure
                else self._rows[torch.tensor(before, dtype=torch.int64, device="cpu")]
            )
            if not sure and model.norm_output:
                hidden = model.normed(hidden, "norm")
            self._read(tokens[part], hidden, view and view.part(part, self.length))
        rows = model.products["lm_head"](model.normed(self._rows[self.length - keep :], "norm"))
        return spread(rows, model.vocab, model.vocab_size)

    def _joined(self, states: Tensor, columns: list[int]) -> Tensor:
        """Return the target's states at these columns, which follow each other, as (n, hidden).

        Before the first column the state is 0.
        """
        model = self._model
        first = columns.count(-1)
        known = self._rows.new_zeros(len(columns), len(model.taps), self._rows.shape[1])
        if first < len(columns):
            known[first:] = states[columns[first] : columns[-1] + 1]
        known = known if model.taps_norm is None else model.normed(known) * model.taps_norm
        return model.products["fc"](known.flatten(1))

    def _read(self, tokens: Tensor, hidden: Tensor, view: View | None) -> None:
        """Read n tokens in one pass.

        hidden (n, hidden): the state, known or guessed, of the token before each.
        """
        model = self._model
        place = hidden.device
        begin = self.length
        end = begin + len(tokens)
        positions = view.positions.to(place) if view else torch.arange(begin, end, device=place)
        sees = (
            view.visible.to(place)
            if view
            else hidden.new_ones(end - begin, end, dtype=torch.bool).tril(begin)
        )
        if begin and self.alone:
            sees = F.pad(sees[:, 1:], (1, 0))  # nobody sees the first token
        embedded = model.normed(model.embedding[tokens.to(place)], LAYER + "input_layernorm")
        if (straight := LAYER + "token_proj") in model.products:
            hidden = hidden + model.products[straight](embedded)
        rows = torch.cat([embedded, model.normed(hidden, LAYER + "hidden_norm")], -1)[None]
        mixed, _ = model.attention(
            rows, model.rotary(rows, positions[None]), sees[None, None], self._cache
        )
        x = hidden + mixed[0]
        wide = model.normed(x, LAYER + "post_attention_layernorm")
        gate, up, down = (
            model.products[f"{LAYER}mlp.{part}_proj"] for part in ("gate", "up", "down")
        )
        self._rows = torch.cat([self._rows, x + down(F.silu(gate(wide)) * up(wide))])

    def keep(self, length: int) -> None:
        # a negative count removes that many tokens from the end
        self._cache.crop(min(0, length - self.length))
        self._rows = self._rows[:length]
