"""What a client makes of a server's recorded steps, and who may read them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from hsd.app.runs import Kept, finished, read
from hsd.bench import server
from hsd.cli import main
from hsd.errors import HsdError
from hsd.paths import TRACES
from hsd.trace import Trace
from hsd.vllm import reader as module
from hsd.vllm.reader import Reader, counts, summary
from hsd.vllm.serving import TOKEN, Endpoint


def entries(trace: Trace, name: str = "cmpl-1", label: str = "") -> list[dict]:
    data = json.loads(trace.to_json())
    steps, result = data.pop("steps"), data.pop("result")
    news = [("header", {"label": label, "trace": data}), *(("step", step) for step in steps), ("result", result)]
    return [{"request": name, "kind": kind, "data": value} for kind, value in news]


@pytest.fixture
def recorded() -> Trace:
    return Trace.from_file(TRACES / "leaves.json")


@pytest.fixture
def served(monkeypatch, recorded):
    """A server that hands out three entries at a time."""
    everything = entries(recorded)

    def answer(url: str, *_: object, **__: object) -> dict:
        at = int(url.partition("after=")[2])
        part = everything[at : at + 3]
        return {"next": at + len(part), "dropped": 0, "refused": 0, "entries": part}

    monkeypatch.setattr(module, "json_of", answer)
    return Reader("http://localhost:8000", "secret")


def test_a_request_is_read_to_its_end_and_is_a_trace(served, recorded):
    served.look()
    (one,) = served.requests.values()
    assert len(one.steps) == 2
    assert one.title
    assert not one.done
    while served.look():
        pass
    assert one.done
    assert one.trace == recorded


def test_a_trace_without_its_beginning_is_refused_in_one_line(served):
    while served.look():
        pass
    (one,) = served.requests.values()
    del one.steps[0]
    with pytest.raises(HsdError, match=r"cmpl-1: .*does not follow"):
        _ = one.trace


def test_the_command_line_prints_saves_and_sums_up(monkeypatch, served, recorded, tmp_path, capsys):
    monkeypatch.setattr("hsd.cli.watch.Reader", lambda *_: served)
    assert main(["watch", "http://localhost:8000", "--text", "--requests", "1", "--save", str(tmp_path)]) == 0
    assert "tokens per pass of the target" in capsys.readouterr().out
    assert Trace.from_file(tmp_path / "cmpl-1.json") == recorded


def test_the_page_runs_and_offers_what_the_server_records(monkeypatch, served, recorded):
    app: dict = {}
    monkeypatch.setattr("hsd.app.launch", lambda *_, **more: app.update(more))
    monkeypatch.setattr("hsd.cli.watch.Reader", lambda *_: served)
    assert main(["watch", "http://localhost:8000"]) == 0
    assert [pair["name"] for pair in app["offers"]()["here"]] == ["server", "request-1"]
    asked = read(app["manifest"], {"pair": "request-1", "prompt": "as it was"})
    assert finished(asked, Kept(1), 60, app["decode"])[0] == recorded


@pytest.mark.parametrize(("template", "prompt_as"), [(True, ""), (False, ""), (True, "text")])
def test_a_prompt_is_a_turn_of_a_chat_unless_there_is_no_template(monkeypatch, recorded, template, prompt_as):
    posted: dict[str, dict] = {}

    def answer(url: str, _: object, body: dict | None = None, key: str = "") -> dict:
        if body and "chat" in url and not template:
            raise HsdError("there is no chat template")
        if body:
            posted[url.rpartition("/v1/")[2]] = body
        label = next((body["vllm_xargs"]["hsd"] for body in posted.values()), "")
        news = entries(recorded, label=label) if label and url.endswith("after=0") else []
        return {"data": [{"id": "served"}], "next": len(news), "entries": news}

    monkeypatch.setattr(module, "json_of", answer)
    monkeypatch.setattr(module, "BEAT", 0.001)
    *_, last = Reader("http://localhost:8000", "secret").ask("Why?", {"max_tokens": 9}, prompt_as)
    assert last.trace == recorded
    chat = {"messages": [{"role": "user", "content": "Why?"}]}
    wanted = {"chat/completions": chat} if template and not prompt_as else {"completions": {"prompt": "Why?"}}
    ((place, body),) = posted.items()
    assert {place: {name: value for name, value in body.items() if name in ("messages", "prompt")}} == wanted


def test_an_error_of_the_server_is_that_of_the_page(monkeypatch):
    def answer(url: str, _: object, body: dict | None = None, key: str = "") -> dict:
        if body:
            raise HsdError("the server has no room")
        return {"data": [{"id": "served"}], "next": 0, "entries": []}

    monkeypatch.setattr(module, "json_of", answer)
    monkeypatch.setattr(module, "BEAT", 0.001)
    with pytest.raises(HsdError, match="no room"):
        next(Reader("http://localhost:8000", "secret").ask("Why?", {}))


def test_a_request_is_called_by_the_words_of_its_prompt(recorded):
    header = entries(recorded)[0]["data"]["trace"]
    header["prompt"]["text"] = "system\nYou are kind.\nuser\nWhy is  the sky blue?\nassistant\n"
    assert module.Request("cmpl-1", "", header).title == "Why is the sky blue?"


def test_advice_follows_from_the_two_gains(recorded):
    lines = summary(recorded.steps)
    assert "blockwise" in lines[1]
    assert lines[-1].startswith("Advice: ")
    certain = [
        step.model_copy(update={"nodes": [node.model_copy(update={"q": 1.0}) for node in step.nodes]})
        for step in recorded.steps
    ]
    assert summary(certain)[-1].startswith("Drafts are certain here")
    assert summary([]) == ["No drafts were recorded."]


def metrics(*curve: float) -> str:
    names = ["num_drafts_total 100.0", f"num_accepted_tokens_total {100 * sum(curve)}"]
    names += [f'num_accepted_tokens_per_pos_total{{position="{at}"}} {100 * x}' for at, x in enumerate(curve)]
    return "# HELP\n" + "\n".join(f"vllm:spec_decode_{name}" for name in names)


def test_public_counters_say_what_they_can_and_name_a_set_acceptance(monkeypatch):
    monkeypatch.setattr(server, "bytes_of", lambda *_, **__: metrics(0.8, 0.5).encode())
    assert counts("http://localhost:8000") == "2.30 tokens per pass; kept by position 0.80, 0.50"
    monkeypatch.setattr(server, "bytes_of", lambda *_, **__: metrics(1, 1, 0.78, 0).encode())
    assert "synthetic acceptance" in counts("http://localhost:8000")
    monkeypatch.setattr(server, "bytes_of", lambda *_, **__: b"other 1\n")
    assert counts("http://localhost:8000") == "its counters tell of no drafts"


# ---- the server's side


class Client:
    async def collective_rpc(self, name: str, args: tuple) -> list:
        return [None, {"next": 0, "entries": []}, {"next": args[0], "entries": []}]  # one of the workers records


def ended(work: Coroutine):
    """What a coroutine returns, run in a thread: this one may have a loop of a browser's."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def asked(endpoint: Endpoint, host: str = "127.0.0.1", token: str = "secret", after: str = "7") -> tuple[int, dict]:
    request = SimpleNamespace(
        client=SimpleNamespace(host=host), headers={"Authorization": f"Bearer {token}"}, query_params={"after": after}
    )
    reply = ended(endpoint._steps(request))
    return reply.status_code, json.loads(reply.body)


def endpoint_of(config: object = None) -> Endpoint:
    endpoint = Endpoint()
    ended(endpoint.init_state(Client(), None, SimpleNamespace(additional_config=config)))
    return endpoint


def test_steps_are_read_with_the_token_from_this_machine_alone(monkeypatch):
    monkeypatch.setenv(TOKEN, "secret")
    endpoint = endpoint_of({"hsd": {"record": 1}})
    assert asked(endpoint) == (200, {"next": 7, "entries": []})
    assert asked(endpoint, after="-1; drop")[1]["next"] == 0
    assert asked(endpoint, token="wrong")[0] == 401
    assert asked(endpoint, host="10.0.0.9")[0] == 403
    assert asked(endpoint_of({"hsd": {"remote": True}}), host="10.0.0.9")[0] == 200
    monkeypatch.delenv(TOKEN)
    assert asked(endpoint, token="") == (
        403,
        {"error": f"steps are read with a token: start the server with one in {TOKEN}"},
    )
