"""A server beside ours: what it tells is counted, what it does not tell stays empty, and no trouble of it loses a run.

The server is one of our own making, which answers as vLLM and llama.cpp do.
"""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

import hsd
from hsd import HsdError, figures
from hsd.bench import Record, measurements
from hsd.bench.measure import Case
from hsd.bench.report import read
from hsd.bench.server import NOTE, connect
from hsd.cli import main
from hsd.paths import ASSETS, ROOT
from hsd.ui.measure.opened import opened
from hsd.ui.measure.results import Results
from hsd.ui.measure.view import as_csv

PAIR = hsd.table_pair(vocab=5, order=2, seed=4)
OPTIONS = {"max_new_tokens": 12, "temperature": 0.7}
VLLM = {  # of 4 drafts of 3 tokens each one kept none, one 1, and two all 3
    "mean_acceptance_length": 2.75,
    "num_spec_steps": 4,
    "num_draft_tokens": 12,
    "num_accepted_draft_tokens": 7,
    "acceptance_histogram": [1, 1, 0, 2],
}
needs_pair = pytest.mark.skipif(not (ASSETS / "tiny" / "target").is_dir(), reason="the embedded pair is not there")


class Fake(ThreadingHTTPServer):
    """A server whose answers can be set. told: what it adds to an answer; asked: the bodies that it was sent.

    answers: how many it gives before `trouble` begins. counters: whether it publishes vLLM's of all requests.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.models: Any = ["one"]
        self.told: Record = {}
        self.asked: list[tuple[str, Record]] = []
        self.answers, self.trouble, self.counters = 10**6, "", False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Fake

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            self.say({"object": "list", "data": [{"id": name} for name in self.server.models]})
        elif self.path == "/metrics" and self.server.counters:
            self.say(self.metrics())
        else:
            self.say({"error": {"message": "Not Found"}}, 404)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if len(self.server.asked) > self.server.answers:
            getattr(self, self.server.trouble)()
            return
        text = {"text": " and so on"} if "prompt" in body else {"message": {"role": "assistant", "content": "Yes."}}
        self.say({"choices": [{"index": 0, **text}], "usage": {"completion_tokens": 11}} | self.server.told)

    def metrics(self) -> str:
        """In the format of Prometheus: 5 requests of others, then 7 of 12 drafted tokens for each that was answered."""
        made = 5 + len(self.server.asked)
        values = {"drafts": 4, "draft_tokens": 12, "accepted_tokens": 7}
        lines = ["# HELP vllm:spec_decode_num_drafts_total Drafts.", 'vllm:num_requests_running{engine="0"} 0.0']
        for name, value in values.items():
            lines.append(f'vllm:spec_decode_num_{name}_total{{engine="0",model_name="one"}} {value * made}.0')
            lines.append(f'vllm:spec_decode_num_{name}_created{{engine="0",model_name="one"}} 1.79e+09')
        for place, value in enumerate((3, 2, 2)):
            labels = f'engine="0",model_name="one",position="{place}"'
            lines.append(f"vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels}}} {value * made}.0")
        return "\n".join(lines)

    def say(self, answer: Any, status: int = 200, length: int | None = None) -> None:
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        self.end_headers()
        self.wfile.write(data)

    def html(self) -> None:
        self.say("<html>a page</html>")

    def refused(self) -> None:
        self.say({"error": {"message": "The prompt is\ntoo long", "code": 400}}, 400)

    def broken(self) -> None:
        self.say("x" * 9_000, 500)

    def cut(self) -> None:
        self.say('{"choices": [', length=500)

    def closed(self) -> None:
        self.close_connection = True

    def silent(self) -> None:
        time.sleep(2)

    def dripping(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(40):
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.05)

    def uncounted(self) -> None:
        self.say({"choices": []})

    def impossible(self) -> None:
        self.say({"usage": {"completion_tokens": 3}, "timings": {"draft_n": 2, "draft_n_accepted": 3}})

    def log_message(self, *_: Any) -> None:
        """Nothing on the screen."""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Fake()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def answer(fake: Fake, pair: Any = PAIR, **options: Any) -> Record:
    """The record of one answer of a server that was just reached."""
    case = connect(fake.url, timeout=0.5).case({**OPTIONS, **options})
    assert case.runner
    return case.runner(pair, "Once", 17)


def measured(record: Record) -> Any:
    """The measurement of that record."""
    place = {"case": "server", "prompt": 0, "repetition": 1, "seed": 0}
    return measurements([Case("server", OPTIONS, lambda *_: {})], [{**place, **record}])[0]


def test_the_prompt_is_sent_as_it_is_and_the_whole_law_is_asked_for(fake: Fake):
    record = answer(fake)
    path, body = fake.asked[0]
    assert path == "/v1/completions"
    assert (body["prompt"], body["max_tokens"], body["seed"], body["temperature"]) == ("Once", 12, 17, 0.7)
    assert (body["model"], body["top_p"], body["top_k"], body["min_p"]) == ("one", 1.0, -1, 0.0)
    assert record["new_tokens"] == 11
    assert record["seconds"] > 0
    answer(fake, temperature=0.0)
    assert not {"top_p", "top_k", "min_p"} & set(fake.asked[1][1])


def test_a_chat_tuned_pairs_prompt_is_a_message(fake: Fake):
    answer(fake, SimpleNamespace(codec=SimpleNamespace(chat=True)))
    path, body = fake.asked[0]
    assert (path, body["messages"]) == ("/v1/chat/completions", [{"role": "user", "content": "Once"}])


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


def test_llama_cpp_tells_no_number_of_drafts_so_there_is_no_al(fake: Fake):
    fake.told = {"timings": {"predicted_n": 11, "draft_n": 20, "draft_n_accepted": 5}}
    record = answer(fake)
    assert measured(record).acceptance_rate()[0] == 0.25
    assert not record["drafts"]
    fake.told["timings"]["draft_rounds"] = 5
    assert measured(answer(fake)).acceptance_length()[0] == 2


@pytest.mark.parametrize(
    "told", [{}, {"metrics": None}, {"timings": {"predicted_n": 11}}, {"metrics": {"speculative_decoding": {}}}]
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
        ("broken", "answers with HTTP 500: xxx"),
        ("cut", "stopped in the middle of its answer"),
        ("closed", "stopped in the middle of its answer|cannot reach"),
        ("silent", "has not answered within 0.5 s"),
        ("dripping", "has not answered within 0.5 s"),
        ("uncounted", "does not tell how many tokens it made"),
        ("impossible", "more accepted than drafted"),
    ],
)
def test_every_trouble_is_one_line_within_the_time(fake: Fake, trouble: str, words: str):
    fake.answers, fake.trouble = 0, trouble
    begin = time.monotonic()
    with pytest.raises(HsdError, match=words) as error:
        answer(fake)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300
    assert time.monotonic() - begin < 2


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
def test_a_url_that_leads_nowhere_is_one_line(url: str, words: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(HsdError, match=words) as error:
        connect(url, timeout=2)
    assert "\n" not in str(error.value)


def test_the_model_is_the_only_one_or_the_one_that_is_named(fake: Fake):
    assert connect(fake.url + "/v1/").model == "one"
    fake.models = ["one", "two"]
    with pytest.raises(HsdError, match="has several models: choose one with --server-model: one, two"):
        connect(fake.url)
    assert connect(fake.url, "two").model == "two"
    with pytest.raises(HsdError, match="has no model 'three': choose one, two"):
        connect(fake.url, "three")
    fake.models = []
    with pytest.raises(HsdError, match="names no model"):
        connect(fake.url)
    with pytest.raises(HsdError, match="server-timeout 0"):
        connect(fake.url, timeout=0)


# The command


def bench(fake: Fake, out: Path, *words: str) -> int:
    short = ["--limit", "2", "--repetitions", "2", "--max-new-tokens", "8", "--rules", "hsd", "--gamma", "2"]
    return main(["bench", *short, "--server", fake.url, "--server-timeout", "0.5", "--out", str(out), *words])


@needs_pair
def test_a_server_is_a_row_that_says_what_it_is(fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
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
    assert not {"block_efficiency", "speedup"} & set(row)  # its passes are not told, and its target may be another
    assert len(fake.asked) == 2 * 3  # each prompt once to warm up, twice to count
    shown = opened(out)
    page = Results().show(shown, "file", "k")
    assert f"server one at {fake.url}: {NOTE}" in page.view["facts"]
    assert page.view["rows"][-1][page.view["columns"].index("AL")] == "2.75 (2.75–2.75)"
    head, *runs = map(json.loads, out.read_text().splitlines())
    for wrong in ({"target_calls": "x"}, {"target_calls": None}, {"positions": [[1]]}, {"drafts": -1}, {"kept": "x"}):
        (tmp_path / "w.jsonl").write_text("\n".join(map(json.dumps, [head, *runs[:-1], {**runs[-1], **wrong}])))
        with pytest.raises(HsdError, match=r"line 13 of 'w.jsonl' is not a run of this benchmark"):
            opened(tmp_path / "w.jsonl")
    line = list(csv.DictReader(io.StringIO(as_csv(shown.rows()))))[-1]
    assert (line["acceptance_length"], line["block_efficiency"]) == ("2.75", "")
    assert len(figures.acceptance_rate_per_position(shown.rows()).data) == 1  # ours alone


@needs_pair
def test_what_was_measured_before_a_server_fails_is_kept_and_shown(
    fake: Fake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    fake.answers, fake.trouble = 5, "cut"  # the last answer of the second repetition
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
    fake.answers, fake.trouble = 0, "refused"
    assert bench(fake, tmp_path / "b.jsonl") == 2
    assert "HTTP 400: The prompt is too long" in capsys.readouterr().err.strip().splitlines()[-1]
    assert bench(fake, tmp_path / "b.jsonl", "--server-model", "other") == 2
    assert "has no model 'other': choose one" in capsys.readouterr().err


def test_a_model_of_no_server_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["bench", "--server-model", "one"]) == 2
    assert "--server-model is for --server" in capsys.readouterr().err


def test_nothing_but_the_command_line_can_make_this_ask_a_server():
    """A Space's visitors reach `hsd.ui`: it must have no way to a server."""
    users = [file for file in (ROOT / "hsd").rglob("*.py") if "bench.server" in file.read_text(encoding="utf-8")]
    assert [str(file.relative_to(ROOT / "hsd")) for file in users] == ["bench/command.py"]
    assert not [file for file in (ROOT / "hsd" / "ui").rglob("*.py") if "bench.command" in file.read_text("utf-8")]
