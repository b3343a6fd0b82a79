"""From a system to what plays its rounds: sessions are opened, levels stand on one another."""

from hsd.decoding.rounds import RoundPlayer, Rounds
from hsd.decoding.stack import StackLevel
from hsd.decoding.system import System
from hsd.decoding.unrecorded import UnrecordedRounds
from hsd.draft import ModelProposer
from hsd.models.reading import RowReader
from hsd.rng import Streams
from hsd.rules import Rule


def open_rounds(system: System, prompt: int) -> RoundPlayer:
    """Return what plays a system's rounds.

    prompt: the prompt's number of tokens. Raises HsdError if the engine does not fit the models.
    """
    rule = system.judges.rule
    if system.engine == "captured" and prompt > 1:
        from hsd.decoding.captured import CapturedRounds  # here, as it imports transformers

        # with a draft that is thrown away
        longest = prompt + system.max_new_tokens + system.longest + 1
        assert isinstance(rule, Rule)
        return CapturedRounds(system.pair, system.sampling, rule, longest)
    readers = _readers(system)
    proposer = system.proposer(readers)
    ends = system.end_ids
    longest = system.levels.thresholds[0] if system.levels.thresholds else system.longest
    between = zip(readers[1:-1], system.judges.levels, strict=True)
    for level, (reader, level_rule) in enumerate(between, start=1):
        rounds = Rounds(reader, ends, level_rule, proposer, system.context)
        threshold = system.levels.thresholds[level]
        numbers = Streams(system.seed, level)
        stacked = StackLevel(level, rounds, threshold, longest, numbers)
        proposer = stacked
        longest = stacked.longest
    one_chain = type(proposer) is ModelProposer or not system.block
    if one_chain and not system.traced and UnrecordedRounds.fits(readers, rule.name):
        return UnrecordedRounds(readers, ends, rule.name, system.stopping, longest, system.context)
    return Rounds(readers[-1], ends, rule, proposer, system.context)


def _readers(system: System) -> list[RowReader]:
    return [
        RowReader(
            session,
            model.device,
            system.sampling,
            system.pair.vocab_size,
            model.vocab_size,
        )
        for session, model in zip(system.levels.open(), system.models, strict=True)
    ]
