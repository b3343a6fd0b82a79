"""Write the page "EAGLE-3 trees on a real model" from what was measured: python examples/reproduce/trees_page.py

Reads assets/results/smollm2.json (measure_smollm2.py, all parts but `law`), bench-smollm2.jsonl, smollm2_designs.json
(compare_designs.py) and tree_plans.jsonl (`python -m hsd plan --pair smollm2 --tree --json`, a line per temperature).
The words are in trees_page.template.md.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from measuring import RESULTS, interval
from pages import DOCS, filled, table, write

from hsd.bench.report import read
from hsd.draft import LAYOUTS
from hsd.planner import Models, plan
from hsd.rules import VANILLA

PAGE = DOCS / "trees.md"
DOMAINS = ("sums", "stories", "code", "chat")
SAMPLED = {"recursive-hsd": "HSD, draft after draft", "traversal": "traversal"}
GROUPED = {
    "mixed, top-down": "mixed, top-down",
    "mixed, recursive-hsd": "mixed, HSD draft after draft",
    "mixed, traversal": "mixed, traversal",
    "drawn, traversal": "drawn, traversal",
}
Row = dict[str, Any]


def main() -> None:
    write(PAGE, page())


def page() -> str:
    """The page as Markdown."""
    found = json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))
    designs = json.loads((RESULTS / "smollm2_designs.json").read_text(encoding="utf-8"))
    plans = [json.loads(line) for line in (RESULTS / "tree_plans.jsonl").read_text(encoding="utf-8").splitlines()]
    last = {line["design"]: line for line in designs}
    passes = found["passes"]
    facts = {
        "tokens": f"{last['head']['tokens']:,}",
        "tried": tried(last),
        "separate": separate(last),
        "kept_setting": setting(found["kept"][0], found["machine"]["kept"]),
        "kept": kept(found["kept"]),
        "real": real(found["kept"]),
        "groups": groups(found["groups"]) if "groups" in found else "",  # of a file from before it was measured
        "grown_words": grown_words(found["kept"]),
        "speed_setting": setting(found["trees"][0], found["machine"]["trees"]),
        "speed": speed(found["trees"]),
        "speed_words": speed_words(found["trees"]),
        "chance": chance(found["trees"]),
        "one": passes["1"],
        **{name: passes[width] / passes["1"] for name, width in (("five", "5"), ("eight", "8"), ("eleven", "11"))},
        "level": passes["head"],
        "share": passes["head"] / passes["1"],
        "shares": shares(found["trees"]),
        "plans": planned(plans, found["trees"]),
        "planner": planner_words(passes, read(RESULTS / "bench-smollm2.jsonl").rows()),
        "exits": exits(last, found["trees"]),
    }
    return filled("trees", facts)


def tried(last: dict[str, Row]) -> str:
    words = {"head": "three tokens in a row", "untried": "one token only"}
    lines = [
        [words[name], *(", ".join(f"{x:.2f}" for x in last[name]["T=0.7"][domain]) for domain in DOMAINS)]
        for name in words
    ]
    return table(["trained for", *DOMAINS], lines)


def separate(last: dict[str, Row]) -> str:
    """Return the tokens a chain of two keeps if the second is kept with its own rate whenever the first is."""
    head, own = last["head"]["T=0.7"], last["narrow"]["T=0.7"]
    chains = {
        "the head": [head[domain][0] * (1 + head[domain][1]) for domain in DOMAINS],
        "a model of its own": [own[domain][0] * (1 + own[domain][0]) for domain in DOMAINS],
    }
    return table(["draft", *DOMAINS], [[name, *(f"{x:.2f}" for x in kept)] for name, kept in chains.items()])


def setting(row: Row, machine: Row) -> str:
    """Return the setting in which a part was measured, in words."""
    size = f"{row['count']} prompts of {row['new_tokens']} tokens per kind of text" if "count" in row else ""
    trees = f"T = {row['T']:g}" if "trees" in row else "cases in turn"
    threads = f"{machine['threads']} thread{'s' if machine['threads'] > 1 else ''}"
    place = f"{machine['processor']}, {threads}, {machine['dtype']}, torch {machine['torch']}"
    return ", ".join(filter(None, (size, trees, place, f"load {machine['load']} when it began")))


def kept(rows: list[Row]) -> str:
    lines = [
        [
            row["domain"],
            str(row["tokens"]),
            str(row["trees"]),
            interval(row["top-down"]),
            *(_signed(row[f"{rule} more"]) for rule in SAMPLED),
            interval(row["grown"]),
        ]
        for row in rows
    ]
    more = (f"{words}: more" for words in SAMPLED.values())
    return table(["text", "tokens of a tree", "trees", "top-down keeps", *more, "grown, as many: Σ p(path)"], lines)


def _signed(values: list[float]) -> str:
    value, low, high = values
    return f"{value:+.3f} ({low:+.3f} to {high:+.3f})"


def real(rows: list[Row]) -> str:
    """Which gains over top-down rejection, as shares of all tokens per pass, are more than the prompts' scatter."""
    before, found = VANILLA[LAYOUTS["distinct-comb"].siblings], []
    for rule, words in SAMPLED.items():
        shares = [row[f"{rule} more"][0] / (1 + row[before][0]) for row in rows]
        clear = sum(low > 0 or high < 0 for _, low, high in (row[f"{rule} more"] for row in rows))
        found.append(
            f"{words[0].upper()}{words[1:]}: {min(shares):+.1%} to {max(shares):+.1%} tokens per pass, a difference "
            f"beyond the scatter of prompts in {clear} of {len(rows)} rows."
        )
    return " ".join(found)


def groups(rows: list[Row]) -> str:
    lines = [
        [
            f"{row['T']:g}",
            f"{row['drafts']} at a place, {row['tokens']} tokens",
            interval(row["chosen, one-hot"]),
            *(_percent(row[f"{name} more"]) for name in GROUPED),
        ]
        for row in rows
    ]
    heads = (f"{words}: more" for words in GROUPED.values())
    told = table(["T", "tree", "chosen: tokens per pass", *heads], lines)
    about = "Trees of one size each, over all coins; *drawn*: combs without replacement (95 % intervals over prompts):"
    return f"{about}\n\n{told}\n\n{groups_words(rows)}\n\n"


def _percent(values: list[float]) -> str:
    value, low, high = values
    return f"{value:+.1%} ({low:+.1%} to {high:+.1%})"


def groups_words(rows: list[Row]) -> str:
    """Say how much more mixed trees bring than chosen ones at each temperature, and in how many rows that is clear."""
    told = []
    for heat in dict.fromkeys(row["T"] for row in rows):
        gains = [row["mixed, traversal more"] for row in rows if row["T"] == heat]
        clear = sum(low > 0 for _, low, _ in gains)
        told.append(
            f"At T = {heat:g} mixed trees bring {min(gains)[0]:+.1%} to {max(gains)[0]:+.1%} tokens per pass by "
            f"traversal, beyond the scatter of prompts in {clear} of {len(gains)} rows."
        )
    prompts, tokens = rows[0]["prompts"], rows[0]["new_tokens"]
    return " ".join([*told, f"{prompts} prompts of {tokens} tokens, all kinds of text together."])


def grown_words(rows: list[Row]) -> str:
    less = [row for row in rows if row["grown"][2] < row["top-down"][1]]
    more = [row for row in rows if row["grown"][1] > row["top-down"][2]]
    return (
        f"at this temperature the sampled tree keeps clearly more in {len(less)} of {len(rows)} rows, the chosen one "
        f"in {len(more)}. Choosing the likeliest tokens is right at T = 0; where the target samples, a draft that "
        "samples as well can meet more of it."
    )


def by_row(rows: list[Row]) -> dict[tuple[str, float], dict[str, Row]]:
    found: dict[tuple[str, float], dict[str, Row]] = defaultdict(dict)
    for row in rows:
        found[row["domain"], row["T"]][row["case"]] = row
    return found


def speed(rows: list[Row]) -> str:
    grouped = by_row(rows)
    ways = [name for name in next(iter(grouped.values())) if name != "plain"]
    lines = [
        [domain, f"{heat:g}", *(f"{interval(of[way]['tokens_per_call'])} [{of[way]['speedup']:.2f}]" for way in ways)]
        for (domain, heat), of in grouped.items()
    ]
    return table(["text", "T", *ways], lines)


ALIKE = ("tokenwise", "hsd", "sampled")  # beginnings of the ways that do the same work at T = 0


def chance(rows: list[Row]) -> str:
    """By how much the speeds of ways differ that do the same, over the kinds of text."""
    same = [
        [row["speedup"] for name, row in of.items() if name.startswith(ALIKE)]
        for (_, heat), of in by_row(rows).items()
        if heat == 0
    ]
    spreads = [max(speeds) - min(speeds) for speeds in same]
    return f"{min(spreads):.2f} to {max(spreads):.2f}"


def speed_words(rows: list[Row]) -> str:
    """The best of chains, chosen and sampled trees at each temperature, and the aims."""
    grouped, told = by_row(rows), []
    for heat in sorted({heat for _, heat in grouped}):
        here = {domain: of for (domain, at), of in grouped.items() if at == heat}
        aim = 1.5 if heat == 0 else 1.3
        own = ("plain", "sampled") if heat == 0 else ("plain",)  # a sampled tree is a chain there
        best = {
            domain: max((row["speedup"], name) for name, row in of.items() if not name.startswith(own))
            for domain, of in here.items()
        }
        winners = "; ".join(f"{domain} {name} {value:.2f}" for domain, (value, name) in best.items())
        over = sum(value >= aim for value, _ in best.values())
        more = [_most(of, "grown") / _most(of, "hsd 2", "tokenwise 2") - 1 for of in here.values()]
        told.append(
            f"At T = {heat:g} the fastest are {winners}: {over} of {len(best)} at {aim:g} times plain decoding or "
            f"above, where two were the aim. Grown trees give {min(more):+.0%} to {max(more):+.0%} tokens per pass "
            "against the better chain of two."
        )
    return "\n\n".join(told)


def _most(of: dict[str, Row], *begins: str) -> float:
    return max(row["tokens_per_call"][0] for name, row in of.items() if name.startswith(begins))


def shares(rows: list[Row]) -> str:
    trees = [row for row in rows if row["case"].startswith(("grown", "sampled"))]
    held = sorted(row["efficiency"] for row in trees)
    return (
        f"What the tree rows reach of the limit set by their own passes: {held[0]:.2f} to {held[-1]:.2f}, median "
        f"{held[len(held) // 2]:.2f}; the rest is judging and bookkeeping in Python."
    )


def planned(plans: list[Row], rows: list[Row]) -> str:
    lines = [
        [
            f"{plan['temperature']:g}",
            "{drafts} a level, {gamma} levels, {nodes} nodes".format(**plan["best"]),
            f"{1 + plan['best']['kept']:.2f}",
            f"{plan['best']['step']:.1f}",
            f"{plan['best']['speedup']:.2f}",
            str(plan["steps"]),
            measured(plan, rows),
        ]
        for plan in plans
    ]
    head = ["T", "proposed", "tokens a pass", "ms a step", "times plain", "from trees", "above: tokens, times plain"]
    return table(head, lines)


def measured(plan: Row, rows: list[Row]) -> str:
    """Return the measured results of a proposed tree, over the kinds of text."""
    name = "grown {drafts} × {gamma}, {nodes} nodes".format(**plan["best"])
    timed = [row for row in rows if row["case"] == name and row["T"] == plan["temperature"]]
    if not timed:
        return "not timed"
    tokens, speeds = [row["tokens_per_call"][0] for row in timed], [row["speedup"] for row in timed]
    return f"{min(tokens):.2f} to {max(tokens):.2f}, {min(speeds):.2f} to {max(speeds):.2f}"


def planner_words(passes: dict[str, float], rows: list[Row]) -> str:
    """Compare the planner's stack of n-grams, head and target with the measured chain of the head."""
    cases = {row["case"]: row for row in rows}
    of_ngrams, of_head = (first_kept(cases[f"{name}, γ=2"]) for name in ("n-grams", "tokenwise"))
    further = (passes["8"] - passes["1"]) / 7
    most = 1 + of_ngrams - of_head  # more of the n-grams the head cannot keep, as distances are
    models = Models((0.1, passes["head"], passes["1"]), ((most, of_ngrams), (of_head,)), (0.0, passes["head"], further))
    best = plan(models).best
    assert best.models == (1, 2), "a stack of three, or no head: write this paragraph anew"
    threshold = best.thresholds[0]
    return (
        f"with the passes above, and in the benchmark on all kinds of text {of_head:.2f} of the head's and "
        f"{of_ngrams:.2f} of the n-grams' tokens kept by the target, the best of all stacks is the head alone with "
        f"T = {threshold}, even if the head kept {most:.2f} of the n-grams', the most that could be: "
        f"{passes['1'] / best.latency:.2f} times plain decoding."
    )


def first_kept(row: Row) -> float:
    """The share of steps that kept a drafted token."""
    counts = row["kept_histogram"]
    return 1 - counts.get(0, 0) / sum(counts.values())


def exits(last: dict[str, Row], rows: list[Row]) -> str:
    """Report the accuracy of early exits of the frozen model, and the speed of decoding with one."""
    lines = [
        [words, *(f"{last[name]['T=0.7'][domain][0]:.2f}" for domain in DOMAINS)]
        for name, words in (("exit-4", "after 4 of 30 layers"), ("exit-16", "after 16"), ("head", "the head"))
    ]
    met = table(["reads", *DOMAINS], lines)
    speeds = [row["speedup"] for row in rows if row["case"].startswith("hispec")]
    against = [of["hsd 2"]["speedup"] for of in by_row(rows).values()]
    return (
        "SmolLM2 was not trained to be left early. With all its layers as they are, a norm and a matrix of low rank, "
        f"in front of the embedding's rows for 6,144 tokens, were trained on the same {last['exit-4']['tokens']:,} "
        f"tokens as the head above (Σ min(p, q), first token, T = 0.7):\n\n{met}\n\n"
        "Decoding with the exit after layer 4 (HiSpec; more training than in this table, see the card) came out at "
        f"{min(speeds):.2f} to {max(speeds):.2f} times plain decoding in the table above, where the head's chain of "
        f"two reached {min(against):.2f} to {max(against):.2f}."
    )


if __name__ == "__main__":
    main()
