"""Files of tensors: what reading them may raise, their names and shapes, a head's tokens."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from hsd.errors import HsdError, first_line
from hsd.models.small.head import ATTENTION, MLP, NORMS, STRAIGHT
from hsd.models.small.model import Packed

Shapes = dict[str, tuple[int, ...]]
ANOTHER = "choose the target that it was trained for"  # ends what is said of a head or an exit


@contextmanager
def reading(
    what: str, name: str, known: Callable[[Exception], str] = lambda error: ""
) -> Iterator[None]:
    """A context manager that reads a stranger's files, which may raise anything.

    Whatever they raise becomes an HsdError of one line. Tensors without a device are on the CPU,
    whatever torch's default device is.

    what: "a model", "a head". name: a folder or Hub id. known: returns the line for some
    exceptions, "" for others.
    """
    try:
        with torch.device("cpu"):
            yield
    except Exception as error:
        kind = "" if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: "
        reason = (
            f"it lacks {error}" if isinstance(error, KeyError) else f"{kind}{first_line(error)}"
        )
        if isinstance(error, torch.OutOfMemoryError):
            reason = "it does not fit in the free memory, choose a smaller pair"
        raise HsdError(known(error) or f"cannot load {what} from {name!r}: {reason}") from None


def check_tensors(
    tensors: Mapping[str, Tensor | Packed], shapes: Shapes, optional: Collection[str] = ()
) -> None:
    """Raise HsdError unless `tensors` have the names and shapes in `shapes`, and are finite.

    Optional tensors may be missing.
    """
    for name in {**shapes, **tensors}:
        wrong = ""
        tensor = tensors.get(name)
        shape = shapes.get(name)
        if tensor is None:
            wrong = "" if name in optional else "is missing"
        elif shape is None:
            wrong = "is no part of the model"
        elif tuple(tensor.shape) != shape:
            wrong = f"has shape {tuple(tensor.shape)}, where {shape} is needed"
        elif not _finite(tensor):
            wrong = "has numbers that are not finite"
        if wrong:
            raise HsdError(
                f"the tensor {name[:80]} {wrong}: fetch it again, or choose another file"
            )


def _finite(tensor: Tensor | Packed) -> bool:
    """Return whether all numbers of a tensor are finite."""
    if isinstance(tensor, Packed):
        return tensor.finite()
    return bool(tensor.sum(dtype=torch.float64).isfinite())


def drafted_ids(offsets: Tensor, rows: int) -> Tensor:
    """Return the ids that a head drafts, (n,) int64, from `d2t`.

    For each, in order, `d2t` says how far off the target's id is.

    rows: of the target's vocabulary. Raises HsdError where an id is not in it, or is there twice.
    """
    ids = offsets.long() + torch.arange(len(offsets), device="cpu")
    known = ((ids >= 0) & (ids < rows)).all() and 0 < len(ids) == len(ids.unique())
    if offsets.is_floating_point() or not known:
        raise HsdError(
            f"d2t does not lead to {len(ids):,} tokens of a vocabulary of {rows:,}: {ANOTHER}"
        )
    return ids


def head_shapes(
    hidden: int, inner: int, heads: int, groups: int, width: int, taps: int, drafted: int
) -> Shapes:
    """Return the shapes of a draft head's weights by name.

    groups: key heads. width: of a head. drafted: its tokens.
    """
    queries = heads * width
    kept = groups * width
    shapes = {
        "fc": (hidden, taps * hidden),
        **{ATTENTION.format(part): (kept, 2 * hidden) for part in "kv"},
        ATTENTION.format("q"): (queries, 2 * hidden),
        ATTENTION.format("o"): (hidden, queries),
        MLP.format("gate"): (inner, hidden),
        MLP.format("up"): (inner, hidden),
        MLP.format("down"): (hidden, inner),
        **dict.fromkeys(NORMS, (hidden,)),
        "lm_head": (drafted, hidden),
        STRAIGHT: (hidden, hidden),
        "taps_norm": (taps, hidden),
    }
    return {f"{name}.weight": shape for name, shape in shapes.items()}


def in_full(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return a head's weights, those in 8 bits as float32.

    These are bytes (rows, 34 · n) of n blocks: the largest of 32 weights in 16 bits, then each in
    127ths of it. Raises RuntimeError for another size.
    """
    blocks = {
        name: rows.reshape(len(rows), -1, 34)
        for name, rows in weights.items()
        if rows.dtype == torch.uint8
    }
    parts = {
        name: (x[..., 2:].view(torch.int8) / 127, x[..., :2].view(torch.float16))
        for name, x in blocks.items()
    }
    return weights | {
        name: (shares * largest).flatten(-2) for name, (shares, largest) in parts.items()
    }
