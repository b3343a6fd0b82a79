"""The page without a server: the exported folder, the single file, and the commands that write
them.

Most tests of what they show are those of the app's screens, marked `recorded`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from player_page import page
from running_app import Files
from web_page import Browser, Guest, address, show

from hsd import HsdError, Trace, space
from hsd.app import export
from hsd.app.page import SCREENS, single, with_run
from hsd.app.presets import of_systems
from hsd.cli import main
from hsd.paths import ASSETS, ROOT, TRACES

STORY = TRACES / "story.json"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>${1}>RUN<"
DRAWN = {
    "watch": "#hsd-tab-watch .hp-guess",
    "learn": "#hsd-tab-learn .hf-page",
    "speed": "#hsd-tab-speed .hf-race li",
    "systems": "#hf-fsd .hf-run",
    "lab": "#hsd-tab-lab .hf-rules",
}


@pytest.fixture(scope="module")
def lecture() -> list[str]:
    """What the links of a lecturer's ten minutes ask for."""
    notes = json.loads((ASSETS / "lessons" / "learn.json").read_text("utf-8"))["notes"]
    return [line["query"] for note in notes for line in note["lines"] if isinstance(line, dict)]


# ---- the folder


@pytest.mark.core
def test_every_screen_of_the_folder_is_drawn_by_its_own_files_and_keeps_to_its_policy(
    chromium: Browser, served: Files
):
    # a file that is not there, and a broken policy, are messages of the console
    guest = Guest(chromium, served.url)
    page = guest.page
    page.goto(served.url)
    assert "default-src 'none'" in page.get_attribute(
        "meta[http-equiv=Content-Security-Policy]", "content"
    )
    for screen in SCREENS:
        page.click(f"#hsd-tab-{screen}-button")
        page.locator(DRAWN[screen]).first.wait_for(state="attached")
        shown = page.locator("#hsd-main > [role=tabpanel] >> visible=true")
        assert [one.get_attribute("id") for one in shown.all()] == [f"hsd-tab-{screen}"]
    guest.close()


@pytest.mark.core
def test_what_would_need_the_app_is_absent_and_a_line_says_how_to_get_it(
    chromium: Browser, served: Files
):
    guest = Guest(chromium, served.url)
    page = guest.page
    page.goto(served.url)
    assert page.is_visible("#hsd-run")  # in the browser
    for screen in SCREENS:
        page.click(f"#hsd-tab-{screen}-button")
        page.locator(DRAWN[screen]).first.wait_for(state="attached")
        strip = page.locator(f"#hsd-tab-{screen}")
        for words in ("Run", "Race", "Cancel"):
            assert strip.get_by_role("button", name=words, exact=True).count() == 0, (screen, words)
    page.click("#hsd-tab-systems-button")
    lines = page.locator("#hsd-tab-systems .hp-elsewhere >> visible=true")
    assert lines.count() == 1
    lines.first.locator("a").click()
    assert "make demo" in page.inner_text("#hsd-live")
    guest.close()


def test_a_lecturers_ten_links_play_from_the_folder_without_anything_else(
    chromium: Browser, served: Files, lecture: list
):
    guest = Guest(chromium, served.url)  # a file that is not there is a message of the console
    for query in lecture:
        guest.page.goto(f"{served.url}?{query}")
        if "lesson" in query:
            screen = "learn"
        elif "tab=" in query:
            screen = query.removeprefix("tab=")
        else:
            screen = "watch"
        drawn = "dialog.hf-present[open] h2" if "present=1" in query else DRAWN[screen]
        guest.page.locator(f"{drawn} >> visible=true").first.wait_for()
        assert not guest.page.is_visible(".hf-alert"), query
    guest.page.goto(served.url + "?tab=learn")
    links = guest.page.locator(".hf-notes a")
    links.first.wait_for(state="attached")
    assert [urlsplit(link.get_attribute("href")).query for link in links.all()] == lecture
    guest.close()


def test_the_ten_links_of_the_notes_are_those_of_the_page_on_use(lecture: list):
    listed = re.findall(
        r"^\d+\. `(?:\./|\?(\S+))` –",
        (ROOT / "assets" / "docs" / "use.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert [query or "board=first" for query in listed] == lecture
    assert len(lecture) == 10


def test_a_theme_that_was_chosen_stays(chromium: Browser, served: Files):
    guest = Guest(chromium, served.url, color_scheme="light")
    page = guest.page
    page.goto(served.url + "?tab=lab&__theme=dark")
    dark = "document.documentElement.classList.contains('dark')"
    assert page.evaluate(dark)
    page.click("#hsd-theme")
    assert not page.evaluate(dark)
    page.click("#hsd-theme")
    page.goto(served.url)
    page.locator(DRAWN["watch"]).first.wait_for()
    assert page.evaluate(dark)
    page.evaluate("localStorage.removeItem('hsd-theme')")
    guest.close()


def test_each_answer_of_the_folder_is_one_of_the_apps(folder: Path):
    page = json.loads((folder / "data" / "page.json").read_text())
    for name, known in page["recorded"].items():
        files = {path.stem for path in (folder / "data" / name).iterdir()}
        assert files == set(known["keys"]), name
    story = json.loads((folder / "data" / "preset" / "story.json").read_text())
    assert Trace.from_json(json.dumps(story["trace"])).text == Trace.from_file(STORY).text
    assert set(page["recorded"]["preset"]["keys"]) == {*space.load().presets, *of_systems()}


def test_a_static_space_reads_its_settings_from_the_folder(folder: Path):
    text = (folder / "README.md").read_text()
    card = yaml.safe_load(text.split("---\n")[1])
    assert (card["sdk"], card["app_file"], card["title"]) == (
        "static",
        "index.html",
        space.load().title,
    )
    assert not {"sdk_version", "python_version", "suggested_hardware"} & set(card)
    assert space.check(folder / "README.md", "static") == []
    assert {"2211.17192", "2403.10444", "2601.05724"} <= set(
        re.findall(r"https://arxiv\.org/abs/([\d.]+)", text)
    )


def test_the_folder_is_small_and_holds_nothing_but_what_the_page_reads(folder: Path):
    files = [path for path in folder.rglob("*") if path.is_file()]
    model = [
        path for path in files if path.suffix == ".wasm" or ".safetensors" in path.name
    ]  # read when a visitor wants it
    assert sum(path.stat().st_size for path in files if path not in model) < 14_500_000
    assert sum(path.stat().st_size for path in model) < 19_000_000
    assert {path.suffix for path in {*files} - {*model}} == {
        ".html",
        ".js",
        ".css",
        ".json",
        ".md",
        ".LICENSE",
        ".png",
    }


@pytest.fixture(scope="module")
def check(chromium: Browser) -> Iterator[Callable[[object], dict]]:
    """Judges a trace, or a text, as the folder's page does."""
    guest = Guest(chromium, address())
    show(guest.page, page())
    judge = (
        "async ([text, schema]) => (await import('./answers/check.js')).check(text, schema, 32e6)"
    )
    schema = Trace.schema_for_others()

    def judged(trace: object) -> dict:
        text = trace if isinstance(trace, str) else json.dumps(trace)
        return guest.page.evaluate(judge, [text, schema])

    yield judged
    guest.close()


@pytest.mark.parametrize("file", sorted(TRACES.glob("*.json")), ids=lambda file: file.stem)
def test_every_recorded_trace_can_be_opened_in_the_folder(check, file: Path):
    opened = check(file.read_text())["trace"]
    assert Trace.from_json(json.dumps(opened)).to_json() == Trace.from_file(file).to_json()


def changed(change: Callable[[dict], object]) -> dict:
    trace = json.loads(STORY.read_text())
    change(trace)
    return trace


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t["steps"][0]["nodes"][0].update(p=2),
        lambda t: t["steps"][0]["nodes"][0].update(p="one"),
        lambda t: t["steps"][0]["nodes"][1].update(parent=2),
        lambda t: t["steps"][0]["nodes"][1].update(id=7),
        lambda t: t["steps"][0].update(kept=-1),
        lambda t: t["steps"][0].pop("committed"),
        lambda t: t.update(strange=1),
        lambda t: t["setup"]["models"].clear(),
        lambda t: t["result"].update(text="\ud800"),
        lambda t: t["result"].update(finish="never"),
        lambda t: t.update(steps="none"),
    ],
)
def test_what_the_app_refuses_as_a_trace_the_folder_refuses_too(check, change):
    trace = changed(change)
    with pytest.raises(HsdError):
        Trace.from_json(json.dumps(trace))
    error = check(trace)["error"]
    assert error.startswith("not a valid trace: ")
    assert "\n" not in error


def test_parts_that_a_trace_leaves_out_get_the_defaults_of_its_format(check):
    trace = changed(lambda t: [step.pop("growth") for step in t["steps"] if "growth" in step])
    opened = check(trace)["trace"]
    assert all("growth" in step for step in opened["steps"])
    assert (
        Trace.from_json(json.dumps(opened)).to_json()
        == Trace.from_json(json.dumps(trace)).to_json()
    )


# ---- the single file


def opened(chromium: Browser, file: Path, **options: object) -> Guest:
    """Someone who opens this file without any network; its own policy holds."""
    guest = Guest(chromium, file.as_uri(), offline=True, **options)
    guest.page.goto(file.as_uri())
    guest.page.locator(".hp-guess >> visible=true").first.wait_for()
    return guest


@pytest.mark.core
@pytest.mark.parametrize("width", [1280, 390])
def test_a_run_in_one_file_opens_from_a_disk_without_a_network(
    chromium: Browser, tmp_path: Path, width: int
):
    file = tmp_path / "run.html"
    assert (
        main(
            [
                "space",
                "export",
                "--html",
                str(STORY),
                "-o",
                str(file),
                "--step",
                "3",
                "--title",
                "A <b>run</b>",
            ]
        )
        == 0
    )
    guest = opened(chromium, file, width=width)
    page = guest.page
    assert page.evaluate("[window.__hsd.step, window.__hsd.steps]") == [
        2,
        len(Trace.from_file(STORY).steps),
    ]
    assert page.inner_text("h1") == "A <b>run</b>"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".hp-board [data-term] >> visible=true").first.hover()
    page.locator("#hp-tip").wait_for()
    page.locator(".hf-player").focus()
    page.keyboard.press("End")
    assert page.evaluate("window.__hsd.step === window.__hsd.steps - 1")
    assert (
        page.locator(".hp-tools button", has_text=re.compile("^(Copy link|Embed|HTML)$")).count()
        == 0
    )
    guest.close()


@pytest.mark.core
def test_hostile_tokens_in_one_file_are_only_text(chromium: Browser, tmp_path: Path):
    trace = json.loads(STORY.read_text())
    for part in [c for step in trace["steps"] for c in [*step["committed"], *step["nodes"]]]:
        part["piece"] = HOSTILE
    trace["result"]["text"] = trace["prompt"]["text"] = trace["setup"]["pair"] = HOSTILE
    file = tmp_path / "run.html"
    file.write_text(single(Trace.from_json(json.dumps(trace)), title=HOSTILE), encoding="utf-8")
    guest = opened(chromium, file)
    assert HOSTILE in guest.page.inner_text("h1")
    assert "<script>window.hacked=1</script>" in guest.page.inner_text(".hp-flow")
    assert guest.page.evaluate("window.hacked") is None
    assert guest.page.locator("img").count() == 0
    guest.close()


def test_the_file_prints_in_light_colours_without_its_buttons(chromium: Browser, tmp_path: Path):
    file = tmp_path / "run.html"
    file.write_text(single(Trace.from_file(STORY)), encoding="utf-8")
    guest = opened(chromium, file, color_scheme="dark")
    page = guest.page
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#hsd-theme").is_visible()
    assert not page.locator(".hp-tools").is_visible()
    assert page.locator(".hp-board").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.classList.contains('dark')")
    page.emulate_media(media="screen")
    guest.close()


@pytest.mark.recorded
def test_the_players_button_saves_the_file_that_the_command_writes(
    visitors, chromium: Browser, tmp_path: Path
):
    visitor = visitors().open("?preset=story&step=4", options=False)
    visitor.until("window.__hsd.step === 4")
    visitor.page.select_option(".hp-lane-rule", "blockwise")
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("button", name="HTML", exact=True).click()
    file = tmp_path / "saved.html"
    download.value.save_as(file)
    guest = opened(chromium, file)
    assert guest.page.evaluate("window.__hsd.step") == 4
    assert guest.page.inner_text("h1") == "HSD, hierarchical, step by step"
    prompt = Trace.from_file(STORY).prompt.text
    line = (
        f"A file with one recorded run, which needs no network. Prompt: “{prompt}” "
        "Open it where it was saved"
    )
    assert guest.page.inner_text(".hf-sentence") == line
    lanes = "(all) => all.map((one) => one.textContent)"
    wanted = visitor.page.eval_on_selector_all(".hp-trial", lanes)
    assert guest.page.eval_on_selector_all(".hp-trial", lanes) == wanted
    link = guest.page.locator(".hf-under a", has_text="where it was saved")
    assert link.get_attribute("href") == visitor.page.url
    guest.page.locator(".hf-player").focus()
    guest.page.keyboard.press("Shift+ArrowLeft")
    back = visitors().open("?" + urlsplit(link.get_attribute("href")).query, options=False)
    back.until("window.__hsd.step === 3 && location.search.includes('judge=blockwise')")
    guest.close()
    written = single(Trace.from_file(STORY), step=5)
    saved = file.read_text(encoding="utf-8")
    without_run = re.compile(r'(id="hsd-one-run">).*?(</script>)', re.DOTALL)
    assert without_run.sub(r"\1\2", saved) == without_run.sub(r"\1\2", written)


@pytest.mark.core
@pytest.mark.parametrize(
    "address", ["javascript:window.hacked=1", "file:///etc/passwd", "http://", "", None]
)
def test_a_file_links_to_pages_of_servers_only(
    chromium: Browser, tmp_path: Path, address: str | None
):
    file = tmp_path / "run.html"
    trace = Trace.from_file(STORY).model_dump(mode="json")
    file.write_text(
        with_run({"trace": trace, "step": 0, "title": "", "from": address}), encoding="utf-8"
    )
    guest = opened(chromium, file)
    assert guest.page.locator("#hsd-app .hf-under a").count() == 0
    guest.close()


@pytest.mark.recorded
def test_the_file_of_a_trace_from_a_disk_leads_to_the_page_or_carries_it(
    visitors, chromium: Browser, tmp_path: Path
):
    for name, carried in (("sum.json", True), ("lighthouse.json", False)):
        visitor = visitors().open(options=False)
        visitor.page.set_input_files(".hf-file", TRACES / name)
        visitor.until_source("trace file")
        with visitor.page.expect_download() as download:
            visitor.page.get_by_role("button", name="HTML", exact=True).click()
        file = tmp_path / f"{name}.html"
        download.value.save_as(file)
        guest = opened(chromium, file)
        link = guest.page.get_attribute(".hf-under a", "href")
        assert ("#trace=" in link) == ("step=" in link) == carried
        assert link.startswith(visitor.app.url)
        guest.close()


# ---- the commands


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The line with which a command refuses."""
    assert main(["space", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(capsys, tmp_path: Path):
    (tmp_path / "index.html").write_text("<p>mine</p>")
    assert "is not empty, and no export" in refused(capsys, "export", "--static", str(tmp_path))
    assert "is a file" in refused(capsys, "export", "--static", str(tmp_path / "index.html"))
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_a_folder_that_cannot_be_written_is_one_line(capsys, monkeypatch, tmp_path: Path):
    (tmp_path / "file").write_text("")
    assert "cannot write" in refused(
        capsys, "export", "--static", str(tmp_path / "file" / "inside")
    )

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    assert "Permission denied" in refused(capsys, "export", "--static", str(tmp_path / "new"))
    monkeypatch.setattr("hsd.cli.space.save", denied)
    line = refused(capsys, "export", "--html", str(STORY), "-o", str(tmp_path / "run.html"))
    assert "Permission denied" in line


def test_an_export_takes_the_place_of_an_older_one_and_of_nothing_else(monkeypatch, tmp_path: Path):
    index = f'{export.MARK}0.1.0">'.encode()
    monkeypatch.setattr(
        export,
        "site",
        lambda *_, **__: {"index.html": lambda: index, "data/old.json": lambda: b"{}"},
    )
    export.write(tmp_path / "page", space.load())
    (tmp_path / "page" / ".git").mkdir()
    (tmp_path / "page" / "notes.txt").write_text("mine")
    monkeypatch.setattr(
        export,
        "site",
        lambda *_, **__: {"index.html": lambda: index, "data/new.json": lambda: b"{}"},
    )
    written = export.write(tmp_path / "page", space.load())
    names = ["README.md", "new.json", "hsd-step.js", "index.html"]
    assert [path.name for path in written] == names
    kept = {
        path.relative_to(tmp_path / "page").as_posix() for path in (tmp_path / "page").rglob("*")
    }
    own = {"README.md", "hsd-step.js", "index.html", "data", "data/new.json"}
    assert kept == {".git", "notes.txt", *own}


def test_bad_traces_steps_and_options_are_one_line(capsys, tmp_path: Path):
    assert "cannot read" in refused(capsys, "export", "--html", str(tmp_path / "none.json"))
    (tmp_path / "bad.json").write_text("{}")
    assert "not a trace" in refused(capsys, "export", "--html", str(tmp_path / "bad.json"))
    out = ["-o", str(tmp_path / "run.html")]
    assert "there is no step 99" in refused(
        capsys, "export", "--html", str(STORY), *out, "--step", "99"
    )
    assert "existing folder" in refused(
        capsys, "export", "--html", str(STORY), "-o", str(tmp_path / "no" / "run.html")
    )
    assert "--address is for --static" in refused(
        capsys, "export", "--html", str(STORY), *out, "--address", "https://x/"
    )
    assert "--step is for --html" in refused(
        capsys, "export", "--static", str(tmp_path / "new"), "--step", "1"
    )
    assert "name the Space" in refused(capsys, "publish")
    assert not (tmp_path / "run.html").exists()


def test_a_dry_run_lists_every_setting_and_file_of_both_kinds(capsys, monkeypatch, folder: Path):
    assert main(["space", "publish", "--dry-run"]) == 0
    told = capsys.readouterr().out
    for line in (
        "sdk: gradio",
        f"python_version: '{space.load().python_version}'",
        "suggested_hardware: cpu-basic",
    ):
        assert line in told.splitlines()
    assert [
        line.split()[1] for line in told.splitlines() if re.match(r"\s*[\d,]+  \S", line)
    ] == space.space_files()
    told = "\n".join(space.listing("static", folder))
    assert "sdk: static" in told.splitlines()
    # for threads in the browser
    assert "  cross-origin-embedder-policy: require-corp" in told.splitlines()
    assert "python_version" not in told
    files = [line.split()[1] for line in told.splitlines() if re.match(r"\s*[\d,]+  \S", line)]
    assert files == sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
    assert {"index.html", "README.md", "data/page.json"} <= set(files)


@pytest.mark.parametrize("width", [1920, 1280, 1199, 1024, 768, 390])
def test_nothing_in_the_head_of_a_file_lies_over_anything_else(
    chromium: Browser, tmp_path: Path, width: int
):
    data = json.loads((TRACES / "paris.json").read_text())
    data["setup"]["pair"] = "a pair with quite a long name, " * 2
    data["prompt"]["text"] = "a prompt with many words " * 30
    for name, trace in (
        ("short", Trace.from_file(TRACES / "paris.json")),
        ("long", Trace.from_json(json.dumps(data))),
    ):
        file = tmp_path / f"{name}.html"
        file.write_text(single(trace), encoding="utf-8")
        guest = opened(chromium, file, width=width)
        boxes = guest.page.evaluate(
            """() => [...document.querySelectorAll(
                 ".hf-title, .hf-tools, .hf-sentence, .hf-chip, .hf-outcome-part, .hp-card")]
              .filter((element) => element.checkVisibility())
              .map((element) => [element.className, element.getBoundingClientRect().toJSON()])"""
        )
        for (one, a), (other, b) in itertools.combinations(boxes, 2):
            apart_across = a["right"] <= b["left"] + 1 or b["right"] <= a["left"] + 1
            assert apart_across or a["bottom"] <= b["top"] + 1 or b["bottom"] <= a["top"] + 1, (
                name,
                one,
                other,
            )
        assert guest.page.locator(".hp-flow").first.bounding_box()["height"] > 40, (
            "there is room for the text"
        )
        guest.close()
