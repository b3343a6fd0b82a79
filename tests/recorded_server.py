"""A server for tests that answers as vLLM and llama.cpp do, with what was recorded of them."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

from hsd.bench import Record

VLLM = {  # of 4 drafts of 3 tokens each one kept none, one 1, and two all 3
    "mean_acceptance_length": 2.75,
    "num_spec_steps": 4,
    "num_draft_tokens": 12,
    "num_accepted_draft_tokens": 7,
    "acceptance_histogram": [1, 1, 0, 2],
}


class Fake(ThreadingHTTPServer):
    """A server whose answers can be set. told: what it adds to an answer; asked: the bodies that it
    was sent.

    answers: how many it gives before `trouble` begins. key: the API key that it
    wants, if any. counters: whether it publishes vLLM's of all requests.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.models: Any = ["one"]
        self.told: Record = {}
        self.asked: list[tuple[str, Record]] = []
        self.answers = 10**6
        self.trouble = ""
        self.counters = False
        self.key = ""
        self.over = Event()  # the test has ended

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Fake

    def may(self) -> bool:
        """Whether the right key was sent; else the answer repeats what was."""
        sent = self.headers["Authorization"] or ""
        if self.server.key and sent != f"Bearer {self.server.key}":
            self.say(
                {
                    "error": {
                        "message": f"Incorrect API key provided: {sent.removeprefix('Bearer ')}."
                    }
                },
                401,
            )
            return False
        return True

    def do_GET(self) -> None:
        if not self.may():
            return
        if self.path == "/v1/models":
            self.say({"object": "list", "data": [{"id": name} for name in self.server.models]})
        elif self.path == "/metrics" and self.server.counters:
            self.say(self.metrics())
        else:
            self.say({"error": {"message": "Not Found"}}, 404)

    def do_POST(self) -> None:
        if not self.may():
            return
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if len(self.server.asked) > self.server.answers:
            getattr(self, self.server.trouble)()
            return
        text = (
            {"text": " and so on"}
            if "prompt" in body
            else {"message": {"role": "assistant", "content": "Yes."}}
        )
        self.say(
            {"choices": [{"index": 0, **text}], "usage": {"completion_tokens": 11}}
            | self.server.told
        )

    def metrics(self) -> str:
        """In the format of Prometheus: 5 requests of others, then 7 of 12 drafted tokens for each
        that was answered.
        """
        made = 5 + len(self.server.asked)
        values = {"drafts": 4, "draft_tokens": 12, "accepted_tokens": 7}
        lines = [
            "# HELP vllm:spec_decode_num_drafts_total Drafts.",
            'vllm:num_requests_running{engine="0"} 0.0',
        ]
        for name, value in values.items():
            lines.append(
                f'vllm:spec_decode_num_{name}_total{{engine="0",model_name="one"}} {value * made}.0'
            )
            lines.append(
                f'vllm:spec_decode_num_{name}_created{{engine="0",model_name="one"}} 1.79e+09'
            )
        for place, value in enumerate((3, 2, 2)):
            labels = f'engine="0",model_name="one",position="{place}"'
            lines.append(
                f"vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels}}} {value * made}.0"
            )
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

    def excused(self) -> None:
        self.say({"error": {"message": "The model is\nloading", "code": 503}})

    def flawed(self) -> None:
        self.say({"object": "error", "message": "no such model"})

    def broken(self) -> None:
        self.say("x" * 9_000, 500)

    def elsewhere(self) -> None:
        self.send_response(307)
        self.send_header("Location", f"{self.server.url}/v1/models")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def cut(self) -> None:
        self.say('{"choices": [', length=500)

    def closed(self) -> None:
        self.close_connection = True

    def silent(self) -> None:
        self.server.over.wait()

    def dripping(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(1200):  # a minute
            if self.server.over.wait(0.05):
                return
            self.wfile.write(b" ")
            self.wfile.flush()

    def uncounted(self) -> None:
        self.say({"choices": []})

    def impossible(self) -> None:
        self.say(
            {"usage": {"completion_tokens": 3}, "timings": {"draft_n": 2, "draft_n_accepted": 3}}
        )

    def log_message(self, *_: Any) -> None:
        """Nothing on the screen."""
