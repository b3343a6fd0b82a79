"""Endpoints for programs: named, typed, and with the same checks as the page."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
import torch

from hsd.audit import audit as exact_audit
from hsd.decoding.options import Options
from hsd.errors import HsdError
from hsd.rules import find_rule
from hsd.space import Space
from hsd.trace import Trace
from hsd.ui import arrivals, form
from hsd.ui.fetch import brief
from hsd.ui.jobs import Jobs
from hsd.ui.presets import Preset
from hsd.ui.request import read
from hsd.ui.runs import Run, trace

MODES = ("paired", "free")


Finish = Callable[..., Trace]


def add_endpoints(space: Space, presets: Mapping[str, Preset], jobs: Jobs) -> None:
    """Add `/run`, `/compare`, `/verify_step`, `/presets` and `/audit` to the app that is being built."""

    def finish(pair: str, gamma: int, **asked: Any) -> Trace:
        asked |= {"gamma": gamma} if gamma else {}  # 0: the pair's own
        return trace(jobs.finish(Run(read(space, {**asked, "pair": pair or arrivals.first(space).name}))))

    def list_presets() -> list[dict]:  # type: ignore[type-arg]
        """The recorded runs of this app: name, title, why, prompt and options of each."""
        return [
            {"name": name, "title": p.title, "why": p.why, "prompt": p.prompt, "options": p.options}
            for name, p in presets.items()
        ]

    def audit(vocab: int = 3, gamma: int = 3, seed: int = 0) -> dict:  # type: ignore[type-arg]
        """Exact law of every rule on a random small pair: E[kept] and total variation from the target."""
        with _Errors():
            return exact_audit(vocab=vocab, gamma=gamma, seed=seed)

    gr.api(_run(finish), api_name="run", concurrency_id="model", concurrency_limit=None)
    gr.api(_compare(finish), api_name="compare", concurrency_id="model", concurrency_limit=None)
    gr.api(verify_step, api_name="verify_step", queue=False)
    gr.api(list_presets, api_name="presets", queue=False)
    gr.api(audit, api_name="audit", concurrency_id="audit", concurrency_limit=1)


FIRST = ["prompt", "rule", "gamma", "length", "temperature", "top_p", "top_k", "seed", "system", "pair"]
TYPES = {"whole": int, "number": float}


def _run(finish: Finish) -> Callable[..., Any]:
    """The endpoint `/run`, with a parameter for every field of a run. finish: decodes what is asked for, to its end."""
    table = {field.name: field for field in form.RUN if field.name not in ("target", "draft")}
    order = [*FIRST, *(name for name in table if name not in FIRST)]
    types: dict[str, type] = {name: TYPES.get(table[name].kind, str) for name in order}

    def usual(name: str) -> Any:
        return 0 if name == "gamma" else getattr(Options, name, table[name].default) or types[name]()

    def run(*values: Any) -> dict:  # type: ignore[type-arg]
        """Decode `prompt`. Returns {"text", "summary", "trace"}: the new text, its statistics, every decision.

        gamma: how many tokens are drafted per step; 0 is what suits the pair: 2 for smollm2, else 5. proposer: "model",
        or "ngram", which copies drafts from the text. pair: a name; "" is the app's first. nodes: how large a grown
        tree is, the text's last token counted; 0 is drafts · gamma + 1.
        system: "speculative", "plain", "stack" (models that draft for each other) or "hispec" (early exits of the
        target). Lists are texts such as "3, 5"; "" is the default. stack: places of the models, smallest first, the
        target last. exits: after how many layers HiSpec drafts and checks. thresholds: tokens that each level below
        the target hands up at least. prompt_as: "chat" for a question to answer, "text" for a text to continue.
        level_rules: how the levels between the ends verify. divergence ("kl",
        "reverse-kl", "js", "tv"), tolerance, fuzzy_mode ("exact-first", "divergence-only") and divergence_on
        ("warped", "raw") are the settings of rule "fuzzy", draft_weight that of "ensemble", epsilon of "typical".
        """
        with _Errors():
            return _whole(finish(**dict(zip(order, values, strict=True))))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    asked = [inspect.Parameter(name, kind, default=usual(name), annotation=types[name]) for name in order]
    asked[0] = asked[0].replace(default=inspect.Parameter.empty)
    run.__signature__ = inspect.Signature(asked, return_annotation=dict)  # type: ignore[attr-defined]
    run.__annotations__ = {**types, "return": dict}  # Gradio derives the endpoint from these two
    return run


def _compare(finish: Finish) -> Callable[..., Any]:
    """The endpoint `/compare`. finish: decodes what is asked for, to its end."""

    def compare(
        prompt: str,
        rule: str = "hsd",
        other: str = "tokenwise",
        mode: str = "paired",
        gamma: int = 0,
        length: int = 64,
        temperature: float = 1.0,
        seed: int = 0,
        drafts: int = 1,
        tree: str = "paths",
        pair: str = "",
        prompt_as: str = "",
        proposer: str = "model",
    ) -> dict:  # type: ignore[type-arg]
        """Two rules on the same drafts and coins. Returns {"kept", "differences", "runs"}.

        mode "paired": one run by `rule`; `other` judges the same drafts, in each step's shadow. "free": two runs, each
        rule goes on with its own text from the same seed. kept: drafted tokens kept by each rule; differences: the
        steps (from 0) of a paired run in which the rules keep different numbers of tokens. gamma, proposer, pair: as
        for /run.
        """
        common = {"prompt": prompt, "gamma": gamma, "drafts": drafts, "tree": tree, "seed": seed}
        common |= {"length": length, "temperature": temperature, "prompt_as": prompt_as, "proposer": proposer}
        with _Errors():
            if mode not in MODES:
                raise HsdError(f"unknown mode {mode!r}: choose {' or '.join(MODES)}")
            first = finish(pair, **common, rule=rule, shadow=other)
            if mode == "paired":
                return _paired(first)
            second = finish(pair, **common, rule=other, shadow=rule)
        runs = [_whole(first), _whole(second)]
        return {"kept": [r["summary"]["kept"] for r in runs], "differences": [], "runs": runs}

    return compare


def verify_step(p: list[list[float]], q: list[list[float]], tokens: list[int], rule: str = "hsd") -> dict:  # type: ignore[type-arg]
    """Judge one draft of your own: p (γ+1 rows), q (γ rows), each summing to 1, and the γ drafted token ids.

    Returns the rule's law: {"threshold", "stop", "next", "expected_kept", "forward"}. stop[t] is the probability that
    exactly t tokens are kept, next[t] the distribution of the token after them.
    """
    with _Errors():
        law = find_rule(rule).law(rows(p, "p"), rows(q, "q"), _ids(tokens, len(p[0]) if p else 0))
    return {
        "threshold": law.threshold.tolist(),
        "stop": law.stop.tolist(),
        "next": [law.next(t).tolist() for t in range(law.gamma + 1)],
        "expected_kept": float(law.expected_kept),
        "forward": law.forward,
    }


MAX_STEP = 100_000  # numbers in p that one request may send


def rows(values: list[list[float]], name: str) -> torch.Tensor:
    """Rows of probabilities (n, V) as float64. Raises HsdError that names the row which is none."""
    width = len(values[0]) if values and isinstance(values[0], list) else 0
    if not width or any(not isinstance(row, list) or len(row) != width for row in values):
        raise HsdError(f"{name} must be a list of rows of equal length")
    if len(values) * width > MAX_STEP:
        raise HsdError(
            f"{name} has {len(values) * width:,} numbers, at most {MAX_STEP:,} are allowed: send a smaller step"
        )
    try:
        table = torch.tensor(values, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise HsdError(f"{name} has an entry that is not a number") from None
    for number, row in enumerate(table):
        if not bool(torch.isfinite(row).all()) or float(row.min()) < 0 or abs(float(row.sum()) - 1) > 1e-6:
            raise HsdError(f"row {number} of {name} is no distribution: its entries must be 0 or more and sum to 1")
    return table


def _ids(tokens: list[int], vocab: int) -> torch.Tensor:
    if not tokens or any(not isinstance(t, int) or not 0 <= t < vocab for t in tokens):
        raise HsdError(f"tokens must be ids from 0 to {vocab - 1}, one for each row of q")
    return torch.tensor(tokens)


def _whole(trace: Trace) -> dict[str, Any]:
    summary = json.loads(json.dumps(trace.stats()))  # the histogram's keys become text, as JSON wants them
    return {"text": trace.text, "summary": summary, "trace": trace.model_dump(mode="json")}


def _paired(trace: Trace) -> dict[str, Any]:
    """A run and what its shadow would have kept."""
    judged = [(step.index, step.kept, step.shadow.kept) for step in trace.steps if step.shadow]
    kept = [sum(own for _, own, _ in judged), sum(other for _, _, other in judged)]
    return {"kept": kept, "differences": [i for i, own, other in judged if own != other], "runs": [_whole(trace)]}


class _Errors:
    """Within it, bad input reaches the caller as one line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, HsdError):
            raise gr.Error(brief(error), print_exception=False) from None
