"""What happened at the levels below the target, in the words of `sentences.yaml`; `web/step/levels.js` has the same."""

from itertools import zip_longest

from hsd.trace.fill import say
from hsd.trace.run import Trace


def events_in_words(trace: Trace, index: int) -> list[str]:
    """Return a line for each event below the target in `trace.steps[index]`, in their order; none without levels."""
    events, count = trace.steps[index].events, max(len(trace.setup.models), 2)
    shared = {"levels": count, "exits": bool(trace.setup.options.levels.exits)}
    names = [say("level name", {**shared, "level": level, "top": level == count - 1}) for level in range(count)]
    lines = []
    for event, following in zip_longest(events, events[1:]):
        settled, pieces = event.held + len(event.committed), [{"piece": one.piece} for one in event.committed]
        replaced = [{"piece": one.piece} for one in event.tested[event.kept :]]
        facts = {
            "Who": names[event.level].capitalize(),
            "Above": names[event.level + 1].capitalize(),
            "below": names[event.level - 1],
            "drafting": event.kind == "draft",
            "level tokens": [{"piece": one} for one in pieces],
            "made": len(pieces),
            "drafted": len(event.tested),
            "kept": event.kept,
            "all": event.kept == len(event.tested),
            "added": next(iter(pieces[event.kept :]), None),
            "replaced": next(iter(replaced), None),
            "settled": settled,
            "asked": event.asked,
            "up": following is None or following.level > event.level,
            "more": settled > event.asked,
            "less": settled < event.asked,
        }
        lines.append(say("beat level", facts).replace("||", " "))
    return lines
