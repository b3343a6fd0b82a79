"""The machine that the app runs on: its device, ZeroGPU or not, and which pairs can run here."""

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import torch

from hsd.errors import HsdError
from hsd.space import PairSpec, Space

try:
    import spaces  # ZeroGPU's own package; elsewhere it need not be installed
except ImportError:
    spaces = None

Deltas = Callable[..., Iterator[Any]]


def prepare_environment(space: Space) -> None:
    """Turn off usage reports, and requests to the Hub unless an offered pair needs them.

    To load models of your own from the Hub, start the app with HF_HUB_OFFLINE=0. Raises HsdError if
    Gradio has no folder that it can write to, or its port is not a number.
    """
    folder = Path(os.environ.get("GRADIO_TEMP_DIR") or Path(tempfile.gettempdir()) / "gradio")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise HsdError(
            f"cannot write in {folder} ({error.strerror}): set GRADIO_TEMP_DIR to another folder"
        ) from None
    if not os.environ.get("GRADIO_SERVER_PORT", "0").isdecimal():
        raise HsdError(
            "GRADIO_SERVER_PORT is not a number: set it to a port, such as 7860, or unset it"
        )
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    if not any(pair.from_hub for pair in offered(space)):
        os.environ.setdefault("HF_HUB_OFFLINE", "1")


def zero_gpu() -> bool:
    """Return whether this is a Space on ZeroGPU.

    A GPU is lent for single calls, which run in their own process.
    """
    return spaces is not None and os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "true")


def on_a_space() -> bool:
    """Return whether the app runs as a Space, where strangers can reach it."""
    return "SPACE_ID" in os.environ


def public_address() -> str:
    """Return the public URL of this app, "" if unknown.

    It is the Space's, or Gradio's root path if that is a full URL.
    """
    host = os.environ.get("SPACE_HOST", "")
    root = os.environ.get("GRADIO_ROOT_PATH", "")
    address = f"https://{host}" if host else root
    return f"{address.rstrip('/')}/" if address.startswith(("https://", "http://")) else ""


def own_pairs_allowed(space: Space) -> bool:
    """Return whether visitors may name folders and models of their own."""
    return space.own_pair == "always" or (space.own_pair == "local" and not on_a_space())


def offered(space: Space) -> list[PairSpec]:
    """Return the pairs of the manifest that can run here."""
    memory = _gpu_memory_gb()
    return [pair for pair in space.pairs if pair.gpu_memory_gb <= memory]


def label(pair: PairSpec | None = None) -> str:
    """Return the device that runs `pair`, as the page names it, such as "CPU" or "CUDA · bf16"."""
    if pair and not pair.from_hub:  # by the portable engine
        return "CPU (ZeroGPU Space)" if zero_gpu() else "CPU"
    if zero_gpu():
        return "ZeroGPU"
    if torch.cuda.is_available():
        return "CUDA · bf16"
    return "Apple GPU" if torch.backends.mps.is_available() else "CPU"


def lent_gpu(duration: Callable[..., int]) -> Callable[[Deltas], Deltas]:
    """Return a decorator for a generator that needs the GPU.

    It changes nothing where no GPU is lent.

    The generator's arguments and values must be picklable: it runs in another process. duration:
    seconds to ask for, computed from the same arguments. The result raises HsdError with the
    generator's own message, or the reason why no GPU was lent.
    """
    if spaces is None:
        return lambda function: function

    def decorate(function: Deltas) -> Deltas:
        from gradio import Error  # only now: it reads the environment when it is imported

        def inside(*arguments: Any) -> Iterator[Any]:
            try:
                yield from function(*arguments)
            except HsdError as error:  # messages of other errors must not leave the process
                raise Error(str(error), print_exception=False) from None

        lent = spaces.GPU(duration=duration)(inside)

        @wraps(function)
        def lend(*arguments: Any) -> Iterator[Any]:
            try:
                yield from lent(*arguments)
            except Error as error:
                raise HsdError(" ".join(str(error.message).split())) from None

        return lend

    return decorate


def _gpu_memory_gb() -> float:
    if zero_gpu():
        return 70.0  # what ZeroGPU lends by default: half an H200
    if torch.cuda.is_available():
        return float(torch.cuda.get_device_properties(0).total_memory) / 1e9
    return 0.0
