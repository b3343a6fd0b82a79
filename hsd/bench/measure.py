"""The cases of a benchmark, run in turn on the same prompts.

They are timed inside and outside the models' forward passes.

Machines drift: cases take turns on every prompt, so that a slow minute hits all of them, and what
warms up is dropped. Every run gives one `Record`, plain data; everything that is reported is
computed from records alone.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from hsd.bench.score import passes_of
from hsd.decoding.loop import decode
from hsd.decoding.options import LEVELLED, RunOptions
from hsd.draft import COPIERS
from hsd.errors import HsdError
from hsd.estimate import HSD
from hsd.models import Pair
from hsd.rules import RULES, VANILLA, RuleSetting
from hsd.trace import Trace

Record = dict[str, Any]
Values = dict[str, Any]
Runner = Callable[[Pair, str, int], Record]
WARM = 4  # prompts that are run once before anything counts
NO_CALLS: dict[str, Any] = {"first": 0.0, "widths": {}}
# of a case that does not report its forward passes
UNTIMED = {"target": NO_CALLS, "draft": NO_CALLS}
NOTE = (  # on the numbers of a server
    "counts and seconds only, as the server tells them, with the network and its own hardware in "
    "the seconds; no decision is checked, another model may run there, and it may apply a top-k, "
    "top-p or min-p that nobody asked for"
)
SYSTEMS = ("speculative", *COPIERS, *LEVELLED)  # those that draft
# options that no case has: each repetition has a seed of its own
RECORDING = (*RunOptions.scoped("record"), "seed")
SHARED = tuple(name for name in RunOptions.scoped("shared") if name not in RECORDING)
ALWAYS = ("max_new_tokens", "temperature")  # shared options that every case states
FIRST = ("system", "gamma", "drafts")  # the options that vary slowest from case to case
ALONE = ("drafts", "tree", "nodes")  # options without meaning for a single draft


@dataclass(frozen=True)
class Case:
    """A way to decode, with a name.

    options: keywords of `hsd.run`. runner: of another library; it takes pair, prompt and seed, and
    returns at least new_tokens, target_calls, seconds and calls.
    """

    name: str
    options: dict[str, Any]
    runner: Runner | None = None


def fitting(pair: Pair, prompts: Sequence[str], new_tokens: int) -> list[tuple[int, str]]:
    """Number the prompts and return those that leave room for the new tokens.

    Raises HsdError when none does.
    """
    context = min(model.context for model in pair.models)
    numbered = [
        (i, p) for i, p in enumerate(prompts) if len(pair.codec.encode(p)) + new_tokens <= context
    ]
    if not numbered:
        wrong = f"no prompt leaves room for {new_tokens} new tokens in {context:,}"
        raise HsdError(f"{wrong}: choose fewer new tokens")
    return numbered


def measure(
    pair: Pair, cases: Sequence[Case], prompts: Sequence[tuple[int, str]], repetitions: int
) -> Iterator[Record]:
    """Run every case on every prompt `repetitions` times, and yield a record of each run.

    Seeds are equal across cases. prompts: number and text; the number makes the seed, so that a
    part of the prompts, on another process, is measured as it would be with all of them. A record
    has case, prompt, repetition, seed, the sums that statistics are made of, and the times of both
    models' calls; of plain decoding also `passes_of` its text, as far as a case by HSD drafts. A
    first run on the first `WARM` prompts is dropped.
    """
    longest = max(map(_length_by_hsd, cases), default=0)
    for repetition in range(repetitions + 1):
        for number, prompt in prompts if repetition else prompts[:WARM]:
            for case in cases:
                seed = 1_000 * repetition + number
                record = (case.runner or partial(_own, case.options, longest))(pair, prompt, seed)
                if repetition:
                    yield {
                        "case": case.name,
                        "prompt": number,
                        "repetition": repetition,
                        "seed": seed,
                        **record,
                    }


def one_draft(options: Values) -> bool:
    """Return whether every step of a case has one draft of a fixed length, by one model."""
    chain = options.get("drafts", 1) == 1 and options.get("system", "speculative") == "speculative"
    copied = options.get("proposer") in COPIERS
    return chain and not copied and isinstance(options.get("gamma", 0), int)


def _length_by_hsd(case: Case) -> int:
    """Return how long the drafts of a case are that HSD judges one by one, 0 for other cases."""
    options = case.options
    judged = one_draft(options) and options.get("rule") == HSD
    return int(options.get("gamma", 0)) if judged else 0


def _own(options: dict[str, Any], longest: int, pair: Pair, prompt: str, seed: int) -> Record:
    """Decode one prompt with this project's loop and return its record."""
    decoding = decode(pair, prompt, seed=seed, **options)
    calls = decoding.time_calls()
    for _ in decoding:
        pass
    trace = decoding.trace()
    record = {**sums(trace), "calls": calls()}
    passes = passes_of(pair, trace, longest) if options.get("system") == "plain" else {}
    return {**record, "passes": passes} if passes else record


def sums(trace: Trace) -> Record:
    """Return a run's counts and times.

    positions: how many steps kept, and drafted, at least i = 1, 2, … tokens.
    """
    stats = trace.stats()
    steps = trace.steps
    longest = max((step.depth for step in steps), default=0)
    positions = [
        [sum(s.kept >= i for s in steps), sum(s.depth >= i for s in steps)]
        for i in range(1, longest + 1)
    ]
    names = (
        "new_tokens",
        "target_calls",
        "steps",
        "drafted",
        "kept",
        "calls_below",
        "seconds",
        "time",
    )
    histogram = {str(kept): count for kept, count in stats["kept_histogram"].items()}
    return {
        **{name: stats[name] for name in names},
        "positions": positions,
        "kept_histogram": histogram,
    }


# ---- plain decoding, and every combination of the given options


@dataclass(frozen=True)
class Sweep:
    """Lists of options of which every combination is measured.

    values: option → its values in turn; an option without meaning beside the others is left out of
    a combination. A system may also be the name of a copier, see `SYSTEMS`. peers(gammas, options):
    the cases of another library, measured too.
    """

    values: Mapping[str, Sequence[Any]]
    peers: Callable[[Sequence[int], Values], list[Case]] | None = None

    def cases(self) -> list[Case]:
        """Return plain decoding and then every combination, at each temperature.

        Raises HsdError for an invalid one.
        """
        systems = self.values.get("system", ("speculative",))
        wrong = [system for system in systems if system not in SYSTEMS]
        if wrong or not systems:
            unknown = ", ".join(wrong) or "none"
            raise HsdError(f"unknown system {unknown}: choose from {', '.join(SYSTEMS)}")
        cases = []
        own = dict(self._combinations())
        for shared in self._product([name for name in SHARED if name in self.values]):
            varied = [name for name in shared if len(self.values[name]) > 1]
            at = "".join(f", {_setting(name, shared[name])}" for name in varied)
            common = {
                **{name: RunOptions.default(name) for name in ALWAYS},
                "trace": False,
                **shared,
            }
            cases.append(Case(f"plain{at}", {**common, "system": "plain"}))
            cases += [Case(name + at, {**common, **options}) for name, options in own.items()]
            if self.peers:
                gammas = self.values.get("gamma", (RunOptions.default("gamma"),))
                for case in self.peers(gammas, common):
                    cases.append(Case(case.name + at, case.options, case.runner))
        for case in cases:
            RunOptions(**case.options)
        return cases

    def _product(self, names: Sequence[str]) -> list[Values]:
        """Return every combination of the values of these options."""
        combinations = itertools.product(*map(self.values.__getitem__, names))
        return [dict(zip(names, values, strict=True)) for values in combinations]

    def _combinations(self) -> Iterator[tuple[str, Values]]:
        """Yield the case's name and the options of every combination, each once."""
        order = dict.fromkeys((*FIRST, *self.values))
        met: list[Values] = []
        names = [name for name in order if name in self.values and name not in SHARED]
        for values in self._product(names):
            options = self._applicable(values)
            # copies do not doubt
            sure = options.get("proposer") in COPIERS and len(self.values["gamma"]) > 1
            if options not in met and not (sure and options["gamma"] == "auto"):
                met.append(options)
                yield case_name(options), options

    def _applicable(self, values: Values) -> Values:
        """Return a combination without the options that do not apply to it."""
        if values.get("system") in COPIERS:
            values = {**values, "proposer": values["system"], "system": "speculative"}
        if values.get("proposer") in COPIERS:
            # drafts are certain, q = 1, and of such all lossless rules keep the same
            lossless = (
                name for name in self.values["rule"] if name in RULES and RULES[name].lossless
            )
            values = {**values, "rule": next(lossless, VANILLA["single"])}
        knob = _knob(values["rule"])
        if knob and knob.open:  # its case is called by them
            defaults = {name: RunOptions.default(name) for name in (knob.option, "divergence")}
            values = defaults | values
        kept = {name: value for name, value in values.items() if RunOptions.applies(name, values)}
        without: tuple[str, ...] = ALONE if kept.get("drafts", 1) == 1 else ()
        without += ("gamma",) if kept.get("system") in LEVELLED and kept.get("thresholds") else ()
        without += ("system",) if kept.get("system") == "speculative" else ()
        return {name: value for name, value in kept.items() if name not in without and value != ()}


def case_name(o: Mapping[str, Any]) -> str:
    """Return the name of a case, such as "hsd, γ=5", "n-grams, γ=5" or "fuzzy kl≤0.3, γ=5"."""
    system = o.get("system", "")
    rule = str(o["rule"])
    copier = COPIERS.get(o.get("proposer", ""))
    knob = _knob(rule)
    if knob and knob.option in o:
        near = RULES[rule].recipe.by_divergence
        if near:
            rule += f" {o['divergence']}≤{o['tolerance']:g}"
        else:
            rule += f" {knob.sign}={o[knob.option]:g}"
    words = {
        "exits": f"exits {in_a_name(o.get('exits', ()))}",
        "thresholds": f"T={in_a_name(o.get('thresholds', ()))}",
        "gamma": f"{'T' if system in LEVELLED else 'γ'}={o.get('gamma')}",
        "drafts": f"{o.get('tree', RunOptions.default('tree'))} K={o.get('drafts')}",
        **dict.fromkeys(("rule", "system", "tree"), ""),
        **(dict.fromkeys((knob.option, "divergence"), "") if knob else {}),
        **({"proposer": ""} if copier else {}),
    }
    settings = [_setting(name, value) for name, value in o.items() if name not in words]
    own = [words[name] for name in words if name in o]
    first = [copier.short] if copier else [system, rule]
    return ", ".join(filter(None, [*first, *own, *settings]))


def _knob(rule: str) -> RuleSetting | None:
    return RULES[rule].knob if rule in RULES else None


def _setting(name: str, value: Any) -> str:
    if name == "temperature":
        return f"T={value:g}"
    return f"{name.replace('_', '-')}={in_a_name(value)}"


def in_a_name(value: Any) -> str:
    """Format a value for the name of a case: lists as "3/5"."""
    if isinstance(value, (list, tuple)):
        return "/".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
