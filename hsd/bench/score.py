"""Texts of a pair's target, scored by both models, for `hsd.estimate`."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hsd.decoding.loop import run
from hsd.errors import HsdError
from hsd.estimate import HSD, VANILLA, Costs, ScoredText, expected_passes, kept_chances
from hsd.models import LanguageModel, Pair
from hsd.models.machine import computing
from hsd.models.reading import RowReader
from hsd.planner.measure import pass_times
from hsd.rules import RULES
from hsd.sampling import Sampling
from hsd.trace import Scores, Trace

CHUNK = 64  # rows over the vocabulary that are in memory together
REPETITIONS = 7  # of passes that are timed


def scored_texts(
    pair: Pair,
    prompts: Sequence[tuple[str, str]],
    options: dict[str, Any],
    seeds: Sequence[int] = (0,),
) -> Iterator[ScoredText]:
    """Decode prompts plainly by the target, and yield each text with both models' numbers.

    prompts: with their kinds. options: sampling, length and more, as for `hsd.run`; temperature,
    top-k and top-p hold for target and draft. A seed is a text of its own. Raises HsdError for a
    draft that is no language model.
    """
    check_draft(pair)
    sampling = Sampling.of(options)
    for number, (prompt, kind) in enumerate(prompts, start=1):
        for seed in seeds:
            trace = run(pair, prompt, **options, system="plain", trace=False, seed=seed)
            if trace.tokens:
                before = trace.prompt.ids
                yield score(pair, before, trace.tokens, sampling, f"prompt {number}", kind)


def check_draft(pair: Pair) -> None:
    """Raise HsdError unless the draft reads a text by itself.

    A head reads the states that its target had when it drafted, which differ from pass to pass.
    """
    if _is_head(pair):
        raise HsdError(
            f"{pair.name} has no draft model of its own, and a head's numbers depend on where a "
            "pass begins: choose a pair of two language models, such as tiny or qwen-coder"
        )


def _is_head(pair: Pair) -> bool:
    """Whether the draft follows the target's states, or there is none beside the target."""
    if pair.draft is pair.target:
        return True
    session = pair.draft.start()
    follows = hasattr(session, "follow")
    session.close()
    return follows


def score(
    pair: Pair,
    before: Sequence[int],
    tokens: Sequence[int],
    sampling: Sampling,
    name: str = "",
    kind: str = "",
) -> ScoredText:
    """Return a text with the log-probability of each of its tokens under target and draft.

    before: ids of the prompt. tokens: (n,) ids that the target drew after it. sampling: applied to
    whole rows of both models.
    """
    logp, logq = map(_logs, probabilities(pair, before, tokens, sampling))
    pieces = tuple(pair.codec.piece(token) for token in tokens)
    return ScoredText(logp, logq, name, kind, pieces)


def with_scores(pair: Pair, trace: Trace) -> Trace:
    """Return a run with its tokens' probabilities, or as it is where they say nothing.

    They do for a lossless run of plain decoding or of single drafts, with a draft that reads a text
    by itself.
    """
    options = trace.setup.options
    plain = options.system == "plain"
    chain = options.system == "speculative" and options.draft.drafts == 1
    chain = chain and options.draft.proposer == "model"
    rule = RULES.get(options.rule)
    exact = plain or (rule is not None and rule.lossless)
    if not (plain or chain) or not exact or not trace.tokens or _is_head(pair):
        return trace
    sampling = Sampling(**options.sampling.model_dump())
    p, q = probabilities(pair, trace.prompt.ids, trace.tokens, sampling)
    return trace.model_copy(update={"scores": Scores(p=p, q=q)})


def passes_of(pair: Pair, trace: Trace, longest: int) -> dict[str, list[float]]:
    """Return the target's expected passes for a plainly decoded text, of vanilla and of HSD.

    A number for each draft length from 1 to `longest`, exact over drafts and coins. The result is
    empty where the draft is no language model.
    """
    if not longest or not trace.tokens or _is_head(pair):
        return {}
    sampling = Sampling(**trace.setup.options.sampling.model_dump())
    text = score(pair, trace.prompt.ids, trace.tokens, sampling)
    return {
        rule: expected_passes(kept_chances(rule, text.logp, text.logq, longest)).tolist()
        for rule in (VANILLA, HSD)
    }


def probabilities(
    pair: Pair, before: Sequence[int], tokens: Sequence[int], sampling: Sampling
) -> tuple[list[float], list[float]]:
    """Return the probability of each token under target and draft; arguments as for `score`."""
    with torch.inference_mode(), computing(pair):
        p, q = (
            _probabilities(model, pair.vocab_size, before, tokens, sampling)
            for model in (pair.target, pair.draft)
        )
    return p, q


def _probabilities(
    model: LanguageModel,
    vocabulary: int,
    before: Sequence[int],
    tokens: Sequence[int],
    sampling: Sampling,
) -> list[float]:
    reader = RowReader(model.start(), model.device, sampling, vocabulary, model.vocab_size)
    unread = list(before)
    chances = list[float]()
    for begin in range(0, len(tokens), CHUNK):
        drawn = list(tokens[begin : begin + CHUNK])
        ids = torch.tensor([*unread, *drawn[:-1]], dtype=torch.int64, device="cpu")
        rows = reader.read(ids, keep=len(drawn)).p
        places = torch.tensor(drawn, device=rows.device, dtype=torch.int64).unsqueeze(-1)
        chances += rows.gather(-1, places).squeeze(-1).tolist()
        unread = drawn[-1:]
    reader.close()
    return chances


def _logs(chances: Sequence[float]) -> NDArray[np.float64]:
    logs = [math.log(chance) if chance else -math.inf for chance in chances]
    return np.array(logs, np.float64)


def measured_costs(pair: Pair, longest: int) -> Costs:
    """Time passes of the target over 1 to `longest` + 1 tokens, and one of the draft, in turn."""
    ids = torch.arange(longest + 33, dtype=torch.int64, device="cpu") % min(
        model.vocab_size for model in pair.models
    )
    widths = range(1, longest + 2)
    with torch.inference_mode(), computing(pair):
        target, draft = pass_times((pair.target, pair.draft), ids, widths, REPETITIONS)
    return Costs({n: ms / target[1] for n, ms in target.items()}, draft[1] / target[1])
