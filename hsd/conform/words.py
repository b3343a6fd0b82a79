"""A verdict in words for a terminal, and as a file for continuous integration."""

import textwrap
from typing import Any
from xml.etree import ElementTree

from hsd.conform.judge import row

MARGIN = 19  # the column where the text beside a heading begins
WIDTH = 120  # the longest line
ROUNDING = 1e-12  # a total variation below is zero, up to rounding


def in_words(result: dict[str, Any]) -> str:
    """Format the result of `conform` for a terminal.

    The verdict comes first, then the cause, then what was tried.
    """
    verdicts = {True: "lossless", False: "NOT lossless", None: "nothing wrong found by sampling"}
    verdict = verdicts[result["lossless"]]
    if result["as_expected"] is False:
        verdict += f", {'but' if result['lossless'] else 'and'} NOT {result['expected']}"
    lines = [f"{result['adapter']}: {verdict}"]
    if result["total_variation"] is not None:
        allowed = f"{result['tolerance']:g} is allowed" if result["tolerance"] is not None else ""
        at_most = next(iter(result["pairs"].values())).get("at_most", 0)
        below = f"chance included; the true one is below {at_most:.2f}"
        lines.append(f"  total variation  {result['total_variation']:.2e}, {allowed or below}")
    if result["cause"]:
        lines += _said("cause", result["cause"])
    if result["expected_kept"] is not None:
        lines.append(f"  E[kept]          {result['expected_kept']:.4f}")
    if result["tolerance"] is not None:
        lines += _said("same law as", " = ".join(result["equals"]) or "no rule that is known here")
    if shown := result["counterexample"]:
        lines += _said("counterexample", shown["words"])
        lines += [
            f"{'':{MARGIN}}{name} = {rows_in_words(shown[name])}" for name in "pq" if shown[name]
        ]
    for note in (*result["edges"], *result["notes"]):
        lines += _said("note", note)
    if result["claim"] or (result["tolerance"] is not None and len(result["pairs"]) > 2):
        lines += [_pair(name, one, i) for i, (name, one) in enumerate(result["pairs"].items())]
    for number, sentence in enumerate(result["claim"]):
        lines += _said("" if number else "tried", sentence)
    return "\n".join([*lines, f"  {result['calls']:,} calls, {result['seconds']} s"])


def rows_in_words(rows: list[list[float]]) -> str:
    """Format rows after t = 0, 1, … drafted tokens; equal ones as one row "everywhere"."""
    same = all(one == rows[0] for one in rows)
    if same and len(rows) > 1:
        return f"{row(rows[0])} everywhere"
    return ", ".join(row(one) for one in rows)


def junit(result: dict[str, Any]) -> str:
    """Return the result as JUnit XML.

    It has one case per pair of models, one for the verdict, and one for an expected rule.
    """
    suite = ElementTree.Element(
        "testsuite", name=f"hsd conform {result['adapter']}", time=str(result["seconds"])
    )
    cases = {
        f"follows the target: {name}{', ' * bool(one.get('covers'))}{one.get('covers', '')}": (
            one.get("wrong", (one["total_variation"] or 0) > (result["tolerance"] or 1)),
            result["cause"]
            if one["total_variation"] is None
            else f"total variation {one['total_variation']:.2e}",
        )
        for name, one in result["pairs"].items()
    }
    cases["is lossless"] = result["lossless"] is False, result["cause"]
    if result["expected"]:
        same = " = ".join(result["equals"]) or "no rule that is known here"
        cases[f"has the law of {result['expected']}"] = (
            result["as_expected"] is False,
            f"it has that of {same}",
        )
    for name, (wrong, message) in cases.items():
        case = ElementTree.SubElement(suite, "testcase", classname=result["adapter"], name=name)
        if wrong:
            failure = ElementTree.SubElement(case, "failure", message=message)
            failure.text = None if name.startswith("follows") else in_words(result)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(wrong for wrong, _ in cases.values())))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _said(head: str, words: str) -> list[str]:
    """Return the lines of a heading and, in a column beside it, the words."""
    first = f"  {head:{MARGIN - 2}}"
    return textwrap.wrap(
        words, WIDTH, initial_indent=first, subsequent_indent=" " * MARGIN, break_on_hyphens=False
    )


def _pair(name: str, result: dict[str, Any], number: int) -> str:
    head = "" if number else "on the pairs"
    off = result["total_variation"]
    wrong = "wrong" if result.get("wrong") else ""
    distance = wrong if off is None else f"{off:.1e}" if off > ROUNDING else "0"
    words = ", ".join(filter(None, (result["tokens"], result["covers"])))
    return f"  {head:{MARGIN - 2}}{name:36} {distance:>7}  {words}"
