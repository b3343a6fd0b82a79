"""Endpoints for programs and for the page: named, typed, and with the same checks for both."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from hsd import facts
from hsd.app.presets import Preset, trace_of
from hsd.app.queue import MODEL, Endpoints
from hsd.app.race import pieces, read_plan
from hsd.app.replies import compact
from hsd.app.runs import Decoder, Kept, Watched, as_messages, messages, read, run_to_end
from hsd.audit import audit as exact_audit
from hsd.decoding.options import RunOptions
from hsd.errors import HsdError
from hsd.options.endpoint import takes
from hsd.rules import USUAL, VANILLA, find_rule
from hsd.space import Space
from hsd.trace import Trace, step_in_words

MODES = ("paired", "free")
USUAL_GAMMA = {"gamma": (0, "0 for what suits the pair")}
Finish = Callable[..., tuple[Trace, str]]


def endpoints(
    space: Space,
    known: Mapping[str, Preset],
    decoder: Decoder | None = None,
    watched: Watched | None = None,
) -> Endpoints:
    """Return all endpoints: the functions, each with the keywords of `gradio.api` for it.

    They are `/run`, `/decode`, `/race`, `/compare`, `/verify_step`, `/explain_step`, `/presets` and
    `/audit`, and `/follow` where runs are watched. Where the package `mcp` is installed they are
    tools of a language model as well, which reads their docstrings. known: the recorded runs;
    decoder: see `messages` in `runs`.
    """
    kept = Kept(space.limits.stored_traces)

    def finish(**given: Any) -> tuple[Trace, str]:
        return run_to_end(read(space, given), kept, space.limits.run_seconds, decoder)

    def decode(options: dict) -> Iterator[str]:  # type: ignore[type-arg]
        """Decode a prompt step by step.

        Each answer is a JSON text with what is new, see the page on the API.

        Args:
            options: What the tool run takes, by the same names; all but the prompt may be left out
        """
        request = read(space, _object(options))
        for message in messages(request, kept, space.limits.run_seconds, decoder):
            yield compact(message)

    def race(options: dict) -> Iterator[str]:  # type: ignore[type-arg]
        """Time plain decoding and up to four other lanes in turn.

        Each answer is a JSON text: first the header, then events with the raw records of the runs.
        A record has the counts and seconds of one run; what they say of a lane is yours to compute.

        Args:
            options: The prompt and what the lanes share, as for the tool run; rounds, how often
                each is timed (1, 3 or 5); and lanes, a list of objects with options of their own,
                such as {"rule": "hsd", "gamma": 4}
        """
        for piece in pieces(read_plan(space, _object(options)), space.limits.run_seconds):
            yield compact(piece)

    def presets() -> list[dict]:  # type: ignore[type-arg]
        """The recorded runs of this app.

        Of each: its name, title, why it is worth a look, prompt and options.
        """
        parts = ("name", "title", "why", "prompt", "options")
        return [{part: getattr(preset, part) for part in parts} for preset in known.values()]

    model = {"concurrency_id": MODEL, "concurrency_limit": 1}
    queues: dict[Callable[..., Any], dict[str, Any]] = {
        _run(finish): model,
        decode: model,
        race: model,
        _compare(finish): model,
        verify_step: {"queue": False},
        _explain_step(known, kept): {"queue": False},
        presets: {"queue": False},
        audit: {"concurrency_id": "audit", "concurrency_limit": 1},
    }
    if watched:
        queues[_follow(watched, kept)] = {"concurrency_limit": None}
    return {
        function: {"api_name": function.__name__, **queue} for function, queue in queues.items()
    }


def _object(options: Any) -> dict[str, Any]:
    if not isinstance(options, dict):
        raise HsdError('options: give an object, such as {"prompt": "Once upon a time"}')
    return options


def _run(finish: Finish) -> Callable[..., Any]:
    """Return the endpoint `/run`, with a parameter for every option.

    finish: decodes a request to its end.
    """

    @takes(RunOptions, facts.menus(), without=("trace", "engine"), unset=USUAL_GAMMA)
    def run(prompt: str, pair: str = "", with_trace: bool = True, **options: Any) -> dict[str, Any]:
        """Decode a prompt with a real model by speculative decoding, and record every decision.

        Answers {"text", "summary", "key", "trace"}: the new text; its statistics, such as
        target_calls and block_efficiency, new tokens per target call; a key by which explain_step
        finds this run for a while; and the trace, every draft, test and coin of every step.

        Args:
            prompt: What the model answers or continues
            pair: Target and draft model, by name: smollm2, or tiny, a toy; empty for the first
            with_trace: false leaves out the trace, which is long; explain_step finds it by the key
        """
        return _whole(*finish(prompt=prompt, pair=pair, **options), with_trace)

    return run


def _compare(finish: Finish) -> Callable[..., Any]:
    """Return the endpoint `/compare`. finish: decodes a request to its end."""

    @takes(RunOptions, facts.menus(), without=("trace", "engine", "shadow"), unset=USUAL_GAMMA)
    def compare(
        prompt: str,
        other: str = VANILLA["single"],
        mode: str = "paired",
        pair: str = "",
        with_trace: bool = True,
        **options: Any,
    ) -> dict:  # type: ignore[type-arg]
        """Two verification rules on the same drafts and the same coins.

        Answers {"kept", "differences", "runs"}: how many drafted tokens each rule kept; the steps,
        counted from 1, of a paired run in which they kept different numbers of tokens, which
        explain_step can explain; one run if paired, else two, as the tool run answers. One run says
        little: coins decide much of what is kept in it.

        Args:
            prompt: What the model answers or continues
            other: The rule to compare with, named as a rule
            mode: paired: one run, and the other rule judges its drafts; free: two runs, two texts
            pair: Target and draft model, by name; empty for the app's first
            with_trace: false leaves out the traces, which are long
        """
        rule = options.pop("rule")
        common = {"prompt": prompt, "pair": pair, **options}
        if mode not in MODES:
            raise HsdError(f"unknown mode {mode!r}: choose {' or '.join(MODES)}")
        trace, key = finish(**common, rule=rule, shadow=other)
        runs = [_whole(trace, key, with_trace)]
        if mode == "paired":
            judged = [
                (step.index + 1, step.kept, step.shadow.kept) for step in trace.steps if step.shadow
            ]
            kept = [sum(own for _, own, _ in judged), sum(other for _, _, other in judged)]
            differences = [i for i, own, other in judged if own != other]
            return {"kept": kept, "differences": differences, "runs": runs}
        runs.append(_whole(*finish(**common, rule=other, shadow=rule), with_trace))
        return {"kept": [run["summary"]["kept"] for run in runs], "differences": [], "runs": runs}

    return compare


def _follow(watched: Watched, kept: Kept) -> Callable[..., Any]:
    """Return the endpoint `/follow`."""

    def follow(options: dict) -> Iterator[str]:  # type: ignore[type-arg]
        """Follow a request that the watched server records, from its first step to its last.

        Each answer is a JSON text with what is new, as of the tool decode.

        Args:
            options: {"request": its name}
        """
        name = str(_object(options).get("request"))
        for message in as_messages(watched.follow(name), {"request": name}, kept):
            yield compact(message)

    return follow


def _explain_step(presets: Mapping[str, Preset], kept: Kept) -> Callable[..., Any]:
    """Return the endpoint `/explain_step`."""

    def opened(trace: Any) -> Trace:
        if isinstance(trace, dict):
            return Trace.from_json(json.dumps(trace))
        name = str(trace)
        run = trace_of(presets[name]) if name in presets else kept.get(name)
        if run is None:
            raise HsdError(
                f"{name[:40]!r} is no recorded run, and no run that is still kept: give its trace"
            )
        return run

    def explain_step(trace: dict | str, step: int) -> str:  # type: ignore[type-arg]
        """What happened in one step of a run, in plain sentences.

        What was drafted; each test with its coin, its threshold and where that comes from; what was
        kept, and what was drawn instead of the rest; what the other rule would have kept on the
        same coins; and what holds over all coins, to tell the rule's law from luck.

        Args:
            trace: A key that the tool run answered, a recorded run's name, or a whole trace
            step: Which step, counted from 1
        """
        if type(step) is not int:
            raise HsdError("step must be a whole number, counted from 1")
        return step_in_words(opened(trace), step - 1, facts.facts())

    return explain_step


def audit(vocab: int = 3, gamma: int = 3, seed: int = 0) -> dict:  # type: ignore[type-arg]
    """Exact law of every verification rule on a random small pair of models, by enumeration.

    Nothing is sampled, and nothing is luck.

    Answers {"rules", "ideal", ...}: for each rule the expected number of kept tokens, and the total
    variation between its output and the target, which is 0 up to rounding if the rule is lossless.

    Args:
        vocab: How many tokens there are, from 2 on; small, as everything is enumerated
        gamma: How many tokens are drafted per step, from 1 on
        seed: Which random pair
    """
    return exact_audit(vocab=vocab, gamma=gamma, seed=seed)


def verify_step(
    p: list[list[float]], q: list[list[float]], tokens: list[int], rule: str = USUAL
) -> dict:  # type: ignore[type-arg]
    """Judge one draft of your own by a verification rule, exactly and over all coins.

    Answers the rule's law: {"threshold", "stop", "next", "expected_kept", "forward"}. stop[t] is
    the probability that exactly t tokens are kept, next[t] the distribution of the token after
    them.

    Args:
        p: Rows of the target, one more than there are drafted tokens, each summing to 1
        q: Rows of the draft, one for each drafted token, each summing to 1
        tokens: The drafted tokens, as places in these rows from 0 on
        rule: One of the rules for a single draft, such as tokenwise, blockwise or hsd
    """
    p_rows = rows(p, "p")
    q_rows = rows(q, "q")
    vocab = p_rows.shape[1]
    if not tokens or any(not isinstance(t, int) or not 0 <= t < vocab for t in tokens):
        raise HsdError(f"tokens must be ids from 0 to {vocab - 1}, one for each row of q")
    law = find_rule(rule).law(p_rows, q_rows, torch.tensor(tokens, dtype=torch.int64, device="cpu"))
    return {
        "threshold": law.threshold.tolist(),
        "stop": law.stop.tolist(),
        "next": [law.next(t).tolist() for t in range(law.gamma + 1)],
        "expected_kept": float(law.expected_kept),
        "forward": law.forward,
    }


MAX_STEP = 100_000  # numbers in p that one request may send


def rows(values: list[list[float]], name: str) -> torch.Tensor:
    """Return rows of probabilities (n, V) as float64.

    Raises HsdError that names a row which is not a distribution.
    """
    try:
        table = torch.tensor(values, dtype=torch.float64, device="cpu")
    except (ArithmeticError, TypeError, ValueError, RuntimeError):
        table = torch.zeros(0, dtype=torch.float32, device="cpu")
    if table.ndim != 2 or not table.numel():
        raise HsdError(f"{name} must be a list of rows of equal length, all of numbers")
    if table.numel() > MAX_STEP:
        what = f"{name} has {table.numel():,} numbers, at most {MAX_STEP:,} are allowed"
        raise HsdError(f"{what}: send a smaller step")
    for number, row in enumerate(table):
        finite = bool(torch.isfinite(row).all())
        if not finite or float(row.min()) < 0 or abs(float(row.sum()) - 1) > 1e-6:
            what = f"row {number} of {name} is no distribution"
            raise HsdError(f"{what}: its entries must be 0 or more and sum to 1")
    return table


def _whole(trace: Trace, key: str, with_trace: bool) -> dict[str, Any]:
    """Return a run as `/run` answers it."""
    # the histogram's keys become text, as JSON requires
    summary = json.loads(json.dumps(trace.stats()))
    whole = {"trace": trace.model_dump(mode="json")} if with_trace else {}
    return {"text": trace.text, "summary": summary, "key": key, **whole}
