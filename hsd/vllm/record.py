"""Steps of a request that vLLM decodes, described as this project describes its own."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from hsd.decoding.describe import Describer
from hsd.decoding.judge import judge
from hsd.decoding.options import RunOptions
from hsd.decoding.record import Recorder
from hsd.decoding.rounds import Round
from hsd.draft import COPIERS, Draft
from hsd.models.base import Codec
from hsd.models.loading.memory import numbers_in_folder
from hsd.models.reading import Rows
from hsd.rules import RULES, USUAL, VANILLA, find_rule
from hsd.trace import ModelInfo, Result, Setup, SetupOptions, Step, Times, Trace, Work
from hsd.version import __version__

Finish = Literal["length", "end", "context"]
UNUSED = 0.5  # stands for a coin that was not thrown, and for a number that draws nothing of what is recorded
TIMES = "Times are of whole steps, other requests in them: vLLM does not tell the parts apart."
PRIVATE = "The prompt is not recorded; lengths count from its end."
METHODS = {
    "block": "The server asks for block verification, which this runner of vLLM ignores.",
    "synthetic": "The server accepts drafts at a set rate, whatever they are: its text is not the model's.",
}


class Recording:
    """A request that is recorded, step by step.

    codec: of its text, with the tokens that end it. setup: of its trace. prompt: its tokens; where `private` only their
    number matters. context: tokens that the engine can hold. finish: how it ended, None while it goes on.
    """

    def __init__(self, codec: Codec, setup: Setup, prompt: list[int], private: bool, context: int) -> None:
        self._codec, self._describe, self._setup = codec, Describer(codec), setup
        self._prompt = [] if private else prompt
        self._notes = [*setup.notes, *[PRIVATE] * private]
        limits: dict[int, Finish] = {context - len(prompt): "context", setup.options.max_new_tokens: "length"}
        self._room, self._limit = min(limits.items())
        self._rule = find_rule(setup.options.rule)
        others = [one for one in RULES.values() if one.lossless and not one.resamples and not one.recipe.coupled]
        self._recorder = Recorder(codec, self._rule, find_rule(setup.options.shadow), others)
        self.tokens: list[int] = []
        self.steps = 0
        self.finish: Finish | None = None
        self._begin = self._last = time.perf_counter()

    @property
    def header(self) -> dict[str, Any]:
        """Return the trace without its steps and result, as plain data."""
        text = self._codec.decode(self._prompt)
        trace = Trace(
            app_version=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            setup=self._setup.model_copy(update={"notes": self._notes}),
            prompt=self._describe.prompt(text, self._prompt),
            steps=[],
            result=self.result(),
        )
        return trace.model_dump(mode="json", exclude={"steps", "result"})

    def step(self, draft: Draft, p: Tensor, committed: list[int], number: float | None, known: bool = True) -> Step:
        """Return the next step, without what stands after the end of the text; sets `finish` where it ends.

        draft: n tokens in a chain, on the CPU. p: (n+1, V), the target's rows; the last may be anything if not `known`.
        committed: the kept tokens and the one after them. number: what drew that one, None for a race.
        """
        begin, self._last = self._last, time.perf_counter()
        kept, committed = len(committed) - 1, self._until_end(committed)
        if len(committed) <= kept:  # the text ends among the kept tokens: so does the draft, and nothing is drawn
            kept = n = len(committed)
            draft = Draft.chain(draft.tokens[:n], draft.q[:n], draft.draws[:n], draft.coins[:n])
        detail = self._details(draft, p[: draft.depth + 1], kept, committed[kept:], number, known)
        last = self.tokens[-1] if self.tokens else None
        step = Step(
            index=self.steps,
            context_length=len(self._prompt) + len(self.tokens),
            drafted=draft.depth,
            depth=draft.depth,
            kept=kept,
            work=Work(calls=1),
            committed=self._describe.committed(committed, kept, kept == draft.depth, last),
            times=Times(draft=0, target=0, verify=0, rest=self._last - begin),
            start=begin - self._begin,
            **detail,
        )
        self.tokens, self.steps = self.tokens + committed, self.steps + 1
        return step

    def result(self) -> Result:
        """Return how it stands, or how it ended: "cancelled" where no token shows why."""
        text, finish = self._codec.decode(self.tokens), self.finish or "cancelled"
        return Result(text=text, finish=finish, seconds=self._last - self._begin)

    def _until_end(self, committed: list[int]) -> list[int]:
        """Return those of these tokens that belong to the text; sets `finish` where they end it."""
        committed = committed[: max(self._room - len(self.tokens), 1)]
        full = len(self.tokens) + len(committed) >= self._room
        end = next((at for at, token in enumerate(committed, 1) if token in self._codec.end_ids), None)
        self.finish = "end" if end else self._limit if full else None
        return committed[:end]

    def _details(
        self, draft: Draft, p: Tensor, kept: int, after: list[int], number: float | None, known: bool
    ) -> dict[str, Any]:
        """Return the parts of a step that describe draft and tests, without numbers that nobody drew.

        after: the token after the kept ones, if there is one. {} where the rule would have kept another part.
        """
        rows = Rows(p, p.log())
        ruling = judge(self._rule, draft, rows)
        if len(ruling.path) != kept:
            return {}
        by = torch.tensor([UNUSED if number is None else number], dtype=torch.float64)
        detail = self._recorder.details(Round(draft, rows, ruling, by, after[0] if after else None))
        own, shadow, residual = detail["verdict"], detail["shadow"], detail["verdict"].residual
        if residual:
            shown = residual.model_copy(update={"draw": number}) if known or residual.origin == "correction" else None
            own = own.model_copy(update={"residual": shown})
        if number is None:
            shadow = shadow.model_copy(update={"residual": None, "next": None})
        nodes = [node.model_copy(update={"draw": None}) for node in detail["nodes"]]
        return {**detail, "nodes": nodes, "verdict": own, "shadow": shadow}


def setup_of(config: Any, runner: Any, asked: Any, rule: str) -> Setup:
    """Return the setup of a request's trace.

    config: vLLM's. runner: the worker's. asked: the request's sampling parameters. rule: the one that verifies drafts.
    """
    from vllm import __version__ as engine

    plan, vocab = config.speculative_config, config.model_config.get_vocab_size()
    models, drafter = [_model(config.model_config, runner.get_model())], getattr(runner, "drafter", None)
    if getattr(drafter, "model", None) is not None:
        models.insert(0, _model(plan.draft_model_config, drafter.model))  # type: ignore[union-attr]
    shadow = USUAL if rule == VANILLA["single"] else VANILLA["single"]
    top_k = asked.top_k if 0 < asked.top_k < vocab else 0
    options = RunOptions(rule=rule, shadow=shadow, temperature=asked.temperature, top_p=asked.top_p, top_k=top_k)
    own = {"max_new_tokens": asked.max_tokens or runner.max_model_len, "seed": asked.seed or 0, "engine": "vllm"}
    own["proposer"] = "model" if models[1:] else next(iter(COPIERS)) if plan and "ngram" in plan.method else "none"
    own["gamma"] = plan.num_speculative_tokens if plan else 0
    noted = METHODS.get(plan.rejection_sample_method) if plan else None
    return Setup(
        options=SetupOptions.of({**dict(options), **own}),
        pair=models[-1].name,
        models=models,
        device=str(runner.device),
        vocab_size=vocab,
        versions={"vllm": engine, "torch": torch.__version__},
        notes=[TIMES, *filter(None, [noted])],
    )


def _model(config: Any, model: Any) -> ModelInfo:
    """Return a trace's description of a model: numbers in its files, as a worker may hold a part, or pack them."""
    parameters = numbers_in_folder(Path(config.model)) or sum(weight.numel() for weight in model.parameters())
    name, layers = str(config.model).rstrip("/").rpartition("/")[2], config.get_total_num_hidden_layers()
    return ModelInfo(name=name[:200], parameters=parameters, dtype=str(config.dtype), layers=layers)
