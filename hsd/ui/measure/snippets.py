"""Short programs that ask this app for the same things, with the sidebar's settings: Python and curl."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from hsd.decoding.options import RunOptions
from hsd.rules import RULES
from hsd.ui.pairs import OWN
from hsd.ui.request import Request

HERE = "@APP@"  # the page's script puts its own address here
STEP = {"p": [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]], "q": [[0.6, 0.4], [0.5, 0.5]], "tokens": [0, 1]}
SHOWN = {
    "run": 'answer["text"], answer["summary"]["block_efficiency"]',
    "compare": 'answer["kept"], answer["differences"]',
    "verify_step": 'answer["threshold"], answer["expected_kept"]',
    "audit": 'answer["rules"]["hsd"]',
}


FUZZY = ("divergence", "tolerance", "fuzzy_mode", "divergence_on")
OWN_PAIR = "The endpoints load pairs by name, so the models of your own are left out of these programs."
USUAL = "The endpoints /compare and /verify_step judge with a rule's usual settings, not with the options."


def note(request: Request) -> str:
    """What the snippets cannot ask for; empty when they ask for all of it."""
    missing = [OWN_PAIR] if request.pair.name == OWN else []
    return " ".join([*missing, *([USUAL] if _settings(request.options) else [])])


def _settings(options: RunOptions) -> dict[str, Any]:
    """The settings of rules that take part, where they are not the usual ones."""
    names = [name for rule in (options.rule, options.shadow_rule) for name in _settings_of(rule)]
    return {name: getattr(options, name) for name in names if getattr(options, name) != RunOptions.default(name)}


def _settings_of(rule: str) -> tuple[str, ...]:
    knob = RULES[rule].knob if rule in RULES else None
    return FUZZY if rule == "fuzzy" else (knob.option,) if knob else ()


def snippets(request: Request) -> list[dict[str, str]]:
    """For each endpoint its name, the Python code and the curl command that ask for what `request` asks for."""
    return [
        {"name": f"/{name}", "python": python(name, arguments), "curl": curl(name, arguments)}
        for name, arguments in _asked(request).items()
    ]


def _asked(request: Request) -> dict[str, dict[str, Any]]:
    """Endpoint → its arguments. The endpoints load pairs by name only, so an own pair is left out."""
    o = request.options
    pair = {} if request.pair.name == OWN else {"pair": request.pair.name}
    pair |= {"prompt_as": o.prompt_as} if o.prompt_as else {}
    drafts = {"drafts": o.drafts, "tree": o.tree} if o.drafts > 1 else {}
    common = {"prompt": request.prompt, "rule": o.rule, "gamma": o.gamma, "length": o.max_new_tokens}
    common |= {"temperature": o.temperature, "seed": o.seed, **drafts, **pair}
    cut = {"top_p": o.top_p, "top_k": o.top_k}
    common |= {"proposer": o.proposer} if o.proposer != RunOptions.default("proposer") else {}
    plain = {"system": o.system} if o.system != "speculative" else {}
    rule = o.rule if o.drafts == 1 else "hsd"
    near = {name: value for name, value in _settings(o).items() if name in _settings_of(o.rule)}
    return {
        "run": {
            **common,
            **{name: v for name, v in cut.items() if v != (1.0 if name == "top_p" else 0)},
            **plain,
            **near,
        },
        "compare": {**common, "other": o.shadow_rule.removeprefix("recursive-"), "mode": "paired"},
        "verify_step": {**STEP, "rule": rule},
        "audit": {"vocab": 3, "gamma": min(o.gamma, 3), "seed": 0},
    }


def python(name: str, arguments: Mapping[str, Any]) -> str:
    """A program with the package `gradio_client`."""
    lines = "".join(f"    {key}={value!r},\n" for key, value in arguments.items())
    return (
        "from gradio_client import Client\n\n"
        f'client = Client("{HERE}")\n'
        f'answer = client.predict(\n{lines}    api_name="/{name}",\n)\n'
        f"print({SHOWN[name]})\n"
    )


def curl(name: str, arguments: Mapping[str, Any]) -> str:
    """Two commands for a shell: one asks and gets a number, one waits for the answer to it."""
    body = shlex.quote(json.dumps(arguments, ensure_ascii=False))
    return (
        f"EVENT=$(curl -s {HERE}gradio_api/call/v2/{name} -H 'Content-Type: application/json' \\\n"
        f"  -d {body} | cut -d '\"' -f 4)\n"
        f"curl -sN {HERE}gradio_api/call/{name}/$EVENT\n"
    )
