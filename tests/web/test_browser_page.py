"""The exported page decodes by itself: it asks before it loads a model, refuses a wrong one, and
shows its runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from running_app import Files
from small_gguf import VOCAB, write_gguf
from web_page import Browser, Guest

import hsd
from hsd.app import browser
from hsd.models.loading import fetch, load_pair

FILE = fetch.fetched_file("smollm2")  # every test has an empty home of its own
real = pytest.mark.skipif(FILE is None, reason="run python -m hsd fetch smollm2")
PROMPT = "What is the capital of France?"


class Page(Guest):
    """Someone who keeps to the page's policy, on a browser that has kept nothing."""

    def __init__(self, browser: Browser, files: Files) -> None:
        super().__init__(browser, files.url, serious=("error",))
        self.page.goto(files.url)
        self.page.evaluate("caches.delete('hsd-models')")
        self.page.goto(files.url)
        # what is drawn first is only a picture
        self.page.locator(".hf-device", has_text="in this browser").wait_for()

    def ask(self, prompt: str) -> Any:
        """Press Run; the question that comes."""
        self.page.fill("#hsd-prompt textarea", prompt)
        self.page.click("#hsd-run")
        question = self.page.locator("dialog.hf-consent")
        question.wait_for()
        return question

    def told(self, words: str) -> None:
        self.page.locator(".hf-alert:not([hidden])", has_text=words).wait_for()


@pytest.fixture
def guest(chromium: Browser, served: Files) -> Iterator[Page]:
    page = Page(chromium, served)
    yield page
    page.close()


def test_nothing_is_loaded_before_a_visitor_agrees(guest: Page):
    asked: list[str] = []
    guest.page.on("request", lambda request: asked.append(request.url))
    question = guest.ask(PROMPT)
    assert browser.FOLDER not in " ".join(asked)
    assert "98 MB" in question.inner_text()
    assert "Apache-2.0" in question.inner_text()
    question.get_by_role("button", name="Not now").click()
    guest.told("nothing was loaded: press Run to be asked again")
    assert guest.page.is_enabled("#hsd-run")
    guest.ask(PROMPT)
    guest.page.keyboard.press("Escape")
    guest.told("nothing was loaded")


def test_a_file_that_is_not_the_model_is_never_run(guest: Page, tmp_path: Path):
    wrong = tmp_path / "short.gguf"
    wrong.write_bytes(b"GGUF")
    question = guest.ask(PROMPT)
    question.locator("input").set_input_files(wrong)
    guest.told("short.gguf is not SmolLM2-135M-Instruct.gguf: it has 4 bytes")
    assert guest.page.locator(".hf-source").inner_text().startswith("recorded")


def test_a_file_of_the_right_length_and_other_bytes_is_refused(guest: Page, tmp_path: Path):
    wrong = tmp_path / "wrong.gguf"
    with wrong.open("wb") as file:
        file.truncate(fetch.MODELS["smollm2"].gguf_bytes)
    question = guest.ask(PROMPT)
    question.locator("input").set_input_files(wrong)
    guest.told("is damaged, or another file")
    assert guest.ask(PROMPT).is_visible()  # nothing of it was kept
    guest.page.keyboard.press("Escape")


def test_a_download_that_breaks_off_is_told_and_begun_again(guest: Page):
    head = f"**/{browser.HEAD_PATH}.1"
    guest.page.route(head, lambda route: route.fulfill(body=b"short"))
    weights = {
        "name": "any.gguf",
        "mimeType": "application/octet-stream",
        "buffer": b"read after the draft",
    }
    guest.ask(PROMPT).locator("input").set_input_files(weights)
    guest.told("the draft came only in part: press Run to load the rest")
    guest.page.unroute(head)
    asked: list[str] = []
    guest.page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    guest.ask(PROMPT).locator("input").set_input_files(weights)
    guest.told("any.gguf is not ")
    pieces = [name for name in asked if name.startswith("head.safetensors.")]
    assert pieces[0] == "head.safetensors.1", "what came whole is kept"


def laid(file: Path, site: Path, size: int) -> list[dict[str, Any]]:
    """Put the file's pieces of `size` bytes into a site, as the export does; what the page is told
    of them.
    """
    path = f"{browser.FOLDER}{file.name}"
    content = file.read_bytes()
    parts = [content[at : at + size] for at in range(0, len(content), size)]
    for i, part in enumerate(parts):
        (site / f"{path}.{i}").write_bytes(part)
    hashes = [sha256(part).hexdigest() for part in parts]
    return [
        {"path": f"{path}.{i}", "bytes": len(x), "sha256": hashes[i]} for i, x in enumerate(parts)
    ]


def with_another_model(folder: Path, place: Path) -> None:
    """Copy an export to `place`/page, with weights that are three pieces of a GGUF file which says
    so little of itself that it is refused, after everything else has worked.
    """
    shutil.copytree(folder, place / "page")
    told = place / "page" / "data" / "page.json"
    page = json.loads(told.read_text())
    # no tensor, one field: a text
    beginning = b"GGUF" + struct.pack("<IQQQ1sIQ", 3, 0, 1, 1, b"a", 8, 2955)
    (place / "any.gguf").write_bytes(beginning + b"a" * 955 + b"b" * 1000 + b"c" * 1000)
    pieces = laid(place / "any.gguf", place / "page", 1000)
    page["browser"]["files"]["weights"] = {"name": "any.gguf", "bytes": 3000, "pieces": pieces}
    told.write_text(json.dumps(page))


@pytest.fixture
def pieces(chromium: Browser, folder: Path, tmp_path: Path) -> Iterator[Page]:
    """A page of `with_another_model`."""
    with_another_model(folder, tmp_path)
    files = Files(tmp_path, "page/")
    guest = Page(chromium, files)
    yield guest
    guest.page.evaluate("caches.delete('hsd-models')")
    guest.close()
    files.stop()


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"body": b"short"}, "any.gguf came only in part: press Run to load the rest"),
        ({"body": b"x" * 1000}, "any.gguf is damaged, or another file"),
        ({"body": b"x" * 1001}, "any.gguf is another file"),
        ({"status": 404}, "any.gguf cannot be read: check the connection"),
    ],
    ids=["cut short", "other bytes", "too long", "not there"],
)
def test_a_download_goes_on_from_the_last_whole_piece(
    pieces: Page, answer: dict[str, Any], words: str
):
    page = pieces.page
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    page.route("**/any.gguf.1", lambda route: route.fulfill(**answer))
    question = pieces.ask(PROMPT)
    question.get_by_role("button", name="Load").click()
    pieces.told(words)
    assert [name for name in asked if "any" in name] == ["any.gguf.0", "any.gguf.1"]

    page.unroute("**/any.gguf.1")
    page.reload()
    page.locator(".hf-device", has_text="in this browser").wait_for()
    asked.clear()
    question = pieces.ask(PROMPT)
    assert "0 MB, once" in question.inner_text()
    question.get_by_role("button", name="Load").click()
    pieces.told("this file holds another model")  # it is whole, and only now it is known
    assert [name for name in asked if ".gguf." in name or ".safetensors." in name] == [
        "any.gguf.1",
        "any.gguf.2",
    ]


def test_two_tabs_that_load_at_once_fetch_each_piece_once(pieces: Page):
    page = pieces.page
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
    second = page.context.new_page()
    second.goto(page.url)
    second.locator(".hf-device", has_text="in this browser").wait_for()
    pieces.ask(PROMPT)
    second.fill("#hsd-prompt textarea", PROMPT)
    second.click("#hsd-run")
    for tab in (page, second):
        tab.locator("dialog.hf-consent").get_by_role("button", name="Load").click()
    for tab in (page, second):
        tab.locator(".hf-alert:not([hidden])", has_text="this file holds another model").wait_for()
    fetched = [name for name in asked if ".gguf." in name or ".safetensors." in name]
    assert len(fetched) == len(set(fetched)) > 3
    second.close()


def test_what_only_the_app_can_do_is_told_without_a_question(guest: Page):
    guest.page.goto(guest.page.url.split("?")[0] + "?prompt=Once&pair=smollm2&drafts=3")
    guest.told(
        "this page judges one draft at a time: choose drafts 1, or run the app, as this page's "
        "foot says"
    )
    assert not guest.page.locator("dialog.hf-consent").is_visible()


def test_without_vector_instructions_recorded_runs_stay(chromium: Browser, served: Files):
    guest = Guest(chromium, served.url)
    guest.page.add_init_script("WebAssembly.validate = () => false")
    guest.page.goto(served.url + "?prompt=Once")
    guest.page.locator(
        ".hf-alert:not([hidden])", has_text="lacks WebAssembly's vector instructions"
    ).wait_for()
    guest.page.locator(".hp-guess, .hp-node").first.wait_for()
    assert not guest.page.is_visible("#hsd-run")
    reason = guest.page.inner_text("#hsd-strip .hf-refused")
    assert reason.startswith("This browser lacks WebAssembly's vector instructions")
    foot = guest.page.inner_text("#hsd-live")
    assert foot.startswith(reason)
    assert "decoded in this browser" not in foot
    guest.page.close()  # with it goes the script
    guest.close()


@real
def test_a_prompt_that_is_typed_is_decoded_and_kept_for_the_next_visit(guest: Page, monkeypatch):
    page = guest.page
    question = guest.ask(PROMPT)
    assert FILE is not None
    question.locator("input").set_input_files(FILE)
    page.locator(".hf-source", has_text="● live").wait_for()
    page.locator("#hsd-run:enabled").wait_for()
    assert page.locator(".hf-device").inner_text() == "in this browser"
    outcome = page.locator(".hf-outcome").inner_text()
    assert ("one thread decodes" in outcome) == ((os.cpu_count() or 1) > 1)
    # what a check costs is said where times are steady
    checks = re.findall("here a check of .*", outcome)
    tries = r"here a check of 3 rows costs [\d.]+ passes \([\d.]+ to [\d.]+ in \d tries\); .*"
    assert all(re.fullmatch(tries, check) for check in checks)

    page.goto(
        page.url.split("?")[0]
        + "?prompt=What+is+the+capital+of+France%3F&temperature=0&gamma=2&max_new_tokens=12"
    )
    page.locator(".hf-source", has_text="● live").wait_for()  # without a question
    page.locator("#hsd-run:enabled").wait_for()
    page.click("#hsd-run")
    page.locator("#hsd-run:enabled").wait_for()
    assert "one thread decodes" not in page.locator(".hf-outcome").inner_text(), "said once"
    assert "The capital of France is Paris." in page.inner_text(".hp-flow").replace("\u00a0", " ")
    with page.expect_download() as saved:
        page.get_by_role("button", name="JSON", exact=True).click()
    trace = hsd.Trace.from_file(saved.value.path())
    monkeypatch.setattr(fetch, "fetched_file", lambda name: FILE)
    pair = load_pair("smollm2")
    own = hsd.run(pair, PROMPT, engine="portable", temperature=0, gamma=2, max_new_tokens=12)
    assert trace.tokens == own.tokens
    assert trace.replay() == own.tokens


ROWS = """async ([base, folder, threads, ids]) => {
  const at = (path) => new URL(path, base).href;
  const read = async (path) => new Uint8Array(await (await fetch(at(path))).arrayBuffer());
  const [{ Engine, loadModel, sharing, TargetText }, { readGguf }] = await Promise.all(
    ["engine", "gguf"].map((name) => import(at(`${folder}answers/browser/${name}.js`))));
  const name = threads > 1 ? "engine_threads" : "engine";
  const module = await WebAssembly.compile(await read(`${folder}${name}.wasm`));
  const engine = new Engine(module, sharing(threads));
  const model = await loadModel(engine, await readGguf(new Blob([await read("small.gguf")])), []);
  const text = new TargetText(model);
  const copied = (row) => row.slice();
  const rows = text.read(ids, ids.length, copied);
  await engine.there;
  for (const token of ids) rows.push(...text.read([token], 1, copied));
  const told = { usual: sharing().threads, threads: engine.threads };
  return { ...told, rows: rows.map((row) => [...new Uint32Array(row.buffer)].join()).join() };
}"""
# as the page decodes: its own thread may not sleep until another one is done
IN_A_WORKER = """([code, values]) => new Promise((resolve, reject) => {
  const source = `onmessage = ({ data }) => (${code})(data).then(postMessage);
    onunhandledrejection = ({ reason }) => { throw reason; };`;
  const worker = new Worker(URL.createObjectURL(new Blob([source])));
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage(values);
})"""


def test_several_threads_of_a_browser_give_the_bits_of_one(
    chromium: Browser, folder: Path, tmp_path: Path
):
    shutil.copytree(folder, tmp_path / "page")
    write_gguf(tmp_path / "page" / "small.gguf")
    told = json.loads((tmp_path / "page" / "data" / "page.json").read_text())
    at = told["browser"]["files"]["engine"].removesuffix("engine.wasm")
    files = Files(tmp_path, "page/", isolated=True)
    page = chromium.profile(bypass_csp=True).new_page()
    page.goto(files.url)
    one, two, four = (
        page.evaluate(IN_A_WORKER, [ROWS, [files.url, at, threads, list(range(1, 23))]])
        for threads in (1, 2, 4)
    )
    assert one["rows"].count(",") == 2 * 22 * VOCAB - 1
    assert one["rows"] == two["rows"] == four["rows"]
    page.evaluate(
        "() => { WebAssembly.Memory = class { constructor() { throw new RangeError(); } }; }"
    )
    alone = page.evaluate(ROWS, [files.url, at, 1, [1]])
    assert alone["usual"] == 1, "what cannot be shared is done by one"
    assert [one["threads"], two["threads"], four["threads"]] == [1, 2, 4]
    assert one["usual"] == min(os.cpu_count() or 1, 4)
    page.context.close()
    files.stop()


@real
@pytest.mark.parametrize("isolated", [False, True])
def test_a_folder_with_weights_asks_once_how_large_they_are(
    chromium: Browser, folder: Path, tmp_path: Path, isolated: bool
):
    assert FILE is not None
    shutil.copytree(folder, tmp_path / "page")
    told = tmp_path / "page" / "data" / "page.json"
    page = json.loads(told.read_text())
    page["browser"]["files"]["weights"]["pieces"] = laid(FILE, tmp_path / "page", browser.PIECE)
    told.write_text(json.dumps(page))
    files = Files(tmp_path, "page/", isolated)
    guest = Page(chromium, files)
    question = guest.ask(PROMPT)
    size = f"{round((FILE.stat().st_size + browser.HEAD_FILE.stat().st_size) / 1e6)} MB"
    assert f"{size}, once" in question.inner_text()
    question.get_by_role("button", name=f"Load {size}").click()
    guest.page.locator(".hf-source", has_text="● live").wait_for()
    guest.page.locator("#hsd-run:enabled").wait_for()
    with guest.page.expect_download() as saved:
        guest.page.get_by_role("button", name="JSON", exact=True).click()
    several = isolated and (os.cpu_count() or 1) > 1
    assert hsd.Trace.from_file(saved.value.path()).setup.device.endswith(
        " threads" if several else ", one thread"
    )
    guest.page.evaluate("caches.delete('hsd-models')")
    guest.close()
    files.stop()


@pytest.fixture
def live(guest: Page) -> Page:
    """A page with the real model, at the end of a short run of it."""
    assert FILE is not None
    guest.ask(PROMPT).locator("input").set_input_files(FILE)
    guest.page.locator(".hf-source", has_text="● live").wait_for()
    guest.page.locator("#hsd-run:enabled").wait_for()
    return guest


@real
def test_a_question_that_is_typed_is_answered(live: Page):
    asked, _, answer = live.page.inner_text(".hp-flow").partition("chat template")
    assert PROMPT in asked.replace("\u00a0", " ")
    assert len(answer) > 20


@real
def test_every_export_and_a_what_if_work_on_a_run_that_was_decoded_here(live: Page):
    page = live.page
    beginnings = {
        "PNG": b"\x89PNG",
        "GIF": b"GIF89a",
        "SVG": b"<svg",
        "CSV": b"",
        "JSON": b"{",
        "Report": b"",
    }
    beginnings["HTML"] = b"<!doctype"
    for name, beginning in beginnings.items():
        with page.expect_download() as saved:
            page.get_by_role("button", name=name, exact=True).click()
        content = Path(saved.value.path()).read_bytes()
        assert len(content) > 200, name
        assert content.lower().startswith(beginning.lower()), name
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link", exact=True).click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert "prompt=What" in link
    page.locator(".hp-lane-rule").first.select_option("blockwise")
    page.locator(".hp-back").wait_for()  # to what happened


@real
def test_a_worker_that_is_lost_and_a_page_that_sleeps_keep_what_was_decoded(live: Page):
    page = live.page
    page.goto(page.url.split("?")[0] + "?prompt=Count+to+one+hundred&gamma=2&max_new_tokens=250")
    page.locator(".hf-source", has_text="● live").wait_for()
    life = page.context.new_cdp_session(page)
    for state in ("frozen", "active"):
        life.send("Page.setWebLifecycleState", {"state": state})
    begun = page.evaluate("window.__hsd.steps")
    while page.evaluate("window.__hsd.steps") < begun + 3:
        page.wait_for_timeout(50)
    page.workers[-1].evaluate("() => { setTimeout(() => { throw new Error('lost'); }); }")
    live.told(
        "the model was lost, as a browser may do with a page in the background: press Run again"
    )
    assert page.evaluate("window.__hsd.steps") >= begun + 3
    assert page.is_enabled("#hsd-run")
    live.problems.clear()  # the error is this test's own
