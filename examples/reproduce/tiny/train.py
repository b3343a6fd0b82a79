"""Train models like the embedded ones: a tokenizer, a target with early exits, and two drafts
distilled from it.

    python examples/reproduce/tiny/train.py all --data FOLDER            hours on two cores
    python examples/reproduce/tiny/train.py all --data FOLDER --quick    few steps, to try it

FOLDER holds public data sets; corpus.py says which, and under which licences. Stages: `text` learns
the tokenizer and encodes the corpus; `target`; `draft` and `middle`, distilled from the target;
`export` writes folders that plain `from_pretrained` loads; `card` measures them and writes a model
card. A stage needs those before it. Everything is written below --out; what was made is tried with

    python -m hsd run --target runs/tiny/models/target --draft runs/tiny/models/middle "Once upon a"
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for this folder's modules, and
# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from transformers import GenerationConfig

from hsd.errors import HsdError
from tiny.card import QUICK, Amount, write_card
from tiny.corpus import read
from tiny.distill import write_distillation_corpus
from tiny.tokens import load_tokenizer, prepare
from tiny.training import Job, model_from, train

STEPS = {"target": 5_500, "draft": 5_000, "middle": 3_700}
STAGES = ("text", *STEPS, "export", "card")
# of a draft's steps, the first: on next tokens alone, which costs no pass of the target
PLAIN_STEPS = 920
SAMPLED_BATCHES = 40  # some 650,000 tokens


def main(words: Sequence[str] | None = None) -> int:
    """Run the chosen stage, or all of them in order. Returns the exit status."""
    args = _arguments(words)
    try:
        for stage in STAGES if args.stage == "all" else [args.stage]:
            print(f"-- {stage}", file=sys.stderr, flush=True)
            run(stage, args)
    except HsdError as error:
        print(f"train: {error}", file=sys.stderr)
        return 2
    return 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=[*STAGES, "all"])
    parser.add_argument("--data", type=Path, help="folder with the text, for the stage `text`")
    parser.add_argument("--out", type=Path, default=Path("runs/tiny"))
    parser.add_argument(
        "--steps", type=int, help="steps of this stage; default: depends on the model"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument(
        "--processes", type=int, default=2, help="processes of one thread each that share the work"
    )
    parser.add_argument(
        "--no-compile",
        action="store_true",
        help="do not compile the models (no C++ compiler needed)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a few steps of all: to try the path, not the models"
    )
    return parser.parse_args(words)


def run(stage: str, args: argparse.Namespace) -> None:
    """One stage. Raises HsdError where an earlier one is missing."""
    if stage == "text":
        if args.data is None:
            raise HsdError("no text to train on: give --data, a folder as tiny/corpus.py describes")
        for domain, text in prepare(args.out, read(args.data)).train.items():
            print(
                f"{domain}: {len(text.starts) - 1:,} documents, {len(text.tokens):,} tokens",
                file=sys.stderr,
            )
    elif stage == "target":
        train(_job(stage, args))
    elif stage in STEPS:
        _distil(stage, args)
    elif stage == "export":
        for name in STEPS:
            export(args.out, name)
    else:
        print(
            write_card(args.out, args.out / "models", QUICK if args.quick else Amount()),
            file=sys.stderr,
        )


def _job(model: str, args: argparse.Namespace) -> Job:
    job = Job(
        model,
        args.out,
        args.steps or STEPS[model],
        seed=args.seed + list(STEPS).index(model),  # the models do not start from the same numbers
        resume=args.resume,
        processes=args.processes,
        compile=not args.no_compile,
    )
    return (
        replace(job, steps=args.steps or 20, tokens_per_step=512, length=64, compile=False)
        if args.quick
        else job
    )


def _distil(model: str, args: argparse.Namespace) -> None:
    job = _job(model, args)
    plain, batches = (5, 1) if args.quick else (PLAIN_STEPS, SAMPLED_BATCHES)
    if not args.resume:
        train(replace(job, until=plain))
    # the middle model is distilled on the draft's text
    fresh = model == "draft" and not args.resume
    if fresh or not (args.out / "distill.npz").exists():
        write_distillation_corpus(args.out, batches, args.seed)
    train(replace(job, teacher="target", corpus="distill.npz", resume=True))


def export(out: Path, name: str) -> Path:
    """Write weights in bfloat16, configurations and tokenizer to ``out/models/<name>``."""
    model = model_from(out, name).bfloat16()
    tokenizer = load_tokenizer(out)
    folder = out / "models" / name
    end = tokenizer.eos_token_id
    ends = {"bos_token_id": end, "eos_token_id": end, "pad_token_id": end}
    model.generation_config = GenerationConfig(**ends)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
