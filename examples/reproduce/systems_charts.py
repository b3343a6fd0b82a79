"""Make the charts of the Systems page from recorded runs and measurements.

    python examples/reproduce/systems_charts.py

Writes assets/results/systems_charts.json: for each system of hsd/app/systems.yaml the charts of its
figure, as data that plotly.js draws, and the words that stand under them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd import load_pair
from hsd.app.presets import of_systems, trace_of
from hsd.app.site import CHARTS
from hsd.facts import chain_name, facts, short
from hsd.figures import PALE, PARTS, chart, safe
from hsd.models.exits import parts_of
from hsd.paths import RESULTS
from hsd.trace import Trace
from hsd.writing import write_file

Values = dict[str, Any]
DRAFT, TARGET, BETWEEN = (PARTS[part]["colour"] for part in ("draft", "target", "rest"))
NONE = Values(title="", type="category", showgrid=False, autorange="reversed")
METRICS = {  # name in the measurement: (title, axis, whether it is a share)
    "right": ("right answers", "right answers", True),
    "drift": ("drift", "drift per new token", False),
    "overruled": ("tokens overruled", "kept tokens that would be rejected", True),
    "length": ("length", "tokens per answer", False),
    "seconds": ("time", "seconds per answer, trace included", False),
}
PUBLISHED = (
    "Published, not measured here: the authors report more than 5 tokens/s gained for about 2 "
    "points of accuracy; a "
    "re-test by others with JS < 0.3 lost 10 of 23 correct answers and doubled their length."
)


def charts() -> dict[str, list[Values]]:
    """Return for each system the charts of its figure, one of which is seen: name, title, words,
    data and layout.
    """
    makers = {
        "stack": _planned,
        "hispec": _costs,
        "fsd": _trade_offs,
        "eagle": _grown,
        "drafts": _drafts,
    }
    return {name: list(make()) for name, make in makers.items()}


def main() -> None:
    text = json.dumps(charts(), ensure_ascii=False, separators=(",", ":"))
    write_file(CHARTS, f"{text}\n")


def _measured(file: str) -> Values:
    found: Values = json.loads((RESULTS / file).read_text(encoding="utf-8"))
    return found


def _named(name: str, title: str, words: str, drawn: Values) -> Values:
    return {"name": name, "title": title, "words": words, **drawn}


def _machine(found: Values) -> str:
    threads = f"{found['threads']} thread{'' if found['threads'] == 1 else 's'}"
    return f"{found['processor']}, {threads}, {found['dtype']}, torch {found['torch']}"


def _bars(
    name: str, cases: Sequence[str], values: Sequence[Any], colours: str | list[str]
) -> Values:
    """Return horizontal bars. values: numbers, or (value, low, high) of a 95 % interval."""
    points = [value if isinstance(value, list) else [value, value, value] for value in values]
    error = {
        "array": [high - x for x, _, high in points],
        "arrayminus": [x - low for x, low, _ in points],
    }
    bars = {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(map(safe, cases)),
        "x": [x for x, *_ in points],
    }
    intervals = {
        "type": "data",
        "symmetric": False,
        "thickness": 1.5,
        "width": 4,
        "color": "#7d8694",
        **error,
    }
    return (
        bars
        | {"marker": {"color": colours}}
        | ({"error_x": intervals} if any(error["array"]) else {})
    )


# ---- stack


def _planned() -> Iterator[Values]:
    """What the planner promised of stacks of the embedded models, and what they took."""
    found = _measured("systems.json")
    stacks = found["planned"]["stacks"]
    names = [
        f"{' → '.join(f'M{m}' for m in one['stack'])}, T = {', '.join(map(str, one['thresholds']))}"
        for one in stacks
    ]
    kinds = {
        "predicted_ms": ("promised from costs that were measured before", DRAFT),
        "at_these_times_ms": ("promised from the costs in these very runs", TARGET),
        "measured_ms": ("measured", BETWEEN),
    }
    bars = [
        _bars(title, names, [one[kind] for one in stacks], colour)
        for kind, (title, colour) in kinds.items()
    ]
    words = (
        "Milliseconds per token on the embedded models; M2 is the target. What a run takes beyond "
        "the promise is the "
        "loop around the models, which counts where a pass takes so little. "
        f"{_machine(found['machine'])}."
    )
    drawn = chart(bars, 480, {"title": "milliseconds per token"}, NONE, barmode="group")
    yield _named("measured", "What the planner promised, and what was measured", words, drawn)


# ---- HiSpec


def _costs() -> Iterator[Values]:
    """What each recorded run of HiSpec computed beside plain decoding, in layers on one token,
    heads included.
    """
    parts = parts_of(load_pair("tiny").target)
    layers = parts.layers
    head = parts.head_cost
    for preset in (one for one in of_systems().values() if one.system == "hispec"):
        trace = trace_of(preset)
        yield _named(preset.name, preset.title, *_cost(trace, layers, head))


def _cost(trace: Trace, layers: int, head: float) -> tuple[str, Values]:
    work = [[*step.below, step.work] for step in trace.steps]
    exits = trace.setup.options.levels.exits
    names = [
        f"draft exit, layer {exits[0]}",
        f"checking exit, layer {exits[1]}",
        f"whole model, layer {layers}",
    ]
    tokens = len(trace.tokens)
    sums = [0.0, 0.0, 0.0]
    bars = []
    for level, (name, colour) in enumerate(zip(names, (DRAFT, BETWEEN, TARGET), strict=True)):
        done = [one[level] for one in work]
        plain = tokens if name == names[-1] else 0
        in_layers = [
            plain * layers,
            sum(one.computed for one in done),
            sum(one.layers for one in done),
        ]
        in_heads = [
            head * count
            for count in (plain, sum(one.heads for one in done), sum(one.calls for one in done))
        ]
        for what, values, hatch in ((name, in_layers, ""), ("its head", in_heads, "/")):
            sums = [total + value for total, value in zip(sums, values, strict=True)]
            bars.append(
                _bars(what, ["plain decoding", "this run", "this run, in passes"], values, colour)
            )
            bars[-1]["marker"]["pattern"] = {"shape": hatch, **PALE}
    words = (
        f"One layer on one token is 1. The run computed {sums[1] / sums[0]:.2f} times what plain "
        f"decoding of {tokens} "
        "tokens does: rejected tokens and the heads of the exits come on top. In passes it is "
        f"{sums[2] / sums[0]:.2f} "
        "times, which counts where a pass over a few tokens takes as long as over one, as on a "
        "large GPU. "
        f"One row of the output head costs {head:.2f} layers of this small model. "
        f"{_agreement(trace)}"
    )
    return words, chart(bars, 330, {"title": "layers on one token"}, NONE, barmode="stack")


def _agreement(trace: Trace) -> str:
    """Say how many of the tokens that a depth hands up are kept by the next one."""
    checks = [event for step in trace.steps for event in step.events if event.kind == "verify"]
    counts = [
        (sum(event.kept for event in checks), sum(len(event.tested) for event in checks)),
        (sum(step.kept for step in trace.steps), sum(step.drafted for step in trace.steps)),
    ]
    below, above = (f"{kept} of {handed} ({kept / max(handed, 1):.0%})" for kept, handed in counts)
    checked = f"The checking exit kept {below} tokens of the draft exit"
    return f"{checked}, the whole model {above} of those handed up."


# ---- FSD


def _trade_offs() -> Iterator[Values]:
    """What FSD gains in tokens per target call and what it costs, for each measured text and each
    kind of cost.
    """
    found = _measured("fuzzy.json")
    for text, measured in found["texts"].items():
        words = _calibration(text, measured, found)
        for metric, (title, _, _) in METRICS.items():
            if metric in measured["exact"]:
                drawn = _trade_off(measured, metric)
                told = _against_random(measured, metric, title)
                yield _named(
                    f"{text} {metric}",
                    f"{text.capitalize()}: {title}",
                    f"{told} {words} {PUBLISHED}",
                    drawn,
                )
    for pair, about in found.get("equal", {}).items():
        for measured in about["measured"]:
            yield _beside(pair, about, measured)


EQUAL = "0.05"
AROUND = "clipped-hsd"  # nats a token at which the rules are compared in words, and with which


def _beside(pair: str, about: Values, measured: Values) -> Values:
    """Every rule that gives up exactness on the same drafts: what it makes of a pass, and what that
    costs.
    """
    rules = {rule["name"]: rule for rule in facts()["rules"]}
    lines = []
    colours = {
        AROUND: "#d55e00",
        "clipped": "#e69f00",
        "fuzzy": DRAFT,
        "ensemble": "#009e73",
        "typical": "#cc79a7",
    }
    for name, points in measured["rules"].items():
        exact = rules[name]["lossless"]
        # a token with p = 0 costs infinitely much
        points = [one for one in points if None not in one["drift"]]
        at = [{**one, "tolerance": one["number"]} for one in points]
        line = _points(
            rules[name]["capitalised_name"],
            at,
            "drift",
            colours.get(name, TARGET),
            "diamond" if exact else "circle",
        )
        sign = (rules[name]["knob"] or {}).get("sign", "")
        numbers = ["exact" if exact else f"{sign} = {one['number']:g}" for one in points]
        perplexity = [f"perplexity {one['perplexity']:.2f}" for one in points]
        line["text"] = [
            f"{number}, {words}" for number, words in zip(numbers, perplexity, strict=True)
        ]
        lines.append(line)
    heat = f"T = {measured['temperature']:g}"
    words = (
        f"{measured['drafts']} drafts of {measured['gamma']} tokens from exact runs on "
        f"{measured['prompts']} prompts, "
        "every rule on the same ones, on average over all coins. The drift is KL(law‖target) of a "
        "token, and the "
        f"perplexity that of what is written, under the target. {_at_equal_cost(measured, rules)} "
        f"{_machine(about['machine'])}."
    )
    title = "Embedded pair" if pair == "tiny" else "SmolLM2"
    y = {"title": "drift, nats a token", "rangemode": "tozero"}
    drawn = chart(lines, 470, {"title": "tokens per target call"}, y)
    return _named(f"{pair} {heat}", f"{title}, {heat}: rules beside each other", words, drawn)


def _at_equal_cost(measured: Values, rules: Values) -> str:
    """Say what `clipped-hsd` makes more than the others at one cost, with the intervals."""
    made = measured["at"][EQUAL]
    parts = [
        "{:+.1f} % ({:+.1f} to {:+.1f}) on {}".format(
            *(100 * x for x in one["clipped_more"]), rules[name]["short"]
        )
        for name, one in made.items()
        if name != AROUND
    ]
    tokens = f"{made[AROUND]['tokens_per_call']:.2f} tokens a pass"
    makes = f"{rules[AROUND]['capitalised_name']} at {EQUAL} nats a token makes {tokens}"
    return f"{makes}: {', '.join(parts)} (95 % over prompts)."


def _trade_off(measured: Values, metric: str) -> Values:
    known = facts()
    lines = [_points("exact decoding", [measured["exact"]], metric, TARGET, "diamond")]
    for divergence, colour in zip(
        known["divergences"], (DRAFT, "#e69f00", "#009e73", "#d55e00"), strict=True
    ):
        for mode, dash in zip(known["modes"], ("solid", "dot"), strict=True):
            points = measured["curve"][divergence["name"]][mode["name"]]
            line = _points(
                f"{divergence['formula']}, {mode['title'].lower()}",
                points,
                metric,
                colour,
                "circle",
            )
            first = divergence is known["divergences"][0] and dash == "solid"
            lines.append(
                {
                    **line,
                    "line": {"color": colour, "dash": dash},
                    "visible": True if first else "legendonly",
                }
            )
    drift = known["divergences"][0]["name"]
    at_random = [{**one, "drift": one["drift"][drift]} for one in measured["random"]]
    lines.append(_points("the same share at random", at_random, metric, BETWEEN, "square"))
    _, axis, share = METRICS[metric]
    y = {"title": axis, "rangemode": "tozero", **({"tickformat": ".0%"} if share else {})}
    return chart(lines, 470, {"title": "tokens per target call"}, y)


def _points(name: str, points: Sequence[Values], metric: str, colour: str, symbol: str) -> Values:
    """Return a line with 95 % intervals over prompts; at the pointer the share that a point
    accepts, and its T.
    """
    line: Values = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "text": list(map(_accepted, points)),
    }
    for axis, key in (("x", "tokens_per_call"), ("y", metric)):
        line[axis] = [one[key][0] for one in points]
        upward = [p[key][2] - p[key][0] for p in points]
        downward = [p[key][0] - p[key][1] for p in points]
        line[f"error_{axis}"] = {
            "type": "data",
            "symmetric": False,
            "array": upward,
            "arrayminus": downward,
            "thickness": 1,
        }
    return {**line, "marker": {"symbol": symbol, "size": 9, "color": colour}}


def _against_random(measured: Values, metric: str, title: str) -> str:
    """Say whether choosing by divergence differs from choosing at random: where the two intervals
    do not meet.
    """
    divergence = facts()["divergences"][0]
    points = measured["curve"][divergence["name"]]["exact-first"]
    at_random = [{**one, "drift": one["drift"][divergence["name"]]} for one in measured["random"]]
    parts = []
    for key, name in (("tokens_per_call", "tokens per call"), (metric, title)):
        for word, sign in (("higher", 1), ("lower", -1)):
            low, high = (1, 2) if sign > 0 else (2, 1)
            pairs = zip(points, at_random, strict=True)
            where = [
                f"{100 * one['share']:.0f} %"
                for one, other in pairs
                if sign * (one[key][low] - other[key][high]) > 0
            ]
            parts += [f"{name} {word} at {', '.join(where)}"] if where else []
    chosen = f"Choosing by {divergence['formula']} after the exact test"
    who = f"{chosen}, beside choosing as many tokens at random"
    if not parts:
        return f"{who}: no measurable difference."
    return f"{who}: {'; '.join(parts)}; elsewhere no measurable difference."


def _accepted(point: Values) -> str:
    tolerance = f", T = {point['tolerance']:.3g}" if "tolerance" in point else ""
    return (
        f"{point['share']:.0%} of what would be rejected{tolerance}"
        if "share" in point
        else "nothing more"
    )


def _calibration(text: str, measured: Values, found: Values) -> str:
    """Say which share of what would be rejected the points accept, and where that was measured."""
    calibration = measured["calibration"]
    setting = found["setting"]
    percent = ", ".join(f"{100 * one['share']:.0f}" for one in measured["random"])
    return (
        f"From left to right a line accepts {percent} % of the tokens that the exact test rejects; "
        "a point says its "
        f"tolerance T, chosen on {calibration['prompts']} other {text}. Crosses are 95 % intervals "
        "over "
        f"{measured['prompts']} prompts; embedded pair, γ = {setting['gamma']}, temperature "
        f"{setting['temperature']:g}."
    )


# ---- trees


def _grown() -> Iterator[Values]:
    """Tokens per pass of the target by the shape of the tree that the head drafts."""
    found = _measured("smollm2.json")
    rows = [row for row in found["trees"] if row["case"] not in ("plain", "hispec")]
    words = (
        "SmolLM2-135M with its head; bars with 95 % intervals over prompts. In a bar: its speed, "
        "in times plain "
        f"decoding. {_machine(found['machine']['trees'])}."
    )
    for temperature, domain in dict.fromkeys(
        (row["T"], row["domain"]) for row in rows if row["T"] > 0
    ):
        shown = [row for row in rows if (row["T"], row["domain"]) == (temperature, domain)]
        tall = {"grown": TARGET, "sampled": DRAFT}
        colours = [tall.get(row["case"].partition(" ")[0], BETWEEN) for row in shown]
        names = [_case(row["case"]) for row in shown]
        bars = _bars("tokens per pass", names, [row["tokens_per_call"] for row in shown], colours)
        speeds = {"text": [f"{row['speedup']:.2f} ×" for row in shown], "insidetextanchor": "start"}
        letters = ["#fff" if colour == TARGET else "#111" for colour in colours]
        bars |= {**speeds, "textposition": "inside", "insidetextfont": {"color": letters}}
        drawn = chart([bars], 360, {"title": "tokens per target call"}, NONE, showlegend=False)
        title = f"{domain.capitalize()}, temperature {temperature:g}"
        yield _named(
            f"{domain} {temperature:g}", title, f"{shown[0]['count']} prompts. {words}", drawn
        )


def _case(name: str) -> str:
    """Return the name of a measured case in a chart: "HSD, γ = 2" for "hsd 2", "sampled 2 × 2, HSD"
    for a tree.
    """
    first, _, rest = name.partition(" ")
    if rest.isdecimal():
        return f"{short(first)}, γ = {rest}"
    tree, comma, rule = name.partition(", ")
    return f"{tree}{comma}{short(chain_name(rule))}"


def _drafts() -> Iterator[Values]:
    """Tokens per target call by the number of drafts, their layout and the rule."""
    found = _measured("trees.json")
    setting = found["setting"]
    cases = found["cases"]
    words = (
        f"Embedded pair, {setting['prompts']} prompts, γ = {setting['gamma']}, temperature "
        f"{setting['temperature']:g}; "
        f"bars with 95 % intervals over prompts. {_machine(found['machine'])}."
    )
    for text in next(iter(cases.values())):
        values = [one[text]["tokens_per_target_call"] for one in cases.values()]
        colours = [BETWEEN if "one draft" in name else TARGET for name in cases]
        bars = _bars("tokens per target call", list(cases), values, colours)
        drawn = chart([bars], 430, {"title": "tokens per target call"}, NONE, showlegend=False)
        yield _named(text, text.capitalize(), words, drawn)


if __name__ == "__main__":
    main()
