"""What happens in a worker of vLLM whose server asked for it: verification by HSD, and the recording of requests."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from hsd.draft import Draft
from hsd.errors import first_line
from hsd.rules import VANILLA
from hsd.rules.law import likeliest
from hsd.sampling import Sampling
from hsd.vllm.law import BatchLaw, drawn
from hsd.vllm.record import UNUSED, Recording, setup_of
from hsd.vllm.serving import Buffer
from hsd.vllm.settings import KEY, Settings

log = logging.getLogger("vllm.plugins.hsd")
FAILURES = 3  # of the recorder, after which it records no more
PLAIN = {
    "presence_penalty": 0, "frequency_penalty": 0, "repetition_penalty": 1, "min_p": 0, "min_tokens": 0,
    "logit_bias": None, "bad_words": None, "allowed_token_ids": None, "structured_outputs": None,
}  # fmt: skip


class Watcher:
    """One worker's part. config: vLLM's. here: that of this process, if there is one."""

    here: ClassVar[Watcher | None] = None

    def __init__(self, settings: Settings, config: Any) -> None:
        self.settings, self._config = settings, config
        self.buffer = Buffer(settings.megabytes * 1e6, settings.per_second * 1e6)
        self._known: dict[str, Recording | None] = {}  # None: it is not recorded
        self._begun = self._failures = 0
        self._given: dict[str, Any] = {}  # to the last verification
        self._coins: Tensor | None = None  # that it threw, (N,)
        self._numbers: Tensor | None = None  # that drew what follows the kept tokens, (B,); None for races
        self.uniform: Callable[..., Tensor] = torch.rand  # vLLM's function that makes coins

    # ---- in place of vLLM's functions: arguments by name, and the call of the original

    def coins(self, _: dict[str, Any], call: Callable[[], Tensor]) -> Tensor:
        self._coins = call()
        return self._coins

    def verify(self, given: dict[str, Any], call: Callable[[], Tensor]) -> Tensor:
        self._given, self._coins, self._numbers = given, None, None
        own = self.settings.rule and not (given["synthetic_mode"] or given.get("fly_window_size"))
        if own and not given["sampling_metadata"].all_greedy and len(given["draft_token_ids"]):
            return self._by_rule(given)
        return call()

    def sample(self, given: dict[str, Any], call: Callable[[], Any]) -> Any:
        runner, wanted = given["self"], list[tuple[int, str, Recording]]()
        with self._guarded():
            wanted = self._wanted(runner)
        output = call()
        with self._guarded():
            for at, name, record in wanted:
                if not runner.discard_request_mask.np[at]:  # its prompt is read to the end
                    self._take(at, name, record, given, output.sampled_token_ids[at])
        self._given = {}  # its tensors are large
        return output

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn an error of the recorder into a line in the log; it gives up what it was recording, or for good."""
        try:
            yield
        except Exception as error:
            self._failures += 1
            after = "; nothing more is recorded" if self._failures >= FAILURES else ""
            log.error("hsd: recording failed (%s: %s)%s", type(error).__name__, first_line(error), after)
            for name in self._known:
                with suppress(Exception):
                    self._end(name)

    # ---- verification

    def _by_rule(self, given: dict[str, Any]) -> Tensor:
        """Verify a batch by HSD. Returns (B, longest + 1) int32, as vLLM's function does."""
        sizes, generators = given["num_draft_tokens"], given["sampling_metadata"].generators
        p, q, tokens = self._rows()
        law, device = BatchLaw(p, q, tokens, sizes), p.device
        kept = law.kept(self.uniform(len(tokens), sizes, generators, device))
        self._numbers = torch.rand(len(sizes), dtype=torch.float64, device=device)
        for request, generator in generators.items():
            self._numbers[request : request + 1].uniform_(generator=generator)
        whole = kept == torch.tensor(sizes, device=device)
        following = torch.where(whole, given["bonus_token_ids"][:, 0].long(), drawn(law.following(kept), self._numbers))
        places = torch.arange(given["max_spec_len"] + 1, device=device)
        draft = tokens[(law.begins[:, None] + places).clamp_max(len(tokens) - 1)]
        committed = torch.where(places < kept[:, None], draft, -1)
        return torch.where(places == kept[:, None], following[:, None], committed).int()

    def _rows(self, part: slice = slice(None)) -> tuple[Tensor, Tensor | None, Tensor]:
        """Return p, q and the tokens of some of the drafted rows; q is None where the draft is certain everywhere.

        Of greedy requests p has all its mass on the likeliest token, and q on the drafted one.
        """
        metadata, logits, q = (self._given[name] for name in ("sampling_metadata", "target_logits", "draft_probs"))
        tokens, logits, q = self._given["draft_token_ids"][part].long(), logits[part], None if q is None else q[part]
        if metadata.all_random:
            return logits.softmax(-1, dtype=torch.float32), q, tokens
        sizes = torch.tensor(self._given["num_draft_tokens"])  # on the host, which need not wait for them
        request = torch.arange(len(sizes)).repeat_interleave(sizes)[part].to(logits.device)
        cold = (logits.new_zeros(len(sizes)) if metadata.all_greedy else metadata.temperature)[request, None] == 0
        p = torch.where(cold, likeliest(logits), logits.softmax(-1, dtype=torch.float32))
        q = None if q is None else torch.where(cold, one_hot(tokens.clamp_min(0), p.shape[1]).to(q.dtype), q)
        return p, q, tokens

    # ---- recording

    def _wanted(self, runner: Any) -> list[tuple[int, str, Recording]]:
        """Return the requests of this step that are recorded: place in the batch, name, record."""
        if self._failures >= FAILURES:
            return []
        requests = runner.input_batch.req_ids
        for name in self._known.keys() - runner.requests.keys():
            self._end(name)
            del self._known[name]
        for name in requests:
            if name not in self._known:
                self._known[name] = self._begin(runner, name)
        return [(at, name, record) for at, name in enumerate(requests) if (record := self._known[name])]

    def _begin(self, runner: Any, name: str) -> Recording | None:
        """Decide whether a request is recorded, and begin."""
        request = runner.requests[name]
        asked = request.sampling_params
        own = (asked.extra_args or {}).get(KEY) if asked else None
        wanted = asked is not None and self.settings.wants(name, own, self._begun)
        self._begun += 1
        if not wanted:
            return None
        setup = setup_of(self._config, runner, asked, self.settings.rule or VANILLA["single"])
        codec = copy(self._codec)
        codec.end_ids = frozenset(asked.all_stop_token_ids)
        prompt = list(request.prompt_token_ids or [])
        record = Recording(codec, setup, prompt, not self.settings.prompts, runner.max_model_len)
        header = {"label": own if isinstance(own, str) else "", "trace": record.header}
        return record if self.buffer.add(name, "header", json.dumps(header)) else None

    @cached_property
    def _codec(self) -> Any:
        from vllm.tokenizers import cached_tokenizer_from_config

        from hsd.models.loading.text import TokenizerCodec

        return TokenizerCodec(cached_tokenizer_from_config(self._config.model_config), frozenset())

    def _end(self, name: str) -> None:
        """Record how a request ended, and nothing more of it."""
        record, self._known[name] = self._known[name], None
        if record:
            self.buffer.add(name, "result", record.result().model_dump_json())

    def _take(self, at: int, name: str, record: Recording, given: dict[str, Any], sampled: Tensor) -> None:
        """Record one step of the request at a place of the batch."""
        metadata, asked = given["spec_decode_metadata"], given["self"].requests[name].sampling_params
        committed = [token for token in sampled.tolist() if token >= 0]
        bonus = given["logits"][at if metadata is None else metadata.bonus_logits_indices[at]]
        last = Sampling(asked.temperature, max(asked.top_k, 0), asked.top_p).probabilities(bonus[None].float())
        known = all((getattr(asked, field, usual) or usual) == usual for field, usual in PLAIN.items())
        draft, p = self._draft(at, last.cpu(), asked.temperature == 0)
        race = self._numbers is None or len(committed) > draft.depth
        number = None if race else float(self._numbers[at])  # type: ignore[index]
        step = record.step(draft, p, committed, number, known)
        if not self.buffer.add(name, "step", step.model_dump_json()) or record.finish:
            self._end(name)

    def _draft(self, at: int, last: Tensor, cold: bool) -> tuple[Draft, Tensor]:
        """Return what the request at a place of the batch drafted, and the target's rows (n+1, V); last: (1, V).

        cold: it is greedy, so no coin was thrown.
        """
        sizes = self._given.get("num_draft_tokens", [0] * (at + 1))
        if not sizes[at]:
            return Draft.empty(last.shape[1], torch.device("cpu")), last
        begin = sum(sizes[:at])
        p, q, tokens = self._rows(slice(begin, begin + sizes[at]))
        tokens = tokens.cpu()
        tokens = tokens[(tokens < 0).cumsum(0) == 0]  # without what follows a -1
        size, p = len(tokens), p.cpu()
        q = one_hot(tokens, p.shape[1]) if q is None else q[:size].cpu()
        unused = torch.full((size,), UNUSED, dtype=torch.float64)
        coins = unused if cold or self._coins is None else self._coins[begin : begin + size].double().cpu()
        return Draft.chain(tokens, q.float(), unused, coins), torch.cat([p, last])[: size + 1]
