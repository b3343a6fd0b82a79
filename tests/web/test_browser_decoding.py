"""Decoding in the browser is decoding in Python: the same numbers from a seed, the same rows, and
the same steps.

The modules run in Node here; `test_browser_page.py` has them in a browser.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from browser_subset import FILE as FILE_OF_CASES
from browser_subset import LEFT, RUNS, SHARED, decoded, outcome, small_pair
from engine import Engine
from joint_law import chi_square_p, token_law
from loops import for_each, some
from small_gguf import HEAD

import hsd
from hsd import Pair, RunOptions
from hsd.app import browser
from hsd.draft.ngram import COPIERS, Copier
from hsd.engine.machine import MODULE
from hsd.facts import PROPOSER_NAMES
from hsd.models.loading import fetch, load_pair
from hsd.models.loading.tokenizer import FileTokenizer
from hsd.models.small.gguf import read_gguf
from hsd.paths import ROOT
from hsd.rng import Streams
from hsd.rules import RULES
from hsd.sampling import Sampling, draw
from hsd.space import load

pytest.importorskip("wasmtime")
FILE = fetch.fetched_file("smollm2")  # every test has an empty home of its own
real = pytest.mark.skipif(FILE is None, reason="run python -m hsd fetch smollm2")
NEAR = 3e-5  # single precision, and another order of its sums
NOT_OF_THE_STEP = {"times", "start"}
PROMPTS = (
    "What is the capital of France?",
    "Tell me about the sea.",
    "Write a Python function that reverses a string.",
    "Count from one to ten.",
    "Why is the sky blue?",
)
MODULES = (
    "pair",
    "decoding",
    "engine",
    "gguf",
    "numbers",
    "options",
    "passes",
    "sampling",
    "text",
)
MAKE = """async (told, [module, weights, head], real) => {
  const bytes = (path) => { const b = process.getBuiltinModule("fs").readFileSync(path);
    return new Uint8Array(b.buffer, b.byteOffset, b.length); };
  const [large, small] = [weights, head].map((path) => new Blob([bytes(path)]));
  const files = { module: new WebAssembly.Module(bytes(module)), weights: large, head: small };
  if (real) { globalThis.it = await pair.makePair(told, files); return; }
  const [made, file] = [new engine.Engine(files.module), await gguf.readGguf(files.weights)];
  const target = await engine.loadModel(made, file, told.config.target_layers);
  const codec = {
    size: target.vocab,
    ends: [60],
    encode: (text) => [...text].map((x) => x.codePointAt(0) % 64),
    decode: (ids) => ids.map((id) => `<${id}>`).join(""),
    described: (id) => ({ token: id, piece: `<${id}>` }),
  };
  const tensors = await gguf.readSafetensors(files.head);
  const drafter = await engine.loadHead(target, told.config, tensors);
  globalThis.it = { about: told, target, head: drafter, codec };
}"""
RUN = """(given, page) => {
  const { first, decoding } = pair.playedRun(it, options.readRequest(given, page));
  const steps = [];
  for (let step = decoding.step(); step; step = decoding.step()) steps.push(step);
  decoding.close();
  return { ...first.header, steps, result: decoding.result() };
}"""
SOFTEN = """(rows, how, module) => {
  const { readFileSync } = process.getBuiltinModule("fs");
  globalThis.softens ??= new engine.Engine(new WebAssembly.Module(readFileSync(module)));
  const use = (logits) => [...sampling.rowsOf(logits, how, softens, false).row];
  return rows.flatMap((row) => softens.rows(softens.vector(row), 1, row.length, use));
}"""
SUBSET = json.loads(FILE_OF_CASES.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def node() -> Iterator[Engine]:
    engine = Engine({name: f"answers/browser/{name}.js" for name in MODULES})
    yield engine
    engine.stop()


def page(**instead: Any) -> dict[str, Any]:
    """What the page is made with."""
    told = browser.about(load(), "", weights=False)
    return {"limits": {"prompt_characters": 4000}, "browser": {**told, **instead}}


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Where two records are not the same but for rounding. Tokens with equal chances may be listed
    in any order.
    """
    if isinstance(ours, dict):
        assert isinstance(theirs, dict), path
        for name in sorted({*ours, *theirs} - NOT_OF_THE_STEP):
            yield from differences(
                ours.get(name, "absent"), theirs.get(name, "absent"), f"{path}.{name}"
            )
    elif isinstance(ours, list):
        if path.endswith(".top"):
            ours, theirs = (
                sorted(filter(seen, top), key=lambda one: one["token"]) for top in (ours, theirs)
            )
        if len(ours) != len(theirs):
            yield f"{path}: {len(ours)} and {len(theirs)}"
        for i, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            yield from differences(one, other, f"{path}.{i}")
    elif isinstance(ours, float) and isinstance(theirs, (int, float)):
        if abs(ours - theirs) > NEAR * max(1, abs(ours)):
            yield f"{path}: {ours} and {theirs}"
    elif ours != theirs:
        yield f"{path}: {ours!r} and {theirs!r}"


def seen(entry: dict[str, Any]) -> bool:
    return entry.get("probability", max(entry["p"], entry["q"] or 0)) > NEAR


def same(node: Engine, pair: Pair, prompt: str, told: dict[str, Any], **how: Any) -> int:
    """Run it in both; how many new tokens there were."""
    return len(outcome(both(node, pair, prompt, told, **how)[0])["tokens"])


def both(
    node: Engine, pair: Pair, prompt: str, told: dict[str, Any], **how: Any
) -> list[dict[str, Any]]:
    """The traces of a run in Python and in the browser's modules, which must not differ."""
    trace = decoded(pair, prompt=prompt, **how)
    found = node.call(RUN, {"prompt": prompt, **how}, told)
    assert isinstance(found, dict)
    assert list(differences(trace["steps"], found["steps"])) == [], (prompt, how)
    assert list(differences(trace["setup"]["options"], found["setup"]["options"])) == []
    described = [
        [(one["layers"], one["taps"]) for one in run["setup"]["models"]] for run in (trace, found)
    ]
    assert described[0] == described[1]
    assert [trace["result"][name] for name in ("text", "finish")] == [
        found["result"][name] for name in ("text", "finish")
    ]
    assert trace["prompt"] == found["prompt"]
    hsd.Trace.from_json(json.dumps(found)).replay()
    return [trace, found]


# ---- numbers and rows


@pytest.mark.parametrize("seed", [0, 1, 17, -3, 2**31, 2**53 + 1, 2**63])
def test_a_seed_gives_the_numbers_that_it_gives_in_python(node: Engine, seed: int):
    counts = [3, 1, 700, 0, 2]
    streams = Streams(seed)
    for name in ("draft", "coins", "after"):
        wanted = [getattr(streams, name)(count).tolist() for count in counts]
        call = f"""(seed, counts) => {{
          const streams = numbers.streams(seed);
          return counts.map((count) => streams.{name}(count));
        }}"""
        assert node.call(call, str(seed), counts) == wanted


@pytest.mark.parametrize("seed", [0, -3, 2**53 + 1])
def test_a_place_of_the_text_has_the_race_that_it_has_in_python(node: Engine, seed: int):
    streams = Streams(seed)
    for begin, count in ((3, 2), (4, 5), (1_000, 1)):
        call = """(seed, begin, count) => {
          const rows = numbers.streams(seed).times(begin, count, 700);
          return rows.map((row) => [...row]);
        }"""
        found = torch.tensor(node.call(call, str(seed), begin, count), dtype=torch.float64)
        torch.testing.assert_close(found, streams.times(begin, count, 700), atol=0, rtol=1e-14)


@for_each("top_p", [1, 0.95, 0.5, 1e-9])
@for_each("top_k", [0, 1, 7, 500])
@for_each("temperature", [0, 0.3, 1, 3.7])
def test_logits_become_the_rows_that_they_become_in_python(
    node: Engine, temperature: float, top_k: int, top_p: float
):
    logits = 4 * torch.randn(3, 400, generator=torch.Generator().manual_seed(top_k))
    logits[1, 10:20] = logits[1].sort().values[-4]  # which are equal
    rows = Sampling(temperature, top_k, top_p).probabilities(logits)
    how = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    found = torch.tensor(node.call(SOFTEN, logits.tolist(), how, str(MODULE)), dtype=torch.float32)
    # of equal tokens it is arbitrary which reach the mass
    kept = slice(None) if top_p == 1 else [0, 2]
    torch.testing.assert_close(found[kept], rows[kept], atol=1e-6, rtol=1e-5)
    assert ((found > 0).sum(-1) == (rows > 0).sum(-1)).all()


def test_a_number_picks_the_token_that_it_picks_in_python():
    row = torch.rand(300, generator=torch.Generator().manual_seed(0)) * (torch.arange(300) % 3 > 0)
    row /= row.sum()
    numbers = [
        *torch.rand(200, generator=torch.Generator().manual_seed(1), dtype=torch.float64).tolist(),
        0,
        1 - 2**-53,
    ]
    law = Engine({"law": "rules/law.js"})
    found = law.call(
        "(row, numbers) => numbers.map((u) => law.pick(new Float32Array(row), u))",
        row.tolist(),
        numbers,
    )
    law.stop()
    assert found == [int(draw(row, torch.tensor([u], dtype=torch.float64))) for u in numbers]


def test_what_is_left_after_a_rejection_has_the_borders_that_it_has_in_python():
    p, q = torch.rand(2, 1, 3000, generator=torch.Generator().manual_seed(0)).softmax(-1)
    rows = torch.cat([p, p])
    make = """([p, q], tokens) => {
      const single = (rows) => rows.map((row) => new Float32Array(row));
      return [...law.next(law.lawOf("hsd", single(p), single(q), tokens, {}), 0)];
    }"""
    law = Engine({"law": "rules/law.js"})
    found = torch.tensor(law.call(make, [rows.tolist(), q.tolist()], [7]), dtype=torch.float64)
    law.stop()
    wanted = RULES["hsd"].law(rows, q, torch.tensor([7])).leftover(0)[0]
    torch.testing.assert_close(found.cumsum(0), wanted.cumsum(0), atol=1e-13, rtol=0)


# ---- runs


@pytest.fixture(scope="module")
def small(node: Engine, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pair, dict[str, Any]]:
    """A random pair of the engine's shape in both, and what the page would know of it."""
    pair, files = small_pair(tmp_path_factory.mktemp("small"))
    return pair, made(node, pair, files)


def made(node: Engine, pair: Pair, files: list[Path]) -> dict[str, Any]:
    """Make the pair in the engine; what the page would know of it."""
    told = page()
    about = {"name": "small", "revision": "", "dtype": pair.target.dtype}
    told["browser"]["pair"] |= {"config": HEAD, "target": about}
    node.call(MAKE, told["browser"]["pair"], [str(path) for path in (MODULE, *files)], False)
    return told


# ---- the declared subset


@for_each(
    "case", SUBSET["runs"], ids=lambda case: "-".join(map(str, case["options"].values())), every=2
)
def test_python_and_the_browser_decode_what_the_file_of_cases_says(
    node: Engine, small, case: dict[str, Any]
):
    wanted = {name: case[name] for name in ("tokens", "kept", "finish")}
    assert len(wanted["tokens"]) > 3
    found = both(node, small[0], told=small[1], **SHARED | case["options"])
    assert [outcome(one) for one in found] == [wanted, wanted]


@pytest.mark.parametrize(
    "case", SUBSET["left"], ids=lambda case: "-".join(map(str, case["options"].values()))
)
def test_what_the_file_of_cases_leaves_to_the_app_is_an_option_there_and_refused_here(
    node: Engine, case: dict[str, Any]
):
    RunOptions(**case["options"])
    assert case["line"] in refused(node, case["options"], page())


def test_the_file_of_cases_is_the_one_that_its_script_writes_and_has_every_rule_and_option():
    assert [case["options"] for case in SUBSET["runs"]] == RUNS
    assert [(case["options"], case["line"]) for case in SUBSET["left"]] == LEFT
    met = {name for case in (*SUBSET["runs"], *SUBSET["left"]) for name in case["options"]} | {
        *SHARED
    }
    # how a prompt is read, and what a browser has no choice of
    others = {"prompt_as", "engine", "trace"}
    missing = {*RunOptions.options()} - others - met
    assert not missing, (
        f"add a run with {', '.join(missing)} to RUNS or LEFT in browser_subset.py, and run that "
        "file"
    )
    decoded, left = (
        {case["options"].get("rule") for case in SUBSET[of]} for of in ("runs", "left")
    )
    assert {name for name, rule in RULES.items() if not rule.recipe.clipped} <= decoded
    assert not decoded & {name for name, rule in RULES.items() if rule.recipe.clipped}
    assert left & {name for name, rule in RULES.items() if rule.recipe.clipped}
    copiers = {name for name, one in COPIERS.items() if one.longest}
    missing = copiers - {case["options"].get("proposer") for case in SUBSET["runs"]}
    assert not missing, (
        f"add a run by proposer {', '.join(missing)} to RUNS in browser_subset.py, and run that "
        "file"
    )


def refused(node: Engine, given: dict[str, Any], told: dict[str, Any]) -> str:
    """The line with which the browser refuses a run."""
    with pytest.raises(AssertionError) as caught:
        node.call(
            "(given, page) => options.readRequest(given, page)", {"prompt": "a", **given}, told
        )
    return str(caught.value).splitlines()[0]


def test_a_second_copier_is_one_record_in_python_and_in_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    further = {
        "suffix": Copier("Longest suffix", "suffix", longest=9),
        "mirror": Copier("Mirror", "mirror", copies=lambda text, most: [*text[::-1][:most]]),
    }
    for name, copier in further.items():
        monkeypatch.setitem(COPIERS, name, copier)
        monkeypatch.setitem(PROPOSER_NAMES, name, copier.title)
    monkeypatch.setattr("hsd.decoding.options.PROPOSERS", ("model", *COPIERS))
    monkeypatch.setattr("hsd.facts.PROPOSERS", ("model", *COPIERS))
    engine = Engine({name: f"answers/browser/{name}.js" for name in MODULES})
    try:
        pair, files = small_pair(tmp_path)
        told = made(engine, pair, files)
        how = {"gamma": 4, "max_new_tokens": 24, "temperature": 0.3}
        text = "a long line, a long line, a line, a long line"
        for proposer in ("suffix", "ngram"):
            trace, _ = both(engine, pair, text, told, proposer=proposer, **how)
            assert trace["setup"]["options"]["draft"]["proposer"] == proposer
            assert any(step["drafted"] for step in trace["steps"])
        assert hsd.run(pair, text, proposer="mirror", **how).steps[0].drafted
        line = refused(engine, {"proposer": "mirror"}, told)
        assert "proposer mirror needs the app: choose another" in line
    finally:
        engine.stop()


SHORT = """(given, page, count) => {
  const found = {};
  for (let seed = 0; seed < count; seed += 1) {
    const run = new decoding.Decoding(it, options.readRequest({ ...given, seed }, page));
    const produced = () => run.text.slice(run.prompt.length);
    while (produced().length < 2 && run.step()) { /* at most two tokens */ }
    run.close();
    found[produced().slice(0, 2)] = (found[produced().slice(0, 2)] ?? 0) + 1;
  }
  return found;
}"""


def fit(node: Engine, small: tuple[Pair, dict[str, Any]], seeds: int, **how: Any) -> float:
    """How well the first two tokens of so many runs follow the target's own law."""
    pair, told = small
    warping = {"temperature": 0.5}
    given = {"prompt": "a text", "gamma": 2, "max_new_tokens": 8, **warping, **how}
    found = node.call(SHORT, given, told, seeds)
    assert isinstance(found, dict)
    counts = Counter({tuple(map(int, path.split(","))): count for path, count in found.items()})
    return chi_square_p(counts, token_law(pair, "a text", **warping))


@pytest.mark.parametrize(
    "how",
    some([{"rule": rule} for rule in ("hsd", "tokenwise", "blockwise")] + [{"system": "plain"}], 4),
)
def test_the_first_two_tokens_follow_the_targets_law(node: Engine, small, how: dict[str, Any]):
    assert fit(node, small, 1500, **how) > 1e-4


def test_a_rule_that_is_not_lossless_fails_that_test(node: Engine, small):
    assert fit(node, small, 1500, rule="fuzzy", divergence="tv", tolerance=1) < 1e-6


@pytest.mark.parametrize("length", [1, 2, 5])
def test_no_budget_is_overrun(node: Engine, small, length: int):
    assert same(node, small[0], "abc", small[1], gamma=3, max_new_tokens=length) <= length


def test_a_context_that_is_full_ends_a_text_as_in_python(node: Engine, small):
    pair, told = small
    found = node.call(RUN, {"prompt": "x" * 508, "gamma": 3}, told)
    assert found["result"]["finish"] in ("context", "end")
    assert same(node, pair, "x" * 508, told, gamma=3) <= 4
    with pytest.raises(AssertionError, match="context 512: shorten the prompt"):
        node.call(RUN, {"prompt": "x" * 600}, told)


STAYING = """(given, page) => {
  const { decoding } = pair.playedRun(it, options.readRequest(given, page));
  const { engine } = it.target;
  const strayed = new Set();
  const details = decoding.recorder.details.bind(decoding.recorder);
  decoding.recorder.details = (round) => {
    const rows = { p: round.p, q: round.q, row: [round.row] };
    for (const [name, all] of Object.entries(rows)) {
      const stays = (row) => row.length && row.buffer === engine.memory.buffer;
      if (!all.every(stays)) strayed.add(name);
    }
    return details(round);
  };
  const take = (bytes) => engine.made("take", engine.place, bytes);
  const length = () => engine.memory.buffer.byteLength;
  const exhaust = () => {
    for (const size = length(); length() === size; ) take(1 << 12);
    take((1 << 20) - (1 << 12)); // of a megabyte that it takes at once
  };
  let tokens = 0;
  let step;
  do {
    if (Math.abs(decoding.text.length - 60) < 6) exhaust(); // before the text's second page
    step = decoding.step();
    tokens += step?.committed.length ?? 0;
  } while (step);
  decoding.close();
  return [[...strayed], tokens];
}"""


@for_each(
    "how",
    [
        {"system": "plain"},
        {"gamma": 1},
        {"gamma": 5, "rule": "tokenwise", "shadow": "hsd"},
        {"gamma": 3, "rule": "naive-hsd"},
        {"gamma": "auto", "temperature": 0.5},
        {"gamma": 2, "temperature": 0},
        {"gamma": 4, "proposer": "ngram", "temperature": 0.3},
        {"gamma": 2, "top_k": 9, "top_p": 0.8},
    ],
)
def test_every_row_of_a_step_stays_in_the_engines_memory(node: Engine, small, how: dict[str, Any]):
    """Where the engine takes more memory for the text, no row is lost with the memory before."""
    given = {"prompt": "a long line, a long line", "max_new_tokens": 160, "seed": 3, **how}
    strayed, tokens = node.call(STAYING, given, small[1])
    assert strayed == []
    assert tokens > 45


def test_a_second_run_takes_no_more_memory_than_the_first(node: Engine, small):
    given = {"prompt": "a text", "gamma": 3, "max_new_tokens": 60}
    node.call(RUN, given, small[1])
    take = "() => it.target.engine.made('take', it.target.engine.place, 64)"
    before = node.call(take)
    node.call(RUN, given, small[1])
    assert node.call(take) == before + 64


def test_passes_are_timed_beside_a_text_that_goes_on(node: Engine, small):
    """What they cost is known or not, as times go; the text is the same."""
    call = """(given, page) => {
      const { decoding } = pair.playedRun(it, options.readRequest(given, page));
      const timer = new passes.Passes(it.target, it.head);
      const costs = [];
      while (decoding.step()) {
        if (decoding.count === 3 && given.timed) costs.push(timer.check(4), timer.draft());
      }
      decoding.close();
      const known = costs.filter(Boolean);
      return [decoding.text, costs.length, known.every(({ turns }) => turns >= 5)];
    }"""
    given = {"prompt": "a text", "gamma": 3, "max_new_tokens": 60}
    text, *_ = node.call(call, given, small[1])
    assert node.call(call, {**given, "timed": True}, small[1]) == [text, 2, True]


BEYOND = """() => {
  const inside = it.target.engine;
  const refused = (work) => { try { work(); return ""; } catch (error) { return error.message; } };
  const read = (text, tokens) => text.read(tokens, 1, (row) => [...row])[0];
  const text = () => new engine.TargetText(it.target);
  const texts = [text(), new engine.HeadText(it.head, text()), text()];
  read(texts[1].target, [1, 2, 3]);
  for (const text of texts) read(text, [1, 2, 3]);
  const found = [];
  for (const text of texts.slice(0, 2)) {
    for (const token of [64, -1, 1.5, undefined]) found.push(refused(() => read(text, [token])));
    text.length = 8190;
    found.push(refused(() => read(text, [1, 2, 3])));
    text.length = 3;
    text.close();
    text.close();
    found.push(refused(() => read(text, [1])));
  }
  found.push(refused(() => inside.tell("tokens", Array(9).fill(1))));
  found.push(refused(() => inside.write(inside.made("take", 8), 8, new Uint8Array(9))));
  const fresh = text();
  read(fresh, [1, 2, 3]);
  return [found, read(texts[2], [4]), read(fresh, [4])];
}"""


def test_nothing_is_written_beyond_what_the_engine_holds_and_other_texts_go_on(node: Engine, small):
    found, other, fresh = node.call(BEYOND)
    assert len(found) == 14
    assert all(found), found
    assert other == fresh


def test_large_rows_are_staged_where_they_have_room(node: Engine, small):
    call = """async () => {
      const { engine } = it.target, [rows, columns] = [64, 8192];
      const take = async (count) => new Uint8Array(count);
      await engine.matrix({ kind: 0, rows, columns, bytes: 4 * rows * columns, take }, 64);
      return engine.staged; }"""
    assert node.call(call) >= 4 * 64 * 8192


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"prompt": " "}, "the prompt is empty"),
        ({"prompt": "x" * 4001}, "at most 4000 are allowed"),
        ({"pair": "tiny"}, "the pair smollm2 alone"),
        ({"target": "a", "draft": "b"}, "models of your own"),
        ({"rule": "top-down"}, "several drafts, which need the app"),
        ({"shadow": "traversal"}, "rule traversal is for several drafts"),
        ({"rule": "nothing"}, "unknown rule 'nothing'"),
        ({"prompt_as": "nothing"}, "choose one of chat, text"),
        ({"shadow": "nothing"}, "choose one of tokenwise, "),
        ({"gamma": "33"}, "choose a whole number from 1 to 32"),
        ({"gamma": 1.5}, "choose a whole number"),
        ({"temperature": ""}, "temperature is empty"),
        ({"top_p": 0}, "above 0"),
        ({"seed": "x"}, "choose a whole number"),
    ],
)
def test_what_only_the_app_can_do_is_refused_in_one_line(
    node: Engine, given: dict[str, Any], line: str
):
    assert line in refused(node, given, page())


def test_a_trace_and_a_link_say_the_options_as_the_app_does(node: Engine):
    asked = {"rule": "fuzzy", "gamma": 4, "seed": 2**53 + 1, "tolerance": 0.2, "max_new_tokens": 9}
    call = """(given, page) => {
      const request = options.readRequest(given, page);
      return options.link("a", request.options, { name: "smollm2" });
    }"""
    given = {name: str(value) for name, value in asked.items()}
    wanted = RunOptions(**asked, engine="portable").query()
    assert node.call(call, {"prompt": "a", **given}, page()) == {
        "pair": "smollm2",
        "prompt": "a",
        **wanted,
    }


# ---- the real model


@pytest.fixture(scope="module")
def smollm2(node: Engine) -> Iterator[tuple[Pair, dict[str, Any]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "fetched_file", lambda name: FILE)
        pair = load_pair("smollm2")
        told = page()
        node.call(
            MAKE, told["browser"]["pair"], [str(MODULE), str(FILE), str(browser.HEAD_FILE)], True
        )
        yield pair, told


@real
def test_the_files_tokenizer_reads_and_writes_as_in_python(node: Engine, smollm2):
    assert FILE is not None
    ours = FileTokenizer(read_gguf(FILE).fields)
    codec = smollm2[0].codec
    texts = [
        part
        for file in sorted(ROOT.glob("*.md"))
        for part in file.read_text(encoding="utf-8").split("\n\n")
    ]
    texts += [
        "",
        " ",
        "naïve 東京 🙂 1234567 \t\n\n  x",
        "<|im_start|>user\nhi<|im_end|>",
        "á �",
        "don't I'LL",
    ]
    for text in texts:
        ids = ours(text)["input_ids"]
        assert node.call("(text) => it.codec.encode(text, 'text')", text) == ids, text
        assert node.call("(ids) => it.codec.decode(ids)", ids) == codec.decode(ids)
    for prompt in PROMPTS:
        assert node.call("(text) => it.codec.encode(text, 'chat')", prompt) == codec.encode(prompt)
    tokens = list(range(0, codec.vocab_size, 7))
    pieces = node.call("(ids) => ids.map((id) => it.codec.described(id).piece)", tokens)
    assert pieces == [codec.piece(x) for x in tokens]


@real
@pytest.mark.parametrize(
    "how",
    [{"rule": "hsd", "seed": 5}, {"rule": "tokenwise", "temperature": 0}, {"system": "plain"}],
)
def test_the_real_model_decodes_in_the_browser_as_in_python(
    node: Engine, smollm2, how: dict[str, Any]
):
    assert (
        same(node, smollm2[0], PROMPTS[0], smollm2[1], **{"gamma": 2, "max_new_tokens": 12, **how})
        > 4
    )


def facts(trace: dict[str, Any]) -> list[Any]:
    """Tokens, numbers and outcomes of every step."""
    return [
        (
            [(node["token"], node["draw"], node["coin"]) for node in step["nodes"]],
            [
                [(d["node"], d["coin"], d["accepted"]) for d in step[of]["decisions"]]
                for of in ("verdict", "shadow")
            ],
            [(one["token"], one["origin"]) for one in step["committed"]],
        )
        for step in trace["steps"]
    ]


@real
@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0, 0.7, 1])
@pytest.mark.parametrize(
    "how", [{"rule": rule} for rule in ("tokenwise", "hsd", "blockwise")] + [{"system": "plain"}]
)
def test_twenty_seeds_of_five_prompts_decide_as_in_python(
    node: Engine, smollm2, how: dict[str, Any], temperature: float
):
    pair, told = smollm2
    for prompt in PROMPTS:
        for seed in range(20 if temperature else 1):
            asked = {
                "gamma": 2,
                "max_new_tokens": 16,
                "temperature": temperature,
                "seed": seed,
                **how,
            }
            trace = json.loads(hsd.run(pair, prompt, engine="portable", **asked).to_json())
            found = node.call(RUN, {"prompt": prompt, **asked}, told)
            assert isinstance(found, dict)
            assert facts(found) == facts(trace), (prompt, seed)
            assert found["result"]["text"] == trace["result"]["text"]


def test_what_is_put_around_a_question_is_the_chat_template_of_the_file():
    if FILE is None:
        pytest.skip("run python -m hsd fetch smollm2")
    before, after = browser.CHAT
    turns = [{"role": "user", "content": "QUESTION"}]
    told = FileTokenizer(read_gguf(Path(FILE)).fields).apply_chat_template(
        turns, tokenize=False, add_generation_prompt=True
    )
    assert told == f"{before}QUESTION{after}"
