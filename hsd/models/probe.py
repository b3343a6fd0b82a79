"""Checks that a model's logits depend on the text before them alone.

Caches, drafts and trees rest on that.
"""

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from hsd.errors import HsdError, first_line
from hsd.models.base import View

WRONG = (RuntimeError, TypeError, ValueError, AttributeError, LookupError, AssertionError)
# differences by rounding, as a share of the logits' spread
EXACT = 2e-3  # in float32
HALF = 0.25  # in fewer bits
SIBLINGS = 8
LONGEST = 256  # tokens of a window that is passed; longer ones are left to the library's masks
FURTHER = 4  # tokens that are read after a window
NOT_FINITE = "its logits are not finite"
_FOUND: WeakKeyDictionary[nn.Module, str] = WeakKeyDictionary()


@torch.inference_mode()
def why_no_tree(model: Any) -> str:
    """Return why a `CausalModel` cannot read siblings; "" if it can.

    It takes eight small passes, once for each loaded model.

    Tokens are read in one pass, one by one after a roll-back, and as siblings: rows must be those
    of a text without a cache. Raises HsdError, with the reason, for a model whose chains are not
    exact either.
    """
    if model.model not in _FOUND:
        settings = model.model.config.get_text_config().to_dict()
        name = type(model.model).__name__
        # a window that is wider than the context hides nothing
        most = min(LONGEST, model.context - FURTHER - 1)
        sizes = [
            n for key, n in settings.items() if "window" in key and type(n) is int and 0 < n <= most
        ]
        if most < 0:
            raise HsdError(f"{name} reads {model.context} tokens at most: choose another model")
        probe = _Probe(model, 1 + min(sizes, default=0))
        if reason := attempted(probe.chain):
            advice = "choose another model"
            if reason == NOT_FINITE:
                advice = (
                    "fetch its files again, or choose dtype float32, which holds larger numbers"
                )
            raise HsdError(f"{name} cannot be decoded exactly: {reason}; {advice}")
        why = (
            "its attention or positions, such as ALiBi, count columns of the cache, and not places "
            "of a text"
        )
        _FOUND[model.model] = attempted(probe.siblings) and f"{name} cannot read siblings: {why}"
    return _FOUND[model.model]


def attempted(read: Callable[[], str]) -> str:
    """Return what `read` returns, or why it fails as text.

    Raises OutOfMemoryError if memory is too small.
    """
    try:
        return read()
    except torch.OutOfMemoryError:
        raise
    except WRONG as error:
        return f"reading with a cache fails ({first_line(error)})"


class _Probe:
    """Trial tokens from the middle of the vocabulary, where ordinary ones are.

    The first `given` tokens are only context.
    """

    def __init__(self, model: Any, given: int) -> None:
        third = max(1, model.vocab_size // 3)
        few = model.dtype.endswith(("4bit weights", "8bit weights"))
        self.model = model
        self.given = given
        self.ids = third + torch.arange(given + FURTHER, device="cpu") % third
        self.share = EXACT if model.dtype.startswith("float32") and not few else HALF
        self.session = model.start()

    def _same(self, rows: Tensor, truth: Tensor) -> bool:
        wrong = torch.where(rows == truth, 0.0, (rows - truth).float()).square().mean().sqrt()
        return bool(wrong <= self.share * truth.float().std())

    def chain(self) -> str:
        """Return what is wrong with three tokens read in a text; "" for nothing."""
        given = self.given
        session = self.session
        self.truth, short = (
            self.model.read(self.ids[:n], None, n)[0] for n in (len(self.ids), given + 1)
        )
        # -inf may stand for padding of the vocabulary
        if self.truth.isnan().any() or self.truth.isposinf().any():
            return NOT_FINITE
        if not self._same(short, self.truth[: given + 1]):
            return (
                "what it says after a token depends on the tokens that follow, as in BERT and XLNet"
            )
        session.forward(self.ids[:given], 1)
        at_once = session.forward(self.ids[given:-1], 3)
        if session._cache.get_seq_length() != session.length:
            return "it keeps no cache of what it has read"
        if not self._same(at_once, self.truth[given:-1]):
            return "tokens that are read in one pass depend on each other otherwise than in a text"
        session.crop(given)
        one_by_one = torch.cat([session.forward(token[None], 1) for token in self.ids[given:-1]])
        return (
            ""
            if self._same(one_by_one, self.truth[given:-1])
            else "tokens are read otherwise after a roll-back"
        )

    def siblings(self) -> str:
        """Return what is wrong with siblings, a child and what follows, read as a tree; or ""."""
        length = self.given + 1
        own = torch.eye(SIBLINGS + 1, dtype=torch.bool, device="cpu")
        self.session.crop(length)
        own[-1, -2] = True
        sees = torch.cat([torch.ones(SIBLINGS + 1, length, dtype=torch.bool, device="cpu"), own], 1)
        tree = torch.cat([self.ids[:1].expand(SIBLINGS - 1), self.ids[length:-1]])
        rows = self.session.forward(
            tree,
            2,
            View(
                sees,
                torch.tensor([*[length] * SIBLINGS, length + 1], dtype=torch.int64, device="cpu"),
            ),
        )
        self.session.select([*range(length), length + SIBLINGS - 1, length + SIBLINGS])
        rows = torch.cat([rows, self.session.forward(self.ids[-1:], 1)])
        return "" if self._same(rows, self.truth[length:]) else "read otherwise"
