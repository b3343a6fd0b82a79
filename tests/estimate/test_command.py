"""`python -m hsd estimate`, of a file, of a pair, and of two servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_server import Fake

from hsd.cli import main
from hsd.cli.estimate import lengths
from hsd.errors import HsdError
from hsd.estimate import read_costs


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The JSON of a command that succeeds."""
    assert main(["estimate", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The line of a command that is refused."""
    try:
        status = main(["estimate", *words])
    except SystemExit as ended:
        status = int(ended.code or 0)
    shown = capsys.readouterr()
    assert status == 2
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Twelve texts whose draft has about 80 in 100 of the target's mass."""
    random = np.random.default_rng(1)
    lines = []
    for number in range(12):
        logp = -random.exponential(1, 40)
        logq = logp + random.normal(-0.3, 0.5, 40)
        kind = "even" if number % 2 else "odd"
        lines.append({"logp": list(logp), "logq": list(np.minimum(logq, 0)), "kind": kind})
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return str(file)


def test_a_file_as_json(file: str, capsys: pytest.CaptureFixture[str]):
    found = run(capsys, file, "--gamma", "1-5", "--texts", "--costs", "0.1,0.2")
    assert (found["texts"], found["tokens"], found["gamma"]) == (12, 480, [1, 2, 3, 4, 5])
    vanilla, usual, ideal = (found["rules"][name] for name in ("tokenwise", "hsd", "ideal"))
    assert set(found["rules"]) == {"tokenwise", "hsd", "agreement", "ideal"}
    for low, middle, high in zip(
        vanilla["tokens_per_pass"], usual["tokens_per_pass"], ideal["tokens_per_pass"], strict=True
    ):
        assert 1 < low <= middle <= high
    for rule in found["rules"].values():
        for value, (low, high) in zip(
            rule["kept_at_least"], rule["kept_at_least_interval"], strict=True
        ):
            assert 0 <= low <= value <= high <= 1
    assert len(found["per_text"]) == 12
    passes = found["per_text"][0]["expected_passes"]
    assert 8 <= passes["ideal"][-1] <= passes["hsd"][-1] <= passes["tokenwise"][-1] <= 40
    gains = np.subtract(usual["tokens_per_pass"], vanilla["tokens_per_pass"])
    assert np.allclose(found["difference"]["tokens_per_pass"], gains)
    expected = np.array(usual["tokens_per_pass"]) / (
        1 + 0.1 * np.arange(1, 6) + 0.2 * np.arange(1, 6)
    )
    assert np.allclose(found["speedup"]["hsd"], expected)


def test_the_first_line_says_what_to_do(file: str, capsys: pytest.CaptureFixture[str]):
    for costs, words in (
        ("0.01,0.05", "Switch it on: HSD with γ = "),
        ("0.5,1", "Leave it off: the best, "),
        ("1:20,4:22,9:40,draft:2", "Switch it on: HSD"),
    ):
        assert main(["estimate", file, "--costs", costs]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(words)
        assert "even" in lines
        assert "odd" in lines
    assert main(["estimate", file]) == 0
    assert "give --costs" in capsys.readouterr().out.splitlines()[0]


def test_one_text_tells_nothing_of_others(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    alone = tmp_path / "alone.jsonl"
    alone.write_text(Path(file).read_text().splitlines()[0] + "\n")
    assert main(["estimate", str(alone), "--costs", "0.01,0.05"]) == 0
    first, *table = capsys.readouterr().out.splitlines()
    assert first.startswith("It cannot be told: ")
    assert "(1 text of 40 tokens)" in first
    assert not any(" to " in line for line in table)
    found = run(capsys, str(alone))
    assert set(found["difference"]["tokens_per_pass_interval"]) == {None}


def test_the_toy_pair(capsys: pytest.CaptureFixture[str]):
    texts = ("--prompts", "stories", "--limit", "4", "--new-tokens", "24")
    found = run(capsys, "--pair", "tiny", *texts, "--gamma", "1-3")
    assert found["texts"] == 4
    assert found["costs"]["drafted"] > 0
    assert set(found["costs"]["passes"]) == {"1", "2", "3", "4"}
    assert 1 < found["rules"]["hsd"]["tokens_per_pass"][0] <= 2
    assert found["advice"].count("\n") == 0


def test_costs_by_width_are_interpolated():
    costs = read_costs("1:20,4:26,draft:5")
    assert costs.drafted == 0.25
    assert costs.pass_over(3) == pytest.approx(1.2)
    assert costs.of_step(3) == pytest.approx(1.3 + 0.75)
    assert costs.pass_over(5) == pytest.approx(1.4)


@pytest.mark.parametrize(
    "costs", ["", "0.1", "1,2,3", "a,b", "1:20,draft:5", "2:20,3:4,draft:1", "1:0,2:1,draft:1"]
)
def test_costs_that_are_none(costs: str):
    with pytest.raises(HsdError, match="passes over one token"):
        read_costs(costs)


@pytest.mark.parametrize("gamma", ["", "0", "2-5", "1-", "x", "1-65", "-3"])
def test_draft_lengths_that_are_none(gamma: str):
    with pytest.raises(HsdError, match="choose draft lengths"):
        lengths(gamma)


def test_what_does_not_go_together(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    url = "http://127.0.0.1:9"
    for words, why in (
        ([], "nothing to estimate from"),
        ([file, "--pair", "tiny"], "either a file or models"),
        ([file, "--prompts", "chat"], "--prompts is for models"),
        (["--target", url, "--draft", "folder"], "name two servers"),
        (["--pair", "tiny", "--processed"], "--processed is for two servers"),
        ([file, "--gamma", "1-64"], "the longest text has 40 tokens"),
        ([str(tmp_path / "none")], "cannot read"),
        (["--pair", "tiny", "--new-tokens", "8"], "too short for drafts of 8: choose more"),
        (["--target", url, "--draft", url], "cannot reach"),
    ):
        assert why in refusal(capsys, *words)


def test_a_head_is_refused(capsys: pytest.CaptureFixture[str]):
    from hsd.models.loading.fetch import fetched_file

    if not fetched_file("smollm2"):
        pytest.skip("SmolLM2 is not fetched")
    assert "a head's numbers" in refusal(capsys, "--pair", "smollm2")


# ---- two servers


class Scoring(Fake):
    """A server that writes and scores words of its own, the more letters the less likely.

    per_letter: nats. raw: of which texts its numbers are of temperature 1, those that it is given
    (True) and those that it writes (False). cut: it reads every word as two tokens.
    """

    per_letter = 0.5
    raw: tuple[bool, ...] = ()
    cut = False


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Scoring, Scoring]]:
    from threading import Thread

    from recorded_server import Handler

    def answer(self: Handler) -> None:
        if not self.may():
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        server = self.server
        assert isinstance(server, Scoring)
        words = [" one", " three", " a"] * 3
        if body.get("echo"):
            before = body["prompt"].split(" ")
            words = [before[0], *(f" {word}" for word in before[1:]), " more"]
        if server.cut:
            words = [part for word in words for part in (word[:2], word[2:]) if part]
        nats = server.per_letter
        if bool(body.get("echo")) not in server.raw:
            nats /= body["temperature"]
        numbers = [-nats * len(word) for word in words]
        logprobs = {"tokens": words, "token_logprobs": numbers}
        count = 1 if body.get("echo") else len(words)
        self.say(
            {
                "choices": [{"text": "".join(words), "logprobs": logprobs}],
                "usage": {"completion_tokens": count},
            }
        )

    monkeypatch.setattr(Handler, "do_POST", answer)
    both = Scoring(), Scoring()
    threads = [
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}) for server in both
    ]
    for thread in threads:
        thread.start()
    yield both
    for server, thread in zip(both, threads, strict=True):
        server.shutdown()
        server.server_close()
        thread.join()


def asked(servers: tuple[Scoring, Scoring], *words: str) -> list[str]:
    target, draft = servers
    both = ["--target", target.url, "--draft", draft.url, "--limit", "3", "--gamma", "1-2"]
    return [*both, *words]


def test_one_server_writes_and_the_other_scores(
    servers: tuple[Scoring, Scoring], capsys: pytest.CaptureFixture[str]
):
    servers[1].per_letter = 0.6
    found = run(capsys, *asked(servers))
    assert (found["texts"], found["tokens"]) == (3, 27)
    # the first word has 4 letters, the second 6, the third 2
    one, three, a = (np.exp(-0.1 * letters) for letters in (4, 6, 2))
    assert found["rules"]["tokenwise"]["kept_at_least"][0] == pytest.approx((one + three + a) / 3)
    path, body = servers[1].asked[-1]
    assert path == "/v1/completions"
    assert body["echo"] is True


def test_traps_of_servers(servers: tuple[Scoring, Scoring], capsys: pytest.CaptureFixture[str]):
    target, draft = servers
    assert "--processed" in refusal(capsys, *asked(servers, "--temperature", "0.7"))
    processed = asked(servers, "--temperature", "0.7", "--processed")
    for raw in ((True,), (True, False), (False,)):
        target.raw = raw
        assert "raw" in refusal(capsys, *processed)
    target.raw = ()
    draft.per_letter = 0.6
    assert run(capsys, *processed)["texts"] == 3
    draft.raw = (True,)
    assert "raw" in refusal(capsys, *processed)
    draft.raw = ()
    draft.per_letter = 0.0
    assert "every token the probability 1" in refusal(capsys, *asked(servers))
    draft.cut = True
    assert "same tokenizer" in refusal(capsys, *asked(servers))
