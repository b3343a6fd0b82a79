"""Races as the page and programs request them: checked, run in turn, streamed; and the recorded races.

A request is one flat mapping, from a form, a program or a link: prompt, pair and options that all lanes share;
rounds; and lanes, each a mapping of its own options, or all of them as the text of a link. See `read_plan`.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hsd import facts
from hsd.app import device, downloads, pairs, servers
from hsd.app.request import BESIDE, Request, query, read
from hsd.app.runs import LOAD_SECONDS, TOKEN_SECONDS
from hsd.bench import Case
from hsd.bench import race as timing
from hsd.bench.cases import in_a_name
from hsd.bench.race import Event
from hsd.bench.race_report import lossless, report
from hsd.decoding.options import RunOptions
from hsd.draft import COPIERS
from hsd.errors import HsdError
from hsd.paths import RESULTS
from hsd.rules import USUAL, VANILLA
from hsd.space import Space

MOST_LANES = 5
ROUNDS, USUAL_ROUNDS = (1, 3, 5), 3
USUAL_RULES = (VANILLA["single"], USUAL)
SHARED = RunOptions.scoped("shared")
LANE = RunOptions.scoped("lane")
FUZZY = RunOptions.menus()["rules with tolerance"]
FORMAT = "hsd-race-2"
FILE = RESULTS / "race.json"
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """A race that may be run. request: what the lanes share, as plain decoding; cases: the lanes, plain first.

    addresses: of those that are a server's, by name.
    """

    request: Request
    cases: tuple[Case, ...]
    rounds: int
    addresses: Mapping[str, servers.Address]

    def link(self) -> dict[str, str]:
        """The parameters of the link that runs it again. A server stays out of links."""
        shared = {name: value for name, value in query(self.request).items() if name not in LANE}
        return {**shared, "lanes": ",".join(self._linked()), "rounds": str(self.rounds)}

    def _linked(self) -> Iterator[str]:
        """The lanes as a link has them: option:value~option:value; lists as 3_5. See `from_link`."""
        for options in (own(case.options) for case in self.cases[1:] if case.name not in self.addresses):
            yield "~".join(f"{name}:{RunOptions.options()[name].text(value)}" for name, value in options.items())

    def described(self) -> dict[str, Any]:
        """What the page must know about it. The seed is text: JavaScript's numbers lose digits of a large one."""
        o = self.request.options
        sampling = {"temperature": o.temperature, "top_p": o.top_p, "top_k": o.top_k, "length": o.max_new_tokens}
        lanes = [{"name": c.name, "options": c.options, "own": own(c.options), **self._kind(c)} for c in self.cases]
        shared = {"prompt": self.request.prompt, "sampling": sampling, "seed": str(o.seed), "rounds": self.rounds}
        return {**shared, "lanes": lanes, "link": self.link()}

    def _kind(self, case: Case) -> dict[str, Any]:
        """Whether its text follows the target's distribution; for a server this is unknown."""
        return {"served": True} if case.name in self.addresses else {"lossless": lossless(case)}

    def arguments(self) -> tuple[dict[str, Any], str, list[dict[str, Any]], int, int]:
        """What `race` is called with, as plain data."""
        known = {name: asdict(address) for name, address in self.addresses.items()}
        lanes = [{"name": c.name, "options": c.options, "address": known.get(c.name)} for c in self.cases]
        return asdict(self.request.pair), self.request.prompt, lanes, self.request.options.seed, self.rounds


def own(options: Values) -> dict[str, Any]:
    """A lane's own options, beyond the shared ones: its rule, its γ, and all that differ from the default."""
    said = (name for name in options if name in LANE)
    return {n: options[n] for n in said if n in ("rule", "gamma") or options[n] != RunOptions.default(n)}


# ---- what is asked


def read_plan(space: Space, asked: Values) -> Plan:
    """Check a request. Plain decoding is always the first lane and is not named. Raises HsdError, one line.

    A pair that is missing and not being fetched, such as that of a recorded race, is replaced by another.

    A lane has the options of `LANE`, or, where a server may be named, url and model. A lane without γ takes the shared
    one, else the pair's own. Without lanes: the vanilla rule and HSD.
    """
    lanes = asked.get("lanes") or [{"rule": rule} for rule in USUAL_RULES]
    lanes = from_link(lanes) if isinstance(lanes, str) else lanes
    if not isinstance(lanes, list) or not all(isinstance(lane, dict) for lane in lanes):
        raise HsdError("lanes: give a list of mappings, such as {'rule': 'hsd', 'gamma': 4}")
    if len(lanes) >= MOST_LANES:
        raise HsdError(f"{len(lanes) + 1} lanes: a race has 2 to {MOST_LANES}, plain decoding among them")
    rounds = str(asked.get("rounds") or USUAL_ROUNDS)
    if rounds not in map(str, ROUNDS):
        raise HsdError(f"{rounds[:20]} timed runs per lane: choose {', '.join(map(str, ROUNDS[:-1]))} or {ROUNDS[-1]}")
    given = {RunOptions.old.get(name, name): value for name, value in asked.items() if value not in (None, "")}
    shared = {name: given[name] for name in (*BESIDE, *SHARED) if name in given}
    shared["pair"] = downloads.stand_in(space, str(shared.get("pair", "")))
    request = read(space, {"prompt": "", **shared, "system": "plain"})
    gamma = {"gamma": given["gamma"]} if "gamma" in given else {}
    found = [_lane(space, {**shared, **gamma}, lane, n) for n, lane in enumerate(lanes, start=2)]
    cases = _cases([request.options, *found], request.options)
    addresses = {c.name: one for c, one in zip(cases[1:], found, strict=True) if isinstance(one, servers.Address)}
    return Plan(request, cases, int(rounds), addresses)


def _lane(space: Space, shared: Values, lane: Values, number: int) -> RunOptions | servers.Address:
    try:
        if "url" in lane:
            return servers.read(space, lane["url"], lane.get("model"))
        unknown = [name for name in lane if name not in LANE]
        if unknown:
            raise HsdError(f"unknown option {str(unknown[0])[:40]!r}: choose from {', '.join(LANE)}")
        options = read(space, {**shared, **lane}).options
        if options.system == "plain":
            raise HsdError("plain decoding is the first lane of every race: choose another system")
        return options
    except HsdError as error:
        raise HsdError(f"lane {number}: {error}") from None


def _cases(lanes: Sequence[RunOptions | servers.Address], shared: RunOptions) -> tuple[Case, ...]:
    """The lanes as cases of a benchmark. The seed is not among their options: it is the same for all."""
    seen: Counter[str] = Counter()
    cases = []
    for lane in lanes:
        if isinstance(lane, servers.Address):
            name, options = f"Server, {lane.model[:60]}" if lane.model else "Server", _case_options(shared)
            del options["system"]  # it is not known what decodes there
        else:
            name, options = lane_name(lane), _case_options(lane)
        seen[name] += 1
        cases.append(Case(f"{name} ({seen[name]})" if seen[name] > 1 else name, options))
    return tuple(cases)


def _case_options(o: RunOptions) -> dict[str, Any]:
    """Keywords of `hsd.run`, tracing off: nothing but decoding is timed. Plain data: lists, no tuples."""
    names = ["system", *(name for name in SHARED if name != "seed"), *_own(o)]
    found = {name: getattr(o, name) for name in names if name != "prompt_as" or o.prompt_as}
    return {**{k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}, "trace": False}


def _own(o: RunOptions) -> list[str]:
    """The options that say how a lane drafts and checks: its rule, γ where it has one, and what is not as usual."""
    if o.system == "plain":
        return []
    always = ["rule"] if o.system == "hispec" or o.thresholds else ["rule", "gamma"]
    always += ["drafts"] if o.system == "speculative" else []
    always += ["tolerance", "divergence"] if o.rule in FUZZY else []
    more = [n for n in LANE if n not in (*always, "system", "gamma") and getattr(o, n) != RunOptions.default(n)]
    return [*always, *more]


def lane_name(o: RunOptions) -> str:
    """What the lane is called, such as "HSD, γ = 5", "N-grams, HSD, γ = 5" or "Model stack, HSD, T = 3/5"."""
    if o.system == "plain":
        return str(facts.named("systems", "plain")["title"])
    by = facts.named("systems", o.system)["title"].split(" (")[0] if o.system != "speculative" else ""
    by = COPIERS[o.proposer].short.capitalize() if o.copies else by
    words = {
        "gamma": f"T = {o.gamma} each" if o.system == "stack" else f"γ {o.gamma}" if o.auto else f"γ = {o.gamma}",
        "drafts": f"{o.drafts} drafts, {facts.layout_names(o.tree)['words']}" if o.drafts > 1 else "",
        "exits": f"exits {in_a_name(o.exits)}",
        "thresholds": f"T = {in_a_name(o.thresholds)}",
        "tolerance": f"{facts.named('divergences', o.divergence)['formula'].split('(')[0]} ≤ {o.tolerance:g}",
        **dict.fromkeys(("rule", "proposer", "tree", "divergence"), ""),  # said already
    }
    own = [words.get(name, f"{name.replace('_', ' ')} {in_a_name(getattr(o, name))}") for name in _own(o)]
    return ", ".join(filter(None, [by, facts.head(o.rule), *own]))


def from_link(text: str) -> list[dict[str, Any]]:
    """The lanes of a link, not checked yet; also as earlier versions wrote them, by position: hsd~4~3~distinct."""
    return [_new(one) if ":" in one else _old(one.split("~")) for one in text.split(",")]


def _new(text: str) -> dict[str, Any]:
    return dict(part.partition(":")[::2] for part in text.split("~"))


def _old(parts: list[str]) -> dict[str, Any]:
    by = parts.pop(0) if parts[0] in ("ngram", "stack", "hispec") else ""
    own = {"ngram": ["gamma"], "stack": ["thresholds"], "hispec": ["exits", "thresholds"]}.get(by)
    fuzzy = ["tolerance", "divergence"] if parts[0] in FUZZY else []
    names = ["rule", *(own or ["gamma"]), *(fuzzy or ([] if own else ["drafts", "tree"]))]
    drafter = {"proposer": "ngram"} if by == "ngram" else {"system": by} if by else {}
    return {**drafter, **{name: part for name, part in zip(names, parts, strict=False) if part}}


# ---- running it


def race(pair: Values, prompt: str, lanes: list[dict[str, Any]], seed: int, rounds: int) -> Iterator[dict[str, Any]]:
    """Run all lanes and yield plain data: first {"header": facts}, then {"events": some}, see `hsd.bench.race`.

    lanes: {"name", "options", "address": of a server's, or None} each. Arguments are plain data too, because on ZeroGPU
    this runs in another process. Raises HsdError, before anything runs, for a lane that the pair has no models for, or
    whose server is not there.
    """
    cases = [_case(lane, number) for number, lane in enumerate(lanes, start=1)]
    loaded = pairs.load(pairs.PairChoice(**pair), *(lane["options"].get("engine") for lane in lanes))
    yield {"header": timing.facts(loaded, cases)}
    for events in timing.rounds(loaded, prompt, cases, seed, rounds):
        yield {"events": events}


def _case(lane: Event, number: int) -> Case:
    """The lane as a case; a server is reached."""
    if not lane["address"]:
        return Case(lane["name"], lane["options"])
    try:
        server = servers.Address(**lane["address"]).reach()
    except HsdError as error:
        raise HsdError(f"lane {number}: {error}") from None
    return Case(lane["name"], {"model": server.model}, server.case(lane["options"]).runner)


def gpu_seconds(pair: Values, prompt: str, lanes: list[dict[str, Any]], seed: int, rounds: int) -> int:
    """How long a GPU is needed, at most: every lane runs once more than it is timed."""
    tokens = sum(int(lane["options"]["max_new_tokens"]) for lane in lanes)
    return LOAD_SECONDS + round(TOKEN_SECONDS * tokens * (rounds + 1))


race_on_lent_gpu = device.lent_gpu(gpu_seconds)(race)


def pieces(plan: Plan, seconds: float) -> Iterator[dict[str, Any]]:
    """The messages of a race: {"header"} first, {"events"} as they come, {"report"} after each timed run.

    A race that takes longer than `seconds` ends after its current run with {"ending": one line}. Raises HsdError.
    """
    lent = device.zero_gpu() and plan.request.pair.from_hub
    if lent:
        pairs.bring(plan.request.pair)
    began, records = time.monotonic(), []
    running = (race_on_lent_gpu if lent else race)(*plan.arguments())
    try:
        for piece in running:
            yield {"header": {**plan.described(), **piece["header"]}} if "header" in piece else piece
            ended = [event["record"] for event in piece.get("events", ()) if event["repetition"] and "record" in event]
            records += ended
            numbers = report(plan.cases, records) if ended else None
            if numbers:
                yield {"report": numbers}
            if time.monotonic() - began > seconds:
                yield {"ending": f"stopped after {seconds:g} s, the longest time here: ask for less"}
                return
    finally:
        running.close()  # type: ignore[attr-defined]


def stream(space: Space, asked: Values) -> Iterator[str]:
    """A race from what is asked, as the messages of `pieces`, each a JSON text; closing it ends the race.

    Raises HsdError, one line, also in the middle; what came before counts.
    """
    plan = read_plan(space, asked)
    for piece in pieces(plan, space.limits.run_seconds):
        yield json.dumps(piece, ensure_ascii=False, allow_nan=False)


# ---- recorded races: one, or several of the same lanes on prompts of other domains


@cache
def recorded(file: Path = FILE) -> dict[str, Any]:
    """The recorded races: {"races": domain, header, events and report of each, "all": the report of all together}.

    "all" is None for a single race. Raises HsdError when there is none.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        data = {}
    if data.get("format") != FORMAT:
        raise HsdError("there is no recorded race: run `python examples/reproduce/record_race.py`")
    races = data["races"]
    for lane in (lane for one in races for lane in one["header"]["lanes"]):
        lane["own"] = own(lane["options"])
    records = [[event["record"] for event in one["events"] if "record" in event] for one in races]
    cases = [[Case(lane["name"], lane["options"]) for lane in one["header"]["lanes"]] for one in races]
    told = [{**one, "report": report(own, found)} for one, own, found in zip(races, cases, records, strict=True)]
    together = [{**record, "prompt": number} for number, own in enumerate(records) for record in own]
    return {"races": told, "all": report(cases[0], together) if len(races) > 1 else None}
