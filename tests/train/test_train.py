"""The training stages on made-up text and models of a few thousand weights."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hsd.errors import HsdError
from hsd.train.card import card_text
from hsd.train.checkpoint import model_from, path_of, read
from hsd.train.command import add_arguments, main
from hsd.train.corpus import (
    Source,
    format_problem,
    is_held_out,
    make_source,
    read_real,
    repair_quotes,
    split_stories,
    without_doctests,
)
from hsd.train.distill import sample_rows, write_distillation_corpus
from hsd.train.export import export_model
from hsd.train.measure import repeated_names
from hsd.train.mixture import Mixture, build_mixture, shares_of
from hsd.train.network import Shape, TargetLoss, build_model, hidden_states, logits_of
from hsd.train.optimiser import Optimiser, rate_factor
from hsd.train.tokenizer import END, common_names, load_tokenizer, train_tokenizer
from hsd.train.trainer import Job, train
from hsd.train.truecase import Truecaser

TINY = Shape(layers=2, width=32, heads=2, inner=64, exits=(1,))
STORIES = [
    f"Once upon a time, a little {animal} named {name} had {n} apples. One day, {name} lost them. {name} was sad."
    for n, (animal, name) in enumerate(
        [(a, b) for a in ("dog", "cat", "frog", "bear") for b in ("Lily", "Tim", "Ben", "Mia", "Sam")]
    )
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training folder with a tokenizer and an encoded corpus of made-up stories."""
    out = tmp_path_factory.mktemp("training")
    tokenizer = train_tokenizer(STORIES * 20, ["Lily", "Tim"])
    tokenizer.save_pretrained(out / "tokenizer")
    source = Source("stories", "generated", tuple(STORIES[:16]), tuple(STORIES[16:]))
    build_mixture(tokenizer, [source]).save(out / "corpus.npz")
    (out / "names.json").write_text(json.dumps(["Lily", "Tim"]))
    (out / "held_out.json").write_text(json.dumps({source.name: source.held_out}))
    return out


def job(out: Path, steps: int, **options) -> Job:
    settings = {"shape": TINY, "processes": 1, "compile": False, "bf16": False, "tokens_per_step": 128, "length": 32}
    return Job("target", out, steps, **(settings | options))


# --- text


def test_quotes_that_were_encoded_twice_become_plain_ones() -> None:
    damaged = "“I don’t know…” she said — once".encode().decode("cp1252", errors="ignore")
    assert repair_quotes(damaged) == '"I don\'t know..." she said - once'
    assert repair_quotes("“Hi”") == '"Hi"'


def test_truecasing_restores_sentence_starts_names_and_i() -> None:
    truecaser = Truecaser.learn(
        ['A girl saw Lily. She ran to Lily and said, "Hello, Lily! It is nice here."', "The dog ran with Lily."]
    )
    lower = 'one day, i met lily. "hello," said lily\'s friend. a cat named zuzu came. she liked zuzu.'
    wanted = 'One day, I met Lily. "Hello," said Lily\'s friend. A cat named Zuzu came. She liked Zuzu.'
    assert truecaser.apply(lower) == wanted


def test_stories_split_where_a_new_one_begins_and_keep_their_paragraphs() -> None:
    long = "Tim had a dog. " * 40
    text = f"{long.strip()}\nOnce upon a time, a cat sat.\n\nIt slept.\nThen it woke."
    assert split_stories(text) == [long.strip(), "Once upon a time, a cat sat.\n\nIt slept.\n\nThen it woke."]


def test_the_split_depends_on_the_document_alone_and_keeps_about_a_tenth() -> None:
    documents = [f"document {i}" for i in range(2000)]
    source = make_source("stories", "real", documents)
    assert set(source.train).isdisjoint(source.held_out)
    assert 0.07 < len(source.held_out) / len(documents) < 0.13
    assert all(is_held_out(d) for d in make_source("stories", "real", documents[::-1]).held_out)


def test_problems_lose_their_calculator_and_functions_their_doctests() -> None:
    assert format_problem("How many? ", "2+3 = <<2+3=5>>5\n#### 5") == "Question: How many?\nAnswer: 2+3 = 5\n#### 5"
    source = 'def f(x):\n    """Double x.\n\n    >>> f(2)\n    4\n    """\n    return 2 * x'
    assert without_doctests(source) == 'def f(x):\n    """Double x.\n    """\n    return 2 * x'


def test_a_missing_data_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(HsdError, match=r"tiny_stories\.txt"):
        read_real(tmp_path)


# --- tokens and batches


def test_the_tokenizer_gives_back_any_text_and_splits_digits(folder: Path) -> None:
    tokenizer = load_tokenizer(folder / "tokenizer")
    text = "Lily had 120 apples.\n\n    é 🙂 def f(x):\treturn x"
    ids = tokenizer(text)["input_ids"]
    assert ids[0] == tokenizer.bos_token_id == tokenizer.convert_tokens_to_ids(END)
    assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert {"1", "2", "0"} <= set(tokenizer.tokenize(text))
    assert len(tokenizer.encode(" Lily", add_special_tokens=False)) == 1


def test_common_names_leave_out_titles() -> None:
    assert common_names(["The boy saw Tim and Mom. Then I saw Tim."]) == ["Tim"]


def test_batches_depend_on_seed_and_step_only(folder: Path) -> None:
    mixture = Mixture.load(folder / "corpus.npz")
    first, names = mixture.batch(3, 7, rows=4, length=33)
    assert first.shape == (4, 33)
    assert names == ["stories/generated"] * 4
    assert torch.equal(first, mixture.batch(3, 7, rows=4, length=33)[0])
    assert not torch.equal(first, mixture.batch(3, 8, rows=4, length=33)[0])


def test_half_of_the_rows_are_stories_and_real_text_has_its_share() -> None:
    names = [f"{d}/{o}" for d in ("stories", "sums", "functions") for o in ("real", "generated")]
    shares = shares_of(names)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["stories/real"] + shares["stories/generated"] == pytest.approx(0.5)
    assert sum(shares[n] for n in names if n.endswith("real")) == pytest.approx(0.55)
    assert sum(shares_of(names[1::2]).values()) == pytest.approx(1.0)


# --- training


def test_a_step_lowers_the_loss() -> None:
    model = build_model(TINY, end_id=0, seed=0, vocabulary=300)
    loss, optimiser = TargetLoss(model, TINY.exits), Optimiser(model)
    ids = torch.randint(0, 300, (4, 17), generator=torch.Generator().manual_seed(0))
    values = []
    for _ in range(6):
        optimiser.zero()
        value, rows = loss(ids, torch.ones(1))
        value.backward()
        optimiser.step(1.0)
        values.append(rows.mean().item())
    assert values[-1] < values[0] - 0.05


def test_the_layers_written_out_give_the_library_s_logits() -> None:
    model = build_model(TINY, end_id=0, seed=1, vocabulary=300).eval()
    ids = torch.arange(20)[None]
    assert torch.allclose(logits_of(model, hidden_states(model, ids)[-1]), model(ids).logits, atol=1e-5)


def test_the_rate_rises_stays_and_falls() -> None:
    factors = [rate_factor(step, 1000) for step in range(1000)]
    assert factors[0] < 0.05
    assert set(factors[100:750]) == {1.0}
    assert factors[750:] == sorted(factors[750:], reverse=True)
    assert factors[-1] == pytest.approx(0.02)


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(folder: Path) -> None:
    train(job(folder, 12))
    whole = read(path_of(folder, "target"))["model"]
    train(job(folder, 12, until=6))
    assert read(path_of(folder, "target"))["step"] == 6
    train(job(folder, 12, resume=True))
    state = read(path_of(folder, "target"))
    assert state["step"] == 12
    assert all(torch.equal(state["model"][key], whole[key]) for key in whole)


def test_resuming_without_a_checkpoint_says_what_to_run(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HsdError, match="run `python -m hsd train draft"):
        read(path_of(tmp_path, "draft"))


def test_a_draft_is_distilled_from_text_that_the_target_sampled(folder: Path) -> None:
    train(job(folder, 4))
    write_distillation_corpus(folder, batches=1, seed=0, processes=1, length=33, shape=TINY)
    assert Mixture.load(folder / "distill.npz").shares["all/sampled"] == 0.5
    small = Shape(layers=1, width=16, heads=2, inner=32)
    options = {"shape": small, "teacher": "target", "teacher_shape": TINY, "corpus": "distill.npz"}
    settings = {"processes": 1, "compile": False, "bf16": False, "tokens_per_step": 128, "length": 32}
    train(Job("draft", folder, 3, **settings, **options))
    assert read(path_of(folder, "draft"))["step"] == 3


def test_sampled_rows_keep_their_openings_and_repeat_with_the_seed(folder: Path) -> None:
    train(job(folder, 2))
    model = model_from(folder, "target", TINY)
    openings = torch.tensor([[0, 5, 6], [0, 7, 8]])
    rows = sample_rows(model, openings, 12, seed=4)
    assert rows.shape == (2, 12)
    assert torch.equal(rows[:, :3], openings)
    assert torch.equal(rows, sample_rows(model, openings, 12, seed=4))


def test_an_exported_folder_loads_with_the_plain_library(folder: Path, tmp_path: Path) -> None:
    train(job(folder, 2))
    made = export_model(folder, "target", tmp_path, TINY)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(made), AutoTokenizer.from_pretrained(made)
    assert model.dtype == torch.bfloat16
    assert model.config.early_exits == [1]
    assert tokenizer("Hi")["input_ids"][0] == model.config.bos_token_id
    logits = model(**tokenizer("Once", return_tensors="pt")).logits
    assert logits.shape[-1] == len(tokenizer)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["target"]


def test_names_count_only_when_the_story_had_them_before(folder: Path) -> None:
    tokenizer = load_tokenizer(folder / "tokenizer")
    model = build_model(TINY, end_id=0, seed=0, vocabulary=len(tokenizer)).eval()
    stories = ["Lily met a dog. Then Lily and Tim ran.", "A dog met Tim."]
    score = repeated_names(model, tokenizer, stories, ["Lily", "Tim"])
    assert score.occurrences == 1
    assert 0 <= score.predicted <= score.right_name <= 1


# --- command and card


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["target", "--steps", "0"], "--steps 0"),
        (["tokenizer", "--processes", "0"], "--processes 0"),
        (["tokenizer", "--generated", "0"], "no text to train on"),
        (["tokenizer", "--generated", "-1"], "no text to train on"),
    ],
)
def test_bad_options_are_refused_in_one_line(words: list[str], message: str) -> None:
    with pytest.raises(HsdError, match=message):
        main(options(*words))


def test_a_stage_out_of_order_says_which_comes_first(tmp_path: Path) -> None:
    with pytest.raises(HsdError, match="run `python -m hsd train tokenizer"):
        main(options("target", "--out", str(tmp_path), "--processes", "1"))
    with pytest.raises(HsdError, match="run `python -m hsd train"):
        main(options("export", "--out", str(tmp_path)))


def test_the_card_repeats_the_measured_numbers() -> None:
    rate = {"block_efficiency": 2.5, "standard_error": 0.1, "tokens_per_second": 200.0}
    decoded = {"stories": {r: dict(rate) for r in ("tokenwise", "blockwise", "hsd", "plain")}}
    decoded["stories"]["hsd"]["block_efficiency"] = 3.0
    model = {"layers": 2, "width": 32, "heads": 2, "inner": 64, "parameters": 12_345, "exits": [1], "bytes": 2e6}
    model |= {"step": 700, "plain_steps": 650, "tokens": 3e6, "seconds": 120.0, "nats": {"stories/real": 2.34}}
    model |= {"exit_nats": {"1": {"stories/real": 3.45}}, "forward_ms": {"1": 0.5, "6": 0.75}}
    model["repeated_names"] = {"stories/real": {"occurrences": 77, "top_1": 0.5, "among_names": 0.81}}
    numbers = {
        "machine": {"processor": "abacus", "python": "3", "torch": "2", "transformers": "5"},
        "vocabulary": 2048,
        "models": {"target": model},
        "corpus": {"stories/real": {"documents": 4518, "tokens": 1_500_000, "share": 0.5}},
        "decoding": {"gamma": 5, "temperature": 1.0, "prompts": 9, "new_tokens": 64, "text": "real"},
        "sums": {"sums/real": {"right": 3, "of": 41}},
        "functions": {"right": 9, "of": 41},
        "samples": [{"seed": 4, "domain": "stories", "prompt": "Once", "text": " upon"}],
    }
    numbers["decoding"]["drafts"] = {"draft": decoded}
    card = card_text(numbers)
    for words in (
        "abacus",
        "12,345",
        "2.34",
        "3.45",
        "81%",
        "700 (650)",
        "3.00 ± 0.10",
        "+20.0%",
        "4,518",
        "3 of 41",
        "9 of 41",
        "Once upon",
        "1.0",
    ):
        assert words in card
