"""The manifest is strict, README says what it says, and a Space gets exactly what it needs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from loops import for_each

from hsd import HsdError, space
from hsd.models.loading.registry import FETCHED, FETCHED_PAIRS
from hsd.paths import SPACEFILE

TEXT = SPACEFILE.read_text(encoding="utf-8")


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "Spacefile"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_manifest_is_valid():
    manifest = space.load()
    assert manifest.app_file == "app.py"
    assert [pair.name for pair in manifest.pairs[:2]] == [*FETCHED_PAIRS, *FETCHED]
    assert not any(pair.from_hub for pair in manifest.pairs[:2])
    assert manifest.limits.gamma <= 32


@for_each(
    ("old", "new", "words"),
    [
        ("title:", "titel:", "titel"),
        ("license: mit\n", "", "license"),
        ("limits:", "colour: red\nlimits:", "colour"),
        ("  gamma: 32", "  gamma: 33", "limits.gamma"),
        ("  gamma: 32", '  gamma: "32"', "limits.gamma"),
        ("  gamma: 32", "  gamma: true", "limits.gamma"),
        ("  gamma: 32", "  gamma: 32\n  speed: 3", "limits.speed"),
        ("queue_size: 16", "queue_size: 0", "limits.queue_size"),
        ("sdk: gradio", "sdk: streamlit", "sdk"),
        ("sdk_version: 6.31.0", "sdk_version: latest", "sdk_version"),
        ('python_version: "3.12"', "python_version: 3.12", "python_version"),
        ("own_pair: local", "own_pair: sometimes", "own_pair"),
        ("    draft: Qwen/Qwen2.5-0.5B-Instruct\n", "", "both target and draft"),
        ("license: mit", "license: mit\nlicense: apache-2.0", "'license' is given twice"),
        ("presets: [harbour,", "presets: [harbour, harbour,", "listed twice"),
        ("emoji: 🌿", "emoji: [", "not valid YAML"),
    ],
)
def test_anything_wrong_in_the_manifest_is_one_clear_line(tmp_path, old, new, words):
    assert old in TEXT
    with pytest.raises(HsdError) as caught:
        space.load(written(tmp_path, TEXT.replace(old, new, 1)))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "a string", "[1, 2]"])
def test_a_manifest_that_is_no_mapping_is_refused(tmp_path, text):
    with pytest.raises(HsdError):
        space.load(written(tmp_path, text))


def test_a_missing_manifest_is_one_clear_line(tmp_path):
    with pytest.raises(HsdError, match="cannot read"):
        space.load(tmp_path / "Spacefile")


def test_the_front_matter_is_what_the_hub_reads():
    head = space.front_matter()
    assert head.startswith("---\n")
    assert head.endswith("---\n")
    card = yaml.safe_load(head.strip("-\n"))
    assert card["sdk"] == "gradio"
    assert card["app_file"] == "app.py"
    assert isinstance(card["python_version"], str)
    assert len(card["short_description"]) <= 60


def test_differences_between_readme_and_manifest_are_named(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(space.front_matter() + "\n# hsd\n", encoding="utf-8")
    assert space.check(readme) == []
    changed = space.front_matter().replace("app_file: app.py", "app_file: main.py")
    changed = changed.replace("license: mit\n", "colour: red\n")
    readme.write_text(changed, encoding="utf-8")
    lines = "\n".join(space.check(readme))
    assert "app_file" in lines
    assert "license: README.md says None, the Spacefile 'mit'" in lines
    assert "colour: README.md says 'red', the Spacefile None" in lines
    readme.write_text("# hsd\n", encoding="utf-8")
    assert len(space.check(readme)) > 5


def test_a_space_gets_the_files_it_needs_and_no_others():
    files = space.space_files()
    needed = {
        "app.py",
        "requirements.txt",
        "Spacefile",
        "README.md",
        "hsd/__init__.py",
        "assets/presets/watch.yaml",
    }
    assert needed <= set(files)
    assert {name.split("/")[0] for name in files} == set(space.PARTS)
    assert not [name for name in files if "__pycache__" in name or name.endswith(".pyc")]


def test_every_picture_that_a_space_gets_is_shown_or_is_its_card():
    pages = [space.ROOT / "README.md", *space.ROOT.glob("assets/docs/*.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    pictures = [name for name in space.space_files() if name.endswith(".png")]
    assert [name for name in pictures if "/".join(name.split("/")[1:]) not in shown] == [
        "assets/page/card.png"
    ]


@pytest.mark.parametrize(
    ("sdk", "card"), [("gradio", "assets/page/card.png"), ("static", "card.png")]
)
def test_a_published_space_shows_its_card_where_it_is_shared(
    monkeypatch, tmp_path, sdk: str, card: str
):
    sent: dict[str, bytes] = {}

    class Hub:
        def __init__(self, token: str) -> None:
            pass

        def create_repo(self, *_: object, **__: object) -> str:
            return "https://huggingface.co/spaces/someone/somewhere"

        def upload_folder(self, **given: object) -> None:
            sent["folder"] = b""

        def upload_file(self, path_or_fileobj: bytes, path_in_repo: str, **_: object) -> None:
            assert "folder" in sent, "after it, for it would be taken away"
            sent[path_in_repo] = path_or_fileobj

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    root = space.ROOT
    if sdk == "static":
        root = tmp_path
        (tmp_path / "card.png").write_bytes(b"")
        (tmp_path / "README.md").write_text(
            f"{space.front_matter(sdk='static')}\n# A page\n\n---\n"
        )
    assert space.publish("someone/somewhere", token="x", root=root, sdk=sdk).endswith(
        "someone/somewhere"
    )
    front = yaml.safe_load(sent["README.md"].decode().split("---\n")[1])
    assert (
        front["thumbnail"] == f"https://huggingface.co/spaces/someone/somewhere/resolve/main/{card}"
    )
    assert front["sdk"] == sdk
    assert sent["README.md"].decode().count("thumbnail:") == 1


def test_publishing_needs_someone_who_is_logged_in(monkeypatch, tmp_path):
    for name in space.PARTS:
        (tmp_path / name).write_text(space.front_matter() if name == "README.md" else "")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    with pytest.raises(HsdError, match="not logged in"):
        space.publish("someone/somewhere", root=tmp_path)


def test_publishing_an_incomplete_folder_is_refused(tmp_path):
    with pytest.raises(HsdError, match="a Space needs"):
        space.publish("someone/somewhere", root=tmp_path)
