"""A head that drafts from the target's hidden states: against the library, by hand, and in use."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from joint_law import chi_square_p
from safetensors.torch import load_file, save_file
from small_models import bytes_tokenizer, save_architecture, save_head
from torch import Tensor
from tree_cases import TREE_CASES

import hsd
from hsd import RULES, HsdError, Pair, load_pair
from hsd.bench.prompts import prompt_set, shipped
from hsd.models.head import HeadSession
from hsd.models.loading import fetch

ROWS = 270
DRAFTED = [*range(32, 127), 256]  # printable characters and the end: 96 of the vocabulary
PROMPT = "Abc, de"
REAL = fetch.fetched_file("smollm2")  # every test has an empty home of its own
Folders = tuple[str, str, str]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Of a target, a head for it in the published layout, and one with the additions to it."""
    here = tmp_path_factory.mktemp("head")
    target, _ = save_architecture(here, "smollm2", bytes_tokenizer(), (ROWS, ROWS))
    return target, *(
        save_head(here / f"head{more}", target, DRAFTED, more=more) for more in (False, True)
    )


@pytest.fixture(scope="module", params=[1, 2], ids=["published", "additions"])
def pair(folders: Folders, request: pytest.FixtureRequest) -> Pair:
    """The published layout, and the additions to it."""
    return load_pair(target=folders[0], draft=folders[request.param], device="cpu", dtype="float32")


# The head


def test_the_head_is_its_published_arithmetic(pair: Pair, folders: Folders):
    """Written out here for one text: two tokens on what the target knows, then two on the head's
    own output.
    """
    folder = Path(folders[1 + (pair.draft.taps_norm is not None)])  # type: ignore[attr-defined]
    weights = {name: w.float() for name, w in load_file(folder / "model.safetensors").items()}
    target = pair.target.start()
    head = pair.draft.start()
    assert isinstance(head, HeadSession)
    head.follow(target)
    ids = torch.tensor([65, 66, 67, 68, 69])
    target.forward(ids[:2], 1)
    told = torch.cat(
        [head.forward(ids[:3], 1), head.forward(ids[3:4], 1), head.forward(ids[4:], 1)]
    )

    states = target.states  # type: ignore[attr-defined]
    if "taps_norm.weight" in weights:
        states = (
            states
            / (states.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
            * weights["taps_norm.weight"]
        )
    knew = torch.cat([torch.zeros(1, 2, 32), states]).flatten(1) @ weights["fc.weight"].T
    rows: list[Tensor] = []
    hidden = list(knew)
    keys = []
    values = []
    for place, token in enumerate(ids):
        x = hidden[place] if place < 3 else rows[-1]
        embedded = _rms(pair.target.embedding[token], weights["midlayer.input_layernorm.weight"])  # type: ignore[attr-defined]
        if "midlayer.token_proj.weight" in weights:
            x = x + weights["midlayer.token_proj.weight"] @ embedded
        pre = torch.cat([embedded, _rms(x, weights["midlayer.hidden_norm.weight"])])
        q, k, v = (weights[f"midlayer.self_attn.{name}_proj.weight"] @ pre for name in "qkv")
        keys.append(_turned(k.view(2, 8), place))
        values.append(v.view(2, 8))
        mixed = []
        for number, query in enumerate(_turned(q.view(4, 8), place)):
            group = number // 2
            scores = torch.stack([query @ key[group] for key in keys]) / 8**0.5
            mixed.append(scores.softmax(0) @ torch.stack([value[group] for value in values]))
        x = x + weights["midlayer.self_attn.o_proj.weight"] @ torch.cat(mixed)
        y = _rms(x, weights["midlayer.post_attention_layernorm.weight"])
        gate, up = (weights[f"midlayer.mlp.{name}_proj.weight"] @ y for name in ("gate", "up"))
        rows.append(x + weights["midlayer.mlp.down_proj.weight"] @ (F.silu(gate) * up))
    expected = torch.stack(
        [weights["lm_head.weight"] @ _rms(row, weights["norm.weight"]) for row in rows[2:]]
    )
    torch.testing.assert_close(told[:, DRAFTED], expected, rtol=2e-2, atol=2e-2)
    others = [token for token in range(ROWS) if token not in DRAFTED]
    assert (told[:, others] == -torch.inf).all()


def _rms(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.pow(2).mean() + 1e-6).sqrt() * weight


def _turned(heads: Tensor, place: int) -> Tensor:
    angles = place / 10000.0 ** (torch.arange(0, 8, 2) / 8)
    left = heads[:, :4]
    right = heads[:, 4:]
    return torch.cat(
        [left * angles.cos() - right * angles.sin(), right * angles.cos() + left * angles.sin()], 1
    )


def test_what_was_guessed_is_read_again_once_the_target_knows(pair: Pair):
    """After a rejection the head stands where it would stand had it never guessed."""
    fresh, used = (pair.draft.start() for _ in range(2))
    targets = [pair.target.start() for _ in range(2)]
    ids = torch.tensor([65, 66, 67, 68, 69, 70])
    for head, target in zip((fresh, used), targets, strict=True):
        assert isinstance(head, HeadSession)
        head.follow(target)
        target.forward(ids[:2], 1)
    used.forward(ids[:3], 1)
    for guessed in (90, 91, 92):
        used.forward(torch.tensor([guessed]), 1)
    used.crop(4)
    assert used.length == 3
    for target in targets:
        target.forward(ids[2:5], 1)
    torch.testing.assert_close(
        used.forward(ids[3:], 1), fresh.forward(ids, 1), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("kept", [[], [90]])
def test_a_draft_that_is_taken_up_again_goes_on_as_it_would_have(pair: Pair, kept: list[int]):
    """A rule that resamples needs q as drafting has it, whatever the target has read since."""
    text = torch.tensor([65, 66, 67])
    rows = []
    for drafted in ([90, 91, 92], kept):
        head = pair.draft.start()
        target = pair.target.start()
        assert isinstance(head, HeadSession)
        head.follow(target)
        target.forward(text[:2], 1)
        head.forward(text, 1)
        for guessed in drafted:
            head.forward(torch.tensor([guessed]), 1)
        if drafted != kept:
            target.forward(torch.tensor([67, *drafted]), 1)
            head.rewind(3 + len(kept))
        rows.append(head.forward(torch.tensor([95]), 1))
        head.crop(3)
        assert head.length == 3
    torch.testing.assert_close(*rows, rtol=1e-5, atol=1e-5)


# Rules read rows and no model: two of them quickly, all in the slow tests.
LOSSLESS = [name for name, rule in RULES.items() if rule.lossless]
FEW_RULES = ["hsd", "naive-hsd"]
FEW_TREES = [("recursive-hsd", "comb"), ("one-hot", "top")]


def test_greedy_text_equals_plain(pair: Pair):
    assert_plain_texts(pair, FEW_RULES)


@pytest.mark.slow
def test_greedy_text_equals_plain_by_every_rule(pair: Pair):
    assert_plain_texts(pair, LOSSLESS)


def assert_plain_texts(pair: Pair, rules: list[str]) -> None:
    options = {"temperature": 0.0, "max_new_tokens": 40}
    plain = hsd.run(pair, PROMPT, system="plain", **options).result.text
    texts = {
        rule: hsd.run(pair, PROMPT, rule=rule, gamma=3, **options).result.text for rule in rules
    }
    assert texts == dict.fromkeys(rules, plain)


def test_trees_of_a_head_write_the_plain_text(pair: Pair):
    assert_plain_trees(pair, FEW_TREES)


@pytest.mark.slow
def test_every_tree_of_a_head_writes_the_plain_text(pair: Pair):
    assert_plain_trees(pair, TREE_CASES)


def assert_plain_trees(pair: Pair, cases: list[tuple[str, str]]) -> None:
    options = {"temperature": 0.0, "max_new_tokens": 24}
    plain = hsd.run(pair, PROMPT, system="plain", **options).result.text
    texts = {
        (rule, tree): hsd.run(
            pair, PROMPT, rule=rule, tree=tree, drafts=3, gamma=3, **options
        ).result.text
        for rule, tree in cases
    }
    assert texts == dict.fromkeys(cases, plain)


def test_a_run_can_be_played_again(pair: Pair):
    trace = hsd.run(pair, PROMPT, rule="hsd", gamma=4, temperature=1.0, max_new_tokens=30, seed=3)
    again = hsd.rerun(pair, trace)
    assert [s.tokens for s in again.steps] == [s.tokens for s in trace.steps]
    drafted = {node.token for step in trace.steps for node in step.nodes}
    assert drafted <= set(DRAFTED)
    assert [model.drafted for model in trace.setup.models] == [len(DRAFTED), None]
    assert pair.draft.drafted == len(DRAFTED)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["tokenwise", "hsd"])
def test_two_tokens_follow_the_target(pair: Pair, rule: str):
    """Joint law of two tokens, reduced vocabulary included, by chi-square over 800 seeds."""
    asked = {"temperature": 0.6, "top_k": 4, "max_new_tokens": 2, "trace": False}
    counts = [
        Counter(
            tuple(
                t
                for step in hsd.run(pair, PROMPT, seed=seed, **asked, **how).steps
                for t in step.tokens
            )
            for seed in range(800)
        )
        for how in ({"rule": rule, "gamma": 2}, {"system": "plain"})
    ]
    law = {key: count / 800 for key, count in counts[1].items()}
    known = Counter({key: count for key, count in counts[0].items() if key in law})
    assert sum(known.values()) > 760
    assert chi_square_p(known, law) > 1e-6


# What cannot work, in one line


def test_a_head_of_another_target_is_refused(folders: Folders, tmp_path: Path):
    config = json.loads((Path(folders[1]) / "config.json").read_text())
    weights = load_file(Path(folders[1]) / "model.safetensors")
    wrong = {
        "hidden size is 64": {"hidden_size": 64},
        "it knows 900 tokens": {"vocab_size": 900},
        "after layers 0, 9": {"target_layers": [0, 9]},
    }
    for message, change in wrong.items():
        folder = tmp_path / message.replace(" ", "-")
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config | change))
        save_file(weights, folder / "model.safetensors")
        with pytest.raises(HsdError, match=message):
            load_pair(target=folders[0], draft=str(folder), device="cpu")


def test_a_head_that_cannot_be_read_is_one_line(folders: Folders, tmp_path: Path):
    for name, content in {
        "missing": None,
        "truncated": (Path(folders[1]) / "model.safetensors").read_bytes()[:500],
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text((Path(folders[1]) / "config.json").read_text())
        if content:
            (folder / "model.safetensors").write_bytes(content)
        with pytest.raises(HsdError, match="cannot load a head from") as raised:
            load_pair(target=folders[0], draft=str(folder), device="cpu")
        assert "\n" not in str(raised.value)


# The real pair, where this machine has it


@pytest.fixture(scope="module")
def real() -> Iterator[Pair]:
    if REAL is None:
        pytest.skip("python -m hsd fetch smollm2 has not been run here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fetch, "fetched_file", lambda name: REAL)
        yield load_pair("smollm2")


def test_the_real_pair_answers_paris_in_fewer_passes(real: Pair):
    asked = {"temperature": 0.0, "max_new_tokens": 24, "trace": False}
    question = "What is the capital of France?"
    plain, drafted = (
        hsd.run(real, question, **asked, **how) for how in ({"system": "plain"}, {"gamma": 3})
    )
    assert "Paris" in drafted.result.text
    assert drafted.tokens == plain.tokens
    assert len(drafted.steps) < 0.8 * len(plain.steps)


@pytest.mark.slow
def test_the_real_pair_writes_the_plain_text_and_replays(real: Pair):
    """Twenty prompts greedily; sampled ones are played again from their own record."""
    prompts = [text for texts in shipped().values() for text in texts][:20]
    for number, prompt in enumerate(prompts):
        asked = {"max_new_tokens": 32, "gamma": 3}
        plain = hsd.run(
            real, prompt, system="plain", temperature=0.0, max_new_tokens=32, trace=False
        )
        drafted = hsd.run(real, prompt, temperature=0.0, trace=False, **asked)
        assert drafted.tokens == plain.tokens
        sampled = hsd.run(real, prompt, temperature=0.7, seed=number, **asked)
        assert hsd.Trace.from_json(sampled.to_json()).replay() == sampled.tokens
        assert hsd.rerun(real, sampled).tokens == sampled.tokens


@pytest.mark.slow
def test_drafts_of_the_real_pair_write_the_plain_text_on_fifty_prompts(real: Pair):
    continued, asked = (prompt_set(name).prompts for name in ("shipped", "chat"))
    prompts = [
        *((text, "text") for text in continued),
        *((text, "chat") for text in (*asked, *continued[:6])),
    ]
    assert len(prompts) == 50
    grown = {"rule": "one-hot", "tree": "grown", "drafts": 3, "gamma": 3, "nodes": 8}
    for prompt, way in prompts:
        options = {"temperature": 0.0, "max_new_tokens": 32, "trace": False, "prompt_as": way}
        plain = hsd.run(real, prompt, system="plain", **options)
        for how in (grown, {"gamma": 2}, {"gamma": "auto"}):
            assert hsd.run(real, prompt, **options, **how).tokens == plain.tokens, (prompt, how)
