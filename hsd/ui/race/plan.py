"""What a race is asked to be, checked: the run that all lanes share, the lanes, and how often each is timed.

A lane may be a server's: then it has an address, and its options are how the server is asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hsd import facts
from hsd.bench import Case
from hsd.decoding.options import RunOptions
from hsd.draft import COPIERS
from hsd.errors import HsdError
from hsd.rules.fuzzy import DIVERGENCES
from hsd.space import Space
from hsd.ui import servers
from hsd.ui.request import Request, read

MOST_LANES = 5
ROUNDS, USUAL_ROUNDS = (1, 3, 5), 3
SHARED = ("pair", "target", "draft", "prompt", "prompt_as", "temperature", "top_p", "top_k", "seed", "length")
LANE = {
    "speculative": ("proposer", "rule", "gamma", "drafts", "tree"),
    "stack": ("rule", "thresholds"),
    "hispec": ("rule", "exits", "thresholds"),
}
SERVER = "server"
FUZZY = ("tolerance", "divergence")


@dataclass(frozen=True)
class Plan:
    """A race that may be run. request: what the lanes share, as plain decoding; cases: the lanes, plain first.

    addresses: of those that are a server's, by name.
    """

    request: Request
    cases: tuple[Case, ...]
    rounds: int
    addresses: Mapping[str, servers.Address] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        return self.request.options.seed

    def link(self) -> dict[str, str]:
        """The parameters of a link that say what the lanes share."""
        return {name: value for name, value in self.request.query().items() if name in SHARED}


def read_plan(space: Space, asked: Any, values: Mapping[str, Any]) -> Plan:
    """Check what the page asks for: {"lanes": [{system, rule, …}, …], "rounds"}, and the sidebar's values.

    A lane's options are those that `LANE` names for its system, and `FUZZY` for that rule; others are left out. Plain
    decoding is always the first lane and is not named. Raises HsdError, one line, for the first thing wrong.
    """
    lanes, rounds = (asked.get("lanes"), asked.get("rounds")) if isinstance(asked, dict) else (None, None)
    if not isinstance(lanes, list) or not all(isinstance(lane, dict) for lane in lanes):
        raise HsdError("the page asked for a race in a way that is not understood: reload it")
    if not 1 <= len(lanes) < MOST_LANES:
        raise HsdError(f"{len(lanes) + 1} lanes: a race has 2 to {MOST_LANES}, plain decoding among them")
    if rounds not in ROUNDS:
        raise HsdError(
            f"{str(rounds)[:20]} timed runs per lane: choose {', '.join(map(str, ROUNDS[:-1]))} or {ROUNDS[-1]}"
        )
    shared = {name: values[name] for name in SHARED if name in values}
    request = read(space, {**shared, "system": "plain"})
    found = [_lane(space, shared, lane, n) for n, lane in enumerate(lanes, start=2)]
    cases = _cases([request.options, *found], request.options)
    asked_for = {c.name: one for c, one in zip(cases[1:], found, strict=True) if isinstance(one, servers.Address)}
    return Plan(request, cases, rounds, asked_for)


def described(plan: Plan) -> dict[str, Any]:
    """What a page must know about a plan. The seed is text: JavaScript's numbers lose digits of a large one."""
    o = plan.request.options
    sampling = {"temperature": o.temperature, "top_p": o.top_p, "top_k": o.top_k, "length": o.max_new_tokens}
    lanes = [{"name": c.name, "options": c.options, **_kind(plan, c)} for c in plan.cases]
    shared = {"prompt": plan.request.prompt, "sampling": sampling, "seed": str(o.seed), "rounds": plan.rounds}
    return {**shared, "lanes": lanes, "link": plan.link()}


def _kind(plan: Plan, case: Case) -> dict[str, Any]:
    """Whether its text follows the target's distribution; of a server nothing of the kind is known."""
    return {"served": True} if case.name in plan.addresses else {"lossless": lossless(case)}


def _lane(
    space: Space, shared: Mapping[str, Any], lane: Mapping[str, Any], number: int
) -> RunOptions | servers.Address:
    system = str(lane.get("system", "speculative"))
    if system not in (*LANE, SERVER):
        raise HsdError(f"lane {number}: unknown system {system[:40]!r}: choose {', '.join(LANE)}")
    names = LANE.get(system, ()) + (FUZZY if lane.get("rule") == "fuzzy" else ())
    chosen = {name: lane[name] for name in names if name in lane}
    try:
        if system == SERVER:
            return servers.read(space, lane.get("url"), lane.get("model"))
        return read(space, {**shared, **chosen, "system": system}).options
    except HsdError as error:
        raise HsdError(f"lane {number}: {error}") from None


def _cases(lanes: Sequence[RunOptions | servers.Address], shared: RunOptions) -> tuple[Case, ...]:
    """The lanes as cases of a benchmark. The seed is not among their options: it is the same for all."""
    seen: Counter[str] = Counter()
    cases = []
    for lane in lanes:
        if isinstance(lane, servers.Address):
            name, options = _named("Server", lane.model[:60]), _case_options(shared)
            del options["system"]  # what decodes there is not known
        else:
            name, options = lane_name(lane), _case_options(lane)
        seen[name] += 1
        cases.append(Case(f"{name} ({seen[name]})" if seen[name] > 1 else name, options))
    return tuple(cases)


def _case_options(o: RunOptions) -> dict[str, Any]:
    """Keywords of `hsd.run`, tracing off: nothing but decoding is timed. Plain data: lists, no tuples."""
    names = ["system", "max_new_tokens", "temperature", "top_p", "top_k"]
    names += {"plain": [], "speculative": ["rule", "gamma", "drafts"]}.get(o.system, ["rule", *_levels_said(o)])
    names += ["tree"] if o.system == "speculative" and o.drafts > 1 else []
    names += ["proposer"] if o.copies else []
    names += ["prompt_as"] if o.prompt_as else []
    names += FUZZY if o.system != "plain" and o.rule == "fuzzy" else ()
    found = {name: getattr(o, name) for name in names}
    return {**{k: list(v) if isinstance(v, tuple) else v for k, v in found.items()}, "trace": False}


def _levels_said(o: RunOptions) -> list[str]:
    """The options that say how a stack, or early exits, hand up; γ stands for thresholds that a stack is not given."""
    names = [name for name in ("exits", "thresholds") if getattr(o, name)]
    return names if o.thresholds or o.system != "stack" else [*names, "gamma"]


def lane_name(options: RunOptions) -> str:
    """What the lane is called, such as "HSD, γ = 5", "N-grams, HSD, γ = 5" or "Model stack, HSD, T = 3/5"."""
    if options.system == "plain":
        return facts.system_title("plain")
    rule = facts.head(options.rule)
    near = f"{_divergence(options.divergence)} ≤ {options.tolerance:g}" if options.rule == "fuzzy" else ""
    if options.system == "speculative":
        several = f"{options.drafts} drafts, {facts.tree_words(options.tree)}" if options.drafts > 1 else ""
        copied = COPIERS[options.proposer].short.capitalize() if options.copies else ""
        return _named(copied, rule, f"γ = {options.gamma}", near, several)
    exits = f"exits {_slashes(options.exits)}" if options.exits else ""
    thresholds = f"T = {_slashes(options.thresholds)}" if options.thresholds else ""
    if options.system == "stack" and not thresholds:
        thresholds = f"T = {options.gamma} each"
    return _named(facts.system_title(options.system).split(" (")[0], rule, near, exits, thresholds)


def _named(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _slashes(values: Sequence[int]) -> str:
    return "/".join(map(str, values))


def _divergence(name: str) -> str:
    """The usual one has a shorter name where it stands beside a number."""
    return "KL" if name == RunOptions.default("divergence") else facts.formula(name)


def lossless(case: Case) -> bool:
    """Whether a lane's text follows the target's distribution exactly."""
    options = RunOptions(**case.options)
    exact = options.rule == "fuzzy" and options.tolerance < 0  # lets nothing pass that the exact test would not
    return options.system == "plain" or exact or options.find(options.rule).lossless


def drafters(space: Space) -> list[dict[str, str]]:
    """For the page's menus: who may draft in a lane: the systems, and the text itself beside the draft model.

    Last a server, where a visitor may name one.
    """
    model, *levelled = [{"name": name, "title": facts.system_title(name)} for name in LANE]
    server = [{"name": SERVER, "title": "A server, by its URL"}] if servers.allowed(space) else []
    return [model, *({"name": name, "title": one.title} for name, one in COPIERS.items()), *levelled, *server]


def rule_facts() -> list[dict[str, Any]]:
    """For the page's menus: each rule's name and title, whether it takes one draft, and the trees that fit it."""
    found = [rule for rule in facts.facts()["rules"] if rule["asked"] == rule["name"]]
    return [{**{n: rule[n] for n in ("name", "lossless", "single", "trees")}, "title": rule["head"]} for rule in found]


def divergence_facts() -> list[dict[str, str]]:
    """For the page's menus: each divergence's name and a short title."""
    return [{"name": name, "title": _divergence(name)} for name in DIVERGENCES]
