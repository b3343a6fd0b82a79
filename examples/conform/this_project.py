"""A whole step of this project's own loop: draft, target, rule hsd and both draws, on models with the given rows."""

from types import SimpleNamespace

from hsd.decoding.loop import Decoding
from hsd.decoding.options import make_options
from hsd.models import Pair
from hsd.models.table import LetterCodec, TableModel

DTYPE = "float32"  # rows are single precision in the loop


class ByPosition(TableModel):
    """Row t of its table follows t drafted tokens."""

    def row_index(self, tokens):
        return min(len(tokens), len(self.table)) - 1


def verify(p, q, tokens, uniforms, noise):
    pair = Pair("given", ByPosition(p.double()), ByPosition(q.double()), LetterCodec(p.shape[1]))
    ends = q.double().cumsum(1)
    drafted = ends.gather(1, tokens[:, None])[:, 0] - q.double().gather(1, tokens[:, None])[:, 0] / 2
    numbers = SimpleNamespace(
        draft=lambda count: drafted[:count],
        coins=lambda count: uniforms[:count].double(),
        after=lambda count: noise.double().reshape(1),
    )
    options = make_options(rule="hsd", gamma=len(tokens), max_new_tokens=len(tokens) + 1, trace=False)
    decoding = Decoding(pair, "a", options, numbers)
    committed = next(decoding).tokens
    decoding.close()
    return committed
