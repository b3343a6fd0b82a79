"""A whole step of this project's own loop: draft, target, rule hsd and both draws, on models with the given rows."""

from types import SimpleNamespace

from hsd.decoding.loop import Decoding
from hsd.decoding.options import RunOptions
from hsd.models import Pair
from hsd.models.table import LetterCodec, TableModel

DTYPE = "float32"  # rows are single precision in the loop


class ByPosition(TableModel):
    """Row t of its table follows t drafted tokens."""

    def row_index(self, tokens):
        return min(len(tokens), len(self.table)) - 1


def verify(p, q, tokens, uniforms, noise):
    return step(ByPosition(p.double()), ByPosition(q.double()), numbers(q, tokens, uniforms, noise))


def step(target, draft, numbers, engine="eager"):
    """The tokens of the first step after one letter."""
    gamma = len(numbers.coins(None))
    options = RunOptions(rule="hsd", gamma=gamma, max_new_tokens=gamma + 1, trace=False, engine=engine)
    decoding = Decoding(Pair("given", target, draft, LetterCodec(target.vocab_size)), "a", options, numbers)
    committed = next(decoding).tokens
    decoding.close()
    return committed


def numbers(q, tokens, uniforms, noise):
    """What stands in for the streams of random numbers; those of the draft draw the given tokens."""
    ends, shares = (rows.gather(1, tokens[:, None])[:, 0] for rows in (q.double().cumsum(1), q.double()))
    given = {"draft": ends - shares / 2, "coins": uniforms.double(), "after": noise.double().reshape(1)}
    return SimpleNamespace(**{name: lambda count, x=x: x[:count] for name, x in given.items()})
