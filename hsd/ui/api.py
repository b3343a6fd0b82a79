"""Endpoints for programs: named, typed, and with the same checks as the page."""

from __future__ import annotations

import json
from collections.abc import Mapping

import gradio as gr

from hsd.audit import audit as exact_audit
from hsd.errors import HsdError
from hsd.space import Space
from hsd.ui.presets import Preset
from hsd.ui.request import read
from hsd.ui.runner import Runner


def add_endpoints(space: Space, presets: Mapping[str, Preset], runner: Runner) -> None:
    """Add `/run`, `/presets` and `/audit` to the app that is being built."""

    def run(
        prompt: str,
        rule: str = "hsd",
        gamma: int = 5,
        length: int = 64,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 0,
        seed: int = 0,
        system: str = "speculative",
        pair: str = "",
    ) -> dict:  # type: ignore[type-arg]  # Gradio derives the endpoint's type from it
        """Decode `prompt`. Returns {"text", "summary", "trace"}: the new text, its statistics, every decision."""
        asked = {
            "prompt": prompt,
            "rule": rule,
            "gamma": gamma,
            "length": length,
            "temperature": temperature,
            "top_p": top_p,
            "top_k": top_k,
            "seed": seed,
            "system": system,
            "pair": pair or space.pairs[0].name,
        }
        with _Errors():
            trace = runner.finish(read(space, asked))
        summary = json.loads(json.dumps(trace.stats()))  # the histogram's keys become text, as JSON wants them
        return {"text": trace.text, "summary": summary, "trace": trace.model_dump(mode="json")}

    def list_presets() -> list[dict]:  # type: ignore[type-arg]
        """The recorded runs of this app: name, title, why, prompt and options of each."""
        return [
            {"name": name, "title": p.title, "why": p.why, "prompt": p.prompt, "options": p.options}
            for name, p in presets.items()
        ]

    def audit(vocab: int = 3, gamma: int = 3, seed: int = 0) -> dict:  # type: ignore[type-arg]
        """Exact law of every rule on a random small pair: E[kept] and total variation from the target."""
        with _Errors():
            return exact_audit(vocab=vocab, gamma=gamma, seed=seed)

    gr.api(run, api_name="run", concurrency_id="model", concurrency_limit=1)
    gr.api(list_presets, api_name="presets", queue=False)
    gr.api(audit, api_name="audit", concurrency_id="audit", concurrency_limit=1)


class _Errors:
    """Within it, bad input reaches the caller as one line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, HsdError):
            raise gr.Error(str(error), print_exception=False) from None
