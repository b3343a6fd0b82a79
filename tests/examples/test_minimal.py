"""The idea in one file: it writes what the package writes, and is read in one go."""

from __future__ import annotations

from types import ModuleType

import pytest
from example_script import code_tokens, example_script
from transformers import AutoModelForCausalLM

import hsd
from hsd.paths import ROOT
from hsd.rng import Streams


@pytest.fixture(scope="module")
def minimal() -> ModuleType:
    return example_script("minimal")


@pytest.fixture(scope="module")
def models(minimal: ModuleType) -> list[object]:
    return [
        AutoModelForCausalLM.from_pretrained(minimal.TOYS / name, dtype="float32").eval()
        for name in ("target", "middle")
    ]


def test_it_is_read_in_one_go(minimal: ModuleType):
    file = ROOT / "examples" / "minimal.py"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert code_tokens(file) <= 1_200
    assert not [line for line in lines if "hsd import" in line or "import hsd" in line], (
        "torch and transformers alone"
    )


@pytest.mark.parametrize(("name", "rule"), [("vanilla", "tokenwise"), ("hsd", "hsd")])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_the_same_numbers_it_writes_the_tokens_of_the_package(
    minimal, models, name, rule, seed
):
    prompt = "Once upon a time"
    options = {"gamma": 4, "temperature": 0.7}
    run = hsd.run(hsd.load_pair("tiny"), prompt, rule=rule, seed=seed, max_new_tokens=40, **options)
    steps: list[tuple[list[int], int]] = []
    written = minimal.decode(
        *models,
        run.prompt.ids,
        getattr(minimal, name),
        Streams(seed),
        new_tokens=40,
        show=lambda tokens, kept, follows: steps.append((tokens, kept[name])),
        **options,
    )
    theirs = [([node.token for node in step.nodes], step.kept) for step in run.steps]
    whole = len(theirs) - 2  # the package's last drafts are no longer than what is left to write
    assert whole > 5
    assert steps[:whole] == theirs[:whole]
    told = [token.token for step in run.steps[:whole] for token in step.committed]
    assert written[: len(told)] == told


def test_the_script_runs_as_it_is(minimal, capsys):
    minimal.main()
    told = capsys.readouterr().out
    assert "vanilla keeps" in told
    assert "Once upon a time" in told
