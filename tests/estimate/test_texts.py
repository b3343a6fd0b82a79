"""What is read of texts' log-probabilities, and what is refused: each trap is one line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hsd.errors import HsdError
from hsd.estimate import checked, read_texts
from hsd.estimate.texts import of_values


def file_of(folder: Path, *lines: Any) -> Path:
    file = folder / "texts.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return file


def test_a_file_by_hand(tmp_path: Path):
    file = file_of(
        tmp_path,
        {"logp": [-0.5, -1], "logq": [-0.7, "-inf"], "tokens": ["a", "b"], "kind": "code"},
        {"logp": [-0.1], "logq": [-0.2], "id": "second", "temperature": 1, "top_k": -1},
    )
    first, second = read_texts(file)
    assert first.logp.tolist() == [-0.5, -1]
    assert first.logq.tolist() == [-0.7, -math.inf]
    assert (first.tokens, first.kind, second.name) == (("a", "b"), "code", "second")


TOKENS = [" two", " words"]
COMPLETION = {
    "choices": [{"text": " two words", "logprobs": {"tokens": TOKENS, "token_logprobs": [-1, -2]}}]
}
CHAT = {
    "choices": [
        {
            "message": {"content": " two words"},
            "logprobs": {
                "content": [
                    {"token": token, "logprob": -1.0 - i, "top_logprobs": []}
                    for i, token in enumerate(TOKENS)
                ]
            },
        }
    ]
}
ECHO = {  # of "Say two words", and a token that the draft added
    "choices": [
        {
            "logprobs": {
                "tokens": ["Say", *TOKENS, "."],
                "token_logprobs": [None, -3.0, -4.0, -0.1],
            }
        }
    ],
    "usage": {"completion_tokens": 1},
}
PROMPT_LOGPROBS = {
    "choices": [
        {
            "prompt_logprobs": [
                None,
                *(
                    {str(n): {"logprob": -3.0 - n, "rank": 2, "decoded_token": token}}
                    for n, token in enumerate(TOKENS)
                ),
            ]
        }
    ]
}


@pytest.mark.parametrize("target", [COMPLETION, CHAT])
@pytest.mark.parametrize("draft", [ECHO, PROMPT_LOGPROBS])
def test_answers_of_servers_in_pairs(target: Any, draft: Any):
    text = of_values({"target": target, "draft": draft}, "line 1")
    assert text.tokens == tuple(TOKENS)
    assert text.logp.tolist() == [-1, -2]
    assert text.logq.tolist() == [-3, -4]


def echoed(*tokens: str) -> Any:
    logprobs = {"tokens": [*tokens, "."], "token_logprobs": [-1.0] * (len(tokens) + 1)}
    return {"choices": [{"logprobs": logprobs}]}


SOUND = {"logp": [-1.0], "logq": [-1.0]}
REFUSED = {
    "raw, at another temperature": ({**SOUND, "temperature": 0.7}, "drawn with temperature 0.7"),
    "raw, cut": ({**SOUND, "top_p": 0.9}, "drawn with top_p 0.9"),
    "no first number": ({"logp": [None, -1], "logq": [None, -1]}, "score the prompt"),
    "not as many": ({"logp": [-1, -1], "logq": [-1]}, "2 numbers of the target and 1 of the draft"),
    "impossible for the target": ({"logp": ["-inf"], "logq": [-1]}, "the probability 0"),
    "no logarithm": ({"logp": [0.4], "logq": [-1]}, "no logarithm"),
    "not a number": ({"logp": [math.nan], "logq": [-1]}, "no logarithm"),
    "a text": ({"logp": ["high"], "logq": [-1]}, "'high' is no number"),
    "no list": ({"logp": 3, "logq": [-1]}, "is no list"),
    "empty": ({"logp": [], "logq": []}, "has no token"),
    "nothing": ({"text": "Hello"}, "neither logp and logq"),
    "no object": ([1, 2], "no JSON object"),
    "other tokens": (
        {"target": COMPLETION, "draft": echoed("Say", " tw", "o words")},
        "same tokenizer",
    ),
    "no score": ({"target": COMPLETION, "draft": {"choices": [{"text": "x"}]}}, '"echo": true'),
    "no numbers": ({"target": {"choices": [{"text": "x"}]}, "draft": ECHO}, '"logprobs"'),
    "an error": ({"target": {"error": "busy"}, "draft": ECHO}, "no answer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_used_is_named_in_one_line(tmp_path: Path, name: str):
    line, words = REFUSED[name]
    with pytest.raises(HsdError) as refusal:
        read_texts(file_of(tmp_path, {**SOUND, "temperature": 1}, line))
    message = str(refusal.value)
    assert words in message
    assert message.startswith("line 2")
    assert "\n" not in message


def test_processed_numbers_are_taken_at_any_temperature():
    for how in ({"processed": True}, {"logprobs_mode": "processed_logprobs"}):
        assert len(of_values({**SOUND, "temperature": 0.7, **how}, "line 1")) == 1


def drawn(texts: int, tokens: int, sharper: float = 1.0) -> Any:
    """Numbers of texts that were drawn from p, or from p raised to a power."""
    random = np.random.default_rng(3)
    logits = random.normal(0, 2, (texts * tokens, 40))
    p, q = (softmax(logits + random.normal(0, spread, logits.shape)) for spread in (0.0, 0.5))
    law = softmax(np.log(p) * sharper)
    chosen = (law.cumsum(-1) < random.uniform(size=(len(law), 1))).sum(-1)
    places = np.arange(len(law)), chosen
    return np.log(p[places]).reshape(texts, tokens), np.log(q[places]).reshape(texts, tokens)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def texts_of(logp: np.ndarray, logq: np.ndarray) -> Any:
    return [
        of_values({"logp": list(p), "logq": list(q)}, f"line {i}")
        for i, (p, q) in enumerate(zip(logp, logq, strict=True))
    ]


def test_texts_of_the_target_are_taken():
    assert len(checked(texts_of(*drawn(20, 60)))) == 20


def test_changed_places_are_found():
    logp, logq = drawn(20, 60)
    with pytest.raises(HsdError, match="likelier than the target"):
        checked(texts_of(logq, logp))


def test_a_server_that_fills_nothing_in_is_found():
    logp, logq = drawn(3, 5)
    with pytest.raises(HsdError, match="the draft gives every token the probability 1"):
        checked(texts_of(logp, 0 * logq))
    with pytest.raises(HsdError, match="the target gives every token the probability 1"):
        checked(texts_of(0 * logp, logq))
