"""Text of tokens: a character that several of them spell is whole, and bytes that make none are
told as bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from loops import for_each

from hsd.trace.format import spell, together
from hsd.trace.values import Token

CASES = json.loads((Path(__file__).parents[1] / "spans.json").read_text(encoding="utf-8"))


@for_each("case", CASES, ids=[case["name"] for case in CASES])
def test_tokens_together_are_their_text(case: dict[str, Any]):
    tokens = [
        Token(token=i, piece=piece, bytes=parts) for i, (piece, parts) in enumerate(case["tokens"])
    ]
    assert together(tokens) == case["text"]
    for token in tokens:
        if token.bytes:
            assert token.piece == spell(bytes.fromhex(token.bytes))


def test_a_token_of_whole_characters_is_written_as_before():
    assert Token(token=1, piece="a").model_dump() == {"token": 1, "piece": "a"}
    assert Token(token=1, piece="C3", bytes="C3").model_dump() == {
        "token": 1,
        "piece": "C3",
        "bytes": "C3",
    }


@pytest.mark.parametrize("wrong", ["c3", "C", "C3 A9", "", "zz", "C3" * 300])
def test_bytes_are_pairs_of_hexadecimal_digits(wrong: str):
    with pytest.raises(ValueError, match="bytes"):
        Token(token=1, piece="C3", bytes=wrong)
