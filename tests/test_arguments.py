"""Public functions take the numbers and lists of every library, and refuse in one line what they
cannot take.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from loops import for_each

import hsd
from hsd import RULES, HsdError, Pair, Trace, load_pair
from hsd.planner import Models, plan
from hsd.values import listed, real, truth, whole

PROMPT = "Once upon a time"


@pytest.fixture(scope="module")
def pair() -> Pair:
    return load_pair("tiny")


@pytest.fixture(scope="module")
def trace(pair: Pair) -> Trace:
    return hsd.run(pair, PROMPT, max_new_tokens=6)


@for_each(
    ("read", "value", "wanted"),
    [
        *((whole, value, 4) for value in (4, np.int64(4), np.uint8(4), np.array(4))),
        (whole, torch.tensor(4), 4),
        *((whole, value, None) for value in (True, np.True_, torch.tensor(True), 4.0, "4", None)),
        *((whole, value, None) for value in (np.float64(4), torch.tensor(4.0), torch.tensor([4]))),
        (whole, torch.tensor(4, device="meta"), None),
        *((real, value, 0.5) for value in (0.5, np.float32(0.5), np.float16(0.5), Fraction(1, 2))),
        (real, torch.tensor(0.5), 0.5),
        (real, np.int64(2), 2),
        *((real, value, None) for value in (False, np.False_, "0.5", None, 1j, torch.ones(1))),
        (real, Fraction(10**400), None),
        *((truth, value, True) for value in (True, np.True_, torch.tensor(True))),
        *((truth, value, None) for value in (1, "true", None, np.array([True]))),
        *((listed, value, [2, 4]) for value in ([2, 4], (2, 4), np.array([2, 4]), range(2, 6, 2))),
        (listed, torch.tensor([2, 4]), [2, 4]),
        *((listed, value, None) for value in ("24", b"24", {2, 4}, None, 2, torch.ones(1, 2))),
    ],
)
def test_values_of_every_library_become_those_of_python(
    read: Callable[[Any], Any], value: Any, wanted: Any
):
    found = read(value)
    assert found == wanted
    assert type(found) is type(wanted)


@for_each(
    ("given", "same"),
    [
        ({"gamma": np.int64(4)}, {"gamma": 4}),
        ({"gamma": torch.tensor(4)}, {"gamma": 4}),
        ({"seed": np.uint64(2**63 + 5)}, {"seed": 2**63 + 5}),
        ({"temperature": np.float32(0.5)}, {"temperature": 0.5}),
        ({"temperature": torch.tensor(0.5)}, {"temperature": 0.5}),
        ({"rule": "fuzzy", "tolerance": np.float16(0.5)}, {"rule": "fuzzy", "tolerance": 0.5}),
        ({"trace": np.False_}, {"trace": False}),
        (
            {"system": "stack", "thresholds": np.array([2, 4])},
            {"system": "stack", "thresholds": (2, 4)},
        ),
    ],
)
def test_a_run_takes_numbers_of_every_library(
    given: dict[str, Any], same: dict[str, Any], pair: Pair
):
    runs = [hsd.run(pair, PROMPT, max_new_tokens=6, **options) for options in (given, same)]
    assert runs[0].tokens == runs[1].tokens
    assert runs[0].setup == runs[1].setup
    assert Trace.from_json(runs[0].to_json()).setup == runs[1].setup


@for_each("form", [list, tuple, torch.tensor, np.array, lambda ids: np.array(ids, np.uint16)])
def test_a_prompt_may_be_ids(form: Callable[[list[int]], Any], pair: Pair, trace: Trace):
    given = hsd.run(pair, form(pair.encode(PROMPT)), max_new_tokens=6)
    assert given.tokens == trace.tokens
    assert given.prompt.ids == trace.prompt.ids
    assert hsd.rerun(pair, given).tokens == trace.tokens


ROWS = torch.full((3, 5), 0.2)
TOKENS = torch.tensor([1, 2])


def law(p: Any = ROWS, q: Any = ROWS[:2], tokens: Any = TOKENS) -> Any:
    return RULES["hsd"].law(p, q, tokens)


REFUSED: dict[str, Callable[[Pair, Trace], Any]] = {
    **{
        f"prompt {prompt!r}": lambda pair, _, prompt=prompt: hsd.run(pair, prompt)
        for prompt in (None, b"Once", Path("Once"), 5, [], [1.5], [True], [-1], {"input_ids": [1]})
    },
    "prompt of two dimensions": lambda pair, _: hsd.run(pair, torch.ones(1, 3).long()),
    **{
        f"gamma {gamma!r}": lambda pair, _, gamma=gamma: hsd.run(pair, PROMPT, gamma=gamma)
        for gamma in (4.0, True, np.True_, None, "4", torch.tensor([4]), torch.ones(3, 3))
    },
    "no pair": lambda _, trace: hsd.rerun(None, trace),  # type: ignore[arg-type]
    "pair by name": lambda *_: hsd.run("tiny", PROMPT),  # type: ignore[arg-type]
    "no trace": lambda pair, _: hsd.rerun(pair, "trace"),  # type: ignore[arg-type]
    **{
        f"name {name!r}": lambda *_, name=name: load_pair(name)
        for name in (5, Path("tiny"), b"tiny", ["tiny"])
    },
    "a model as target": lambda pair, _: load_pair(target=pair.target, draft=pair.draft),  # type: ignore[arg-type]
    "bytes as target": lambda *_: load_pair(target=b"a", draft=b"b"),  # type: ignore[arg-type]
    "smaller": lambda *_: load_pair(target="a", draft="b", smaller=5),  # type: ignore[arg-type]
    "device": lambda *_: load_pair(target="a", draft="b", device=0),  # type: ignore[arg-type]
    "chat": lambda *_: load_pair("tiny", chat="yes"),  # type: ignore[arg-type]
    **{
        f"audit {given}": lambda *_, given=given: hsd.audit(**given)
        for given in (
            {"vocab": 3.0},
            {"vocab": None},
            {"gamma": True},
            {"seed": "a"},
            {"drafts": 0},
        )
    },
    "logits": lambda *_: law(ROWS.log()),
    "NaN": lambda *_: law(ROWS * torch.nan),
    "infinity": lambda *_: law(ROWS + torch.inf),
    "rows that sum to 1.1": lambda *_: law(ROWS * 1.1),
    "rows of the draft that sum to 0.9": lambda *_: law(q=ROWS[:2] * 0.9),
    "whole numbers": lambda *_: law(torch.eye(5)[:3].long()),
    "rows in a list": lambda *_: law(ROWS.tolist()),
    "rows of numpy": lambda *_: law(ROWS.numpy()),
    "no rows": lambda *_: law(None),
    "rows elsewhere": lambda *_: law(ROWS.to("meta")),
    "one row less": lambda *_: law(ROWS[:2]),
    "tokens in a list": lambda *_: law(tokens=[1, 2]),
    "tokens as floats": lambda *_: law(tokens=TOKENS.float()),
    "a token that is not there": lambda *_: law(tokens=TOKENS + 3),
    "a token below 0": lambda *_: law(tokens=TOKENS - 2),
    "kept as text": lambda *_: law().next("1"),
    "kept as a float": lambda *_: law().next(1.0),
    "coins in a list": lambda *_: law().kept([0.1, 0.2]),
    "too few coins": lambda *_: law().kept(torch.rand(1)),
    "knob": lambda *_: RULES["fuzzy"].tuned("much"),  # type: ignore[arg-type]
    "longest": lambda *_: plan(Models((1, 2), ((0.5,),)), longest=8.0),  # type: ignore[arg-type]
    "no models": lambda *_: plan("tiny"),  # type: ignore[arg-type]
    "costs as text": lambda *_: Models(("1", "2"), ((0.5,),)),  # type: ignore[arg-type]
    "no costs": lambda *_: Models(None, ((0.5,),)),  # type: ignore[arg-type]
    "acceptance as text": lambda *_: Models((1, 2), "0.5"),  # type: ignore[arg-type]
    **{
        f"JSON {text!r}": lambda *_, text=text: Trace.from_json(text)
        for text in (None, 5, {}, Path("a"))
    },
    **{
        f"file {file!r}": lambda *_, file=file: Trace.from_file(file)
        for file in (None, 5, b"a", "a\0b")
    },
    **{
        f"indent {indent!r}": lambda _, trace, indent=indent: trace.to_json(indent)
        for indent in ("x", 1.5, -1, 10**30)
    },
}


@for_each("name", REFUSED)
def test_what_cannot_be_taken_is_refused_in_one_line(name: str, pair: Pair, trace: Trace):
    with pytest.raises(HsdError) as caught:
        REFUSED[name](pair, trace)
    line = str(caught.value)
    assert "\n" not in line
    assert len(line) < 400
    assert ": " in line  # and then what to do


@for_each("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_rows_as_a_softmax_rounds_them_have_a_law(dtype: torch.dtype):
    logits = torch.randn(3, 50_000, generator=torch.Generator().manual_seed(1))
    rows = logits.to(dtype).softmax(-1)
    assert float(law(rows, rows[:2]).stop[-1]) == 1


def test_a_plan_takes_numbers_of_every_library():
    models = Models(np.array([1, 4, 12]), [np.array([0.8, 0.7]), torch.tensor([0.85])])  # type: ignore[arg-type]
    rounded = float(torch.tensor(0.85))
    same = Models((1, 4, 12), ((0.8, 0.7), (rounded,)))
    assert models == same
    assert plan(models, longest=np.int64(8)) == plan(same, longest=8)  # type: ignore[arg-type]
