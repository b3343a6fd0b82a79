"""Write the blocks of the page "What is true": exact audits, made while it is written, and what
trees of a head keep.

    python examples/reproduce/science_page.py    # assets/docs/science.md; takes about a minute

The two tables about a head's trees are read from assets/results/smollm2.json (measure_smollm2.py,
parts `kept` and `groups`).
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import measured_pair
import torch
import trade_off
from measuring import interval
from pages import DOCS, prose, table, write
from torch import Tensor

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from hsd import load_pair, run
from hsd.audit import (
    TableModels,
    audit_rules,
    context_free_models,
    ideal_kept,
    output_law,
    random_models,
    target_law,
    total_variation,
)
from hsd.audit.chains import audit_entry
from hsd.audit.trees import OpenTree, TreeShape, audit_tree_rules, regular_shape, tree_output_law
from hsd.bench.prompts import shipped
from hsd.draft import LAYOUTS
from hsd.paths import RESULTS
from hsd.rules import RULES, TREE_RULES, VANILLA, Fuzzy, TreeRule, fuzzy_rule
from hsd.rules.fuzzy import relative_entropy
from hsd.rules.rejection import top_down

PAGE = DOCS / "science.md"
CHAIN_PAIRS = 40
TREE_PAIRS = 20
SAME_DRAFTS = 1_500
TOY = ([1 / 3, 2 / 3], [2 / 3, 1 / 3])

Values = dict[str, list[float]]
Row = dict[str, Any]


def main() -> int:
    torch.set_num_threads(1)
    write(PAGE, made())
    return 0


def made() -> dict[str, str]:
    """Return the blocks of the page."""
    parts = (
        chains(),
        toy(),
        same_law(),
        fuzzy(),
        equal(),
        relaxed(),
        coupled(),
        certain(),
        trees(),
        chosen_trees(),
        of_a_head(),
    )
    return {name: prose(text) for part in parts for name, text in part.items()}


def judged(name: str, kept: list[float], distance: list[float]) -> list[str]:
    worst = max(distance)
    return [
        name,
        f"{statistics.mean(kept):.4f}",
        f"{worst:.1e}",
        "yes" if worst < 1e-12 else "**no**",
    ]


JUDGED = ("rule", "E[kept]", "largest total variation", "lossless")


# One draft


def chains() -> dict[str, str]:
    """The rules for one draft on random pairs."""
    kept = defaultdict(list)
    distance = defaultdict(list)
    ideal = []
    for seed in range(CHAIN_PAIRS):
        models = random_models(3, 3, seed)
        ideal.append(ideal_kept(models))
        for name, found in audit_rules(models).items():
            kept[name].append(found["expected_accepted"])
            distance[name].append(found["total_variation"])
    rows = [
        judged(f"`{name}`", kept[name], distance[name]) for name in RULES if name not in RELAXED
    ]
    rows.append(["ideal, Σ min(p(X), q(X))", f"{statistics.mean(ideal):.4f}", "", ""])
    ahead = gaps(kept, "hsd", "tokenwise")
    more = gaps(kept, "hsd-released", "hsd")
    off = distance["hsd-released"]
    gap = max(abs(a - b) for a, b in zip(kept["naive-hsd"], ideal, strict=True))
    return {
        "chains": table(JUDGED, rows),
        "lossless": f"On {CHAIN_PAIRS} random pairs of models (three tokens, γ = 3) the largest "
        "total variation of the "
        f"text from the target's law is {max(distance['hsd']):.1e}.",
        "ahead": f"HSD keeps more than the classic rule on {sum(one > 1e-12 for one in ahead)} of "
        f"{CHAIN_PAIRS} "
        f"pairs, by "
        f"{min(ahead):.3f} to {max(ahead):.3f} tokens on average over drafts. On a single draft "
        "the classic rule can "
        "be ahead.",
        "released": f"On the {CHAIN_PAIRS} pairs its text is off by a total variation of "
        f"{min(off):.4f} to "
        f"{max(off):.3f} (median {statistics.median(off):.3f}), and it keeps "
        f"{statistics.mean(more):.3f} tokens "
        "more per step than HSD.",
        "naive": "It keeps the ideal number of tokens, Σ min(p(X), q(X)) over all prefixes X (to "
        f"{gap:.0e}).",
    }


def gaps(kept: Values, first: str, second: str) -> list[float]:
    return [a - b for a, b in zip(kept[first], kept[second], strict=True)]


def toy() -> dict[str, str]:
    rows = []
    for gamma in (1, 2, 3, 4, 6):
        found = audit_rules(context_free_models(*TOY, gamma))
        kept = {name: f"{row['expected_accepted']:.4f}" for name, row in found.items()}
        off = found["hsd-released"]["total_variation"]
        calls = extra_calls(gamma)
        exact = [str(gamma), kept["tokenwise"], kept["hsd"]]
        rows.append(
            [*exact, f"{kept['hsd-released']} ({off:.3f})", f"{kept['naive-hsd']} ({calls:.3f})"]
        )
    return {
        "toy": table(
            ("γ", "token-wise", "block = HSD", "HSD as released", "naive HSD = ideal"), rows
        )
    }


def extra_calls(gamma: int) -> float:
    """The expected further target calls of naive HSD on the toy: γ - kept - 1 where the draft is
    cut.
    """
    p, q = (torch.tensor(row, dtype=torch.float64) for row in TOY)
    open_after = torch.tensor(
        [max(gamma - t - 1, 0) for t in range(gamma + 1)], dtype=torch.float64
    )
    total = 0.0
    for draft in torch.cartesian_prod(*[torch.arange(2)] * gamma).reshape(-1, gamma):
        stop = RULES["naive-hsd"].law(p.expand(gamma + 1, 2), q.expand(gamma, 2), draft).stop
        total += float(q[draft].prod() * (stop * open_after).sum())
    return total


def same_law() -> dict[str, str]:
    """HSD by the paper's own formulas against block verification, draft by draft."""
    worst = 0.0
    for p, q, tokens in random_drafts():
        block = RULES["blockwise"].law(p, q, tokens)
        stop, weights = paper_hsd(p, q, tokens)
        worst = max(
            worst, float((block.stop - stop).abs().max()), float((block.a - weights).abs().max())
        )
    return {
        "same": f"On {SAME_DRAFTS:,} random drafts (γ up to 8, up to 12 tokens) every chance to "
        "keep t tokens and "
        f"every weight of a residual agree to {worst:.0e}."
    }


def random_drafts() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Seeded drafts of 1 to 8 tokens over 2 to 12: p, q and the tokens."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(SAME_DRAFTS):
        gamma, vocab = (
            int(torch.randint(low, high, (), generator=generator))
            for low, high in ((1, 9), (2, 13))
        )
        scores = 1.5 * torch.randn(gamma + 1, vocab, generator=generator, dtype=torch.float64)
        noise = torch.randn(scores.shape, generator=generator, dtype=torch.float64)
        p = scores.softmax(-1)
        q = (scores + noise).softmax(-1)[:-1]
        yield p, q, torch.multinomial(q, 1, generator=generator).squeeze(-1)


def paper_hsd(p: Tensor, q: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """stop (γ+1,) and residual weights (γ,) of algorithm 2, by Definitions 4 and 5 and Eqs. 17 and
    18 of 2601.05724.
    """
    gamma = len(tokens)
    ratio = [1.0]
    capped = [1.0]
    for t in range(gamma):
        ratio.append(ratio[-1] * float(p[t, tokens[t]] / q[t, tokens[t]]))
    for t in range(1, gamma + 1):
        m = max(range(1, t), key=lambda i: ratio[i], default=0)
        m = m if ratio[m] > 1 else 0
        capped.append(min(ratio[m], 1.0) * ratio[t] / ratio[m])
    tests = [1.0]
    for t in range(1, gamma):
        gap = min(capped[t], 1.0) * p[t] - q[t]
        tests.append(float(gap.clamp_min(0).sum() / (-gap).clamp_min(0).sum()))
    tests.append(min(1.0, capped[gamma]))
    failed = [math.prod(1 - h for h in tests[t + 1 :]) for t in range(gamma + 1)]
    stop = torch.tensor(tests, dtype=torch.float64) * torch.tensor(failed, dtype=torch.float64)
    return stop, torch.tensor([min(1.0, c) for c in capped[:-1]], dtype=torch.float64)


# The fuzzy rule


def fuzzy() -> dict[str, str]:
    """What the fuzzy rule gives up on the random pairs, against its bound; and what its paper's
    form keeps.
    """
    config = Fuzzy()
    asked = {"first": config, "only": Fuzzy(mode="divergence-only")}
    kept = defaultdict(list)
    spent = []
    for seed in range(CHAIN_PAIRS):
        models = random_models(3, 3, seed)
        truth = target_law(models)
        found = {name: output_law(models, fuzzy_rule(one).law) for name, one in asked.items()}
        for name, (_, number) in found.items():
            kept[name].append(number)
        kept["tokenwise"].append(output_law(models, RULES["tokenwise"].law)[1])
        spent.append(float(relative_entropy(found["first"][0].flatten(), truth.flatten())))
    shares = [
        kl / (config.tolerance * number) for kl, number in zip(spent, kept["first"], strict=True)
    ]
    return {
        "fuzzy": f"On the {CHAIN_PAIRS} pairs of [1](#1-hsd-is-lossless) (D = KL(q‖p), T = "
        f"{config.tolerance}, the "
        f"exact test where D is above it) KL(text‖target) is {min(spent):.3f} to {max(spent):.3f} "
        "nats, at most "
        f"{max(shares):.2f} of the bound, and it keeps "
        f"{statistics.mean(gaps(kept, 'first', 'tokenwise')):.3f} tokens "
        "more per step than token-wise. In the paper's own form, where the first D above T ends "
        "the draft, it keeps "
        f"{statistics.mean(kept['only']):.4f}."
    }


def equal() -> dict[str, str]:
    """What each rule that gives up exactness makes at equal cost, as `trade_off.py` measured it."""
    return {
        "equal": trade_off.markdown(
            json.loads((RESULTS / "fuzzy.json").read_text(encoding="utf-8"))["equal"]
        )
    }


# Rules that servers run


RELAXED = {"ensemble": (0.1, 0.25, 0.5), "typical": (0.09, 0.3, 1.0)}
RELAXED |= dict.fromkeys(("clipped", "clipped-hsd"), (0.01, 0.05, 0.3))


def relaxed() -> dict[str, str]:
    """What the rules with one number keep and cost on the random pairs, at three values of that
    number.
    """
    rows = []
    for name, numbers in RELAXED.items():
        knob = RULES[name].knob
        assert knob
        cells = []
        for number in numbers:
            law = RULES[name].tuned(number).law
            pairs = [random_models(3, 3, seed) for seed in range(CHAIN_PAIRS)]
            found = [(output_law(models, law), target_law(models)) for models in pairs]
            off = [total_variation(output, truth) for (output, _), truth in found]
            kept = [number for (_, number), _ in found]
            cells.append(f"{statistics.mean(kept):.4f} ({statistics.median(off):.3f})")
        rows.append(
            [f"`{name}`, {knob.sign} = {', '.join(f'{number:g}' for number in numbers)}", *cells]
        )
    return {"relaxed": table(("rule", "least", "middle", "most"), rows)}


COUPLED = ([0.2, 0.5, 0.3], [0.1, 0.7, 0.2])
TOLD = {
    "agreement": "sample and compare",
    "coupled": "coupled",
    "tokenwise": "token-wise",
    "hsd": "HSD",
}


def coupled() -> dict[str, str]:
    """What coupled picks keep of one position, and of drafts on text, beside sample and compare."""
    p, q = COUPLED
    found = audit_rules(context_free_models(*COUPLED, 1))
    kept = defaultdict(list)
    how = {"gamma": 4, "temperature": 0.8, "max_new_tokens": 64}
    prompts = shipped()["stories"]
    for seed, prompt in enumerate(prompts):
        for step in run(load_pair("tiny"), prompt, rule="coupled", seed=seed, **how).steps:
            for name in TOLD if step.drafted == how["gamma"] else ():
                kept[name].append(step.expected_kept[name])
    on_text = ", ".join(
        f"{words} {statistics.mean(kept[name]):.2f}" for name, words in TOLD.items()
    )
    return {
        "coupled": f"For p = ({', '.join(map(str, p))}) and q = ({', '.join(map(str, q))}) it "
        "keeps "
        f"{found['coupled']['expected_accepted']:.4f} of one position, where no rule can keep more "
        "than "
        f"{sum(map(min, p, q)):.4f} and sample and compare keeps "
        f"{found['agreement']['expected_accepted']:.4f}. On "
        f"drafts "
        f"of the toy pair ({len(prompts)} stories, γ = {how['gamma']}, T = {how['temperature']:g}, "
        "over all coins): "
        f"{on_text}."
    }


def certain() -> dict[str, str]:
    """Drafts that are certain, q one-hot: how far the laws of the lossless rules are apart."""
    worst = 0.0
    lossless = [rule for rule in RULES.values() if rule.lossless]
    for seed in range(SAME_DRAFTS):
        generator = torch.Generator().manual_seed(seed)
        vocab = 2 + seed % 11
        gamma = 1 + seed % 8
        p = (
            torch.randn(gamma + 1, vocab, generator=generator, dtype=torch.float64)
            .mul(2)
            .softmax(-1)
        )
        tokens = torch.randint(vocab, (gamma,), generator=generator)
        q = torch.nn.functional.one_hot(tokens, vocab).double()
        stops = torch.stack([rule.law(p, q, tokens).stop for rule in lossless])
        worst = max(worst, float((stops - stops[0]).abs().max()))
    return {
        "certain": f"On {SAME_DRAFTS:,} random drafts the laws of the {len(lossless)} lossless "
        "rules for one draft "
        f"agree to {worst:.0e}."
    }


# Several drafts


def trees() -> dict[str, str]:
    """Every rule on every layout that it fits, on random pairs."""
    kept = defaultdict(list)
    distance = defaultdict(list)
    for seed in range(TREE_PAIRS):
        found, _ = audit_tree_rules(random_models(3, 2, seed), drafts=2)
        for name, row in found.items():
            kept[name].append(row["expected_accepted"])
            distance[name].append(row["total_variation"])
    layouts = [
        to for to in dict.fromkeys(name.partition(", ")[2] for name in kept) if to not in UNSHOWN
    ]
    rules = [
        rule
        for rule in dict.fromkeys(name.partition(", ")[0] for name in kept)
        if rule != "recursive-blockwise"
    ]
    rows = [
        [
            f"`{rule}`",
            *(
                f"{statistics.mean(kept[one]):.4f}" if (one := f"{rule}, {to}") in kept else ""
                for to in layouts
            ),
        ]
        for rule in rules
    ]
    exact, lossy = (
        [
            max(off)
            for name, off in distance.items()
            if TREE_RULES[name.partition(", ")[0]].lossless == lossless
        ]
        for lossless in (True, False)
    )
    words = [f"{first} {more_and_less(gaps(kept, *pair))}" for first, pair in VERSUS.items()]
    return {
        "trees": table(("rule", *layouts), rows),
        "tree_words": f"The largest total variation of a lossless rule is {max(exact):.1e}, of "
        "others "
        f"{max(lossy):.2f}. On how many of {TREE_PAIRS} pairs one rule keeps more than another, "
        "and in brackets less: "
        f"{'; '.join(words)}.",
    }


UNSHOWN = ("full, independent", "full, distinct")  # layouts that take part in the sentences alone
VERSUS = {
    "on paths, draft after draft, HSD than token-wise": (
        "recursive-hsd, paths",
        "recursive-tokenwise, paths",
    ),
    "block verification than HSD": ("recursive-blockwise, paths", "recursive-hsd, paths"),
    "traversal than HSD": ("traversal, paths", "recursive-hsd, paths"),
    "traversal than HSD on combs": ("traversal, comb", "recursive-hsd, comb"),
    "traversal than top-down on full trees": (
        "traversal, full, independent",
        "top-down, full, independent",
    ),
    "HSD than token-wise on mixed trees": (
        "recursive-hsd, full, mixed",
        "recursive-tokenwise, full, mixed",
    ),
}


def more_and_less(differences: list[float]) -> str:
    more = sum(d > 1e-12 for d in differences)
    less = sum(d < -1e-12 for d in differences)
    return f"{more} ({less})"


def chosen_trees() -> dict[str, str]:
    shape = regular_shape(2, 2, "chosen")
    gap = 0.0
    off = []
    drawn = replace(shape, siblings="distinct")  # what the rule takes the tree for
    mistaken = TreeRule(
        "softmax",
        "",
        "",
        "",
        False,
        lambda tree: top_down(replace(tree, shape=drawn)),
        frozenset({"chosen"}),
    )
    for seed in range(TREE_PAIRS):
        models = random_models(3, 2, seed)
        wrong, right = (
            audit_entry(*tree_output_law(rule, models, shape), target_law(models))
            for rule in (mistaken, TREE_RULES["one-hot"])
        )
        off.append(wrong["total_variation"])
        best = right["expected_accepted"]
        gap = max(gap, abs(best - reach(models, shape)))
    return {
        "chosen": f"`one-hot` reaches that sum (to {gap:.0e}, {TREE_PAIRS} pairs, full trees of "
        "depth 2). Testing "
        f"such a "
        f"tree with the draft's softmax as q, as if it had been drawn, is off by {min(off):.2f} to "
        f"{max(off):.2f} "
        f"(median "
        f"{statistics.median(off):.2f})."
    }


def reach(models: TableModels, shape: TreeShape) -> float:
    """Σ p(path) over the nodes of a chosen tree."""
    tree = OpenTree(models, shape)
    nodes = range(1, len(shape.parents) + 1)
    for node in nodes:
        ((_, tree),) = tree.draws(node)
    return sum(models.joint(models.target, tree.path(node)) for node in nodes)


# Trees of a head


SAMPLED = {"recursive-hsd": "HSD, draft after draft", "traversal": "traversal"}


def of_a_head() -> dict[str, str]:
    """What trees of the real model's head keep: drawn ones by each rule, and mixed ones beside
    chosen ones.
    """
    found = json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))
    rows = found["kept"]
    first = rows[0]
    where = f"{first['count']} prompts of {first['new_tokens']} tokens per kind, T = {first['T']:g}"
    blocks = {
        "worth": f"{worth(found['law'])} {measured_pair.in_a_sentence(measured_pair.estimates())}",
        "drawn": f"{real(rows)} {grown_words(rows)} ({where}.)",
        "mixed": f"{groups(found['groups'])}\n\n{seconds(found['shapes'])}"
        if "groups" in found
        else "On the real model this is not measured yet.",
    }
    return {name: prose(text) for name, text in blocks.items()}


def worth(rows: list[Row]) -> str:
    """Say how many more tokens per target call HSD gives on the real model, and on the toys, at
    each draft length.
    """
    more: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        more[row["gamma"]].append(100 * ((1 + row["hsd"]) / (1 + row["tokenwise"]) - 1))
    told = (
        f"{min(gains):+.1f} to {max(gains):+.1f} % at γ = {gamma}" for gamma, gains in more.items()
    )
    toys = json.loads((RESULTS / "tiny.json").read_text(encoding="utf-8"))["efficiency"]
    gains = [row["gain"] for row in toys if (row["gamma"], row["temperature"]) == (5, 1)]
    return (
        "On the same drafts and over all coins HSD gives more tokens per target call than the "
        "classic rule: "
        f"{', '.join(told)} on SmolLM2 at T = {rows[0]['T']:g}, by kind of text; on the toys "
        f"{min(gains):+.1%} to "
        f"{max(gains):+.1%} at γ = 5, T = 1."
    )


def real(rows: list[Row]) -> str:
    """Which gains over top-down rejection, as shares of all tokens per pass, are more than the
    prompts' scatter.
    """
    before = VANILLA[LAYOUTS["distinct-comb"].siblings]
    found = []
    for rule, words in SAMPLED.items():
        shares = [row[f"{rule} more"][0] / (1 + row[before][0]) for row in rows]
        clear = sum(low > 0 or high < 0 for _, low, high in (row[f"{rule} more"] for row in rows))
        found.append(
            f"{words[0].upper()}{words[1:]}: {min(shares):+.1%} to {max(shares):+.1%} tokens per "
            "pass, clearly "
            f"different in {clear} of {len(rows)} cases."
        )
    return " ".join(found)


def grown_words(rows: list[Row]) -> str:
    less = [row for row in rows if row["grown"][2] < row["top-down"][1]]
    more = [row for row in rows if row["grown"][1] > row["top-down"][2]]
    return (
        f"The drawn tree keeps clearly more than a chosen one of as many tokens in {len(less)} "
        "cases, clearly less in "
        f"{len(more)}."
    )


def groups(rows: list[Row]) -> str:
    heats = dict.fromkeys(row["T"] for row in rows)
    trees = dict.fromkeys((row["drafts"], row["tokens"]) for row in rows)
    at = {(row["T"], row["drafts"], row["tokens"]): row for row in rows}
    lines = [
        [
            f"{drafts}, {tokens}",
            *(cell for heat in heats for cell in group_cells(at[heat, drafts, tokens])),
        ]
        for drafts, tokens in trees
    ]
    heads = (f"T = {heat:g}: {words}" for heat in heats for words in ("chosen", "mixed", "drawn"))
    return f"{groups_words(rows)}\n\n{table(['siblings, tokens', *heads], lines)}"


def group_cells(row: Row) -> list[str]:
    """Tokens per pass of a chosen tree, and how many more a mixed and a drawn one bring by
    traversal.
    """
    return [
        interval(row["chosen, one-hot"]),
        *(_percent(row[f"{name}, traversal more"]) for name in ("mixed", "drawn")),
    ]


def _percent(values: list[float]) -> str:
    value, low, high = values
    return f"{value:+.1%} ({100 * low:.1f}–{100 * high:.1f})"


def seconds(rows: list[Row]) -> str:
    """Say how fast trees of each shape were, against plain decoding."""
    speeds = [row["speedup"] for row in rows if row["case"] != "plain"]
    return (
        f"In seconds {'some' if max(speeds) > 1 else 'none'} of these trees pays on two CPU "
        f"cores: {min(speeds):.2f} to "
        f"{max(speeds):.2f} times the speed of plain decoding ({rows[0]['count']} prompts, in "
        "turn)."
    )


def groups_words(rows: list[Row]) -> str:
    """Say what the columns are, and how much less mixed trees bring by top-down rejection than by
    traversal.
    """
    plainer = [row["mixed, traversal more"][0] - row["mixed, top-down more"][0] for row in rows]
    prompts = rows[0]["prompts"]
    tokens = rows[0]["new_tokens"]
    return (
        "*Chosen*: tokens per pass of trees of the real model's head; *mixed*, *drawn* (combs): "
        "how many more, by "
        f"traversal. By top-down mixed trees bring {100 * min(plainer):.1f} to "
        f"{100 * max(plainer):.1f} points less. "
        f"{prompts} prompts of {tokens} tokens, all kinds of text, over all coins."
    )


if __name__ == "__main__":
    sys.exit(main())
