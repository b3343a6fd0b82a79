"""Inside `transformers`' generate: the same tokens as hsd.run, and one clear line for what cannot
be done.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from example_script import example_script
from small_models import bytes_tokenizer, letters_tokenizer, save_architecture, save_head, save_pair

import hsd
from hsd import HsdError, Pair, load_pair
from hsd.paths import ASSETS

PROMPT = "Abc de"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    target, draft = save_pair(tmp_path_factory.mktemp("generate"), letters_tokenizer())
    return load_pair(target=target, draft=draft, device="cpu")


def generate(pair: Pair, **options: Any) -> Any:
    ids = torch.tensor([pair.encode(PROMPT)])
    made = {
        "max_new_tokens": 20,
        "do_sample": True,
        "top_k": 0,
        "assistant_model": getattr(pair.draft, "model", None),
        **options,
    }
    return pair.target.model.generate(ids, custom_generate=hsd.custom_generate, **made)


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "hsd", "gamma": 4, "seed": 3},
        {"rule": "tokenwise", "seed": 1, "temperature": 0.6, "top_p": 0.9},
        {"rule": "traversal", "drafts": 3, "seed": 2, "top_k": 7},
        {"rule": "one-hot", "drafts": 2, "tree": "top", "seed": 0},
    ],
)
def test_the_tokens_are_those_of_run(pair: Pair, options: dict[str, Any]):
    trace = hsd.run(pair, PROMPT, max_new_tokens=20, **options)
    assert generate(pair, **options)[0].tolist() == pair.encode(PROMPT) + trace.tokens


def test_without_a_seed_texts_differ_and_torch_decides(pair: Pair):
    texts = {tuple(generate(pair)[0].tolist()) for _ in range(8)}
    assert len(texts) == 8
    seeded = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        seeded.append(generate(pair)[0].tolist())
    assert seeded[0] == seeded[2] != seeded[1]


def test_a_greedy_or_seeded_call_leaves_the_generator_of_torch_alone(pair: Pair):
    before = torch.get_rng_state()
    generate(pair, seed=3)
    generate(pair, do_sample=False, top_k=None)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_sampling_it_is_greedy(pair: Pair):
    plain = hsd.run(pair, PROMPT, system="plain", temperature=0, max_new_tokens=20)
    assert (
        generate(pair, do_sample=False, top_k=None)[0, -len(plain.tokens) :].tolist()
        == plain.tokens
    )


def test_the_draft_can_also_be_named_directly(pair: Pair):
    with_name = generate(pair, assistant_model=None, draft_model=pair.draft.model, seed=5)
    assert with_name.tolist() == generate(pair, seed=5).tolist()


def test_the_draft_can_be_a_head_of_the_model(tmp_path: Path):
    tokenizer = bytes_tokenizer()
    target, _ = save_architecture(tmp_path, "smollm2", tokenizer, (len(tokenizer),) * 2)
    head = save_head(tmp_path / "head", target, [*range(32, 127), 256])
    pair = load_pair(target=target, draft=head, device="cpu")
    for draft in (head, Path(head)):
        made = generate(pair, assistant_model=None, draft_model=draft, seed=5, gamma=3)
        assert (
            made[0].tolist()
            == pair.encode(PROMPT)
            + hsd.run(pair, PROMPT, max_new_tokens=20, seed=5, gamma=3).tokens
        )


def test_the_text_can_draft_by_itself(pair: Pair):
    options = {"proposer": "ngram", "seed": 5}
    trace = hsd.run(pair, PROMPT, max_new_tokens=20, **options)
    assert (
        generate(pair, assistant_model=None, **options)[0].tolist()
        == pair.encode(PROMPT) + trace.tokens
    )


def test_a_streamer_gets_every_new_token(pair: Pair):
    class Collector:
        def __init__(self) -> None:
            self.tokens: list[int] = []
            self.ended = False

        def put(self, value: torch.Tensor) -> None:
            self.tokens += value.flatten().tolist()

        def end(self) -> None:
            self.ended = True

    collector = Collector()
    output = generate(pair, streamer=collector, seed=4)
    assert collector.tokens == output[0].tolist()  # generate itself hands on the prompt first
    assert collector.ended


def test_a_dictionary_is_returned_where_one_is_asked_for(pair: Pair):
    assert (
        generate(pair, return_dict_in_generate=True, seed=5).sequences.tolist()
        == generate(pair, seed=5).tolist()
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"assistant_model": None}, "no draft model: pass assistant_model"),
        ({"repetition_penalty": 1.3}, "repetition_penalty 1.3 is not supported"),
        ({"rule": "best"}, "unknown rule 'best'"),
        ({"gamma": 0}, "gamma 0: choose a whole number"),
        (
            {"assistant_model": None, "draft_model": str(ASSETS / "tiny" / "draft")},
            "is no head: load a draft model",
        ),
        ({"assistant_model": None, "draft_model": "nowhere/at all"}, "nowhere/at all"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(pair: Pair, options: dict[str, Any], words: str):
    with pytest.raises(HsdError, match=words):
        generate(pair, **options)


def test_several_texts_at_once_are_refused(pair: Pair):
    ids = torch.tensor([pair.encode(PROMPT)] * 2)
    with pytest.raises(HsdError, match="2 texts at once"):
        pair.target.model.generate(
            ids, custom_generate=hsd.custom_generate, assistant_model=pair.draft.model
        )


@pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)
def test_the_example_runs_and_gives_the_same_tokens(capsys: pytest.CaptureFixture[str]):
    example_script("generate").main()
    assert "the same tokens as hsd.run: True" in capsys.readouterr().out


def test_padding_is_not_read(pair: Pair):
    ids = pair.encode(PROMPT)
    padded = torch.tensor([[5, 5, 5, *ids]])
    mask = torch.tensor([[0, 0, 0, *[1] * len(ids)]])
    options = {
        "max_new_tokens": 20,
        "do_sample": True,
        "top_k": 0,
        "assistant_model": pair.draft.model,
        "seed": 4,
    }
    made = pair.target.model.generate(
        padded, attention_mask=mask, custom_generate=hsd.custom_generate, **options
    )
    assert made[0].tolist() == [5, 5, 5, *generate(pair, seed=4)[0].tolist()]
    with pytest.raises(HsdError, match="1 for those to read"):
        hsd.generate._read(padded, {"attention_mask": mask[:, 1:]})
