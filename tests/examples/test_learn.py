"""Signs of lessons are explained, their numbers the step's own, their sentences true,
their links good.
"""

from __future__ import annotations

import json
import re
from urllib.parse import parse_qs

import learn_page
import lessons as learn
import pytest
from printed import differing

from hsd.app.presets import SYSTEM_WORDS
from hsd.errors import HsdError
from hsd.facts import glossary
from hsd.paths import RESULTS, ROOT, TRACES
from hsd.space import load
from hsd.trace import Trace

MARKS = set("“”’−×·≥≤…–✓✕␣⏎")  # of typography and arithmetic, which everyone knows
ENTRIES = [*learn.entries("beliefs"), *learn.entries("questions")]


def words(parts: list) -> str:
    return "".join(learn._plain(part) for part in parts)


def bare(parts: list) -> str:
    """Without tokens, which may be anything."""
    return " ".join(
        learn._plain(part) for part in parts if not (isinstance(part, dict) and "piece" in part)
    )


def everything() -> list[list]:
    """All sentences of the tab, as parts."""
    lessons = [lesson[name] for lesson in learn.lessons() for name in learn.TEXTS]
    return [*lessons, *(entry["text"] for entry in ENTRIES)]


def test_ten_lessons_say_something_and_light_up_what_they_show() -> None:
    lessons = learn.lessons()
    assert len(lessons) == len({lesson["key"] for lesson in lessons}) == 10
    for lesson in lessons:
        assert all(words(lesson[name]) for name in ("text", "fold")), lesson["key"]
        assert set(lesson["lit"]) <= set(lesson["show"]), lesson["key"]
        assert set(lesson["later"]) <= set(lesson["show"]), lesson["key"]


def test_beliefs_and_questions_have_an_answer_and_a_place_to_see_it() -> None:
    assert ENTRIES
    assert all(words(entry["text"]) and entry["see"] for entry in ENTRIES)


def test_every_sign_in_a_text_is_explained_in_the_glossary() -> None:
    signs = {entry["sign"] for entry in glossary().values() if "sign" in entry}
    explained = [entry["words"] for entry in glossary().values()]
    for text in [*map(bare, everything()), *explained]:
        letters = set(re.findall(r"(?<![\w’'])[B-HJ-Zb-z](?![\w’'])", text))
        strange = {one for one in text if ord(one) > 127} - MARKS
        assert letters | strange <= signs | {"▨", "▧"}, text


def test_a_word_or_a_number_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(HsdError, match="glossary has not"):
        learn.parts("a [[phlogiston]]", {})
    with pytest.raises(HsdError, match="no number"):
        learn.parts("a {phlogiston}", {})
    assert learn.parts("{x} **is** {t} [[coin|luck]]", {"x": 0.12345, "t": learn.Piece("{x}")}) == [
        "0.123 ",
        {"strong": "is"},
        " ",
        {"piece": "{x}"},
        " ",
        {"term": "coin", "words": "luck"},
    ]


# ---- numbers, once more and by other means


@pytest.fixture(scope="module")
def raw() -> dict:
    source = learn.source()
    trace = json.loads((TRACES / f"{source['trace']}.json").read_text(encoding="utf-8"))
    return trace | {"step": trace["steps"][source["step"] - 1]}


@pytest.fixture(scope="module")
def known(raw: dict) -> set[float]:
    """Every number that a lesson may name, from the files."""
    step = raw["step"]
    found = []
    r = c = 1.0
    for node, branch in zip(step["nodes"], step["branches"], strict=True):
        S = branch["deficient"]
        found += [S, S + 1 - c, 1 - c, S / (S + 1 - c)]
        r = r * node["p"] / node["q"]
        c = min(1, c * node["p"] / node["q"])
        found += [node["p"], node["q"], node["p"] / node["q"], node["coin"], r, c]
    root = step["branches"][0]
    best = max(root["top"], key=lambda one: one["p"] - one["q"])
    fails = sum(max(one["p"] - one["q"], 0) for one in root["top"])
    assert fails == pytest.approx(root["deficient"], abs=root["rest_p"])
    drawn = step["shadow"]["residual"]["top"]  # of the same branch, as the decoder drew from it
    share = max(one["probability"] for one in drawn)
    found += [best["p"], best["q"], share, step["nodes"][0]["p"] * (1 + root["deficient"])]
    assert share == pytest.approx((best["p"] - best["q"]) / root["deficient"], rel=1e-3)
    failing = sum(one["q"] for one in root["top"] if one["p"] < one["q"])
    often = [
        (one["q"] + failing * one["p"] - one["p"], one)
        for one in root["top"]
        if one["p"] >= one["q"]
    ]
    most = max(often, key=lambda pair: pair[0])[1]
    found += [failing, most["p"], most["q"] + failing * most["p"]]
    assert found[-1] > most["p"]
    behind = min(
        raw["steps"], key=lambda s: s["expected_kept"]["hsd"] - s["expected_kept"]["tokenwise"]
    )
    found += [one["expected_kept"][rule] for one in (step, behind) for rule in ("hsd", "tokenwise")]
    found.append(step["kept_law"]["tokenwise"][0])
    whole = [
        one["expected_kept"] for one in raw["steps"] if len(one["nodes"]) == len(step["nodes"])
    ]
    found += [sum(kept[rule] for kept in whole) / len(whole) for rule in ("hsd", "tokenwise")]
    result = json.loads((RESULTS / "smollm2.json").read_text(encoding="utf-8"))
    passes = json.loads((RESULTS / "lengths.json").read_text(encoding="utf-8"))["passes"]["here"]
    found += [passes["1"], passes["6"], passes["6"] / passes["1"], passes["draft"] / passes["1"]]
    for row in result["law"]:
        if row["domain"] == "questions":
            wide = passes[str(row["gamma"] + 1)]
            found += [
                (row["gamma"] * passes["draft"] + wide) / passes["1"],
                row["hsd"],
                1 + row["hsd"],
            ]
    return {float(f"{x:.3g}") for x in found}


def test_every_decimal_number_of_a_lesson_is_found_in_the_files(known: set[float]) -> None:
    for lesson in learn.lessons():
        for name in learn.TEXTS:
            for number in re.findall(r"\d+\.\d+", bare(lesson[name])):
                assert float(number) in known, (lesson["key"], number)


def test_every_sum_that_is_printed_comes_out() -> None:
    number = r"(\d+(?:\.\d+)?)"
    forms = {
        rf"{number} / {number} = {number}": lambda a, b, c: (a / b, c),
        rf"{number} × {number} = {number}": lambda a, b, c: (a * b, c),
        rf"{number} − {number} = {number}": lambda a, b, c: (a - b, c),
        rf"{number} kept \+ {number} × {number} corrected = {number}": lambda a, b, c, d: (
            a + b * c,
            d,
        ),
    }
    found = 0
    for text in (bare(one).replace("<.001", "0.0005") for one in everything()):
        for form, sides in forms.items():
            for match in re.findall(form, text):
                left, right = sides(*map(float, match))
                assert left == pytest.approx(right, rel=0.01), (text, match)
                found += 1
    assert found == 8


def test_what_the_lessons_say_in_words_is_true_of_the_step(raw: dict) -> None:
    it = learn.numbers()
    step = raw["step"]
    assert it["rho1"] < 1 < it["rho2"]
    assert it["r2"] > 1
    assert it["c2"] == it["end2"] == 1
    assert it["excess1"] > it["deficient1"]
    assert it["excess2"] == pytest.approx(it["deficient2"], abs=1e-6)
    assert it["p3"] < 0.01
    assert it["u1"] >= it["h1"]
    assert [d["accepted"] for d in step["verdict"]["decisions"]] == [False, False, True]
    assert step["verdict"]["kept"] == 2
    assert it["x1_p"] > it["x1_q"]
    assert it["x1_residual"] > it["x2_residual"]
    assert it["naive"] > it["most_p"]
    assert it["replaced"] > 0.9
    assert it["p1"] < it["q1"]
    assert it["p2"] > it["q2"]
    assert abs(it["end1"] - 1 / 2) < 1 / 12  # nearer to a half than to a third or two thirds
    assert it["hsd_mean"] > it["classic_mean"]
    assert it["behind_hsd"] < it["behind_classic"]
    assert it["run_classic"] < it["run_hsd"] < 1.2 * it["run_classic"]
    assert it["empty_mean"] < 0.01
    assert it["cost10"] > it["brings10"]
    assert it["cost2"] < it["brings2"]
    chances = step["kept_law"]
    assert sum(t * x for t, x in enumerate(chances["hsd"])) == pytest.approx(it["hsd_mean"])


def test_guesses_have_one_right_answer_within_reach() -> None:
    for lesson in learn.lessons():
        guess = lesson["guess"]
        if "options" in guess:
            said = [words(option) for option in guess["options"]]
            assert len(said) == len(set(said)) >= 2
            assert 0 <= guess["right"] < len(said)
        else:
            middle = (guess["low"] + guess["high"]) / 2
            assert guess["low"] < guess["right"] < guess["high"]
            assert abs(middle - guess["right"]) > guess["close"] or guess["unit"] == "tokens", (
                lesson["key"]
            )


def test_what_is_easily_believed_is_false_as_the_lab_shows() -> None:
    labs = [learn._of_lab(entry["lab"]) for entry in learn.source()["beliefs"] if "lab" in entry]
    greedy, certain, weak, rate, seed = labs
    assert greedy["pass_a"] > greedy["p_a"]
    assert certain["off_hsd"] == 0
    assert certain["kept_hsd"] == pytest.approx(certain["kept_tokenwise"])
    assert weak["off_hsd"] == 0
    assert weak["kept_hsd"] < weak["gamma"] / 3
    assert rate["rate"] < rate["rate_1"] - 0.1
    assert rate["rate_1"] == pytest.approx(2 / 3)
    assert seed["now_tokenwise"] == 0
    assert seed["now_hsd"] == 2
    greedily = Trace.from_file(TRACES / "paris.json")
    laws = [law for step in greedily.steps for law in step.kept_law.values()]
    assert all(max(law) == pytest.approx(1) for law in laws)


# ---- links, and the page


def test_every_link_leads_somewhere() -> None:
    presets = load().presets
    queries = [one["see"]["query"] for one in [*learn.lessons(), *ENTRIES] if one["see"]]
    assert len(queries) > 15
    for query in queries:
        asked = {name: values[0] for name, values in parse_qs(query, strict_parsing=True).items()}
        assert set(asked) <= {"tab", "preset", "at_step", "lesson", "panel", "lab", "mode"}, query
        assert (ROOT / "hsd" / "web" / asked.get("tab", "watch")).is_dir()
        assert "lesson" not in asked or 1 <= int(asked["lesson"]) <= 10
        assert "preset" not in asked or asked["preset"] in presets
        assert "panel" not in asked or asked["panel"] in SYSTEM_WORDS
        if "step" in asked:
            trace = Trace.from_file(TRACES / f"{asked['preset']}.json")
            assert int(asked["step"]) < len(trace.steps)


def test_the_page_and_the_data_of_the_tab_are_what_the_script_writes() -> None:
    for made, file in ((learn_page.page(), learn_page.PAGE), (learn_page.data(), learn_page.DATA)):
        assert differing(made, file.read_text(encoding="utf-8")) == [], (
            "run: python examples/reproduce/learn_page.py"
        )


def test_the_page_has_every_lesson_and_mistake_and_explains_its_words() -> None:
    page = learn_page.PAGE.read_text(encoding="utf-8")
    words = learn_page.used(page.partition("## Words")[0])
    assert len(words) > 5
    for title in [one["title"] for one in [*learn.lessons(), *learn.entries("beliefs")]]:
        assert title in page
    for entry in words:
        assert f"**{entry['label']}**" in page
        assert entry["words"] in page
    assert "[[" not in page
    assert not re.search(r"\{\w+\}", page)
