"""Measuring what the planner needs.

These are the cost of one call of every model, and how often one keeps a token of another.

All models read the same text, which the target wrote, once (teacher forcing): at every position the
chance that model j keeps a token of model i is Σ_x min(p_i(x), p_j(x)), so one pass gives all pairs
of models, and nothing is drafted.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hsd.decoding.loop import run
from hsd.errors import HsdError
from hsd.models import LanguageModel, Pair
from hsd.models.machine import computing
from hsd.models.reading import UNCHANGED, Passes, RowReader, fitted
from hsd.planner import Models
from hsd.sampling import Sampling

WIDE = 9  # tokens in a verifying call: eight drafts and the token before them
REPETITIONS = 25

Text = tuple[list[int], list[int]]  # ids of a prompt, and of what the target wrote after it


@dataclass(frozen=True)
class Measured:
    """The planner's input in milliseconds.

    positions: the number of tokens that acceptances are means over.
    """

    models: Models
    positions: int


def measure_stack(
    pair: Pair,
    models: Sequence[LanguageModel],
    prompts: Sequence[str],
    new_tokens: int,
    sampling: Sampling,
) -> Measured:
    """Measure costs in ms and acceptances of `models`, smallest first, on texts by the target.

    Raises HsdError.
    """
    texts = [text for text in _texts(pair, prompts, new_tokens, sampling) if text[1]]
    if not texts:
        raise HsdError("the target ends every text at once: choose other prompts")
    with computing(pair):
        overlaps = [_overlaps(models, *text, sampling, pair.vocab_size) for text in texts]
        kept = torch.cat(overlaps)  # (positions, models, models)
        costs, per_token = _costs(models, max(([*prompt, *new] for prompt, new in texts), key=len))
    mean = kept.mean(0).clamp(0, 1).tolist()
    rows = tuple(tuple(mean[i][i + 1 :]) for i in range(len(models) - 1))
    return Measured(Models(costs, rows, per_token), len(kept))


def _texts(
    pair: Pair, prompts: Sequence[str], new_tokens: int, sampling: Sampling
) -> Iterator[Text]:
    """Yield (ids of the prompt, ids that the target wrote after it) for every prompt.

    The target writes at most `new_tokens` each time.
    """
    for seed, prompt in enumerate(prompts):
        trace = run(
            pair,
            prompt,
            seed=seed,
            system="plain",
            max_new_tokens=new_tokens,
            trace=False,
            **vars(sampling),
        )
        yield trace.prompt.ids, trace.tokens


def _overlaps(
    models: Sequence[LanguageModel],
    prompt: list[int],
    new: list[int],
    sampling: Sampling,
    vocabulary: int,
) -> Tensor:
    """Return Σ_x min(p_i(x), p_j(x)) for models i, j before every new token.

    The result is (new, models, models) float64.
    """
    ids = torch.tensor([*prompt, *new[:-1]], dtype=torch.int64, device="cpu")
    rows = []
    for model in models:
        session = model.start()
        logits = session.forward(ids.clamp_max(model.vocab_size - 1), keep=len(new))
        rows.append(sampling.probabilities(fitted(logits, vocabulary)).double().cpu())
        session.close()
    laws = torch.stack(rows, dim=1)  # (new, models, vocabulary)
    overlaps = [torch.minimum(laws, laws[:, i : i + 1]).sum(-1) for i in range(len(models))]
    return torch.stack(overlaps, dim=1)


def _costs(
    models: Sequence[LanguageModel], text: list[int]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return milliseconds of a call that reads one token, and of each further token it reads.

    The models take turns.
    """
    if len(text) <= WIDE:
        raise HsdError(
            f"texts of {len(text)} tokens are too short to time calls on: choose longer ones"
        )
    ids = torch.tensor(text, dtype=torch.int64, device="cpu").clamp_max(
        min(model.vocab_size for model in models) - 1
    )
    passes = pass_times(models, ids, (1, WIDE), REPETITIONS)
    further = tuple(max(0.0, (one[WIDE] - one[1]) / (WIDE - 1)) for one in passes)
    return tuple(one[1] for one in passes), further


def pass_times(
    models: Sequence[LanguageModel], ids: Tensor, widths: Sequence[int], repetitions: int
) -> list[dict[int, float]]:
    """Return for each model {width: ms of a pass over the last `width` of `ids`}.

    These are medians of `repetitions`, in which the models take turns.
    """
    context = len(ids) - max(widths)
    timings = [Passes() for _ in models]
    readers = [
        RowReader(model.start(), model.device, UNCHANGED, model.vocab_size) for model in models
    ]
    for reader in readers:
        reader.read(ids[:context], keep=1)
    for repetition in range(repetitions + 1):  # the first one warms up
        for reader, passes in zip(readers, timings, strict=True):
            reader.passes = passes if repetition else None
            for width in widths:
                reader.read(ids[context : context + width], keep=width)
                reader.settle(context)
    for reader in readers:
        reader.close()
    return [
        {n: 1e3 * statistics.median(s for width, s in passes if width == n) for n in widths}
        for passes in timings
    ]
