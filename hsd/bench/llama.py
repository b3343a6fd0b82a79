"""llama.cpp on the same published file, as a case beside ours.

It decodes plainly, by the package `llama-cpp-python`.
"""

import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from hsd.bench.measure import UNTIMED, Case, Record
from hsd.errors import HsdError
from hsd.models import Pair
from hsd.models.loading import fetch
from hsd.models.machine import threads_of
from hsd.paths import cached_by_file
from hsd.sampling import Sampling

NAME = "llama.cpp"
MODEL = "smollm2"  # whose published file it reads


def llama_case(options: dict[str, Any]) -> Case:
    """Return the case of llama.cpp on the published file.

    options: as for `hsd.run`; sampling and length matter. It computes with the file's weights and
    activations of 8 bits, so its text may differ from our model's. It has as many threads as the
    pair. Raises HsdError if the package is not installed or the file not fetched.
    """
    file = fetch.fetched_file(MODEL)
    if not file:
        wanted = f"run `python -m hsd fetch {MODEL}`, or leave the peer out"
        raise HsdError(f"{NAME} reads the published file: {wanted}")
    try:
        import llama_cpp  # noqa: F401
    except ImportError:
        raise HsdError(
            f"{NAME} is not here: run `python -m pip install llama-cpp-python`, or leave it out"
        ) from None
    return Case(f"{NAME}, plain", options, partial(_decoded, file, options))


@cached_by_file(most=1)
def _loaded(file: Path, threads: int, context: int) -> Any:
    from llama_cpp import Llama

    return Llama(
        str(file), n_ctx=context, n_threads=threads, n_threads_batch=threads, verbose=False
    )


def _decoded(file: Path, options: dict[str, Any], pair: Pair, prompt: str, seed: int) -> Record:
    """Decode one prompt with an empty cache and return its record."""
    if pair.name != MODEL:
        raise HsdError(f"{NAME} reads the file of pair {MODEL}: leave the peer out for {pair.name}")
    ids = pair.encode(prompt)
    most = options["max_new_tokens"]
    llama = _loaded(file, threads_of(pair.target), pair.target.context)
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
