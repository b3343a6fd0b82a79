"""A page that holds nothing but players, and runs of table models to show in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from table_models import TableModel
from web_page import Browser, Guest, address, show

import hsd
from hsd.app.page import with_run

STARTS = (
    "the a dog cat and ran sat on mat home she he saw it was big red then house tree to with "
    "her his they said"
)
WORDS = [f" {word}" for word in STARTS.split()] + [
    ".",
    ",",
    "\n",
    " “",
    "”",
    " very",
    "ed",
    "ing",
    "s",
    " of",
    " in",
    " up",
]
PAGE = """<!doctype html><html lang="en" class="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>player</title>
<link rel="stylesheet" href="kit/kit.css"><link rel="stylesheet" href="step/step.css">
<style>body {{ margin: 0; padding: 16px; font-family: system-ui, sans-serif; background: #fff }}
.dark body {{ background: #0f1218 }}</style></head>
<body><div id="one"></div><script type="module">
import {{ create }} from "./step/player.js";
import * as model from "./step/model.js";
import * as arithmetic from "./step/rejudge.js";
import * as drafts from "./step/drafts.js";
import * as files from "./step/export.js";
import * as picture from "./step/picture.js";
window.hsdPlayer = {{ create, model: {{ ...model, ...arithmetic }}, drafts, files, picture }};
</script></body></html>"""


@dataclass(frozen=True)
class WordCodec:
    """Token i is `pieces[i]`; a text is read as one token per character code."""

    pieces: tuple[str, ...]
    end_ids: frozenset[int] = frozenset()

    @property
    def vocab_size(self) -> int:
        return len(self.pieces)

    def encode(self, text: str) -> list[int]:
        return [ord(c) % len(self.pieces) for c in text]

    def decode(self, ids: list[int]) -> str:
        return "".join(self.pieces[i] for i in ids)

    def piece(self, token: int) -> str:
        return self.pieces[token][:400]


def word_pair(
    pieces: list[str] | None = None,
    seed: int = 0,
    closeness: float = 1.6,
    ends: frozenset[int] = frozenset(),
) -> hsd.Pair:
    """A target and a draft over `pieces`: the next piece depends on the last one. The tokens `ends`
    end a text.
    """
    pieces = pieces or WORDS
    size = len(pieces)
    generator = torch.Generator().manual_seed(seed)
    logits = 2.2 * torch.randn(size, size, generator=generator, dtype=torch.float64)
    noise = torch.randn(size, size, generator=generator, dtype=torch.float64) / closeness
    target = TableModel(logits.softmax(-1), "words")
    draft = TableModel((logits + noise).softmax(-1), "words, blurred")
    return hsd.Pair("words", target, draft, WordCodec(tuple(pieces), ends))


def word_trace(
    pieces: list[str] | None = None,
    *,
    table_seed: int = 0,
    ends: frozenset[int] = frozenset(),
    **options: object,
) -> dict:
    """The parsed JSON of a run on a word pair."""
    defaults = {"rule": "hsd", "gamma": 5, "max_new_tokens": 60, "seed": 0}
    pair = word_pair(pieces, table_seed, ends=ends)
    return json.loads(hsd.run(pair, "Once upon a time", **(defaults | options)).to_json())


def tree_trace() -> dict:
    """A run whose first step is made into a draft tree: two more paths leave the first one at its
    start.
    """
    trace = word_trace(max_new_tokens=18)
    step = trace["steps"][0]
    nodes = step["nodes"]
    extra = [
        replace_parent(nodes[1], len(nodes) + 1, 1),
        replace_parent(nodes[2], len(nodes) + 2, len(nodes) + 1),
    ]
    extra.append(replace_parent(nodes[0], len(nodes) + 3, 0))
    step["nodes"] = nodes + extra
    first = [node["id"] for node in nodes]
    ends = [[1, len(nodes) + 1, len(nodes) + 2], [len(nodes) + 3]]
    step["paths"] = [{"nodes": line, "fork": 0} for line in [first, *ends]]
    return trace


def replace_parent(node: dict, number: int, parent: int) -> dict:
    """The same token as another node."""
    return node | {
        "id": number,
        "parent": parent,
        "order": 1,
        "token": node["token"] + 1,
        "piece": node["piece"] + "′",
    }


def page(dark: bool = False) -> str:
    """The page, without any data: tests hand it over by `evaluate`."""
    return PAGE.format(theme="dark" if dark else "")


class Stage(Guest):
    """A page with players."""

    def __init__(self, browser: Browser, **options: object) -> None:
        super().__init__(browser, address(), height=900, **options)
        show(self.page, page())
        self.page.wait_for_function("window.hsdPlayer")

    def load(self, trace: dict, step: int = 0, folded: bool = False, **where: object) -> None:
        """Show a trace; what is folded up at first is opened, unless a test wants it as it is."""
        self.page.evaluate(
            """async ([trace, where, folded]) => {
              window.moves = [];
              const options = {onSelect: (state) => window.moves.push(state), link: () => "https://example.org/?step=1"};
              const root = document.getElementById("one");
              window.player = window.player || window.hsdPlayer.create(root, options);
              window.player.load(trace, where);
              if (folded) return;
              for (const fold of document.querySelectorAll("#one .hp-fold")) fold.open = true;
              await import("./step/folds.js"); // what fills them comes with the first one
              await new Promise((told) => setTimeout(told));
            }""",
            [trace, {"step": step} | where, folded],
        )

    def each(self, selector: str, expression: str) -> list:
        """The value of a JavaScript expression in `e` for every element."""
        return self.page.eval_on_selector_all(selector, f"list => list.map((e) => {expression})")

    def state(self) -> dict:
        return self.page.evaluate("window.__hsd")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def go(self, step: int) -> None:
        self.page.evaluate("step => window.player.select({step})", step)

    def press(self, *keys: str) -> dict:
        for key in keys:
            self.page.keyboard.press(key)
        return self.page.evaluate("window.player.state()")


def step_where(trace: dict, condition) -> int:
    return next(i for i, step in enumerate(trace["steps"]) if condition(step))


def differing(trace: dict) -> list[int]:
    return [i for i, s in enumerate(trace["steps"]) if s["kept"] != s["shadow"]["kept"]]


class FileStage(Stage):
    """The single file of a run, opened from a disk: each trace is written into one."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.file = folder / "run.html"
        Guest.__init__(self, browser, self.file.as_uri(), height=900, offline=True, bypass_csp=True)

    def load(self, trace: dict, step: int = 0, folded: bool = False, **where: object) -> None:
        self.file.write_text(with_run({"trace": trace, "step": step, "title": "", **where}))
        self.page.goto(self.file.as_uri())
        self.page.wait_for_function("window.hsdRun && window.__hsd")
        self.page.evaluate(
            """async (folded) => {
              document.querySelector(".hf-player").id = "one";
              window.player = window.hsdRun;
              if (folded) return;
              for (const fold of document.querySelectorAll("#one .hp-fold")) fold.open = true;
              await new Promise((told) => setTimeout(told));
            }""",
            folded,
        )
