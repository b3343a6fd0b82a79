"""Races as the page and programs request them: checked, run in turn, streamed.

It knows the recorded races too. A request is one flat mapping, from a form, a program or a link:
prompt, pair and options that all lanes share; rounds; and lanes, each a mapping of its own options,
or all of them as the text of a link. See `read_plan`.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from hsd import facts
from hsd.app import device, downloads, pairs
from hsd.app.runs import BESIDE, RunRequest, gpu_seconds, query, read
from hsd.bench import Case
from hsd.bench import race as timing
from hsd.bench.measure import in_a_name
from hsd.decoding.options import RunOptions
from hsd.draft import COPIERS
from hsd.errors import HsdError
from hsd.paths import RESULTS, cached_by_file
from hsd.rules import USUAL, VANILLA
from hsd.space import Space

MOST_LANES = 5
ROUNDS = (1, 3, 5)
USUAL_ROUNDS = 3
SHARED = RunOptions.scoped("shared")
LANE = RunOptions.scoped("lane")
FUZZY = RunOptions.menus()["rules with tolerance"]
FORMAT = "hsd-race-2"
FILE = RESULTS / "race.json"
FILES = (RESULTS / "race-qwen-coder.json", FILE)
"""The recorded races of each pair; Speed opens on the first."""

MISSING = "there is no recorded race: run `python examples/reproduce/record_race.py`"
Values = Mapping[str, Any]


@dataclass(frozen=True)
class RacePlan:
    """A checked race.

    request: the shared options, as plain decoding; cases: lanes, plain first; rounds: timed ones.
    """

    request: RunRequest
    cases: tuple[Case, ...]
    rounds: int

    def link(self) -> dict[str, str]:
        """Return the parameters of a link to this race, as text."""
        shared = {name: value for name, value in query(self.request).items() if name not in LANE}
        lanes = [own(case.options) for case in self.cases[1:]]
        return {**shared, "lanes": to_link(lanes), "rounds": str(self.rounds)}

    def as_data(self) -> dict[str, Any]:
        """Return the plan as plain data.

        The seed is text: JavaScript's numbers lose digits of a large one.
        """
        o = self.request.options
        sampling = {**vars(o.sampling), "length": o.max_new_tokens}
        lanes = [
            {
                "name": case.name,
                "options": case.options,
                "own": own(case.options),
                "lossless": lossless(case.options),
            }
            for case in self.cases
        ]
        shared = {
            "prompt": self.request.prompt,
            "sampling": sampling,
            "seed": str(o.seed),
            "rounds": self.rounds,
        }
        return {**shared, "lanes": lanes, "link": self.link()}


def limits() -> dict[str, Any]:
    """Return the most lanes of a race, and how often each may be timed."""
    return {"lanes": MOST_LANES, "rounds": ROUNDS}


def lossless(options: Values) -> bool:
    """Return whether the text of a lane with these options follows the target's distribution."""
    o = RunOptions(**options)
    rule = o.find(o.rule)
    knob = rule.knob
    exact = knob and knob.exact is not None and getattr(o, knob.option) <= knob.exact
    return bool(o.system == "plain" or rule.lossless or exact)


def own(options: Values) -> dict[str, Any]:
    """Return a lane's own options, beyond the shared ones.

    These are its rule, γ, and all that differ from the default.
    """
    named = {name: value for name, value in options.items() if name in LANE}
    return {
        name: value
        for name, value in named.items()
        if name in ("rule", "gamma") or value != RunOptions.default(name)
    }


# ---- requests


def read_plan(space: Space, values: Values) -> RacePlan:
    """Check a request for a race; see the head of this file. Raises HsdError, one line.

    Plain decoding is always the first lane and is not named. A lane has the options of `LANE`;
    without γ it takes the shared one, else the pair's own. Without lanes: the vanilla rule and HSD.
    A pair that is missing and not being fetched, such as that of a recorded race, is replaced by
    another.
    """
    lanes = values.get("lanes") or [{"rule": rule} for rule in (VANILLA["single"], USUAL)]
    if isinstance(lanes, str):  # of a link, see `to_link`
        lanes = [
            dict(part.partition(":")[::2] for part in lane.split("~")) for lane in lanes.split(",")
        ]
    if not isinstance(lanes, list) or not all(isinstance(lane, dict) for lane in lanes):
        raise HsdError("lanes: give a list of mappings, such as {'rule': 'hsd', 'gamma': 4}")
    if len(lanes) >= MOST_LANES:
        raise HsdError(
            f"{len(lanes) + 1} lanes: a race has 2 to {MOST_LANES}, plain decoding among them"
        )
    rounds = str(values.get("rounds") or USUAL_ROUNDS)
    if rounds not in map(str, ROUNDS):
        choices = f"{', '.join(map(str, ROUNDS[:-1]))} or {ROUNDS[-1]}"
        raise HsdError(f"{rounds[:20]} timed runs per lane: choose {choices}")
    options = {
        RunOptions.old.get(name, name): value
        for name, value in values.items()
        if value not in (None, "")
    }
    shared = {name: options[name] for name in (*BESIDE, *SHARED) if name in options}
    shared["pair"] = downloads.stand_in(space, str(shared.get("pair", "")))
    request = read(space, {"prompt": "", **shared, "system": "plain"})
    shared |= {name: options[name] for name in ("gamma",) if name in options}
    plain = Case(lane_name(request.options), _case_options(request.options))
    others = (_lane(space, shared, lane, number) for number, lane in enumerate(lanes, start=2))
    cases = [plain, *others]
    names = [case.name for case in cases]
    counts = [names[: place + 1].count(name) for place, name in enumerate(names)]
    names = [
        f"{name} ({count})" if count > 1 else name
        for name, count in zip(names, counts, strict=True)
    ]
    named = (replace(case, name=name) for case, name in zip(cases, names, strict=True))
    return RacePlan(request, tuple(named), int(rounds))


def _lane(space: Space, shared: Values, lane: Values, number: int) -> Case:
    """Return a lane's case, without a seed, which all lanes share.

    Raises HsdError that names the lane's number.
    """
    try:
        unknown = [name for name in lane if name not in LANE]
        if unknown:
            raise HsdError(
                f"unknown option {str(unknown[0])[:40]!r}: choose from {', '.join(LANE)}"
            )
        options = read(space, {**shared, **lane}).options
        if options.system == "plain":
            raise HsdError("plain decoding is the first lane of every race: choose another system")
        return Case(lane_name(options), _case_options(options))
    except HsdError as error:
        raise HsdError(f"lane {number}: {error}") from None


def _case_options(o: RunOptions) -> dict[str, Any]:
    """Return keywords of `hsd.run` as plain data, tracing off: nothing but decoding is timed."""
    left_out = ["seed", *([] if o.prompt_as else ["prompt_as"])]
    names = ["system", *(name for name in SHARED if name not in left_out), *_own(o)]
    values = o.model_dump(mode="json")
    return {**{name: values[name] for name in names}, "trace": False}


def _own(o: RunOptions) -> list[str]:
    """Return the names of the options that say how a lane drafts and checks.

    These are its rule, γ, and what is not the default.
    """
    if o.system == "plain":
        return []
    always = ["rule"] if o.system == "hispec" or o.thresholds else ["rule", "gamma"]
    always += ["drafts"] if o.system == "speculative" else []
    always += ["tolerance", "divergence"] if o.rule in FUZZY else []
    return always + [
        name for name in LANE if name in o.given() and name not in (*always, "system", "gamma")
    ]


def lane_name(o: RunOptions) -> str:
    """Return the lane's name, such as "N-grams, HSD, γ = 5" or "Model stack, HSD, T = 3/5".

    Copies are not named by the vanilla rule: all lossless rules judge a certain draft alike.
    """
    if o.system == "plain":
        return str(facts.named("systems", "plain")["title"])
    if o.copies:
        by = COPIERS[o.proposer].short.capitalize()
    elif o.system != "speculative":
        by = facts.named("systems", o.system)["title"].split(" (")[0]
    else:
        by = ""
    if o.system == "stack":
        gamma = f"T = {o.gamma} each"
    elif o.auto:
        gamma = f"γ {o.gamma}"
    else:
        gamma = f"γ = {o.gamma}"
    drafts = f"{o.drafts} drafts, {facts.layout_names(o.tree)['words']}" if o.drafts > 1 else ""
    divergence = facts.named("divergences", o.divergence)["formula"].split("(")[0]
    words = {
        "gamma": gamma,
        "drafts": drafts,
        "exits": f"exits {in_a_name(o.exits)}",
        "thresholds": f"T = {in_a_name(o.thresholds)}",
        "tolerance": f"{divergence} ≤ {o.tolerance:g}",
        **dict.fromkeys(("rule", "proposer", "tree", "divergence"), ""),  # said already
    }
    own = [
        words.get(name, f"{name.replace('_', ' ')} {in_a_name(getattr(o, name))}")
        for name in _own(o)
    ]
    plain_copies = o.copies and o.rule == VANILLA["single"]
    rule = "" if plain_copies else facts.capitalised_name(str(o.rule))
    return ", ".join(filter(None, [by, rule, *own]))


def to_link(lanes: Sequence[Values]) -> str:
    """Return lanes as text for a link.

    It has pairs option:value joined by ~, lanes joined by commas, and lists written as 3_5.
    """
    options = RunOptions.options()
    return ",".join(
        "~".join(f"{name}:{options[name].text(value)}" for name, value in lane.items())
        for lane in lanes
    )


# ---- runs


def race(plan: RacePlan) -> Iterator[dict[str, Any]]:
    """Run all lanes and yield plain data.

    It yields {"header": facts} first, then {"events": some}, see `hsd.bench.race`.

    On ZeroGPU this runs in another process, so a plan can be pickled. Raises HsdError, before
    anything runs, for a lane that the pair has no models for.
    """
    loaded = pairs.load(plan.request.pair)
    yield {"header": timing.facts(loaded, plan.cases)}
    for events in timing.rounds(
        loaded, plan.request.prompt, plan.cases, plan.request.options.seed, plan.rounds
    ):
        yield {"events": events}


def _most_tokens(plan: RacePlan) -> int:
    """Return how many tokens a race decodes at most: every lane runs once more than it is timed."""
    return sum(int(case.options["max_new_tokens"]) for case in plan.cases) * (plan.rounds + 1)


race_on_lent_gpu = device.lent_gpu(lambda plan: gpu_seconds(_most_tokens(plan)))(race)


def pieces(plan: RacePlan, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the messages of a race: {"header"} first, and {"events"} as they come.

    What the events say of the lanes is for the reader to work out. A race that takes longer than
    `seconds` ends after its current run with {"ending": one line}. Raises HsdError.
    """
    run = race_on_lent_gpu if pairs.needs_lent_gpu(plan.request.pair) else race
    began = time.monotonic()
    with closing(run(plan)) as running:  # type: ignore[type-var]
        for piece in running:
            yield {"header": {**plan.as_data(), **piece["header"]}} if "header" in piece else piece
            if time.monotonic() - began > seconds:
                yield {
                    "ending": f"stopped after {seconds:g} s, the longest time here: ask for less"
                }
                return


# ---- recorded races


def recordings(*files: Path) -> dict[str, Any]:
    """Return the recorded races: {"races": domain, header, events and coins of each}.

    files: by default those of the repository. Raises HsdError where none is recorded.
    """
    recorded = [_recordings(file) for file in files or FILES if file.is_file()]
    if not recorded:
        raise HsdError(MISSING)
    return {"races": [one for races in recorded for one in races["races"]]}


def speeds() -> dict[str, Any]:
    """Return how fast plain decoding, vanilla and HSD were in the races of each pair.

    By the pair's name: temperature, processor, cores, load and prompts; and lanes, each with its
    rule (None: plain decoding), γ, tokens a second and how many times as fast as plain decoding it
    was. Of races at several temperatures those at the first count, of all kinds of prompts
    together. The numbers are those that Speed shows of them: medians over rounds.
    """
    by_pair: dict[str, Any] = {}
    for one in recordings()["races"]:
        header = one["header"]
        own = by_pair.setdefault(header["pair"], {"header": header, "races": []})
        if header["sampling"] == own["header"]["sampling"]:
            own["races"].append(one)
    return {pair: _speeds(**own) for pair, own in by_pair.items()}


def _speeds(header: dict[str, Any], races: list[dict[str, Any]]) -> dict[str, Any]:
    records = [
        event["record"] | {"lane": event["lane"]}
        for one in races
        for event in one["events"]
        if event.get("record")
    ]
    lanes = [
        (place, lane["options"])
        for place, lane in enumerate(header["lanes"])
        if place == 0 or lane["own"].keys() == {"rule", "gamma"}
    ]
    rates = {place: _rate([one for one in records if one["lane"] == place]) for place, _ in lanes}
    return {
        "temperature": header["sampling"]["temperature"],
        "prompts": sum(one["header"]["prompts"] for one in races),
        **{name: header["machine"][name] for name in ("processor", "cores", "load")},
        "lanes": [
            {
                "rule": options["rule"] if place else None,
                "gamma": options["gamma"] if place else None,
                "tokens_per_second": rates[place],
                "times": rates[place] / rates[0],
            }
            for place, options in lanes
        ],
    }


def _rate(records: Sequence[dict[str, Any]]) -> float:
    """Return the median over rounds of tokens a second."""
    rounds = {record["repetition"] for record in records}
    own = [[one for one in records if one["repetition"] == number] for number in rounds]
    rates: list[float] = [
        sum(one["new_tokens"] for one in group) / sum(one["seconds"] for one in group)
        for group in own
    ]
    return median(rates)


@cached_by_file()
def _recordings(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = {}
    if data.get("format") != FORMAT:
        raise HsdError(MISSING)
    return {"races": data["races"]}
