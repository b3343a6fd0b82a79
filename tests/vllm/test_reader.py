"""What a client makes of a server's recorded steps, and who may read them."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import zip_longest
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from recording_server import entries

from hsd import http_client
from hsd.app.runs import read
from hsd.cli import main
from hsd.cli.watch import counts
from hsd.errors import HsdError
from hsd.paths import TRACES
from hsd.trace import Trace
from hsd.vllm import reader as module
from hsd.vllm.reader import ServerReader, summary
from hsd.vllm.serving import TOKEN, Endpoint


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
        return {"next": at + len(part), "dropped": 0, "entries": part}

    monkeypatch.setattr(module, "json_of", answer)
    return ServerReader("http://localhost:8000", "secret")


def test_a_request_is_read_to_its_end_and_is_a_trace(served, recorded):
    served.look()
    (one,) = served.requests.values()
    assert len(one.trace.steps) == 2
    assert one.title
    assert not one.done
    while served.look():
        pass
    assert one.done
    assert one.trace == recorded


@pytest.mark.parametrize("kind", ["beginning", "step", "result"])
def test_entries_of_another_form_are_one_line(monkeypatch, recorded, kind):
    changed = [
        entry | {"data": {"index": 0}} if entry["kind"] == kind else entry
        for entry in entries(recorded)
    ]
    monkeypatch.setattr(
        module, "json_of", lambda *_, **__: {"next": len(changed), "entries": changed}
    )
    with pytest.raises(
        HsdError, match=r"^http://localhost:8000 records in another form \(.*\): use the same hsd"
    ):
        ServerReader("http://localhost:8000", "secret").look()


def test_a_trace_ends_where_the_server_has_dropped_what_comes_next(monkeypatch, recorded):
    everything = entries(recorded)
    news = {"next": len(everything), "entries": everything[:2] + everything[3:]}
    monkeypatch.setattr(module, "json_of", lambda *_, **__: news)
    reader = ServerReader("http://localhost:8000", "secret")
    reader.look()
    (one,) = reader.requests.values()
    assert one.done
    assert (one.trace.steps, one.trace.result.finish) == (recorded.steps[:1], "cancelled")
    assert Trace.from_json(one.trace.to_json()) == one.trace


def test_the_command_line_prints_saves_and_sums_up(monkeypatch, served, recorded, tmp_path, capsys):
    monkeypatch.setattr("hsd.cli.watch.ServerReader", lambda *_: served)
    assert (
        main(
            ["watch", "http://localhost:8000", "--text", "--requests", "1", "--save", str(tmp_path)]
        )
        == 0
    )
    assert "tokens per pass of the target" in capsys.readouterr().out
    assert Trace.from_file(tmp_path / "cmpl-1.json") == recorded


def put_together(pieces: Iterator) -> Trace:
    begun, *news = pieces
    steps = [step for piece in news for step in piece["steps"]]
    return begun.model_copy(update={"steps": steps, "result": news[-1]["result"]})


def test_requests_that_grow_at_once_are_listed_and_each_is_followed_to_its_end(
    monkeypatch, recorded
):
    traces = {"cmpl-1": recorded, "cmpl-2": Trace.from_file(TRACES / "paris.json")}
    both = zip_longest(*(entries(trace, name) for name, trace in traces.items()))
    everything = [entry for pair in both for entry in pair if entry]

    def answer(url: str, *_: object, **__: object) -> dict:
        at = int(url.partition("after=")[2])
        news = everything[at : at + 5]
        return {"next": at + len(news), "dropped": 0, "entries": news}

    monkeypatch.setattr(module, "json_of", answer)
    monkeypatch.setattr(module, "BEAT", 0.001)
    reader = ServerReader("http://localhost:8000", "secret")
    assert [(run["name"], run["finished"]) for run in reader.runs()] == [
        ("cmpl-2", False),
        ("cmpl-1", False),
    ]
    assert [put_together(reader.follow(name)) for name in traces] == [*traces.values()]
    assert [run["finished"] for run in reader.runs()] == [True, True]
    assert put_together(reader.follow("cmpl-1")) == recorded, "it has ended"
    with pytest.raises(HsdError, match=r"^http://localhost:8000 has recorded no request 'cmpl-3'"):
        next(reader.follow("cmpl-3"))


def test_the_newest_requests_are_listed(monkeypatch, recorded):
    begun = [entries(recorded, f"cmpl-{number}")[0] for number in range(module.LISTED + 5)]
    monkeypatch.setattr(module, "json_of", lambda *_, **__: {"next": len(begun), "entries": begun})
    listed = ServerReader("http://localhost:8000", "secret").runs()
    assert [run["name"] for run in listed] == [entry["request"] for entry in begun[:4:-1]]
    assert listed[0]["title"].startswith(f"{len(begun)} · ")


def test_the_page_watches_the_server_and_runs_prompts_by_it(monkeypatch, served, recorded):
    app: dict = {}
    monkeypatch.setattr("hsd.app.launch", lambda *_, **more: app.update(more))
    monkeypatch.setattr("hsd.cli.watch.ServerReader", lambda *_: served)
    assert main(["watch", "http://localhost:8000"]) == 0
    assert app["watched"] is served
    assert [pair.name for pair in app["manifest"].pairs] == ["server"]
    posted: list[tuple] = []

    def ask(*question: object) -> module.Request:
        posted.append(question)
        served.look()
        return served.requests["cmpl-1"]

    monkeypatch.setattr(served, "ask", ask)
    asked = read(app["manifest"], {"prompt": "Why?", "max_new_tokens": 9, "prompt_as": "text"})
    assert put_together(app["decode"](asked, 60)) == recorded
    ((prompt, body, prompt_as),) = posted
    assert (prompt, body["max_tokens"], prompt_as) == ("Why?", 9, "text")


@pytest.mark.parametrize(("template", "prompt_as"), [(True, ""), (False, ""), (True, "text")])
def test_a_prompt_is_a_turn_of_a_chat_unless_there_is_no_template(
    monkeypatch, recorded, template, prompt_as
):
    posted: dict[str, dict] = {}

    def answer(url: str, _: object, body: dict | None = None, key: str = "") -> dict:
        if body and "chat" in url and not template:
            raise HsdError("there is no chat template")
        if body:
            posted[url.rpartition("/v1/")[2]] = body
        name = next((f"cmpl-{body['request_id']}-0-1a2b" for body in posted.values()), "")
        news = entries(recorded, name) if name and url.endswith("after=0") else []
        return {"next": len(news), "entries": news}

    monkeypatch.setattr(module, "json_of", answer)
    monkeypatch.setattr(module, "BEAT", 0.001)
    reader = ServerReader("http://localhost:8000", "secret")
    asked = reader.ask("Why?", {"max_tokens": 9}, prompt_as)
    assert put_together(reader.follow(asked.name)) == recorded
    chat = {"messages": [{"role": "user", "content": "Why?"}]}
    wanted = (
        {"chat/completions": chat}
        if template and not prompt_as
        else {"completions": {"prompt": "Why?"}}
    )
    ((place, body),) = posted.items()
    assert {
        place: {name: value for name, value in body.items() if name in ("messages", "prompt")}
    } == wanted


def test_an_error_of_the_server_is_that_of_the_page(monkeypatch):
    def answer(url: str, _: object, body: dict | None = None, key: str = "") -> dict:
        if body:
            raise HsdError("the server has no room")
        return {"next": 0, "entries": []}

    monkeypatch.setattr(module, "json_of", answer)
    monkeypatch.setattr(module, "BEAT", 0.001)
    with pytest.raises(HsdError, match="no room"):
        ServerReader("http://localhost:8000", "secret").ask("Why?", {})


def test_an_answer_of_which_nothing_is_recorded_is_an_error(monkeypatch):
    monkeypatch.setattr(module, "json_of", lambda *_, **__: {"next": 0, "entries": []})
    monkeypatch.setattr(module, "BEAT", 0.001)
    with pytest.raises(HsdError, match="recorded nothing of it"):
        ServerReader("http://localhost:8000", "secret").ask("Why?", {})


def test_a_request_is_called_by_the_words_of_its_prompt(recorded):
    text = "system\nYou are kind.\nuser\nWhy is  the sky blue?\nassistant\n"
    asked = recorded.model_copy(
        update={"prompt": recorded.prompt.model_copy(update={"text": text})}
    )
    assert module.Request("cmpl-1", asked).title == "Why is the sky blue?"


def test_advice_follows_from_the_two_gains(recorded):
    lines = summary(recorded.steps)
    assert "blockwise" in lines[1]
    assert ': ask for "draft_sample_method"' in lines[2]
    assert ': ask for "rule": "hsd"' in lines[3]
    # HSD kept less, on average
    assert ': leave out "rule": "hsd"' in summary(recorded.steps[:1])[3]
    certain = [
        step.model_copy(
            update={"nodes": [node.model_copy(update={"q": 1.0}) for node in step.nodes]}
        )
        for step in recorded.steps
    ]
    assert summary(certain)[-1].startswith("Drafts are certain here")
    assert summary([]) == ["No drafts were recorded."]


def test_a_refusal_of_the_server_is_said_in_its_own_words(monkeypatch):
    def refuse(request: object, **_: object) -> None:
        body = b'{"detail": "give the server\'s HSD_VLLM_TOKEN as bearer token"}'
        raise HTTPError(request.full_url, 401, "Unauthorized", {}, BytesIO(body))

    monkeypatch.setattr(http_client, "opener_of", lambda _: SimpleNamespace(open=refuse))
    with pytest.raises(
        HsdError, match=r"HTTP 401: give the server's HSD_VLLM_TOKEN as bearer token$"
    ):
        ServerReader("http://localhost:8000", "wrong").look()


def metrics(*curve: float) -> str:
    names = ["num_drafts_total 100.0", f"num_accepted_tokens_total {100 * sum(curve)}"]
    names += [
        f'num_accepted_tokens_per_pos_total{{position="{at}"}} {100 * x}'
        for at, x in enumerate(curve)
    ]
    return "# HELP\n" + "\n".join(f"vllm:spec_decode_{name}" for name in names)


def test_public_counters_say_what_they_can_and_name_a_set_acceptance(monkeypatch):
    monkeypatch.setattr(http_client, "bytes_of", lambda *_, **__: metrics(0.8, 0.5).encode())
    assert counts("http://localhost:8000") == "2.30 tokens per pass; kept by position 0.80, 0.50"
    monkeypatch.setattr(http_client, "bytes_of", lambda *_, **__: metrics(1, 1, 0.78, 0).encode())
    assert "synthetic acceptance" in counts("http://localhost:8000")
    monkeypatch.setattr(http_client, "bytes_of", lambda *_, **__: b"other 1\n")
    assert counts("http://localhost:8000") == "its counters tell of no drafts"


# ---- the server's side


class Client:
    async def collective_rpc(self, name: str, args: tuple) -> list:
        # one of the workers records
        return [None, {"next": 0, "entries": []}, {"next": args[0], "entries": []}]


def client_of(
    monkeypatch: pytest.MonkeyPatch,
    host: str = "127.0.0.1",
    token: str = "secret",
    **settings: object,
):
    """A client at a host, with a token, of a server with these settings."""
    monkeypatch.setenv(TOKEN, "secret")
    endpoint = Endpoint()
    app = FastAPI()
    endpoint.attach_router(app)
    begun = endpoint.init_state(
        Client(), None, SimpleNamespace(additional_config={"hsd": settings})
    )
    with pytest.raises(StopIteration):  # it waits for nothing
        begun.send(None)
    return TestClient(app, headers={"Authorization": f"Bearer {token}"}, client=(host, 1))


def test_steps_are_read_with_the_token(monkeypatch):
    answer = client_of(monkeypatch).get("/hsd/steps?after=7")
    assert (answer.status_code, answer.json()) == (200, {"next": 7, "entries": []})
    assert client_of(monkeypatch, token="wrong").get("/hsd/steps").status_code == 401
    client = client_of(monkeypatch, token="")
    monkeypatch.delenv(TOKEN)
    answer = client.get("/hsd/steps")
    words = f"steps are read with a token: start the server with one in {TOKEN}"
    assert (answer.status_code, answer.json()["detail"]) == (403, words)


@pytest.mark.parametrize(
    ("host", "remote", "status"),
    [
        ("127.0.0.1", False, 200),
        ("::1", False, 200),
        ("::ffff:127.0.0.1", False, 200),
        ("10.0.0.9", False, 403),
        ("10.0.0.9", True, 200),
    ],
)
def test_steps_are_read_from_this_machine_unless_others_are_let_in(
    monkeypatch, host: str, remote: bool, status: int
):
    assert client_of(monkeypatch, host, remote=remote).get("/hsd/steps").status_code == status


def test_with_settings_that_are_wrong_no_other_machine_reads(monkeypatch):
    assert (
        client_of(monkeypatch, "10.0.0.9", remote=True, recrod=1).get("/hsd/steps").status_code
        == 403
    )


@pytest.mark.parametrize("after", ["-1", "x", "1; drop", "9" * 30, "9" * 5_000])
def test_a_place_that_is_no_number_is_refused(monkeypatch, after: str):
    assert client_of(monkeypatch).get("/hsd/steps", params={"after": after}).status_code == 422
