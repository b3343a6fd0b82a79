"""Where this plugin takes hold of vLLM: functions by name, with the arguments that it needs of each.

Nothing is replaced in a server whose configuration does not ask for it. Whatever fails here is one line in the server's
log, and the server goes on as without the plugin.
"""

import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from hsd.errors import HsdError, first_line
from hsd.version import __version__
from hsd.vllm.settings import Settings, settings_of

log = logging.getLogger("vllm.plugins.hsd")
SAMPLER = "vllm.v1.sample.rejection_sampler"
V2 = "this server uses vLLM's V2 runner, which is not watched: start it with VLLM_USE_V2_MODEL_RUNNER=0"


@dataclass(frozen=True)
class Hook:
    """A function of vLLM. place: its module and, after a colon, its name there; needs: arguments that it must have."""

    place: str
    needs: str

    def find(self) -> tuple[Any, str, Callable[..., Any]]:
        """Return what it is an attribute of, its name there, and itself. Raises HsdError, naming what is missing."""
        module, _, path = self.place.partition(":")
        *owners, name = path.split(".")
        try:
            owner = reduce(getattr, owners, import_module(module))
            function = getattr(owner, name)
            arguments = inspect.signature(function).parameters
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            raise HsdError(f"this vLLM has no {module}.{path} ({first_line(error)}): use 0.32.0 or 0.33.0") from None
        if missing := next((need for need in self.needs.split() if need not in arguments), None):
            raise HsdError(f"{module}.{path} of this vLLM has no argument {missing!r}: use 0.32.0 or 0.33.0")
        return owner, name, function

    def wrap(self, around: Callable[..., Any]) -> None:
        """Replace it by `around(arguments, call)`. arguments: by name; call(): the original's value."""
        owner, name, original = self.find()
        if getattr(original, "by_hsd", False):
            return
        signature = inspect.signature(original)

        @wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            return around(given.arguments, lambda: original(*args, **kwargs))

        wrapped.by_hsd = True  # type: ignore[attr-defined]
        setattr(owner, name, wrapped)


WORKER = Hook("vllm.v1.worker.worker_base:WorkerBase.__init__", "self vllm_config")
SAMPLE = Hook("vllm.v1.worker.gpu_model_runner:GPUModelRunner._sample", "self logits spec_decode_metadata")
VERIFY = Hook(
    f"{SAMPLER}:rejection_sample",
    "draft_token_ids num_draft_tokens max_spec_len draft_probs target_logits bonus_token_ids sampling_metadata "
    "synthetic_mode",
)
COINS = Hook(f"{SAMPLER}:generate_uniform_probs", "num_tokens num_draft_tokens generators device")
SPREAD = Hook(f"{SAMPLER}:expand_batch_to_tokens", "x cu_num_tokens num_tokens replace_from replace_to")
LIMITS = Hook(f"{SAMPLER}:apply_sampling_constraints", "logits cu_num_draft_tokens sampling_metadata")
HOOKS = (WORKER, SAMPLE, VERIFY, COINS, SPREAD, LIMITS)


def register() -> None:
    """Have every worker of this process look at its configuration once it is made.

    vLLM calls this in each of its processes, as a plugin of the group `vllm.general_plugins`.
    """
    try:
        owner, _, _ = WORKER.find()
        WORKER.wrap(_begun)
        owner.hsd_steps = steps_of_worker
        import_module("vllm").ModelRegistry.register_model("HsdLlamaForCausalLMEagle3", "hsd.vllm.head:Head")
    except (HsdError, ImportError, AttributeError) as error:
        log.warning("hsd: %s", first_line(error))


def _begun(arguments: dict[str, Any], call: Callable[[], None]) -> None:
    call()
    try:
        settings = settings_of(getattr(arguments["vllm_config"], "additional_config", None))
        if settings:
            log.info("hsd: %s", take_hold(settings, arguments["vllm_config"]))
    except Exception as error:  # whatever it is, the server was asked to serve
        log.error("hsd: %s", error if isinstance(error, HsdError) else f"{type(error).__name__}: {first_line(error)}")


def steps_of_worker(worker: Any, after: int = 0) -> dict[str, Any] | None:
    """Return what was recorded after entry `after`, see `Buffer.after`; None of a worker that records nothing."""
    from hsd.vllm.watcher import Watcher

    return Watcher.here.buffer.after(after) if Watcher.here else None


def take_hold(settings: Settings, config: Any) -> str:
    """Replace what has to be replaced in this process, and return what is done, in words. Raises HsdError."""
    from hsd.vllm.watcher import Watcher

    if getattr(config, "use_v2_model_runner", False):
        raise HsdError(V2)
    for hook in HOOKS:
        hook.find()
    mends, watcher = mend(), Watcher(settings, config)
    COINS.wrap(watcher.coins)
    watcher.uniform = COINS.find()[2]
    VERIFY.wrap(watcher.verify)
    ranks = config.parallel_config
    if not ranks.rank % ranks.tensor_parallel_size:  # one of the workers that share a model's layers records
        SAMPLE.wrap(watcher.sample)
    Watcher.here = watcher
    first = f", and the first {settings.next}" * bool(settings.next)
    rule = f"verifies by {settings.rule}" if settings.rule else "leaves verification as it is"
    which = f"records {settings.record:.0%} of the requests and those that ask for it{first}, {rule}"
    return "; mends ".join([f"{__version__} {which}", *mends])


def mend() -> list[str]:
    """Mend what is wrong in this vLLM without Triton, and return it in words. Each fault is shown before, by a call."""
    values, ends = torch.arange(3.0, 6.0), torch.tensor([1, 3, 6], dtype=torch.int32)
    limits = SimpleNamespace(all_greedy=False, temperature=values, top_k=ends, top_p=None)
    none, mended = torch.empty(0, 8), []
    if not _gives(SPREAD, (values, ends, 6), torch.tensor([3.0, 4, 4, 5, 5, 5])):
        SPREAD.wrap(_spread)
        mended.append("temperature, top-k and top-p of drafted tokens (vLLM issue #55005)")
    if not _gives(LIMITS, (none, ends * 0, limits), none):
        LIMITS.wrap(lambda given, call: call() if len(given["logits"]) else given["logits"])
        mended.append("top-k of a batch in which nobody drafted")
    return mended


def _gives(hook: Hook, arguments: tuple[Any, ...], expected: Tensor) -> bool:
    """Return whether vLLM's function gives what it should on the CPU; where there is a GPU it is not asked."""
    try:
        return torch.cuda.is_available() or torch.equal(hook.find()[2](*arguments), expected)
    except Exception:
        return False


def _spread(given: dict[str, Any], _: Callable[[], Tensor]) -> Tensor:
    """Return the value of each request for each of its drafted tokens: (B,) → (N,)."""
    values, ends = given["x"], given["cu_num_tokens"]
    values = torch.where(values == given["replace_from"], given["replace_to"], values)
    return values.repeat_interleave(torch.diff(ends, prepend=ends.new_zeros(1)).long())
