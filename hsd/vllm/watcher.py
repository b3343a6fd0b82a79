"""What happens in a worker of vLLM whose server asked for it.

That is verification by HSD, and the recording of requests.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from typing import Any

import torch
from torch import Tensor

from hsd.draft import Draft
from hsd.errors import first_line
from hsd.models.loading.text import TokenizerCodec
from hsd.rules.chain import hsd_law
from hsd.rules.law import leftover, likeliest, shortened
from hsd.sampling import draw
from hsd.trace import Setup
from hsd.vllm import KEY
from hsd.vllm.record import PROCESSORS, Recording, judges_for, setup_of, with_request
from hsd.vllm.serving import Buffer, Settings

log = logging.getLogger("vllm.plugins.hsd")
NOT_THROWN = 0.5  # stands for a coin that was not thrown


class Watcher:
    """Verifies and records in one worker.

    config: vLLM's; uniform: vLLM's function that draws requests' coins.
    """

    def __init__(
        self, settings: Settings, config: Any, uniform: Callable[..., Tensor] = torch.rand
    ) -> None:
        self.settings = settings
        self._config = config
        self._uniform = uniform
        self._judges = judges_for(settings)
        self.buffer = Buffer(settings.megabytes * 1e6)
        # by all requests: a model takes .1 s to describe
        self._shared: tuple[Setup, TokenizerCodec] | None = None
        self._known: dict[str, Recording | None] = {}  # None: it is not recorded
        self._given: dict[str, Any] = {}  # to the last verification
        self._coins = torch.empty(0, dtype=torch.float32, device="cpu")  # that it threw, (N,)
        # that drew what follows the kept tokens, (B,); None for races
        self._numbers: Tensor | None = None

    # ---- in place of vLLM's functions: arguments by name, and the call of the original

    def coins(self, _: dict[str, Any], call: Callable[[], Tensor]) -> Tensor:
        self._coins = call()
        return self._coins

    def verify(self, given: dict[str, Any], call: Callable[[], Tensor]) -> Tensor:
        self._given = given
        self._numbers = None
        self._coins = torch.full(
            (len(given["draft_token_ids"]),), NOT_THROWN, dtype=torch.float32, device="cpu"
        )
        lossy = given["synthetic_mode"] or given.get("fly_window_size")
        greedy = given["sampling_metadata"].all_greedy
        return self._by_rule(given) if self.settings.rule and not (lossy or greedy) else call()

    def sample(self, given: dict[str, Any], call: Callable[[], Any]) -> Any:
        watched = list[tuple[int, str, Recording, Tensor]]()
        with self._guarded():
            parts = given["self"], given["logits"], given["spec_decode_metadata"]
            watched = [*self._watched(*parts)]
        output = call()
        with self._guarded():
            for at, name, record, last in watched:
                self._take(at, name, record, last, output.sampled_token_ids[at])
        self._given = {}  # its tensors are large
        return output

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn an error of the recorder into a line in the log; what it records ends there."""
        try:
            yield
        except Exception as error:
            log.error("hsd: recording failed (%s: %s)", type(error).__name__, first_line(error))
            for name in self._known:
                with suppress(Exception):
                    self._end(name)

    # ---- verification

    def _by_rule(self, given: dict[str, Any]) -> Tensor:
        """Verify a batch by HSD without waiting for the device.

        Returns (B, longest + 1) int32, as vLLM does.
        """
        tokens, sizes, bonus = (
            given[n] for n in ("draft_token_ids", "num_draft_tokens", "bonus_token_ids")
        )
        generators = given["sampling_metadata"].generators
        self._coins = self._uniform(len(tokens), sizes, generators, tokens.device)
        self._numbers = self._uniform(len(sizes), [1] * len(sizes), generators, tokens.device)
        committed: Tensor = tokens.new_full(
            (len(sizes), given["max_spec_len"] + 1), -1, dtype=torch.int32
        )
        if not len(tokens):
            return committed.scatter(1, torch.zeros_like(bonus).long(), bonus.int())
        size = torch.tensor(sizes, dtype=torch.int64, device="cpu")[:, None]  # (B, 1)
        places = torch.arange(max(sizes), device="cpu")  # (n,)
        # (B, n): where a request's tokens stand
        row = (size.cumsum(0) - size + places).clamp_max(len(tokens) - 1)
        size, places, row = (x.to(tokens.device, non_blocking=True) for x in (size, places, row))
        requests = torch.arange(len(sizes), device=tokens.device)
        draft, p, q = self._rows(row, requests[:, None])
        # without what follows a -1
        length = ((draft >= 0) & (places < size)).long().cumprod(1).sum(1)
        q, draft, coins = shortened(p, q, draft.clamp_min(0), self._coins[row], length)
        law = hsd_law(p, q, draft)
        kept = torch.minimum(law.kept(coins), length)
        last = requests, kept.clamp_max(len(places) - 1)
        residual, _ = leftover(p[last], q[last], law.a[last])
        after = torch.where(kept == size[:, 0], bonus[:, 0], draw(residual, self._numbers[:, None]))
        committed[:, : len(places)] = draft.where(places < kept[:, None], -1).int()
        return committed.scatter(1, kept[:, None], after[:, None].int())

    def _rows(self, places: Any, requests: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Return the drafted tokens at places of vLLM's tensors, and rows of target and draft.

        They are (…) int64 and (…, V). requests: the place in the batch of the request that each
        belongs to. Of a greedy request p has all its mass on the likeliest token and q on the
        drafted one: no coin matters. So has q where vLLM has no probabilities of it.
        """
        tokens, logits = (
            self._given[name][places] for name in ("draft_token_ids", "target_logits")
        )
        tokens = tokens.long()
        p = logits.softmax(-1, dtype=torch.float32)
        q = self._given["draft_probs"]
        metadata = self._given["sampling_metadata"]
        if metadata.all_random and q is not None:
            return tokens, p, q[places]
        certain = torch.zeros_like(p).scatter_(-1, tokens.clamp_min(0)[..., None], 1.0)
        greedy = torch.full_like(tokens, metadata.all_greedy, dtype=torch.bool)
        if not (metadata.all_greedy or metadata.all_random):
            greedy = metadata.temperature[requests] == 0
        p = torch.where(greedy[..., None], likeliest(logits), p)
        if q is None:
            return tokens, p, certain
        return tokens, p, torch.where(greedy[..., None], certain, q[places])

    # ---- recording

    def _watched(
        self, runner: Any, logits: Tensor, metadata: Any
    ) -> Iterator[tuple[int, str, Recording, Tensor]]:
        """Yield the requests of this step that are recorded.

        Of each: place in the batch, name, record, row after the draft. The row is the target's, (1,
        V), computed before vLLM's sampler changes the logits in place.
        """
        for name in self._known.keys() - runner.requests.keys():
            self._end(name)
            del self._known[name]
        for at, name in enumerate(runner.input_batch.req_ids):
            if name not in self._known:
                self._known[name] = None  # should it fail, it is not begun again
                self._known[name] = self._begin(runner, name)
            # its prompt has been read
            if (record := self._known[name]) and not runner.discard_request_mask.np[at]:
                last = logits[at if metadata is None else metadata.bonus_logits_indices[at]]
                yield at, name, record, record.sampling.probabilities(last[None].float())

    def _begin(self, runner: Any, name: str) -> Recording | None:
        """Begin to record a request and return the recording.

        Return None if the request is not to be recorded.
        """
        request = runner.requests[name]
        asked = runner.requests[name].sampling_params
        if not asked or not self.settings.wants(name, (asked.extra_args or {}).get(KEY)):
            return None
        from vllm.tokenizers import cached_tokenizer_from_config

        if self._shared is None:
            tokenizer = cached_tokenizer_from_config(self._config.model_config)
            self._shared = (
                setup_of(self._config, runner, self.settings),
                TokenizerCodec(tokenizer, frozenset()),
            )
        setup = with_request(self._shared[0], asked, runner.max_model_len)
        codec = copy(self._shared[1])
        codec.end_ids = frozenset(asked.all_stop_token_ids)
        prompt = list(request.prompt_token_ids or [])
        room = min(runner.max_model_len - len(prompt), setup.options.max_new_tokens)
        plain = asked.repetition_penalty == 1 and not any(
            getattr(asked, name, None) for name in PROCESSORS
        )
        kept_prompt = prompt if self.settings.prompts else []
        record = Recording(codec, setup, self._judges, kept_prompt, room, plain)
        self.buffer.add(name, "beginning", record.beginning.model_dump_json())
        return record

    def _end(self, name: str) -> None:
        """Record how a request ended; later steps of it are not recorded."""
        record = self._known[name]
        self._known[name] = None
        if record:
            self.buffer.add(name, "result", record.result().model_dump_json())

    def _take(self, at: int, name: str, record: Recording, last: Tensor, sampled: Tensor) -> None:
        """Record a step of the request at place `at`.

        last: (1, V), row after the draft; sampled: tokens or -1.
        """
        committed = [token for token in sampled.tolist() if token >= 0]
        draft = Draft.empty(last.shape[1], last.device)
        p = last
        if self._given:
            sizes = self._given["num_draft_tokens"]
            own = slice(sum(sizes[:at]), sum(sizes[: at + 1]))
            tokens, p, q = self._rows(own, at)
            size = int((tokens >= 0).long().cumprod(0).sum())  # without what follows a -1
            coins = self._coins[own][:size].double().cpu()
            p = torch.cat([p, last])[: size + 1]
            draft = Draft.chain(
                tokens[:size], q[:size], torch.empty(0, dtype=torch.float32, device="cpu"), coins
            )
        number = None
        if self._numbers is not None and len(committed) <= draft.depth:
            number = float(self._numbers[at])
        self.buffer.add(name, "step", record.step(draft, p, committed, number).model_dump_json())
        if record.finish != "cancelled":
            self._end(name)
