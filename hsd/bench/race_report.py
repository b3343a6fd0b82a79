"""What a race's records say: a row per lane, and a few sentences. All numbers are those of `hsd.bench`.

One statistic per number, over the same rounds: seconds and tokens/s are medians over the rounds that all lanes have
ended, and a speed-up is a lane's tokens/s over plain decoding's. A lane is said to be faster than another only where it
was so in every round.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from hsd.bench.measure import Case, Record
from hsd.bench.summary import Measurement, measurements, ratio, rows, student
from hsd.decoding.options import LEVELLED, RunOptions

Row = dict[str, Any]
NOISE = 1.1  # the factor by which single runs differ by chance
MANY = 1_000  # steps, where a row does not tell them
MARGIN = 1.02  # tolerance, as a factor, when shares of the time explain a difference


def lossless(case: Case) -> bool:
    """Whether a lane's text follows the target's distribution exactly."""
    options = RunOptions(**case.options)
    fuzzy = options.rule in RunOptions.menus()["rules with tolerance"]
    exact = fuzzy and options.tolerance < 0  # lets nothing pass that the exact test would not
    return bool(options.system == "plain" or exact or options.find(options.rule).lossless)


def report(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Any] | None:
    """The numbers of a race: one row per lane that was timed, of the rounds that all those lanes have ended.

    rows: of our own lanes; served: of servers, which tell counts only and are compared with nothing. None before plain
    decoding, the first case, was timed. NaN, where something was not measured, becomes None.
    """
    counted = [record for record in records if record["repetition"]]
    timed = [case for case in cases if any(record["case"] == case.name for record in counted)]
    if not timed or timed[0] is not cases[0]:
        return None
    every = measurements(timed, counted)
    own = [m for m in every if "target_calls" in m.records[0]]
    table = [{**row, **_more(m, own[0], row)} for m, row in zip(own, rows(own), strict=True)]
    for row in table:
        row["sentence"] = _why(row, table[0])
    said = {"verdict": verdict(own, table), "calls": calls(table), "basis": basis(table)}
    served = [_served(m) for m in every if "target_calls" not in m.records[0]]
    found: dict[str, Any] = _plain({"rows": table, "served": served, **said})
    return found


def _speed(m: Measurement) -> Row:
    """What is timed of any lane: medians over rounds, of sums over prompts. replay: the round of median length."""
    seconds = _sums(m, "seconds")
    return {
        "case": m.case.name,
        "runs": len(seconds),
        "tokens": statistics.median_low(_sums(m, "new_tokens")),
        "seconds": statistics.median(seconds),
        "tokens_per_second": statistics.median(m.tokens_per_second()),
        "replay": list(m.by_repetition)[seconds.index(statistics.median_low(seconds))],
    }


def _sums(m: Measurement, name: str) -> list[float]:
    """One value per round, over all prompts."""
    return [sum(record[name] for record in records) for records in m.by_repetition.values()]


def _more(m: Measurement, plain: Measurement, row: Row) -> Row:
    """What is shown beyond the benchmark's own row. call_error: the standard error of tokens per call."""
    speed, every = _speed(m), ratios(m, plain)
    speedup = speed["tokens_per_second"] / statistics.median(plain.tokens_per_second())
    return {
        **speed,
        "lossless": lossless(m.case),
        "target_calls": statistics.median_low(_sums(m, "target_calls")),
        "calls_per_step": ratio(m.records, "target_calls", "steps"),
        "tokens_per_call": ratio(m.records, "new_tokens", "target_calls"),
        "call_error": _call_error(m),
        "steps": sum(record["steps"] for record in m.records) // len(m.by_repetition),
        "speedup": speedup,
        "speedups": [min(every), max(every)],
        "ms_per_token": 1e3 / speed["tokens_per_second"],
        **({"efficiency": speedup / row["limit"]} if "limit" in row else {}),
        "below_ms": 1e3 * sum(m.typical_seconds(name) for name in m.below) if _levelled(m) else None,
    }


def ratios(m: Measurement, other: Measurement) -> list[float]:
    """A lane's speed over another's, round by round."""
    return [a / b for a, b in zip(m.tokens_per_second(), other.tokens_per_second(), strict=True)]


def faster(m: Measurement, other: Measurement) -> bool:
    """Whether a lane is faster than another by more than chance: in every round, or far in the only one."""
    every = ratios(m, other)
    return min(every) > (1 if len(every) > 1 else NOISE)


def _levelled(m: Measurement) -> bool:
    return m.case.options.get("system") in LEVELLED


def _call_error(m: Measurement) -> float:
    """The standard error of tokens per target call, as if steps were drawn independently. Rounds repeat each other."""
    steps = sum(record["steps"] for record in m.records)
    spread = statistics.pstdev(kept for kept, count in m.kept_histogram().items() for _ in range(count))
    each = steps / sum(record["target_calls"] for record in m.records)
    freedom = steps / len(m.by_repetition) - 1
    return float(spread * each) / math.sqrt(freedom) if freedom > 0 else math.inf


def _plain(value: Any) -> Any:
    """The same as JSON can hold it: names are text, and a number that is none becomes None."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# ---- sentences


def verdict(own: Sequence[Measurement], table: Sequence[Row]) -> str:
    """Who is fastest, if that can be told. The first is plain decoding."""
    if len(own) == 1:
        return "Only plain decoding was timed."
    lanes = sorted(zip(own, table, strict=True), key=lambda lane: lane[1]["speedup"], reverse=True)
    winners = [(m, row) for m, row in lanes if faster(m, own[0])]
    if not winners:
        best = next(row for _, row in lanes if row is not table[0])
        speed = f"{_fixed(best['speedup'])} × the speed of plain decoding"
        if faster(own[0], own[table.index(best)]):
            return f"Drafting does not pay here: {_named(best)} comes nearest, with {speed}."
        return f"No lane is faster by more than chance: {_named(best)} has {speed}{_range(best)}."
    first = winners[0][0]
    close = [row for m, row in winners if m is first or not faster(first, m)]
    if len(close) == 1:
        return f"{_named(close[0])} is the fastest: {_fixed(close[0]['speedup'])} × the speed of plain decoding."
    speeds = _span([row["speedup"] for row in close], 2)
    chance = "which of them is the fastest may be chance"
    return f"{_listed(map(_named, close))} are faster than plain decoding, {speeds} ×; {chance}."


def calls(table: Sequence[Row]) -> str:
    """The saved target calls, which do not depend on the machine. The first row is plain decoding.

    Lanes whose tokens per call differ by chance are named together, so that no rule gets credit for luck.
    """
    others = sorted(table[1:], key=lambda row: row["tokens_per_call"], reverse=True)
    if not others:
        return "Plain decoding makes one call for every token."
    best = others[0]
    where = "on this prompt and seed" if best["prompts"] == 1 else f"on these {best['prompts']} prompts with one seed"
    if best["tokens_per_call"] <= 1:
        return f"No lane saves target calls {where}."
    lanes = [row for row in others if _alike(row, best)]
    fewer = _span([100 - 100 / row["tokens_per_call"] for row in lanes], 0)
    need = "needs" if len(lanes) == 1 else "need"
    luck = "" if len(lanes) == 1 else "; how these lanes differ may be chance"
    said = f"{_listed(map(_named, lanes))} {need} {fewer} % fewer target calls than plain decoding {where}{luck}"
    return f"{said}. This holds on any hardware."


def _alike(row: Row, best: Row) -> bool:
    """Whether two lanes' tokens per call differ by no more than they would by chance, by Student's t."""
    reaches = (student(one.get("steps", MANY) - 1) * one["call_error"] for one in (row, best))
    return bool(best["tokens_per_call"] - row["tokens_per_call"] <= math.hypot(*reaches))


def basis(table: Sequence[Row]) -> str:
    """What the numbers are based on, and how reliable that is."""
    runs = table[0]["runs"]
    tokens = sorted({row["tokens"] for row in table})
    many = f"{tokens[0]}" if len(tokens) == 1 else f"{tokens[0]} to {tokens[-1]}"
    prompts = "One prompt" if table[0]["prompts"] == 1 else f"{table[0]['prompts']} prompts"
    if runs == 1:
        timed = "one timed run per lane, so differences of 10 % may be noise"
    else:
        timed = f"medians of {runs} timed runs per lane, in turn; faster means faster in every one"
    return f"{prompts}, one seed, {many} new tokens per lane, after a warm-up that does not count; {timed}."


def _why(row: Row, plain: Row) -> str:
    """What a lane's calls cost, what a step cost and yielded, and the speed-up if only the calls took time."""
    one = plain["target_call_ms"]
    if row is plain:
        return f"One target call{'' if math.isnan(one) else f' of {_ms(one)} ms'} for every token."
    tokens = row["tokens_per_call"] * row["calls_per_step"]
    rate = row["acceptance_rate"][0]
    kept = "" if math.isnan(rate) else f" ({_percent(rate)} of its drafts kept)"
    spent = tokens / row["speedup"]
    cost, gain = (_fixed(a, 2, b) for a, b in ((spent, tokens), (tokens, spent)))
    step = f"A step took as long as {cost} tokens of plain decoding and brought {gain}{kept}"
    if math.isnan(row["limit"]) or math.isnan(one):
        return f"{step}; the run is too short to say what its calls alone allow."
    return f"{_costs(row, one)}. {step}. The calls alone allow {_fixed(row['limit'])} ×{_against_limit(row, plain)}."


def _costs(row: Row, one: float) -> str:
    """The calls of a step. one: ms of a target call of plain decoding."""
    check = f"a check {_fixed(row['target_call_ms'] / one)} of a target call ({_ms(one)} ms)"
    if row["below_ms"] is not None:
        return f"A step's calls below the target cost {_fixed(row['below_ms'] / one)} and {check}"
    if not row["draft_call_ms"] > 0:
        return f"A copied draft costs nothing and {check}"
    return f"A draft call costs {_fixed(row['draft_call_ms'] / one)} and {check}"


def _against_limit(row: Row, plain: Row) -> str:
    """The share of the limit that was reached, and why it can exceed 1."""
    excess = row["speedup"] / row["limit"]
    if row["calls_per_step"] > 1 and row["below_ms"] is None:  # of which the limit knows one
        return f" if each step made one target call, but this rule makes {_fixed(row['calls_per_step'])}"
    if excess <= 1:
        return f", of which {_percent(excess)} is reached"
    own, theirs = (1.0 - float(r["shares"]["draft"]) - float(r["shares"]["target"]) for r in (row, plain))
    if _percent(own) != _percent(theirs) and excess <= MARGIN * (1 - own) / (1 - theirs):
        shares = f"{_percent(theirs)} against {_percent(own)}"
        return f"; more was reached, as plain decoding spends more of its time outside its calls ({shares})"
    return "; more was reached, as calls do not all take their median time"


def _served(m: Measurement) -> Row:
    """What is shown of a server: its tokens and seconds, and what it reports about its drafts."""
    told = {name: sum(record.get(name, 0) for record in m.records) for name in ("drafts", "drafted", "kept")}
    row = {**_speed(m), **told}
    return {**row, "sentence": f"The way there and back is in its seconds; {_drafts(told, m.acceptance_length()[0])}."}


def _drafts(told: dict[str, int], length: float) -> str:
    drafts, drafted, kept = told["drafts"], told["drafted"], told["kept"]
    if not drafted:
        return "it reports nothing about its drafts"
    share = f"{kept:,} of {drafted:,} drafted tokens were kept, it says ({_percent(kept / drafted)})"
    if not drafts:
        return f"{share}; of how many drafts, it does not say"
    return f"{share}, in {drafts:,} drafts: acceptance length AL {length:.2f}"


def _named(row: Row) -> str:
    return str(row["case"]) + ("" if row["lossless"] else " (not lossless)")


def _listed(names: Any) -> str:
    names = list(names)
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _span(values: Sequence[float], digits: int) -> str:
    """The smallest and the largest of descending values, or one if they look the same."""
    low, high = _fixed(values[-1], digits), _fixed(values[0], digits)
    return low if low == high else f"{low} to {high}"


def _range(row: Row) -> str:
    """From the slowest round to the fastest; nothing where there is only one."""
    low, high = row["speedups"]
    return f" ({_fixed(low)}–{_fixed(high)} in {row['runs']} rounds)" if row["runs"] > 1 else ""


def _fixed(x: float, digits: int = 2, *others: float) -> str:
    """A number with so many decimals, or up to six where it would look like 0, 1, 100 or another, and is not."""
    for places in range(digits, 7):
        text = f"{x:.{places}f}"
        if all(x == y or text != f"{y:.{places}f}" for y in (0.0, 1.0, 100.0, *others)):
            return text
    return f"{x:.{digits}f}"


def _percent(share: float) -> str:
    return f"{_fixed(100 * share, 0)} %"


def _ms(value: float) -> str:
    """Milliseconds with two or three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"
