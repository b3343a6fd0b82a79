"""Sentences for the reader of a run about its rule and its models."""

from collections.abc import Sequence
from itertools import pairwise

from hsd.conform.own import OwnRule
from hsd.decoding.options import AnyRule, RunOptions
from hsd.models.base import LanguageModel, Pair
from hsd.models.exits import parts_of

HALF = ("bfloat16", "float16")
# a draft's own generation settings about drafts, and a value that asks for what is done anyway
OF_DRAFTS = {
    "num_assistant_tokens": None,
    "num_assistant_tokens_schedule": "constant",
    "assistant_confidence_threshold": None,
}


def about_rule(options: RunOptions, rule: AnyRule) -> list[str]:
    """Return a note on a rule that is not lossless, or is so by the value of its setting only.

    Also on a rule of one's own that could not be judged.
    """
    if isinstance(rule, OwnRule) and rule.verdict.lossless is None:
        return [f"Rule {rule.name} was {rule.verdict}."]
    agrees_cold = rule.greedy and options.sampling.greedy  # rows are certain: all rules agree
    if options.system == "plain" or rule.lossless or agrees_cold:
        return []
    knob = rule.knob
    if knob and knob.exact is not None and getattr(options, knob.option) <= knob.exact:
        usual = f"At {knob.title.lower()} {knob.exact:g} rule {rule.name} is exact."
        return [rule.exactly or usual]
    return [f"Rule {rule.name} is not lossless: the text does not follow the target exactly."]


def about_models(pair: Pair, models: Sequence[LanguageModel], options: RunOptions) -> list[str]:
    """Return notes on a run's models.

    They are about missing rows, a draft that was cut, rounding, settings that are not applied.
    """
    notes = [
        f"{model.name} has rows for {model.vocab_size:,} of {pair.vocab_size:,} tokens: it drafts "
        "none of the others, and reads them as its last one."
        for model in models
        if model.vocab_size < pair.vocab_size
    ]
    cuts = {model.name: getattr(model, "drafted", None) for model in models}
    notes += [
        f"{name} proposes the first {cut:,} tokens only." for name, cut in cuts.items() if cut
    ]
    notes += options.shape[1]
    if options.forced:
        notes.append(
            f"Forced tokens at the start of the text: {len(options.forced)}. The rest follows from "
            "them."
        )
    if options.sampling.greedy and pair.target.dtype.startswith(HALF) and options.system != "plain":
        notes.append(
            f"In {pair.target.dtype} a pass over several tokens rounds otherwise than over one "
            "alone: where two tokens are almost equally likely, the text may differ from plain "
            "decoding. In float32 that is far rarer."
        )
    if settings := getattr(pair.target, "settings", None):
        from hsd.models.loading.settings import not_applied  # here, as it imports transformers

        if unmet := not_applied(settings, options.sampling):
            listed = ", ".join(unmet)[:250]
            notes.append(
                "The target's own generation settings differ, and this run does not apply them: "
                f"{listed}."
            )
    return notes + _about_drafting(models[:-1], options)


def _about_drafting(drafting: Sequence[LanguageModel], options: RunOptions) -> list[str]:
    """Return a note for each model whose own settings say otherwise how it drafts."""
    usual = OF_DRAFTS | {"num_assistant_tokens": None if options.levelled else options.gamma}
    notes = []
    for model in drafting:
        own = getattr(model, "settings", {})
        unmet = [
            f"{name} {str(own[name])[:40]}"
            for name, met in usual.items()
            if own.get(name) not in (None, met)
        ]
        if unmet:
            notes.append(
                f"{model.name}'s own generation settings are not applied to its drafts: "
                f"{', '.join(unmet)}."
            )
    return notes


def about_sizes(models: Sequence[LanguageModel]) -> tuple[str, ...]:
    """Return a note for each model of a stack that stands above a larger one."""
    return tuple(
        f"{above.name} stands above {below.name}, which is larger: put models in order of size, "
        "smallest first."
        for below, above in pairwise(models)
        if below.parameters > above.parameters
    )


def about_exits(target: LanguageModel, exits: Sequence[int], layers: int) -> tuple[str, ...]:
    """Return a note on exits that the model was not trained to predict from, if there are any."""
    trained = (*parts_of(target).trained, layers)
    untrained = [str(depth) for depth in dict.fromkeys(exits) if depth not in trained]
    if not untrained:
        return ()
    return (
        f"{target.name} does not say that it was trained to predict after layer "
        f"{' and '.join(untrained)}: expect that little of what is drafted there is kept, and "
        "that decoding is slower than without.",
    )
