"""The stages of ``python -m hsd train``, each a function of the parsed options.

    python -m hsd train all --data FOLDER            everything, about ninety minutes on two cores
    python -m hsd train all --quick --out /tmp/try --assets /tmp/try/tiny     the same path in two minutes

Stages: ``tokenizer`` reads and generates text, learns the tokenizer and encodes the corpus; ``target``; ``draft`` and
``middle``, distilled from the target; ``export`` writes loadable folders; ``card`` measures them and writes the model
card. A stage needs those before it. torch and transformers are imported by the stages, so ``--help`` is fast.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hsd.errors import HsdError
from hsd.paths import ASSETS

STAGES = ("tokenizer", "target", "draft", "middle", "export", "card")
STEPS = {"target": 5_500, "draft": 5_000, "middle": 3_700}
QUICK_STEPS = {"target": 80, "draft": 40, "middle": 40}
PLAIN_STEPS = 920  # of a draft's steps, the first: on next tokens alone, which costs no pass of the target
SAMPLED_BATCHES = 40  # of distill.BATCH rows each: some 650,000 tokens


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``train`` on ``parser``."""
    parser.add_argument("stage", choices=[*STAGES, "all"], help="which stage to run")
    parser.add_argument("--data", type=Path, help="folder with real text (see its README); default: generated only")
    parser.add_argument("--out", type=Path, default=Path("runs/tiny"), help="checkpoints and the encoded corpus")
    parser.add_argument("--assets", type=Path, default=ASSETS / "tiny", help="where export and card write")
    parser.add_argument("--steps", type=int, help="steps of this stage; default: depends on the model")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same models")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--generated", type=float, default=1.0, help="amount of generated text; 0: real text only")
    parser.add_argument("--keep-tokenizer", action="store_true", help="encode text again with the tokenizer in --out")
    parser.add_argument("--processes", type=int, default=2, help="processes of one thread each that share the work")
    parser.add_argument("--no-compile", action="store_true", help="do not compile the models (no C++ compiler needed)")
    parser.add_argument("--quick", action="store_true", help="every stage in seconds: to try the path, not the models")


def main(args: argparse.Namespace) -> int:
    """Run the chosen stage, or all of them in order. Raises HsdError for bad options or a stage out of order."""
    _check(args)
    runners: dict[str, Callable[[argparse.Namespace], None]] = {
        "tokenizer": _tokenizer,
        "target": _target,
        "draft": _distilled,
        "middle": _distilled,
        "export": _export,
        "card": _card,
    }
    for stage in STAGES if args.stage == "all" else [args.stage]:
        print(f"-- {stage}", file=sys.stderr, flush=True)
        args.current = stage
        runners[stage](args)
    return 0


def _check(args: argparse.Namespace) -> None:
    if args.steps is not None and args.steps < 1:
        raise HsdError(f"--steps {args.steps}: give a positive number")
    if args.processes < 1:
        raise HsdError(f"--processes {args.processes}: give at least 1")
    if args.generated < 0 or (args.generated == 0 and not args.data):
        raise HsdError("no text to train on: give --data, or --generated above 0")


def _tokenizer(args: argparse.Namespace) -> None:
    from hsd.train.prepare import prepare

    amount = args.generated * (0.02 if args.quick else 1.0)
    prepare(args.out, args.data, amount, args.seed, args.keep_tokenizer)


def _job(args: argparse.Namespace, **options):
    from hsd.train.trainer import Job

    name = args.current
    steps = args.steps or (QUICK_STEPS if args.quick else STEPS)[name]
    if args.quick:
        options |= {"tokens_per_step": 1024, "length": 128, "measure_every": 10**9}
    return Job(
        name,
        args.out,
        steps,
        seed=args.seed + list(STEPS).index(name),  # the models do not start from the same numbers
        resume=args.resume,
        processes=args.processes,
        compile=not (args.no_compile or args.quick),
        **options,
    )


def _target(args: argparse.Namespace) -> None:
    from hsd.train.trainer import train

    train(_job(args))


def _distilled(args: argparse.Namespace) -> None:
    from hsd.train.distill import write_distillation_corpus
    from hsd.train.trainer import train

    plain, batches = (10, 2) if args.quick else (PLAIN_STEPS, SAMPLED_BATCHES)
    if not args.resume:
        train(_job(args, until=plain))
    fresh = args.current == "draft" and not args.resume  # the middle model is distilled on the draft's text
    if fresh or not (args.out / "distill.npz").exists():
        write_distillation_corpus(args.out, batches, args.seed, args.processes)
    train(replace(_job(args, teacher="target", corpus="distill.npz"), resume=True))


def _export(args: argparse.Namespace) -> None:
    from hsd.train.export import export_model, size_of

    for name in STEPS:
        folder = export_model(args.out, name, args.assets)
        print(f"{folder}: {size_of(folder) / 1e6:.1f} MB", file=sys.stderr)


def _card(args: argparse.Namespace) -> None:
    from hsd.train.card import write_card

    print(write_card(args.out, args.assets, quick=args.quick), file=sys.stderr)
