"""`python -m hsd run`: decode a prompt."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import hsd
from hsd.bench import prompt_set
from hsd.bench.fuzzy import calibrate
from hsd.cli.arguments import add_json, add_models, names, output, progress, whole, wholes
from hsd.decoding.loop import Decoding
from hsd.draft import LAYOUTS
from hsd.errors import HsdError
from hsd.facts import formula, listed, rule_names
from hsd.models.loading.registry import EMBEDDED, FETCHED, PAIRS, USUAL, draft_length, usual
from hsd.models.threads import settle_threads
from hsd.rules import DIVERGENCES, RULES
from hsd.trace import GROUPS

CALIBRATION_PROMPTS = 12


def add_arguments(run: argparse.ArgumentParser) -> None:
    """The options of the command."""
    run.add_argument("prompt", help="the text to continue; - reads it from standard input")
    add_models(run, _pair_help())
    run.add_argument("--quantize", help="the target's weights: 4bit or 8bit by bitsandbytes, 16bit on a CPU")
    run.add_argument("--raw", action="store_true", help="leave out the chat template of a chat model")
    run.add_argument("--system", default="speculative", help="speculative, stack, or with no draft: plain, hispec")
    run.add_argument("--rule", default="hsd", help=f"{listed(rule_names())}; some are for trees")
    run.add_argument(
        "--proposer", default="model", help="who drafts: model, or with no draft: ngram (copies from the text)"
    )
    run.add_argument("--gamma", type=whole, help="drafted tokens per step, 1 to 32 (default: the pair's best, else 5)")
    run.add_argument("--drafts", type=whole, default=1, help="drafts per step; from 2 on they form a tree")
    run.add_argument("--tree", default="paths", help=f"{listed(LAYOUTS)}: how several drafts are arranged")
    run.add_argument("--nodes", type=whole, default=0, help="size of a grown tree (default: drafts · gamma + 1)")
    run.add_argument("--shadow", default="", help="the rule that the trace compares with (default: the vanilla one)")
    run.add_argument("--engine", default="eager", help="eager, or captured: CUDA graphs on a GPU, without a trace")
    run.add_argument("--max-new-tokens", type=whole, default=64, help="budget of new tokens")
    run.add_argument("--temperature", type=float, default=1.0, help="0 is greedy")
    run.add_argument("--top-p", type=float, default=1.0, help="keep the likeliest tokens up to this mass")
    run.add_argument("--top-k", type=whole, default=0, help="keep this many likeliest tokens; 0 keeps all")
    run.add_argument("--seed", type=whole, default=0, help="any whole number; equal seeds give equal runs")
    run.add_argument("--trace", metavar="FILE", help="record every decision and save the trace as JSON")
    _add_levels(run)
    _add_fuzzy(run)
    add_json(run)


def _add_levels(run: Any) -> None:
    """Options of systems with levels between draft and target."""
    levels = run.add_argument_group("systems stack and hispec")
    levels.add_argument(
        "--smaller", action="append", default=[], help="a model under the draft, smallest first; repeat"
    )
    levels.add_argument("--stack", type=wholes, default=(), help="which models, by place from 0: 0,1,2 (default: all)")
    levels.add_argument("--thresholds", type=wholes, default=(), help="tokens that each level hands up at least: 3,5")
    levels.add_argument(
        "--level-rules", type=names, default=(), help="rules of the levels between (default: --rule if lossless)"
    )
    levels.add_argument(
        "--exits", type=wholes, default=(), help="hispec: layers before the draft's and the check's exit"
    )


def _add_fuzzy(run: Any) -> None:
    """Options of rule fuzzy; what is left out keeps its default."""
    fuzzy = run.add_argument_group("rule fuzzy, which is not lossless")
    fuzzy.add_argument("--divergence", help=listed(f"{name} ({formula(name)})" for name in DIVERGENCES))
    fuzzy.add_argument("--tolerance", type=float, help="largest divergence that is let pass; below 0 is exact")
    fuzzy.add_argument(
        "--quantile", type=float, help="instead: the share of rejections to let pass, by a calibration run"
    )
    fuzzy.add_argument("--fuzzy-mode", help="exact-first or divergence-only")
    fuzzy.add_argument("--divergence-on", help="warped (as sampled) or raw (temperature 1, all tokens)")
    for rule in _tuned():
        group = run.add_argument_group(f"rule {rule.name}, which is not lossless")
        group.add_argument(f"--{rule.knob.option.replace('_', '-')}", type=float, help=rule.knob.words)


def _tuned() -> list[Any]:
    """The rules whose only setting is one number."""
    return [rule for rule in RULES.values() if rule.knob and rule.name != "fuzzy"]


def _pair_help() -> str:
    """What --pair takes."""
    names = f"{', '.join(FETCHED)} (see hsd fetch), {', '.join(EMBEDDED)} (embedded)"
    drafts, heads = ([pair.name for pair in PAIRS.values() if bool(pair.licence) == head] for head in (False, True))
    hub = f"from the Hub: {', '.join(drafts)}, with an EAGLE-3 head as draft: {', '.join(heads)}"
    return f"{names}, or {hub} (default: {USUAL})"


def main(arguments: argparse.Namespace) -> int:
    """Decode and print; what Ctrl-C or a failure ends is kept. Returns the exit status."""
    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    names = [field.name for field in hsd.RunOptions.options().values() if field.name not in ("trace", "prompt_as")]
    _check_belonging(arguments)
    named = arguments.pair or arguments.target or arguments.draft  # the toy pair has levels
    name = arguments.pair if named or arguments.system in ("stack", "hispec") else usual()
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    given.setdefault("gamma", draft_length(name))
    prompt_as = "text" if arguments.raw else ""
    options = hsd.RunOptions(**given, prompt_as=prompt_as, trace=arguments.trace is not None)
    alone = options.system in ("plain", "hispec") or options.copies
    target = output(arguments.trace) if arguments.trace else None
    progress("loading the models\n")
    pair = hsd.load_pair(
        name,
        target=arguments.target,
        draft=arguments.draft or (arguments.target if alone else None),
        device=arguments.device,
        dtype=arguments.dtype,
        quantize=arguments.quantize,
        smaller=arguments.smaller,
    )
    progress(f"{settle_threads(pair)}\n")
    if arguments.quantile is not None:
        options = _calibrated(pair, options, arguments)
    trace, failure = _decode_with_progress(pair, prompt, options)
    if target:
        target.write_text(trace.to_json(), encoding="utf-8")
        print(f"trace saved to {target}", file=sys.stderr)
    print(json.dumps(_summary(trace)) if arguments.json else _report(trace))
    if failure:
        raise failure
    return 0


def _check_belonging(arguments: argparse.Namespace) -> None:
    """Raise HsdError for an option of another system or rule, which would otherwise be ignored."""
    both, stack, hispec = "stack or hispec", "stack", "hispec"
    homes = {"stack": stack, "smaller": stack, "exits": hispec, "thresholds": both, "level_rules": both}
    for name, home in homes.items():
        if getattr(arguments, name) and arguments.system not in home.split(" or "):
            raise HsdError(f"--{name.replace('_', '-')} is for --system {home}: choose it, or leave the option out")
    settings = {"fuzzy": ("divergence", "tolerance", "quantile", "fuzzy_mode", "divergence_on")}
    for rule, belonging in (settings | {rule.name: (rule.knob.option,) for rule in _tuned()}).items():
        given = [f"--{name.replace('_', '-')}" for name in belonging if getattr(arguments, name) is not None]
        if given and rule not in (arguments.rule, arguments.shadow):
            raise HsdError(f"{given[0]} is for --rule {rule}: choose it, or leave the option out")
    if arguments.quantile is not None and (arguments.tolerance is not None or not 0 <= arguments.quantile <= 1):
        raise HsdError(f"--quantile {arguments.quantile:g}: choose a number from 0 to 1, in place of --tolerance")


def _calibrated(pair: Any, options: Any, arguments: argparse.Namespace) -> Any:
    """The options with the tolerance that lets the wanted share of rejections pass, found on the shipped prompts."""
    progress("calibrating\n")
    how = {name: value for name, value in options if hsd.RunOptions.options()[name].group in ("sampling", "levels")}
    how |= {name: getattr(options, name) for name in ("proposer", "gamma", "temperature", "system")}
    prompts = prompt_set("shipped", limit=CALIBRATION_PROMPTS).prompts
    found = calibrate(pair, prompts, options.divergence, options.divergence_on, **how, max_new_tokens=48)
    tolerance = found.tolerance(arguments.quantile)
    print(f"tolerance {tolerance:.4g} accepts {arguments.quantile:.0%} of what is rejected", file=sys.stderr)
    return hsd.RunOptions(**{**dict(options), "tolerance": tolerance})


def _decode_with_progress(pair: Any, prompt: str, options: Any) -> tuple[Any, HsdError | None]:
    """Decode to the end; what Ctrl-C or a failure ends is kept as far as it came."""
    decoding, count = Decoding(pair, prompt, options), 0
    failure: HsdError | None = None
    try:
        for step in decoding:
            count += len(step.committed)
            progress(f"\r{count} / {options.max_new_tokens} tokens")
    except KeyboardInterrupt:
        progress(", stopped early")
    except HsdError as error:
        failure = error
    finally:
        decoding.close()
        progress("\n")
    for note in decoding.notes:
        print(f"hsd: note: {note}", file=sys.stderr)
    return decoding.trace(), failure


def _summary(trace: Any) -> dict[str, Any]:
    """What `run --json` prints: the text, what made it, and its statistics."""
    setup, o = trace.setup, trace.setup.options
    made_by = {"rule": o.rule, "system": o.system, "gamma": o.draft.gamma, "seed": o.seed, "pair": setup.pair}
    shown = ["levels"] * bool(o.levels.thresholds) + ["fuzzy"] * ("fuzzy" in (o.rule, o.shadow))
    told = o.model_dump(mode="json")
    made_by |= {keyword: told[group][name] for group in shown for name, keyword in GROUPS[group].items()}
    used = [rule.knob.option for rule in _tuned() if rule.name in (o.rule, o.shadow)]
    made_by |= {option: o.knobs[option] for option in used}
    made_by["notes"] = setup.notes
    return {"text": trace.text, "tokens": trace.tokens, "finish": trace.result.finish, **made_by, **trace.stats()}


def _report(trace: Any) -> str:
    s = trace.stats()
    return (
        f"{trace.prompt.text}{trace.text}\n\n"
        f"{s['new_tokens']} tokens, {s['target_calls']} target calls, "
        f"{s['block_efficiency']:.2f} tokens per target call, "
        f"{100 * s['acceptance_rate']:.0f} % of drafted tokens kept, {s['tokens_per_second']:.0f} tokens/s"
    )
