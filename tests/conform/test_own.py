"""A verifier of one's own as a rule: its judgement, its name, and each fault of a call."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from hsd import HsdError
from hsd.conform import Adapter, load_adapter, own
from hsd.conform.own import OwnRule, OwnVerdict, own_rule
from hsd.paths import ROOT

EXAMPLES = ROOT / "examples" / "conform"
NAMED = "; sent p (3, 2), q (2, 2), tokens [0, 1], uniforms [0.25, 0.75], noise 0.5"


def unjudged(verify: Callable[..., Any], **said: Any) -> OwnRule:
    adapter = Adapter("mine.py", verify, **said)
    return OwnRule("mine", "mine", "mine", "", False, adapter, OwnVerdict(None))


def answer(rule: OwnRule, **more: Any) -> list[int]:
    p = torch.full((3, 2), 0.5, dtype=torch.float32)
    uniforms = torch.tensor([0.25, 0.75], dtype=torch.float64)
    noise = torch.tensor(0.5, dtype=torch.float64)
    return rule.answer(p, p[:2], torch.tensor([0, 1]), uniforms, noise, **more)


@pytest.mark.parametrize(
    ("file", "verdict"),
    [("block.py", "judged lossless"), ("wrong_block.py", "not lossless: after b, token c comes ")],
)
def test_a_file_is_a_rule_with_a_verdict(file: str, verdict: str, tmp_path: Path):
    rule = own_rule(load_adapter(EXAMPLES / file))
    assert (rule.name, rule.lossless) == (Path(file).stem, file == "block.py")
    assert str(rule.verdict).startswith(verdict)


def test_a_counterexample_says_which_token_comes_too_often_and_by_how_much():
    example = own_rule(load_adapter(EXAMPLES / "wrong_block.py")).verdict.example
    assert example is not None
    p, q = example["p"], example["q"]
    c, after = example["token"], example["after"]
    assert len(after) == 1
    # of (b, c): drafted and kept, or drafted with b kept alone and c drawn from max(p - q, 0)
    allowed = p[1][c]
    assert example["probability"] == pytest.approx(0.32)
    assert allowed == pytest.approx(0.3)
    assert [sum(row) for row in (*p, *q)] == pytest.approx([1] * (len(p) + len(q)))


def test_what_is_kept_too_often_is_a_counterexample_too():
    def keeps_all(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> Any:
        drawn = torch.searchsorted(p[-1].cumsum(0), noise, right=True)
        kept = len(tokens) if uniforms[0] < 0.9 else 0
        row = p[kept]
        drawn = torch.searchsorted(row.cumsum(0), noise * row.sum(), right=True)
        return [*tokens[:kept].tolist(), int(drawn)]

    verdict = own_rule(keeps_all).verdict
    example = verdict.example
    assert verdict.lossless is False
    assert example is not None
    assert example["after"] == []
    p, q, x = example["p"][0], example["q"][0], example["token"]
    assert example["probability"] == pytest.approx(0.9 * q[x] + 0.1 * p[x])
    assert example["probability"] > p[x]


def test_the_name_of_a_known_rule_is_refused():
    for name in ("tokenwise.py", "coupled.py", "hsd.py"):
        with pytest.raises(HsdError, match=f"{name}: .* is the name of a rule here: choose"):
            own_rule(load_adapter(EXAMPLES / name))


@pytest.mark.parametrize(
    "said", [{"sampled": True}, {"text": True}, {"candidates": 4}, {"shared": True}]
)
def test_a_file_that_cannot_judge_one_draft_by_given_numbers_is_refused(said: dict[str, Any]):
    with pytest.raises(HsdError, match=r"^mine\.py: "):
        own_rule(Adapter("mine.py", lambda *_: [0], **said))


def test_a_verifier_with_random_numbers_of_its_own_is_refused():
    def verify(p: Tensor, q: Tensor, tokens: Tensor, uniforms: Tensor, noise: Tensor) -> list[int]:
        return [int(torch.rand(()) * p.shape[-1])]

    with pytest.raises(HsdError, match="for the same numbers: it draws numbers of its own"):
        own_rule(verify)


def test_what_cannot_be_judged_says_why():
    def picky(p: Tensor, *_: Tensor) -> list[int]:
        return [int(p[0].topk(40).indices[0])]

    verdict = own_rule(picky).verdict
    assert verdict.lossless is None
    assert str(verdict).startswith("not judged: picky: verify raises RuntimeError: ")


def test_judging_ends_after_its_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own, "JUDGING", 0.2)

    def slow(*_: Any) -> list[int]:
        time.sleep(0.05)
        return [0]

    verdict = own_rule(slow).verdict
    assert str(verdict) == "not judged: that takes more than 0.2 seconds"


def changing(p: Tensor, *_: Tensor) -> list[int]:
    p[0, 0] = 1
    return [0]


def raising(*_: Any) -> list[int]:
    raise ValueError("no\nway")


def leaving(*_: Any) -> list[int]:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("verify", "words"),
    [
        (raising, "raises ValueError: no way"),
        (leaving, "raises SystemExit: 3"),
        (changing, "changes its arguments: work on copies"),
        (lambda *_: 7, "returns 7: return a list of int"),
        (lambda *_: None, "returns None: return a list of int"),
        (lambda *_: [0.5], "returns [0.5]: return a list of int"),
        (lambda *_: [], "returns 0 tokens: return 1 to 3, the kept ones and one more"),
        (lambda *_: [0, 1, 0, 0], "returns 4 tokens: return 1 to 3, the kept ones and one more"),
        (
            lambda *_: [1, 1],
            "returns [1, 1], whose tokens before the last are not the draft's first",
        ),
        (lambda *_: [2], "returns token 2, and there are 2: 0 to 1"),
    ],
)
def test_a_fault_is_a_line_that_names_the_call(verify: Callable[..., Any], words: str):
    with pytest.raises(HsdError) as error:
        answer(unjudged(verify))
    assert str(error.value) == f"mine.py: verify {words}{NAMED}"


def test_a_call_that_does_not_return_ends_after_its_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own, "CALLING", 0.2)

    def hanging(*_: Any) -> list[int]:
        while True:
            try:
                time.sleep(60)
            except Exception:  # which must not keep it alive
                continue

    with pytest.raises(HsdError, match=r"verify does not return within 0\.2 seconds; sent p "):
        answer(unjudged(hanging))
    time.sleep(0.3)  # no alarm is left
    assert answer(unjudged(lambda *_: [0, 1])) == [0, 1]


def test_another_answer_for_the_same_numbers_is_refused():
    with pytest.raises(HsdError, match=r"returns \[1\] and then \[0, 1\] for the same numbers"):
        answer(unjudged(lambda *_: [0, 1]), first=[1])


def test_arguments_are_as_the_file_asks_for_them():
    given: list[Tensor] = []

    def verify(*arguments: Tensor) -> Any:
        given[:] = arguments
        return torch.tensor([[0, 0]])

    rule = unjudged(verify, batched=True, dtype="float32")
    almost = 1 - 2.0**-50  # rounds to 1 in single precision
    rows = torch.tensor([[0.2, 0.6], [1.0, 3.0], [0.5, 0.5]], dtype=torch.float16)
    numbers = (
        torch.full((2,), almost, dtype=torch.float64),
        torch.tensor(almost, dtype=torch.float64),
    )
    assert rule.answer(rows, rows[:2], torch.tensor([0, 1]), *numbers) == [0, 0]
    p, q, tokens, uniforms, noise = given
    assert [x.shape for x in given] == [(1, 3, 2), (1, 2, 2), (1, 2), (1, 2), (1,)]
    assert [x.dtype for x in given] == [torch.float32] * 2 + [torch.int64] + [torch.float32] * 2
    assert torch.allclose(p.sum(-1), torch.ones(1, 3))
    assert q[0, 1].tolist() == [0.25, 0.75]
    assert bool((uniforms < 1).all() and (noise < 1).all())
    assert tokens.tolist() == [[0, 1]]
