"""A server beside ours: what it tells is counted, what it does not tell stays empty, and no trouble
of it loses a run.

The server is one of our own making, which answers as vLLM and llama.cpp do.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from recorded_server import VLLM, Fake
from table_models import table_pair

from hsd import HsdError, figures, http_client
from hsd.bench import Record, measurements
from hsd.bench.measure import Case
from hsd.bench.report import read
from hsd.bench.server import NOTE, connect
from hsd.bench.view import view
from hsd.cli import main
from hsd.http_client import read_counters
from hsd.paths import ASSETS, ROOT

PAIR = table_pair(vocab=5, order=2, seed=4)
OPTIONS = {"max_new_tokens": 12, "temperature": 0.7}
needs_pair = pytest.mark.skipif(
    not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there"
)


def answer(fake: Fake, pair: Any = PAIR, timeout: float = 600, **options: Any) -> Record:
    """The record of one answer of a server that was just reached."""
    case = replace(connect(fake.url), timeout=timeout).case({**OPTIONS, **options})
    assert case.runner
    return case.runner(pair, "Once", 17)


def measured(record: Record) -> Any:
    """The measurement of that record."""
    place = {"case": "server", "prompt": 0, "repetition": 1, "seed": 0}
    return measurements([Case("server", OPTIONS, lambda *_: {})], [{**place, **record}])[0]


def test_the_prompt_is_sent_as_it_is_with_nothing_that_is_off(fake: Fake):
    record = answer(fake)
    path, body = fake.asked[0]
    assert path == "/v1/completions"
    assert (body["prompt"], body["max_tokens"], body["seed"], body["temperature"]) == (
        "Once",
        12,
        17,
        0.7,
    )
    assert set(body) == {"model", "prompt", "max_tokens", "seed", "temperature"}
    assert record["new_tokens"] == 11
    assert record["seconds"] > 0
    answer(fake, temperature=0.0)
    answer(fake, top_p=1.0, top_k=0)
    assert not {"top_p", "top_k", "min_p"} & {*fake.asked[1][1], *fake.asked[2][1]}
    answer(fake, top_p=0.5)
    assert (fake.asked[3][1]["top_p"], "top_k" in fake.asked[3][1]) == (0.5, False)


KEY = "sk-abc-123"


def test_a_key_is_sent_and_shown_nowhere(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    fake.key = KEY
    assert bench(fake, tmp_path / "a.jsonl", "--server-key", KEY, "--json") == 0
    shown = capsys.readouterr()
    assert fake.asked
    assert KEY not in shown.out + shown.err + (tmp_path / "a.jsonl").read_text()
    assert KEY not in repr(connect(fake.url, key=KEY))


def test_a_key_of_the_environment_is_taken(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake.key = KEY
    monkeypatch.setenv("HSD_SERVER_KEY", f"{KEY}\n")
    assert bench(fake, tmp_path / "a.jsonl") == 0
    # an app's lane leads where a visitor likes: it sends none
    with pytest.raises(HsdError, match="HTTP 401"):
        connect(fake.url)


@pytest.mark.parametrize("key", ["", "wrong-key"])
def test_a_server_that_wants_a_key_says_how_to_give_one(fake: Fake, key: str):
    fake.key = KEY
    with pytest.raises(
        HsdError, match=r"HTTP 401: .*: give a key .* by --server-key or HSD_SERVER_KEY$"
    ) as told:
        connect(fake.url, key=key)
    assert "wrong-key" not in str(told.value), "the server repeats it"


@pytest.mark.parametrize("key", ["a b", "a\nb", "schlüssel", "a\r\nHost: elsewhere"])
def test_a_key_that_no_header_can_have_is_refused_without_being_shown(fake: Fake, key: str):
    with pytest.raises(
        HsdError, match="server-key: it has a space, or a character that no key has"
    ) as told:
        connect(fake.url, key=key)
    assert key not in str(told.value)


def test_a_key_without_a_server_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--server-key", KEY]) == 2
    assert (
        capsys.readouterr().err
        == "hsd: --server-key is for --server URL: choose it, or leave the option out\n"
    )


def test_a_chat_tuned_pairs_prompt_is_a_message(fake: Fake):
    answer(fake, SimpleNamespace(codec=SimpleNamespace(chat=True)))
    path, body = fake.asked[0]
    assert (path, body["messages"]) == (
        "/v1/chat/completions",
        [{"role": "user", "content": "Once"}],
    )


@pytest.mark.parametrize(
    ("tuned", "prompt_as", "path"),
    [(True, "text", "completions"), (False, "chat", "chat/completions")],
)
def test_how_a_prompt_is_meant_is_the_runs_choice(
    fake: Fake, tuned: bool, prompt_as: str, path: str
):
    answer(
        fake,
        SimpleNamespace(codec=SimpleNamespace(chat=tuned)),
        prompt_as=prompt_as,
        top_p=0.9,
        top_k=5,
    )
    assert fake.asked[0][0] == f"/v1/{path}"
    assert (fake.asked[0][1]["top_p"], fake.asked[0][1]["top_k"]) == (0.9, 5)


@pytest.mark.parametrize("histogram", [[1, 1, 0, 2], {"0": 1, "1": 1, "3": 2}])
def test_what_vllm_tells_of_a_request_is_counted(fake: Fake, histogram: Any):
    fake.told = {"metrics": {"speculative_decoding": {**VLLM, "acceptance_histogram": histogram}}}
    found = measured(answer(fake))
    assert found.acceptance_length()[0] == VLLM["mean_acceptance_length"]
    assert found.acceptance_rate()[0] == pytest.approx(7 / 12)
    assert found.acceptance_rate_per_position() == [0.75, 0.5, 0.5]


def test_vllms_counters_are_read_before_and_after(fake: Fake):
    fake.counters = True
    found = measured(answer(fake))
    assert found.acceptance_length()[0] == 2.75
    assert found.acceptance_rate()[0] == pytest.approx(7 / 12)
    assert found.acceptance_rate_per_position() == [0.75, 0.5, 0.5]


def test_counters_with_labels_without_end_take_no_longer(monkeypatch: pytest.MonkeyPatch):
    """By a pattern that goes back over them 100 kB took a second, and 16 MB hours."""
    hostile = (
        f"vllm:spec_decode_num_drafts{{{'position=' * 200_000}\n"
        'vllm:spec_decode_num_drafts{a="b"} 3\n'
    )
    monkeypatch.setattr(http_client, "bytes_of", lambda *_, **__: hostile.encode())
    assert read_counters("http://localhost:8000", "") == {"drafts": 3}


def test_llama_cpp_tells_no_number_of_drafts_so_there_is_no_al(fake: Fake):
    fake.told = {"timings": {"predicted_n": 11, "draft_n": 20, "draft_n_accepted": 5}}
    record = answer(fake)
    assert measured(record).acceptance_rate()[0] == 0.25
    assert not record["drafts"]
    fake.told["timings"]["draft_rounds"] = 5
    assert measured(answer(fake)).acceptance_length()[0] == 2


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"metrics": None},
        {"timings": {"predicted_n": 11}},
        {"metrics": {"speculative_decoding": {}}},
    ],
)
def test_a_server_that_tells_nothing_of_drafts_has_time_and_tokens(fake: Fake, told: Record):
    fake.told = told
    assert set(answer(fake)) == {"new_tokens", "seconds", "calls"}


def test_tokens_are_those_of_timings_where_there_is_no_usage(fake: Fake):
    fake.told = {"usage": None, "timings": {"predicted_n": 9}}
    assert answer(fake)["new_tokens"] == 9


# Trouble


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        ("html", "does not answer with a JSON object: give the base URL"),
        ("refused", "answers with HTTP 400: The prompt is too long$"),
        ("excused", "answers with an error: The model is loading$"),
        ("flawed", "answers with an error: no such model$"),
        ("broken", "answers with HTTP 500: xxx"),
        ("cut", "stopped in the middle of its answer"),
        ("closed", "stopped in the middle of its answer|cannot reach"),
        ("elsewhere", "sends elsewhere .HTTP 307., which is not followed"),
        ("silent", "has not answered within 0.5 s"),
        ("dripping", "has not answered within 0.5 s"),
        ("uncounted", "does not report how many tokens it made"),
        ("impossible", "more accepted than drafted"),
    ],
)
def test_every_trouble_is_one_line_within_the_time(fake: Fake, trouble: str, words: str):
    fake.answers = 0
    fake.trouble = trouble
    with pytest.raises(HsdError, match=words) as error:
        answer(fake, timeout=0.5 if "0.5 s" in words else 600)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("localhost:8000", "give a base URL"),
        ("file:///etc/passwd", "give a base URL"),
        ("http://me:secret@host", "give a base URL without a password"),
        ("http://host:99999", "give a base URL"),
        ("http://a b", "give a base URL"),
        ("http://127.0.0.1:9", "cannot reach http://127.0.0.1:9"),
    ],
)
def test_a_url_that_leads_nowhere_is_one_line(url: str, words: str):
    with pytest.raises(HsdError, match=words) as error:
        connect(url, timeout=600)
    assert "\n" not in str(error.value)


def test_the_model_is_the_only_one_or_the_one_that_is_named(fake: Fake):
    assert connect(fake.url + "/v1/").model == "one"
    fake.models = ["one", "two"]
    with pytest.raises(HsdError, match="has several models: name one of them: one, two"):
        connect(fake.url)
    assert connect(fake.url, "two").model == "two"
    with pytest.raises(HsdError, match="has no model 'three': choose one, two"):
        connect(fake.url, "three")
    for models in ([], ["", " "]):
        fake.models = models
        with pytest.raises(HsdError, match="names no model"):
            connect(fake.url)
    # a socket takes none of the last three
    for seconds in (0, -1, float("nan"), float("inf"), 1e300):
        with pytest.raises(HsdError, match=r"server-timeout .*: choose more than 0 seconds"):
            connect(fake.url, timeout=seconds)


# The command


def bench(fake: Fake, out: Path, *words: str) -> int:
    short = [
        "--limit",
        "2",
        "--repetitions",
        "2",
        "--max-new-tokens",
        "8",
        "--rules",
        "hsd",
        "--gamma",
        "2",
    ]
    return main(
        [
            "bench",
            *short,
            "--server",
            fake.url,
            "--server-timeout",
            "600",
            "--out",
            str(out),
            *words,
        ]
    )


@needs_pair
def test_a_server_is_a_row_that_says_what_it_is(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    fake.told = {"metrics": {"speculative_decoding": VLLM}}
    out = tmp_path / "b.jsonl"
    assert bench(fake, out) == 0
    printed = capsys.readouterr().out
    assert f"server one at {fake.url}: {NOTE}" in printed
    assert main(["bench", "--report", str(out)]) == 0
    assert capsys.readouterr().out == printed
    row = read(out).rows()[-1]
    assert row["case"] == "server, one"
    assert row["acceptance_length"] == (2.75, 2.75, 2.75)
    # its passes are not told, and its target may be another
    assert not {"block_efficiency", "speedup"} & set(row)
    assert len(fake.asked) == 2 * 3  # each prompt once to warm up, twice to count
    page = view(read(out))
    assert f"server one at {fake.url}: {NOTE}" in page["facts"]
    assert (
        page["rows"][-1][[title for title, _ in page["columns"]].index("acceptance length")]
        == "2.75 (2.75–2.75)"
    )
    line = list(csv.DictReader(io.StringIO(page["csv"])))[-1]
    assert (line["acceptance_length"], line["block_efficiency"]) == ("2.75", "")
    assert len(figures.acceptance_rate_per_position(read(out).rows())["data"]) == 1  # ours alone


@needs_pair
def test_what_was_measured_before_a_server_fails_is_kept_and_shown(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    fake.answers = 5
    fake.trouble = "cut"  # the last answer of the second repetition
    out = tmp_path / "b.jsonl"
    assert bench(fake, out) == 1
    told = capsys.readouterr()
    assert "stopped early; 11 runs are kept in" in told.err
    assert "stopped in the middle of its answer" in told.err
    assert "| server, one |" in told.out
    assert len(read(out).records) == 11


@needs_pair
def test_a_server_that_never_answers_is_one_line_and_status_2(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    fake.answers = 0
    fake.trouble = "refused"
    assert bench(fake, tmp_path / "b.jsonl") == 2
    assert "HTTP 400: The prompt is too long" in capsys.readouterr().err.strip().splitlines()[-1]
    assert bench(fake, tmp_path / "b.jsonl", "--server-model", "other") == 2
    assert "has no model 'other': choose one" in capsys.readouterr().err


def test_a_model_of_no_server_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--server-model", "one"]) == 2
    assert "--server-model is for --server" in capsys.readouterr().err


def test_the_page_has_no_way_to_a_server():
    """A Space's visitors reach `hsd.app`, which asks no server for them."""
    folder = ROOT / "hsd"
    texts = {
        file.relative_to(folder).as_posix(): file.read_text(encoding="utf-8")
        for file in folder.rglob("*.py")
    }
    users = sorted(
        name for name, text in texts.items() if "bench.server import" in text and "connect" in text
    )
    assert users == ["cli/bench.py", "cli/estimate.py"]
    app = "".join(text for name, text in texts.items() if name.startswith("app/"))
    assert "cli.bench" not in app
    assert "bench.server" not in app
    assert "score_servers" not in app
    assert "http_client" not in app


# ---- several requests at once


def concurrent(fake: Fake, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["bench", "--server", fake.url, "--prompts", "stories", "--limit", "2", *words])
    return status, *capsys.readouterr()


def test_several_requests_are_in_flight_at_once(fake: Fake, capsys: pytest.CaptureFixture[str]):
    fake.counters = True
    status, out, _ = concurrent(
        fake, capsys, "--concurrency", "1,3", "--plain-server", fake.url, "--json"
    )
    assert status == 0
    one, three = json.loads(out)["loads"]
    assert (one["requests"], three["requests"]) == (1, 3)
    for load in (one, three):
        assert load["per_pass"] == 1 + 7 / 4  # of 4 drafts 7 tokens are kept
        assert load["times_plain"] == pytest.approx(load["tokens_per_second"] / load["plain"])
        assert load["step"] == pytest.approx(load["per_pass"] / load["times_plain"])
    # what warms up, and twice as many as in flight of both servers, at least the prompts
    assert len(fake.asked) == 1 + 2 * 2 + 2 * 6
    status, out, _ = concurrent(fake, capsys, "--concurrency", "2")
    assert status == 0
    assert "requests  tokens/s" in out


@pytest.mark.parametrize("counts", ["0", "x", "1,,y", "5000", ","])
def test_numbers_of_requests_that_are_none(
    fake: Fake, capsys: pytest.CaptureFixture[str], counts: str
):
    status, out, err = concurrent(fake, capsys, "--concurrency", counts)
    assert (status, out) == (2, "")
    assert "choose whole numbers" in err


def test_a_plain_server_alone_is_refused(fake: Fake, capsys: pytest.CaptureFixture[str]):
    status, _, err = concurrent(fake, capsys, "--plain-server", fake.url)
    assert status == 2
    assert "--concurrency" in err
