"""The model card in ``assets/tiny/README.md``: prose from here, every number from a measurement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hsd.train.assess import QUICK, SAMPLE_TEMPERATURE, Amount, measure_all
from hsd.train.distill import SAMPLED_SHARE
from hsd.train.network import HARD_SHARE
from hsd.train.tokenizer import CONTEXT

Numbers = dict[str, Any]

_TITLE = "# The embedded models `tiny`: a target and two drafting models, trained from scratch"

_ABOUT = """\
These are toys. They were trained from scratch on {processor}, the target in {minutes:.0f} minutes, and know small
stories, grade-school sums and short Python functions, none of them reliably. What is real is the decoding that they
are made to show: every draft, coin and decision of speculative decoding runs on them as it would on large models.

Made with `python -m hsd train all --data FOLDER`, code in `hsd/train`. Each folder loads with plain
`AutoModelForCausalLM.from_pretrained` and `AutoTokenizer.from_pretrained`. Tokenizer: byte-level BPE of {vocabulary:,}
tokens, digits one by one; every text begins with `<|endoftext|>`, which also ends it. Context {context} tokens.

`hsd.load_pair("tiny")` drafts with `middle`, which keeps above two tokens per target call in every domain; `draft` is
the smallest, for the bottom of a stack of three."""

_DATA = """\
## Text and licences

| text | origin | licence |
| --- | --- | --- |
| stories, real | TinyStories (Eldan and Li), lost capitals restored | CDLA-Sharing-1.0 |
| sums, real | GSM8K, training part (OpenAI), calculator annotations removed | MIT |
| functions, real | documented functions of TheAlgorithms/Python, doctests removed | MIT |
| all three, generated | this project's generator, `hsd/train/generate` | MIT, as this project |

A tenth of the real documents was held out; GSM8K's test part, HumanEval and Spec-Bench were not used. None of the text
is redistributed here. The weights are under this project's MIT licence."""


def write_card(out: Path, assets: Path, quick: bool = False) -> Path:
    """Measure the exported models and write ``README.md`` and ``measurements.json`` beside them."""
    numbers = measure_all(out, assets, QUICK if quick else Amount())
    (assets / "measurements.json").write_text(json.dumps(numbers, indent=1), "utf-8")
    path = assets / "README.md"
    path.write_text(card_text(numbers), "utf-8")
    return path


def card_text(numbers: Numbers) -> str:
    """The card as Markdown."""
    target = numbers["models"]["target"]
    about = _ABOUT.format(
        processor=numbers["machine"]["processor"],
        minutes=target["seconds"] / 60,
        vocabulary=numbers["vocabulary"],
        context=CONTEXT,
    )
    parts = [_TITLE, about, _models(numbers), _DATA, _corpus(numbers), _losses(numbers), _names(numbers)]
    parts += [_checks(numbers), _decoding(numbers), _speed(numbers), _samples(numbers)]
    return "\n\n".join(parts) + "\n"


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _models(numbers: Numbers) -> str:
    rows = []
    for name, m in numbers["models"].items():
        shape = f"{m['layers']} × {m['width']}, {m['heads']} heads, inner {m['inner']}"
        exits = ", ".join(map(str, m["exits"])) or "-"
        rows.append([name, shape, f"{m['parameters']:,}", exits, _steps(m), f"{m['tokens'] / 1e6:.1f} M",
                     f"{m['seconds'] / 60:.0f} min", f"{m['bytes'] / 1e6:.1f} MB"])  # fmt: skip
    head = ["model", "Llama shape", "parameters", "early exits after layer", "steps", "tokens", "time", "folder"]
    note = (
        "The target was trained on next tokens, with the two early exits in turn through the shared norm and head. "
        "The others began with some steps on next tokens (the number in brackets) and were then distilled from it "
        f"({HARD_SHARE:g} cross-entropy + {1 - HARD_SHARE:g} KL), {SAMPLED_SHARE:.0%} on text that it sampled. "
        "Weights in bfloat16."
    )
    return f"## Models\n\n{table(head, rows)}\n\n{note}"


def _steps(model: Numbers) -> str:
    plain = "" if model["plain_steps"] == model["step"] else f" ({model['plain_steps']:,})"
    return f"{model['step']:,}{plain}"


def _corpus(numbers: Numbers) -> str:
    rows = [
        [name, f"{c['documents']:,}", f"{c['tokens'] / 1e6:.2f} M", f"{c['share']:.0%}",
         f"{c['share'] * numbers['models']['target']['tokens'] / c['tokens']:.1f}"]
        for name, c in numbers["corpus"].items()
    ]  # fmt: skip
    return table(["text", "documents", "tokens", "share of the target's training", "times read"], rows)


def _losses(numbers: Numbers) -> str:
    rows = []
    for name, m in numbers["models"].items():
        rows.append([name, *(f"{value:.2f}" for value in m["nats"].values())])
        rows += [
            [f"{name}, exit after {depth}", *(f"{value:.2f}" for value in nats.values())]
            for depth, nats in m["exit_nats"].items()
        ]
    head = ["nats per held-out token", *numbers["models"]["target"]["nats"]]
    return f"## Held-out loss\n\n{table(head, rows)}"


def _names(numbers: Numbers) -> str:
    rows = [
        [name, source, str(s["occurrences"]), f"{s['top_1']:.0%}", f"{s['among_names']:.0%}"]
        for name, m in numbers["models"].items()
        for source, s in m["repeated_names"].items()
    ]
    note = (
        "Later occurrences of a name that a held-out story has already used. First share: the name is the most "
        "probable of all tokens (another word, such as a pronoun, may fit as well). Second: it is the most probable "
        "of all names."
    )
    head = ["model", "text", "occurrences", "most probable token", "most probable name"]
    return f"## Names that stories keep\n\n{note}\n\n{table(head, rows)}"


def _checks(numbers: Numbers) -> str:
    lines = [
        f"- {source}: {found['right']} of {found['of']} held-out questions answered rightly at temperature 0."
        for source, found in numbers["sums"].items()
    ]
    found = numbers["functions"]
    lines.append(
        f"- functions: {found['right']} of {found['of']} continued from a held-out head and docstring at "
        f"temperature {SAMPLE_TEMPERATURE:g} are valid Python (none was run)."
    )
    return "## Sums and functions that come out right\n\n" + "\n".join(lines)


def _decoding(numbers: Numbers) -> str:
    d = numbers["decoding"]
    rules = [rule for rule in next(iter(next(iter(d["drafts"].values())).values())) if rule != "plain"]
    rows = []
    for draft, domains in d["drafts"].items():
        for domain, found in domains.items():
            cells = [f"{found[r]['block_efficiency']:.2f} ± {found[r]['standard_error']:.2f}" for r in rules]
            gain = found["hsd"]["block_efficiency"] / found["tokenwise"]["block_efficiency"] - 1
            rows.append([draft, domain, *cells, f"{gain:+.1%}"])
    note = (
        f"Committed tokens per target call, γ = {d['gamma']}, temperature {d['temperature']:g}, openings of "
        f"{d['prompts']} held-out {d['text']} documents per domain, at most {d['new_tokens']} new tokens each; "
        "± one standard error over prompts."
    )
    return f"## Speculative decoding\n\n{note}\n\n{table(['draft', 'domain', *rules, 'hsd over tokenwise'], rows)}"


def _speed(numbers: Numbers) -> str:
    m = numbers["machine"]
    versions = f"Python {m['python']}, torch {m['torch']}, transformers {m['transformers']}"
    where = f"{m['processor']}, one thread, float32, {versions}"
    forward = [
        [name, *(f"{ms:.1f}" for ms in model["forward_ms"].values())] for name, model in numbers["models"].items()
    ]
    counts = [f"{count} tokens, ms" for count in numbers["models"]["target"]["forward_ms"]]
    rows = [
        [draft, domain, *(f"{f['tokens_per_second']:.0f}" for f in found.values())]
        for draft, domains in numbers["decoding"]["drafts"].items()
        for domain, found in domains.items()
    ]
    rules = list(next(iter(next(iter(numbers["decoding"]["drafts"].values())).values())))
    return (
        f"## Speed\n\n{where}; interleaved runs, load as it was.\n\n"
        f"{table(['forward pass of', *counts], forward)}\n\n{table(['tokens/s with', 'domain', *rules], rows)}"
    )


def _samples(numbers: Numbers) -> str:
    parts = [f"## Samples\n\nThe target alone, temperature {SAMPLE_TEMPERATURE}, as they come, after the prompt."]
    for s in numbers["samples"]:
        parts.append(f"Seed {s['seed']}, {s['domain']}:\n\n```text\n{s['prompt']}{s['text']}\n```")
    return "\n\n".join(parts)
