"""For all tests: one thread, no network, and a small pair of models."""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports the library that reads it

import pytest
import torch

from hsd.models import Pair, load_pair

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def byte_folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Folders of a small random target and draft that read any text byte by byte, 128 tokens at most."""
    from small_models import bytes_tokenizer, save_pair

    return save_pair(tmp_path_factory.mktemp("bytes"), bytes_tokenizer())


@pytest.fixture(scope="session")
def byte_pair(byte_folders: tuple[str, str]) -> Pair:
    """The pair from these folders, in float32."""
    return load_pair(target=byte_folders[0], draft=byte_folders[1], device="cpu", dtype="float32")
