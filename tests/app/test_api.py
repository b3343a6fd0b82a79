"""Programs can use the app too: named endpoints with the same checks."""

from __future__ import annotations

import json

import httpx
import pytest
import torch

from hsd import RULES, Trace, facts, space
from hsd.app.presets import of_systems
from hsd.paths import ROOT
from hsd.trace import step_in_words

gradio_client = pytest.importorskip("gradio_client")


@pytest.fixture(scope="module")
def client(app):
    return gradio_client.Client(app.url, verbose=False)


def test_only_these_endpoints_are_public(client):
    public = {
        "/run",
        "/decode",
        "/race",
        "/compare",
        "/verify_step",
        "/explain_step",
        "/presets",
        "/audit",
    }
    assert set(client.view_api(return_format="dict")["named_endpoints"]) == public


def test_run_returns_text_summary_and_a_valid_trace(client):
    answer = client.predict("Once upon a time", gamma=4, max_new_tokens=12, seed=7, api_name="/run")
    trace = Trace.from_json(json.dumps(answer["trace"]))
    assert trace.replay() == trace.tokens
    assert (answer["text"], len(trace.tokens)) == (trace.text, 12)
    assert answer["summary"]["target_calls"] == len(trace.steps)
    again = client.predict("Once upon a time", gamma=4, max_new_tokens=12, seed=7, api_name="/run")
    assert again["text"] == answer["text"]


def test_gamma_left_out_is_the_pairs_own_and_drafts_may_be_copied(client):
    prompt = "Once upon a time, a fox saw a fox and a fox saw"
    asked = {"max_new_tokens": 12, "proposer": "ngram"}
    run = client.predict(prompt, **asked, api_name="/run")["trace"]["setup"]
    compared = client.predict(prompt, **asked, api_name="/compare")["runs"][0]["trace"]["setup"]
    assert run["options"] == {**compared["options"], "shadow": run["options"]["shadow"]}
    draft = {
        "proposer": "ngram",
        "gamma": 5,
        "confidence": 0,
        "drafts": 1,
        "tree": "paths",
        "nodes": 0,
    }
    assert run["options"]["draft"] == draft
    own = client.predict(prompt, max_new_tokens=12, gamma="auto", api_name="/run")["trace"]["setup"]
    assert own["options"]["draft"]["gamma"] == "auto"


def test_a_paired_comparison_judges_every_draft_by_both_rules(client):
    answer = client.predict(
        "Once upon a time",
        rule="hsd",
        other="tokenwise",
        max_new_tokens=24,
        seed=3,
        api_name="/compare",
    )
    steps = answer["runs"][0]["trace"]["steps"]
    assert answer["kept"] == [
        sum(s["kept"] for s in steps),
        sum(s["shadow"]["kept"] for s in steps),
    ]
    assert answer["differences"] == [
        i for i, s in enumerate(steps, 1) if s["kept"] != s["shadow"]["kept"]
    ]


def test_a_free_comparison_runs_each_rule_by_itself(client):
    options = {"max_new_tokens": 24, "seed": 3, "drafts": 3}
    answer = client.predict(
        "Once upon a time",
        rule="traversal",
        other="hsd",
        mode="free",
        **options,
        api_name="/compare",
    )
    alone = [
        client.predict("Once upon a time", rule=rule, **options, api_name="/run")
        for rule in ("traversal", "hsd")
    ]
    assert [r["text"] for r in answer["runs"]] == [r["text"] for r in alone]


def test_a_step_of_ones_own_is_judged_as_the_rule_judges_it(client):
    p = [[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]
    q = [[0.6, 0.4], [0.5, 0.5]]
    law = RULES["hsd"].law(torch.tensor(p).double(), torch.tensor(q).double(), torch.tensor([0, 1]))
    answer = client.predict(p, q, [0, 1], "hsd", api_name="/verify_step")
    assert answer["stop"] == pytest.approx(law.stop.tolist())
    assert answer["next"][0] == pytest.approx(law.next(0).tolist())
    assert sum(answer["stop"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("p", "q", "tokens", "words"),
    [
        ([[0.2, 0.7], [1, 0]], [[0.5, 0.5]], [0], "row 0 of p is no distribution"),
        ([[0.2, 0.8], [1, 0]], [[1.5, -0.5]], [0], "row 0 of q is no distribution"),
        ([[0.2, 0.8], [1]], [[0.5, 0.5]], [0], "p must be a list of rows of equal length"),
        (
            [[0.2, 0.8], [1, "x"]],
            [[0.5, 0.5]],
            [0],
            "p must be a list of rows of equal length, all of numbers",
        ),
        ([[0.2, 0.8], [1, 0]], [[0.5, 0.5]], [2], "tokens must be ids from 0 to 1"),
        ([[0.2, 0.8], [1, 0]], [[0.5, 0.5]], [0, 1], "do not fit"),
        ([], [], [], "p must be a list of rows"),
    ],
)
def test_a_step_that_is_none_is_answered_with_one_line(client, p, q, tokens, words):
    with pytest.raises(Exception, match=words):
        client.predict(p, q, tokens, "hsd", api_name="/verify_step")


def test_an_unknown_mode_of_comparison_is_answered_with_one_line(client):
    with pytest.raises(Exception, match="unknown mode 'both': choose paired or free"):
        client.predict("a", mode="both", api_name="/compare")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"prompt": "a", "drafts": 100}, "drafts 100: choose a whole number from 1 to 16"),
        ({"prompt": "a", "drafts": 0}, "drafts 0: choose a whole number from 1 to 16"),
        ({"prompt": "a", "rule": "traversal"}, "rule traversal is for several drafts"),
        (
            {"prompt": "a", "drafts": 2, "rule": "naive-hsd"},
            "rule naive-hsd does not fit several drafts",
        ),
        (
            {"prompt": "a", "drafts": 2, "tree": "top"},
            "drafts 2, tree 'top': rule hsd does not fit",
        ),
        (
            {"prompt": "a", "drafts": 16, "gamma": 32, "tree": "comb", "rule": "hsd"},
            "over the limit of 512",
        ),
        ({"prompt": ""}, "the prompt is empty"),
        ({"prompt": "a", "gamma": 99}, "draft length γ 99"),
        ({"prompt": "a", "pair": "x"}, "unknown pair"),
    ],
)
def test_a_bad_call_is_answered_with_one_line(client, values, words):
    with pytest.raises(Exception, match=words):
        client.predict(**values, api_name="/run")


def test_presets_are_listed_in_the_order_of_the_manifest_and_then_those_of_systems(client):
    names = [preset["name"] for preset in client.predict(api_name="/presets")]
    assert names == [*space.load().presets, *of_systems()]


def test_the_audit_proves_what_is_lossless(client):
    rules = client.predict(vocab=3, gamma=2, seed=1, api_name="/audit")["rules"]
    assert rules["hsd"]["total_variation"] < 1e-12
    assert rules["hsd-released"]["total_variation"] > 1e-6


def test_a_step_is_explained_by_key_by_name_or_from_its_trace(client):
    answer = client.predict("Once upon a time", max_new_tokens=12, seed=3, api_name="/run")
    trace = Trace.from_json(json.dumps(answer["trace"]))
    expected = step_in_words(trace, 1, facts.facts())
    assert client.predict(answer["key"], 2, api_name="/explain_step") == expected
    assert client.predict(answer["trace"], 2, api_name="/explain_step") == expected
    recorded = Trace.from_file(ROOT / "assets" / "traces" / "paris.json")
    assert client.predict("paris", 3, api_name="/explain_step") == step_in_words(
        recorded, 2, facts.facts()
    )


@pytest.mark.parametrize(
    ("named", "step", "words"),
    [
        ("paris", 9999, "no step 9999: its steps are"),
        ("paris", "two", "step must be a whole number"),
        ("no such run", 0, "is no recorded run, and no run that is still kept"),
        ({"trace_version": 2}, 0, "not a valid trace"),
        ([], 0, "is no recorded run"),
    ],
)
def test_a_step_that_cannot_be_explained_is_answered_with_one_line(client, named, step, words):
    with pytest.raises(Exception, match=words):
        client.predict(named, step, api_name="/explain_step")


def test_an_answer_without_its_trace_is_short(client):
    asked = {"prompt": "Once upon a time", "max_new_tokens": 12, "seed": 3, "with_trace": False}
    answer = client.predict(**asked, api_name="/run")
    compared = client.predict(**asked, api_name="/compare")
    assert set(answer) == set(compared["runs"][0]) == {"text", "summary", "key"}
    assert client.predict(compared["runs"][0]["key"], 1, api_name="/explain_step").startswith(
        "Step 1 of "
    )


def test_a_bad_audit_is_answered_with_one_line(client):
    with pytest.raises(Exception, match="vocab"):
        client.predict(vocab=0, gamma=2, seed=1, api_name="/audit")


def sent(app, path: str, **more) -> tuple[int, str]:
    """Status and answer of a request that is not as Gradio's own client sends it."""
    reply = httpx.post(f"{app.url}gradio_api/{path}", timeout=600, **more)
    return reply.status_code, reply.text


def test_values_that_are_left_out_are_said_and_may_be_named_instead(app):
    _, begun = sent(app, "call/run", json={"data": ["Once upon a time", "hsd"]})
    answer = httpx.get(
        f"{app.url}gradio_api/call/run/{json.loads(begun)['event_id']}", timeout=600
    ).text
    assert "event: error" in answer
    assert "name those that you give: POST to call/v2/run" in answer
    _, begun = sent(app, "call/v2/run", json={"prompt": "Once upon a time", "max_new_tokens": 4})
    answer = httpx.get(
        f"{app.url}gradio_api/call/v2/run/{json.loads(begun)['event_id']}", timeout=600
    ).text
    assert "event: complete" in answer


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("call/v2/no_such_endpoint", {"json": {}}),
        ("call/no_such_endpoint", {"json": {"data": []}}),
        (
            "call/v2/run",
            {"content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}},
        ),
        ("run/run", {"json": {"data": ["a run past the queue"]}}),
    ],
)
def test_requests_that_nobody_understands_get_one_line(app, path, more):
    status, words = sent(app, path, **more)
    assert 400 <= status < 500
    assert len(words) < 300
    assert "Traceback" not in words


@pytest.mark.parametrize("path", ["", "docs"])
def test_a_page_forbids_what_comes_from_elsewhere_and_needs_none_of_it(app, path):
    page = httpx.get(app.url + path, timeout=600)
    policy = dict(
        part.split(" ", 1) for part in page.headers["Content-Security-Policy"].split("; ")
    )
    assert (policy["default-src"], policy["script-src"], policy["connect-src"]) == (
        "'none'",
        "'self'",
        "'self'",
    )
    assert "http" not in page.headers["Content-Security-Policy"]
    assert "//" not in page.text.replace("<!--", "")


def test_every_endpoint_and_argument_is_on_the_page_about_them(app, client):
    page = httpx.get(f"{app.url}docs", timeout=600).text
    for name, endpoint in client.view_api(return_format="dict")["named_endpoints"].items():
        assert f"<code>{name}</code>" in page
        assert all(
            f"<code>{one['parameter_name']}</code>" in page for one in endpoint["parameters"]
        )


def test_what_repeats_something_endless_is_cut(client):
    with pytest.raises(gradio_client.exceptions.AppError) as told:
        client.predict("Once upon a time", mode="m" * 50_000, api_name="/compare")
    assert len(str(told.value)) < 600
