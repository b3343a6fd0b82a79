"""A whole step of this project's own loop: draft, target, rule hsd and both draws, on models with
the given rows.
"""

from types import SimpleNamespace

from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.decoding.system import make_system
from hsd.models import Pair
from hsd.models.base import IdCodec

DTYPE = "float32"  # rows are single precision in the loop


def by_position(rows, name):
    """A model, and the one text that it reads: row t of (n, V) probabilities follows t tokens after
    the first.
    """
    logits = rows.double().log()
    text = SimpleNamespace(length=0, crop=lambda length: None, close=lambda: None)

    def forward(tokens, keep, view=None):
        text.length += len(tokens)
        return logits[text.length - keep : text.length]

    text.forward = forward
    sizes = {"vocab_size": rows.shape[1], "parameters": rows.numel(), "context": 512}
    return SimpleNamespace(
        start=lambda: text, name=name, revision=None, dtype="float64", device=rows.device, **sizes
    )


def verify(p, q, tokens, uniforms, noise, model=by_position, engine="eager"):
    """The tokens of the first step after one token."""
    options = RunOptions(
        rule="hsd", gamma=len(tokens), max_new_tokens=len(tokens) + 1, trace=False, engine=engine
    )
    pair = Pair("given", model(p, "target"), model(q, "draft"), IdCodec(p.shape[1]))
    system = make_system(pair, options)
    decoding = Decoding(system, "0", numbers(q, tokens, uniforms, noise))
    committed = next(decoding).tokens
    decoding.close()
    return committed


def numbers(q, tokens, uniforms, noise):
    """Return streams of random numbers of which those of the draft draw the given tokens."""
    ends, shares = (
        rows.gather(1, tokens[:, None])[:, 0] for rows in (q.double().cumsum(1), q.double())
    )
    given = {
        "draft": ends - shares / 2,
        "coins": uniforms.double(),
        "after": noise.double().reshape(1),
    }
    return SimpleNamespace(**{name: lambda count, x=x: x[:count] for name, x in given.items()})
