"""The site: what the page asks of files is there, each file as small and as lasting as it says."""

from __future__ import annotations

import json
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import brotli
import httpx
import pytest

from hsd import HsdError, Trace, space
from hsd.app import element, race
from hsd.app.export import write
from hsd.app.server import FOREVER
from hsd.app.site import folder_of_modules, key_of, site
from hsd.paths import TRACES

SPACE = space.load()
HOST = "http://127.0.0.1"


def named(text: str) -> set[str]:
    """The paths that a page loads."""
    found: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            found.update(
                str(value) for name, value in attributes if name in ("src", "href") and tag != "a"
            )

    Reader().feed(text)
    return {path for path in found if not path.startswith("data:")}


@cache
def contents(answers: str) -> dict[str, bytes]:
    """Every file of a site, made once."""
    return {path: content() for path, content in site(SPACE, answers).items()}


@pytest.mark.parametrize("answers", ["server", "files"])
def test_whatever_the_page_loads_and_may_ask_of_files_is_there(answers: str):
    files = contents(answers)
    page = files["index.html"].decode()
    assert f'data-answers="{answers}"' in page
    assert "{{" not in page
    assert named(page) <= files.keys()
    recorded = json.loads(files["data/page.json"])["recorded"]
    for name, known in recorded.items():
        for key in known["keys"]:
            assert json.loads(files[f"data/{name}/{key}.json"]), (name, key)
    assert {
        name.split("/")[1] for name in files if name.startswith("data/") and name.count("/") > 1
    } == set(recorded)


def test_a_server_and_a_folder_have_the_same_files_but_for_who_answers():
    server = contents("server")
    files = contents("files")
    assert server.keys() == files.keys()
    assert [path for path in server if server[path] != files[path]] == ["index.html"]


def test_the_page_is_told_how_fast_the_pairs_were_in_their_races():
    told = json.loads(site(space.load(), "files")["data/page.json"]())
    assert told["speeds"] == race.speeds()
    assert set(told["speeds"]) == {"qwen-coder", "smollm2"}


def test_the_name_of_an_answers_file_is_made_of_what_is_asked():
    assert key_of("a b/../c") == "a-b-..-c"


def test_a_trace_that_is_opened_is_shown_first():
    trace = Trace.from_file(TRACES / "paris.json")
    assert json.loads(site(SPACE, "server", trace)["data/page.json"]())["opened"] is True


def test_a_preset_that_is_not_recorded_is_refused():
    with pytest.raises(HsdError, match=r"the Spacefile names a preset .* 'nothing'"):
        site(SPACE.model_copy(update={"presets": ["nothing"]}), "files")


def test_an_export_is_the_site_and_a_page_about_it(tmp_path: Path):
    written = {path.relative_to(tmp_path).as_posix() for path in write(tmp_path / "out", SPACE)}
    more = ["README.md", element.SCRIPT]
    assert written == {f"out/{path}" for path in [*site(SPACE, "browser"), *more]}


# ---- served


def got(app: Any, path: str, **headers: str) -> httpx.Response:
    return httpx.get(
        app.url + path, headers={"Accept-Encoding": "identity", **headers}, timeout=600
    )


def test_what_cannot_change_under_its_path_is_kept_for_ever_and_the_rest_is_asked_again(app):
    page = got(app, "")
    assert page.headers["Cache-Control"] == "no-cache"
    assert got(app, "", **{"If-None-Match": page.headers["ETag"]}).status_code == 304
    lasting = got(app, f"{folder_of_modules()}page.js")
    assert lasting.headers["Cache-Control"] == FOREVER
    assert lasting.headers["Content-Type"].startswith("text/javascript")


def test_files_are_packed_for_those_who_take_them_so(app):
    plain = got(app, f"{folder_of_modules()}facts.json").content
    with httpx.stream(
        "GET", f"{app.url}{folder_of_modules()}facts.json", headers={"Accept-Encoding": "br"}
    ) as answer:
        packed = b"".join(answer.iter_raw())
    assert answer.headers["Content-Encoding"] == "br"
    assert brotli.decompress(packed) == plain
    assert len(packed) < len(plain) / 3


@pytest.mark.parametrize(
    "path", ["data/preset/nothing.json", "web/../app.py", "web/%2e%2e/%2e%2e/app.py", "data/"]
)
def test_nothing_else_is_served(app, path: str):
    assert got(app, path).status_code == 404


def test_questions_are_answered_with_data_or_with_one_line(app):
    def ask(question: str, **asked: Any) -> Any:
        return httpx.post(f"{app.url}answers/{question}", json=asked, timeout=600)

    levels = ask("pair", name="tiny").json()["levels"]
    assert levels["models"] == ["tiny smallest", "tiny draft", "tiny target"]
    assert (levels["layers"], levels["exits"], levels["thresholds"]) == (8, [2, 4], [2, 4])
    assert ask("downloads").json()["here"][0]["name"] == "tiny"
    assert ask("opened").json() is None
    trace = (TRACES / "paris.json").read_text(encoding="utf-8")
    assert ask("check", text=trace).json()["trace"]["prompt"]
    for name, asked, words in (
        ("pair", {"name": "nobody"}, "unknown pair 'nobody'"),
        ("check", {"text": "[" * 10_000}, "this file is not JSON"),
        ("plan_stack", {"costs": ["x"]}, ""),
        ("nothing", {}, "not understood"),
    ):
        error = ask(name, **asked).json()["error"]
        assert words in error
        assert "\n" not in error
        assert len(error) < 600
