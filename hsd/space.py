"""The Space's manifest: read `Spacefile`, derive README's front matter, list and upload files.

`Spacefile` is the only place where the Space is described. The Hub reads nothing but the front
matter of README.md, so that is generated here and compared by `check`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hsd.errors import HsdError, first_line
from hsd.paths import ROOT, SPACEFILE

PARTS = ("app.py", "hsd", "assets", "examples", "requirements.txt", "Spacefile", "README.md")
ALONE = {"embedder": "require-corp", "opener": "same-origin", "resource": "cross-origin"}
ISOLATED = {f"cross-origin-{kind}-policy": value for kind, value in ALONE.items()}
"""What a file server has to say so that a browser lets the page decode on several threads."""
ONLY_GRADIO = ("sdk_version", "python_version", "suggested_hardware", "models", "preload_from_hub")
SKIPPED = ("__pycache__", ".pyc", ".ipynb_checkpoints", ".DS_Store")

Count = Annotated[int, Field(ge=1)]
Colour = Literal["red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=60)]


class Strict(BaseModel):
    """Base of all parts: frozen, unknown keys and wrong types are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PairSpec(Strict):
    """A pair to offer: a target and a draft on the Hub, or only a name.

    A pair with only a name is embedded, or is fetched. title: its name for visitors, and after a
    " · " what it is. hub_files: what a Space gets from the Hub before it starts, if `preload`: each
    a repository and a file's name. gpu_memory_gb: GB of memory that a GPU must have for it to be
    offered; 0 for everywhere.
    """

    name: Slug
    title: str
    target: str | None = None
    draft: str | None = None
    preload: bool = False
    hub_files: list[Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+ [\w.-]+$")]] = []
    gpu_memory_gb: Annotated[float, Field(ge=0, strict=False)] = 0

    @property
    def from_hub(self) -> bool:
        return self.target is not None

    @property
    def short_title(self) -> str:
        return self.title.partition(" · ")[0]

    @model_validator(mode="after")
    def _complete(self) -> "PairSpec":
        if (self.target is None) != (self.draft is None):
            raise ValueError(
                "give both target and draft, or neither for a pair that is known by its name"
            )
        return self


class Limits(Strict):
    """The largest requests that one visitor of a Space may make. Times in seconds."""

    prompt_characters: Count
    max_new_tokens: Count
    gamma: Annotated[int, Field(ge=1, le=32)]
    drafts: Annotated[int, Field(ge=1, le=64)]
    queue_size: Count
    stored_traces: Count
    run_seconds: Count


class Space(Strict):
    """The whole manifest; field by field explained in `Spacefile`."""

    title: Annotated[str, Field(min_length=1, max_length=100)]
    emoji: str
    color_from: Annotated[Colour, Field(serialization_alias="colorFrom")]
    color_to: Annotated[Colour, Field(serialization_alias="colorTo")]
    sdk: Literal["gradio"]
    sdk_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    python_version: Annotated[str, Field(pattern=r"^3\.\d+$")]
    app_file: str
    hardware: Annotated[str, Field(serialization_alias="suggested_hardware")]
    license: str
    short_description: Annotated[str, Field(max_length=60)]
    tags: list[Slug]
    pairs: Annotated[list[PairSpec], Field(min_length=1)]
    own_pair: Literal["never", "local", "always"]
    presets: Annotated[list[Slug], Field(min_length=1)]
    limits: Limits

    @model_validator(mode="after")
    def _names_are_unique(self) -> "Space":
        for kind, names in (("pair", [p.name for p in self.pairs]), ("preset", self.presets)):
            double = next((name for name in names if names.count(name) > 1), None)
            if double:
                raise ValueError(f"the {kind} {double!r} is listed twice")
        return self


class _UniqueKeys(yaml.SafeLoader):
    """YAML in which a key that is given twice is an error instead of silently losing one value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        double = next((key for key in keys if keys.count(key) > 1), None)
        if double is not None:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {double!r} is given twice", node.start_mark
            )
        return super().construct_mapping(node, deep)


def load(path: Path = SPACEFILE) -> Space:
    """Read the manifest.

    Raises HsdError, one line, when it is missing or anything in it is wrong.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _UniqueKeys)
        return Space.model_validate(data)
    except OSError as error:
        raise HsdError(f"cannot read {path}: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise HsdError(
            f"{path.name} is not valid YAML: {' '.join(str(error).split())[:200]}"
        ) from None
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        # a misspelt key, if any
        first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise HsdError(f"{path.name}: {where}: {first['msg']}") from None


def front_matter(space: Space | None = None, sdk: str = "gradio") -> str:
    """Return the block that README.md must begin with, from one line of dashes to the other.

    sdk: "static" is for the folder that `space export` writes.
    """
    body = yaml.safe_dump(
        _card(space or load(), sdk), sort_keys=False, allow_unicode=True, width=200
    )
    return f"---\n{body}---\n"


def _card(space: Space, sdk: str) -> dict[str, Any]:
    """The manifest under the Hub's own names.

    For a static Space it lacks the settings that only Python needs.
    """
    from_hub = [pair for pair in space.pairs if pair.from_hub]
    card: dict[str, Any] = space.model_dump(
        by_alias=True, exclude={"pairs", "own_pair", "presets", "limits"}
    )
    files = [file for pair in space.pairs if pair.preload for file in pair.hub_files]
    card["models"] = [model for pair in from_hub for model in (pair.target, pair.draft)]
    card["preload_from_hub"] = files + [
        model for pair in from_hub if pair.preload for model in (pair.target, pair.draft)
    ]
    if sdk == "static":
        card |= {"sdk": sdk, "app_file": "index.html", "custom_headers": ISOLATED}
        card = {key: value for key, value in card.items() if key not in ONLY_GRADIO}
    return {key: value for key, value in card.items() if value != []}


def check(readme: Path | None = None, sdk: str = "gradio") -> list[str]:
    """Return the differences between README.md's front matter and the manifest, a line each.

    The list is empty when they agree.
    """
    wanted = _card(load(), sdk)
    actual = _read_front_matter(readme or ROOT / "README.md")
    said = {name: [card.get(name) for card in (actual, wanted)] for name in wanted | actual}
    return [
        f"{name}: README.md says {a!r}, the Spacefile {b!r}"
        for name, (a, b) in said.items()
        if a != b
    ]


def _read_front_matter(readme: Path) -> dict[str, Any]:
    from huggingface_hub import metadata_load

    if not readme.is_file():
        raise HsdError(f"no {readme}: run this in a checkout of the repository")
    try:
        return metadata_load(readme) or {}
    except (ValueError, yaml.YAMLError) as error:
        raise HsdError(
            f"README.md's front matter is not valid YAML: {' '.join(str(error).split())[:200]}"
        ) from None


def space_files(root: Path = ROOT, sdk: str = "gradio") -> list[str]:
    """Return the paths, relative to `root`, of the files that a Space gets.

    For sdk "static", an export, these are all files. Raises HsdError if a part of the repository is
    missing.
    """
    parts = PARTS if sdk == "gradio" else (".",)
    if missing := [part for part in parts if not (root / part).exists()]:
        raise HsdError(
            f"a Space needs {', '.join(missing)}: run this in a complete checkout of the repository"
        )
    return sorted(
        path.relative_to(root).as_posix() for part in parts for path in _files(root / part)
    )


def listing(sdk: str, root: Path) -> list[str]:
    """What `publish` would send, a line each: every setting, and every file with its bytes.

    sdk: as for `publish`.
    """
    names = space_files(root, sdk)
    sizes = {name: (root / name).stat().st_size for name in names}
    settings = front_matter(load(), sdk).strip("-\n").splitlines()
    total = f"{len(names)} files, {sum(sizes.values()):,} bytes"
    return [*settings, "", *(f"{size:>11,}  {name}" for name, size in sizes.items()), "", total]


def _files(path: Path) -> Iterator[Path]:
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file() and not any(file.name.endswith(s) or s in file.parts for s in SKIPPED):
            yield file


def static_address(repo_id: str) -> str:
    """Return the URL at which a Space of files is served; "" without a name."""
    name = re.sub(r"[^a-z0-9]+", "-", repo_id.lower())
    return f"https://{name}.static.hf.space/" if repo_id else ""


def publish(repo_id: str, token: str | None = None, root: Path = ROOT, sdk: str = "gradio") -> str:
    """Create or update the Space `repo_id` ("owner/name"). Returns its address.

    The Space gets exactly `space_files`; for sdk "static" all files of `root`, which `space export`
    has written. Raises HsdError when the README does not match the manifest, nobody is logged in,
    or the Hub does not answer.
    """
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        HTTPError,
        OfflineModeIsEnabled,
    )

    files = space_files(root, sdk)
    differences = check(root / "README.md", sdk)
    if differences:
        raise HsdError(
            f"README.md does not match the Spacefile ({differences[0]}): "
            "run `python -m hsd space check`"
        )
    token = token or get_token()
    if not token:
        raise HsdError(
            "not logged in to the Hub: "
            "run `hf auth login`, or set HF_TOKEN to a token that may write"
        )
    api = HfApi(token=token)
    try:
        address = api.create_repo(repo_id, repo_type="space", space_sdk=sdk, exist_ok=True)
        message = f"Publish {load().title}"
        readme = (root / "README.md").read_text(encoding="utf-8")
        card = next(name for name in files if name.endswith("card.png"))
        shown = f"thumbnail: https://huggingface.co/spaces/{repo_id}/resolve/main/{card}\n---\n"
        where: dict[str, Any] = {"repo_id": repo_id, "repo_type": "space"}
        api.upload_folder(
            folder_path=root,
            allow_patterns=files,
            delete_patterns="*",  # files of an earlier version that this one no longer has
            commit_message=message,
            **where,
        )
        # the manifest cannot know where its Space will be
        linked = readme.replace("\n---\n", f"\n{shown}", 1).encode()
        message = "Show its card where a link to it is shared"
        api.upload_file(
            path_or_fileobj=linked, path_in_repo="README.md", commit_message=message, **where
        )
    except (HfHubHTTPError, HFValidationError, HTTPError, OfflineModeIsEnabled, OSError) as error:
        raise HsdError(
            f"cannot publish to {repo_id!r} ({first_line(error)}): check name, token, connection"
        ) from None
    return str(address)
