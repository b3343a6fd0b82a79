"""The lab in a real browser: its page tells the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import torch
from lab_page import page as page_html
from loops import some
from new_rule import NEWCOMER
from web_page import Browser, Guest, address, answer, show

from hsd.audit import context_free_models, output_law, target_law, total_variation
from hsd.decoding.options import RunOptions
from hsd.facts import facts
from hsd.rules import RULES, branch_masses
from hsd.rules.relaxed import typical_law

EXACT = 1e-12
LOSSLESS = [name for name, rule in RULES.items() if rule.lossless]
# γ: token-wise, block = HSD, as released (total variation), naive = ideal (extra target calls)
TOY = {
    1: ("0.6667", "0.6667", "0.6667", "0 (exact)", "0.6667", "1"),
    2: ("1.1111", "1.2222", "1.3333", "0.1111", "1.3333", "1 + 0.3333"),
    3: ("1.4074", "1.6667", "1.7778", "0.0617", "1.8519", "1 + 0.6667"),
    4: ("1.6049", "2.0494", "2.2963", "0.1193", "2.3704", "1 + 1.1481"),
}
HOSTILE = "<img src=x onerror=window.hacked=1>${window.hacked=1}"


class LabPage(Guest):
    """A page with the lab alone."""

    def __init__(
        self, browser: Browser, query: str = "", dark: bool = False, **options: object
    ) -> None:
        super().__init__(browser, address(), height=900, **options)
        show(self.page, page_html(dark), query)
        self.page.wait_for_function("window.__hsdLab && window.__hsdLab.ready")

    def call(self, expression: str, *arguments: object):
        """The value of a JavaScript function for these arguments."""
        return self.page.evaluate(f"(list) => ({expression})(...list)", list(arguments))

    @property
    def hook(self) -> dict:
        return self.page.evaluate("window.__hsdLab")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def preset(self, name: str) -> None:
        self.page.click(f"[data-preset={name}]")

    def choose(self, group: str, option: str) -> None:
        box = self.page.get_by_role("group", name=group, exact=True)
        box.get_by_role("radio", name=option, exact=True).check()

    def rule(self, name: str) -> None:
        self.page.check(f".hf-rules input[value={name}]")

    def cell(self, name: str, column: str) -> str:
        """What the table of rules says."""
        return self.text(f".hf-rules tr[data-rule={name}] td.hf-{column}").strip()

    def number(self, row: str, index: int):
        """The field of one entry: row "p0" is the only row of p, or its first."""
        return self.page.locator(f".hf-row[data-row={row}] .hp-field").nth(index)

    def slider(self, row: str, index: int):
        return self.page.locator(f".hf-row[data-row={row}] .hp-slider").nth(index)

    def coin(self, position: int):
        return self.page.locator(f".hf-pos[data-position='{position}'] .hp-slider.is-coin")

    def verdicts(self) -> str:
        return self.text(".hf-verdicts")

    def judged(self, rule: str) -> dict:
        """What a rule decided about the draft, as a trace would have it."""
        step = self.hook["step"]
        return next(one for one in (step["verdict"], step["shadow"]) if one["rule"] == rule)

    def keeps(self) -> list[str]:
        """What the lanes of the board say, vanilla first."""
        return [
            text.split(",")[0] for text in self.page.locator(".hp-lane-keeps").all_inner_texts()
        ]

    def link(self) -> str:
        return self.page.evaluate("window.lab.bar.href()")


@pytest.fixture
def labs(chromium: Browser) -> Iterator[Callable[..., LabPage]]:
    """Makes pages; nothing may have gone wrong on them."""
    with ExitStack() as stack:

        def make(query: str = "", **options: object) -> LabPage:
            one = LabPage(chromium, query, **options)
            stack.callback(one.close)
            return one

        yield make


@pytest.fixture
def here(labs) -> LabPage:
    return labs()


@pytest.mark.core
def test_a_rule_that_is_a_record_alone_is_worked_out_and_judges_the_draft(
    here: LabPage, monkeypatch
) -> None:
    monkeypatch.setitem(RULES, NEWCOMER.name, NEWCOMER)
    answer(here.page, {"facts.json": facts(), "data/page.json": {"recorded": {}}})
    show(here.page, page_html())
    here.page.wait_for_function("window.__hsdLab && window.__hsdLab.ready")
    _, kept = output_law(context_free_models([1 / 3, 2 / 3], [2 / 3, 1 / 3], 2), NEWCOMER.law)
    assert "Newcomer, a test (not lossless)" in here.text(".hf-rules tr[data-rule=newcomer]")
    assert here.cell("newcomer", "kept") == f"{float(kept):.4f}"
    here.rule("newcomer")
    assert [one["threshold"] for one in here.judged("newcomer")["decisions"]] == [0.25]
    assert here.page.locator(".is-own .hp-trial").first.inner_text().split("\n") == [
        "The newcomer, token 1:",
        ".7 ≥ .25",
        "✕",
    ]


@pytest.mark.core
@pytest.mark.parametrize("gamma", TOY)
def test_the_toy_table_is_on_the_page_to_four_digits(here: LabPage, gamma: int) -> None:
    vanilla, hsd, released, off, naive, calls = TOY[gamma]
    here.choose("Draft length γ", str(gamma))
    assert here.cell("tokenwise", "kept") == vanilla
    assert here.cell("blockwise", "kept") == here.cell("hsd", "kept") == hsd
    assert here.cell("hsd-released", "kept") == released
    assert here.cell("hsd-released", "distance") == off
    assert here.cell("naive-hsd", "kept") == naive
    assert here.cell("naive-hsd", "calls") == calls
    assert naive in here.text(".hf-ideal")
    assert {here.cell(name, "distance") for name in LOSSLESS} == {"0 (exact)"}
    assert all("yes" in here.text(f"tr[data-rule={name}] .hf-lossless") for name in LOSSLESS)
    assert ("no" in here.text("tr[data-rule=hsd-released] .hf-lossless").split()) == (gamma > 1)


def test_the_two_equal_rules_are_said_to_be_equal(here: LabPage) -> None:
    note = here.text(".hf-notes li:has-text('same law')")
    assert "1.2222" in note
    assert "all 4 drafts" in note


def test_what_a_rule_keeps_is_drawn_beside_the_most_that_one_can(here: LabPage) -> None:
    row = here.page.locator(".hf-rules tr[data-rule=hsd]")
    looks = "one => [one.getBoundingClientRect().width, getComputedStyle(one).backgroundColor]"
    for part in (".hf-fill", ".hf-mark"):
        width, colour = row.locator(part).evaluate(looks)
        assert width > 0
        assert colour != "rgba(0, 0, 0, 0)", part


@pytest.mark.core
def test_output_bars_are_the_exact_law(here: LabPage) -> None:
    here.rule("hsd-released")
    rows = here.page.locator(".hf-seq").all_inner_texts()
    found = here.hook["exact"]
    assert len(rows) == 8
    for row, target, output in zip(
        rows, found["target"], found["rules"]["hsd-released"]["output"], strict=True
    ):
        assert f"{target:.4f}" in row
        assert (f"{output:.4f}" in row) or abs(target - output) < EXACT
    assert here.page.locator(".hf-seq .is-excess").count() == 2
    assert here.page.locator(".hf-seq .is-deficient").count() == 2
    assert "0.1111" in here.text(".hf-law-say")
    here.rule("hsd")
    assert here.page.locator(".hf-seq :is(.is-excess, .is-deficient)").count() == 0


# ---- the fuzzy rule's settings


NUMBERS = {
    rule.knob.option: rule.knob.default
    for rule in RULES.values()
    if rule.knob and not rule.knob.open
}
NUMBERS |= {"after_kept": RunOptions.default("after_kept")}


def settings(here: LabPage) -> dict:
    return here.hook["state"]["settings"]


def tolerance(here: LabPage):
    return here.page.locator(".hp-slider.is-knob")


def test_settings_are_shown_for_the_rules_that_have_some(here: LabPage) -> None:
    for name, rule in RULES.items():
        here.rule(name)
        assert here.page.locator(".hf-tuning").is_visible() == bool(rule.knob)
        fields = {"fuzzy": 2, "typical": 1}.get(name, 0)
        assert here.page.locator(".hf-tuning fieldset:visible").count() == fields
    here.rule("fuzzy")
    here.preset("paper")
    assert here.page.locator(".hf-tuning").is_visible()
    here.page.select_option(".hf-draft select", "hsd")
    assert here.page.locator(".hf-tuning").is_hidden()


def test_the_tolerance_moves_the_table_the_law_and_the_draft(here: LabPage) -> None:
    here.rule("fuzzy")
    assert here.cell("fuzzy", "kept") == "2.0000"  # KL = ln(2)/3 = 0.231 is within 0.3
    assert here.cell("fuzzy", "lossless") == "✕ no"
    assert "Here KL(q‖p) is 0.231, so tokens pass by D at every position." in here.text(".hf-near")
    assert "KL(output‖target) is 0.4621 nats, at most T · E[τ] = 0.6000" in here.text(".hf-notes")
    assert "FSD misses the target" in here.text(".hf-law-say")
    assert [one["accepted"] for one in here.judged("fuzzy")["decisions"]] == [True, True]
    assert here.hook["step"]["divergences"] == pytest.approx([math.log(2) / 3] * 2)
    tolerance(here).fill("0.2")
    assert here.cell("fuzzy", "kept") == here.cell("tokenwise", "kept")
    assert here.cell("fuzzy", "lossless") == "✓ here, not always"
    assert "no token passes by D, and the rule is exact here" in here.text(".hf-near")
    assert "writes every sequence exactly as often as the target" in here.text(".hf-law-say")
    tolerance(here).fill("-0.05")
    assert here.cell("fuzzy", "lossless") == "✓ yes, at T ≤ 0"
    line = "A tolerance below 0 lets nothing pass: this is vanilla, token by token."
    assert line in here.text(".hf-near")
    here.choose("Where D > T", "Divergence only")
    line = "this is plain decoding, as every draft ends at its first token."
    assert line in here.text(".hf-near")
    assert here.cell("fuzzy", "kept") == "0.0000"
    here.rule("hsd")
    assert here.hook["step"]["divergences"] == []


def test_divergence_and_mode_can_be_chosen(here: LabPage) -> None:
    here.rule("fuzzy")
    tolerance(here).fill("0.2")
    here.choose("Where D > T", "Divergence only")
    assert here.cell("fuzzy", "kept") == "0.0000"
    assert "drawn from the whole target" in here.verdicts()
    assert here.keeps()[-1] == "keeps 0"
    assert "✕" in here.page.locator(".is-own .hp-trial-words").first.inner_text()
    assert "not reached" in here.page.locator(".is-own .hp-trial-words").last.inner_text()
    here.choose("Divergence D", "JS")
    assert (
        settings(here)
        == {"divergence": "js", "tolerance": 0.2, "mode": "divergence-only"} | NUMBERS
    )
    assert here.cell("fuzzy", "kept") == "2.0000"
    assert "never says (p = 0) can pass" in here.text(".hf-near")
    here.choose("Divergence D", "TV")
    assert here.cell("fuzzy", "kept") == "0.0000"
    here.preset("near")  # a preset leaves the settings as they are
    assert here.cell("fuzzy", "kept") == "4.0000"
    assert "differs from the target by" in here.text(".hf-notes")
    here.preset("disjoint")
    tolerance(here).fill("1")
    assert here.cell("fuzzy", "kept") == "3.0000"
    assert here.cell("fuzzy", "distance") == "1.0000"
    here.choose("Divergence D", "KL(q‖p)")
    assert here.cell("fuzzy", "kept") == "0.0000"
    assert "KL(q‖p) is ∞" in here.text(".hf-near")


@pytest.mark.parametrize(("rule", "option"), [("ensemble", "draft_weight"), ("typical", "epsilon")])
def test_a_rules_one_number_moves_the_table_and_the_law(
    here: LabPage, rule: str, option: str
) -> None:
    """p = (1/3, 2/3), q = (2/3, 1/3), γ = 2: the numbers are those of the library."""
    here.rule(rule)
    models = context_free_models([1 / 3, 2 / 3], [2 / 3, 1 / 3], 2)
    for number in (0.0, 0.09, 0.5, 1.0):
        tolerance(here).fill(str(number))
        assert settings(here)[option] == number
        output, kept = output_law(models, RULES[rule].tuned(number).law)
        distance = total_variation(output, target_law(models))
        assert here.cell(rule, "kept") == f"{kept:.4f}"
        shown = f"{distance:.4f}" if distance > EXACT else "0 (exact)"
        assert here.cell(rule, "distance") == shown
    assert here.text(".hf-tuning .hp-title") in ("Ensemble: draft weight", "Typical: epsilon")


def test_what_follows_typical_tokens_can_be_chosen_and_linked(labs, here: LabPage) -> None:
    here.rule("typical")
    assert here.page.locator(".hf-tuning legend:visible").all_inner_texts() == [
        "After the kept ones"
    ]
    here.choose("After the kept ones", "The target’s likeliest (Medusa)")
    assert settings(here)["after_kept"] == "likeliest"
    models = context_free_models([1 / 3, 2 / 3], [2 / 3, 1 / 3], 2)
    output, kept = output_law(models, partial(typical_law, after_kept="likeliest"))
    drawn, _ = output_law(models, typical_law)
    assert total_variation(output, drawn) > 0.1
    assert here.cell("typical", "kept") == f"{kept:.4f}"
    assert here.cell("typical", "distance") == f"{total_variation(output, target_law(models)):.4f}"
    assert "the target’s likeliest" in here.verdicts()
    other = opened(labs, here)
    assert other.hook["state"] == here.hook["state"]
    assert other.cell("typical", "distance") == here.cell("typical", "distance")


def test_an_ensemble_without_the_draft_is_exact_and_its_share_is_told(here: LabPage) -> None:
    here.rule("ensemble")
    assert (
        "0.3333 apart (total variation), and the mixture w times that from p: 0.1667."
        in here.text(".hf-near")
    )
    tolerance(here).fill("0")
    assert here.cell("ensemble", "lossless") == "✓ yes, at w = 0"
    assert (
        here.text(".hf-near") == "At w = 0 the draft has no share: this is vanilla, token by token."
    )
    assert here.cell("ensemble", "kept") == here.cell("tokenwise", "kept")


def test_typical_acceptance_asks_the_bar_and_no_coin(here: LabPage) -> None:
    here.preset("near")
    here.rule("typical")
    assert "every token passes" in here.text(".hf-near")
    tolerance(here).fill("0.36")  # the bar is √.36 · e^−H = .6 · .357 = .214
    line = "p must exceed 0.2143 (H = 1.03 nats): these pass: a, b, however often"
    assert line in here.text(".hf-near")
    assert here.keeps()[-1] == "keeps 3"
    assert "drawn from the whole target" in here.verdicts()


def test_a_draft_that_is_certain_makes_all_lossless_rules_one(here: LabPage) -> None:
    here.preset("certain")
    lossless = [name for name, rule in RULES.items() if rule.lossless]
    assert len({here.cell(name, "kept") for name in lossless}) == 1
    assert (
        f"all {len(lossless)} lossless rules keep 0.8750, and each number of tokens with the same "
        "chance" in here.text(".hf-notes")
    )
    here.preset("near")
    assert "The draft is certain" not in here.text(".hf-notes")


def test_many_sequences_are_added_up_to_the_first_tokens(here: LabPage) -> None:
    here.choose("Tokens", "4")
    here.choose("Draft length γ", "4")
    assert here.page.locator(".hf-seq").count() == 16
    assert "the first 2 of 5" in here.text(".hf-output .hp-hint >> nth=0")


def test_a_dragged_row_stays_a_distribution_and_the_others_keep_their_proportions(
    here: LabPage,
) -> None:
    here.preset("near")
    here.slider("p0", 0).fill("0.2")
    assert here.hook["state"]["p"] == [["0.2", "0.48", "0.32"]]
    here.slider("q0", 2).fill("1")
    here.slider("q0", 2).fill("0.4")
    assert sum(float(x) for x in here.hook["state"]["q"][0]) == pytest.approx(1)
    assert here.hook["message"] == ""


def test_one_long_drag_to_the_end_and_back_loses_nothing(here: LabPage) -> None:
    here.preset("near")
    box = here.slider("p0", 0).bounding_box()
    middle = box["y"] + box["height"] / 2
    here.page.mouse.move(box["x"] + box["width"] / 2, middle)
    here.page.mouse.down()
    here.page.mouse.move(box["x"] + box["width"] + 30, middle, steps=5)
    assert here.hook["state"]["p"] == [["1", "0", "0"]]
    here.page.mouse.move(box["x"] + box["width"] / 2, middle, steps=5)
    here.page.mouse.up()
    assert here.hook["state"]["p"] == [["0.5", "0.3", "0.2"]]


BAD_ROWS = [
    ("q0", 0, "0.8666666666666667", "Row q sums to 1.2"),
    ("p0", 1, "", "Row p has no number for b"),
    ("p0", 0, "-1/3", "Row p has a negative number for a"),
    ("q0", 1, "abc", "Row q has “abc” for b, which is not a number"),
    ("q0", 1, "1/0", "Row q has “1/0” for b, which is not a number"),
    ("q0", 1, "NaN", "Row q has “NaN” for b, which is not a number"),
    ("p0", 0, "0.3334", "Row p sums to 1.0001"),
    ("p0", 0, HOSTILE, f"Row p has “{HOSTILE[:20]}” for a, which is not a number"),
]


@pytest.mark.parametrize(("row", "index", "typed", "message"), BAD_ROWS)
def test_a_bad_row_is_named_and_the_last_result_stays(
    here: LabPage, row, index, typed, message
) -> None:
    before = here.text(".hf-rules"), here.verdicts()
    here.number(row, index).fill(typed)
    assert here.text(".hf-inputs .hp-problem") == message
    assert here.page.locator(".hp-card.is-stale").count() == 4
    assert here.number(row, index).get_attribute("aria-invalid") == "true"
    assert (here.text(".hf-rules"), here.verdicts()) == before
    here.page.get_by_role("button", name="Normalise").click()
    assert here.hook["message"] == ""
    assert here.page.locator(".hp-card.is-stale").count() == 0
    assert here.page.locator(".hf-inputs .hp-problem").is_hidden()
    rows = here.hook["model"]
    assert all(abs(sum(one) - 1) < EXACT for one in rows["p"] + rows["q"])
    assert here.page.evaluate("window.hacked") is None


def test_fractions_decimals_and_commas_are_numbers(here: LabPage) -> None:
    here.number("p0", 0).fill(" 1 / 4 ")
    here.number("p0", 1).fill("0,75")
    here.number("q0", 0).fill(".5")
    here.number("q0", 1).fill("5e-1")
    assert here.hook["message"] == ""
    assert here.hook["model"]["p"][0] == [0.25, 0.75]
    assert here.hook["model"]["q"][0] == [0.5, 0.5]


def test_own_rows_start_from_the_common_one_and_are_edited_one_by_one(here: LabPage) -> None:
    here.choose("Rows", "own rows per position")
    assert here.hook["model"]["p"] == [[pytest.approx(1 / 3), pytest.approx(2 / 3)]] * 3
    here.page.click(".hf-position:nth-child(2) summary")
    here.number("q1", 0).fill("0.9")
    assert here.text(".hf-inputs .hp-problem").startswith("Row q₁ sums to 1.233")
    here.number("q1", 1).fill("0.1")
    assert here.hook["model"]["q"][1] == [0.9, 0.1]
    assert here.hook["model"]["q"][0] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]


# ---- one draft


def test_a_coin_that_is_dragged_moves_the_verdict(here: LabPage) -> None:
    assert here.keeps() == ["keeps 0", "keeps 2"]
    here.coin(1).scroll_into_view_if_needed()
    box = here.coin(1).bounding_box()
    middle = box["y"] + box["height"] / 2
    here.page.mouse.move(box["x"] + 8 + 0.7 / 0.99 * (box["width"] - 16), middle)
    here.page.mouse.down()
    here.page.mouse.move(box["x"] + 0.3 * box["width"], middle, steps=6)
    here.page.mouse.up()
    assert here.keeps() == ["keeps 2", "keeps 2"]
    here.coin(1).press("End")
    assert here.keeps() == ["keeps 0", "keeps 2"]


@pytest.mark.core
@pytest.mark.parametrize("rule", some(RULES, 6, first=2))
def test_thresholds_and_verdicts_of_both_rules_are_shown(here: LabPage, rule: str) -> None:
    here.preset("near")
    here.rule(rule)
    state = here.hook["state"]
    model = here.hook["model"]
    p, q = (torch.tensor(model[side], dtype=torch.float64) for side in "pq")
    shown = ["tokenwise"] if rule == "tokenwise" else ["tokenwise", rule]
    assert here.page.locator(".hp-lane-keeps").count() == len(shown)
    tokens = torch.tensor(state["draft"])
    coins = torch.tensor(state["coins"], dtype=torch.float64)
    for said, name in zip(here.keeps(), shown, strict=True):
        law = RULES[name].law(p, q, tokens)
        judged = here.judged(name)
        kept = int(law.kept(coins))
        assert (judged["kept"], said) == (kept, f"keeps {kept}")
        tested = {one["node"]: one["threshold"] for one in judged["decisions"]}
        assert tested == pytest.approx({t: float(law.threshold[t - 1]) for t in tested}, abs=EXACT)
        row = {one["token"]: one["probability"] for one in judged["residual"]["top"]}
        assert [row[x] for x in range(3)] == pytest.approx(law.next(kept).tolist(), abs=EXACT)
    masses = branch_masses(p, q, tokens)
    for t, branch in enumerate(here.hook["step"]["branches"]):
        found = [branch[name] for name in ("ratio", "capped", "deficient", "excess")]
        wanted = [
            float(row[t])
            for row in (masses["ratio"], masses["capped"], masses["deficient"], masses["excess"])
        ]
        assert found == pytest.approx(wanted, abs=EXACT)


def test_a_coin_of_the_board_can_be_dragged(here: LabPage) -> None:
    coin = here.page.locator(".hp-gauge[data-coin='1']").first
    coin.scroll_into_view_if_needed()
    box = coin.bounding_box()
    middle = box["y"] + box["height"] / 2
    here.page.mouse.move(box["x"] + 0.7 * box["width"], middle)
    here.page.mouse.down()
    here.page.mouse.move(box["x"] + 0.25 * box["width"], middle, steps=4)
    here.page.mouse.up()
    assert here.hook["state"]["coins"][0] == pytest.approx(0.25, abs=0.02)
    assert here.keeps() == ["keeps 2", "keeps 2"]


def test_a_draft_that_is_as_likely_for_both_is_kept_whatever_the_coins(here: LabPage) -> None:
    assert (
        "its capped ratio is 1 (it is as likely for the target as for the draft" in here.verdicts()
    )
    here.preset("near")  # .5/.6 · .3/.25 is 1, but for rounding
    assert [branch["capped"] for branch in here.hook["step"]["branches"]] == pytest.approx(
        [1, 0.5 / 0.6, 1, 0.5 / 0.6]
    )
    assert here.hook["step"]["branches"][2]["capped"] == 1


def test_a_branch_a_test_and_the_numbers_unfold(here: LabPage) -> None:
    here.page.click(".is-own .hp-trial >> nth=1")
    assert "Whole draft, 2 tokens" in here.text(".hp-decisions")
    here.page.click(".hp-guess[data-node='1']")
    assert here.page.get_attribute(".hp-guess[data-node='1']", "aria-pressed") == "true"
    assert "All 2 tokens shown." in here.text(".hp-ledger")
    here.page.locator("summary", has_text="The numbers, token by token").click()
    assert here.page.locator(".hp-slot table").last.is_visible()


def test_a_token_that_the_draft_never_proposes_cannot_be_picked(here: LabPage) -> None:
    here.preset("disjoint")
    assert (
        here.page.locator(".hf-pos[data-position='1']").get_by_role("radio", name="a").is_disabled()
    )
    here.preset("toy")
    here.slider("q0", 0).fill("0")
    assert "never proposes “a” at position 1" in here.text(".hf-draft .hp-problem")
    here.page.locator(".hf-pos[data-position='1']").get_by_role("radio", name="b").check()
    assert here.page.locator(".hf-draft .hp-problem").is_hidden()
    assert "Kept" in here.verdicts()


def test_the_papers_step_shows_the_papers_numbers(here: LabPage) -> None:
    here.preset("paper")

    branches = here.hook["step"]["branches"]
    assert [one["ratio"] for one in branches[1:5]] == pytest.approx(
        [0.8159, 1.0327, 1.5854, 6.117], abs=5e-4
    )
    assert [one["ratio"] for one in branches[5:]] == [0] * 5
    assert [one["pivot"] for one in branches] == [0, 0, 0, 2, 3, 4, 4, 4, 4, 4]
    assert here.page.locator(".hp-guess").all_inner_texts()[1:3] == [
        "token 1\nshe",
        "token 2\nwork",
    ]
    about = here.text(".hf-paper")
    assert "first 4 tokens survive whatever the coins" in about
    assert "with probability 0.1841" in about
    assert "lumped into one token" in about
    assert here.page.locator(".hf-results").is_hidden()
    for coins in (0.0, 0.5, 0.99):
        for position in range(1, 11):
            here.coin(position).fill(str(coins))
        assert here.keeps()[1] == "keeps 4"
    assert here.keeps()[0] == "keeps 0"


# ---- links


def opened(labs, here: LabPage, **options: object) -> LabPage:
    return labs("?" + urlsplit(here.link()).query, **options)


def test_a_link_brings_everything_back(labs, here: LabPage) -> None:
    here.preset("near")
    here.choose("Rows", "own rows per position")
    here.choose("Draft length γ", "3")
    here.number("p0", 0).fill("1/2")
    here.slider("q0", 1).fill("0.4")
    here.rule("naive-hsd")
    here.coin(2).fill("0.13")
    here.page.locator(".hf-pos[data-position='3']").get_by_role("radio", name="c").check()
    query = parse_qs(urlsplit(here.link()).query)
    assert query["tab"] == ["lab"]
    other = opened(labs, here)
    assert other.hook["state"] == here.hook["state"]
    for part in (".hf-rules", ".hf-verdicts", ".hf-law", ".hp-board"):
        assert other.text(part) == here.text(part)
    assert other.page.locator(".hf-bad-link").is_hidden()


def test_a_link_keeps_the_settings_of_rules(labs, here: LabPage) -> None:
    here.rule("ensemble")
    tolerance(here).fill("0.25")
    here.rule("fuzzy")
    here.choose("Divergence D", "KL(p‖q)")
    here.choose("Where D > T", "Divergence only")
    tolerance(here).fill("-0.03")
    other = opened(labs, here)
    assert other.hook["state"] == here.hook["state"]
    fuzzy = {"divergence": "reverse-kl", "tolerance": -0.03, "mode": "divergence-only"}
    assert settings(other) == NUMBERS | fuzzy | {"draft_weight": 0.25, "epsilon": 0.09}
    assert other.text(".hf-tuning") == here.text(".hf-tuning")
    older = labs("?tab=lab&lab=" + quote("*".join([*GOOD[:4], "fuzzy", *GOOD[5:]])))
    usual = {"divergence": "kl", "tolerance": 0.3, "mode": "exact-first"} | NUMBERS
    assert settings(older) == usual
    before = labs("?tab=lab&lab=" + quote("*".join([*GOOD, "js_0.2_divergence-only"])))
    assert (
        settings(before)
        == {"divergence": "js", "tolerance": 0.2, "mode": "divergence-only"} | NUMBERS
    )
    of_a_card_that_is_gone = labs(
        "?tab=lab&lab=" + quote("*".join([*GOOD, "js_0.2_divergence-only", "keys"]))
    )
    assert of_a_card_that_is_gone.hook["state"] == before.hook["state"]


@pytest.mark.parametrize("preset", ["toy", "equal", "disjoint", "near", "paper"])
def test_a_link_to_a_preset_works(labs, here: LabPage, preset: str) -> None:
    here.preset(preset)
    assert opened(labs, here).hook["state"] == here.hook["state"]


def test_a_link_may_hold_a_longer_draft_where_it_can_be_enumerated(labs) -> None:
    here = labs(
        "?tab=lab&lab="
        + quote("1*same*2*10*hsd*aaaaaaaaaa*" + "_".join(["0.5"] * 10) + "*1*1/3_2/3*2/3_1/3")
    )
    assert here.cell("tokenwise", "kept") == "1.9653"
    assert here.cell("hsd", "kept") == "3.4593"
    assert here.cell("naive-hsd", "kept") == "4.4824"
    here.choose("Tokens", "3")
    assert "over the limit of 4,096: reduce γ to 6" in here.text(".hf-inputs .hp-problem")
    assert here.cell("hsd", "kept") == "3.4593"


GOOD = ["1", "same", "2", "2", "hsd", "ab", "0.7_0.4", "1", "1/3_2/3", "2/3_1/3"]
MALFORMED = {
    "empty parts": "*",
    "unknown version": "*".join(["9", *GOOD[1:]]),
    "hostile": HOSTILE,
    "hostile rule": "*".join([*GOOD[:4], HOSTILE, *GOOD[5:]]),
    "inherited rule": "*".join([*GOOD[:4], "constructor", *GOOD[5:]]),
    "hostile cell": "*".join([*GOOD[:8], f"{HOSTILE}_1", GOOD[9]]),
    "bad sum": "*".join([*GOOD[:9], "0.9_0.3"]),
    "too few numbers": "*".join([*GOOD[:9], "1"]),
    "coin of 1": "*".join([*GOOD[:6], "1_0.5", *GOOD[7:]]),
    "no such token": "*".join([*GOOD[:5], "az", *GOOD[6:]]),
    "too large": "*".join(["1", "same", "6", "5", *GOOD[4:]]),
    "too long": "1" * 9000,
    "no such divergence": "*".join([*GOOD, "constructor_0.3_exact-first"]),
    "no such mode": "*".join([*GOOD, "kl_0.3_toString"]),
    "tolerance out of range": "*".join([*GOOD, "kl_1e9_exact-first"]),
    "draft weight out of range": "*".join([*GOOD, "kl_0.3_exact-first_1.5_0.09"]),
    "no such follower": "*".join([*GOOD, "kl_0.3_exact-first_0.5_0.09_last"]),
    "a setting too many": "*".join([*GOOD, "kl_0.3_exact-first_0.5_0.09_drawn_drawn"]),
    "one number too few": "*".join([*GOOD, "kl_0.3_exact-first_0.5"]),
    "hostile settings": "*".join([*GOOD, HOSTILE]),
    "no such card": "*".join([*GOOD, "kl_0.3_exact-first", "more"]),
    "too many parts": "*".join([*GOOD, "kl_0.3_exact-first", "more"]),
}
SAID = {
    "bad sum": "row q sums to 1.2",
    "too large": "46,656 outcomes, over the limit of 4,096: reduce γ to 3",
    "hostile rule": "its rule is none of",
    "no such divergence": "its divergence is none of kl, reverse-kl, js, tv",
    "no such mode": "its mode is none of exact-first, divergence-only",
    "no such follower": "what follows its kept tokens is none of drawn, likeliest",
    "draft weight out of range": "its draft weight must be a number from 0 to 1",
    "tolerance out of range": "its tolerance must be a number from -0.05 to 1",
}


@pytest.mark.parametrize("case", MALFORMED)
def test_a_malformed_link_gets_one_line_and_the_toy(labs, case: str) -> None:
    here = labs("?tab=lab&lab=" + quote(MALFORMED[case]))
    line = here.text(".hf-bad-link")
    assert line.startswith("This link cannot be read (")
    assert SAID.get(case, "") in line
    assert len(line) < 220
    assert here.hook["state"]["p"] == [["1/3", "2/3"]]
    assert here.cell("hsd", "kept") == "1.2222"
    assert here.page.evaluate("window.hacked") is None
    assert here.page.locator(".hsd-lab img").count() == 0


def test_the_button_copies_the_link(labs) -> None:
    here = labs(permissions=["clipboard-read", "clipboard-write"])
    here.page.get_by_role("button", name="Copy link").click()
    here.page.locator(".hf-copied", has_text="link").wait_for()
    assert here.text(".hf-copied") == "link copied"


# ---- for everyone


@pytest.mark.parametrize("preset", ["toy", "disjoint", "paper"])
@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_everything_without_sideways_scrolling(labs, preset: str, dark: bool) -> None:
    here = labs(width=390, dark=dark, has_touch=True, is_mobile=True)
    here.rule("fuzzy")
    here.preset(preset)
    here.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    assert here.page.evaluate("document.documentElement.scrollWidth") == 390
    outside = """list => list.filter((e) => e.offsetParent && !e.closest('.hp-scroll')
        && e.getBoundingClientRect().right > 391).map((e) => e.className)"""
    assert here.page.eval_on_selector_all(".hsd-lab *", outside) == []


def test_every_control_has_a_name_and_can_be_reached_by_keyboard(here: LabPage) -> None:
    here.choose("Rows", "own rows per position")
    here.rule("fuzzy")
    unnamed = """list => list
      .filter((e) => !e.ariaLabel && !e.textContent.trim() && !e.labels?.length)
      .map((e) => e.outerHTML)"""
    assert (
        here.page.eval_on_selector_all(".hsd-lab :is(input, button, select, summary)", unnamed)
        == []
    )
    assert here.page.eval_on_selector_all(".hsd-lab [tabindex='-1']", "list => list.length") == 0
    here.page.focus(".hf-rules input[value=hsd]")
    here.page.keyboard.press("ArrowDown")
    assert here.hook["state"]["rule"] == "hsd-released"
    here.slider("p0", 0).press("ArrowRight")
    assert here.hook["state"]["p"][0] == ["0.34", "0.66"]


def test_the_verdict_is_announced(here: LabPage) -> None:
    assert here.page.get_attribute(".hf-verdicts", "aria-live") == "polite"


@pytest.mark.core
@pytest.mark.recorded(core=True)
def test_the_lab_is_a_tab_of_the_app_and_its_link_opens_it(visitors) -> None:
    visitor = visitors()
    state = "*".join(
        ["1", "same", "2", "3", "hsd-released", "aba", "0.1_0.2_0.3", "5", "1/3_2/3", "2/3_1/3"]
    )
    visitor.page.goto(visitor.app.url + "?tab=lab&lab=" + quote(state))
    visitor.unfold()
    visitor.page.locator(".hf-pos").first.wait_for()
    assert visitor.page.inner_text(".hf-rules tr[data-rule=hsd] .hf-figure") == "1.6667"
    assert visitor.page.is_checked(".hf-rules input[value=hsd-released]")
    visitor.page.locator(".hp-slider.is-p").first.fill("0.5")
    visitor.until("new URL(location.href).searchParams.get('lab').includes('0.5_0.5')")


@pytest.mark.core
@pytest.mark.recorded
def test_everything_folded_the_lab_takes_two_windows_at_most(visitors):
    visitor = visitors(height=800).open("?tab=lab", folded=True)
    visitor.page.locator(".hf-results .hf-rules").wait_for()
    assert visitor.page.evaluate("document.documentElement.scrollHeight") <= 1600
    visitor.page.click(".hf-draft > summary")
    assert visitor.page.locator(".hf-verdicts").is_visible()
