"""What a language model finds where the package `mcp` is installed: the endpoints as tools, and
words about them.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from gradio.utils import get_function_description
from running_app import Server

from hsd.app.endpoints import endpoints
from hsd.app.presets import of_systems
from hsd.paths import TRACES
from hsd.space import load
from hsd.trace import Trace

TOOLS = {"run", "compare", "verify_step", "explain_step", "presets", "audit", "decode", "race"}


def test_every_endpoint_says_what_it_does_and_what_each_argument_is():
    functions = endpoints(load(), {})
    assert {function.__name__ for function in functions} == TOOLS
    for endpoint in functions:
        words, arguments, _ = get_function_description(endpoint)
        assert len(words) > 60
        assert all(len(said) > 10 for said in arguments.values()), (endpoint.__name__, arguments)


def asked(app: Server, questions: Callable[[Any], Awaitable[None]]) -> None:
    """Connect to the app as a model's client does, and ask."""
    mcp = pytest.importorskip(
        "mcp", reason="the package mcp is not installed, so the app has no tools"
    )
    from mcp.client.streamable_http import streamable_http_client

    async def connected() -> None:
        async with (
            streamable_http_client(f"{app.url}gradio_api/mcp/") as (read, write, _),
            mcp.ClientSession(read, write) as session,
        ):
            await session.initialize()
            await questions(session)

    asyncio.run(asyncio.wait_for(connected(), 600))


async def answer(session: Any, name: str, **arguments: Any) -> Any:
    """What a tool answers: its text, which for anything but text is Python's."""
    result = await session.call_tool(name, arguments)
    assert not result.isError, result.content
    text = result.content[0].text
    return text if name == "explain_step" else ast.literal_eval(text)


def test_a_model_finds_every_tool_and_a_description_of_each_argument(app):
    async def questions(session: Any) -> None:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(tools) == TOOLS
        for tool in tools.values():
            assert "Args:" not in tool.description
            assert all(one["description"] for one in tool.inputSchema["properties"].values()), (
                tool.name
            )
        # what somebody sees who opens the address
        page = httpx.get(f"{app.url}gradio_api/mcp/", timeout=600)
        assert page.status_code == 200
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        assert tools["run"].inputSchema["required"] == ["prompt"]
        assert tools["explain_step"].inputSchema["required"] == ["trace", "step"]

    asked(app, questions)


def test_a_model_can_run_compare_and_have_a_step_explained(app):
    async def questions(session: Any) -> None:
        how = {"prompt": "Once upon a time", "max_new_tokens": 12, "seed": 3, "with_trace": False}
        run = await answer(session, "run", **how)
        assert set(run) == {"text", "summary", "key"}
        assert (await answer(session, "explain_step", trace=run["key"], step=1)).startswith(
            "Step 1 of "
        )
        compared = await answer(session, "compare", **how)
        assert compared["runs"][0]["text"] == run["text"]
        assert compared["kept"][0] == run["summary"]["kept"]
        whole = await answer(session, "run", **{**how, "with_trace": True})
        assert len(whole["trace"]["steps"]) == run["summary"]["steps"]
        assert (await answer(session, "explain_step", trace=whole["trace"], step=2)).startswith(
            "Step 2 of "
        )

    asked(app, questions)


def test_a_model_can_ask_what_needs_no_run(app):
    async def questions(session: Any) -> None:
        names = [preset["name"] for preset in await answer(session, "presets")]
        assert names == [*load().presets, *of_systems()]
        steps = len(Trace.from_file(TRACES / f"{names[0]}.json").steps)
        assert f"Step 1 of {steps}." in await answer(
            session, "explain_step", trace=names[0], step=1
        )
        law = await answer(
            session, "verify_step", p=[[0.5, 0.5], [0.5, 0.5]], q=[[0.8, 0.2]], tokens=[0]
        )
        assert law["expected_kept"] == pytest.approx(0.5 / 0.8)
        audited = await answer(session, "audit", vocab=2, gamma=2)
        assert audited["rules"]["hsd"]["lossless"] is True

    asked(app, questions)


def test_what_a_model_asks_wrongly_is_answered_with_one_line(app):
    async def questions(session: Any) -> None:
        for name, arguments, words in (
            ("run", {"prompt": ""}, "the prompt is empty"),
            ("explain_step", {"trace": "paris", "step": 9999}, "no step 9999"),
            ("explain_step", {"trace": "paris", "step": 0}, "no step 0: its steps are 1 to"),
            (
                "verify_step",
                {"p": [[0.5, 0.6]] * 2, "q": [[0.5, 0.5]], "tokens": [0]},
                "row 0 of p is no distribution",
            ),
        ):
            result = await session.call_tool(name, arguments)
            assert result.isError
            assert words in result.content[0].text
            assert len(result.content[0].text) < 300

    asked(app, questions)
