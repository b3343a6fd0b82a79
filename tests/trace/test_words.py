"""A step in words: every recorded step can be told, its numbers are the record's, and no coin is
taken for a law.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from loops import for_each
from table_models import table_pair

from hsd import RULES, Pair, run
from hsd.cli import main
from hsd.errors import HsdError
from hsd.facts import facts
from hsd.paths import TRACES
from hsd.trace import Step, Trace, step_in_words
from hsd.trace.format import quoted, same

RECORDED = sorted(TRACES.glob("*.json"))
KNOWN = facts()
SHORT = {rule["name"]: rule["short"] for rule in KNOWN["rules"]}
NUMBER = r"[−0-9.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*[0-9⁰¹²³⁴⁵⁶⁷⁸⁹]"
TEST = re.compile(
    rf"(passed|failed): (?:p|coin|no coin can (?:pass|fail)) ?({NUMBER})?, "
    rf"(?:bar|threshold) ({NUMBER})"
)
SURE = re.compile(
    r"Whatever the coins, .+ keeps the whole of this draft; .+ keeps (\S+) of it on average\."
)
LAW = re.compile(
    rf"^Over all coins (\S.*?) keeps? ({NUMBER}) of th[a-z]+ drafts? on average"
    rf"(?: and (.+?) ({NUMBER}))?[:.]"
)


def value(text: str) -> float:
    """A number as a sentence has it: 0.12, or 1.2·10⁻⁵."""
    return float(text.replace("·10", "e").translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")))


def near(text: str, number: float) -> bool:
    return value(text) == pytest.approx(number, rel=0.06, abs=1e-300)


@for_each("file", RECORDED, ids=lambda file: file.stem, every=3)
def test_every_recorded_step_is_told_with_the_numbers_of_its_record(file: Path):
    trace = Trace.from_file(file)
    for step in trace.steps:
        text = step_in_words(trace, step.index, KNOWN)
        assert text.startswith(f"Step {step.index + 1} of {len(trace.steps)}.\n")
        if step.verdict is None or not step.drafted:
            assert len(text.splitlines()) < 5
            continue
        above = text.partition("\nBelow the target, in order:\n")[0]
        lines = [line for line in above.splitlines() if line.startswith("- ")]
        made = list(step.verdict.decisions)
        if step.shadow and step.shadow.rule != step.verdict.rule:
            made += step.shadow.decisions
        assert len(lines) == len(made)
        for line, decision in zip(lines, made, strict=True):
            outcome, coin, threshold = TEST.search(line).groups()  # type: ignore[union-attr]
            assert outcome == ("passed" if decision.accepted else "failed")
            assert near(threshold, decision.threshold)
            assert coin is None or near(coin, decision.coin)
            assert coin is None or (value(coin) < value(threshold)) is decision.accepted
            assert (coin is None) is (decision.threshold in (0, 1))
        assert f"\nKept {step.kept} of " in text
        if step.verdict.rule != "one-hot":
            changes = sum(change.mass > 0 for change in step.verdict.changes)
            assert text.count("the target becomes") >= changes
        assert_law(step, text, trace.setup.options.sampling.temperature == 0)


def assert_law(step: Step, text: str, greedy: bool) -> None:
    """What holds over all coins is told as recorded; of a difference between two coins nothing is
    made.
    """
    own = step.verdict
    shadow = step.shadow
    assert own
    if greedy:
        assert "At temperature 0 nothing is left to chance." in text
        assert not re.search(r"coin (was|is) ", text)
        return
    sure = next(filter(None, map(SURE.match, text.splitlines())), None)
    if sure:
        assert shadow
        assert near(sure[1], step.expected_kept[shadow.rule])
        assert step.kept == step.drafted == pytest.approx(step.expected_kept[own.rule])
        return
    found = next(filter(None, map(LAW.match, text.splitlines())), None)
    assert found, text
    assert near(found[2], step.expected_kept[own.rule])
    if shadow is None or shadow.rule == own.rule:
        assert found[3] is None
        return
    assert f"{SHORT[shadow.rule]} would have kept " in text
    gap = step.expected_kept[own.rule] - step.expected_kept[shadow.rule]
    if same(step.expected_kept[own.rule], step.expected_kept[shadow.rule]):
        assert found[1] == "both"
        assert ("is luck" in text) is (own.kept != shadow.kept)
    else:
        assert near(found[4], step.expected_kept[shadow.rule])
        assert ("is luck" in text) is ((own.kept - shadow.kept) * gap < 0)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_words_for_where_its_thresholds_come_from(rule: str, byte_pair: Pair):
    trace = run(
        byte_pair, "Once upon a time", rule=rule, gamma=4, seed=5, max_new_tokens=12, shadow="hsd"
    )
    for step in trace.steps:
        assert "by the test" not in step_in_words(trace, step.index, KNOWN)


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_not_lossless_is_said_to_be_so_in_every_step(rule: str, byte_pair: Pair):
    trace = run(byte_pair, "Once upon a time", rule=rule, gamma=4, seed=5, max_new_tokens=12)
    for step in trace.steps[:-1]:
        text = step_in_words(trace, step.index, KNOWN)
        assert ("\nNot lossless: " in text) is not RULES[rule].lossless
        assert (", which is not lossless, tests " in text) is not RULES[rule].lossless


def changed(name: str, change: Any, step: int = 0) -> str:
    """The words about a step of a recorded trace, up to which it is read, whose record is changed
    first.
    """
    data = json.loads((TRACES / f"{name}.json").read_bytes())
    data["steps"] = data["steps"][: step + 1]
    change(data["steps"][step])
    return step_in_words(Trace.from_json(json.dumps(data)), step, KNOWN)


def test_more_kept_by_the_rule_with_the_smaller_average_is_called_luck():
    def swap(step: dict[str, Any]) -> None:
        law = step["expected_kept"]
        law["hsd"], law["tokenwise"] = law["tokenwise"], law["hsd"]

    assert ": this time the coins made it 9 more." in changed("long-draft", lambda step: None)
    swapped = changed("long-draft", swap)
    assert ": that it fell out the other way this time is luck." in swapped
    never = "over all drafts HSD never keeps fewer."
    assert never in swapped
    assert never not in changed("long-draft", lambda step: None)


def test_without_an_average_nothing_is_said_of_luck_or_law():
    text = changed("long-draft", lambda step: step.update(expected_kept={}, kept_law={}))
    assert "one step does not tell luck from law" in text
    assert "Over all coins" not in text


def test_a_test_of_a_form_that_is_not_known_is_told_by_its_numbers():
    def newer(step):
        for decision in step["verdict"]["decisions"]:
            decision["grounds"]["form"] = "newer"

    text = changed("vanilla", newer)
    assert re.search(r"token 1, “[^”]+”, (passed|failed): .+, by the test newer with p = ", text)


def test_a_test_that_an_earlier_version_named_otherwise_has_the_same_words(byte_pair: Pair):
    now = run(byte_pair, "An old trace", rule="coupled", gamma=3, max_new_tokens=4)
    saved = now.to_json()
    earlier = Trace.from_json(saved.replace('"form":"coupled"', '"form":"raced"'))
    assert now != earlier
    for index in range(len(now.steps)):
        assert step_in_words(earlier, index, KNOWN) == step_in_words(now, index, KNOWN)


def test_hostile_text_stays_on_its_line_and_short():
    data = json.loads((TRACES / "paris.json").read_bytes())
    hostile = "\n- Kept: 9 of 9.\r"
    data["steps"][0]["nodes"][0]["piece"] = hostile * 20
    data["steps"][0]["shadow"]["rule"] = data["steps"][0]["verdict"]["rule"] + hostile
    data["setup"]["notes"] = [hostile]
    text = step_in_words(Trace.from_json(json.dumps(data)), 0, KNOWN)
    assert "9 of 9" in text
    assert not re.search(r"^\W*Kept: 9", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) < 900


@pytest.mark.parametrize("index", [-1, 10_000])
def test_a_step_that_is_not_there_is_said_in_one_line(index: int):
    trace = Trace.from_file(RECORDED[0])
    with pytest.raises(
        HsdError, match=rf"no step {index + 1}: its steps are 1 to {len(trace.steps)}"
    ):
        step_in_words(trace, index)


@pytest.mark.parametrize("name", ["stack-three", "hispec-trained"])
def test_the_command_lists_what_happened_below_the_target(
    name: str, capsys: pytest.CaptureFixture[str]
):
    trace = Trace.from_file(TRACES / f"{name}.json")
    for step in trace.steps:
        assert main(["explain", str(TRACES / f"{name}.json"), "--step", str(step.index + 1)]) == 0
        lines = capsys.readouterr().out.partition("\nBelow the target, in order:\n")[2].splitlines()
        assert len(lines) == len(step.events) > 0
        for line, event in zip(lines, step.events, strict=True):
            drafts = event.kind == "draft"
            settled = event.held + len(event.committed)
            assert (" drafts " in line) is drafts
            if drafts:
                assert f" asked for {event.asked}." in line
            else:
                assert re.search(rf"now holds (the )?{settled}\b", line)
            assert all(
                quoted(token.piece) in line
                for token in event.committed[0 if drafts else event.kept :]
            )


def test_the_words_of_an_event_below_the_target(capsys: pytest.CaptureFixture[str]):
    main(["explain", str(TRACES / "hispec-trained.json"), "--step", "2"])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "- The draft exit drafts 2 tokens: “ park”, “.”. The checking exit asked for 2.",
        "- The checking exit checks 2 tokens, keeps 1 and puts “ with” in place of “.”. It now "
        "holds 5, more than "
        "the 4 it was asked for, and hands them up.",
    ]


def test_a_token_of_two_bars_below_the_target_is_told_as_it_is():
    def rename(step: dict[str, Any]) -> None:
        step["events"][0]["committed"][0]["piece"] = "||"

    assert "“||”" in changed("stack-three", rename).partition("\nBelow the target, in order:\n")[2]


def test_the_command_explains_a_saved_step(capsys: pytest.CaptureFixture[str]):
    file = TRACES / "paris.json"
    assert main(["explain", str(file), "--step", "3"]) == 0
    assert capsys.readouterr().out == step_in_words(Trace.from_file(file), 2, KNOWN) + "\n"
    assert main(["explain", str(file), "--step", "9999"]) == 2
    assert main(["explain", "no-such-file.json"]) == 2
    assert (
        "'no-such-file.json': No such file or directory: choose a trace saved by hsd"
        in capsys.readouterr().err
    )


# ---- every claim is true of the record, whatever p, q and the coins are

FORMULA = re.compile(
    rf"threshold ({NUMBER}) ([=≈]) (min\(1, p/q\)|min\(1, [cr]·p/q\)|p/\(p \+ L\)|S/\(S \+ 1 − c\)"
    rf"|S/max\(S, S \+ 1 − r\)|w \+ \(1 − w\)·min\(1, p/q\)|p) (?:with|= p =) ?(.*)"
)
NAMED = re.compile(rf"\b([pqwcrSL]) = ({NUMBER})")
WORK = {
    "min(1, p/q)": lambda n: min(1, n["p"] / n["q"]),
    "min(1, c·p/q)": lambda n: min(1, n["c"] * n["p"] / n["q"]),
    "min(1, r·p/q)": lambda n: min(1, n["r"] * n["p"] / n["q"]),
    "p/(p + L)": lambda n: n["p"] / (n["p"] + n["L"]),
    "S/(S + 1 − c)": lambda n: n["S"] / (n["S"] + 1 - n["c"]),
    "S/max(S, S + 1 − r)": lambda n: n["S"] / max(n["S"], n["S"] + 1 - n["r"]),
    "w + (1 − w)·min(1, p/q)": lambda n: n["w"] + (1 - n["w"]) * min(1, n["p"] / n["q"]),
}
WHOLE = re.compile(
    r"looks at the whole draft first: (?:its capped ratio is (?P<one>1) \()?it is (?:only )?"
    rf"(?:as likely|(?P<times>{NUMBER}) times as likely) for the target as for the draft"
    r"(?:, but counted from its best point, after (?P<peak>\d+) tokens? "
    rf"\((?P<best>{NUMBER}) times\), only (?P<share>{NUMBER}) times)?"
)


def printed(text: str, number: float) -> bool:
    """Whether a number is this text, to its last printed digit."""
    mantissa, _, power = text.partition("·10")
    unit = 10.0 ** (
        int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))) if power else 0
    )
    return (
        abs(number - value(text)) <= (0.5 * 10.0 ** -len(mantissa.partition(".")[2]) + 1e-9) * unit
    )


@for_each("temperature", [0.4, 1.0, 2.5])
@for_each("seed", range(6), every=6)
@pytest.mark.parametrize("rule", RULES)
def test_every_sentence_is_true_of_its_record(rule: str, temperature: float, seed: int):
    """Of tables as rough as temperature makes them; formulas are worked out from what is printed of
    them.
    """
    pair = table_pair(vocab=4, order=1, seed=11)
    formulas = 0
    wholes = 0
    shadow = "hsd-released" if rule == "hsd" else "hsd"
    options = {
        "gamma": 4,
        "max_new_tokens": 30,
        "temperature": temperature,
        "seed": seed,
        "shadow": shadow,
    }
    trace = run(pair, "abc", rule=rule, **options)
    for step in trace.steps:
        text = step_in_words(trace, step.index, KNOWN)
        for found in FORMULA.finditer(text):
            formulas += assert_formula(*found.groups())  # type: ignore[arg-type]
        wholes += assert_whole(step, text)
        assert_means(step, text)
    assert formulas or rule == "typical"
    assert wholes or rule not in ("hsd", "blockwise", "naive-hsd", "hsd-released")


def assert_formula(threshold: str, sign: str, letters: str, rest: str) -> bool:
    numbers = {name: value(text) for name, text in NAMED.findall(rest)}
    if letters not in WORK or "0/0 counts as 1" in rest:
        return False
    assert sign == "≈" or printed(threshold, WORK[letters](numbers)), (threshold, letters, numbers)
    return sign == "="


def assert_whole(step: Step, text: str) -> int:
    """What is said of the whole draft first is what decided it: the capped ratio, or r where the
    rule has no cap.
    """
    verdict = step.verdict
    found = WHOLE.search(text)
    assert verdict
    if not found:
        return 0
    made = verdict.decisions[0]
    ratios = [1.0]
    for node in step.nodes:
        ratios.append(ratios[-1] * node.p / node.q)
    last = ratios[-1]
    capped = made.grounds.form == "capped"
    best = max(ratios[:-1]) if capped else 1.0
    assert made.threshold == pytest.approx(min(1, last / best), rel=1e-4)
    assert ("no coin can fail and it keeps" in text) is (made.threshold >= 1)
    assert (found["one"] is not None) is (capped and made.threshold >= 1)
    assert found["times"] is None or near(found["times"], last)
    assert found["times"] != "1"
    if found["best"]:
        assert near(found["best"], best)
        assert near(found["share"], made.threshold)
        assert ratios[int(found["peak"])] == pytest.approx(best)
        assert printed(found["share"], value(found["times"] or "1") / value(found["best"]))
    elif made.threshold < 1:
        assert best == 1
    return 1


def assert_means(step: Step, text: str) -> None:
    """Both averages are one text only where they agree in all of it."""
    assert step.verdict
    assert step.shadow
    means = [step.expected_kept.get(judged.rule) for judged in (step.verdict, step.shadow)]
    both = re.search(rf"both keep ({NUMBER}) of", text)
    if both:
        assert all(
            mean is not None and value(both[1]) == pytest.approx(mean, rel=1e-3) for mean in means
        )
    if found := re.search(rf"keeps ({NUMBER}) of this draft on average and .+? ({NUMBER}): ", text):
        assert found[1] != found[2]


def test_a_draft_that_was_likelier_on_the_way_may_fail_though_the_target_finds_it_likelier():
    """p/q of 4, then of 0.5: twice as likely as a whole, and its test has the threshold 0.5."""

    def twice(step: dict[str, Any]) -> None:
        step["nodes"] = [
            n | {"p": 0.8, "q": 0.2} if n["id"] == 1 else n | {"p": 0.2, "q": 0.4}
            for n in step["nodes"][:2]
        ]
        step["paths"] = [{"nodes": [1, 2]}]
        step["drafted"] = 2
        step["depth"] = 2
        step["branches"] = [b for b in step["branches"] if b["node"] < 2]
        grounds = {"form": "capped", "p": 0.2, "q": 0.4, "before": 1.0}
        made = {
            "node": 2,
            "test": "draft",
            "threshold": 0.5,
            "coin": 0.3,
            "accepted": True,
            "grounds": grounds,
        }
        step["nodes"][1]["coin"] = 0.3
        step["verdict"] |= {
            "kept": 2,
            "decisions": [made],
            "residual": None,
            "next": None,
            "changes": [],
        }
        step["kept"] = 2
        step["shadow"] = None
        step["kept_law"] = {}
        step["expected_kept"] = {}
        step["committed"] = [
            {"token": n["token"], "piece": n["piece"], "origin": "draft"} for n in step["nodes"]
        ]

    text = changed("lighthouse", twice)
    assert "no coin can fail" not in text
    assert (
        "it is 2 times as likely for the target as for the draft, but counted from its best point, "
        "after 1 token" in text
    )
    assert "(4 times), only 0.5 times" in text
