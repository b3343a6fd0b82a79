"""Chat templates: applied where a model was tuned for them, with every special token once, and
shown in the trace.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_models import BEGIN, END, START, TEMPLATE, TURN_END, chat_tokenizer, save_pair
from table_models import table_pair

import hsd
from hsd import HsdError, Pair, load_pair

TURN = f"{BEGIN}{START}user\nHi there{TURN_END}\n{START}assistant\n"


def saved(folder: Path, template: str | None = TEMPLATE, end_ids: object = None) -> dict[str, str]:
    """Folders of a chat-tuned pair, by their names.

    end_ids: of the target's generation settings.
    """
    target, draft = save_pair(folder / "Small-Instruct", chat_tokenizer(template), (270, 264))
    target = str(Path(target).rename(folder / "Small-7B-Instruct"))
    settings = Path(target) / "generation_config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"eos_token_id": end_ids}))
    return {"target": target, "draft": draft, "device": "cpu"}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return saved(tmp_path_factory.mktemp("chat"), end_ids=[256])


@pytest.fixture(scope="module")
def pair(models: dict[str, str]) -> Pair:
    return load_pair(**models)


def shown(pair: Pair, prompt: str = "Hi there") -> str:
    return "".join(pair.codec.piece(token) for token in pair.encode(prompt))


def test_a_prompt_is_a_turn_in_the_template(pair: Pair):
    assert shown(pair) == TURN
    begin = pair.codec.tokenizer.convert_tokens_to_ids(BEGIN)
    assert pair.encode("Hi there").count(begin) == 1, "the template has it already"


def test_the_template_can_be_switched_off(models: dict[str, str]):
    raw = load_pair(**models, chat=False)
    assert shown(raw) == f"{BEGIN}Hi there", "what the tokenizer itself adds stays"
    assert shown(load_pair(**models, chat=True)) == TURN


def test_a_run_says_whether_its_prompt_is_a_question_or_a_text(pair: Pair, models: dict[str, str]):
    """On the same models, and with the ends that belong to it; the trace says it too, and is played
    again alike.
    """
    for prompt_as, chat in (("text", False), ("chat", True)):
        loaded = load_pair(**models, chat=chat)
        for other in (pair, load_pair(**models, chat=not chat)):
            decoding = hsd.decode(other, "Hi there", prompt_as=prompt_as, max_new_tokens=8, seed=2)
            assert decoding.system.pair.target is other.target, "nothing is loaded for it"
            assert decoding.system.pair.codec.end_ids == loaded.codec.end_ids
            found = hsd.run(other, "Hi there", prompt_as=prompt_as, max_new_tokens=8, seed=2)
            assert found.tokens == hsd.run(loaded, "Hi there", max_new_tokens=8, seed=2).tokens
            assert found.prompt.ids == loaded.encode("Hi there")
            assert found.setup.options.prompt_as == prompt_as
            assert hsd.rerun(other, found).tokens == found.tokens
    assert hsd.run(pair, "Hi there", max_new_tokens=8).setup.options.prompt_as == ""
    with pytest.raises(HsdError, match="unknown prompt_as 'poem': choose one of chat, text"):
        hsd.run(pair, "Hi", prompt_as="poem")


def test_a_pair_without_a_template_continues_texts_and_answers_nothing(byte_pair: Pair):
    for plain in (byte_pair, table_pair(vocab=6, seed=1)):
        prompt = "Hi" if plain is byte_pair else "abc"
        same = hsd.run(plain, prompt, prompt_as="text", max_new_tokens=8)
        assert same.tokens == hsd.run(plain, prompt, max_new_tokens=8).tokens
        with pytest.raises(HsdError, match="has no chat template: leave chat out"):
            hsd.run(plain, prompt, prompt_as="chat")


def test_a_tuned_model_without_a_template_gets_the_bare_prompt(tmp_path: Path):
    models = saved(tmp_path, template=None, end_ids=256)
    assert shown(load_pair(**models)) == f"{BEGIN}Hi there"
    with pytest.raises(HsdError, match="has no chat template: leave chat out"):
        load_pair(**models, chat=True)


def test_the_end_of_a_turn_ends_the_text(models: dict[str, str], pair: Pair, tmp_path: Path):
    """Named by the generation settings, or else by the tokenizer; without the template, only the
    settings count.
    """
    turn_end = pair.codec.tokenizer.convert_tokens_to_ids(TURN_END)
    assert pair.codec.end_ids == {256, turn_end}
    assert pair.codec.decode([256]) == "", "the end is not shown as text"
    assert pair.codec.tokenizer.convert_tokens_to_ids(END) == 256
    assert load_pair(**models, chat=False).codec.end_ids == {256}
    several = load_pair(**saved(tmp_path, end_ids=[256, 3]), chat=False)
    assert several.codec.end_ids == {256, 3}


def test_a_run_stops_at_the_end_of_a_turn(pair: Pair):
    ends = 0
    for seed in range(5):
        trace = hsd.run(
            pair, "Hi", gamma=3, max_new_tokens=60, temperature=1.5, seed=seed, trace=False
        )
        inner = trace.tokens[:-1] if trace.result.finish == "end" else trace.tokens
        assert not pair.codec.end_ids & set(inner)
        ends += trace.result.finish == "end"
    assert ends > 0


def test_the_trace_shows_the_template_and_keeps_the_prompt(pair: Pair):
    trace = hsd.run(pair, "Hi there", max_new_tokens=8, seed=2)
    assert trace.prompt.text == "Hi there"
    assert "".join(trace.prompt.pieces) == TURN
    assert trace.prompt.ids == pair.encode("Hi there")
    assert START not in trace.text
    assert trace.replay() == trace.tokens
    assert hsd.rerun(pair, trace).tokens == trace.tokens
    assert hsd.Trace.from_json(trace.to_json()) == trace


def test_an_empty_prompt_is_refused_with_a_template_too(pair: Pair):
    with pytest.raises(HsdError, match="prompt is empty"):
        pair.encode("  ")


def test_a_template_that_fails_is_one_line(tmp_path: Path):
    broken = load_pair(
        **saved(tmp_path, template="{{ raise_exception('system first\nand more') }}")
    )
    with pytest.raises(
        HsdError,
        match=r"the chat template fails \(system first\): have the prompt continued as text",
    ):
        broken.encode("Hi")


def test_the_embedded_pair_reads_prompts_as_they_are():
    tiny = load_pair("tiny")
    assert tiny.codec.decode(tiny.encode("Once upon")) == "Once upon"
