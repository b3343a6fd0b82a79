"""The model card: every number in it is measured on the exported models and on text that was held
out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pages import table
from transformers import LlamaForCausalLM

import hsd
from hsd.bench import Case, machine, measure, measurements
from hsd.writing import write_file
from tiny.corpus import opening
from tiny.network import HARD_SHARE, SHAPES, nats_per_token
from tiny.tokens import CONTEXT, Corpus, load_tokenizer
from tiny.training import saved

RULES = ("tokenwise", "blockwise", "hsd")
DRAFTS = ("draft", "middle")
SAMPLES = (
    "Once upon a time, Lily found a",
    "Question: Tom has 3 apples. He buys 4 more. How many apples does he have?\nAnswer:",
)
SAMPLE_TEMPERATURE = 0.6


@dataclass(frozen=True)
class Amount:
    """How much to measure."""

    rows: int = 96  # held-out rows per domain
    length: int = 256
    prompts: int = 40  # per domain
    new_tokens: int = 64


QUICK = Amount(rows=4, length=64, prompts=1, new_tokens=8)

_CARD = """\
# The embedded models: a target and two drafting models, trained from scratch

These are toys. They were trained from scratch on {processor} in {minutes:.0f} minutes, and know
small stories, grade-school sums and short Python functions, none of them reliably. What is real is
the decoding that they are made to show: every draft, coin and decision of speculative decoding runs
on them as it would on large models.

Made by `python examples/reproduce/tiny/train.py all --data FOLDER`, hsd {version}. Each folder
loads with plain `AutoModelForCausalLM.from_pretrained` and `AutoTokenizer.from_pretrained`.
Tokenizer: byte-level BPE of {vocabulary:,} tokens, digits one by one; every text begins with
`<|endoftext|>`, which also ends it. Context {context} tokens.

## Models

{models}

The target was trained on next tokens, with its early exits in turn through the shared norm and
head. The others began with some steps on next tokens (the number in brackets) and were then
distilled from it ({hard:g} cross-entropy + {soft:g} KL), half on text that it sampled. Weights in
bfloat16.

## Text and licences

| text | origin | licence |
| --- | --- | --- |
| stories | TinyStories (Eldan and Li), lost capitals restored | CDLA-Sharing-1.0 |
| sums | GSM8K, training part (OpenAI), calculator annotations removed | MIT |
| functions | documented functions of TheAlgorithms/Python, doctests removed | MIT |

A tenth of the documents was held out. None of the text is redistributed here.

{corpus}

## Held-out loss

{losses}

## Speculative decoding

Committed tokens per target call, γ = 5, temperature 1, openings of {prompts} held-out documents
per domain, at most {new_tokens} new tokens each, with 95 % intervals. {where}.

{decoding}

## Samples

The target alone, temperature {temperature:g}, as they come, after the prompt.

{samples}
"""


def write_card(out: Path, models: Path, amount: Amount) -> Path:
    """Measure the exported ``models`` that training folder ``out`` made, and write ``README.md``
    beside them.
    """
    corpus = Corpus.load(out / "corpus.npz")
    pair = _pair(models, "draft")
    facts = machine(pair)
    states = {name: saved(out, name) for name in SHAPES}
    text = _CARD.format(
        processor=facts["processor"],
        minutes=sum(state["seconds"] for state in states.values()) / 60,
        version=hsd.__version__,
        vocabulary=pair.vocab_size,
        context=CONTEXT,
        models=_models(models, states),
        hard=HARD_SHARE,
        soft=1 - HARD_SHARE,
        corpus=_corpus(corpus),
        losses=_losses(models, corpus, amount),
        prompts=amount.prompts,
        new_tokens=amount.new_tokens,
        where=f"{facts['processor']}, torch {facts['torch']}, transformers {facts['transformers']}",
        decoding=_decoding(models, _openings(out, corpus, amount), amount),
        temperature=SAMPLE_TEMPERATURE,
        samples=_samples(pair, 2 * amount.new_tokens),
    )
    write_file(models / "README.md", text)
    return models / "README.md"


def _pair(models: Path, draft: str) -> hsd.Pair:
    return hsd.load_pair(
        target=str(models / "target"), draft=str(models / draft), device="cpu", dtype="float32"
    )


def _models(models: Path, states: dict[str, dict]) -> str:
    rows = []
    for name, shape in SHAPES.items():
        state = states[name]
        size = sum(file.stat().st_size for file in (models / name).iterdir())
        parameters = LlamaForCausalLM.from_pretrained(models / name).num_parameters()
        steps = f"{state['step']:,} ({state['plain_steps']:,})"
        rows.append(
            [
                name,
                f"{shape.layers} × {shape.width}, {shape.heads} heads, inner {shape.inner}",
                f"{parameters:,}",
                ", ".join(map(str, shape.exits)),
                steps,
                f"{state['tokens'] / 1e6:.1f} M",
                f"{state['seconds'] / 60:.0f} min",
                f"{size / 1e6:.1f} MB",
            ]
        )
    head = [
        "model",
        "Llama shape",
        "parameters",
        "early exits after layer",
        "steps",
        "tokens",
        "time",
        "folder",
    ]
    return table(head, rows)


def _corpus(corpus: Corpus) -> str:
    rows = [
        [name, f"{len(text.starts) - 1:,}", f"{len(text.tokens):,}", f"{corpus.shares[name]:.0%}"]
        for name, text in corpus.train.items()
    ]
    return table(["text", "documents", "tokens", "share of the target's training"], rows)


def _losses(models: Path, corpus: Corpus, amount: Amount) -> str:
    texts = {
        name: text.rows(amount.rows, amount.length + 1) for name, text in corpus.held_out.items()
    }
    rows = []
    for name, shape in SHAPES.items():
        model = LlamaForCausalLM.from_pretrained(
            models / name, dtype="float32", attn_implementation="eager"
        )
        for depth in (shape.layers, *shape.exits):
            title = name if depth == shape.layers else f"{name}, exit after {depth}"
            rows.append(
                [title, *(f"{nats_per_token(model, ids, depth):.2f}" for ids in texts.values())]
            )
    return table(["nats per held-out token", *texts], rows)


def _openings(out: Path, corpus: Corpus, amount: Amount) -> dict[str, list[str]]:
    """Openings of held-out documents that leave room for the new tokens."""
    tokenizer = load_tokenizer(out)
    found = {}
    for domain, text in corpus.held_out.items():
        documents = (
            text.tokens[a + 1 : b] for a, b in zip(text.starts, text.starts[1:], strict=False)
        )
        openings = (opening(domain, tokenizer.decode(ids)) for ids in documents)
        fitting = [
            o for o in openings if len(tokenizer.encode(o)) + amount.new_tokens <= CONTEXT // 2
        ]
        found[domain] = fitting[: amount.prompts]
    return found


def _decoding(models: Path, openings: dict[str, list[str]], amount: Amount) -> str:
    common = {"gamma": 5, "temperature": 1.0, "max_new_tokens": amount.new_tokens, "trace": False}
    cases = [Case(rule, {**common, "rule": rule}) for rule in RULES]
    rows = []
    for draft in DRAFTS:
        pair = _pair(models, draft)
        for domain, prompts in openings.items():
            found = measurements(cases, list(measure(pair, cases, list(enumerate(prompts)), 1)))
            cells = ["{:.2f} ({:.2f}–{:.2f})".format(*one.block_efficiency()) for one in found]
            rows.append([draft, domain, *cells])
    return table(["draft", "text", *RULES], rows)


def _samples(pair: hsd.Pair, new_tokens: int) -> str:
    texts = []
    for prompt in SAMPLES:
        for seed in (0, 1):
            trace = hsd.run(
                pair,
                prompt,
                system="plain",
                temperature=SAMPLE_TEMPERATURE,
                seed=seed,
                max_new_tokens=new_tokens,
                trace=False,
            )
            texts.append(f"```text\n{prompt}{trace.text}\n```")
    return "\n\n".join(texts)
