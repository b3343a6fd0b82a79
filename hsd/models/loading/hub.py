"""The Hugging Face Hub: whether it is there and has a model, files of it, and its errors."""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, constants, errors, hf_hub_download, snapshot_download

from hsd.errors import HsdError
from hsd.models.loading.tensors import reading

REFUSALS = (errors.RepositoryNotFoundError, errors.RevisionNotFoundError, errors.HFValidationError)
# what comes from the Hub, or from the way to it, and not from the files
FROM_HUB = (
    errors.HTTPError,
    errors.LocalEntryNotFoundError,
    errors.OfflineModeIsEnabled,
    errors.HFValidationError,
)
PROBE_SECONDS = 2.5
NO_CONNECTION = ("ConnectError", "ConnectTimeout")
# of the files of a model on the Hub
READ = ["*.json", "*.safetensors", "*.bin", "*.model", "*.txt", "*.jinja"]


@dataclass(frozen=True)
class Source:
    """Where a model comes from, and what is known of it before it is read.

    name: a folder or a Hub id. local_only: the Hub cannot be asked.
    """

    name: str
    revision: str | None = None
    local_only: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of every `from_pretrained`. Code that comes with a model is never run."""
        return {
            "revision": self.revision,
            "local_files_only": self.local_only,
            "trust_remote_code": False,
        }


def find_source(name: str, revision: str | None = None) -> Source:
    """Return the source of a model in a folder, or on the Hub by one request.

    The library tries for half a minute to reach a Hub that cannot be found. This asks once: where
    no connection can be made the files on this machine are taken, if there are any; a Hub that is
    slow or busy gets the library's patience. Raises HsdError for a folder without a model, and when
    the Hub says that it has no such model.
    """
    path = Path(os.path.expanduser(name))  # which leaves ~nobody as it is
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise HsdError(
                f"folder {name!r} has no config.json: give a folder saved by save_pretrained()"
            )
        return Source(str(path), revision, local_only=True)
    if name.startswith((".", "/", "~")):
        raise HsdError(
            f"no folder {name!r}: give an existing folder or a Hub id like "
            "Qwen/Qwen2.5-0.5B-Instruct"
        )
    return find_repository(name, revision)


def find_repository(name: str, revision: str | None = None) -> Source:
    """Return a repository on the Hub, by one request. See `find_source` for errors."""
    source = Source(name, revision, local_only=constants.is_offline_mode())
    try:
        if not source.local_only:
            HfApi().model_info(name, revision=revision, timeout=PROBE_SECONDS)
    except REFUSALS as error:
        raise HsdError(explain(error, source)) from None
    except (errors.HTTPError, OSError) as error:
        # The client library is httpx or httpx2, as the version of huggingface_hub wants: its errors
        # are known by name.
        return replace(source, local_only=type(error).__name__ in NO_CONNECTION)
    return source


def bring(name: str) -> None:
    """Download the files of a model without reading them. Raises HsdError if it cannot."""
    source = find_source(name)
    if not Path(source.name).is_dir():
        with loading("a model", source):
            snapshot_download(
                name, allow_patterns=READ, ignore_patterns="*/*", local_files_only=source.local_only
            )


def file_of(source: Source, name: str) -> Path | None:
    """Return one file of a model, from its folder, the local cache or the Hub.

    None if the model has no file of that name.

    Raises HsdError, one line, when the Hub does not give it.
    """
    if (folder := Path(source.name)).is_dir():
        return file if (file := folder / name).is_file() else None
    with loading(f"the file {name}", source):
        try:
            found = hf_hub_download(
                source.name, name, revision=source.revision, local_files_only=source.local_only
            )
        except errors.EntryNotFoundError as error:
            # the Hub did not answer
            if isinstance(error, errors.LocalEntryNotFoundError) and not source.local_only:
                raise
            return None
    return Path(found)


def loading(what: str, source: Source) -> AbstractContextManager[None]:
    """A context manager that loads from a folder or the Hub.

    Any failure becomes an HsdError of one line.
    """
    return reading(what, source.name, partial(explain, source=source))


def explain(error: Exception, source: Source) -> str:
    """Return, in one line, why a model cannot be had from the Hub and what to do.

    "" for an error of the model's files.
    """
    name = repr(source.name)
    page = f"{constants.ENDPOINT}/{source.name}"
    causes: list[BaseException] = [error]
    # not __context__: an error that was already handled is not the reason
    while cause := causes[-1].__cause__:
        causes.append(cause)
    if not any(isinstance(cause, FROM_HUB) for cause in causes):
        return ""
    about = {kind for cause in causes for kind in type(cause).mro()}
    if errors.GatedRepoError in about:
        return f"{name} is gated: accept its licence at {page}, then log in with `hf auth login`"
    if errors.RevisionNotFoundError in about:
        return (
            f"{name} has no revision {source.revision!r}: choose a branch, tag or commit from "
            f"{page}/commits"
        )
    if errors.RepositoryNotFoundError in about:
        return (
            f"the Hub has no model {name}: check the spelling, or if it is private log in with "
            "`hf auth login`"
        )
    if errors.HFValidationError in about:
        return (
            f"{name} is neither a folder nor a Hub id: give a folder, or an id like "
            "Qwen/Qwen2.5-0.5B-Instruct"
        )
    if constants.is_offline_mode():
        return (
            f"{name} is not complete on this machine, and HF_HUB_OFFLINE forbids the Hub: give a "
            "folder, or unset it"
        )
    answers = [cause.response for cause in causes if isinstance(cause, errors.HfHubHTTPError)]
    status = getattr(answers[0], "status_code", 0) if answers else 0
    if status in (401, 403):
        return (
            f"the Hub does not give you {name}: log in with `hf auth login`, and ask for access at "
            f"{page}"
        )
    if status:
        return f"the Hub answered {status} for {name}: try again later, or give a folder"
    return (
        f"cannot reach the Hub, and {name} is not complete on this machine: check the connection, "
        "or give a folder"
    )
