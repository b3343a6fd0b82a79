"""Where this plugin takes hold of vLLM.

These are functions by name, with the arguments that it needs of each. Nothing is replaced in a
server whose configuration does not ask for it. Whatever fails here is one line in the server's log,
and the server goes on as without the plugin.
"""

import inspect
import logging
from collections.abc import Callable
from functools import wraps
from pkgutil import resolve_name
from typing import Any

import torch
from torch import Tensor

from hsd.errors import HsdError, first_line
from hsd.version import __version__
from hsd.vllm.serving import Settings, settings_of

log = logging.getLogger("vllm.plugins.hsd")
MENDS = "mends temperature, top-k and top-p of drafts on CPUs (vLLM issue #55005)"
SAMPLER = "vllm.v1.sample.rejection_sampler"
HOOKS = {
    "begin": ("vllm.v1.worker.worker_base.WorkerBase.__init__", "self vllm_config"),
    "sample": (
        "vllm.v1.worker.gpu_model_runner.GPUModelRunner._sample",
        "self logits spec_decode_metadata",
    ),
    "verify": (
        f"{SAMPLER}.rejection_sample",
        "draft_token_ids num_draft_tokens max_spec_len draft_probs target_logits bonus_token_ids "
        "sampling_metadata synthetic_mode",
    ),
    "coins": (f"{SAMPLER}.generate_uniform_probs", "num_tokens num_draft_tokens generators device"),
    "spread": (f"{SAMPLER}.expand_batch_to_tokens", "x cu_num_tokens replace_from replace_to"),
    "limit": (f"{SAMPLER}.apply_sampling_constraints", "logits"),
}  # functions of vLLM that are replaced, with the arguments that they must have
Call = Callable[[], Any]


def find_hooked(hook: str) -> tuple[Any, str, Callable[..., Any]]:
    """Return the class or module that has a function of vLLM, its name in it, and the function.

    hook: one of `HOOKS`. Raises HsdError, naming what is missing.
    """
    place, needs = HOOKS[hook]
    path, _, name = place.rpartition(".")
    try:
        owner = resolve_name(path)
        function = inspect.unwrap(getattr(owner, name), stop=lambda one: not hasattr(one, "by_hsd"))
        arguments = inspect.signature(function).parameters
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise HsdError(
            f"this vLLM has no {place} ({first_line(error)}): use 0.32.0 or 0.33.0"
        ) from None
    if missing := next((need for need in needs.split() if need not in arguments), None):
        raise HsdError(f"{place} of this vLLM has no argument {missing!r}: use 0.32.0 or 0.33.0")
    return owner, name, function


def replace(hook: str, by: Callable[[dict[str, Any], Call], Any]) -> None:
    """Call `by(arguments, call)` in place of a function of vLLM.

    arguments: by name; call(): calls vLLM's.
    """
    owner, name, function = find_hooked(hook)
    signature = inspect.signature(function)

    @wraps(function)
    def replacing(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return by(given.arguments, lambda: function(*args, **kwargs))

    replacing.by_hsd = True  # type: ignore[attr-defined]
    setattr(owner, name, replacing)


def register() -> None:
    """Have every new worker look at its configuration, and name this project's head to vLLM.

    vLLM calls this in each of its processes, as a plugin of the group `vllm.general_plugins`.
    """
    try:
        replace("begin", _begin)
        find_hooked("begin")[0].hsd_steps = lambda _, after=0: (
            None
        )  # of a worker that records nothing
        resolve_name("vllm.ModelRegistry").register_model(
            "HsdLlamaForCausalLMEagle3", "hsd.vllm.head:Head"
        )
    except (HsdError, ImportError, AttributeError) as error:
        log.warning("hsd: %s", first_line(error))


def _begin(given: dict[str, Any], call: Call) -> None:
    call()
    try:
        if settings := settings_of(getattr(given["vllm_config"], "additional_config", None)):
            install_hooks(given["self"], settings, given["vllm_config"])
    except Exception as error:  # whatever it is, the server was asked to serve
        words = str(error)
        if not isinstance(error, HsdError):
            words = f"{type(error).__name__}: {first_line(error)}"
        log.error("hsd: %s", words)


def install_hooks(worker: Any, settings: Settings, config: Any) -> None:
    """Replace functions of vLLM in this worker's process as `settings` ask, and log it in one line.

    Raises HsdError.
    """
    from hsd.vllm.watcher import Watcher

    if getattr(config, "use_v2_model_runner", False):
        raise HsdError(
            "vLLM's V2 runner is not watched: start the server with VLLM_USE_V2_MODEL_RUNNER=0"
        )
    for hook in HOOKS:  # nothing is replaced unless all of them are there
        find_hooked(hook)
    watcher = Watcher(settings, config, find_hooked("coins")[2])
    ranks = config.parallel_config
    patch_cpu_sampling()
    replace("coins", watcher.coins)
    replace("verify", watcher.verify)
    # one of the workers that share a model's layers records
    if not ranks.rank % ranks.tensor_parallel_size:
        replace("sample", watcher.sample)
    worker.hsd_steps = watcher.buffer.after
    rule = f"verifies by {settings.rule}" if settings.rule else "leaves verification as it is"
    share = f"records {settings.record:.0%} of the requests and those that ask for it"
    mends = "" if torch.cuda.is_available() else f", {MENDS}"
    log.info("hsd: %s %s, %s%s", __version__, share, rule, mends)


def patch_cpu_sampling() -> None:
    """Mend what vLLM does wrong on CPUs without Triton; where it is right the values stay the same.

    Temperature, top-k and top-p of drafted tokens are uninitialised memory there (vLLM issue
    #55005), and top-k of a batch in which nobody drafted ends the engine.
    """
    replace("spread", lambda given, call: _spread(given) if given["x"].is_cpu else call())
    replace("limit", lambda given, call: call() if len(given["logits"]) else given["logits"])


def _spread(given: dict[str, Any]) -> Tensor:
    """Return the value of each request for each of its drafted tokens: (B,) → (N,)."""
    values = given["x"]
    ends = given["cu_num_tokens"]
    values = torch.where(values == given["replace_from"], given["replace_to"], values)
    return values.repeat_interleave(ends.diff(prepend=ends.new_zeros(1)).long())
