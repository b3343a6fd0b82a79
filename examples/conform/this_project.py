"""A whole step of this project's own loop: draft, target, rule hsd and both draws, on models with the given rows."""

from types import SimpleNamespace

import torch

from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.models import Pair
from hsd.models.base import IdCodec

DTYPE = "float32"  # rows are single precision in the loop


class ByPosition:
    """A model and a text that it reads: row t of (n, V) probabilities follows t tokens after the first."""

    name, revision, dtype, device, context = "rows", None, "float64", torch.device("cpu"), 512

    def __init__(self, rows):
        self.logits, self.length = rows.double().log(), 0
        self.parameters, self.vocab_size = rows.numel(), rows.shape[1]

    def start(self):
        return self

    def forward(self, tokens, keep, view=None):
        self.length += len(tokens)
        return self.logits[torch.arange(self.length - keep, self.length).clamp(max=len(self.logits) - 1)]

    def crop(self, length):
        self.length = length

    def close(self):
        self.length = 0


def verify(p, q, tokens, uniforms, noise):
    return step(ByPosition(p), ByPosition(q), numbers(q, tokens, uniforms, noise))


def step(target, draft, numbers, engine="eager"):
    """The tokens of the first step after one token."""
    gamma = len(numbers.coins(None))
    options = RunOptions(rule="hsd", gamma=gamma, max_new_tokens=gamma + 1, trace=False, engine=engine)
    decoding = Decoding(Pair("given", target, draft, IdCodec(target.vocab_size)), "0", options, numbers)
    committed = next(decoding).tokens
    decoding.close()
    return committed


def numbers(q, tokens, uniforms, noise):
    """What stands in for the streams of random numbers; those of the draft draw the given tokens."""
    ends, shares = (rows.gather(1, tokens[:, None])[:, 0] for rows in (q.double().cumsum(1), q.double()))
    given = {"draft": ends - shares / 2, "coins": uniforms.double(), "after": noise.double().reshape(1)}
    return SimpleNamespace(**{name: lambda count, x=x: x[:count] for name, x in given.items()})
