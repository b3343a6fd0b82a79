"""Write the page "What is true of these rules": every number on it comes out of the exact audit while it is written.

    python examples/reproduce/rules_page.py [--out FILE]    # default assets/docs/rules.md; takes about a minute

The words are in rules_page.template.md. The worked step is the most telling one of the recorded run `four-drafts`; the
table of measured block efficiencies is read from assets/results/trees.json.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from pages import DOCS, filled, table, write
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that this runs without installing the package

from hsd import load_pair, run
from hsd.app.presets import definitions, recorded, telling_step
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
from hsd.audit.chains import finding
from hsd.audit.trees import OpenTree, Shape, audit_tree_rules, regular_shape, tree_output_law
from hsd.bench.prompts import shipped
from hsd.paths import RESULTS
from hsd.rules import RULES, TREE_RULES, Fuzzy, TreeRule, fuzzy_rule
from hsd.rules.fuzzy import relative_entropy
from hsd.rules.rejection import top_down
from hsd.trace import Change, Decision, Grounds, Step

CHAIN_PAIRS, TREE_PAIRS, SAME_DRAFTS = 40, 20, 1_500
TOY = ([1 / 3, 2 / 3], [2 / 3, 1 / 3])

Values = dict[str, list[float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DOCS / "rules.md")
    out: Path = parser.parse_args().out
    torch.set_num_threads(1)
    out.parent.mkdir(parents=True, exist_ok=True)
    write(out, page())
    return 0


def page() -> str:
    """The whole page as Markdown."""
    facts = (
        chains()
        | toy()
        | same_law()
        | fuzzy()
        | relaxed()
        | coupled()
        | certain()
        | trees()
        | chosen_trees()
        | on_text()
        | by_hand()
    )
    return filled("rules", facts)


def judged_row(name: str, kept: list[float], distance: list[float]) -> list[str]:
    worst = max(distance)
    return [name, f"{statistics.mean(kept):.4f}", f"{worst:.1e}", "yes" if worst < 1e-12 else "**no**"]


JUDGED = ("rule", "E[kept]", "largest total variation", "lossless")


# One draft


def chains() -> dict[str, str]:
    """The rules for one draft on random pairs."""
    kept, distance, ideal = defaultdict(list), defaultdict(list), []
    for seed in range(CHAIN_PAIRS):
        models = random_models(3, 3, seed)
        ideal.append(ideal_kept(models))
        for name, found in audit_rules(models).items():
            kept[name].append(found["expected_accepted"])
            distance[name].append(found["total_variation"])
    rows = [judged_row(f"`{name}`", kept[name], distance[name]) for name in RULES]
    rows.append(["ideal, Σ min(p(X), q(X))", f"{statistics.mean(ideal):.4f}", "", ""])
    ahead, more = gaps(kept, "hsd", "tokenwise"), gaps(kept, "hsd-released", "hsd")
    off = distance["hsd-released"]
    return {
        "chain_pairs": str(CHAIN_PAIRS),
        "chain_table": table(JUDGED, rows),
        "hsd_ahead": str(sum(gap > 1e-12 for gap in ahead)),
        "hsd_least": f"{min(ahead):.3f}",
        "hsd_most": f"{max(ahead):.3f}",
        "released_least": f"{min(off):.4f}",
        "released_most": f"{max(off):.3f}",
        "released_median": f"{statistics.median(off):.3f}",
        "released_more": f"{statistics.mean(more):.3f}",
        **{
            f"{short}_mean": f"{statistics.mean(kept[name]):.4f}"
            for short, name in (("race", "coupled"), ("compare", "agreement"), ("token", "tokenwise"), ("hsd", "hsd"))
        },
        "naive_gap": f"{max(abs(a - b) for a, b in zip(kept['naive-hsd'], ideal, strict=True)):.0e}",
    }


def gaps(kept: Values, first: str, second: str) -> list[float]:
    return [a - b for a, b in zip(kept[first], kept[second], strict=True)]


def toy() -> dict[str, str]:
    rows = []
    for gamma in (1, 2, 3, 4, 6):
        found = audit_rules(context_free_models(*TOY, gamma))
        kept = {name: f"{row['expected_accepted']:.4f}" for name, row in found.items()}
        off, calls = found["hsd-released"]["total_variation"], extra_calls(gamma)
        exact = [str(gamma), kept["tokenwise"], kept["hsd"]]
        rows.append([*exact, f"{kept['hsd-released']} ({off:.3f})", f"{kept['naive-hsd']} ({calls:.3f})"])
    return {"toy_table": table(("γ", "token-wise", "block = HSD", "HSD as released", "naive HSD = ideal"), rows)}


def extra_calls(gamma: int) -> float:
    """The expected further target calls of naive HSD on the toy: γ - kept - 1 where the draft is cut."""
    p, q = (torch.tensor(row, dtype=torch.float64) for row in TOY)
    open_after = torch.tensor([max(gamma - t - 1, 0) for t in range(gamma + 1)], dtype=torch.float64)
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
        worst = max(worst, float((block.stop - stop).abs().max()), float((block.a - weights).abs().max()))
    return {"same_drafts": f"{SAME_DRAFTS:,}", "same_worst": f"{worst:.0e}"}


def random_drafts() -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Seeded drafts of 1 to 8 tokens over 2 to 12: p, q and the tokens."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(SAME_DRAFTS):
        gamma, vocab = (int(torch.randint(low, high, (), generator=generator)) for low, high in ((1, 9), (2, 13)))
        scores = 1.5 * torch.randn(gamma + 1, vocab, generator=generator, dtype=torch.float64)
        noise = torch.randn(scores.shape, generator=generator, dtype=torch.float64)
        p, q = scores.softmax(-1), (scores + noise).softmax(-1)[:-1]
        yield p, q, torch.multinomial(q, 1, generator=generator).squeeze(-1)


def paper_hsd(p: Tensor, q: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """stop (γ+1,) and residual weights (γ,) of algorithm 2, by Definitions 4 and 5 and Eqs. 17 and 18 of 2601.05724."""
    gamma, ratio, capped = len(tokens), [1.0], [1.0]
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
    """What the fuzzy rule gives up on the random pairs, against its bound; and its two ends."""
    config = Fuzzy()
    asked = {"first": config, "only": Fuzzy(mode="divergence-only"), "exact": Fuzzy(tolerance=-1)}
    kept, spent, distance = defaultdict(list), [], []
    for seed in range(CHAIN_PAIRS):
        models = random_models(3, 3, seed)
        truth = target_law(models)
        found = {name: output_law(models, fuzzy_rule(one).law) for name, one in asked.items()}
        for name, (_, number) in found.items():
            kept[name].append(number)
        kept["tokenwise"].append(output_law(models, RULES["tokenwise"].law)[1])
        spent.append(float(relative_entropy(found["first"][0].flatten(), truth.flatten())))
        distance.append(total_variation(found["exact"][0], truth))
    shares = [kl / (config.tolerance * number) for kl, number in zip(spent, kept["first"], strict=True)]
    return {
        "fuzzy_tolerance": str(config.tolerance),
        "fuzzy_least": f"{min(spent):.3f}",
        "fuzzy_most": f"{max(spent):.3f}",
        "fuzzy_median": f"{statistics.median(spent):.3f}",
        "fuzzy_share": f"{max(shares):.2f}",
        "fuzzy_more": f"{statistics.mean(gaps(kept, 'first', 'tokenwise')):.3f}",
        "fuzzy_only": f"{statistics.mean(kept['only']):.4f}",
        "fuzzy_exact": f"{max(distance):.0e}",
    }


# Rules that servers run


RELAXED = {"ensemble": (0.0, 0.1, 0.25, 0.5, 1.0), "typical": (0.0, 0.09, 0.3, 0.6, 1.0)}


def relaxed() -> dict[str, str]:
    """What the rules with one number keep and cost on the random pairs, from one end of that number to the other."""
    rows = []
    for name, numbers in RELAXED.items():
        knob = RULES[name].knob
        assert knob
        for number in numbers:
            law = RULES[name].tuned(number).law
            pairs = [random_models(3, 3, seed) for seed in range(CHAIN_PAIRS)]
            found = [(output_law(models, law), target_law(models)) for models in pairs]
            off = [total_variation(output, truth) for (output, _), truth in found]
            kept = [number for (_, number), _ in found]
            middle = "0" if max(off) < 1e-12 else f"{statistics.median(off):.3f}"
            rows.append([f"`{name}`, {knob.sign} = {number:g}", *judged_row("", kept, off)[1:3], middle])
    return {"relaxed_table": table(("rule", "E[kept]", "largest total variation", "median"), rows)}


COUPLED = ([0.2, 0.5, 0.3], [0.1, 0.7, 0.2])
TOLD = {"agreement": "sample and compare", "coupled": "coupled", "tokenwise": "token-wise", "hsd": "HSD"}


def coupled() -> dict[str, str]:
    """What coupled picks keep of one position, and of drafts on text, beside sample and compare."""
    (p, q), found = COUPLED, audit_rules(context_free_models(*COUPLED, 1))
    kept, how = defaultdict(list), {"gamma": 4, "temperature": 0.8, "max_new_tokens": 64}
    prompts = shipped()["stories"]
    for seed, prompt in enumerate(prompts):
        for step in run(load_pair("tiny"), prompt, rule="coupled", seed=seed, **how).steps:
            for name in TOLD if step.drafted == how["gamma"] else ():
                kept[name].append(step.expected_kept[name])
    return {
        "race_p": ", ".join(map(str, p)),
        "race_q": ", ".join(map(str, q)),
        "race_kept": f"{found['coupled']['expected_accepted']:.4f}",
        "race_best": f"{sum(map(min, p, q)):.4f}",
        "race_compare": f"{found['agreement']['expected_accepted']:.4f}",
        "race_texts": str(len(prompts)),
        "race_gamma": str(how["gamma"]),
        "race_temperature": f"{how['temperature']:g}",
        "race_on_text": ", ".join(f"{words} {statistics.mean(kept[name]):.2f}" for name, words in TOLD.items()),
    }


def certain() -> dict[str, str]:
    """Drafts that are certain, q one-hot: how far the laws of the lossless rules are apart."""
    worst, lossless = 0.0, [rule for rule in RULES.values() if rule.lossless]
    for seed in range(SAME_DRAFTS):
        generator = torch.Generator().manual_seed(seed)
        vocab, gamma = 2 + seed % 11, 1 + seed % 8
        p = torch.randn(gamma + 1, vocab, generator=generator, dtype=torch.float64).mul(2).softmax(-1)
        tokens = torch.randint(vocab, (gamma,), generator=generator)
        q = torch.nn.functional.one_hot(tokens, vocab).double()
        stops = torch.stack([rule.law(p, q, tokens).stop for rule in lossless])
        worst = max(worst, float((stops - stops[0]).abs().max()))
    return {"certain_drafts": f"{SAME_DRAFTS:,}", "certain_rules": str(len(lossless)), "certain_worst": f"{worst:.0e}"}


# Several drafts


def trees() -> dict[str, str]:
    """Every rule on every layout that it fits, on random pairs."""
    kept, distance = defaultdict(list), defaultdict(list)
    for seed in range(TREE_PAIRS):
        found, _ = audit_tree_rules(random_models(3, 2, seed), drafts=2)
        for name, row in found.items():
            kept[name].append(row["expected_accepted"])
            distance[name].append(row["total_variation"])
    rows = [judged_row(name, kept[name], distance[name]) for name in kept]
    versus = {
        "hsd_tokenwise_paths": ("recursive-hsd, paths", "recursive-tokenwise, paths"),
        "traversal_topdown_independent": ("traversal, full, independent", "top-down, full, independent"),
        "traversal_topdown_distinct": ("traversal, full, distinct", "top-down, full, distinct"),
        "traversal_hsd_paths": ("traversal, paths", "recursive-hsd, paths"),
        "traversal_hsd_comb": ("traversal, comb", "recursive-hsd, comb"),
        "block_hsd_paths": ("recursive-blockwise, paths", "recursive-hsd, paths"),
    }
    found = {name: more_and_less(gaps(kept, *pair)) for name, pair in versus.items()}
    return {"tree_pairs": str(TREE_PAIRS), "tree_table": table(("rule, layout", *JUDGED[1:]), rows), **found}


def more_and_less(differences: list[float]) -> str:
    more, less = sum(d > 1e-12 for d in differences), sum(d < -1e-12 for d in differences)
    if not more and not less:
        return f"exactly the same on all {len(differences)}"
    return f"more on {more} and less on {less} of {len(differences)} pairs"


def chosen_trees() -> dict[str, str]:
    shape, gap, off = regular_shape(2, 2, "chosen"), 0.0, []
    drawn = replace(shape, siblings="distinct")  # what the rule takes the tree for
    mistaken = TreeRule(
        "softmax", "", "", "", False, lambda tree: top_down(replace(tree, shape=drawn)), frozenset({"chosen"})
    )
    for seed in range(TREE_PAIRS):
        models = random_models(3, 2, seed)
        wrong, right = (
            finding(*tree_output_law(rule, models, shape), target_law(models))
            for rule in (mistaken, TREE_RULES["one-hot"])
        )
        off.append(wrong["total_variation"])
        best = right["expected_accepted"]
        gap = max(gap, abs(best - reach(models, shape)))
    return {
        "chosen_gap": f"{gap:.0e}",
        "softmax_least": f"{min(off):.2f}",
        "softmax_most": f"{max(off):.2f}",
        "softmax_median": f"{statistics.median(off):.2f}",
    }


def reach(models: TableModels, shape: Shape) -> float:
    """Σ p(path) over the nodes of a chosen tree."""
    tree, nodes = OpenTree(models, shape), range(1, len(shape.parents) + 1)
    for node in nodes:
        ((_, tree),) = tree.draws(node)
    return sum(models.joint(models.target, tree.path(node)) for node in nodes)


def on_text() -> dict[str, str]:
    """Block efficiencies on text, from the benchmark's own file."""
    result = json.loads((RESULTS / "trees.json").read_text(encoding="utf-8"))
    cases, machine, setting = result["cases"], result["machine"], result["setting"]
    domains = list(next(iter(cases.values())))
    rows = []
    for name, found in cases.items():
        cells = ["{:.2f} ({:.2f}–{:.2f})".format(*found[d]["tokens_per_target_call"]) for d in domains]
        rows.append([name, *cells, f"{step_ms(found):.1f}"])
    return {
        "text_table": table(["case", *domains, "ms per step"], rows),
        "text_verdict": verdict(cases, domains),
        "text_prompts": result["prompts"],
        "text_gamma": str(setting["gamma"]),
        "text_temperature": f"{setting['temperature']:g}",
        "text_count": str(setting["prompts"]),
        "text_repetitions": str(result["repetitions"]),
        **{f"text_{name}": str(machine[name]) for name in ("cores", "load", "dtype", "torch")},
    }


def step_ms(found: dict[str, Any]) -> float:
    return statistics.mean(row["ms_per_step"] for row in found.values())


def verdict(cases: dict[str, Any], domains: list[str]) -> str:
    """What several drafts bring, and what they cost, in one sentence each."""
    one, four = cases["HSD, one draft"], cases["HSD, 4 drafts"]
    gains = [four[d]["tokens_per_target_call"][0] / one[d]["tokens_per_target_call"][0] - 1 for d in domains]
    cost = step_ms(four) / step_ms(one)
    brings = "more than" if min(gains) + 1 > cost else "less than"
    return (
        f"Four drafts bring HSD {100 * min(gains):.0f} to {100 * max(gains):.0f} % more tokens per target call, "
        f"and a step takes {cost:.2f} times as\nlong: on this pair several drafts bring {brings} they cost."
    )


# One step by hand


def by_hand() -> dict[str, str]:
    """The tests of one recorded step with four drafts, recomputed from the numbers that the page shows."""
    preset = definitions()["four-drafts"]
    trace = recorded(preset)
    index = telling_step(trace)
    step = trace.steps[index]
    tests = []
    made, changes = step.verdict.decisions, step.verdict.changes
    for count in range(len(made) + 1):
        tests += [f"   - *{left_over(step, change)}*" for change in changes if change.after == count]
        if count < len(made):
            tests.append(f"{count + 1}. {tested(step, made[count])}")
    kept, last = " ".join(code(c.piece) for c in step.committed[: step.kept]), step.committed[-1]
    source = "a bonus from the target" if last.origin == "bonus" else "drawn from what is left"
    other = step.shadow.kept if step.shadow else 0
    return {
        "hand_title": preset.title,
        "hand_step": str(index + 1),
        "hand_steps": str(len(trace.steps)),
        "hand_drafts": str(trace.setup.options.draft.drafts),
        "hand_tree": "\n".join(tree_lines(step, 0, 0)),
        "hand_tests": "\n".join(tests),
        "hand_result": f"Kept: {kept}, and then {code(last.piece)}, {source}. The token-wise rule, draft after draft,\n"
        f"keeps {other} with the same drafts and coins.",
    }


def tree_lines(step: Step, parent: int, depth: int) -> list[str]:
    lines = []
    for node in step.nodes:
        if node.parent == parent:
            lines.append(f"{'  ' * depth}- {code(node.piece)} p {node.p:.4f}, q {node.q:.4f}")
            lines += tree_lines(step, node.id, depth + 1)
    return lines


def tested(step: Step, decision: Decision) -> str:
    path, node = list[str](), decision.node
    while node:
        path.append(code(step.nodes[node - 1].piece))
        node = step.nodes[node - 1].parent
    which = "whole" if decision.test == "draft" else "its first token" if len(path) == 1 else f"its first {len(path)}"
    outcome = "passes" if decision.accepted else "fails"
    draft = f"Draft {decision.draft + 1}, {which}, {' '.join(reversed(path))}"
    return f"{draft}: {arithmetic(decision.grounds, decision.threshold)}, coin {decision.coin:.4f}: {outcome}."


def arithmetic(g: Grounds, recorded_threshold: float) -> str:
    """The threshold from its numbers; it must be the one that was recorded."""
    whole = g.mass + 1 - g.before
    if g.form == "share" and whole == 0:
        return "0/0, nothing to correct, so the threshold is 1"
    value, words = (
        (g.mass / whole, f"{g.mass:.5f} / ({g.mass:.5f} + 1 − {g.before:.5f})")
        if g.form == "share"
        else (min(1.0, g.before * g.p / g.q), f"min(1, {g.before:.4f} · {g.p:.4f} / {g.q:.4f})")
    )
    assert abs(value - recorded_threshold) < 1e-4  # masses are sums over the vocabulary in single precision
    return f"{words} = {recorded_threshold:.4f}"


def left_over(step: Step, change: Change) -> str:
    where = f"after {code(step.nodes[change.node - 1].piece)}" if change.node else "at the start"
    moved = ", ".join(f"{code(o.piece)} {o.p:.3f} → {o.probability:.3f}" for o in change.top[:3])
    residual = f"max({change.weight:.4f}·p − q, 0) / {change.mass:.4f}"
    return (
        f"That draft ends here. The target {where} becomes the residual {residual}: {moved}. "
        "A further draft that shares what is kept is judged against it, its ratios starting again at 1."
    )


def code(piece: str) -> str:
    return "`" + piece.replace("\n", "⏎").replace("`", "'") + "`"


if __name__ == "__main__":
    sys.exit(main())
