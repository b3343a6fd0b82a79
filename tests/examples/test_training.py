"""The training example, examples/reproduce/tiny, on made-up text and models of a few thousand
weights.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tiny.corpus import (
    Texts,
    format_problem,
    opening,
    read,
    repair_quotes,
    split_stories,
    without_doctests,
)
from tiny.distill import sample_rows
from tiny.network import SHAPES, Shape, TargetLoss, build_model, hidden_states, logits_of
from tiny.tokens import END, Corpus, common_names, load_tokenizer, prepare
from tiny.train import main
from tiny.training import Job, Optimiser, model_from, rate_factor, saved, train
from tiny.truecase import Truecaser
from transformers import AutoModelForCausalLM, AutoTokenizer

import hsd
from hsd.errors import HsdError

TINY = Shape(layers=2, width=32, heads=2, inner=64, exits=(1,))
SMALLER = Shape(layers=1, width=16, heads=2, inner=32)
STORIES = [
    f"Once upon a time, a little {animal} named {name} had {n} apples. One day, {name} lost them. "
    f"{name} was sad."
    for n, (animal, name) in enumerate(
        [
            (a, b)
            for a in ("dog", "cat", "frog", "bear")
            for b in ("Lily", "Tim", "Ben", "Mia", "Sam")
        ]
    )
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """All models have a few thousand weights."""
    for name in SHAPES:
        monkeypatch.setitem(SHAPES, name, TINY if name == "target" else SMALLER)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training folder with a tokenizer and an encoded corpus of made-up stories."""
    out = tmp_path_factory.mktemp("training")
    one = Texts(tuple(STORIES[:16]), tuple(STORIES[16:]))
    prepare(out, {"stories": one, "sums": one, "functions": one})
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder of the layout that examples/reproduce/tiny/corpus.py describes."""
    folder = tmp_path_factory.mktemp("data")
    problems = (
        {"question": f"{n} + 1?", "answer": f"<<{n}+1={n + 1}>>{n + 1}\n#### {n + 1}"}
        for n in range(60)
    )
    functions = (
        {"source": f'def f{n}(x):\n    """Add {n} to x."""\n    return x + {n}'} for n in range(60)
    )
    files = {
        "tinystories_cased/tiny_stories.txt": END.join(
            f"{story} It was day {n}." for story in STORIES for n in range(4)
        ),
        "gsm8k/train.jsonl": "\n".join(json.dumps(row) for row in problems),
        "thealgorithms_python/functions.jsonl": "\n".join(json.dumps(row) for row in functions),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(text, "utf-8")
    return folder


def job(out: Path, steps: int, **options) -> Job:
    settings = {"processes": 1, "compile": False, "tokens_per_step": 128, "length": 32}
    return Job("target", out, steps, **(settings | options))


# --- text


def test_quotes_that_were_encoded_twice_become_plain_ones() -> None:
    damaged = "“I don’t know…” she said — once".encode().decode("cp1252", errors="ignore")
    assert repair_quotes(damaged) == '"I don\'t know..." she said - once'
    assert repair_quotes("“Hi”") == '"Hi"'


def test_truecasing_restores_sentence_starts_names_and_i() -> None:
    truecaser = Truecaser.learn(
        [
            'A girl saw Lily. She ran to Lily and said, "Hello, Lily! It is nice here."',
            "The dog ran with Lily.",
        ]
    )
    lower = (
        'one day, i met lily. "hello," said lily\'s friend. a cat named zuzu came. she liked zuzu.'
    )
    wanted = (
        'One day, I met Lily. "Hello," said Lily\'s friend. A cat named Zuzu came. She liked Zuzu.'
    )
    assert truecaser.apply(lower) == wanted


def test_stories_split_where_a_new_one_begins_and_keep_their_paragraphs() -> None:
    long = "Tim had a dog. " * 40
    text = f"{long.strip()}\nOnce upon a time, a cat sat.\n\nIt slept.\nThen it woke."
    assert split_stories(text) == [
        long.strip(),
        "Once upon a time, a cat sat.\n\nIt slept.\n\nThen it woke.",
    ]


def test_published_stories_are_split_at_their_marks() -> None:
    assert split_stories(f"One.\nTwo.\n{END}\nThree.\n{END}\n") == ["One.\nTwo.", "Three."]


def test_the_split_depends_on_the_document_alone_and_keeps_about_a_tenth() -> None:
    documents = [f"document {i}" for i in range(2000)]
    texts = Texts.split(documents)
    assert set(texts.train).isdisjoint(texts.held_out)
    assert 0.07 < len(texts.held_out) / len(documents) < 0.13
    assert set(Texts.split(documents[::-1]).held_out) == set(texts.held_out)


def test_openings_end_where_a_model_can_go_on() -> None:
    assert opening("stories", "One. Two.\nThree. Four.") == "One. Two."
    assert (
        opening("sums", "Question: How many?\nAnswer: 2\n#### 2") == "Question: How many?\nAnswer:"
    )
    assert (
        opening("functions", 'def f():\n    """Do."""\n    return 1') == 'def f():\n    """Do."""'
    )


def test_problems_lose_their_calculator_and_functions_their_doctests() -> None:
    assert (
        format_problem("How many? ", "2+3 = <<2+3=5>>5\n#### 5")
        == "Question: How many?\nAnswer: 2+3 = 5\n#### 5"
    )
    source = 'def f(x):\n    """Double x.\n\n    >>> f(2)\n    4\n    """\n    return 2 * x'
    assert without_doctests(source) == 'def f(x):\n    """Double x.\n    """\n    return 2 * x'


def test_a_missing_data_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(HsdError, match=r"tiny_stories\.txt"):
        read(tmp_path)


# --- tokens and batches


def test_the_tokenizer_gives_back_any_text_and_splits_digits(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    text = "Lily had 120 apples.\n\n    é 🙂 def f(x):\treturn x"
    ids = tokenizer(text)["input_ids"]
    assert ids[0] == tokenizer.bos_token_id == tokenizer.convert_tokens_to_ids(END)
    assert tokenizer.decode(ids, skip_special_tokens=True) == text
    assert {"1", "2", "0"} <= set(tokenizer.tokenize(text))
    assert len(tokenizer.encode(" Lily", add_special_tokens=False)) == 1


def test_common_names_leave_out_titles() -> None:
    assert common_names(["The boy saw Tim and Mom. Then I saw Tim."]) == ["Tim"]


def test_batches_depend_on_seed_and_step_only(folder: Path) -> None:
    corpus = Corpus.load(folder / "corpus.npz")
    first = corpus.batch(3, 7, rows=4, length=33)
    assert first.shape == (4, 33)
    assert torch.equal(first, corpus.batch(3, 7, rows=4, length=33))
    assert not torch.equal(first, corpus.batch(3, 8, rows=4, length=33))
    assert sum(corpus.shares.values()) == pytest.approx(1.0)


# --- training


def test_a_step_lowers_the_loss() -> None:
    model = build_model(TINY, end_id=0, seed=0, vocabulary=300)
    loss = TargetLoss(model, TINY.exits)
    optimiser = Optimiser(model)
    ids = torch.randint(0, 300, (4, 17), generator=torch.Generator().manual_seed(0))
    values = []
    for _ in range(6):
        optimiser.gradient.zero_()
        value, nats = loss(ids, torch.ones(1))
        value.backward()
        optimiser.step(1.0)
        values.append(nats.item())
    assert values[-1] < values[0] - 0.05


def test_the_layers_written_out_give_the_library_s_logits() -> None:
    model = build_model(TINY, end_id=0, seed=1, vocabulary=300).eval()
    ids = torch.arange(20)[None]
    assert torch.allclose(
        logits_of(model, hidden_states(model, ids)[-1]), model(ids).logits, atol=1e-5
    )


def test_the_rate_rises_stays_and_falls() -> None:
    factors = [rate_factor(step, 1000) for step in range(1000)]
    assert factors[0] < 0.05
    assert set(factors[100:750]) == {1.0}
    assert factors[750:] == sorted(factors[750:], reverse=True)
    assert factors[-1] == pytest.approx(0.02)


def test_a_resumed_run_ends_with_the_weights_of_an_uninterrupted_one(folder: Path) -> None:
    train(job(folder, 12))
    whole = saved(folder, "target")["model"]
    train(job(folder, 12, until=6))
    assert saved(folder, "target")["step"] == 6
    train(job(folder, 12, resume=True))
    state = saved(folder, "target")
    assert state["step"] == 12
    assert all(torch.equal(state["model"][key], whole[key]) for key in whole)


def test_sampled_rows_keep_their_openings_and_repeat_with_the_seed(folder: Path) -> None:
    train(job(folder, 2))
    model = model_from(folder, "target")
    openings = torch.tensor([[0, 5, 6], [0, 7, 8]])
    rows = sample_rows(model, openings, 12, seed=4)
    assert rows.shape == (2, 12)
    assert torch.equal(rows[:, :3], openings)
    assert torch.equal(rows, sample_rows(model, openings, 12, seed=4))


# --- all stages


@pytest.mark.slow
def test_all_stages_make_models_that_load_and_decode_and_a_card(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["all", "--data", str(data), "--out", str(out), "--quick", "--processes", "1"]) == 0
    assert saved(out, "draft")["step"] == 20
    assert saved(out, "draft")["plain_steps"] == 5
    assert Corpus.load(out / "distill.npz").shares["sampled"] == 0.5

    models = out / "models"
    model, tokenizer = (
        kind.from_pretrained(models / "target") for kind in (AutoModelForCausalLM, AutoTokenizer)
    )
    assert model.dtype == torch.bfloat16
    assert model.config.early_exits == [1]
    assert tokenizer("Hi")["input_ids"][0] == model.config.bos_token_id
    pair = hsd.load_pair(
        target=str(models / "target"), draft=str(models / "middle"), device="cpu", dtype="float32"
    )
    assert hsd.run(pair, "Once", max_new_tokens=4).tokens

    card = (models / "README.md").read_text("utf-8")
    assert f"{model.num_parameters():,}" in card
    assert "20 (5)" in card
    assert "target, exit after 1" in card
    assert card.count("| middle |") == 1 + 1 + 3  # models, losses, three domains


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["text"], "give --data"),
        (["target", "--processes", "1"], "run the stage `text` first"),
        (["export"], "run the stage `target` first"),
    ],
)
def test_what_is_missing_is_one_line(
    words: list[str], message: str, tmp_path: Path, capsys
) -> None:
    assert main([*words, "--out", str(tmp_path)]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("train: ")
    assert message in last
