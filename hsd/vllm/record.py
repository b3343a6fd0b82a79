"""Steps of a request that vLLM decodes, described as this project describes its own."""

import time
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal

import torch
from torch import Tensor

from hsd.decoding.describe import Describer
from hsd.decoding.judge import judge
from hsd.decoding.judges import Judges
from hsd.decoding.options import RunOptions
from hsd.decoding.record import Recorder
from hsd.decoding.rounds import Round
from hsd.draft import COPIERS, Draft
from hsd.models.base import Codec
from hsd.models.loading.memory import of_config
from hsd.models.reading import Rows
from hsd.rules import RULES, USUAL, VANILLA, find_rule
from hsd.sampling import Sampling
from hsd.trace import ModelInfo, Result, Setup, SetupOptions, Step, Times, Trace, Work
from hsd.version import __version__
from hsd.vllm.serving import Settings

TIMES = "Times are of whole steps, other requests in them: vLLM does not tell the parts apart."
PRIVATE = "The prompt is not recorded; lengths count from its end."
METHODS = {
    "block": ["The server asks for block verification, which this runner of vLLM ignores."],
    "synthetic": [
        "The server accepts drafts at a set rate, whatever they are: its text is not the model's."
    ],
}
# parameters of a request that change rows otherwise than temperature, top-k and top-p do
PROCESSORS = (
    "presence_penalty",
    "frequency_penalty",
    "min_p",
    "min_tokens",
    "logit_bias",
    "bad_words",
    "allowed_token_ids",
    "structured_outputs",
)


class Recording:
    """A request that is recorded, step by step.

    codec: decodes its text and knows the tokens that end it. setup: the trace's. judges: its rules.
    prompt: its tokens, [] if they are not recorded. room: the most new tokens. plain: the token
    after a wholly kept draft is drawn from the recorded row as it is. finish: how its tokens ended,
    "cancelled" if they have not. beginning: the trace without steps.
    """

    def __init__(
        self,
        codec: Codec,
        setup: Setup,
        judges: Judges,
        prompt: list[int],
        room: int,
        plain: bool = True,
    ) -> None:
        self._codec = codec
        self._describe = Describer(codec)
        self._room = room
        self._plain = plain
        self._rule = judges.rule
        self._recorder = Recorder(codec, judges)
        self.sampling = Sampling.of(setup.options.flat())
        self.tokens = list[int]()
        self._places = count()
        self.finish: Literal["length", "end", "cancelled"] = "cancelled"
        self._begin = self._last = time.perf_counter()
        self.beginning = Trace(
            app_version=__version__,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            setup=setup,
            prompt=self._describe.prompt(codec.decode(prompt), prompt),
            steps=[],
            result=self.result(),
        )

    def step(self, draft: Draft, p: Tensor, committed: list[int], number: float | None) -> Step:
        """Return the next step, without tokens after the end of the text.

        This sets `finish` if the text ends in it. draft: n tokens in a chain. p: (n+1, V), the
        target's rows. committed: the kept tokens and the one after them. number: in [0, 1), drew
        that one; None if a race did. No details if the rule would keep more or fewer.
        """
        begin = self._last
        self._last = time.perf_counter()
        room = max(self._room - len(self.tokens), 1)
        end = next(
            (at for at, token in enumerate(committed[:room], 1) if token in self._codec.end_ids),
            None,
        )
        if end:
            self.finish = "end"
        elif len(committed) >= room:
            self.finish = "length"
        kept = len(committed) - 1
        committed = committed[: end or room]
        # the text ends among the kept tokens: so does the draft, nothing is drawn
        count = len(committed)
        if count <= kept:
            kept = count
            tokens = draft.tokens[:count]
            draft = Draft.chain(tokens, draft.q[:count], draft.draws, draft.coins[:count])
        bonus = kept == draft.depth
        rows = Rows(*(x[: draft.depth + 1] for x in (p, p.log())))
        by = torch.tensor([] if number is None else [number], dtype=torch.float64, device="cpu")
        judged = judge(self._rule, draft, rows)
        played = Round(draft, rows, judged, by, next(iter(committed[kept:]), None))
        detail = self._recorder.details(played) if played.kept == kept else {}
        if detail and bonus and not self._plain:
            detail["verdict"] = detail["verdict"].model_copy(update={"residual": None})
        before = self.tokens
        self.tokens = self.tokens + committed
        return Step(
            index=next(self._places),
            context_length=len(self.beginning.prompt.ids) + len(before),
            drafted=draft.depth,
            depth=draft.depth,
            kept=kept,
            work=Work(calls=1),
            committed=self._describe.committed(
                committed, kept, bonus, before[-1] if before else None
            ),
            times=Times(draft=0, target=0, verify=0, rest=self._last - begin),
            start=begin - self._begin,
            **detail,
        )

    def result(self) -> Result:
        """Return the text, how it ended (see `finish`), and the seconds until the last step."""
        return Result(
            text=self._codec.decode(self.tokens),
            finish=self.finish,
            seconds=self._last - self._begin,
        )


def judges_for(settings: Settings) -> Judges:
    """Return the rules of a worker's recordings.

    They are the rule by which the server verifies, vanilla or HSD, the other of the two to compare
    with, and all lossless rules that can judge a chain after the fact.
    """
    vanilla = find_rule(VANILLA["single"])
    rule = find_rule(settings.rule) if settings.rule else vanilla
    others = [
        other
        for other in RULES.values()
        if other.lossless and not other.resamples and not other.recipe.coupled
    ]
    return Judges(rule, vanilla if settings.rule else find_rule(USUAL), tuple(others))


def setup_of(config: Any, runner: Any, settings: Settings) -> Setup:
    """Return the setup of a worker's traces, without what a request asks for.

    config: vLLM's. runner: the worker's.
    """
    from vllm import __version__ as engine

    plan = config.speculative_config
    target = runner.get_model()
    drafter = getattr(runner, "drafter", None)
    models = [_model(config.model_config, target)]
    if getattr(drafter, "model", None) is not None:
        head = None if plan.method == "draft_model" else target
        draft = _model(plan.draft_model_config, drafter.model, head)  # type: ignore[union-attr]
        models.insert(0, draft)
    judges = judges_for(settings)
    options = RunOptions(rule=judges.rule.name, shadow=judges.shadow.name)
    if models[1:]:
        proposer = "model"
    elif plan and "ngram" in plan.method:
        proposer = next(iter(COPIERS))
    else:
        proposer = "none"
    drafting = {
        "proposer": proposer,
        "gamma": plan.num_speculative_tokens if plan else 0,
        "engine": "vllm",
    }
    return Setup(
        options=SetupOptions.of({**dict(options), **drafting}),
        pair=models[-1].name,
        models=models,
        device=str(runner.device),
        vocab_size=config.model_config.get_vocab_size(),
        versions={"vllm": engine, "torch": torch.__version__},
        notes=[
            TIMES,
            *METHODS.get(plan and plan.rejection_sample_method, []),
            *[PRIVATE] * (not settings.prompts),
        ],
    )


def with_request(setup: Setup, asked: Any, context: int) -> Setup:
    """Return a setup with a request's options.

    asked: its sampling parameters. context: the length if they set none.
    """
    top_k = asked.top_k if 0 < asked.top_k < setup.vocab_size else 0
    own = {
        "temperature": asked.temperature,
        "top_p": asked.top_p,
        "top_k": top_k,
        "seed": asked.seed or 0,
    }
    options = {**setup.options.flat(), **own, "max_new_tokens": asked.max_tokens or context}
    return setup.model_copy(update={"options": SetupOptions.of(options)})


def _model(config: Any, model: Any, target: Any = None) -> ModelInfo:
    """Return a trace's description of a model.

    config: gives its size, as a worker may hold only a part of the model.
    target: given for a head, whose weights are counted instead, without those that it shares with
    the target.
    """
    sizes = None if target else of_config(config.hf_config)
    shared = {weight.data_ptr() for weight in target.parameters()} if target else set()
    own = [weight.numel() for weight in model.parameters() if weight.data_ptr() not in shared]
    parameters = sizes.parameters if sizes else sum(own)
    layers = config.get_total_num_hidden_layers()
    name = str(config.model).rstrip("/").rpartition("/")[2][:200]
    return ModelInfo(name=name, parameters=parameters, dtype=str(config.dtype), layers=layers)
