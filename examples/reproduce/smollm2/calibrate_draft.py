"""Calibrate how sure the draft may be of itself, for γ "auto": into its config.json.

    python examples/reproduce/smollm2/calibrate_draft.py --data DATA    # the shipped head
    python examples/reproduce/smollm2/calibrate_draft.py --data DATA --draft FOLDER    # a new head

Fifteen minutes. The config.json is beside the weights.

Drafts of SIX tokens are drawn as decoding draws them, at three temperatures, on prompts that the
measurements beside this do not use and the head was not trained on; the target tells with which
chance each token would be kept. A logistic function is fitted to that (`hsd.draft.stopping`): once
on the even prompts, to be judged on the odd ones, then on all.

How fast tokens come with that, by fixed lengths and by auto, is printed for each engine: for what a
further row in a pass costs (from assets/results, where measure_smollm2.py and engines/measure.py
put it) and a step of the draft, which is timed here. "browser" is one thread there, as most pages
have it. --chains FILE keeps the drafts, or takes them from there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from converted import converted
from measuring import unseen
from pages import table

import hsd
from hsd.bench.prompts import prompt_set
from hsd.decoding.options import RunOptions
from hsd.decoding.players import open_rounds
from hsd.decoding.system import make_system
from hsd.draft.stopping import DEEPEST, FURTHEST, LEAST, Stopping, StoppingState
from hsd.paths import ASSETS, RESULTS
from hsd.rng import Streams
from hsd.writing import write_file

SIX = 6
HEATS = (0.0, 0.7, 1.0)
LEASTS = (0.15, LEAST, 0.35)  # one serves every engine, and a little more or less loses little
WIDE = "4"  # rows of the pass that tells what a row costs


@dataclass(frozen=True)
class Drawn:
    """A draft of some tokens. shares, largest: of each token, and of the likeliest one, in the
    draft's row at T = 1.

    kept: min(1, p/q) of each; overlap: Σ min(p, q) of the row that it was drawn from.
    """

    kind: str
    prompt: int
    heat: float
    shares: list[float]
    largest: list[float]
    kept: list[float]
    overlap: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder with public text: hsd/bench/prompts.py"
    )
    parser.add_argument(
        "--draft", type=Path, default=ASSETS / "smollm2" / "draft", help="the head's folder"
    )
    parser.add_argument("--prompts", type=int, default=6, help="prompts per kind of text")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument(
        "--chains", type=Path, help="file of the drafts: written, or read where it is there"
    )
    given = parser.parse_args()
    target = converted()
    if target is None:
        raise SystemExit("the converted model is not here: run examples/reproduce/converted.py")
    pair = hsd.load_pair(target=target, draft=given.draft, chat=True)
    chains = (
        read_chains(given.chains)
        if given.chains and given.chains.exists()
        else list(draw_chains(pair, given))
    )
    if given.chains and not given.chains.exists():
        write_file(given.chains, "".join(json.dumps(asdict(chain)) + "\n" for chain in chains))
    costs = engine_costs(pair)
    halves = [[chain for chain in chains if chain.prompt % 2 == half] for half in (0, 1)]
    print(judged(fitted(halves[0]), halves[1]))
    print(speeds(fitted(halves[0]), halves[1], costs))
    found = fitted(chains)
    told = {"weights": [round(w, 4) for w in found.weights], "usual": round(found.usual, 3)}
    file = given.draft / "config.json"
    config = json.loads(file.read_text(encoding="utf-8")) | {"stopping": told}
    write_file(file, json.dumps(config, indent=2) + "\n")
    print(f"{json.dumps(told)}\nwritten to {file}")


# ---- drafts


def prompts_of(given: argparse.Namespace) -> Iterator[tuple[str, int, str]]:
    """Kind, number and text. Not the first ones of any set, which the measurements take."""
    count = given.prompts
    data = given.data
    kinds = {
        "stories": unseen(data)["stories"][:count],
        "sums": prompt_set("gsm8k", data).prompts[500 : 500 + count],
        "code": prompt_set("humaneval", data).prompts[100 : 100 + count],
        "questions": prompt_set("spec_bench:qa", data).prompts[-count:],
    }
    return (
        (kind, number, text) for kind, texts in kinds.items() for number, text in enumerate(texts)
    )


def draw_chains(pair: hsd.Pair, given: argparse.Namespace) -> Iterator[Drawn]:
    """The drafts of runs token by token, each judged by the target's own pass."""
    for kind, number, prompt in prompts_of(given):
        print(f"{kind} {number + 1}", file=sys.stderr)
        for heat in HEATS:
            options = RunOptions(rule="tokenwise", gamma=SIX, temperature=heat, trace=False)
            text = pair.encode(prompt)
            rounds = open_rounds(make_system(pair, options), len(text))
            numbers = Streams(number)
            end = len(text) + given.new_tokens
            with torch.inference_mode():
                rounds.prefill(text)
                while len(text) < end and text[-1] not in pair.codec.end_ids:
                    dice = rounds.throw(numbers, text, SIX)
                    draft = rounds.draft(text, dice)
                    played = rounds.verify(draft, rounds.score(text, draft), dice)
                    text += played.committed
                    rounds.roll_back(len(text) - 1, played)
                    yield drawn(played, kind, number, heat)
            rounds.close()


def drawn(played: object, kind: str, number: int, heat: float) -> Drawn:
    """What came of a round's draft."""
    draft = played.draft
    p = played.rows.p[:-1]  # type: ignore[attr-defined]
    raw = draft.raw
    at = draft.tokens[:, None]
    shares, own, theirs = (rows.gather(1, at)[:, 0] for rows in (raw, draft.q, p))
    found = (
        shares,
        raw.max(1).values,
        (theirs / own).clamp_max(1),
        torch.minimum(p, draft.q).sum(1),
    )
    return Drawn(kind, number, heat, *([round(float(x), 6) for x in row] for row in found))


def read_chains(file: Path) -> list[Drawn]:
    return [Drawn(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


# ---- the fit


def fitted(chains: Sequence[Drawn]) -> Stopping:
    """Weights by Newton's method; a token counts as much as it is likely that all before it are
    kept.
    """
    rows = []
    kept = []
    counts = []
    for chain in chains:
        reached = 1.0
        for depth, (share, largest) in enumerate(zip(chain.shares, chain.largest, strict=True)):
            rows += [features(share, depth, chain.heat), features(largest, depth, chain.heat)]
            kept += [chain.kept[depth], chain.overlap[depth]]
            counts += [reached, reached]
            reached *= chain.kept[depth]
    x = np.array(rows)
    y = np.array(kept)
    weight = np.array(counts)
    found = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-x @ found))
        slope = x.T @ (x * (weight * chance * (1 - chance))[:, None]) + 1e-6 * np.eye(len(found))
        found += np.linalg.solve(slope, x.T @ (weight * (y - chance)))
    return Stopping(0.0, 0.0, tuple(found.tolist()), float((weight * y).sum() / weight.sum()))


def features(share: float, depth: int, heat: float) -> list[float]:
    """As `Stopping.chance` has them."""
    known = float(
        np.clip(np.log(share / (1 - share)) if 0 < share < 1 else FURTHEST, -FURTHEST, FURTHEST)
    )
    return [1.0, known, heat, heat * known, float(min(depth, DEEPEST))]


def judged(found: Stopping, chains: Sequence[Drawn]) -> str:
    """Of prompts that it was not fitted to: what it says, and how often that was so."""
    pairs = []
    for chain in chains:
        at = Stopping(0.0, chain.heat, found.weights)
        reached = 1.0
        for depth, share in enumerate(chain.shares):
            pairs.append((at.chance(share, depth), chain.kept[depth], reached))
            reached *= chain.kept[depth]
    said, kept, weight = np.array(pairs).T
    lines = []
    for low in np.arange(0, 1, 0.2):
        part = (said >= low) & (said < low + 0.2)
        if part.any():
            means = (np.average(x[part], weights=weight[part] + 1e-12) for x in (said, kept))
            lines.append(
                [
                    f"{low:.1f} to {low + 0.2:.1f}",
                    str(int(part.sum())),
                    *(f"{mean:.2f}" for mean in means),
                ]
            )
    return table(["said", "tokens", "said on average", "kept"], lines)


# ---- what a drafted token costs


@dataclass(frozen=True)
class Cost:
    """In passes of the target over one row: a further row, and a step of the draft."""

    row: float
    step: float


def engine_costs(pair: hsd.Pair) -> dict[str, Cost]:
    """By engine; the portable one on all threads, and on one."""
    portable = hsd.load_pair("smollm2")
    steps = {"eager": step_of(pair), "portable": step_of(portable)}
    torch.set_num_threads(1)
    steps["browser"] = step_of(portable)
    costs = {engine: Cost(row, steps[engine]) for engine, row in measured_rows().items()}
    for engine, cost in costs.items():
        print(
            f"{engine}: a further row costs {cost.row:.2f} of a pass, a step of the draft "
            f"{cost.step:.2f}"
        )
    return costs


def measured_rows() -> dict[str, float]:
    """What a further row costs, in passes over one, as it was measured on a quiet machine."""
    passes = {"eager": json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))["passes"]}
    measured = json.loads((RESULTS / "engines.json").read_text(encoding="utf-8"))["engines"]
    found = {(entry["engine"], entry["threads"]): entry["passes"] for entry in measured}
    # the same module where no browser was measured
    wasm = found.get(("wasm, Chromium", 1), found["wasm, wasmtime", 1])
    for engine, times in {"portable": found["native", 2], "browser": wasm}.items():
        passes[engine] = {width: median for width, (median, *_) in times.items()}
    return {
        engine: (times[WIDE] / times["1"] - 1) / (int(WIDE) - 1) for engine, times in passes.items()
    }


def step_of(pair: hsd.Pair, times: int = 80) -> float:
    """What a step of the draft costs, in passes over one row: the least of many times of both, in
    turn.
    """
    target = pair.target.start()
    head = pair.draft.start()
    ids = torch.arange(1_000, 1_120)
    head.follow(target)  # type: ignore[attr-defined]
    target.forward(ids[:100], 1)
    head.forward(ids[:100], 1)
    passes = []
    steps = []
    for _ in range(times):
        passes.append(seconds(lambda: target.forward(ids[100:101], 1), target.crop))
        steps.append(seconds(lambda: head.forward(ids[100:101], 1), head.crop))
    target.close()
    return min(steps) / min(passes)


def seconds(work: Callable[[], object], crop: Callable[[int], None]) -> float:
    begin = time.perf_counter()
    work()
    found = time.perf_counter() - begin
    crop(100)
    return found


def rate(chains: Sequence[Drawn], cost: Cost, plan: Callable[[Drawn], tuple[int, int]]) -> float:
    """Tokens per pass over one row, token by token. plan: how many tokens of a draft are judged,
    and rows read.
    """
    tokens = passes = 0.0
    for chain in chains:
        length, steps = plan(chain)
        tokens += 1 + float(np.cumprod(chain.kept[:length]).sum())
        passes += 1 + length * cost.row + steps * cost.step
    return tokens / passes


def auto(found: Stopping, least: float) -> Callable[[Drawn], tuple[int, int]]:
    """How long a draft becomes, and how many rows are read for it."""

    def plan(chain: Drawn) -> tuple[int, int]:
        going = StoppingState(Stopping(least, chain.heat, found.weights, found.usual))
        for length, (share, largest) in enumerate(zip(chain.shares, chain.largest, strict=True)):
            if not going.may_pay:
                return length, length
            if not going.pays(largest):
                return length, length + 1
            going.add(share)
        return len(chain.shares), len(chain.shares)

    return plan


def fixed(gamma: int) -> Callable[[Drawn], tuple[int, int]]:
    return lambda chain: (min(gamma, len(chain.kept)),) * 2


def speeds(found: Stopping, chains: Sequence[Drawn], costs: dict[str, Cost]) -> str:
    """Tokens per pass over one row, on prompts that `found` was not fitted to: by fixed lengths and
    by auto.
    """
    plans = {f"γ = {gamma}": fixed(gamma) for gamma in range(SIX)}
    plans |= {f"auto, {least:g}": auto(found, least) for least in LEASTS}
    lines = []
    for engine, cost in costs.items():
        for heat in HEATS:
            some = [chain for chain in chains if chain.heat == heat]
            rates = [f"{rate(some, cost, plan):.2f}" for plan in plans.values()]
            lines.append([engine, f"{heat:g}", *rates])
    return table(["engine", "T", *plans], lines)


if __name__ == "__main__":
    main()
