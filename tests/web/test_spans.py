"""Text of tokens on the page: whole characters, whole signs, and bytes that make neither."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine import Engine
from loops import for_each

CASES = json.loads((Path(__file__).parents[1] / "spans.json").read_text(encoding="utf-8"))
TOKENS = "tokens.map(([piece, bytes]) => ({ piece, ...(bytes && { bytes }) }))"


@pytest.fixture(scope="module")
def node() -> Iterator[Engine]:
    engine = Engine({"spans": "kit/spans.js", "format": "kit/format.js"})
    yield engine
    engine.stop()


def shown(parts: list[dict[str, Any]]) -> str:
    return "".join(f"⟨{part['text']}⟩" if part["bytes"] else part["text"] for part in parts)


@for_each("case", CASES, ids=[case["name"] for case in CASES])
def test_the_page_puts_tokens_together_as_python_does(node: Engine, case: dict[str, Any]):
    assert node.call(f"(tokens) => spans.together({TOKENS})", case["tokens"]) == case["text"]
    written = [
        shown(parts) for parts in node.call(f"(tokens) => spans.written({TOKENS})", case["tokens"])
    ]
    if "written" in case:
        assert written == case["written"]


@for_each("case", CASES, ids=[case["name"] for case in CASES])
def test_a_text_that_comes_in_token_by_token_ends_as_one_that_is_there(
    node: Engine, case: dict[str, Any]
):
    grown = node.call(
        f"""(tokens) => {{
          const running = new spans.Running();
          const seen = [];
          for (const one of {TOKENS}) {{
            for (const [place, parts] of running.add([one])) seen[place] = parts;
          }}
          return seen;
        }}""",
        case["tokens"],
    )
    assert grown == node.call(f"(tokens) => spans.written({TOKENS})", case["tokens"])


def test_a_long_text_of_bytes_grows_as_it_would_stand(node: Engine):
    text = "नमस्ते 你好 👩‍👩‍👧 🇩🇪🇫🇷 e\u0301 مرحبا " * 12
    tokens = [
        [f"{byte:02X}", f"{byte:02X}"] if byte > 127 else [chr(byte), None]
        for byte in text.encode()
    ]
    whole, grown = node.call(
        f"""(tokens) => {{
          const running = new spans.Running();
          const seen = [];
          for (const one of {TOKENS}) {{
            for (const [place, parts] of running.add([one])) seen[place] = parts;
          }}
          return [spans.written({TOKENS}), seen];
        }}""",
        tokens,
    )
    assert grown == whole
    assert "".join(map(shown, whole)) == text


@pytest.mark.parametrize(
    ("text", "cells"),
    [("👨‍👩‍👧‍👦", 24), ("स्त्री", 24), ("می‌خواهم", 24), ("👩🏽‍❤️‍💋‍👨🏻", 24), ("ကြို့", 24)],
)
def test_a_sign_of_many_characters_is_shown_whole(node: Engine, text: str, cells: int):
    assert node.call("(text) => format.visible(text)", text) == text
    assert node.call("(text, cells) => format.shorten(text, cells)", text, cells) == text


@pytest.mark.parametrize(
    "hidden", ["pay\u200cpal", "a\u200db", "\u200d", "x\u202ey", "क\u200d", "\u3164"]
)
def test_what_shows_nothing_is_still_marked(node: Engine, hidden: str):
    assert "⟨" in node.call("(text) => format.visible(text)", hidden)


@pytest.mark.parametrize("bytes_", ["zz", "C", "%41", "c3", "<b>", "C3A", "é"])
def test_bytes_that_are_none_do_no_harm(node: Engine, bytes_: str):
    tokens = [["a", None], ["?", bytes_], ["9F", "9F"], ["b", None]]
    text = node.call(f"(tokens) => spans.together({TOKENS})", tokens)
    assert text.startswith("a")
    assert text.endswith("b")
