"""llama.cpp on the pair's own GGUF files, as cases beside ours.

It decodes plainly and with the draft, by the package `llama-cpp-python`.
"""

import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hsd.bench.measure import UNTIMED, Case, Record
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.machine import threads_of
from hsd.paths import cached_by_file
from hsd.sampling import Sampling

NAME = "llama.cpp"
AHEAD = 3  # tokens that its draft model proposes at once
ROOM = 1024  # its context with drafts is a multiple of this


def llama_cases(options: dict[str, Any], drafting: bool) -> list[Case]:
    """Return the cases of llama.cpp on the pair's files: plain, and `drafting` with its draft.

    options: as for `hsd.run`; sampling and length matter. It computes with the files' weights and
    activations of 8 bits, so its text may differ from our model's. It has as many threads as the
    pair. Its draft is greedy, and kept where the target draws the same tokens. Raises HsdError if
    the package is not installed; a case does if the target is of no file.
    """
    try:
        import llama_cpp  # noqa: F401
    except ImportError:
        raise HsdError(
            f"{NAME} is not here: run `python -m pip install llama-cpp-python`, or leave it out"
        ) from None
    plain = Case(f"{NAME}, plain", options, partial(_decoded, options, False))
    drafted = Case(f"{NAME}, with the draft", options, partial(_decoded, options, True))
    return [plain, drafted] if drafting else [plain]


@cached_by_file(most=3)
def _loaded(file: Path, draft: Path | None, threads: int, context: int) -> Any:
    """Return llama.cpp with a model, and with another one that drafts for it, or None."""
    from llama_cpp import Llama

    return Llama(
        str(file),
        n_ctx=context,
        n_threads=threads,
        n_threads_batch=threads,
        draft_model=None if draft is None else _Draft(_loaded(draft, None, threads, context)),
        logits_all=draft is not None,
        verbose=False,
    )


class _Draft:
    """A model that drafts greedily, as `llama_cpp.LlamaDraftModel` does."""

    def __init__(self, llama: Any) -> None:
        self._llama = llama

    def __call__(self, input_ids: Any, **_: Any) -> Any:
        """Return the tokens that likely follow `input_ids` (n,), at most `AHEAD`."""
        read = self._llama.input_ids[: self._llama.n_tokens]
        same = min(len(read), len(input_ids) - 1)
        known = next((i for i in range(same) if read[i] != input_ids[i]), same)
        self._llama.n_tokens = known
        self._llama.eval([int(token) for token in input_ids[known:]])
        drafted = list[int]()
        while len(drafted) < AHEAD:
            drafted.append(int(self._llama.sample(temp=0.0)))
            if len(drafted) < AHEAD:
                self._llama.eval(drafted[-1:])
        return np.array(drafted, np.intc)


def _decoded(options: dict[str, Any], drafting: bool, pair: Pair, prompt: str, seed: int) -> Record:
    """Decode one prompt with an empty cache and return its record."""
    target, draft = (getattr(model, "file", None) for model in (pair.target, pair.draft))
    if target is None or (drafting and draft in (None, target)):
        raise HsdError(f"{NAME} reads GGUF files, which {pair.name} lacks: leave the peer out")
    ids = pair.encode(prompt)
    most = options["max_new_tokens"]
    # with drafts it keeps a row of logits for each token of its context
    need = -(-(len(ids) + most + AHEAD) // ROOM) * ROOM
    context = need if drafting else pair.target.context
    llama = _loaded(target, draft if drafting else None, threads_of(pair.target), context)
    llama.reset()
    llama.set_seed(seed)
    how = {"min_p": 0.0, "repeat_penalty": 1.0, **vars(Sampling.of(options))}
    how["temp"] = how.pop("temperature")
    begin = time.perf_counter()
    count = 0
    for token in islice(llama.generate(ids, **how), most):
        count += 1
        if token in pair.codec.end_ids:
            break
    seconds = time.perf_counter() - begin
    return {"new_tokens": count, "target_calls": count, "seconds": seconds, "calls": UNTIMED}
